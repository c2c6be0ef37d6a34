/* SPDX-License-Identifier: Apache-2.0 */
/* head.h: the last step: how well each id of the vocabulary would come next. Which rows of the matrix are
 * computed for that is the strategy of the engine; whoever reads the logits says what he needs of them. */
#ifndef CT_HEAD_H
#define CT_HEAD_H

#include "carat_generate.h"
#include "model/forward.h"
#include "quant/logits.h"

/* A row of logits. */
struct ct_head_row {
    const struct ct_reading *reading; /* NULL: all logits */
    float *memory;                    /* [n_vocab] of the host, for what is computed */
    struct ct_logits logits;          /* result, in the memory: all, or at least what is read */
    /* [n_held], then [n_more]: the tokens up to the one behind which the logits are */
    const int32_t *held, *more;
    int n_held, n_more;
};

/* How the logits of an engine are computed. */
struct ct_head {
    const struct ct_head_strategy *strategy; /* head_strategy.h */
    carat_head asked;                        /* the caller's choice; o has what became of it */
    carat_head_options o;                    /* complete */
    struct ct_backend *backend;
    struct ct_weight stored;        /* the head as the model has it */
    const struct ct_weight *packed; /* and as the backend reads it; without data before it is loaded */
    carat_head_stats stats;         /* seconds are counted by the engine */
    float *audited;                 /* [rows] logits of dense, where there are audits */
    int since_audit;                /* tokens */
    const struct ct_file *file;     /* of the model; NULL: nothing is looked for there, or kept */
    struct ct_made keep[2];         /* [n_keep] what loading has made and the model's packed copy lacks */
    int n_keep;
    bool aside;               /* nobody else brings the head in, nor the embedding where they are one */
    struct ct_pruned *pruned; /* of the strategies: NULL where another one is used */
    struct ct_head_tiles *tiles;
};

/* Checks the options of a head and counts what it will need. o is complete; NULL: dense. file: that the
 * weights lie in; NULL: nothing is kept beside them. E_ARGUMENT, E_MEMORY. */
carat_status ct_head_plan(struct ct_head *h, const carat_head_options *o, struct ct_backend *b,
                          const struct ct_weights *stored, const struct ct_file *file, bool exact,
                          carat_error *err);
/* The head is dense in place of what was asked for; why: a clause for the log. */
void ct_head_gives_up(struct ct_head *h, const carat_head_options *asked, const char *why);
void ct_head_lay_out(struct ct_head *h, int rows);
/* packed: the head as the backend packed it. E_MEMORY. */
carat_status ct_head_load(struct ct_head *h, const struct ct_weight *packed, carat_error *err);
void ct_head_end(struct ct_head *h);

/* The logits of rows [first, first + n) of those that want them, after ct_forward and before the end of the
 * pass. */
void ct_head_rows(struct ct_head *h, const struct ct_pass *p, int first, int n, struct ct_head_row *row);
/* The same for one row whose hidden state was kept, as ct_forward left it: a pass of its own. False: a
 * logit is not finite. */
bool ct_head_again(struct ct_head *h, const struct ct_pass *p, const float *hidden, struct ct_head_row *row);
/* The last so many rows took so long. */
void ct_head_took(struct ct_head *h, int n, double seconds);
/* The weight that logits are computed from: the head, or the tiles made of it. */
const struct ct_weight *ct_head_weight(const struct ct_head *h);

/* One line for whoever made the engine. */
void ct_head_log(const struct ct_head *h, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

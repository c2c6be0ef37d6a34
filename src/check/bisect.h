/* SPDX-License-Identifier: Apache-2.0 */
/* bisect.h: what the files of carat_bisect share: bisect.c decides what is run, bisect_operations.c lists
 * what is judged, bisect_pass.c runs two engines in step and adds errors up, bisect_judge.c says which
 * of them stand out. */
#ifndef CT_BISECT_H
#define CT_BISECT_H

#include "check/quality.h"
#include "listen/operations.h"

enum { CT_BISECT_ROWS = 16 };
#define CT_BISECT_BYTES ((size_t)56 << 20) /* of sums; the rows beside them are a few MiB */

/* An operation of one layer, or of none, in both engines. */
struct ct_judged {
    enum ct_operation op;
    int layer;            /* counted from the first that runs; -1: none */
    int width;            /* channels; 0: the models have no such operation */
    bool residual;        /* adds to what was there: its error is measured against what it adds */
    bool has_weight;      /* of the types below */
    enum ct_type type[2]; /* stored, of the reference and of the test */
    int attn_type;        /* of its layer */
    double *error, *size; /* [width] sums of squares while it is judged; else NULL */
    double carried[2];    /* the same over all channels, of an ordinary pass */
    carat_operation_error result;
};

/* The modes in which both engines computed what is judged. */
struct ct_bisect_modes {
    bool exact[2];
    enum ct_kv_type kv[2];
    int n_rows; /* that were compared */
};

struct ct_bisect {
    carat_engine *engine[2];
    const carat_bisect_options *o;
    const int32_t *tokens;
    int n, n_rows;
    int32_t row[CARAT_MOST_BISECT_ROWS]; /* [n_rows] positions that are compared, ascending */
    struct ct_judged *judged;            /* [n_judged] in the order of a pass */
    int n_judged;
    bool replaces;      /* the test goes on with the reference's values */
    size_t done, total; /* tokens, for who watches */
};

/* The operation of a layer, or of none. */
static inline struct ct_judged *ct_bisect_at(const struct ct_bisect *b, enum ct_operation op, int layer)
{
    return &b->judged[ct_operation_at((int)op, layer, b->engine[CT_REF]->config.n_layer)];
}

/* bisect_operations.c: makes judged[n_judged]. E_MEMORY. */
carat_status ct_bisect_operations(struct ct_bisect *b, carat_error *err);

/* bisect_pass.c: both engines evaluate the tokens, and sums are added up. E_MEMORY, E_CONTEXT, E_NUMERIC,
 * E_CANCELLED, E_BUSY. */
carat_status ct_bisect_pass(struct ct_bisect *b, carat_error *err);

/* bisect_judge.c: the largest error of a channel, and the own error, from the sums of an operation; room
 * has as many numbers as it has channels. */
void ct_bisect_channels(struct ct_judged *j, double *room);
/* Which of n operations are flagged, from their numbers alone. E_MEMORY. */
carat_status ct_bisect_judge(struct ct_judged *judged, int n, const struct ct_bisect_modes *modes,
                             carat_error *err);

#endif

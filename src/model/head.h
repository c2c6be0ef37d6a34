/* SPDX-License-Identifier: Apache-2.0 */
/* head.h: the last step: how well each id of the vocabulary would come next. Which rows of the matrix are
 * computed for that is the strategy of the engine; whoever reads the logits says what he needs of them. */
#ifndef CT_HEAD_H
#define CT_HEAD_H

#include "carat_generate.h"
#include "model/forward.h"
#include "quant/logits.h"

/* What is read of the logits of a row: the k best of the ids below n, those that stand apart aside, and all of
 * these. */
struct ct_reading {
    int k;                /* 0: all logits */
    int n;                /* at most the vocabulary */
    const int32_t *apart; /* [n_apart] ascending: edited or never drawn */
    int n_apart;
};

/* A row of logits. */
struct ct_head_row {
    const struct ct_reading *reading; /* NULL: all logits */
    float *memory;                    /* [n_vocab] of the host, for what is computed */
    struct ct_logits logits;          /* result, in the memory: all, or at least what is read */
};

/* How the logits of an engine are computed. */
struct ct_head {
    carat_head strategy;
};

/* The logits of rows [first, first + n) of those that want them, after ct_forward and before the end of the
 * pass. */
void ct_head_rows(struct ct_head *h, const struct ct_pass *p, int first, int n, struct ct_head_row *row);
/* The same for one row whose hidden state was kept, what ct_forward left for it: a pass of its own. False: not
 * every logit is finite. */
bool ct_head_again(struct ct_head *h, const struct ct_pass *p, const float *hidden, struct ct_head_row *row);

#endif

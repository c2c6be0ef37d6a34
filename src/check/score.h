/* SPDX-License-Identifier: Apache-2.0 */
/* score.h: how far two rows of logits are apart, and how likely one row holds its ids: pure functions on
 * arrays, in double, without libm (NUMERICS.md section 13). Which ids the columns are of, and what the
 * numbers mean, is left to callers. The functions stand in a table of their own: programs that only run
 * models do not link them. */
#ifndef CT_SCORE_H
#define CT_SCORE_H

#include "base/base.h"
#include "quant/logits.h"

enum {
    CT_SCORE_TOP = 1024,   /* the most columns that are compared for an overlap */
    CT_SCORE_HIGHEST = 100 /* columns of the reference whose largest difference is told */
};

enum ct_score_side { CT_SCORE_BOTH_FINITE, CT_SCORE_REF, CT_SCORE_TEST };

/* In place of the column of the id that comes next. */
enum ct_score_next {
    CT_SCORE_NO_NEXT = -1,
    CT_SCORE_NEXT_REF = -2, /* the best of ref, */
    CT_SCORE_NEXT_TEST = -3 /* or of test */
};

/* Columns are numbers in [0, n). */
struct ct_score_pair {
    enum ct_score_side wrong; /* the side that holds a NaN or infinity, and then nothing else is set ... */
    int wrong_column;         /* ... but the first column that does */
    int best_ref, best_test;  /* the lower of two alike */
    double margin_ref, margin_test;
    double kl, kl_reverse;
    double correlation, cosine;
    double entropy_ref, entropy_test;
    int overlap;
    double largest;
    double logprob_ref, logprob_test, delta_p; /* of the next id; 0 without one */
    double outside;                            /* probability of ref in the columns that test lacks */
};

/* A row alone. The log-probability of a column is (x - top) - log_sum. */
struct ct_score_row {
    int wrong_column; /* the first that is NaN or infinity; -1: none is, and then the others are set */
    double top;       /* largest logit */
    double log_sum;   /* log of the sum of exp(x - top) */
    double entropy;
};

struct ct_score {
    /* ref[n] and test[n], n >= 2. next: the column of the id that comes next, or enum ct_score_next. top:
     * columns of the overlap, 1 to CT_SCORE_TOP (all n where there are fewer). */
    void (*pair)(struct ct_score_pair *out, const float *ref, const float *test, int n, int next, int top);
    /* x[n], n >= 1. */
    void (*row)(struct ct_score_row *out, const float *x, int n);
    /* As pair, where test has at least 2 of the columns of ref[n] and names them. What is of ref alone is of
     * all n; what takes both is of those that test has, which are put into common[test->n]: it may be ref. A
     * test that lacks the next one gives it the probability 0. */
    void (*some)(struct ct_score_pair *out, float *common, const float *ref, int n,
                 const struct ct_logits *test, int next, int top);
};

/* The table for this processor; every one gives the same bits. It asks the processor: keep what it
 * returns. */
const struct ct_score *ct_score(void);

static inline double ct_score_logprob(const struct ct_score_row *row, float x)
{
    return (x - row->top) - row->log_sum;
}

#endif

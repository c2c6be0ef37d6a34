/* SPDX-License-Identifier: Apache-2.0 */
/* scored_rows.h: logits of two sides of the same rows, side by side, and what scoring them gave. Whose
 * they are is compare.c's. */
#ifndef CT_SCORED_ROWS_H
#define CT_SCORED_ROWS_H

#include "check/quality.h"
#include "engine/engine.h"
#include "os/pool.h"

/* A row of one side: logits of all ids, or of those that a head computed. */
struct ct_scored_side {
    const float *value; /* [n] */
    const int32_t *id;  /* [n] ascending; NULL: i */
    int n;
};

struct ct_scored_row {
    struct ct_scored_side side[CT_SIDES];
    int32_t next;                /* the id that follows, or CT_SCORE_NO_NEXT and so on */
    enum ct_score_side wrong;    /* the side with a NaN or infinity, */
    int32_t wrong_id;            /* and the id that has it; without one: */
    carat_difference difference; /* what scoring gave */
};

struct ct_scored_rows {
    struct ct_pool *pool;
    const struct ct_score *score;
    int capacity, n_vocab, n_text_vocab, top;
    double near_tie;
    float *value[CT_SIDES];    /* [capacity][n_vocab] */
    int32_t *id[CT_SIDES];     /* the same; NULL where a side computes all logits */
    struct ct_scored_row *row; /* [capacity] */
};

/* Memory for so many rows, and threads. E_MEMORY; ct_scored_close after it, too. */
carat_status ct_scored_open(struct ct_scored_rows *r, int threads, const bool partial[CT_SIDES],
                            carat_error *err);
void ct_scored_close(struct ct_scored_rows *r);

static inline float *ct_scored_place(const struct ct_scored_rows *r, int side, int row)
{
    return r->value[side] + (size_t)row * (size_t)r->n_vocab;
}
/* The first n rows are other ones now: nothing is known of them. */
void ct_scored_begin(struct ct_scored_rows *r, int n);
/* Row `row` of a side is all logits that lie in its place, or these. */
void ct_scored_all(struct ct_scored_rows *r, int side, int row, const float *value);
/* It is what a head gave; a copy is kept. */
void ct_scored_take(struct ct_scored_rows *r, int side, int row, const struct ct_logits *logits);

/* Scores the first n rows, each on one thread. Logits of ids that the other side lacks are overwritten. */
void ct_score_rows(struct ct_scored_rows *r, int n);

#endif

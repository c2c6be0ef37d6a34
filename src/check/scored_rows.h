/* SPDX-License-Identifier: Apache-2.0 */
/* scored_rows.h: logits of two sides of the same rows, side by side, and what scoring them gave. Whose
 * they are is compare.c's. */
#ifndef CT_SCORED_ROWS_H
#define CT_SCORED_ROWS_H

#include "check/quality.h"
#include "engine/engine.h"
#include "os/pool.h"

/* A row of the reference has all ids of text, one of the test perhaps only those that its head computed. */
struct ct_scored_row {
    struct ct_logits side[CT_SIDES];
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
    int32_t *id;               /* the same, of the test; NULL where it computes all logits */
    struct ct_scored_row *row; /* [capacity] */
};

/* Memory for so many rows, and threads; some: the test may compute some logits only. E_MEMORY;
 * ct_scored_close after it, too. */
carat_status ct_scored_open(struct ct_scored_rows *r, int threads, bool some, carat_error *err);
void ct_scored_close(struct ct_scored_rows *r);

static inline float *ct_scored_place(const struct ct_scored_rows *r, int side, int row)
{
    return r->value[side] + (size_t)row * (size_t)r->n_vocab;
}
/* The first n rows are other ones now: nothing is known of them. */
void ct_scored_begin(struct ct_scored_rows *r, int n);
/* Row `row` of a side is all logits that lie in its place, or these. */
void ct_scored_all(struct ct_scored_rows *r, int side, int row, const float *value);
/* That of the test is what its head gave; a copy is kept. */
void ct_scored_take(struct ct_scored_rows *r, int row, const struct ct_logits *logits);

/* Scores the first n rows, each on one thread. Where the test has some logits, those in the reference's place
 * are overwritten. */
void ct_score_rows(struct ct_scored_rows *r, int n);

#endif

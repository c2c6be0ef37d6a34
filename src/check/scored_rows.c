/* SPDX-License-Identifier: Apache-2.0 */
/* scored_rows.c: see scored_rows.h. A row is scored by one thread, so that no bit depends on how many
 * there are. */
#include "check/scored_rows.h"

#include "os/fp_environment.h"

#include <stdlib.h>

carat_status ct_scored_open(struct ct_scored_rows *r, int threads, bool some, carat_error *err)
{
    const size_t n = (size_t)r->capacity * (size_t)r->n_vocab;
    bool failed = some && !(r->id = malloc(n * sizeof *r->id));

    r->score = ct_score();
    for (int side = 0; side < CT_SIDES; side++)
        failed |= !(r->value[side] = malloc(n * sizeof *r->value[side]));
    failed |= !(r->row = calloc((size_t)r->capacity, sizeof *r->row));
    if (failed)
        return ct_fail(err, CARAT_E_MEMORY, "out of memory for %d rows of logits of two models", r->capacity);
    return ct_pool_create(&r->pool, threads, err);
}

void ct_scored_close(struct ct_scored_rows *r)
{
    for (int side = 0; side < CT_SIDES; side++)
        free(r->value[side]);
    free(r->id);
    free(r->row);
    ct_pool_destroy(r->pool);
}

void ct_scored_begin(struct ct_scored_rows *r, int n)
{
    memset(r->row, 0, (size_t)n * sizeof *r->row);
}

void ct_scored_all(struct ct_scored_rows *r, int side, int row, const float *value)
{
    r->row[row].side[side] = (struct ct_logits){.value = value, .n = r->n_text_vocab};
}

void ct_scored_take(struct ct_scored_rows *r, int row, const struct ct_logits *logits)
{
    float *value = ct_scored_place(r, CT_TEST, row);
    int32_t *id = r->id + (size_t)row * (size_t)r->n_vocab;
    const int n = ct_logits_below(logits, r->n_text_vocab);

    if (logits->id) /* first: the logits may lie in the same place, ids behind them */
        memcpy(id, logits->id, (size_t)n * sizeof *id);
    memmove(value, logits->value, (size_t)n * sizeof *value);
    r->row[row].side[CT_TEST] = (struct ct_logits){.value = value, .id = logits->id ? id : NULL, .n = n};
}

/* ---- one row ---- */

static void score_row(void *arg, int item, int thread)
{
    struct ct_scored_rows *r = arg;
    struct ct_scored_row *row = &r->row[item];
    const struct ct_logits *ref = &row->side[CT_REF], *test = &row->side[CT_TEST];
    const int n = CT_MIN(ref->n, test->n), next = row->next < ref->n ? row->next : CT_SCORE_NO_NEXT;
    struct ct_score_pair pair;

    (void)thread;
    row->wrong = CT_SCORE_BOTH_FINITE;
    if (n < 2) { /* a side failed, or its head computed no two ids of text */
        row->difference = (carat_difference){.size = sizeof row->difference,
                                             .top_ref = -1,
                                             .top_test = -1,
                                             .compared = n,
                                             .left_out = r->n_text_vocab - n};
        return;
    }
    if (test->id)
        r->score->some(&pair, ct_scored_place(r, CT_REF, item), ref->value, ref->n, test, next, r->top);
    else
        r->score->pair(&pair, ref->value, test->value, n, next, r->top);
    row->wrong = pair.wrong;
    row->wrong_id = pair.wrong_column;
    if (pair.wrong != CT_SCORE_BOTH_FINITE)
        return;
    ct_difference(&row->difference, &pair, NULL, r->near_tie);
    row->difference.compared = n;
    row->difference.left_out = r->n_text_vocab - n;
}

void ct_score_rows(struct ct_scored_rows *r, int n)
{
    ct_fpenv fp = ct_os_fp_enter();

    ct_pool_run(r->pool, n, score_row, r);
    ct_os_fp_leave(fp);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* scored_rows.c: see scored_rows.h. A row is scored by one thread, so that no bit depends on how many
 * there are. */
#include "check/scored_rows.h"

#include "os/fp_environment.h"

#include <stdlib.h>

carat_status ct_scored_open(struct ct_scored_rows *r, int threads, const bool partial[CT_SIDES],
                            carat_error *err)
{
    const size_t n = (size_t)r->capacity * (size_t)r->n_vocab;
    bool failed = false;

    r->score = ct_score();
    for (int side = 0; side < CT_SIDES; side++) {
        failed |= !(r->value[side] = malloc(n * sizeof *r->value[side]));
        if (partial[side])
            failed |= !(r->id[side] = malloc(n * sizeof *r->id[side]));
    }
    failed |= !(r->row = calloc((size_t)r->capacity, sizeof *r->row));
    if (failed)
        return ct_fail(err, CARAT_E_MEMORY, "out of memory for %d rows of logits of two models", r->capacity);
    return ct_pool_create(&r->pool, threads, err);
}

void ct_scored_close(struct ct_scored_rows *r)
{
    for (int side = 0; side < CT_SIDES; side++) {
        free(r->value[side]);
        free(r->id[side]);
    }
    free(r->row);
    ct_pool_destroy(r->pool);
}

void ct_scored_begin(struct ct_scored_rows *r, int n)
{
    memset(r->row, 0, (size_t)n * sizeof *r->row);
}

void ct_scored_all(struct ct_scored_rows *r, int side, int row, const float *value)
{
    r->row[row].side[side] = (struct ct_scored_side){.value = value, .n = r->n_text_vocab};
}

void ct_scored_take(struct ct_scored_rows *r, int side, int row, const struct ct_logits *logits)
{
    float *value = ct_scored_place(r, side, row);
    int32_t *id = r->id[side] + (size_t)row * (size_t)r->n_vocab;
    const int n = ct_logits_below(logits, r->n_text_vocab);

    if (logits->id) /* first: the logits may lie in the same place, ids behind them */
        memcpy(id, logits->id, (size_t)n * sizeof *id);
    memmove(value, logits->value, (size_t)n * sizeof *value);
    r->row[row].side[side] = (struct ct_scored_side){.value = value, .id = logits->id ? id : NULL, .n = n};
}

/* ---- one row ---- */

static int32_t id_at(const struct ct_scored_side *s, int i)
{
    return s->id ? s->id[i] : i;
}

/* Leaves the logits of ids that both sides have, in the memory of the side that has ids. Returns their
 * number. */
static int intersect(struct ct_scored_rows *r, int row, const int32_t **ids)
{
    struct ct_scored_side *s = r->row[row].side;
    const int with_ids = s[CT_REF].id ? CT_REF : CT_TEST;
    int32_t *id = r->id[with_ids] ? r->id[with_ids] + (size_t)row * (size_t)r->n_vocab : NULL;
    float *a = ct_scored_place(r, CT_REF, row), *b = ct_scored_place(r, CT_TEST, row);
    int n = 0;

    *ids = NULL;
    if (!s[CT_REF].id && !s[CT_TEST].id)
        return CT_MIN(s[CT_REF].n, s[CT_TEST].n);
    for (int i = 0, j = 0; i < s[CT_REF].n && j < s[CT_TEST].n;) {
        const int32_t p = id_at(&s[CT_REF], i), q = id_at(&s[CT_TEST], j);
        if (p == q) { /* n is at most i and j: nothing is overwritten that is still to be read */
            a[n] = s[CT_REF].value[i];
            b[n] = s[CT_TEST].value[j];
            id[n++] = p;
        }
        i += p <= q;
        j += q <= p;
    }
    s[CT_REF] = (struct ct_scored_side){a, id, n};
    s[CT_TEST] = (struct ct_scored_side){b, id, n};
    *ids = id;
    return n;
}

static void score_row(void *arg, int item, int thread)
{
    struct ct_scored_rows *r = arg;
    struct ct_scored_row *row = &r->row[item];
    struct ct_score_pair pair;
    const int32_t *ids;
    int n = intersect(r, item, &ids);

    (void)thread;
    row->wrong = CT_SCORE_BOTH_FINITE;
    if (n < 2) { /* a side failed, or the heads have nothing in common */
        row->difference = (carat_difference){.size = sizeof row->difference,
                                             .top_ref = -1,
                                             .top_test = -1,
                                             .compared = n,
                                             .left_out = r->n_text_vocab - n};
        return;
    }
    const int next =
        row->next < 0 ? row->next : ct_logits_place(&(struct ct_logits){.id = ids, .n = n}, row->next);
    r->score->pair(&pair, row->side[CT_REF].value, row->side[CT_TEST].value, n, next, CT_MIN(r->top, n));
    row->wrong = pair.wrong;
    if (pair.wrong != CT_SCORE_BOTH_FINITE) {
        row->wrong_id = ids ? ids[pair.wrong_column] : pair.wrong_column;
        return;
    }
    ct_difference(&row->difference, &pair, ids, r->near_tie);
    row->difference.compared = n;
    row->difference.left_out = r->n_text_vocab - n;
}

void ct_score_rows(struct ct_scored_rows *r, int n)
{
    ct_fpenv fp = ct_os_fp_enter();

    ct_pool_run(r->pool, n, score_row, r);
    ct_os_fp_leave(fp);
}

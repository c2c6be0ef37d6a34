/* SPDX-License-Identifier: Apache-2.0 */
/* kcheck_head.c: kcheck's random cases of what decides which rows of a head are computed: the k best, norms
 * of an input, bounds against a bar, a soft-cap taken back. That bounds hold:
 * test/model/test_head_bound.c. */
#include "kcheck.h"

/* Scores of which many are equal, or one in so many is not a number. */
static float *head_scores(struct kcheck *c, int n)
{
    float *score = kc_take(c, (size_t)n * sizeof *score, 4);
    const int coarse = kc_chance(c, 2)   ? 0
                       : kc_chance(c, 2) ? 2
                                         : 20,
              odd = kc_chance(c, 3) ? 1 + kc_below(c, 50) : 0;

    for (int i = 0; i < n; i++)
        score[i] =
            coarse ? (kc_chance(c, 2) ? 1.0f : -1.0f) * (float)kc_below(c, coarse) : kc_uniform(c, -30, 30);
    for (int i = 0; odd && i < n; i++)
        if (kc_chance(c, odd))
            score[i] = kc_chance(c, 2) ? NAN : kc_chance(c, 2) ? -INFINITY : INFINITY;
    return score;
}

void kc_select_case(struct kcheck *c)
{
    int n = 1 + kc_below(c, kc_chance(c, 8) ? 20000 : 400), k = 1 + kc_below(c, kc_chance(c, 2) ? n + 3 : 12);
    int32_t excluded[40], *id = NULL;
    const int n_excluded = kc_chance(c, 2) ? 0 : kc_below(c, (int)CT_COUNT(excluded) + 1);
    struct ct_logits l = {.value = head_scores(c, n), .n = n};

    kc_freeze(c, l.value);
    if (kc_chance(c, 2)) { /* of some ids */
        id = kc_take(c, (size_t)n * sizeof *id, 4);
        id[0] = kc_below(c, 5);
        for (int i = 1; i < n; i++)
            id[i] = id[i - 1] + 1 + kc_below(c, 3);
        kc_freeze(c, id);
        l.id = id;
    }
    for (int i = 0; i < n_excluded; i++)
        excluded[i] = kc_chance(c, 4) ? kc_below(c, 3 * n) : ct_logits_id(&l, kc_below(c, n));
    snprintf(c->shape, sizeof c->shape, "%d best of %d logits%s, %d excluded", k, n, id ? " of some ids" : "",
             n_excluded);
    ct_case_select(&c->cases, &l, k, excluded, n_excluded);
}

void kc_norms_case(struct kcheck *c)
{
    int n = 1 + kc_below(c, kc_chance(c, 4) ? 3000 : 130);
    float *x = kc_take(c, (size_t)n * sizeof *x, 4);

    kc_fill_inputs(c, x, (size_t)n);
    kc_freeze(c, x);
    snprintf(c->shape, sizeof c->shape, "%d values", n);
    ct_case_input_norms(&c->cases, x, n);
}

/* Bounds as they are, none at all, or any bits. */
static void head_bounds(struct kcheck *c, struct ct_row_bound *bound, int n)
{
    const int kind = kc_below(c, 3);

    for (int i = 0; i < n; i++) {
        float residual = kind ? kc_uniform(c, 0, 0.2f) : 0, norm = kind ? kc_uniform(c, 0, 4) : 0;
        bound[i] = (struct ct_row_bound){ct_f32_to_f16(residual), ct_f32_to_f16(norm)};
        if (kind == 2 && kc_chance(c, 8))
            bound[i] = (struct ct_row_bound){(uint16_t)kc_random(c), (uint16_t)kc_random(c)};
    }
}

void kc_prune_case(struct kcheck *c)
{
    static const double extreme[] = {0, 0x1p-149, 0x1p-120, 1e30, 1e300, INFINITY, NAN};
    const int n = 1 + kc_below(c, kc_chance(c, 8) ? 20000 : 400), words = (n + 511) / 512;
    struct ct_prune p = {.score = head_scores(c, n), .n = n};
    struct ct_row_bound *bound = kc_take(c, (size_t)n * sizeof *bound, 2);
    uint32_t *finished = kc_chance(c, 2) ? NULL : kc_take(c, (size_t)words * sizeof *finished, 4);

    head_bounds(c, bound, n);
    for (int i = 0; finished && i < words; i++)
        finished[i] = kc_random(c) & kc_random(c);
    kc_freeze(c, p.score);
    kc_freeze(c, bound);
    p.bound = bound;
    p.finished = finished;
    p.token.x = kc_chance(c, 6) ? extreme[kc_below(c, (int)CT_COUNT(extreme))] : (double)kc_uniform(c, 0, 30);
    p.token.y =
        kc_chance(c, 6) ? extreme[kc_below(c, (int)CT_COUNT(extreme))] : (double)kc_uniform(c, 0, 0.1f);
    p.bar = kc_chance(c, 2) ? kc_uniform(c, -30, 40) : p.score[kc_below(c, n)]; /* at a tie */
    snprintf(c->shape, sizeof c->shape, "%d scores, x %g, y %g, bar %g", n, p.token.x, p.token.y,
             (double)p.bar);
    ct_case_prune(&c->cases, &p);
}

void kc_uncap_case(struct kcheck *c)
{
    const float cap = kc_chance(c, 2) ? 30 : kc_chance(c, 2) ? 50 : kc_uniform(c, 0.01f, 1000);
    const float capped = kc_chance(c, 8) ? (kc_chance(c, 2) ? cap : -cap) : kc_uniform(c, -cap, cap);

    snprintf(c->shape, sizeof c->shape, "%g under %g", (double)capped, (double)cap);
    ct_case_uncap(&c->cases, capped, cap);
}

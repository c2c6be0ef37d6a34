/* SPDX-License-Identifier: Apache-2.0 */
/* ref_prune.c: which rows of a head can be left out because a sketch of them says so (NUMERICS.md section
 * 12): norms of the input, the test of scores, the bar below a soft-cap. The bounds of rows are made in
 * model/head_bound.c. */
#include "layout/panel.h"
#include "kernel/ref/ref.h"

/* ---- norms ---- */

void CT_NAME(ct_input_norms)(struct ct_input_norms *out, const float *x, int n, enum ct_input form)
{
    const bool bf16 = form == CT_INPUT_BF16 || form == CT_INPUT_BF16_LANES,
               floats = bf16 || form == CT_INPUT_F32;
    double int8[32] = {0}, apart[32] = {0}, dense[32] = {0};

    for (int at = 0; at < n; at += CT_GROUP) {
        const int have = CT_MIN(CT_GROUP, n - at);
        int8_t q[CT_GROUP];
        float value[CT_GROUP] = {0}; /* so that no vector reaches beyond x */
        memcpy(value, x + at, (size_t)have * sizeof *value);
        double scale = ct_quantise_group(q, value, have);
        for (int i = 0; i < have; i++) {
            double quantised = scale * q[i];
            double used = floats ? bf16 ? ct_bf16_round(value[i]) : value[i] : quantised;
            int8[i] += quantised * quantised;
            dense[i] += used * used;
            apart[i] += (used - quantised) * (used - quantised);
        }
    }
    *out =
        (struct ct_input_norms){__builtin_sqrt(ct_fold_double(int8)), __builtin_sqrt(ct_fold_double(apart)),
                                __builtin_sqrt(ct_fold_double(dense))};
}

/* ---- the test ---- */

/* The number of n rows that stay: those that are not certain to be below the bar. */
static inline int prune_stays(const float *restrict score, const struct ct_row_bound *restrict bound, int n,
                              struct ct_token_bound t, float bar)
{
    int stay = 0;
    for (int i = 0; i < n; i++) {
        double residual = ct_f16_value(bound[i].residual), norm = ct_f16_value(bound[i].norm);
        double slack = (residual * t.x + norm * t.y) * (1 + 0x1p-40) + 0x1p-120;
        stay += !((double)score[i] + slack < (double)bar);
    }
    return stay;
}

/* False only for rows of which none stays: the same test in float32, in which each step errs to the side of
 * staying. A f16 code becomes float32 without a choice: what is subnormal becomes larger, and infinity 65536.
 * x and y are larger by 2^-17 than the token's, more than all roundings, and plus 2^-120, so that they do not
 * underflow. */
enum { TOGETHER = 4 * CT_PANEL_ROWS };
static inline bool prune_may_stay(const float *restrict score, const struct ct_row_bound *restrict bound,
                                  const int n, float x, float y, float bar)
{
    int any = 0;
    for (int i = 0; i < n; i++) {
        uint32_t both;
        memcpy(&both, bound + i, sizeof both); /* the residual in the lower half */
        float residual = ct_f32_from_bits((both << 13 & 0x1fffe000u) + 0x38000000u),
              norm = ct_f32_from_bits((both >> 3 & 0x1fffe000u) + 0x38000000u);
        float most = score[i] + (residual * x + norm * y + 0x1p-100f);
        any |= !(most < bar) | (residual + norm >= 65536);
    }
    return any;
}

int CT_NAME(ct_prune)(int32_t *panels, int *rows, const struct ct_prune *p)
{
    const float x = (float)(p->token.x * (1 + 0x1p-17) + 0x1p-120),
                y = (float)(p->token.y * (1 + 0x1p-17) + 0x1p-120);
    int found = 0;

    *rows = 0;
    for (int first = 0; first < p->n; first += CT_PANEL_ROWS) {
        if (first % TOGETHER == 0 && first + TOGETHER <= p->n &&
            !prune_may_stay(p->score + first, p->bound + first, TOGETHER, x, y, p->bar)) {
            first += TOGETHER - CT_PANEL_ROWS;
            continue;
        }
        const int panel = first / CT_PANEL_ROWS, n = CT_MIN(CT_PANEL_ROWS, p->n - first);
        if (p->finished && p->finished[panel / 32] >> panel % 32 & 1)
            continue;
        if (n == CT_PANEL_ROWS &&
            !prune_may_stay(p->score + first, p->bound + first, CT_PANEL_ROWS, x, y, p->bar))
            continue;
        int stay = n == CT_PANEL_ROWS
                       ? prune_stays(p->score + first, p->bound + first, CT_PANEL_ROWS, p->token, p->bar)
                       : prune_stays(p->score + first, p->bound + first, n, p->token, p->bar);
        if (stay)
            panels[found++] = panel;
        *rows += stay;
    }
    return found;
}

/* ---- the soft-cap ---- */

/* Floats in the order of numbers; both zeros are one. */
static int32_t prune_rank(float x)
{
    int32_t u = (int32_t)ct_f32_bits(x);
    return u < 0 ? INT32_MIN - u : u;
}
static float prune_of_rank(int32_t rank)
{
    return ct_f32_from_bits((uint32_t)(rank < 0 ? INT32_MIN - rank : rank));
}

/* The computed cap is not monotone, but within 2^-21 cap of the true one, which is: so what lies below a
 * value that is capped to less than 2^-20 cap below `capped` does not reach it. */
float CT_NAME(ct_uncap)(float capped, float cap)
{
    const double least = (double)capped - 0x1p-20 * (double)cap;
    int32_t below = prune_rank(-__builtin_inff()), at = prune_rank(__builtin_inff());

    if (!((double)(cap * ct_tanh(-__builtin_inff() / cap)) < least)) /* all reach it; and NaN */
        return -__builtin_inff();
    while (at - 1 > below) {
        int32_t middle = below + (int32_t)(((int64_t)at - below) / 2);
        if ((double)(cap * ct_tanh(prune_of_rank(middle) / cap)) < least)
            below = middle;
        else
            at = middle;
    }
    return prune_of_rank(at);
}

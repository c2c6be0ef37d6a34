/* SPDX-License-Identifier: Apache-2.0 */
/* ref_draw.c: the arithmetic of sampling (NUMERICS.md section 8): softmax at temperature, top-p, min-p and the
 * draw with counter-based random numbers. top-k is in ref_select.c; which parameters apply is decided by
 * text/generation_config.c and the caller. */
#include "kernel/ref/ref.h"

/* Philox4x32-10 (Salmon et al., 2011): the first word for this key and counter. */
static uint32_t philox(uint64_t seed, uint32_t position, uint32_t number)
{
    uint32_t c0 = position, c1 = number, c2 = 0, c3 = 0;
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);

    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * c0, b = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return c0;
}

int32_t CT_NAME(ct_draw)(const float *logits, int n, const struct ct_draw *d, int32_t *order, float *weight)
{
    const struct ct_logits l = {.value = logits, .n = n};
    int k = d->temperature == 0 ? 1 : d->top_k == 0 ? n : CT_MIN(d->top_k, n);
    k = CT_NAME(ct_select)(order, &l, k, d->banned, d->n_banned, weight); /* which is not yet in use */
    if (k <= 1)
        return k ? order[0] : -1;

    float top = logits[order[0]] / d->temperature, p[32] = {0};
    for (int i = 0; i < k; i++)
        weight[i] = logits[order[i]];
    for (int i = 0; i < k; i++)
        weight[i] = ct_exp(weight[i] / d->temperature - top);
    for (int i = 0; i < k; i++)
        p[i % 32] += weight[i];
    float sum = ct_fold(p), before_i = 0;
    for (int i = 0; i < k; i++)
        weight[i] = weight[i] / sum;
    int keep = k;
    for (int i = 0; i < k && d->top_p < 1; i++) { /* an id goes when the mass before it reaches top_p */
        if (i > 0 && before_i >= d->top_p) {
            keep = i;
            break;
        }
        before_i += weight[i];
    }
    while (keep > 1 && weight[keep - 1] < d->min_p * weight[0])
        keep--;

    float total = 0, reached = 0;
    for (int i = 0; i < keep; i++)
        total += weight[i];
    float target = (float)(philox(d->seed, d->position, d->number) >> 8) * 0x1p-24f * total;
    for (int i = 0; i < keep; i++) {
        reached += weight[i];
        if (reached > target)
            return order[i];
    }
    return order[keep - 1];
}

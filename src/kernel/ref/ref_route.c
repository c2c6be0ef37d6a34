/* SPDX-License-Identifier: Apache-2.0 */
/* ref_route.c: which experts a row goes through, and how much each of them counts (NUMERICS.md section 6).
 * What an expert computes is an ordinary product, ref_project.c's. */
#include "kernel/ref/ref.h"

/* Puts expert e among the n best of those below it, of which k are kept, best first. */
static void route_insert(int32_t *id, float *value, int n, int k, int32_t e, float z)
{
    int at = n;

    while (at > 0 && value[at - 1] < z)
        at--;
    for (int i = CT_MIN(n, k - 1); i > at; i--) {
        id[i] = id[i - 1];
        value[i] = value[i - 1];
    }
    if (at < k) {
        id[at] = e;
        value[at] = z;
    }
}

/* Few enough to be sorted by insertion. */
static void route_by_id(int32_t *id, float *weight, int k)
{
    for (int i = 1; i < k; i++) {
        const int32_t e = id[i];
        const float w = weight[i];
        int at = i;
        for (; at > 0 && id[at - 1] > e; at--) {
            id[at] = id[at - 1];
            weight[at] = weight[at - 1];
        }
        id[at] = e;
        weight[at] = w;
    }
}

void CT_NAME(ct_route)(int32_t *id, float *weight, const float *logits, int n, int k, const float *scale)
{
    float p[32] = {0}, spoiled = 0;

    assert(k > 0 && k <= n);
    for (int e = 0; e < n; e++) {
        const bool finite = (ct_f32_bits(logits[e]) & 0x7f800000u) != 0x7f800000u;
        spoiled = finite ? spoiled : __builtin_nanf("");
        route_insert(id, weight, CT_MIN(e, k), k, e, finite ? logits[e] : -__builtin_inff());
    }
    const float best = weight[0];
    for (int i = 0; i < k; i++) {
        weight[i] = ct_exp(weight[i] - best);
        p[i % 32] += weight[i];
    }
    const float sum = ct_fold(p) + spoiled;
    for (int i = 0; i < k; i++)
        weight[i] = weight[i] / sum * scale[id[i]];
    route_by_id(id, weight, k);
}

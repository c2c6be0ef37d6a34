/* SPDX-License-Identifier: Apache-2.0 */
/* prepare_avx512.c: inputs in lanes for levels with 512-bit vectors, written as panel_avx512.c and
 * panel_planes.h read them: q[k/4][lanes][4], scale[group][lanes] and sum[group][lanes] of each block of
 * tokens; behind the sums of all blocks the same again with the sums of both halves of a group as 16 bits,
 * the first half low. */
#include "kernel/contract.h"
#include "kernel/x86/avx512/quantize_avx512.h"

_Static_assert(CT_LANES == EIGHT, "a block of tokens is quantised at once");

void CT_NAME(ct_lanes_prepare)(struct ct_prepared *p, const float *x, size_t ldx, struct ct_input_part part);
void CT_NAME(ct_prepare_init)(struct ct_kernel *k);

/* The first n of eight words. */
INLINE void store_some(void *to, __m256i v, int n)
{
    int32_t all[EIGHT];

    if (n == EIGHT) {
        _mm256_storeu_si256(to, v);
        return;
    }
    _mm256_storeu_si256((void *)all, v);
    memcpy(to, all, (size_t)n * sizeof *all);
}

/* Scales and sums of n groups to where they belong. */
INLINE void store_sums(float *scale, int32_t *sum, int32_t *pair, const struct eight_groups *g,
                       const __m512i words[4], int n)
{
    __m256i half[2];

    sums_of_halves(half, words);
    store_some(scale, _mm256_castps_si256(g->scale), n);
    store_some(sum, _mm256_add_epi32(half[0], half[1]), n);
    store_some(pair, both_halves(half), n);
}

/* One token: eight of its groups at a time. */
static void prepare_token(struct ct_prepared *p, const float *x, int g0, int g1)
{
    const int groups = p->cols / CT_GROUP;

    for (int g = g0; g < g1; g += EIGHT) {
        const int n = CT_MIN(EIGHT, g1 - g);
        struct eight_groups eight = quantize_eight(x + (g - g0) * CT_GROUP, CT_GROUP, n);
        __m512i words[4];
        UNROLL for (int i = 0; i < EIGHT / 2; i++)
        {
            int8_t *to = p->q + (g + 2 * i) * CT_GROUP;
            __m512i pair = pair_in_order(eight.pair[i]);
            if (2 * i + 1 < n)
                _mm512_storeu_si512((void *)to, pair);
            else if (2 * i < n)
                _mm256_storeu_si256((void *)to, _mm512_castsi512_si256(pair));
        }
        words_side_by_side(words, &eight);
        store_sums(p->scale + g, p->sum + g, p->sum + groups + g, &eight, words, n);
    }
}

void CT_NAME(ct_lanes_prepare)(struct ct_prepared *p, const float *x, size_t ldx, struct ct_input_part part)
{
    ct_assert_prepare(p, x, ldx, part);
    const size_t groups = (size_t)(p->cols / CT_GROUP);
    int32_t *pair = p->sum + ct_round_up((size_t)p->n, CT_LANES) * groups;

    if (p->n == 1) {
        prepare_token(p, x, part.g0, part.g1);
        return;
    }
    for (int t = part.t0; t < CT_MIN(part.t1, p->n); t += CT_LANES, x += CT_LANES * ldx)
        for (int g = part.g0; g < part.g1; g++) {
            const size_t at = (size_t)t * groups + (size_t)(g * CT_LANES);
            struct eight_groups eight =
                quantize_eight(x + (g - part.g0) * CT_GROUP, ldx, CT_MIN(CT_LANES, p->n - t));
            __m512i words[4];
            words_side_by_side(words, &eight);
            UNROLL for (int i = 0; i < 4; i++)
                _mm512_storeu_si512((void *)(p->q + at * CT_GROUP + 64 * i), words[i]);
            store_sums(p->scale + at, p->sum + at, pair + at, &eight, words, CT_LANES);
        }
}

void CT_NAME(ct_prepare_init)(struct ct_kernel *k)
{
    k->prepare_lanes = CT_NAME(ct_lanes_prepare);
}

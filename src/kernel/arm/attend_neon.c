/* SPDX-License-Identifier: Apache-2.0 */
/* attend_neon.c: the product of attention for Arm's vectors of 128 bits; the rest: attend_block.h. */
#include "kernel/arm/simd_neon.h"

/* The odd or the even ones of eight values of bf16. */
INLINE fvec odd_or_even(const void *p, const int odd)
{
    const uvec both = (uvec)fvec_load(p);
    return (fvec)(odd ? both & 0xffff0000u : both << 16);
}

#include "kernel/attend_block.h"

/* acc[t][16] += the lines times x[t][32] for T queries; the first group makes it. `wide` vectors of a line
 * are in flight: their two chains for each query fill half of the registers. */
INLINE void attend_group(float *acc, size_t ld_acc, const enum ct_kv_type type, const struct lines l,
                         const float *x, size_t ld_x, const int wide, const int T, bool first)
{
    for (int from = 0; from < PARTS; from += wide) {
        fvec chain[2][PARTS][4]; /* [odd][vector][query] */
        UNROLL for (int v = 0; v < wide; v++) UNROLL for (int t = 0; t < T; t++) chain[0][v][t] =
            chain[1][v][t] = fvec_all(0);
        for (int i = 0; i < CT_GROUP; i += 4) {
            fvec some[4];
            UNROLL for (int t = 0; t < T; t++) some[t] = fvec_load(x + (size_t)t * ld_x + i);
#define LINE(j)                                                                                              \
    UNROLL for (int v = 0; v < wide; v++)                                                                    \
    {                                                                                                        \
        const fvec w = line_values(type, l.at, l, (i + j) / 2, j % 2, from + v);                             \
        UNROLL for (int t = 0; t < T; t++) chain[j % 2][v][t] =                                              \
            vfmaq_laneq_f32(chain[j % 2][v][t], w, some[t], j);                                              \
    }
            LINE(0)
            LINE(1)
            LINE(2)
            LINE(3)
#undef LINE
        }
        UNROLL for (int v = 0; v < wide; v++) UNROLL for (int t = 0; t < T; t++)
        {
            float *to = acc + (size_t)t * ld_acc + VEC * (from + v);
            fvec_store(to, (first ? fvec_all(0) : fvec_load(to)) + (chain[0][v][t] + chain[1][v][t]));
        }
    }
}

INLINE void attend_lines(float *acc, size_t ld_acc, const enum ct_kv_type type, const struct lines l,
                         const float *x, size_t ld_x, int n, bool first)
{
#define QUERIES(T, wide)                                                                                     \
    for (; n >= (T); n -= (T), acc += (T)*ld_acc, x += (T)*ld_x)                                             \
        for (int b = 0; b < 2; b++)                                                                          \
            attend_group(acc + LANES * b, ld_acc, type, lines_beside(l, b), x, ld_x, wide, T, first);
    QUERIES(4, 2)
    QUERIES(2, 4)
    QUERIES(1, 4)
#undef QUERIES
}

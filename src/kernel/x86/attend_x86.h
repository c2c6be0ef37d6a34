/* SPDX-License-Identifier: Apache-2.0 */
/* attend_x86.h: the product of attention for vectors of x86. attend_X.c includes a simd_X.h and this; the
 * rest: kernel/attend_block.h. */
#ifndef CT_ATTEND_X86_H
#define CT_ATTEND_X86_H

/* As many signed bytes as there are lanes, as floats. */
INLINE fvec whole_bytes(const void *p)
{
    return V(cvtepi32_ps)(bytes_signed(p));
}

/* The odd or the even ones of twice as many values of bf16. Compilers see through vectors' own operators,
 * keep both, and run out of registers. */
INLINE fvec odd_or_even(const void *p, const int odd)
{
    const ivec both = ivec_load(p);
    return as_floats(odd ? BITS(and)(both, V(set1_epi32)((int32_t)0xffff0000)) : V(slli_epi32)(both, 16));
}

#include "kernel/attend_block.h"

enum { MOST = PARTS == 1 ? 12 : 3 }; /* queries whose sums fit the registers */

/* acc[t][16 * beside] += the lines times x[t][32] for T queries; the first group makes it. */
INLINE void attend_group(float *acc, size_t ld_acc, const enum ct_kv_type type, const struct lines l,
                         const float *x, size_t ld_x, const int T, const int beside, bool first)
{
    /* Even and odd values of bf16 lie side by side; unless compilers think of two places they read once and
     * keep both, which do not fit the registers beside the sums of three queries. */
    const uint8_t *at[2] = {l.at, l.at};
    const int parts = PARTS * beside;
    fvec sum[2][2][MOST]; /* [odd][part][query] */

    if (T == 3)
        ANEW(at[1]);
    UNROLL for (int i = 0; i < 2 * parts; i++) UNROLL for (int t = 0; t < T; t++) sum[i % 2][i / 2][t] =
        fvec_all(0);
    _Pragma("GCC unroll 4") for (int p = 0; p < CT_GROUP / 2; p++)
    {
        UNROLL for (int odd = 0; odd < 2; odd++)
        {
            fvec v[2];
            UNROLL for (int i = 0; i < parts; i++) v[i] = line_values(type, at[odd], l, p, odd, i);
            UNROLL for (int t = 0; t < T; t++)
            {
                const fvec by = fvec_all(x[(size_t)t * ld_x + (size_t)(2 * p + odd)]);
                UNROLL for (int i = 0; i < parts; i++) sum[odd][i][t] = fvec_fma(v[i], by, sum[odd][i][t]);
            }
        }
    }
    UNROLL for (int t = 0; t < T; t++) UNROLL for (int i = 0; i < parts; i++)
    {
        float *to = acc + (size_t)t * ld_acc + VEC * i;
        fvec_store(to, (first ? fvec_all(0) : fvec_load(to)) + (sum[0][i][t] + sum[1][i][t]));
    }
}

/* The same for n queries, and for lines and those beside them. Few queries take both at once, where registers
 * are left, to keep more sums in flight. */
INLINE void attend_lines(float *acc, size_t ld_acc, const enum ct_kv_type type, const struct lines l,
                         const float *x, size_t ld_x, int n, bool first)
{
#define QUERIES(T, beside)                                                                                   \
    for (; n >= (T) && !((T) == 3 && n == 4); n -= (T), acc += (T)*ld_acc, x += (T)*ld_x)                    \
        for (int b = 0; b < 2; b += (beside))                                                                \
            attend_group(acc + LANES * b, ld_acc, type, lines_beside(l, b), x, ld_x, T, beside, first);
    if (PARTS == 1) {
        QUERIES(12, 1)
        QUERIES(8, 1)
        QUERIES(4, 2)
        QUERIES(2, 2)
        QUERIES(1, 2)
    } else { /* four are two and two */
        QUERIES(3, 1)
        QUERIES(2, 1)
        QUERIES(1, 1)
    }
#undef QUERIES
}

#endif

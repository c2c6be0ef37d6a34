/* SPDX-License-Identifier: Apache-2.0 */
/* simd_math.h: floats in vectors of any width: bits, rounding, exp and tanh, with the very operations of
 * ref_math.h, so with the same bits. Each simd_X.h ends with it. Vectors are those of the compilers, so + - *
 * / and casts between vectors work lane by lane. */
#ifndef CT_SIMD_MATH_H
#define CT_SIMD_MATH_H

#include "kernel/ref/ref_math.h"

typedef uint32_t uvec __attribute__((vector_size(4 * VEC))); /* the bits of floats */

INLINE fvec fvec_and(fvec v, uint32_t bits)
{
    return (fvec)((uvec)v & bits);
}

/* Adds vectors that hold partial sums side by side: upper half upon lower half, until one is left, and then
 * its lanes (NUMERICS.md section 3). n is a power of two. */
INLINE float fvec_sum(fvec *sum, const int n)
{
    UNROLL for (int half = n / 2; half >= 1; half /= 2) UNROLL for (int i = 0; i < half; i++) sum[i] +=
        sum[i + half];
    return fvec_fold(sum[0]);
}

/* A weight of softmax rounded to bf16, still as f32; the caller makes small ones 0. */
INLINE fvec fvec_bf16_round(fvec v)
{
    const uvec u = (uvec)v;
    return fvec_and((fvec)(u + 0x7fff + (u >> 16 & 1)), 0xffff0000u);
}

/* lo where x is NaN, as CT_MIN(CT_MAX(x, lo), hi) */
INLINE fvec fvec_clamp(fvec x, float lo, float hi)
{
    return fvec_min(fvec_max(x, fvec_all(lo)), fvec_all(hi));
}

/* e^(x - n ln 2) for x near n ln 2: the polynomial of ct_exp. */
INLINE fvec fvec_exp_part(fvec x, fvec n)
{
    fvec r = fvec_fma(n, fvec_all(-0x1.7f7d1cp-20f), fvec_fma(n, fvec_all(-0x1.62e4p-1f), x));
    fvec p = fvec_all(1.0f / 5040);
    p = fvec_fma(p, r, fvec_all(1.0f / 720));
    p = fvec_fma(p, r, fvec_all(1.0f / 120));
    p = fvec_fma(p, r, fvec_all(1.0f / 24));
    p = fvec_fma(p, r, fvec_all(1.0f / 6));
    p = fvec_fma(p, r, fvec_all(0.5f));
    p = fvec_fma(p, r, fvec_all(1.0f));
    return fvec_fma(p, r, fvec_all(1.0f));
}

/* ct_exp; NaN stays NaN without being asked for. */
INLINE fvec fvec_exp(fvec x)
{
    const fvec magic = fvec_all(0x1.8p23f), n = fvec_clamp(x, -100.0f, 100.0f) * 1.44269504f + magic - magic;
    return fvec_to(fvec_from(fvec_scale(fvec_exp_part(x, n), n), x, -87.33655f), x, 88.72284f);
}

/* ct_tanh */
INLINE fvec fvec_tanh(fvec x)
{
    const fvec u = fvec_exp(-2.0f * fvec_and(x, 0x7fffffffu));
    return (fvec)((uvec)((1.0f - u) / (1.0f + u)) | (uvec)fvec_and(x, 0x80000000u));
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* simd_math.h: exp and tanh of vectors of any width with the very operations of ref_math.h, so with the same
 * bits. Each simd_X.h ends with it. */
#ifndef CT_SIMD_MATH_H
#define CT_SIMD_MATH_H

#include "kernel/ref/ref_math.h"

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
    const fvec magic = fvec_all(0x1.8p23f);
    fvec n =
        fvec_sub(fvec_add(fvec_mul(fvec_clamp(x, -100.0f, 100.0f), fvec_all(1.44269504f)), magic), magic);
    return fvec_to(fvec_from(fvec_scale(fvec_exp_part(x, n), n), x, -87.33655f), x, 88.72284f);
}

/* ct_tanh */
INLINE fvec fvec_tanh(fvec x)
{
    fvec one = fvec_all(1.0f), u = fvec_exp(fvec_mul(fvec_all(-2.0f), fvec_and(x, 0x7fffffffu)));
    return fvec_or(fvec_div(fvec_sub(one, u), fvec_add(one, u)), fvec_and(x, 0x80000000u));
}

#endif

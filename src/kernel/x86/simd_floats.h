/* SPDX-License-Identifier: Apache-2.0 */
/* simd_floats.h: what floats in vectors of x86 have in common, whatever their width. Each simd_X.h ends with
 * it; exp and tanh out of it: kernel/simd_math.h. */
#ifndef CT_SIMD_FLOATS_H
#define CT_SIMD_FLOATS_H

INLINE fvec fvec_all(float v)
{
    return V(set1_ps)(v);
}
INLINE fvec fvec_load(const float *p)
{
    return V(loadu_ps)(p);
}
INLINE void fvec_store(float *p, fvec v)
{
    V(storeu_ps)(p, v);
}
INLINE fvec fvec_add(fvec a, fvec b)
{
    return V(add_ps)(a, b);
}
INLINE fvec fvec_sub(fvec a, fvec b)
{
    return V(sub_ps)(a, b);
}
INLINE fvec fvec_mul(fvec a, fvec b)
{
    return V(mul_ps)(a, b);
}
INLINE fvec fvec_div(fvec a, fvec b)
{
    return V(div_ps)(a, b);
}
INLINE fvec fvec_fma(fvec a, fvec b, fvec c)
{
    return V(fmadd_ps)(a, b, c);
}
/* b where either is NaN */
INLINE fvec fvec_max(fvec a, fvec b)
{
    return V(max_ps)(a, b);
}
INLINE fvec fvec_min(fvec a, fvec b)
{
    return V(min_ps)(a, b);
}
INLINE fvec fvec_and(fvec v, uint32_t bits)
{
    return as_floats(BITS(and)(as_bits(v), V(set1_epi32)((int32_t)bits)));
}
INLINE fvec fvec_or(fvec v, fvec w)
{
    return as_floats(BITS(or)(as_bits(v), as_bits(w)));
}
/* A weight of softmax rounded to bf16, still as f32; the caller makes small ones 0. */
INLINE fvec fvec_bf16_round(fvec v)
{
    ivec u = as_bits(v), odd = BITS(and)(V(srli_epi32)(u, 16), V(set1_epi32)(1));
    u = V(add_epi32)(V(add_epi32)(u, V(set1_epi32)(0x7fff)), odd);
    return fvec_and(as_floats(u), 0xffff0000u);
}

#include "kernel/simd_math.h"

#endif

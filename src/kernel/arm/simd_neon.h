/* SPDX-License-Identifier: Apache-2.0 */
/* simd_neon.h: floats in Arm's vectors of 128 bits, under the names that x86/avx2/simd_avx2.h has, for what
 * is written once for all widths: attend_softmax.h and vector_body.h. */
#ifndef CT_SIMD_NEON_H
#define CT_SIMD_NEON_H

#include <arm_neon.h>

#include "kernel/compiler.h"
#include "kernel/kernel.h"

enum { VEC = 4 }; /* lanes */

typedef float32x4_t fvec;

INLINE fvec fvec_all(float v)
{
    return vdupq_n_f32(v);
}
INLINE fvec fvec_load(const float *p)
{
    return vld1q_f32(p);
}
INLINE void fvec_store(float *p, fvec v)
{
    vst1q_f32(p, v);
}
INLINE fvec fvec_add(fvec a, fvec b)
{
    return a + b;
}
INLINE fvec fvec_sub(fvec a, fvec b)
{
    return a - b;
}
INLINE fvec fvec_mul(fvec a, fvec b)
{
    return a * b;
}
INLINE fvec fvec_div(fvec a, fvec b)
{
    return a / b;
}
INLINE fvec fvec_fma(fvec a, fvec b, fvec c)
{
    return vfmaq_f32(c, a, b);
}
/* b where either is NaN, as x86 has it; Arm's own would give NaN */
INLINE fvec fvec_max(fvec a, fvec b)
{
    return vbslq_f32(vcgtq_f32(a, b), a, b);
}
INLINE fvec fvec_min(fvec a, fvec b)
{
    return vbslq_f32(vcltq_f32(a, b), a, b);
}
INLINE fvec fvec_and(fvec v, uint32_t bits)
{
    return vreinterpretq_f32_u32(vreinterpretq_u32_f32(v) & vdupq_n_u32(bits));
}
INLINE fvec fvec_or(fvec v, fvec w)
{
    return vreinterpretq_f32_u32(vreinterpretq_u32_f32(v) | vreinterpretq_u32_f32(w));
}
INLINE fvec fvec_bf16_round(fvec v)
{
    uint32x4_t u = vreinterpretq_u32_f32(v), odd = (u >> 16) & vdupq_n_u32(1);
    return fvec_and(vreinterpretq_f32_u32(u + vdupq_n_u32(0x7fff) + odd), 0xffff0000u);
}

/* 2^e for the bits that a float's exponent has */
INLINE fvec power_neon(int32x4_t e)
{
    return vreinterpretq_f32_s32((e + vdupq_n_s32(127)) << 23);
}
INLINE fvec fvec_scale(fvec p, fvec n)
{
    const int32x4_t e = vcvtnq_s32_f32(n), half = e >> 1;
    return p * power_neon(half) * power_neon(e - half);
}
INLINE fvec fvec_scale_down(fvec p, fvec n, fvec whole)
{
    (void)n; /* the low bits of `whole` are n */
    return p * power_neon(vreinterpretq_s32_f32(whole));
}
INLINE fvec fvec_from(fvec v, fvec x, float lo)
{
    return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(v), vcltq_f32(x, vdupq_n_f32(lo))));
}
INLINE fvec fvec_to(fvec v, fvec x, float hi)
{
    return vbslq_f32(vcgtq_f32(x, vdupq_n_f32(hi)), vdupq_n_f32(__builtin_inff()), v);
}
INLINE fvec fvec_within(fvec v, int first, int last)
{
    const int32x4_t lane = {0, 1, 2, 3};
    const uint32x4_t inside = vcgeq_s32(lane, vdupq_n_s32(first)) & vcleq_s32(lane, vdupq_n_s32(last));
    return vbslq_f32(inside, v, vdupq_n_f32(-__builtin_inff()));
}
INLINE float fvec_largest(fvec v)
{
    v = fvec_max(v, vextq_f32(v, v, 2));
    return vgetq_lane_f32(fvec_max(v, vextq_f32(v, v, 1)), 0);
}
INLINE float fvec_fold(fvec v)
{
    float32x2_t half = vget_low_f32(v) + vget_high_f32(v);
    return vget_lane_f32(half, 0) + vget_lane_f32(half, 1);
}

#include "kernel/simd_math.h"

#endif

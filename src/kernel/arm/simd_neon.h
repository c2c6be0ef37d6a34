/* SPDX-License-Identifier: Apache-2.0 */
/* simd_neon.h: floats in Arm's vectors of 128 bits, under the names that x86 has, for what is written
 * once for all widths (attend_block.h, vector_body.h), and what Arm's files of products share. */
#ifndef CT_SIMD_NEON_H
#define CT_SIMD_NEON_H

#include <arm_neon.h>

#include "kernel/compiler.h"
#include "kernel/kernel.h"
#include "layout/panel.h"

enum { VEC = 4, PARTS = CT_PANEL_ROWS / VEC }; /* lanes, and vectors across a panel */

typedef float32x4_t fvec;

INLINE fvec fvec_all(float v)
{
    return vdupq_n_f32(v);
}
INLINE fvec fvec_load(const void *p)
{
    return vld1q_f32(p);
}
INLINE void fvec_store(float *p, fvec v)
{
    vst1q_f32(p, v);
}
/* Four f16 values, and four signed bytes, as floats. */
INLINE fvec halves(const void *p)
{
    return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(p)));
}
INLINE fvec whole_bytes(const void *p)
{
    uint32_t four;
    memcpy(&four, p, 4);
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(vcreate_s8(four)))));
}
/* No kernel of Arm asks for memory ahead. */
INLINE void fetch(const uint8_t *p)
{
    (void)p;
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

/* 2^e for the bits that a float's exponent has */
INLINE fvec power_neon(int32x4_t e)
{
    return (fvec)((e + 127) << 23);
}
INLINE fvec fvec_scale(fvec p, fvec n)
{
    const int32x4_t e = vcvtnq_s32_f32(n), half = e >> 1;
    return p * power_neon(half) * power_neon(e - half);
}
INLINE fvec fvec_scale_down(fvec p, fvec n, fvec whole)
{
    (void)n; /* the low bits of `whole` are n */
    return p * power_neon((int32x4_t)whole);
}
INLINE fvec fvec_from(fvec v, fvec x, float lo)
{
    return (fvec)vbicq_u32((uint32x4_t)v, vcltq_f32(x, vdupq_n_f32(lo)));
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

/* Stores a panel's rows of some tokens. */
INLINE void store_tokens(float *out, size_t ldo, fvec (*acc)[CT_LANES], int rows, int tokens, float scale)
{
    for (int t = 0; t < tokens; t++) {
        float all[CT_PANEL_ROWS];
        for (int i = 0; i < PARTS; i++)
            fvec_store(all + VEC * i, acc[i][t] * scale);
        memcpy(out + (size_t)t * ldo, all, (size_t)rows * sizeof *out);
    }
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* simd_avx512.h: vectors of 512 bits for kernels of x86, of integers (ivec) and of floats (fvec). What the
 * names mean: avx2/simd_avx2.h. */
#ifndef CT_SIMD_AVX512_H
#define CT_SIMD_AVX512_H

#include <immintrin.h>

#include "kernel/compiler.h"
#include "kernel/kernel.h"
#include "layout/panel.h"

enum { VEC = 16, PARTS = CT_PANEL_ROWS / VEC };

typedef __m512i ivec;
typedef __m512 fvec;

#define V(operation)    _mm512_##operation
#define BITS(operation) _mm512_##operation##_si512
#define HALF(operation) _mm256_##operation

INLINE __m256i load_half(const void *p)
{
    return _mm256_loadu_si256(p);
}

INLINE void store_half(void *p, __m256i v)
{
    _mm256_storeu_si256(p, v);
}

INLINE __m128i load_quarter(const void *p)
{
    return _mm_loadu_si128(p);
}

INLINE ivec sixteen(const void *p)
{
    return _mm512_broadcast_i32x4(_mm_loadu_si128(p));
}

INLINE fvec low_halves(ivec v)
{
    return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(v));
}

INLINE fvec fvec_halves(const void *p)
{
    return _mm512_cvtph_ps(load_half(p));
}

INLINE fvec fvec_pair(const float *p)
{
    double both;
    memcpy(&both, p, sizeof both);
    return (fvec)_mm512_set1_pd(both);
}

INLINE ivec signed_pairs(ivec size, ivec w, ivec x)
{
    x = _mm512_mask_sub_epi8(x, _mm512_movepi8_mask(w), _mm512_setzero_si512(), x);
    return _mm512_maddubs_epi16(size, x);
}

INLINE ivec zero_like(ivec v, ivec like)
{
    return _mm512_maskz_mov_epi16(_mm512_test_epi16_mask(like, like), v);
}

#define DOT_BYTES(sum, u, s) _mm512_dpbusd_epi32(sum, u, s)

#define fvec_scale(p, n)             _mm512_scalef_ps(p, n)
#define fvec_scale_down(p, n, whole) ((void)(whole), _mm512_scalef_ps(p, n))

INLINE fvec fvec_from(fvec v, fvec x, float lo)
{
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, _mm512_set1_ps(lo), _CMP_NLT_UQ), v);
}

INLINE fvec fvec_to(fvec v, fvec x, float hi)
{
    return _mm512_mask_mov_ps(v, _mm512_cmp_ps_mask(x, _mm512_set1_ps(hi), _CMP_GT_OQ),
                              _mm512_set1_ps(__builtin_inff()));
}

INLINE fvec fvec_within(fvec v, int first, int last)
{
    uint32_t from = 0xffffu << CT_MAX(first, 0), to = 0xffffu >> CT_MAX(VEC - 1 - last, 0);
    return _mm512_mask_mov_ps(_mm512_set1_ps(-__builtin_inff()), (__mmask16)(from & to), v);
}

INLINE __m256 upper(fvec v)
{
    return _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(v), 1));
}

#define fvec_largest(v) fold_most(_mm256_max_ps(_mm512_castps512_ps256(v), upper(v)))
#define fvec_fold(v)    fold_sum(_mm512_castps512_ps256(v) + upper(v))

#include "kernel/x86/simd_x86.h"

INLINE void store_rows(float *out, const fvec acc[PARTS], int rows, float scale)
{
    _mm512_mask_storeu_ps(out, (__mmask16)((1u << rows) - 1), acc[0] * scale);
}

#endif

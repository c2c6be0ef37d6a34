/* SPDX-License-Identifier: Apache-2.0 */
/* simd_avx512.h: vectors of 512 bits for kernels of x86, of integers (ivec) and of floats (fvec). What the
 * names mean: avx2/simd_avx2.h. Sizes of tiles: sizes.h. */
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

INLINE ivec ivec_load(const void *p)
{
    return _mm512_loadu_si512(p);
}

INLINE fvec as_floats(ivec v)
{
    return _mm512_castsi512_ps(v);
}

INLINE ivec as_bits(fvec v)
{
    return _mm512_castps_si512(v);
}

INLINE void fetch(const uint8_t *p)
{
    _mm_prefetch((const char *)p, _MM_HINT_T1);
}

INLINE ivec same(const void *p)
{
    int32_t v;
    memcpy(&v, p, 4);
    return _mm512_set1_epi32(v);
}

INLINE ivec sixteen(const void *p)
{
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)p));
}

INLINE __m256i load_half(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

INLINE fvec halves(const uint8_t *p)
{
    return _mm512_cvtph_ps(load_half(p));
}

INLINE ivec words_unsigned(const uint8_t *p)
{
    return _mm512_cvtepu16_epi32(load_half(p));
}

INLINE ivec bytes_signed(const uint8_t *p)
{
    return _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
}

INLINE ivec bytes_unsigned(const uint8_t *p)
{
    return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
}

INLINE ivec pairs_signed(const uint8_t *p)
{
    return _mm512_cvtepi8_epi16(load_half(p));
}

INLINE ivec pairs_unsigned(const uint8_t *p)
{
    return _mm512_cvtepu8_epi16(load_half(p));
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

/* ---- floats ---- */

INLINE fvec fvec_scale(fvec p, fvec n)
{
    return _mm512_scalef_ps(p, n);
}

INLINE fvec fvec_scale_down(fvec p, fvec n, fvec whole)
{
    (void)whole;
    return _mm512_scalef_ps(p, n);
}

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

INLINE float fvec_largest(fvec v)
{
    __m256 h = _mm256_max_ps(_mm512_castps512_ps256(v), upper(v));
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}

INLINE float fvec_fold(fvec v)
{
    __m256 h = _mm256_add_ps(_mm512_castps512_ps256(v), upper(v));
    __m128 m = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    m = _mm_add_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_add_ss(m, _mm_movehdup_ps(m)));
}

INLINE void store_rows(float *out, const fvec acc[PARTS], int rows, float scale)
{
    _mm512_mask_storeu_ps(out, (__mmask16)((1u << rows) - 1), _mm512_mul_ps(acc[0], _mm512_set1_ps(scale)));
}

#include "kernel/x86/simd_floats.h"

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* simd_x86.h: what vectors of x86 have in common, whatever their width. Each simd_X.h ends with it; floats on
 * every architecture: kernel/simd_math.h. */
#ifndef CT_SIMD_X86_H
#define CT_SIMD_X86_H

INLINE void fetch(const uint8_t *p)
{
    _mm_prefetch((const char *)p, _MM_HINT_T1);
}

/* The bits of floats as floats, and back. */
INLINE fvec as_floats(ivec v)
{
    return (fvec)v;
}

INLINE ivec as_bits(fvec v)
{
    return (ivec)v;
}

INLINE ivec ivec_load(const void *p)
{
    return BITS(loadu)(p);
}

INLINE void ivec_store(void *p, ivec v)
{
    BITS(storeu)(p, v);
}

/* Repeats 4 bytes in every lane. */
INLINE ivec same(const void *p)
{
    int32_t v;
    memcpy(&v, p, 4);
    return V(set1_epi32)(v);
}

/* As many as there are lanes: f16 values, 16-bit words, bytes. */
INLINE fvec halves(const void *p)
{
    return V(cvtph_ps)(load_half(p));
}

INLINE ivec words_unsigned(const uint8_t *p)
{
    return V(cvtepu16_epi32)(load_half(p));
}

INLINE ivec bytes_signed(const void *p)
{
    return V(cvtepi8_epi32)(load_quarter(p));
}

INLINE ivec bytes_unsigned(const uint8_t *p)
{
    return V(cvtepu8_epi32)(load_quarter(p));
}

/* Two bytes for each lane, as 16-bit words. */
INLINE ivec pairs_signed(const uint8_t *p)
{
    return V(cvtepi8_epi16)(load_half(p));
}

INLINE ivec pairs_unsigned(const uint8_t *p)
{
    return V(cvtepu8_epi16)(load_half(p));
}

/* ---- floats ---- */

INLINE fvec fvec_all(float v)
{
    return V(set1_ps)(v);
}

INLINE fvec fvec_load(const void *p)
{
    return V(loadu_ps)(p);
}

INLINE void fvec_store(float *p, fvec v)
{
    V(storeu_ps)(p, v);
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

/* The largest, and the sum, of eight lanes: halves of what is left one upon the other. */
INLINE float fold_most(__m256 v)
{
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}

INLINE float fold_sum(__m256 v)
{
    __m128 m = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    m = _mm_add_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_add_ss(m, _mm_movehdup_ps(m)));
}

#include "kernel/simd_math.h"

#endif

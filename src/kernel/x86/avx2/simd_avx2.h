/* SPDX-License-Identifier: Apache-2.0 */
/* simd_avx2.h: vectors of 256 bits for kernels of x86, of integers (ivec) and of floats (fvec): what differs
 * between the widths, under the names that avx512/simd_avx512.h has too, so that one text serves both. What
 * does not differ: simd_floats.h. Sizes of tiles: sizes.h. */
#ifndef CT_SIMD_AVX2_H
#define CT_SIMD_AVX2_H

#include <immintrin.h>

#include "kernel/compiler.h"
#include "kernel/kernel.h"
#include "layout/panel.h"

enum { VEC = 8, PARTS = CT_PANEL_ROWS / VEC }; /* lanes of 32 bits, and vectors across a panel */

typedef __m256i ivec;
typedef __m256 fvec;

#define V(operation)    _mm256_##operation
#define BITS(operation) _mm256_##operation##_si256

INLINE ivec ivec_load(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

/* The bits of floats as floats, and back. */
INLINE fvec as_floats(ivec v)
{
    return _mm256_castsi256_ps(v);
}

INLINE ivec as_bits(fvec v)
{
    return _mm256_castps_si256(v);
}

INLINE void fetch(const uint8_t *p)
{
    _mm_prefetch((const char *)p, _MM_HINT_T1);
}

/* The same 4 bytes in every lane. */
INLINE ivec same(const void *p)
{
    int32_t v;
    memcpy(&v, p, 4);
    return _mm256_set1_epi32(v);
}

/* The same 16 bytes in every 16. */
INLINE ivec sixteen(const void *p)
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)p));
}

/* A part's f16 values, 16-bit words and bytes. */
INLINE fvec halves(const uint8_t *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}

INLINE ivec words_unsigned(const uint8_t *p)
{
    return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
}

INLINE ivec bytes_signed(const uint8_t *p)
{
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
}

INLINE ivec bytes_unsigned(const uint8_t *p)
{
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
}

/* Two bytes of each row as 16-bit words. */
INLINE ivec pairs_signed(const uint8_t *p)
{
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
}

INLINE ivec pairs_unsigned(const uint8_t *p)
{
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
}

/* Sums of two products of signed bytes, size being |w|. |w| is at most 128 and |x| at most 127: 2 * 128 * 127
 * = 32512 fits 16 bits. */
INLINE ivec signed_pairs(ivec size, ivec w, ivec x)
{
    return _mm256_maddubs_epi16(size, _mm256_sign_epi8(x, w));
}

/* v, or 0 where the 16-bit word of `like`, which is not negative, is 0 */
INLINE ivec zero_like(ivec v, ivec like)
{
    return _mm256_sign_epi16(v, like);
}

/* sum + four products of unsigned and signed bytes */
#define DOT_BYTES(sum, u, s) _mm256_dpbusd_avx_epi32(sum, u, s)

/* ---- floats ---- */

/* p 2^n, rounded once; n is whole and at most 150 either way: two factors, for one is no float */
INLINE fvec fvec_scale(fvec p, fvec n)
{
    const ivec bias = _mm256_set1_epi32(127);
    ivec e = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(e, 1);
    fvec first = as_floats(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23));
    fvec second = as_floats(_mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(e, half), bias), 23));
    return _mm256_mul_ps(_mm256_mul_ps(p, first), second);
}

/* The same for n = whole - 1.5 2^23 that is not above 0: 2^n is a float down to -126, and 0 at -127. */
INLINE fvec fvec_scale_down(fvec p, fvec n, fvec whole)
{
    (void)n; /* the low bits of `whole` are n */
    ivec power =
        _mm256_add_epi32(_mm256_slli_epi32(_mm256_castps_si256(whole), 23), _mm256_set1_epi32(127 << 23));
    return _mm256_mul_ps(p, as_floats(power));
}

/* v, but 0 where x < lo */
INLINE fvec fvec_from(fvec v, fvec x, float lo)
{
    return _mm256_andnot_ps(_mm256_cmp_ps(x, _mm256_set1_ps(lo), _CMP_LT_OQ), v);
}

/* v, but infinite where x > hi */
INLINE fvec fvec_to(fvec v, fvec x, float hi)
{
    return _mm256_blendv_ps(v, _mm256_set1_ps(__builtin_inff()),
                            _mm256_cmp_ps(x, _mm256_set1_ps(hi), _CMP_GT_OQ));
}

/* v, but minus infinity in the lanes outside of [first, last] */
INLINE fvec fvec_within(fvec v, int first, int last)
{
    const ivec lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    ivec outside = _mm256_or_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(first), lane),
                                   _mm256_cmpgt_epi32(lane, _mm256_set1_epi32(last)));
    return _mm256_blendv_ps(v, _mm256_set1_ps(-__builtin_inff()), as_floats(outside));
}

INLINE float fvec_largest(fvec v)
{
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}

/* The sum of all lanes, halves of what is left one upon the other. */
INLINE float fvec_fold(fvec v)
{
    __m128 m = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    m = _mm_add_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_add_ss(m, _mm_movehdup_ps(m)));
}

/* Stores a panel's rows of one token. */
INLINE void store_rows(float *out, const fvec acc[PARTS], int rows, float scale)
{
    fvec s = _mm256_set1_ps(scale), low = _mm256_mul_ps(acc[0], s), high = _mm256_mul_ps(acc[1], s);
    float all[CT_PANEL_ROWS];

    if (rows == CT_PANEL_ROWS) {
        _mm256_storeu_ps(out, low);
        _mm256_storeu_ps(out + VEC, high);
        return;
    }
    _mm256_storeu_ps(all, low);
    _mm256_storeu_ps(all + VEC, high);
    memcpy(out, all, (size_t)rows * sizeof *out);
}

#include "kernel/x86/simd_floats.h"

#endif

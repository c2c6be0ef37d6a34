/* SPDX-License-Identifier: Apache-2.0 */
/* simd_avx2.h: vectors of 256 bits for kernels of x86, of integers (ivec) and of floats (fvec): what differs
 * between the widths, under the names that avx512/simd_avx512.h has too, so that one text serves both. What
 * does not differ: simd_x86.h. */
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
#define HALF(operation) _mm_##operation /* of a vector half as wide */

/* Half as many bytes as a vector has, and a quarter. */
INLINE __m128i load_half(const void *p)
{
    return _mm_loadu_si128(p);
}

INLINE void store_half(void *p, __m128i v)
{
    _mm_storeu_si128(p, v);
}

INLINE __m128i load_quarter(const void *p)
{
    return _mm_loadl_epi64(p);
}

/* Repeats 16 bytes in every 16. */
INLINE ivec sixteen(const void *p)
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(p));
}

/* The 16-bit words of lanes of 32 bits whose upper halves count nothing, as f16 values. */
INLINE fvec low_halves(ivec v)
{
    v = _mm256_and_si256(v, _mm256_set1_epi32(0xffff));
    v = _mm256_packus_epi32(v, v); /* 0 to 3 twice, 4 to 7 twice */
    return _mm256_cvtph_ps(_mm256_castsi256_si128(_mm256_permute4x64_epi64(v, 0x08)));
}

/* So many values of f16 as floats; two floats in every pair of lanes. */
INLINE fvec fvec_halves(const void *p)
{
    return _mm256_cvtph_ps(load_half(p));
}

INLINE fvec fvec_pair(const float *p)
{
    double both;
    memcpy(&both, p, sizeof both);
    return (fvec)_mm256_set1_pd(both);
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

/* p 2^n, rounded once; n is whole and at most 150 either way: two factors, for one is no float */
INLINE fvec fvec_scale(fvec p, fvec n)
{
    const ivec bias = _mm256_set1_epi32(127);
    ivec e = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(e, 1);
    fvec first = (fvec)_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
    return p * first * (fvec)_mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(e, half), bias), 23);
}

/* The same for n = whole - 1.5 2^23 that is not above 0: 2^n is a float down to -126, and 0 at -127. */
INLINE fvec fvec_scale_down(fvec p, fvec n, fvec whole)
{
    (void)n; /* the low bits of `whole` are n */
    return p * (fvec)_mm256_add_epi32(_mm256_slli_epi32((ivec)whole, 23), _mm256_set1_epi32(127 << 23));
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
    return _mm256_blendv_ps(v, _mm256_set1_ps(-__builtin_inff()), (fvec)outside);
}

#define fvec_largest(v) fold_most(v)
#define fvec_fold(v)    fold_sum(v)

#include "kernel/x86/simd_x86.h"

/* Stores a panel's rows of one token. */
INLINE void store_rows(float *out, const fvec acc[PARTS], int rows, float scale)
{
    float all[CT_PANEL_ROWS];
    float *to = rows == CT_PANEL_ROWS ? out : all;

    fvec_store(to, acc[0] * scale);
    fvec_store(to + VEC, acc[1] * scale);
    if (rows < CT_PANEL_ROWS)
        memcpy(out, all, (size_t)rows * sizeof *out);
}

#endif

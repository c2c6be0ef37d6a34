/* SPDX-License-Identifier: Apache-2.0 */
/* vector.h: floats in lanes of 256 bits, or of 512 (CT_VECTOR_512): the operations of either under one name, and out of
 * them exp, tanh and bf16 rounding with the very operations of ref_math.h, so with the same bits. For files of kernels of
 * x86; what is done with it: vector_body.h. */
#ifndef CT_VECTOR_H
#define CT_VECTOR_H

#include <immintrin.h>

#include "kernel/ref/ref_math.h"

#define VECTOR static inline __attribute__((always_inline, unused))

#ifdef CT_VECTOR_512

typedef __m512 vec;
enum { VEC = 16 }; /* lanes */

VECTOR vec vec_all(float v)
{
    return _mm512_set1_ps(v);
}
VECTOR vec vec_load(const float *p)
{
    return _mm512_loadu_ps(p);
}
VECTOR void vec_store(float *p, vec v)
{
    _mm512_storeu_ps(p, v);
}
VECTOR vec vec_add(vec a, vec b)
{
    return _mm512_add_ps(a, b);
}
VECTOR vec vec_sub(vec a, vec b)
{
    return _mm512_sub_ps(a, b);
}
VECTOR vec vec_mul(vec a, vec b)
{
    return _mm512_mul_ps(a, b);
}
VECTOR vec vec_div(vec a, vec b)
{
    return _mm512_div_ps(a, b);
}
VECTOR vec vec_fma(vec a, vec b, vec c)
{
    return _mm512_fmadd_ps(a, b, c);
}
/* lo where x is NaN, as CT_MIN(CT_MAX(x, lo), hi) */
VECTOR vec vec_clamp(vec x, float lo, float hi)
{
    return _mm512_min_ps(_mm512_max_ps(x, vec_all(lo)), vec_all(hi));
}
/* p 2^n, rounded once; n is whole */
VECTOR vec vec_scale(vec p, vec n)
{
    return _mm512_scalef_ps(p, n);
}
/* v, but 0 where x < lo and infinite where x > hi */
VECTOR vec vec_limit(vec v, vec x, float lo, float hi)
{
    v = _mm512_mask_mov_ps(v, _mm512_cmp_ps_mask(x, vec_all(lo), _CMP_LT_OQ), vec_all(0));
    return _mm512_mask_mov_ps(v, _mm512_cmp_ps_mask(x, vec_all(hi), _CMP_GT_OQ), vec_all(__builtin_inff()));
}
VECTOR vec vec_and(vec v, uint32_t bits)
{
    return _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(v), _mm512_set1_epi32((int32_t)bits)));
}
VECTOR vec vec_or(vec v, vec w)
{
    return _mm512_castsi512_ps(_mm512_or_si512(_mm512_castps_si512(v), _mm512_castps_si512(w)));
}

#else

typedef __m256 vec;
enum { VEC = 8 }; /* lanes */

VECTOR vec vec_all(float v)
{
    return _mm256_set1_ps(v);
}
VECTOR vec vec_load(const float *p)
{
    return _mm256_loadu_ps(p);
}
VECTOR void vec_store(float *p, vec v)
{
    _mm256_storeu_ps(p, v);
}
VECTOR vec vec_add(vec a, vec b)
{
    return _mm256_add_ps(a, b);
}
VECTOR vec vec_sub(vec a, vec b)
{
    return _mm256_sub_ps(a, b);
}
VECTOR vec vec_mul(vec a, vec b)
{
    return _mm256_mul_ps(a, b);
}
VECTOR vec vec_div(vec a, vec b)
{
    return _mm256_div_ps(a, b);
}
VECTOR vec vec_fma(vec a, vec b, vec c)
{
    return _mm256_fmadd_ps(a, b, c);
}
/* lo where x is NaN, as CT_MIN(CT_MAX(x, lo), hi) */
VECTOR vec vec_clamp(vec x, float lo, float hi)
{
    return _mm256_min_ps(_mm256_max_ps(x, vec_all(lo)), vec_all(hi));
}
/* p 2^n, rounded once; n is whole and at most 150 either way: two factors, for one is no float */
VECTOR vec vec_scale(vec p, vec n)
{
    const __m256i bias = _mm256_set1_epi32(127);
    __m256i e = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(e, 1);
    __m256i first = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
    __m256i second = _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(e, half), bias), 23);
    return vec_mul(vec_mul(p, _mm256_castsi256_ps(first)), _mm256_castsi256_ps(second));
}
/* v, but 0 where x < lo and infinite where x > hi */
VECTOR vec vec_limit(vec v, vec x, float lo, float hi)
{
    v = _mm256_andnot_ps(_mm256_cmp_ps(x, vec_all(lo), _CMP_LT_OQ), v);
    return _mm256_blendv_ps(v, vec_all(__builtin_inff()), _mm256_cmp_ps(x, vec_all(hi), _CMP_GT_OQ));
}
VECTOR vec vec_and(vec v, uint32_t bits)
{
    return _mm256_and_ps(v, _mm256_castsi256_ps(_mm256_set1_epi32((int32_t)bits)));
}
VECTOR vec vec_or(vec v, vec w)
{
    return _mm256_or_ps(v, w);
}

#endif

/* e^(x - n ln 2) for x near n ln 2: the polynomial of ct_exp. */
VECTOR vec vec_exp_part(vec x, vec n)
{
    vec r = vec_fma(n, vec_all(-0x1.7f7d1cp-20f), vec_fma(n, vec_all(-0x1.62e4p-1f), x));
    vec p = vec_all(1.0f / 5040);
    p = vec_fma(p, r, vec_all(1.0f / 720));
    p = vec_fma(p, r, vec_all(1.0f / 120));
    p = vec_fma(p, r, vec_all(1.0f / 24));
    p = vec_fma(p, r, vec_all(1.0f / 6));
    p = vec_fma(p, r, vec_all(0.5f));
    p = vec_fma(p, r, vec_all(1.0f));
    return vec_fma(p, r, vec_all(1.0f));
}

/* ct_exp; NaN stays NaN without being asked for. */
VECTOR vec vec_exp(vec x)
{
    const vec magic = vec_all(0x1.8p23f);
    vec n = vec_sub(vec_add(vec_mul(vec_clamp(x, -100.0f, 100.0f), vec_all(1.44269504f)), magic), magic);
    return vec_limit(vec_scale(vec_exp_part(x, n), n), x, -87.33655f, 88.72284f);
}

/* ct_tanh */
VECTOR vec vec_tanh(vec x)
{
    vec one = vec_all(1.0f), u = vec_exp(vec_mul(vec_all(-2.0f), vec_and(x, 0x7fffffffu)));
    return vec_or(vec_div(vec_sub(one, u), vec_add(one, u)), vec_and(x, 0x80000000u));
}

#endif

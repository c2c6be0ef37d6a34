/* SPDX-License-Identifier: Apache-2.0 */
/* lanes_avx512.h: what kernels for panels ask of 512-bit vectors: all rows of a panel. What the names mean:
 * lanes_avx2.h. */
#ifndef CT_LANES_AVX512_H
#define CT_LANES_AVX512_H

#include <immintrin.h>

#include "kernel/layout/panel.h"
#include "kernel/x86/unroll.h"

enum { ROWS = 16, PARTS = CT_PANEL_ROWS / ROWS };

typedef __m512i vec;
typedef __m512 real;

#define V(operation)    _mm512_##operation
#define BITS(operation) _mm512_##operation##_si512

INLINE vec load(const void *p)
{
    return _mm512_loadu_si512(p);
}

INLINE real as_real(vec v)
{
    return _mm512_castsi512_ps(v);
}

INLINE void fetch(const uint8_t *p)
{
    _mm_prefetch((const char *)p, _MM_HINT_T1);
}

INLINE vec same(const void *p)
{
    int32_t v;
    memcpy(&v, p, 4);
    return _mm512_set1_epi32(v);
}

INLINE vec sixteen(const void *p)
{
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)p));
}

INLINE __m256i load_half(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

INLINE real halves(const uint8_t *p)
{
    return _mm512_cvtph_ps(load_half(p));
}

INLINE vec words_unsigned(const uint8_t *p)
{
    return _mm512_cvtepu16_epi32(load_half(p));
}

INLINE vec bytes_signed(const uint8_t *p)
{
    return _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
}

INLINE vec bytes_unsigned(const uint8_t *p)
{
    return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
}

INLINE vec pairs_signed(const uint8_t *p)
{
    return _mm512_cvtepi8_epi16(load_half(p));
}

INLINE vec pairs_unsigned(const uint8_t *p)
{
    return _mm512_cvtepu8_epi16(load_half(p));
}

INLINE vec signed_pairs(vec size, vec w, vec x)
{
    x = _mm512_mask_sub_epi8(x, _mm512_movepi8_mask(w), _mm512_setzero_si512(), x);
    return _mm512_maddubs_epi16(size, x);
}

INLINE vec zero_like(vec v, vec like)
{
    return _mm512_maskz_mov_epi16(_mm512_test_epi16_mask(like, like), v);
}

#define DOT_BYTES(sum, u, s) _mm512_dpbusd_epi32(sum, u, s)

/* An emulated vector has no register to be kept in. */
#define ANEW(p) __asm__("" : "+r"(p))
#ifdef CT_EMULATE
#define PIN(v)      (void)(v)
#define AFTER(p, v) (void)(v)
#else
#define PIN(v)      __asm__("" : "+v"(v))
#define AFTER(p, v) __asm__("" : "+r"(p) : "v"(v))
#endif

INLINE void store_rows(float *out, const real acc[PARTS], int rows, float scale)
{
    _mm512_mask_storeu_ps(out, (__mmask16)((1u << rows) - 1), _mm512_mul_ps(acc[0], _mm512_set1_ps(scale)));
}

#endif

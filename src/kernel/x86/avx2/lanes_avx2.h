/* SPDX-License-Identifier: Apache-2.0 */
/* lanes_avx2.h: what kernels for panels ask of 256-bit vectors: half the rows of a panel. lanes_avx512.h has the same
 * names for whole panels, so that one text serves both. */
#ifndef CT_LANES_AVX2_H
#define CT_LANES_AVX2_H

#include <immintrin.h>

#include "kernel/layout/panel.h"
#include "kernel/x86/unroll.h"

enum { ROWS = 8, PARTS = CT_PANEL_ROWS / ROWS };

typedef __m256i vec;
typedef __m256 real;

#define V(operation)    _mm256_##operation
#define BITS(operation) _mm256_##operation##_si256

INLINE vec load(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

/* The bits of floats as floats. */
INLINE real as_real(vec v)
{
    return _mm256_castsi256_ps(v);
}

INLINE void fetch(const uint8_t *p)
{
    _mm_prefetch((const char *)p, _MM_HINT_T1);
}

/* The same 4 bytes in every lane. */
INLINE vec same(const void *p)
{
    int32_t v;
    memcpy(&v, p, 4);
    return _mm256_set1_epi32(v);
}

/* The same 16 bytes in every 16. */
INLINE vec sixteen(const void *p)
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)p));
}

/* A part's f16 values, 16-bit words and bytes. */
INLINE real halves(const uint8_t *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}

INLINE vec words_unsigned(const uint8_t *p)
{
    return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
}

INLINE vec bytes_signed(const uint8_t *p)
{
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
}

INLINE vec bytes_unsigned(const uint8_t *p)
{
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
}

/* Two bytes of each row as 16-bit words. */
INLINE vec pairs_signed(const uint8_t *p)
{
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
}

INLINE vec pairs_unsigned(const uint8_t *p)
{
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
}

/* Sums of two products of signed bytes, size being |w|. |w| is at most 128 and |x| at most 127: 2 * 128 * 127 = 32512
 * fits 16 bits. */
INLINE vec signed_pairs(vec size, vec w, vec x)
{
    return _mm256_maddubs_epi16(size, _mm256_sign_epi8(x, w));
}

/* v, or 0 where the 16-bit word of `like`, which is not negative, is 0 */
INLINE vec zero_like(vec v, vec like)
{
    return _mm256_sign_epi16(v, like);
}

/* sum + four products of unsigned and signed bytes */
#define DOT_BYTES(sum, u, s) _mm256_dpbusd_avx_epi32(sum, u, s)

/* Keeps a value in a register: compilers read it from memory again for each of its uses, and loads run out first. */
#define PIN(v) __asm__("" : "+x"(v))

/* Hides where a pointer comes from: else what is read through it is shared with what was read before, and kept. */
#define ANEW(p) __asm__("" : "+r"(p))

/* Has what is read through p wait for v: compilers read early, and registers run out. */
#define AFTER(p, v) __asm__("" : "+r"(p) : "x"(v))

/* Stores a panel's rows of one token. */
INLINE void store_rows(float *out, const real acc[PARTS], int rows, float scale)
{
    real s = _mm256_set1_ps(scale), low = _mm256_mul_ps(acc[0], s), high = _mm256_mul_ps(acc[1], s);
    float all[CT_PANEL_ROWS];

    if (rows == CT_PANEL_ROWS) {
        _mm256_storeu_ps(out, low);
        _mm256_storeu_ps(out + ROWS, high);
        return;
    }
    _mm256_storeu_ps(all, low);
    _mm256_storeu_ps(all + ROWS, high);
    memcpy(out, all, (size_t)rows * sizeof *out);
}

#endif

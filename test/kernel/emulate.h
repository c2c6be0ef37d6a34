/* SPDX-License-Identifier: Apache-2.0 */
/* emulate.h: lets kernels for instruction sets that this CPU lacks run on one that has AVX2. Included before
 * a file of kernels; SIMDe (libsimde-dev) gives the intrinsics, what it lacks stands here. Bits are what is
 * proved, not speed. */
#ifndef CT_TEST_EMULATE_H
#define CT_TEST_EMULATE_H

#include "kernel/compiler.h"

/* Emulation has no use for speed, would compile for minutes, and has no register to keep a vector in. */
#undef INLINE
#undef UNROLL
#undef PIN
#undef AFTER
#undef DOT_BROADCAST
#define INLINE static __attribute__((unused))
#define UNROLL
#define PIN(v)                   (void)(v)
#define AFTER(p, v)              (void)(v)
#define ct_book_multiply_vnni    ct_book_multiply_emulated_vnni
#define DOT_BROADCAST(sum, u, p) (sum = DOT_BYTES(sum, u, same(p)))

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>
#include <simde/x86/f16c.h>
#include <string.h>

/* GCC declares these types itself, with other vectors inside. */
#define __m512i simde__m512i
#define __m512  simde__m512

static inline simde__m512 emulate_cvtph_ps(__m256i h)
{
    simde__m512_private r;
    r.m256[0] = _mm256_cvtph_ps(_mm256_castsi256_si128(h));
    r.m256[1] = _mm256_cvtph_ps(_mm256_extracti128_si256(h, 1));
    return simde__m512_from_private(r);
}

static inline simde__m512 emulate_cvtepi32_ps(simde__m512i a)
{
    simde__m512i_private v = simde__m512i_to_private(a);
    simde__m512_private r;
    for (int i = 0; i < 2; i++)
        r.m256[i] = _mm256_cvtepi32_ps(v.m256i[i]);
    return simde__m512_from_private(r);
}

static inline simde__m512i emulate_cvtps_epi32(simde__m512 a)
{
    simde__m512_private v = simde__m512_to_private(a);
    simde__m512i_private r;
    for (int i = 0; i < 2; i++)
        r.m256i[i] = _mm256_cvtps_epi32(v.m256[i]);
    return simde__m512i_from_private(r);
}

static inline __m256i emulate_cvtepi32_epi16(simde__m512i a)
{
    simde__m512i_private v = simde__m512i_to_private(a);
    simde__m256i_private r;
    for (int i = 0; i < 16; i++)
        r.i16[i] = (int16_t)v.i32[i];
    return simde__m256i_from_private(r);
}

/* SIMDe's multiplies by 2^n, which is infinite where the product is not yet. */
static inline simde__m512 emulate_scalef_ps(simde__m512 a, simde__m512 n)
{
    simde__m512_private v = simde__m512_to_private(a), e = simde__m512_to_private(n);
    for (int i = 0; i < 16; i++)
        v.f32[i] = e.f32[i] != e.f32[i] ? e.f32[i] : __builtin_ldexpf(v.f32[i], (int)e.f32[i]);
    return simde__m512_from_private(v);
}

static inline void emulate_mask_storeu_ps(float *to, unsigned mask, simde__m512 a)
{
    simde__m512_private v = simde__m512_to_private(a);
    for (int i = 0; i < 16; i++)
        if (mask >> i & 1)
            to[i] = v.f32[i];
}

/* SIMDe shifts a 1 into the sign. */
static inline uint32_t emulate_test_epi16_mask(simde__m512i a, simde__m512i b)
{
    simde__m512i_private v = simde__m512i_to_private(a), w = simde__m512i_to_private(b);
    uint32_t mask = 0;
    for (int i = 0; i < 32; i++)
        mask |= (uint32_t)((v.i16[i] & w.i16[i]) != 0) << i;
    return mask;
}

/* Widening: each half of the result comes of half of the source. */
#define EMULATE_WIDEN(name, source)                                                                          \
    static inline simde__m512i emulate_##name(source a)                                                      \
    {                                                                                                        \
        simde__m512i_private r;                                                                              \
        __m128i part[2];                                                                                     \
        memset(part, 0, sizeof part);                                                                        \
        for (int i = 0; i < 2; i++) {                                                                        \
            memcpy(&part[i], (const char *)&a + sizeof a / 2 * i, sizeof a / 2);                             \
            r.m256i[i] = _mm256_##name(part[i]);                                                             \
        }                                                                                                    \
        return simde__m512i_from_private(r);                                                                 \
    }
EMULATE_WIDEN(cvtepu16_epi32, __m256i)
EMULATE_WIDEN(cvtepu8_epi16, __m256i)
EMULATE_WIDEN(cvtepi8_epi32, __m128i)
EMULATE_WIDEN(cvtepu8_epi32, __m128i)

/* Four products of unsigned and signed bytes, none of which saturates. */
static inline __m256i emulate_dpbusd_256(__m256i sum, __m256i u, __m256i v)
{
    __m256i even = _mm256_madd_epi16(_mm256_and_si256(u, _mm256_set1_epi16(255)),
                                     _mm256_srai_epi16(_mm256_slli_epi16(v, 8), 8));
    __m256i odd = _mm256_madd_epi16(_mm256_srli_epi16(u, 8), _mm256_srai_epi16(v, 8));
    return _mm256_add_epi32(sum, _mm256_add_epi32(even, odd));
}

static inline simde__m512i emulate_dpbusd(simde__m512i sum, simde__m512i a, simde__m512i b)
{
    simde__m512i_private s = simde__m512i_to_private(sum), u = simde__m512i_to_private(a),
                         v = simde__m512i_to_private(b);
    for (int i = 0; i < 2; i++)
        s.m256i[i] = emulate_dpbusd_256(s.m256i[i], u.m256i[i], v.m256i[i]);
    return simde__m512i_from_private(s);
}

#undef _mm512_cvtph_ps
#undef _mm512_cvtepi32_ps
#undef _mm512_cvtepi32_epi16
#undef _mm512_cvtps_epi32
#undef _mm512_mask_storeu_ps
#undef _mm512_scalef_ps
#undef _mm512_dpbusd_epi32
#undef _mm512_madd_epi16 /* SIMDe 0.7.4 gives it four parameters */
#undef _mm256_dpbusd_avx_epi32
#undef _mm512_test_epi16_mask
#define _mm512_test_epi16_mask(a, b)       emulate_test_epi16_mask(a, b)
#define _mm512_cvtepu16_epi32(a)           emulate_cvtepu16_epi32(a)
#define _mm512_cvtepu8_epi16(a)            emulate_cvtepu8_epi16(a)
#define _mm512_cvtepi8_epi32(a)            emulate_cvtepi8_epi32(a)
#define _mm512_cvtepu8_epi32(a)            emulate_cvtepu8_epi32(a)
#define _mm512_cvtph_ps(a)                 emulate_cvtph_ps(a)
#define _mm512_cvtepi32_ps(a)              emulate_cvtepi32_ps(a)
#define _mm512_cvtepi32_epi16(a)           emulate_cvtepi32_epi16(a)
#define _mm512_cvtps_epi32(a)              emulate_cvtps_epi32(a)
#define _mm512_mask_storeu_ps(to, m, a)    emulate_mask_storeu_ps(to, m, a)
#define _mm512_scalef_ps(a, n)             emulate_scalef_ps(a, n)
#define _mm512_madd_epi16(a, b)            simde_mm512_madd_epi16(a, b)
#define _mm512_dpbusd_epi32(sum, a, b)     emulate_dpbusd(sum, a, b)
#define _mm256_dpbusd_avx_epi32(sum, a, b) emulate_dpbusd_256(sum, a, b)

#endif

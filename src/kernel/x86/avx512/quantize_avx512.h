/* SPDX-License-Identifier: Apache-2.0 */
/* quantize_avx512.h: groups of an input as integers (NUMERICS.md section 4), eight at a time, so that what is
 * done once for a group is done in vectors too. Where the bytes go is the caller's business. */
#ifndef CT_QUANTIZE_AVX512_H
#define CT_QUANTIZE_AVX512_H

#include "kernel/x86/avx512/simd_avx512.h"
#include "kernel/ref/ref_math.h"

enum { EIGHT = 8 };

/* Eight groups of 32. pair[i]: groups 2i and 2i + 1, whose words of 4 bytes lie as BY_PAIRS says. */
struct eight_groups {
    __m512i pair[EIGHT / 2];
    __m256 scale;
};

/* Word w of the first group of a pair is at BY_PAIRS(w), that of the second 2 further. */
#define BY_PAIRS(w) (4 * ((w) % 4) + (w) / 4)

/* The largest of each of eight vectors of 8 integers. */
INLINE __m256i largest_of_eight(const __m256i v[EIGHT])
{
    __m256i two[4], four[2];

    UNROLL for (int i = 0; i < 4; i++) two[i] = _mm256_max_epi32(
        _mm256_unpacklo_epi32(v[2 * i], v[2 * i + 1]), _mm256_unpackhi_epi32(v[2 * i], v[2 * i + 1]));
    UNROLL for (int i = 0; i < 2; i++) four[i] = _mm256_max_epi32(
        _mm256_unpacklo_epi64(two[2 * i], two[2 * i + 1]), _mm256_unpackhi_epi64(two[2 * i], two[2 * i + 1]));
    return _mm256_max_epi32(_mm256_permute2x128_si256(four[0], four[1], 0x20),
                            _mm256_permute2x128_si256(four[0], four[1], 0x31));
}

/* Groups [0, n) begin at x + i * apart; the others are zeros. */
INLINE struct eight_groups quantize_eight(const float *x, size_t apart, int n)
{
    const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
    const __m512 most = _mm512_set1_ps(127.0f), least = _mm512_set1_ps(-127.0f);
    static const float zeros[CT_GROUP];
    const float *at[EIGHT];
    struct eight_groups to;
    __m256i top[EIGHT];
    _Alignas(32) float r[EIGHT];

    UNROLL for (int i = 0; i < EIGHT; i++)
    {
        at[i] = i < n ? x + (size_t)i * apart : zeros;
        /* bits order like magnitudes, and a NaN comes out on top */
        __m512i a = _mm512_and_si512(ivec_load(at[i]), magnitude);
        __m512i b = _mm512_and_si512(ivec_load(at[i] + CT_HALF), magnitude);
        a = _mm512_max_epi32(a, b);
        top[i] = _mm256_max_epi32(_mm512_castsi512_si256(a), _mm512_extracti64x4_epi64(a, 1));
    }
    const __m256 a = _mm256_castsi256_ps(largest_of_eight(top)), all = _mm256_set1_ps(127.0f);
    const __m256 zero = _mm256_cmp_ps(a, _mm256_set1_ps(0x1p-90f), _CMP_LT_OQ);
    _mm256_store_ps(r, _mm256_andnot_ps(zero, _mm256_div_ps(all, a)));
    to.scale = _mm256_andnot_ps(zero, _mm256_div_ps(a, all));
    UNROLL for (int p = 0; p < EIGHT / 2; p++)
    {
        __m512i words[2];
        UNROLL for (int j = 0; j < 2; j++)
        {
            const int i = 2 * p + j;
            __m512i q[2];
            UNROLL for (int half = 0; half < 2; half++)
            {
                __m512 v = _mm512_loadu_ps(at[i] + CT_HALF * half);
                v = _mm512_min_ps(_mm512_mul_ps(v, _mm512_set1_ps(r[i])), most);
                q[half] = _mm512_cvtps_epi32(_mm512_max_ps(v, least));
            }
            words[j] = _mm512_packs_epi32(q[0], q[1]); /* within 128 bits, and so below */
        }
        to.pair[p] = _mm512_packs_epi16(words[0], words[1]);
    }
    return to;
}

/* Both groups of a pair, one behind the other. */
INLINE __m512i pair_in_order(__m512i pair)
{
#define FOUR(w) BY_PAIRS(w), BY_PAIRS((w) + 1), BY_PAIRS((w) + 2), BY_PAIRS((w) + 3)
#define NEXT(w) BY_PAIRS(w) + 2, BY_PAIRS((w) + 1) + 2, BY_PAIRS((w) + 2) + 2, BY_PAIRS((w) + 3) + 2
    static const int32_t in_order[16] = {FOUR(0), FOUR(4), NEXT(0), NEXT(4)};
#undef FOUR
#undef NEXT
    return _mm512_permutexvar_epi32(ivec_load(in_order), pair);
}

/* words[i]: words 2i of the eight groups, then their words 2i + 1. */
INLINE void words_side_by_side(__m512i words[4], const struct eight_groups *g)
{
#define FOUR(w) BY_PAIRS(w), BY_PAIRS(w) + 2, BY_PAIRS(w) + 16, BY_PAIRS(w) + 18 /* of two pairs */
    static const int32_t which[2][16] = {{FOUR(0), FOUR(1), FOUR(2), FOUR(3)},
                                         {FOUR(4), FOUR(5), FOUR(6), FOUR(7)}};
#undef FOUR
    const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const __m512i second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);

    UNROLL for (int half = 0; half < 2; half++)
    {
        const __m512i of_half = ivec_load(which[half]);
        const __m512i a = _mm512_permutex2var_epi32(g->pair[0], of_half, g->pair[1]);
        const __m512i b = _mm512_permutex2var_epi32(g->pair[2], of_half, g->pair[3]);
        words[2 * half] = _mm512_permutex2var_epi64(a, first, b);
        words[2 * half + 1] = _mm512_permutex2var_epi64(a, second, b);
    }
}

/* The sums of the halves of eight groups. */
INLINE void sums_of_halves(__m256i sum[2], const __m512i words[4])
{
    const __m512i bytes = _mm512_set1_epi8(1), pairs = _mm512_set1_epi16(1);

    UNROLL for (int half = 0; half < 2; half++)
    {
        __m512i s = _mm512_add_epi16(_mm512_maddubs_epi16(bytes, words[2 * half]),
                                     _mm512_maddubs_epi16(bytes, words[2 * half + 1]));
        s = _mm512_madd_epi16(s, pairs);
        sum[half] = _mm256_add_epi32(_mm512_castsi512_si256(s), _mm512_extracti64x4_epi64(s, 1));
    }
}

/* The same as panels of planes read them: the first in the low 16 bits. */
INLINE __m256i both_halves(const __m256i sum[2])
{
    return _mm256_or_si256(_mm256_slli_epi32(sum[1], 16),
                           _mm256_and_si256(sum[0], _mm256_set1_epi32(0xffff)));
}

#endif

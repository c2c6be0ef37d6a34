/* SPDX-License-Identifier: Apache-2.0 */
/* attend_avx2.h: what files of attention in vectors of 256 bits share (NUMERICS.md section 7). Scores and
 * weighted sums are one product: lines of 16 keys, or of 16 channels, times numbers of up to three queries,
 * which share what a line gives. Between them: attend_softmax.h. In which order: attend_avx2.c, and for q8
 * attend_q8_avx2.c. */
#ifndef CT_ATTEND_AVX2_H
#define CT_ATTEND_AVX2_H

#include "kernel/ref/ref.h"
#include "kernel/x86/avx2/simd_avx2.h"
#include "kernel/attend_softmax.h"

/* A group of 32 lines: pairs, for bf16 interleaved. And a stretch of memory to ask for meanwhile. */
struct lines {
    const uint8_t *at;
    size_t stride; /* bytes between lines; for bf16 between pairs */
    const uint8_t *soon;
    size_t soon_bytes;
};

/* Eight values of line 2p + odd, from value 8 * half on. */
INLINE fvec line_values_avx2(const enum ct_kv_type type, const uint8_t *at, size_t stride, int p,
                             const int odd, const int half)
{
    if (type == CT_KV_BF16) {
        __m256i v = ivec_load(at + (size_t)p * stride + 32 * half);
        return _mm256_castsi256_ps(odd ? _mm256_and_si256(v, _mm256_set1_epi32((int32_t)0xffff0000))
                                       : _mm256_slli_epi32(v, 16));
    }
    const uint8_t *line = at + (size_t)(2 * p + odd) * stride;
    if (type == CT_KV_F16)
        return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(line + 16 * half)));
    return _mm256_castsi256_ps(ivec_load(line + 32 * half));
}

/* acc[t][16] += one group of 32 lines times x[t][32]; the first group makes it. */
INLINE void attend_group_avx2(float *acc, size_t ld_acc, const enum ct_kv_type type, const struct lines l,
                              const float *x, size_t ld_x, const int T, bool first)
{
    /* Even and odd values of bf16 lie side by side; unless compilers think of two places they read once and
     * keep both, which do not fit the registers beside the twelve sums of three queries. */
    const uint8_t *at[2] = {l.at, l.at};
    fvec sum[2][2][3]; /* [odd][half][query] */

    for (size_t i = 0; i < l.soon_bytes; i += 64)
        _mm_prefetch((const char *)l.soon + i, _MM_HINT_T1);
    if (T == 3)
        __asm__("" : "+r"(at[1]));
    UNROLL for (int i = 0; i < 4; i++) UNROLL for (int t = 0; t < T; t++) sum[i / 2][i % 2][t] = fvec_all(0);
    _Pragma("GCC unroll 4") for (int p = 0; p < CT_GROUP / 2; p++)
    {
        UNROLL for (int odd = 0; odd < 2; odd++)
        {
            fvec low = line_values_avx2(type, at[odd], l.stride, p, odd, 0),
                 high = line_values_avx2(type, at[odd], l.stride, p, odd, 1);
            UNROLL for (int t = 0; t < T; t++)
            {
                fvec v = _mm256_broadcast_ss(x + (size_t)t * ld_x + 2 * p + odd);
                sum[odd][0][t] = fvec_fma(low, v, sum[odd][0][t]);
                sum[odd][1][t] = fvec_fma(high, v, sum[odd][1][t]);
            }
        }
    }
    UNROLL for (int t = 0; t < T; t++) UNROLL for (int half = 0; half < 2; half++)
    {
        float *to = acc + (size_t)t * ld_acc + 8 * half;
        fvec before = first ? fvec_all(0) : fvec_load(to);
        fvec_store(to, fvec_add(before, fvec_add(sum[0][half][t], sum[1][half][t])));
    }
}

/* Three queries at a time; four are two and two. */
INLINE int next_queries(int left)
{
    return left == 2 || left == 4 ? 2 : CT_MIN(left, 3);
}

#endif

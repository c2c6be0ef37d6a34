/* SPDX-License-Identifier: Apache-2.0 */
/* attend_avx2.h: what files of attention in vectors of 256 bits share (NUMERICS.md section 7). Scores and weighted sums are
 * one product: lines of 16 keys, or of 16 channels, times numbers of up to three queries, which share what a line gives.
 * Between them come exp and rounding with the operations of ref_math.h. In which order: attend_avx2.c, and for q8
 * attend_q8_avx2.c. */
#ifndef CT_ATTEND_AVX2_H
#define CT_ATTEND_AVX2_H

#include "kernel/ref/ref.h"
#include "kernel/x86/unroll.h"
#include "kernel/x86/vector.h"

enum {
    ROW = CT_KEY_BLOCK + 16
}; /* of scores: rows 1 KiB apart would fall on each other in the first cache */

INLINE __m256i load(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

/* ---- products ---- */

/* A group of 32 lines: pairs, for bf16 interleaved. And a stretch of memory to ask for meanwhile. */
struct lines {
    const uint8_t *at;
    size_t stride; /* bytes between lines; for bf16 between pairs */
    const uint8_t *soon;
    size_t soon_bytes;
};

/* Eight values of line 2p + odd, from value 8 * half on. */
INLINE vec line_values(const enum ct_kv_type type, const uint8_t *at, size_t stride, int p, const int odd,
                       const int half)
{
    if (type == CT_KV_BF16) {
        __m256i v = load(at + (size_t)p * stride + 32 * half);
        return _mm256_castsi256_ps(odd ? _mm256_and_si256(v, _mm256_set1_epi32((int32_t)0xffff0000))
                                       : _mm256_slli_epi32(v, 16));
    }
    const uint8_t *line = at + (size_t)(2 * p + odd) * stride;
    if (type == CT_KV_F16)
        return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(line + 16 * half)));
    return _mm256_castsi256_ps(load(line + 32 * half));
}

/* acc[t][16] += one group of 32 lines times x[t][32]; the first group makes it. */
INLINE void add_group(float *acc, size_t ld_acc, const enum ct_kv_type type, const struct lines l,
                      const float *x, size_t ld_x, const int T, bool first)
{
    /* Even and odd values of bf16 lie side by side; unless compilers think of two places they read once and keep both,
     * which do not fit the registers beside the twelve sums of three queries. */
    const uint8_t *at[2] = {l.at, l.at};
    vec sum[2][2][3]; /* [odd][half][query] */

    for (size_t i = 0; i < l.soon_bytes; i += 64)
        _mm_prefetch((const char *)l.soon + i, _MM_HINT_T1);
    if (T == 3)
        __asm__("" : "+r"(at[1]));
    UNROLL for (int i = 0; i < 4; i++) UNROLL for (int t = 0; t < T; t++) sum[i / 2][i % 2][t] = vec_all(0);
    _Pragma("GCC unroll 4") for (int p = 0; p < CT_GROUP / 2; p++)
    {
        UNROLL for (int odd = 0; odd < 2; odd++)
        {
            vec low = line_values(type, at[odd], l.stride, p, odd, 0),
                high = line_values(type, at[odd], l.stride, p, odd, 1);
            UNROLL for (int t = 0; t < T; t++)
            {
                vec v = _mm256_broadcast_ss(x + (size_t)t * ld_x + 2 * p + odd);
                sum[odd][0][t] = vec_fma(low, v, sum[odd][0][t]);
                sum[odd][1][t] = vec_fma(high, v, sum[odd][1][t]);
            }
        }
    }
    UNROLL for (int t = 0; t < T; t++) UNROLL for (int half = 0; half < 2; half++)
    {
        float *to = acc + (size_t)t * ld_acc + 8 * half;
        vec before = first ? vec_all(0) : vec_load(to);
        vec_store(to, vec_add(before, vec_add(sum[0][half][t], sum[1][half][t])));
    }
}

/* Three queries at a time; four are two and two. */
INLINE int next_queries(int left)
{
    return left == 2 || left == 4 ? 2 : CT_MIN(left, 3);
}

/* ---- keys ---- */

/* Keys of a block, [first, last]; none where first > last. */
struct seen {
    int first, last;
};

INLINE struct seen seen_by(const struct ct_queries *t, int i, int base)
{
    return (struct seen){CT_MAX(t->lo[i] - base, 0), CT_MIN(t->hi[i] - base, CT_KEY_BLOCK - 1)};
}

/* From the first that one of the queries sees to the last. Clears all sums. */
INLINE struct seen seen_by_all(struct ct_attended *a, const struct ct_queries *t, int base)
{
    struct seen all = {CT_KEY_BLOCK, -1};

    for (int i = 0; i < t->n; i++) {
        struct seen s = seen_by(t, i, base);
        a->sum[i] = 0;
        all = (struct seen){CT_MIN(all.first, s.first), CT_MAX(all.last, s.last)};
    }
    return all;
}

/* ---- weights ---- */

/* ct_exp(x) for x that is not above 0, or NaN; then, for bf16, ct_bf16_round. */
INLINE vec weight(vec x, const bool bf16)
{
    const vec magic = vec_all(0x1.8p23f);
    const vec past = _mm256_cmp_ps(x, vec_all(-87.33655f), _CMP_LT_OQ);
    /* for bf16 all below 2^-50 becomes 0 anyway, and 2^-127 is 0 here */
    x = bf16 ? _mm256_max_ps(vec_all(-88.0f), x) : x;
    vec whole = vec_add(vec_mul(x, vec_all(1.44269504f)), magic), n = vec_sub(whole, magic);
    vec p = vec_exp_part(x, n);
    /* the low bits of `whole` are n; 2^n is a float down to -126, so one factor rounds like ct_exp's two */
    __m256i power =
        _mm256_add_epi32(_mm256_slli_epi32(_mm256_castps_si256(whole), 23), _mm256_set1_epi32(127 << 23));
    p = vec_mul(p, _mm256_castsi256_ps(power));
    if (!bf16)
        return _mm256_andnot_ps(past, p);
    __m256i u = _mm256_castps_si256(p),
            odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
    u = _mm256_add_epi32(_mm256_add_epi32(u, _mm256_set1_epi32(0x7fff)), odd);
    vec rounded = vec_and(_mm256_castsi256_ps(u), 0xffff0000u);
    return _mm256_and_ps(rounded, _mm256_cmp_ps(rounded, vec_all(0x1p-50f), _CMP_NLT_UQ));
}

/* v, but minus infinity in the lanes outside of keys [first, last], where v is of keys from j on. */
INLINE vec only_seen(vec v, int j, int first, int last)
{
    __m256i key = _mm256_add_epi32(_mm256_set1_epi32(j), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    __m256i outside = _mm256_or_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(first), key),
                                      _mm256_cmpgt_epi32(key, _mm256_set1_epi32(last)));
    return _mm256_blendv_ps(v, vec_all(-__builtin_inff()), _mm256_castsi256_ps(outside));
}

INLINE float largest(vec v)
{
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}

/* ct_fold of 32 partial sums */
INLINE float fold(const vec p[4])
{
    vec v = vec_add(vec_add(p[0], p[2]), vec_add(p[1], p[3]));
    __m128 m = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    m = _mm_add_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_add_ss(m, _mm_movehdup_ps(m)));
}

/* Turns the scores of one query, which sees keys [first, last], into weights of keys [begin, end), and gives largest score
 * and sum. A score that is not a number makes all of the result one, whatever the largest is. */
INLINE void weigh(float *s, float *max, float *sum, int first, int last, int begin, int end, float scale,
                  float cap, const bool bf16)
{
    const int from = first / 8 * 8, to = last / 8 * 8 + 8;
    vec most = vec_all(-__builtin_inff()), p[4];

    for (int j = from; j < to; j += 8) {
        vec v = vec_mul(vec_load(s + j), vec_all(scale));
        if (cap != 0)
            v = vec_mul(vec_all(cap), vec_tanh(vec_div(v, vec_all(cap))));
        if (j < first || j + 7 > last)
            v = only_seen(v, j, first, last);
        most = _mm256_max_ps(most, v);
        vec_store(s + j, v);
    }
    *max = largest(most);
    for (int j = begin; j < from; j += 8)
        vec_store(s + j, vec_all(0));
    for (int j = to; j < end; j += 8)
        vec_store(s + j, vec_all(0));
    UNROLL for (int i = 0; i < 4; i++) p[i] = vec_all(0);
    for (int j = from / CT_GROUP * CT_GROUP; j < to; j += CT_GROUP)
        UNROLL for (int i = 0; i < 4; i++)
        {
            if (j + 8 * i < from || j + 8 * i >= to)
                continue;
            vec e = weight(vec_sub(vec_load(s + j + 8 * i), vec_all(*max)), bf16);
            vec_store(s + j + 8 * i, e);
            p[i] = vec_add(p[i], e);
        }
    *sum = fold(p);
}

/* The same for all queries of a tile; who sees nothing weighs nothing. */
INLINE void weigh_all(struct ct_attended *a, const struct ct_queries *t, int base, int begin, int end,
                      float *s, float scale, float cap, const bool bf16)
{
    for (int i = 0; i < t->n; i++) {
        struct seen seen = seen_by(t, i, base);
        if (seen.first <= seen.last)
            weigh(s + i * ROW, &a->max[i], &a->sum[i], seen.first, seen.last, begin, end, scale, cap, bf16);
        else
            memset(s + i * ROW + begin, 0, (size_t)(end - begin) * sizeof *s);
    }
}

#endif

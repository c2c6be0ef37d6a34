/* SPDX-License-Identifier: Apache-2.0 */
/* attend_wide.h: what attention has between its two products, in vectors of 512 bits: the keys of a block that queries
 * see, and scores that become softmax weights (NUMERICS.md section 7). For attend_avx512.c and attend_amx.c, which make
 * the scores and use the weights. */
#ifndef CT_ATTEND_WIDE_H
#define CT_ATTEND_WIDE_H

#define CT_VECTOR_512
#include "kernel/ref/ref.h"
#include "kernel/x86/unroll.h"
#include "kernel/x86/vector.h"

enum { ROW = CT_KEY_BLOCK + 16 }; /* floats of a query's scores: rows 1 KiB apart would fall on each other */

/* Keys of a block, [first, last]; none where first > last. */
struct seen {
    int first, last;
};

INLINE struct seen seen_by(const struct ct_queries *t, int i, int block)
{
    const int base = block * CT_KEY_BLOCK;
    return (struct seen){CT_MAX(t->lo[i] - base, 0), CT_MIN(t->hi[i] - base, CT_KEY_BLOCK - 1)};
}

/* Whole groups with all that one of the queries sees, up to but without last; none where first is last. Clears all sums. */
INLINE struct seen seen_by_all(struct ct_attended *a, const struct ct_queries *t, int block)
{
    struct seen all = {CT_KEY_BLOCK, 0};

    for (int i = 0; i < t->n; i++) {
        struct seen s = seen_by(t, i, block);
        a->sum[i] = 0;
        if (s.first > s.last)
            continue;
        all.first = CT_MIN(all.first, s.first / CT_GROUP * CT_GROUP);
        all.last = CT_MAX(all.last, s.last / CT_GROUP * CT_GROUP + CT_GROUP);
    }
    return all.last ? all : (struct seen){0, 0};
}

/* ct_exp(x) for x that is not above 0, or NaN; for bf16 then ct_bf16_round. */
INLINE vec weight(vec x, const bool bf16)
{
    const vec magic = vec_all(0x1.8p23f);
    const __mmask16 far = _mm512_cmp_ps_mask(x, vec_all(-87.33655f), _CMP_NLT_UQ);
    /* for bf16 all below 2^-50 becomes 0 anyway */
    x = bf16 ? _mm512_max_ps(vec_all(-88.0f), x) : x;
    vec n = vec_sub(vec_add(vec_mul(x, vec_all(1.44269504f)), magic), magic);
    vec p = vec_scale(vec_exp_part(x, n), n);
    if (!bf16)
        return _mm512_maskz_mov_ps(far, p);
    const __m512i u = _mm512_castps_si512(p),
                  bit = _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1));
    p = vec_and(_mm512_castsi512_ps(_mm512_add_epi32(_mm512_add_epi32(u, _mm512_set1_epi32(0x7fff)), bit)),
                0xffff0000u);
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(p, vec_all(0x1p-50f), _CMP_NLT_UQ), p);
}

/* v of keys from j on, but minus infinity where a key is not seen. */
INLINE vec only_seen(vec v, int j, struct seen s)
{
    uint32_t from = 0xffffu << CT_MAX(s.first - j, 0), to = 0xffffu >> CT_MAX(j + VEC - 1 - s.last, 0);
    return _mm512_mask_mov_ps(vec_all(-__builtin_inff()), (__mmask16)(from & to), v);
}

INLINE __m256 upper(vec v)
{
    return _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(v), 1));
}

INLINE float largest(vec v)
{
    __m256 h = _mm256_max_ps(_mm512_castps512_ps256(v), upper(v));
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}

/* ct_fold of 32 partial sums */
INLINE float fold(vec low, vec high)
{
    vec v = vec_add(low, high);
    __m256 h = _mm256_add_ps(_mm512_castps512_ps256(v), upper(v));
    __m128 m = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    m = _mm_add_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_add_ss(m, _mm_movehdup_ps(m)));
}

/* How weights are wanted. */
enum weights {
    FLOATS,      /* a float for each key where its score was */
    BF16_FLOATS, /* the same, rounded to bf16 */
    BF16,        /* in two bytes each, from the row's begin on */
};

/* Stores weights of the group of keys from j on. */
INLINE void put(float *s, int j, const enum weights form, vec low, vec high)
{
    static const uint16_t order[32] = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30,
                                       1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31};

    if (form == BF16) {
        const __m512i both =
            _mm512_or_si512(_mm512_srli_epi32(_mm512_castps_si512(low), 16), _mm512_castps_si512(high));
        _mm512_storeu_si512((void *)((uint16_t *)(void *)s + j),
                            _mm512_permutexvar_epi16(_mm512_loadu_si512((const void *)order), both));
    } else {
        vec_store(s + j, low);
        vec_store(s + j + VEC, high);
    }
}

/* Scales and caps the scores of one query, makes those of keys that it does not see minus infinity, in all groups of which
 * it sees a key, and gives the largest. One that is not a number makes all of the result one, whatever the largest is. */
INLINE float scale_scores(float *s, struct seen seen, float scale, float cap)
{
    vec most[2] = {vec_all(-__builtin_inff()), vec_all(-__builtin_inff())};

    for (int j = seen.first / CT_GROUP * CT_GROUP; j <= seen.last; j += CT_GROUP)
        UNROLL for (int half = 0; half < 2; half++)
        {
            const int at = j + half * VEC;
            vec v = vec_mul(vec_load(s + at), vec_all(scale));
            if (cap != 0)
                v = vec_mul(vec_all(cap), vec_tanh(vec_div(v, vec_all(cap))));
            if (at < seen.first || at + VEC - 1 > seen.last)
                v = only_seen(v, at, seen);
            most[half] = _mm512_max_ps(most[half], v);
            vec_store(s + at, v);
        }
    return largest(_mm512_max_ps(most[0], most[1]));
}

/* Turns those scores into weights of all groups, and gives their sum. */
INLINE float weigh(float *s, struct seen seen, struct seen groups, float max, const enum weights form)
{
    const vec zero = vec_all(0), top = vec_all(max);
    vec low = zero, high = zero;
    int j = groups.first;

    for (; j + CT_GROUP <= seen.first; j += CT_GROUP)
        put(s, j, form, zero, zero);
    for (; j <= seen.last; j += CT_GROUP) {
        vec a = weight(vec_sub(vec_load(s + j), top), form != FLOATS);
        vec b = weight(vec_sub(vec_load(s + j + VEC), top), form != FLOATS);
        put(s, j, form, a, b);
        low = vec_add(low, a);
        high = vec_add(high, b);
    }
    for (; j < groups.last; j += CT_GROUP)
        put(s, j, form, zero, zero);
    return fold(low, high);
}

/* Scores of a tile become weights; a query that sees nothing weighs nothing. All largest ones come first, so that no query
 * waits for its own. */
INLINE void weigh_all(struct ct_attended *a, const struct ct_queries *t, int block, struct seen groups,
                      float *s, float scale, float cap, const enum weights form)
{
    for (int i = 0; i < t->n; i++) {
        const struct seen seen = seen_by(t, i, block);
        if (seen.first <= seen.last)
            a->max[i] = scale_scores(s + i * ROW, seen, scale, cap);
    }
    for (int i = 0; i < t->n; i++) {
        const struct seen seen = seen_by(t, i, block), none = {groups.last, -1};
        const bool any = seen.first <= seen.last;
        a->sum[i] = weigh(s + i * ROW, any ? seen : none, groups, a->max[i], form);
    }
}

#endif

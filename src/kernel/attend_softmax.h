/* SPDX-License-Identifier: Apache-2.0 */
/* attend_softmax.h: what attention does between its two products, for every width of vectors: scores become
 * softmax weights (NUMERICS.md section 7). The products are attend_block.h's, and the tiles' in attend_amx.c.
 * A simd_X.h comes before. */
#ifndef CT_ATTEND_SOFTMAX_H
#define CT_ATTEND_SOFTMAX_H

#include "kernel/compiler.h"
#include "kernel/kernel.h"

/* ---- which keys of a block the queries of a tile see ---- */

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

/* The whole groups of 32 keys, [begin, end), that have all keys which some query sees; none: both are 0. */
struct groups {
    int begin, end;
};

/* Clears all sums. */
INLINE struct groups groups_seen(struct ct_attended *a, const struct ct_queries *t, int block)
{
    struct groups all = {CT_KEY_BLOCK, 0};

    for (int i = 0; i < t->n; i++) {
        const struct seen s = seen_by(t, i, block);
        a->sum[i] = 0;
        if (s.first <= s.last)
            all = (struct groups){CT_MIN(all.begin, s.first / CT_GROUP * CT_GROUP),
                                  CT_MAX(all.end, s.last / CT_GROUP * CT_GROUP + CT_GROUP)};
    }
    return all.end ? all : (struct groups){0, 0};
}

/* ---- scores and weights ---- */

enum { ACROSS = CT_GROUP / VEC }; /* vectors of a group of keys */

/* The form of weights: floats, or floats rounded to bf16. A level stores them with a function of its own,
 * those of the group of keys from key j on at a time. */
enum weights { FLOATS, BF16_FLOATS };
typedef void put_weights(float *s, int j, const fvec v[ACROSS]);

INLINE void put_floats(float *s, int j, const fvec v[ACROSS])
{
    UNROLL for (int i = 0; i < ACROSS; i++) fvec_store(s + j + i * VEC, v[i]);
}

/* ct_exp(x) for x that is not above 0, or NaN; for bf16 then ct_bf16_round. */
INLINE fvec weight(fvec x, const enum weights form)
{
    const fvec magic = fvec_all(0x1.8p23f), score = x;
    /* for bf16 all below 2^-50 becomes 0 anyway */
    x = form == BF16_FLOATS ? fvec_max(fvec_all(-88.0f), x) : x;
    const fvec whole = x * 1.44269504f + magic, n = whole - magic;
    const fvec p = fvec_scale_down(fvec_exp_part(x, n), n, whole);
    if (form == FLOATS)
        return fvec_from(p, score, -87.33655f);
    return fvec_from(fvec_bf16_round(p), fvec_bf16_round(p), 0x1p-50f);
}

/* Does the query see none of the keys of a vector from key `at` on? Narrow vectors save the work; where a
 * group is two vectors, asking does not pay. */
INLINE bool unseen(struct seen seen, int at)
{
    return ACROSS > 2 && (at + VEC - 1 < seen.first || at > seen.last);
}

/* Scales and caps the scores of one query, makes those of keys that it does not see minus infinity, in all
 * groups of which it sees a key, and gives the largest. A score that is NaN makes the whole result NaN,
 * whatever the largest is. */
INLINE float scale_scores(float *s, struct seen seen, float scale, float cap)
{
    fvec most[ACROSS];

    UNROLL for (int i = 0; i < ACROSS; i++) most[i] = fvec_all(-__builtin_inff());
    for (int j = seen.first / CT_GROUP * CT_GROUP; j <= seen.last; j += CT_GROUP)
        UNROLL for (int i = 0; i < ACROSS; i++)
        {
            const int at = j + i * VEC;
            if (unseen(seen, at))
                continue;
            fvec v = fvec_load(s + at) * scale;
            if (cap != 0)
                v = cap * fvec_tanh(v / cap);
            if (at < seen.first || at + VEC - 1 > seen.last)
                v = fvec_within(v, seen.first - at, seen.last - at);
            most[i] = fvec_max(most[i], v);
            fvec_store(s + at, v);
        }
    UNROLL for (int half = ACROSS / 2; half >= 1; half /= 2) UNROLL for (int i = 0; i < half; i++) most[i] =
        fvec_max(most[i], most[i + half]);
    return fvec_largest(most[0]);
}

/* Turns those scores into weights of all groups, and gives their sum. */
INLINE float weigh(float *s, struct seen seen, struct groups groups, float max, const enum weights form,
                   put_weights *put)
{
    const fvec none[ACROSS] = {0};
    fvec sum[ACROSS] = {0}, v[ACROSS];
    int j = groups.begin;

    for (; j + CT_GROUP <= seen.first; j += CT_GROUP)
        put(s, j, none);
    for (; j <= seen.last; j += CT_GROUP) {
        UNROLL for (int i = 0; i < ACROSS; i++)
        {
            v[i] = fvec_all(0);
            if (unseen(seen, j + i * VEC))
                continue;
            v[i] = weight(fvec_load(s + j + i * VEC) - max, form);
            sum[i] += v[i];
        }
        put(s, j, v);
    }
    for (; j < groups.end; j += CT_GROUP)
        put(s, j, none);
    return fvec_sum(sum, ACROSS);
}

/* Scores of a tile become weights; a query that sees nothing weighs nothing. All largest ones come first, so
 * that no query waits for its own. */
INLINE void weigh_all(struct ct_attended *a, const struct ct_queries *t, int block, struct groups groups,
                      float *s, float scale, float cap, const enum weights form, put_weights *put)
{
    for (int i = 0; i < t->n; i++) {
        const struct seen seen = seen_by(t, i, block);
        if (seen.first <= seen.last)
            a->max[i] = scale_scores(s + i * ROW, seen, scale, cap);
    }
    for (int i = 0; i < t->n; i++) {
        const struct seen seen = seen_by(t, i, block), none = {groups.end, -1};
        const bool any = seen.first <= seen.last;
        a->sum[i] = weigh(s + i * ROW, any ? seen : none, groups, a->max[i], form, put);
    }
}

#endif

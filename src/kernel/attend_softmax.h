/* SPDX-License-Identifier: Apache-2.0 */
/* attend_softmax.h: what attention has between its two products, for every width of vectors: scores become
 * softmax weights (NUMERICS.md section 7). attend_X.c, which make the scores and use the weights, include a
 * simd_X.h before. */
#ifndef CT_ATTEND_SOFTMAX_H
#define CT_ATTEND_SOFTMAX_H

#include "kernel/attend_keys.h"

enum { ACROSS = CT_GROUP / VEC }; /* vectors of a group of keys */

/* How weights are wanted: a float for each key where its score was, or that rounded to bf16. A level may put
 * them elsewhere: it gives a function that stores those of the group of keys from key j on. */
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
    fvec whole = fvec_add(fvec_mul(x, fvec_all(1.44269504f)), magic), n = fvec_sub(whole, magic);
    fvec p = fvec_scale_down(fvec_exp_part(x, n), n, whole);
    if (form == FLOATS)
        return fvec_from(p, score, -87.33655f);
    p = fvec_bf16_round(p);
    return fvec_from(p, p, 0x1p-50f);
}

/* Does the query see none of the keys of a vector from key `at` on? Narrow vectors save the work; of two to a
 * group it pays nothing to ask. */
INLINE bool unseen(struct seen seen, int at)
{
    return ACROSS > 2 && (at + VEC - 1 < seen.first || at > seen.last);
}

/* Scales and caps the scores of one query, makes those of keys that it does not see minus infinity, in all
 * groups of which it sees a key, and gives the largest. One that is not a number makes all of the result one,
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
            fvec v = fvec_mul(fvec_load(s + at), fvec_all(scale));
            if (cap != 0)
                v = fvec_mul(fvec_all(cap), fvec_tanh(fvec_div(v, fvec_all(cap))));
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
    fvec none[ACROSS], sum[ACROSS], v[ACROSS];
    int j = groups.begin;

    UNROLL for (int i = 0; i < ACROSS; i++) none[i] = sum[i] = fvec_all(0);
    for (; j + CT_GROUP <= seen.first; j += CT_GROUP)
        put(s, j, none);
    for (; j <= seen.last; j += CT_GROUP) {
        UNROLL for (int i = 0; i < ACROSS; i++)
        {
            v[i] = fvec_all(0);
            if (unseen(seen, j + i * VEC))
                continue;
            v[i] = weight(fvec_sub(fvec_load(s + j + i * VEC), fvec_all(max)), form);
            sum[i] = fvec_add(sum[i], v[i]);
        }
        put(s, j, v);
    }
    for (; j < groups.end; j += CT_GROUP)
        put(s, j, none);
    UNROLL for (int half = ACROSS / 2; half >= 1; half /= 2) UNROLL for (int i = 0; i < half; i++) sum[i] =
        fvec_add(sum[i], sum[i + half]);
    return fvec_fold(sum[0]);
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

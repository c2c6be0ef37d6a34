/* SPDX-License-Identifier: Apache-2.0 */
/* logits.h: logits as model, engine, backend and kernels speak of them: what a head gives, how a sketch of
 * the head leaves rows out (NUMERICS.md section 12), and how an id is drawn (section 8). Bounds are made in
 * model/head_bound.c; which ids are edited is the engine's (engine/). */
#ifndef CT_LOGITS_H
#define CT_LOGITS_H

#include "carat_generate.h"

/* n logits: value[i] is that of id[i], ids ascending; id NULL: of id i. */
struct ct_logits {
    const float *value;
    const int32_t *id;
    int n;
};

static inline int32_t ct_logits_id(const struct ct_logits *l, int i)
{
    return l->id ? l->id[i] : i;
}

/* The place of an id; -1: it has none. */
static inline int ct_logits_place(const struct ct_logits *l, int32_t id)
{
    int low = 0, high = l->n;

    if (!l->id)
        return id >= 0 && id < l->n ? id : -1;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (l->id[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < l->n && l->id[low] == id ? low : -1;
}

/* How many of them are of ids below n. */
static inline int ct_logits_below(const struct ct_logits *l, int n)
{
    int below = l->n;

    while (below > 0 && ct_logits_id(l, below - 1) >= n)
        below--;
    return below;
}

/* ---- rows that are left out ---- */

/* How far the score that a sketch gives a row may be from its logit. Of the row: f16 codes, never negative;
 * infinity says that nothing is known. */
struct ct_row_bound {
    uint16_t residual; /* at least ||w - sketch|| and what the sum of the sketch rounds away */
    uint16_t norm;     /* at least ||w|| */
};

/* Of a token: |logit - score| <= residual * x + norm * y. */
struct ct_token_bound {
    double x, y;
};

/* Euclidean norms of an input: as int8 activations, of what these differ by from what the head multiplies,
 * and of that. */
struct ct_input_norms {
    double int8, apart, dense;
};

/* Scores of the rows of a head, and what a logit must reach. */
struct ct_prune {
    const float *score;               /* [n] */
    const struct ct_row_bound *bound; /* [n] */
    int n;
    struct ct_token_bound token;
    float bar;
    const uint32_t *finished; /* panels that are left out: bit i % 32 of word i / 32; NULL: none */
};

/* ---- a draw ---- */

/* What becomes of the logit of an id. */
struct ct_edit {
    int32_t id;
    float bias;    /* is added to it first; -infinity: the id is not drawn */
    int32_t count; /* times that it was there, for the penalties */
    int32_t
        over; /* tokens by which it would make a repetition longer than DRY allows; below 0: it does not */
};

struct ct_draw {
    float temperature, top_p, min_p;
    int top_k;
    uint64_t seed;
    uint32_t position, number;
    const int32_t *banned; /* [n_banned] ids never chosen, in any order */
    int n_banned;
    const carat_chain *chain;    /* NULL: top-k, temperature, top-p and min-p, and no edits */
    const struct ct_edit *edits; /* [n_edits] by id, ascending */
    int n_edits;
    const uint64_t *allowed; /* bits of ids: others are never chosen; NULL: all may be */
    uint32_t again;          /* fourth word of the counter: 1 for the draw after one that was refused */
};

#endif

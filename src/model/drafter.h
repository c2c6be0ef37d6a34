/* SPDX-License-Identifier: Apache-2.0 */
/* drafter.h: a drafter for Gemma 4 (an assistant): a few layers that read the K and V of a model and guess
 * what it will say next. One step gives one id. The engine decides when, a pass of the model checks it. */
#ifndef CT_DRAFTER_H
#define CT_DRAFTER_H

#include "model/kv_cache.h"

/* What a step has scored: all ids, or those of the groups that are near. */
struct ct_draft_scores {
    const float *value; /* [n] */
    const int32_t *id;  /* [n] in any order; NULL: of id i */
    int n;
};

/* In one engine's memory: laid out once, used many times, allocates nothing. */
struct ct_drafter {
    struct ct_backend *backend;      /* NULL: there is none */
    const struct ct_config *config;  /* the drafter's */
    const struct ct_config *model;   /* of the model that it reads */
    const struct ct_weights *reads;  /* whose embedding it uses */
    struct ct_weights weights;       /* its own, as the backend packs them */
    ct_mat e, pair, x, h, q, a, ffn; /* drafter.c says what they hold; one row each */
    ct_mat state, near;
    float *joined;                 /* [2 * backbone] of the host */
    float *value, *score;          /* of rows of the head, of groups */
    int32_t *id, *group, *ordered; /* of value; groups that are near; ids in the order of rows */
    struct ct_range *range;
    struct ct_draft_scores scores; /* of the last step */
};

/* Where a draft begins: behind n tokens that a sequence holds. */
struct ct_draft_place {
    int sequence, n;
};

/* Takes memory from the backend. */
void ct_drafter_lay_out(struct ct_drafter *d, struct ct_backend *b, const struct ct_config *c,
                        const struct ct_config *model, const struct ct_weights *reads);
/* Packs its weights as they are stored, and reads this cache from now on. */
void ct_drafter_load(struct ct_drafter *d, const struct ct_weights *stored, const struct ct_kv_cache *cache);
/* A draft begins: state[backbone] is the model's behind its final norm at the last token that is held. */
void ct_drafter_begin(struct ct_drafter *d, const float *state);
/* The id that it expects behind a token, the first one held by nobody yet, or the one that it gave before;
 * -1: its logits are no numbers. A pass of its own. */
int32_t ct_drafter_step(struct ct_drafter *d, struct ct_draft_place place, int32_t token);

#endif

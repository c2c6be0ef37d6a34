/* SPDX-License-Identifier: Apache-2.0 */
/* pair_backend.h: what the files of the backend of two share: the CPU and a GPU, each with a backend of its
 * own, of which one computes each verb. Either a weight is at one of them, its home, by the layer that it is
 * of (ct_backend_options.host_layers), or both have all and a pass runs at one. What one of them lacks is
 * copied when it is read.
 *
 * A matrix notes which of the two has its values: who reads what it lacks gets the current rows in one copy,
 * and who writes makes the other's old. So at the boundary the residual is moved, and nothing else, without
 * the forward pass knowing. A block of K and V notes who lacks what is in it. Where both have all, which side
 * a pass runs at is a matter of the table of costs, by rows and depth (engine/stats.h). Where the device is
 * lost, the CPU's half goes on alone. */
#ifndef CT_PAIR_BACKEND_H
#define CT_PAIR_BACKEND_H

#include "backend/backend.h"

/* The two; sets of them are bits. */
enum { CT_HOST, CT_DEVICE, CT_SIDES };
enum { CT_AT_HOST = 1 << CT_HOST, CT_AT_DEVICE = 1 << CT_DEVICE, CT_AT_BOTH = CT_AT_HOST | CT_AT_DEVICE };

/* The handle of a matrix points to this. */
struct ct_pair_mat {
    ct_mat at[CT_SIDES];
    int rows, cols; /* cols: that were written last */
    uint8_t has;    /* who has its values */
};

/* The data of a packed weight points to this. */
struct ct_pair_weight {
    struct ct_weight at[CT_SIDES];
    uint8_t has;
};

/* A pool of blocks as the engine has it, and as each of the two has it. */
struct ct_pair_pool {
    const struct ct_kv_pool *pool;
    struct ct_kv_pool at[CT_SIDES];
    uint8_t *lacks; /* [n_blocks] who does not have what is in a block; where both have all */
};

/* Counts how far loading has come at each of the two. */
struct ct_pair_loading {
    struct ct_pair_backend *pair;
    size_t done; /* KiB */
};

struct ct_pair_backend {
    struct ct_backend base; /* what the others see: the first member */
    struct ct_backend *side[CT_SIDES];
    struct ct_backend_options o;
    bool both; /* each has all, and a pass runs at one */
    int turn;  /* of them: the pass under way, or the latest */
    int last;  /* who ran the latest verb */
    bool left; /* the device failed, and the CPU computes all */

    struct ct_pair_weight *weight; /* [planned] */
    int n_planned, n_weights;
    carat_progress progress; /* of loading */
    void *progress_user;
    size_t to_load; /* KiB */
    bool stopped;   /* who heard of it wanted no more */
    struct ct_pair_loading loading[CT_SIDES];

    struct ct_pair_pool pool[CT_ATTN_TYPES]; /* [n_pools] */
    int n_pools;
    const struct ct_kv *layer;  /* [n_layer] the engine's */
    struct ct_kv *kv[CT_SIDES]; /* [n_layer] the same as each of the two has it; pool NULL: it does not */
    uint8_t *written;           /* [n_layer] who wrote K and V of one that both have */

    struct ct_rows rows;       /* as the pass began */
    int n;                     /* current ones */
    struct ct_expert *experts; /* [max_experts.n] of a layer, as one of them reads it */
};

static inline struct ct_pair_backend *ct_pair(struct ct_backend *b)
{
    return (struct ct_pair_backend *)b; /* base is the first member */
}

/* Notes what went wrong at the device; whoever had it do something calls it. */
void ct_pair_told(struct ct_pair_backend *b);

/* The weight as one of them reads it. One that is absent, or stays where it is stored, is nobody's. */
static inline const struct ct_weight *ct_pair_at(const struct ct_weight *w, int side)
{
    return w->data && w->layout == CT_LAYOUT_DEVICE ? &((const struct ct_pair_weight *)w->data)->at[side] : w;
}
/* Who has it. */
static inline int ct_pair_homes(const struct ct_weight *w)
{
    return w->data && w->layout == CT_LAYOUT_DEVICE ? ((const struct ct_pair_weight *)w->data)->has
                                                    : CT_AT_BOTH;
}

/* pair_weights.c */
void ct_pair_weight_verbs(struct ct_verbs *v);
/* pair_kv.c */
void ct_pair_kv_verbs(struct ct_verbs *v);
/* Before a pass begins at one of them: it gets what its rows will see. */
void ct_pair_bring_blocks(struct ct_pair_backend *b, const struct ct_rows *rows);
/* Who has room for K and V of layers [kv->first, kv->last], and who wrote them last. */
int ct_pair_kv_homes(const struct ct_pair_backend *b, const struct ct_kv *kv);
int ct_pair_kv_has(const struct ct_pair_backend *b, const struct ct_kv *kv);
/* As one of them has them. */
const struct ct_kv *ct_pair_kv(const struct ct_pair_backend *b, const struct ct_kv *kv, int side);
/* One of them has written those of the rows of the pass. */
void ct_pair_kv_written(struct ct_pair_backend *b, const struct ct_kv *kv, int side);
/* pair_pass.c */
void ct_pair_pass_verbs(struct ct_verbs *v);
/* pair_told.c */
void ct_pair_told_verbs(struct ct_verbs *v);

#endif

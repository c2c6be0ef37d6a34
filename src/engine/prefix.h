/* SPDX-License-Identifier: Apache-2.0 */
/* prefix.h: what sessions with an owner have evaluated and do not hold any more, as a tree over ids: a node
 * has those of one block of K and V of the global layers, which it holds, behind those of its parent. Only a
 * leaf may have fewer ids than a block has positions, and no node's ids are the beginning of a sibling's.
 * Snapshots of local layers belong to the node with the token before them. Nodes are as many as there are
 * blocks; when blocks are short, the leaf that was used least recently goes, with its ids. What sessions hold
 * is not here: whoever looks for a prefix asks them, too (reuse.c). The engine's lock is held. */
#ifndef CT_PREFIX_H
#define CT_PREFIX_H

#include "engine/snapshot.h"

struct ct_prefix_node {
    uint64_t owner;
    uint64_t used;               /* when somebody last came through here */
    int32_t parent, child, next; /* the first child, the next sibling; 0: none */
    int32_t block;               /* of global layers; -1: there are no such layers */
    int32_t number;              /* of that block: nodes above it */
    int32_t n;                   /* ids */
};

struct ct_prefixes {
    struct ct_kv_cache *cache;
    struct ct_snapshots *snapshots;
    int n_nodes;                 /* there may be */
    int begun, free;             /* nodes that were in use once; the first of those that are not now, or 0 */
    struct ct_prefix_node *node; /* [n_nodes + 1] the first is the parent of all beginnings */
    int32_t *ids;                /* [n_nodes + 1][CT_KEY_BLOCK] */
    uint64_t clock;              /* uses so far */
    /* what the last look-up found */
    int32_t *common; /* [n_nodes + 1] ids that a node and those above it have in common with it */
    int32_t *held;   /* [sequences] the same of sessions; -1: of another owner */
    int32_t *path;   /* [blocks of a context] of a sequence or a node, from the beginning on */
};

/* Takes its memory from the cache's backend: contexts of so many positions. */
void ct_prefixes_lay_out(struct ct_prefixes *p, struct ct_snapshots *snapshots, struct ct_kv_cache *cache,
                         int context);
/* Keeps ids[n], which a sequence holds, with its blocks, and its snapshots up to there. */
void ct_prefixes_keep(struct ct_prefixes *p, uint64_t owner, int sequence, const int32_t *ids, int n);
/* Compares all nodes of an owner with ids[n]: sets p->common. Returns the one with most in common; 0: none
 * has anything. */
int ct_prefixes_match(struct ct_prefixes *p, uint64_t owner, const int32_t *ids, int n);
/* Puts up to `most` ids into next, which stand behind n that lead to a node or through it; where there are
 * several ways, those that were used last. Returns their number. */
int ct_prefixes_behind(const struct ct_prefixes *p, int node, int n, int32_t *next, int most);
/* Somebody uses a node and those above it, whose blocks are p->path from now on. */
void ct_prefixes_use(struct ct_prefixes *p, int node);

#endif

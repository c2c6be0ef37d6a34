/* SPDX-License-Identifier: Apache-2.0 */
/* prefix.h: what an engine keeps to go on from without evaluating it again: snapshots of local layers
 * (snapshot.c), and what sessions with an owner have evaluated and do not hold any more (prefix.c). Which
 * of it serves a prompt is reuse.c's. The engine's lock is held. */
#ifndef CT_PREFIX_H
#define CT_PREFIX_H

#include "model/kv_cache.h"

/* ---- snapshot.c ---- */

/* The snapshots of an engine: which there are, whose they are, which goes first. A snapshot keeps by
 * reference what the local layers have at a position, so that one can go on there without evaluating what
 * led there. It belongs to sessions that hold the tokens before it, or to a node of the tree of prefixes
 * (prefix.h) that has the last of them, or to both. Blocks are model/kv_cache.c's; tokens and positions
 * are the session's. */

/* Tokens of a long prompt after which one is taken, and those where others of its owner may leave it
 * anywhere: with two that are so near, local layers of 512 tokens lack nothing between them. */
enum { CT_SNAPSHOT_STEP = 1024, CT_OWNED_STEP = 512 };

struct ct_snapshots {
    struct ct_kv_cache *cache;
    int32_t *position; /* [cache->snapshots] 0: there is none */
    int32_t *node;     /* [cache->snapshots] of the tree; 0: none has it */
    uint64_t *used;    /* [cache->snapshots] when an owner last used it; 0: its sessions have no owner */
    uint64_t clock;    /* uses so far */
    uint64_t taken, dropped;
    bool *of; /* [cache->snapshots][cache->sequences] whose it is: all of them held the same tokens */
};

/* Takes its memory from the cache's backend. */
void ct_snapshots_lay_out(struct ct_snapshots *s, struct ct_kv_cache *cache);
/* Keeps the position where a sequence is ready, if there is room or others may go for it. */
void ct_snapshot_take(struct ct_snapshots *s, int sequence, bool owned);
/* Drops one: of those of owners that which was not used for the longest time; where there are none, the one
 * whose loss costs its sessions fewest tokens to evaluate. False: there is none. */
bool ct_snapshots_release(struct ct_snapshots *s);
/* The row of the cache with which a sequence is ready nearest to n: its own, or that of a snapshot. */
int ct_snapshot_nearest(const struct ct_snapshots *s, int sequence, int n);
/* Somebody goes on with the one in this row of the cache, if there is one. */
void ct_snapshot_use(struct ct_snapshots *s, int row);
/* A sequence holds the tokens before one, too. */
void ct_snapshot_give(struct ct_snapshots *s, int snapshot, int sequence);
/* Sequence `to` has become the first n positions of `from`, and has its snapshots up to there. */
void ct_snapshots_share(struct ct_snapshots *s, int to, int from, int n);
/* A sequence holds n positions only, and no snapshot beyond. */
void ct_snapshots_cut(struct ct_snapshots *s, int sequence, int n, bool discard);
int ct_snapshots_of(const struct ct_snapshots *s, int sequence);
/* The position of the last one of a sequence; 0: it has none. */
int ct_snapshots_last(const struct ct_snapshots *s, int sequence);
/* A node has what a sequence holds from after `from` to `to`, and the snapshots there. */
void ct_snapshots_keep(struct ct_snapshots *s, int node, int sequence, int from, int to);
/* A node ends. */
void ct_snapshots_leave(struct ct_snapshots *s, int node);

/* ---- prefix.c ---- */

/* A tree over ids keeps what sessions with an owner have evaluated and do not hold any more: a node has the
 * ids of one block of K and V of the global layers, which it holds, behind those of its parent. Only a leaf
 * may have fewer ids than a block has positions, and no node's ids are the beginning of a sibling's.
 * Snapshots of local layers belong to the node with the token before them. Nodes are as many as there are
 * blocks; when blocks are short, the leaf that was used least recently goes, with its ids. What sessions hold
 * is not here: whoever looks for a prefix asks them, too (reuse.c). The engine's lock is held. */

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

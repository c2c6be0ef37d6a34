/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot.h: the snapshots of an engine: which there are, whose they are, which goes first. A snapshot keeps
 * by reference what the local layers have at a position, so that one can go on there without evaluating what
 * led there. It belongs to sessions that hold the tokens before it, or to a node of the tree of prefixes
 * (prefix.h) that has the last of them, or to both. Blocks are model/kv_cache.c's; tokens and positions are
 * the session's. The engine's lock is held. */
#ifndef CT_SNAPSHOT_H
#define CT_SNAPSHOT_H

#include "carat_generate.h"
#include "model/kv_cache.h"

#define CT_SNAPSHOT_STEP 1024 /* tokens of a long prompt after which one is taken */

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

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot.h: the snapshots of an engine: which there are, whose they are, which goes first. A snapshot keeps
 * by reference what the local layers have at a position, so that sessions can go back to it without
 * evaluating what led there. Blocks are model/kv_cache.c's; tokens and positions are the session's. The
 * engine's lock is held. */
#ifndef CT_SNAPSHOT_H
#define CT_SNAPSHOT_H

#include "carat_generate.h"
#include "model/kv_cache.h"

#define CT_SNAPSHOT_STEP 1024 /* tokens of a long prompt after which one is taken */

struct ct_snapshots {
    struct ct_kv_cache *cache;
    int32_t *position; /* [cache->snapshots] 0: there is none */
    uint64_t taken, dropped;
    bool *of; /* [cache->snapshots][cache->sequences] whose it is: all of them held the same tokens */
};

/* Takes its memory from the cache's backend. */
void ct_snapshots_lay_out(struct ct_snapshots *s, struct ct_kv_cache *cache);
/* Keeps the position where a sequence is ready, if there is room or others may go for it: those whose loss
 * costs fewest tokens to evaluate. */
void ct_snapshot_take(struct ct_snapshots *s, int sequence);
/* The row of the cache with which a sequence is ready nearest to n: its own, or that of a snapshot. */
int ct_snapshot_nearest(const struct ct_snapshots *s, int sequence, int n);
/* Sequence `to` has become the first n positions of `from`, and has its snapshots up to there. */
void ct_snapshots_share(struct ct_snapshots *s, int to, int from, int n);
/* A sequence holds n positions only, and no snapshot beyond. */
void ct_snapshots_cut(struct ct_snapshots *s, int sequence, int n, bool discard);
int ct_snapshots_of(const struct ct_snapshots *s, int sequence);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* kv_cache.h: K and V of an engine's sequences, in blocks of CT_KEY_BLOCK positions. Global and local layers
 * have a pool of blocks each, and a sequence a table of those that it holds in each. Blocks count their
 * holders: what sequences have in common is there once, and who wants to write into a block that others hold
 * too gets a copy first. A snapshot is a row of the local table that is no sequence: it holds what a sequence
 * had there, so that this can go back; global layers lose nothing. A prefix that no sequence has any more
 * holds global blocks. Which bytes a block is made of is the backend's business; tokens are the session's;
 * which snapshots and prefixes there are is decided in engine/snapshot.c and engine/prefix.c. Nothing here
 * locks. */
#ifndef CT_KV_CACHE_H
#define CT_KV_CACHE_H

#include "model/weights.h"

/* The blocks of one group of layers. A row of the table, which is a sequence or, of local layers, behind them
 * a snapshot, holds the blocks of positions [first, end) * CT_KEY_BLOCK. */
struct ct_kv_blocks {
    struct ct_kv_pool pool; /* n_blocks 0: no layer is kept here */
    int window;             /* positions that a row sees at most; 0: all */
    int32_t *holders;       /* [n_blocks] rows that hold it */
    int32_t *written;       /* [n_blocks] positions of it that may be written, from its first on */
    int32_t *free;          /* [n_free] blocks that nobody holds */
    int n_free, promised;   /* promised: those of them that are kept for sequences with a reservation */
    int32_t *first, *end;   /* [rows] */
    int32_t *promise;       /* [rows] its part of promised */
};

struct ct_kv_cache {
    struct ct_backend *backend;
    int n_layer, sequences, snapshots;
    int span; /* most blocks that a pass touches of a sequence */
    struct ct_kv layer[CT_MAX_LAYERS];
    int place[CT_MAX_LAYERS]; /* which of them a layer reads */
    struct ct_kv_blocks group[CT_ATTN_TYPES];
    int32_t *reserved; /* [sequences] positions that will not fail for memory */
    int32_t *held;     /* [sequences] positions, in all layers but the local ones */
    int32_t *ready;    /* [rows] those of them that the local layers have come to; a pass goes on here */
    int32_t *low;  /* [rows] position below which the local blocks have nothing, though they reach there */
    int32_t *kept; /* [sequences] of the global pool: what is held before a pass is not written again */
    bool *lost;    /* [sequences] but where it was lost: from where the sequence is ready on it is written */
    bool renew;    /* a block has fewer holders: promises may be too large */
    size_t least;  /* bytes of the first block of a sequence in each group */

    int32_t *in_snapshots; /* [n_blocks of the local pool] snapshots that hold it */
    int n_in_snapshots;    /* blocks that snapshots hold */
    int most_in_snapshots; /* and may hold */
    size_t snapshot;       /* bytes that the blocks of one take at most; 0: there are no local layers */
    bool *in_prefixes;     /* [n_blocks of the global pool] a prefix holds it */
    /* Ends a snapshot or a prefix when a block of local or of global layers is missing; false: there is none.
     * NULL as long as there cannot be any. */
    bool (*release)(void *user, enum ct_attn_type missing);
    void *user;
};

/* What is laid out: positions of a sequence, rows of a pass, sequences, bytes of the blocks of sequences (0:
 * as many as full contexts need), bytes of those of snapshots, which come on top. */
struct ct_kv_extent {
    int context, chunk, sequences;
    size_t bytes, snapshot_bytes;
    bool drafts;   /* a drafter reads them, too, and sees a position more of local layers */
    bool for_pass; /* no K and V outlive a pass, nor a layer: all layers of a kind have one place */
};

/* Takes the blocks of layers [0, c->n_layer) from the backend. */
void ct_kv_cache_init(struct ct_kv_cache *cache, struct ct_backend *b, const struct ct_config *c,
                      enum ct_kv_type type, const struct ct_kv_extent *e);
/* Makes all blocks free, once they have memory. */
void ct_kv_cache_begin(struct ct_kv_cache *cache);

/* The positions from n on that one pass may hold of a sequence: local layers have blocks for no more, so that
 * passes of a long prompt end at multiples of CT_KEY_BLOCK. */
int ct_kv_span(const struct ct_kv_cache *cache, int n);
/* The position from which a pass goes on: below those held, what the local layers lack comes first. */
static inline int ct_kv_ready(const struct ct_kv_cache *cache, int sequence)
{
    return cache->ready[sequence];
}
/* Lets a sequence write positions from where it is ready to `to`, at most a span, and gives back the local
 * blocks that the first of them does not see. False when no block is free, and nothing has changed. */
bool ct_kv_extend(struct ct_kv_cache *cache, int sequence, int to);
/* What lies below a position was not written into the local blocks of a sequence. */
void ct_kv_begins(struct ct_kv_cache *cache, int sequence, int lowest);
/* What all blocks had is lost: sequences hold their positions, and are ready at none. No snapshot and no
 * prefix holds a block. */
void ct_kv_lose(struct ct_kv_cache *cache);
/* Gives back the blocks beyond n positions, and the local ones beyond `ready`; discard: their memory, too. */
void ct_kv_cut(struct ct_kv_cache *cache, int sequence, int n, int ready, bool discard);
/* Where a sequence of n positions would be ready with the local blocks of a row: at n, at the position of the
 * row, which then is lower, or at 0 when they do not have what is seen there. */
int ct_kv_ready_at(const struct ct_kv_cache *cache, int row, int n);
/* Rows of one text whose local blocks lie one behind another: those of `row` begin where `below`, which ends
 * earlier, has all that is before them. below < 0: `row` is alone. */
struct ct_kv_rows {
    int row, below;
};
/* The same with both. */
int ct_kv_ready_with(const struct ct_kv_cache *cache, struct ct_kv_rows rows, int n);
/* Two positions see the same local blocks, as far back as they see: what is kept for one serves the other. */
bool ct_kv_sees_alike(const struct ct_kv_cache *cache, int a, int b);
/* Goes back to n of the positions that are held, with the local blocks of a row: its own, or a snapshot's. */
void ct_kv_rewind(struct ct_kv_cache *cache, int sequence, int n, int row, bool discard);
/* Sequence `to`, which holds nothing, holds the first n positions of `from`, with the local blocks of a row.
 * False when that would break the reservation of `from`, since both may want to write into the last block. */
bool ct_kv_share(struct ct_kv_cache *cache, int to, int from, int n, int row);
/* The row of a snapshot, [0, snapshots). */
static inline int ct_kv_snapshot(const struct ct_kv_cache *cache, int snapshot)
{
    return cache->sequences + snapshot;
}
/* A snapshot, which holds nothing, holds what the last ready position of a sequence saw, and that position
 * itself: from there on it can go on, and from the position after it. False when that would break the
 * reservation of the sequence. */
bool ct_kv_take_snapshot(struct ct_kv_cache *cache, int snapshot, int sequence);
void ct_kv_drop_snapshot(struct ct_kv_cache *cache, int snapshot, bool discard);
/* Blocks of global layers that a prefix holds, each once; -1: there are no such layers. */
int32_t ct_kv_block(const struct ct_kv_cache *cache, int sequence, int number);
void ct_kv_hold(struct ct_kv_cache *cache, int32_t block);
void ct_kv_let_go(struct ct_kv_cache *cache, int32_t block);
/* A sequence holds n positions in these blocks of global layers, which others hold, in place of what it held,
 * and is ready at a position up to which a row has local ones for it. False when that would break a
 * reservation: it then holds nothing. */
bool ct_kv_adopt(struct ct_kv_cache *cache, int sequence, const int32_t *block, int n, int ready,
                 struct ct_kv_rows rows);
/* Keeps free blocks for a sequence, up to a number of positions. False: there are too few, and what was
 * reserved before is kept. */
bool ct_kv_reserve(struct ct_kv_cache *cache, int sequence, int reserved);
/* Blocks in all, held by somebody, by several, by snapshots and prefixes alone, and free. */
struct ct_kv_use {
    int blocks, held, shared, cached, free;
    size_t bytes;
};
struct ct_kv_use ct_kv_cache_use(const struct ct_kv_cache *cache);

#endif

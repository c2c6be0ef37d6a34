/* SPDX-License-Identifier: Apache-2.0 */
/* kv_fake.h: a cache of K and V over a backend that keeps a number for each position of each layer, what
 * sequences and snapshots do with it, and what must hold at any time. All functions are static and end the
 * running test when something is wrong. */
#ifndef CT_TEST_KV_FAKE_H
#define CT_TEST_KV_FAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "model/kv_cache.h"

#define UNUSED __attribute__((unused))

enum {
    LAYERS = 3,          /* one global, two local */
    POSITION_BYTES = 10, /* of a layer */
    MOST_BLOCKS = 64,
    MOST_SEQUENCES = 5,
    MOST_SNAPSHOTS = 8,
    MOST_ROWS = MOST_SEQUENCES + MOST_SNAPSHOTS,
    MOST_CONTEXT = 2048,
    GARBAGE = -1,
};

/* ---- a backend that counts ---- */

struct fake {
    struct ct_backend base;
    struct ct_kv_cache cache;
    void *host[64];
    int n_host;
    int copies, positions_copied, discards; /* copies: of one layer */
    int32_t value[LAYERS][MOST_BLOCKS][CT_KEY_BLOCK];

    /* what each sequence, or behind them each snapshot, should read */
    int n[MOST_ROWS], ready[MOST_ROWS];
    int32_t wrote[MOST_ROWS][MOST_CONTEXT], last;
    int of[MOST_ROWS]; /* of a snapshot: its sequence + 1; 0: there is none */
};

UNUSED static void *fake_host(struct ct_backend *b, size_t bytes)
{
    struct fake *f = (struct fake *)b;

    assert_true(f->n_host < (int)CT_COUNT(f->host));
    return f->host[f->n_host++] = calloc(1, bytes + 1);
}

UNUSED static void fake_kv(struct ct_backend *b, struct ct_kv_pool *pool, int n, struct ct_kv *layer)
{
    (void)b;
    pool->block_bytes = 0;
    for (int i = 0; i < n; i++)
        if (layer[i].pool == pool)
            pool->block_bytes += CT_KEY_BLOCK * POSITION_BYTES;
    assert_true(pool->n_blocks <= MOST_BLOCKS);
}

UNUSED static void fake_copy(struct ct_backend *b, const struct ct_kv *kv, int to, int from, int n)
{
    struct fake *f = (struct fake *)b;
    int layer = (int)(kv - f->cache.layer);

    assert_true(to != from && n > 0 && n < CT_KEY_BLOCK);
    f->copies++;
    f->positions_copied += n;
    memcpy(f->value[layer][to], f->value[layer][from], (size_t)n * sizeof(int32_t));
}

UNUSED static void fake_discard(struct ct_backend *b, const struct ct_kv_pool *pool, int block)
{
    struct fake *f = (struct fake *)b;

    f->discards++;
    for (int i = 0; i < LAYERS; i++)
        for (int k = 0; k < CT_KEY_BLOCK && f->cache.layer[i].pool == pool; k++)
            f->value[i][block][k] = GARBAGE;
}

/* A cache of layer 0 that sees all, and of layers 1 and 2 with a window; 0: all three see all. One more has
 * no K and V of its own. */
UNUSED static struct fake *fake_open(int window, struct ct_kv_extent e)
{
    struct fake *f = calloc(1, sizeof *f);
    struct ct_config *c = calloc(1, sizeof *c);

    assert_non_null(f);
    assert_non_null(c);
    f->base.verb = (struct ct_verbs){
        .alloc_host = fake_host, .alloc_kv = fake_kv, .kv_copy = fake_copy, .kv_discard = fake_discard};
    c->n_layer = LAYERS + 1;
    c->attn[CT_LOCAL].window = window;
    for (int i = 0; i < LAYERS; i++)
        c->layer[i] = (struct ct_layer_config){.n_kv_head = 1,
                                               .head_dim = 2,
                                               .kv_layer = i,
                                               .attn_type = i > 0 && window ? CT_LOCAL : CT_GLOBAL};
    c->layer[LAYERS] = c->layer[0]; /* reads the first one's */
    assert_true(e.sequences <= MOST_SEQUENCES && e.context <= MOST_CONTEXT);
    ct_kv_cache_init(&f->cache, &f->base, c, CT_KV_F32, &e);
    assert_true(e.sequences + f->cache.snapshots <= MOST_ROWS);
    ct_kv_cache_begin(&f->cache);
    free(c);
    return f;
}

UNUSED static void fake_close(struct fake *f)
{
    for (int i = 0; i < f->n_host; i++)
        free(f->host[i]);
    free(f);
}

UNUSED static int32_t *value_at(struct fake *f, int layer, int sequence, int position)
{
    const struct ct_kv_pool *pool = f->cache.layer[layer].pool;
    int32_t block = pool->table[sequence * pool->length + position / CT_KEY_BLOCK % pool->length];

    assert_true(block >= 0 && block < pool->n_blocks);
    return &f->value[layer][block][position % CT_KEY_BLOCK];
}

/* ---- what must hold at any time ---- */

UNUSED static bool holds(const struct ct_kv_blocks *g, int sequence, int number)
{
    return number >= g->first[sequence] && number < g->end[sequence];
}

UNUSED static void check_blocks(const struct fake *f, const struct ct_kv_blocks *g)
{
    int count[MOST_BLOCKS] = {0}, promised = 0;

    for (int s = 0; s < f->cache.sequences + (g->window ? f->cache.snapshots : 0); s++) {
        assert_in_range(g->end[s] - g->first[s], 0, g->pool.length);
        for (int i = g->first[s]; i < g->end[s]; i++)
            count[g->pool.table[s * g->pool.length + i % g->pool.length]]++;
        assert_true(g->promise[s] >= 0);
        promised += g->promise[s];
    }
    for (int k = 0; k < g->n_free; k++)
        assert_int_equal(count[g->free[k]]--, 0); /* held by nobody, and named once */
    for (int k = 0; k < g->pool.n_blocks; k++)
        assert_true(count[k] == -1 || (count[k] > 0 && count[k] == g->holders[k]));
    assert_int_equal(promised, g->promised);
    assert_true(g->promised <= g->n_free);
}

/* Every snapshot has what the sequence wrote, from what the position before it sees. */
UNUSED static void check_snapshots(struct fake *f)
{
    const struct ct_kv_blocks *g = &f->cache.group[CT_LOCAL];
    int count[MOST_BLOCKS] = {0}, n = 0;

    for (int row = f->cache.sequences; row < f->cache.sequences + f->cache.snapshots; row++) {
        assert_int_equal(f->of[row] > 0, g->first[row] < g->end[row]);
        for (int i = g->first[row]; i < g->end[row]; i++)
            n += count[g->pool.table[row * g->pool.length + i % g->pool.length]]++ == 0;
        for (int p = f->ready[row] - 1; f->of[row] && p >= 0 && holds(g, row, p / CT_KEY_BLOCK); p--)
            for (int layer = 1; layer < LAYERS; layer++)
                assert_int_equal(*value_at(f, layer, row, p), f->wrote[row][p]);
    }
    for (int k = 0; k < g->pool.n_blocks && f->cache.snapshots; k++)
        assert_int_equal(count[k], f->cache.in_snapshots[k]);
    assert_int_equal(n, f->cache.n_in_snapshots);
}

/* Every sequence reads what it wrote, from the lowest position that it has. */
UNUSED static void check_all(struct fake *f)
{
    for (int i = 0; i < CT_ATTN_TYPES; i++)
        check_blocks(f, &f->cache.group[i]);
    check_snapshots(f);
    for (int s = 0; s < f->cache.sequences; s++) {
        assert_int_equal(f->cache.held[s], f->n[s]);
        assert_int_equal(ct_kv_ready(&f->cache, s), f->ready[s]);
        for (int layer = 0; layer < LAYERS; layer++) {
            const struct ct_kv_blocks *g =
                &f->cache.group[f->cache.layer[layer].pool == &f->cache.group[CT_LOCAL].pool];
            int n = g->window ? f->ready[s] : f->n[s], lowest = g->window ? CT_MAX(0, n - g->window + 1) : 0;
            for (int p = n - 1; p >= 0 && (p >= lowest || holds(g, s, p / CT_KEY_BLOCK)); p--) {
                assert_true(holds(g, s, p / CT_KEY_BLOCK));
                if (*value_at(f, layer, s, p) != f->wrote[s][p])
                    fail_msg("sequence %d, layer %d, position %d of %d: %d, not %d", s, layer, p, n,
                             *value_at(f, layer, s, p), f->wrote[s][p]);
            }
        }
    }
}

/* ---- what sequences do ---- */

/* What a pass writes that begins where the sequence is ready: positions that are held are kept. */
UNUSED static void write_positions(struct fake *f, int sequence, int to)
{
    for (int p = f->ready[sequence]; p < to; p++) {
        if (p >= f->n[sequence])
            f->wrote[sequence][p] = ++f->last;
        for (int layer = 0; layer < LAYERS; layer++) {
            const int32_t *kept = f->cache.layer[layer].pool->kept;
            if (!kept || p >= kept[sequence])
                *value_at(f, layer, sequence, p) = f->wrote[sequence][p];
        }
    }
    f->ready[sequence] = to;
    f->n[sequence] = CT_MAX(f->n[sequence], to);
}

/* Writes up to a position in as few passes as there may be; false: a block was missing. */
UNUSED static bool grow(struct fake *f, int sequence, int to)
{
    while (f->ready[sequence] < to) {
        int n = f->ready[sequence], end = CT_MIN(to, n + ct_kv_span(&f->cache, n));
        if (!ct_kv_extend(&f->cache, sequence, end))
            return false;
        write_positions(f, sequence, end);
    }
    return true;
}

/* Where a sequence is ready once it holds n positions with what a row has: there, where the row is, or at
 * 0. */
UNUSED static int ready_with(const struct fake *f, int row, int n)
{
    const struct ct_kv_blocks *g = &f->cache.group[CT_LOCAL];
    int ready = CT_MIN(n, f->ready[row]);

    return g->first[row] * CT_KEY_BLOCK <= CT_MAX(0, ready - g->window + 1) ? ready : 0;
}

UNUSED static void drop_snapshot(struct fake *f, int row)
{
    ct_kv_drop_snapshot(&f->cache, row - f->cache.sequences, false);
    f->of[row] = 0;
}

/* Drops what is beyond n positions of a sequence. */
UNUSED static void drop_beyond(struct fake *f, int sequence, int n)
{
    for (int row = f->cache.sequences; row < f->cache.sequences + f->cache.snapshots; row++)
        if (f->of[row] == sequence + 1 && f->ready[row] > n)
            drop_snapshot(f, row);
}

UNUSED static bool drop_any(void *user)
{
    struct fake *f = user;

    for (int row = f->cache.sequences; row < f->cache.sequences + f->cache.snapshots; row++)
        if (f->of[row]) {
            drop_snapshot(f, row);
            return true;
        }
    return false;
}

UNUSED static bool make_room(void *user, enum ct_attn_type missing)
{
    return missing == CT_LOCAL && drop_any(user);
}

/* False: there is no room for it. */
UNUSED static bool take_snapshot(struct fake *f, int sequence)
{
    int row = f->cache.sequences, end = row + f->cache.snapshots;

    while (row < end && f->of[row])
        row++;
    if (row == end || f->ready[sequence] == 0)
        return false;
    if (!ct_kv_take_snapshot(&f->cache, row - f->cache.sequences, sequence)) {
        ct_kv_drop_snapshot(&f->cache, row - f->cache.sequences, false);
        return false;
    }
    f->of[row] = sequence + 1;
    f->ready[row] = f->ready[sequence];
    memcpy(f->wrote[row], f->wrote[sequence], sizeof f->wrote[row]);
    return true;
}

/* Goes back to n positions with what a row has. */
UNUSED static void cut_to(struct fake *f, int sequence, int n, int row, bool discard)
{
    f->ready[sequence] = ready_with(f, row, n);
    f->n[sequence] = n;
    ct_kv_rewind(&f->cache, sequence, n, row, discard);
    drop_beyond(f, sequence, n);
}

UNUSED static void cut(struct fake *f, int sequence, int n, bool discard)
{
    cut_to(f, sequence, n, sequence, discard);
}

UNUSED static bool share(struct fake *f, int to, int from, int n)
{
    int ready = ready_with(f, from, n);

    if (!ct_kv_share(&f->cache, to, from, n, from))
        return false;
    memcpy(f->wrote[to], f->wrote[from], (size_t)n * sizeof(int32_t));
    f->n[to] = n;
    f->ready[to] = ready;
    return true;
}

UNUSED static bool keeps(struct fake *f, int sequence, int positions)
{
    return ct_kv_reserve(&f->cache, sequence, positions);
}

UNUSED static void check_use(struct fake *f, int held, int shared)
{
    struct ct_kv_use use = ct_kv_cache_use(&f->cache);

    check_all(f);
    assert_int_equal(use.held, held);
    assert_int_equal(use.shared, shared);
    assert_int_equal(use.blocks, use.held + use.free);
}

/* The bytes of n blocks of each group; n is no more than a local table has. */
UNUSED static size_t bytes_of(int n)
{
    return (size_t)n * 3 * CT_KEY_BLOCK * POSITION_BYTES;
}

#endif

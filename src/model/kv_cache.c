/* SPDX-License-Identifier: Apache-2.0 */
/* kv_cache.c: who holds which block of K and V. The rules are those of kv_cache.h.
 *
 * Local blocks go back when the window has left them. A chunk is stored before its first row attends. A
 * sequence that ends where the written part of a block ends writes on in place; any other that writes into a
 * shared block copies its own part of it first.
 *
 * A reservation is a number of free blocks that nobody else gets, counted anew whenever its sequence is
 * written, cut or forked. */
#include "model/kv_cache.h"

/* ---- laying out ---- */

static int blocks_for(int positions)
{
    return (positions + CT_KEY_BLOCK - 1) / CT_KEY_BLOCK;
}

/* Blocks of a pass, and those before it that its first row sees. */
static int group_length(int window, const struct ct_kv_extent *e)
{
    int all = blocks_for(e->context);

    return window ? CT_MIN(all, blocks_for(window - 1) + blocks_for(e->chunk)) : all;
}

/* Gives each group n blocks, or as many as full contexts need; returns their bytes. The groups get equal
 * numbers, as short sequences need them. */
static size_t give_blocks(struct ct_kv_cache *cache, int sequences, int n)
{
    size_t bytes = 0;

    for (int i = 0; i < CT_ATTN_TYPES; i++) {
        struct ct_kv_blocks *g = &cache->group[i];
        g->pool.n_blocks = g->pool.block_bytes ? CT_MIN(n, sequences * g->pool.length) : 0;
        bytes += (size_t)g->pool.n_blocks * g->pool.block_bytes;
    }
    return bytes;
}

/* As many as fit into e->bytes. */
static void share_bytes(struct ct_kv_cache *cache, const struct ct_kv_extent *e)
{
    int fits = 0, beyond = e->sequences * blocks_for(e->context) + 1;

    while (beyond - fits > 1 && e->bytes) {
        int middle = (fits + beyond) / 2;
        *(give_blocks(cache, e->sequences, middle) <= e->bytes ? &fits : &beyond) = middle;
    }
    if (e->for_pass) /* each sequence may have a block that it does not fill */
        fits = e->sequences + blocks_for(e->chunk);
    give_blocks(cache, e->sequences, e->bytes || e->for_pass ? fits : beyond);
}

/* The layer in whose place a layer has its K and V. */
static int place_of_layer(const struct ct_config *c, const struct ct_kv_extent *e, int layer)
{
    int first = 0;

    while (e->for_pass && c->layer[first].attn_type != c->layer[layer].attn_type)
        first++;
    return e->for_pass ? first : c->layer[layer].kv_layer;
}

/* The blocks of snapshots. There may be as many of these as blocks, and the one that is being taken. */
static void add_snapshots(struct ct_kv_cache *cache, const struct ct_kv_extent *e)
{
    struct ct_kv_pool *pool = &cache->group[CT_LOCAL].pool;
    int window = cache->group[CT_LOCAL].window, all = blocks_for(e->context);

    if (!pool->block_bytes || e->for_pass)
        return;
    /* so many positions, wherever they begin */
    cache->snapshot = (size_t)((CT_MAX(window, 2) - 2) / CT_KEY_BLOCK + 2) * pool->block_bytes;
    cache->most_in_snapshots =
        (int)CT_MIN(e->snapshot_bytes / pool->block_bytes, (size_t)e->sequences * (size_t)all);
    cache->snapshots = cache->most_in_snapshots ? cache->most_in_snapshots + 1 : 0;
    pool->n_blocks += cache->most_in_snapshots;
}

static void *host(struct ct_backend *b, size_t n, size_t bytes)
{
    return b->verb.alloc_host(b, n * bytes);
}

static void lay_out_group(struct ct_kv_blocks *g, struct ct_kv_cache *cache)
{
    struct ct_backend *b = cache->backend;
    size_t blocks = (size_t)g->pool.n_blocks;
    size_t rows = (size_t)(cache->sequences + (g->window ? cache->snapshots : 0));

    b->verb.alloc_kv(b, &g->pool, cache->n_layer, cache->layer);
    g->pool.table = host(b, rows * (size_t)g->pool.length, sizeof *g->pool.table);
    g->holders = host(b, blocks, sizeof *g->holders);
    g->written = host(b, blocks, sizeof *g->written);
    g->free = host(b, blocks, sizeof *g->free);
    g->first = host(b, rows, sizeof *g->first);
    g->end = host(b, rows, sizeof *g->end);
    g->promise = host(b, rows, sizeof *g->promise);
}

void ct_kv_cache_init(struct ct_kv_cache *cache, struct ct_backend *b, const struct ct_config *c,
                      enum ct_kv_type type, const struct ct_kv_extent *e)
{
    *cache = (struct ct_kv_cache){
        .backend = b, .n_layer = c->n_layer, .sequences = e->sequences, .span = blocks_for(e->chunk)};
    for (int i = 0; i < c->n_layer; i++) {
        const struct ct_layer_config *l = &c->layer[i];
        cache->place[i] = place_of_layer(c, e, i);
        if (cache->place[i] == i) /* the others have those of an earlier layer */
            cache->layer[i] =
                (struct ct_kv){type, l->n_kv_head, l->head_dim, &cache->group[l->attn_type].pool, 0, 0, i, i};
        if (l->kv_layer == i)
            cache->layer[cache->place[i]].last = i;
    }
    for (int i = 0; i < CT_ATTN_TYPES; i++) {
        struct ct_kv_blocks *g = &cache->group[i];
        g->window = c->attn[i].window + (c->attn[i].window && e->drafts);
        g->pool.length = group_length(g->window, e);
        b->verb.alloc_kv(b, &g->pool, c->n_layer, cache->layer); /* no blocks yet: tells what one takes */
        cache->least += g->pool.block_bytes;
    }
    share_bytes(cache, e);
    add_snapshots(cache, e);
    for (int i = 0; i < CT_ATTN_TYPES; i++)
        lay_out_group(&cache->group[i], cache);
    cache->reserved = host(b, (size_t)e->sequences, sizeof *cache->reserved);
    cache->held = host(b, (size_t)e->sequences, sizeof *cache->held);
    cache->ready = host(b, (size_t)(e->sequences + cache->snapshots), sizeof *cache->ready);
    cache->in_snapshots = host(b, cache->snapshots ? (size_t)cache->group[CT_LOCAL].pool.n_blocks : 0,
                               sizeof *cache->in_snapshots);
    cache->in_prefixes = host(b, (size_t)cache->group[CT_GLOBAL].pool.n_blocks, sizeof *cache->in_prefixes);
    cache->low = host(b, (size_t)(e->sequences + cache->snapshots), sizeof *cache->low);
    cache->kept = host(b, (size_t)e->sequences, sizeof *cache->kept);
    cache->group[CT_GLOBAL].pool.kept = cache->kept;
    cache->lost = host(b, (size_t)e->sequences, sizeof *cache->lost);
}

void ct_kv_cache_begin(struct ct_kv_cache *cache)
{
    for (int i = 0; i < CT_ATTN_TYPES; i++) {
        struct ct_kv_blocks *g = &cache->group[i];
        for (g->n_free = 0; g->n_free < g->pool.n_blocks; g->n_free++)
            g->free[g->n_free] = g->pool.n_blocks - 1 - g->n_free; /* the first block is taken first */
    }
}

/* ---- blocks of a sequence ---- */

static int32_t *entry(const struct ct_kv_blocks *g, int sequence, int number)
{
    return &g->pool.table[sequence * g->pool.length + number % g->pool.length];
}

/* Ends a snapshot or a prefix, which may have held the last blocks that are missing. False: there was none to
 * end. */
static bool release(const struct ct_kv_cache *cache, const struct ct_kv_blocks *g)
{
    return cache->release && cache->release(cache->user, (enum ct_attn_type)(g - cache->group));
}

/* A free block for a sequence; -1: none, or only those that are promised to others. */
static int32_t take(struct ct_kv_cache *cache, struct ct_kv_blocks *g, int sequence)
{
    while (g->promise[sequence] == 0 && g->n_free == g->promised)
        if (!release(cache, g))
            return -1;
    if (g->promise[sequence] > 0) {
        g->promise[sequence]--;
        g->promised--;
    }
    assert(g->n_free > 0);
    int32_t block = g->free[--g->n_free];
    g->holders[block] = 1;
    g->written[block] = 0;
    return block;
}

static void give_back(struct ct_kv_cache *cache, struct ct_kv_blocks *g, int32_t block, bool discard)
{
    assert(g->holders[block] > 0);
    if (--g->holders[block] > 0) {
        cache->renew = true; /* the last one may write without a copy */
        return;
    }
    g->free[g->n_free++] = block;
    if (discard)
        cache->backend->verb.kv_discard(cache->backend, &g->pool, block);
}

/* First block of the positions that position n sees. */
static int first_needed(const struct ct_kv_blocks *g, int n)
{
    return ct_first_seen(g->window, n) / CT_KEY_BLOCK;
}

/* Only who stands at the end of what is written in a shared block may write on in place. */
static bool may_write(const struct ct_kv_blocks *g, int32_t block, int n)
{
    return g->holders[block] == 1 || g->written[block] == n % CT_KEY_BLOCK;
}

/* Gives a sequence a block of its own, with the positions before n, in place of one that others hold. */
static bool copy_block(struct ct_kv_cache *cache, struct ct_kv_blocks *g, int sequence, int n)
{
    int32_t *at = entry(g, sequence, n / CT_KEY_BLOCK), from = *at, to = take(cache, g, sequence);
    struct ct_backend *b = cache->backend;

    if (to < 0)
        return false;
    for (int i = 0; i < cache->n_layer && n % CT_KEY_BLOCK > 0; i++)
        if (cache->layer[i].pool == &g->pool)
            b->verb.kv_copy(b, &cache->layer[i], to, from, n % CT_KEY_BLOCK);
    give_back(cache, g, from, false);
    *at = to;
    return true;
}

static bool extend_group(struct ct_kv_cache *cache, struct ct_kv_blocks *g, int sequence, int from, int to)
{
    int32_t *first = &g->first[sequence], *end = &g->end[sequence];

    for (int needed = CT_MIN(first_needed(g, from), *end); *first < needed; ++*first)
        give_back(cache, g, *entry(g, sequence, *first), false);
    for (int number = from / CT_KEY_BLOCK; number < blocks_for(to); number++) {
        int32_t *at = entry(g, sequence, number);
        if (number < *end) {
            int n = CT_MAX(from, number * CT_KEY_BLOCK);
            /* who shares it may be a prefix, which has gone for want of a block */
            if (!may_write(g, *at, n) && !copy_block(cache, g, sequence, n) && !may_write(g, *at, n))
                return false;
        } else {
            int32_t block = take(cache, g, sequence);
            if (block < 0)
                return false;
            assert(number == *end && number - *first < g->pool.length);
            *at = block;
            *end = number + 1;
        }
        g->written[*at] = CT_MIN(to - number * CT_KEY_BLOCK, CT_KEY_BLOCK);
    }
    return true;
}

/* ---- reservations ---- */

/* Positions that a sequence has in the layers of a group. */
static int positions_in(const struct ct_kv_cache *cache, const struct ct_kv_blocks *g, int sequence)
{
    return (g->window ? cache->ready : cache->held)[sequence];
}

/* Free blocks that a sequence of n positions may still take on its way to as many as are reserved. */
static int blocks_to_come(const struct ct_kv_blocks *g, int sequence, int n, int reserved)
{
    int own = 0, last = n / CT_KEY_BLOCK, end = g->end[sequence];

    if (reserved <= n || g->pool.n_blocks == 0)
        return 0;
    /* one that is written on must be its own, or become it */
    bool shared = last < end && g->holders[*entry(g, sequence, last)] > 1;
    int all = blocks_for(reserved) - end + shared;
    if (g->window == 0)
        return all;
    /* blocks that the window leaves come back, but for those that others hold */
    for (int i = g->first[sequence]; i < end; i++)
        own += g->holders[*entry(g, sequence, i)] == 1;
    return CT_MIN(all, g->pool.length - own);
}

/* True when a sequence could get so many global blocks if all prefixes went: none is ended in vain. */
static bool could_reserve(const struct ct_kv_cache *cache, int sequence, int reserved)
{
    const struct ct_kv_blocks *g = &cache->group[CT_GLOBAL];
    int n = cache->held[sequence], last = n / CT_KEY_BLOCK, spare = g->n_free - g->promised;
    int lacking = blocks_to_come(g, sequence, n, reserved) - g->promise[sequence] - spare;

    for (int i = 0; i < g->pool.n_blocks && lacking > 0; i++)
        lacking -= cache->in_prefixes[i] && g->holders[i] == 1;
    if (lacking > 0 && last < g->end[sequence]) { /* the last one need not be copied when no prefix has it */
        int32_t block = *entry(g, sequence, last);
        lacking -= cache->in_prefixes[block] && g->holders[block] == 2;
    }
    return lacking <= 0;
}

bool ct_kv_reserve(struct ct_kv_cache *cache, int sequence, int reserved)
{
    int come[CT_ATTN_TYPES];

    for (int i = 0; i < CT_ATTN_TYPES; i++) {
        const struct ct_kv_blocks *g = &cache->group[i];
        bool lacks = true, may_end = i != CT_GLOBAL || could_reserve(cache, sequence, reserved);
        while (lacks) {
            come[i] = blocks_to_come(g, sequence, positions_in(cache, g, sequence), reserved);
            lacks = come[i] - g->promise[sequence] > g->n_free - g->promised;
            if (lacks && !(may_end && release(cache, g)))
                return false;
        }
    }
    for (int i = 0; i < CT_ATTN_TYPES; i++) {
        struct ct_kv_blocks *g = &cache->group[i];
        g->promised += come[i] - g->promise[sequence];
        g->promise[sequence] = come[i];
    }
    cache->reserved[sequence] = reserved;
    return true;
}

/* Frees what was kept for copies that nobody needs any more. */
static void renew_promises(struct ct_kv_cache *cache)
{
    for (int i = 0; i < cache->sequences && cache->renew; i++)
        if (cache->reserved[i])
            ct_kv_reserve(cache, i, cache->reserved[i]);
    cache->renew = false;
}

/* What others hold by now cannot be promised again when there is nothing free. */
static void keep_promise(struct ct_kv_cache *cache, int sequence)
{
    if (cache->reserved[sequence] && !ct_kv_reserve(cache, sequence, cache->reserved[sequence]))
        ct_kv_reserve(cache, sequence, 0);
    renew_promises(cache);
}

/* ---- sequences ---- */

int ct_kv_span(const struct ct_kv_cache *cache, int n)
{
    return cache->span * CT_KEY_BLOCK - n % CT_KEY_BLOCK;
}

void ct_kv_begins(struct ct_kv_cache *cache, int sequence, int lowest)
{
    cache->low[sequence] = lowest;
}

bool ct_kv_extend(struct ct_kv_cache *cache, int sequence, int to)
{
    const int held = cache->held[sequence], ready = cache->ready[sequence];
    bool done = true;

    for (int i = 0; i < CT_ATTN_TYPES && done; i++) {
        struct ct_kv_blocks *g = &cache->group[i];
        int from = positions_in(cache, g, sequence);
        if (g->pool.n_blocks > 0 && from < to)
            done = extend_group(cache, g, sequence, from, to);
    }
    if (!done) {
        ct_kv_cut(cache, sequence, held, ready, false);
        return false;
    }
    cache->kept[sequence] = cache->lost[sequence] ? CT_MIN(held, ready) : held;
    cache->held[sequence] = CT_MAX(held, to);
    cache->ready[sequence] = to;
    if (cache->reserved[sequence])
        ct_kv_reserve(cache, sequence, cache->reserved[sequence]);
    renew_promises(cache);
    return true;
}

/* A row gives back its blocks beyond so many positions. */
static void trim_row(struct ct_kv_cache *cache, struct ct_kv_blocks *g, int row, int positions, bool discard)
{
    while (g->end[row] > CT_MAX(blocks_for(positions), g->first[row]))
        give_back(cache, g, *entry(g, row, --g->end[row]), discard);
    if (positions == 0)
        g->first[row] = g->end[row] = 0;
}

void ct_kv_cut(struct ct_kv_cache *cache, int sequence, int n, int ready, bool discard)
{
    cache->held[sequence] = n;
    cache->ready[sequence] = ready;
    if (ready == 0)
        cache->low[sequence] = 0;
    if (n == 0)
        cache->lost[sequence] = false;
    for (int i = 0; i < CT_ATTN_TYPES; i++) {
        struct ct_kv_blocks *g = &cache->group[i];
        trim_row(cache, g, sequence, positions_in(cache, g, sequence), discard);
    }
    keep_promise(cache, sequence);
}

void ct_kv_lose(struct ct_kv_cache *cache)
{
    for (int i = 0; i < cache->sequences; i++) {
        cache->lost[i] = cache->held[i] > 0;
        ct_kv_cut(cache, i, cache->held[i], 0, false);
    }
}

int ct_kv_ready_at(const struct ct_kv_cache *cache, int row, int n)
{
    const struct ct_kv_blocks *g = &cache->group[CT_LOCAL];
    int ready = CT_MIN(n, cache->ready[row]);

    return g->first[row] <= first_needed(g, ready) && cache->low[row] <= ct_first_seen(g->window, ready)
               ? ready
               : 0;
}

int ct_kv_ready_with(const struct ct_kv_cache *cache, struct ct_kv_rows rows, int n)
{
    const struct ct_kv_blocks *g = &cache->group[CT_LOCAL];
    const int row = rows.row, below = rows.below, ready = CT_MIN(n, cache->ready[row]);

    if (below < 0)
        return ct_kv_ready_at(cache, row, n);
    const int begin = g->first[row] * CT_KEY_BLOCK;
    const bool joins = cache->low[row] <= begin && begin <= CT_MIN(cache->ready[below], ready);
    return joins && g->first[below] <= first_needed(g, ready) &&
                   cache->low[below] <= ct_first_seen(g->window, ready)
               ? ready
               : 0;
}

bool ct_kv_sees_alike(const struct ct_kv_cache *cache, int a, int b)
{
    const struct ct_kv_blocks *g = &cache->group[CT_LOCAL];

    return first_needed(g, a) == first_needed(g, b);
}

/* A row that holds blocks up to there holds what another one has of those behind them, before `end`. */
static void share_more(struct ct_kv_blocks *g, int to, int from, int end)
{
    for (; g->end[to] < end; g->end[to]++) {
        int32_t block = *entry(g, from, g->end[to]);
        *entry(g, to, g->end[to]) = block;
        g->holders[block]++;
    }
}

/* A row that holds nothing holds what another one has of the blocks [first, end). */
static void share_blocks(struct ct_kv_blocks *g, int to, int from, int first, int end)
{
    assert(g->first[to] == g->end[to]);
    end = CT_MIN(end, g->end[from]);
    g->first[to] = g->end[to] = CT_MIN(CT_MAX(first, g->first[from]), end);
    share_more(g, to, from, end);
}

void ct_kv_rewind(struct ct_kv_cache *cache, int sequence, int n, int row, bool discard)
{
    struct ct_kv_blocks *g = &cache->group[CT_LOCAL];
    int ready = ct_kv_ready_at(cache, row, n);

    cache->low[sequence] = cache->low[row];
    if (row != sequence) {
        trim_row(cache, g, sequence, 0, discard);
        share_blocks(g, sequence, row, first_needed(g, ready), blocks_for(ready));
    }
    ct_kv_cut(cache, sequence, n, ready, discard);
}

bool ct_kv_share(struct ct_kv_cache *cache, int to, int from, int n, int row)
{
    cache->held[to] = n;
    cache->ready[to] = ct_kv_ready_at(cache, row, n);
    cache->low[to] = cache->low[row];
    cache->lost[to] = cache->lost[from];
    for (int i = 0; i < CT_ATTN_TYPES; i++) {
        struct ct_kv_blocks *g = &cache->group[i];
        int positions = positions_in(cache, g, to);
        share_blocks(g, to, g->window ? row : from, first_needed(g, positions), blocks_for(positions));
    }
    if (cache->reserved[from] == 0 || ct_kv_reserve(cache, from, cache->reserved[from]))
        return true;
    ct_kv_cut(cache, to, 0, 0, false);
    return false;
}

/* ---- prefixes ---- */

int32_t ct_kv_block(const struct ct_kv_cache *cache, int sequence, int number)
{
    const struct ct_kv_blocks *g = &cache->group[CT_GLOBAL];

    return g->pool.n_blocks ? *entry(g, sequence, number) : -1;
}

void ct_kv_hold(struct ct_kv_cache *cache, int32_t block)
{
    if (block < 0)
        return;
    assert(!cache->in_prefixes[block]);
    cache->in_prefixes[block] = true;
    cache->group[CT_GLOBAL].holders[block]++;
}

void ct_kv_let_go(struct ct_kv_cache *cache, int32_t block)
{
    if (block < 0)
        return;
    cache->in_prefixes[block] = false;
    give_back(cache, &cache->group[CT_GLOBAL], block, false);
}

/* Once more keeps what is reserved, by all. */
static bool keep_all(struct ct_kv_cache *cache)
{
    bool kept = true;

    for (int i = 0; i < cache->sequences; i++)
        kept &= cache->reserved[i] == 0 || ct_kv_reserve(cache, i, cache->reserved[i]);
    return kept;
}

bool ct_kv_adopt(struct ct_kv_cache *cache, int sequence, const int32_t *block, int n, int ready,
                 struct ct_kv_rows rows)
{
    const int lower = rows.below < 0 ? rows.row : rows.below;
    struct ct_kv_blocks *g = &cache->group[CT_GLOBAL], *local = &cache->group[CT_LOCAL];

    for (int i = 0; g->pool.n_blocks && i < blocks_for(n); i++)
        g->holders[block[i]]++; /* some may be its own */
    trim_row(cache, g, sequence, 0, false);
    trim_row(cache, local, sequence, 0, false);
    for (int i = 0; g->pool.n_blocks && i < blocks_for(n); i++)
        *entry(g, sequence, g->end[sequence]++) = block[i];
    cache->held[sequence] = n;
    cache->ready[sequence] = ready;
    cache->low[sequence] = local->pool.n_blocks ? cache->low[lower] : 0;
    if (local->pool.n_blocks && rows.below >= 0)
        share_blocks(local, sequence, rows.below, first_needed(local, ready), local->first[rows.row]);
    if (local->pool.n_blocks && rows.below >= 0)
        share_more(local, sequence, rows.row, blocks_for(ready));
    else if (local->pool.n_blocks)
        share_blocks(local, sequence, rows.row, first_needed(local, ready), blocks_for(ready));
    if (keep_all(cache))
        return true;
    ct_kv_cut(cache, sequence, 0, 0, false);
    return false;
}

/* ---- snapshots ---- */

bool ct_kv_take_snapshot(struct ct_kv_cache *cache, int snapshot, int sequence)
{
    struct ct_kv_blocks *g = &cache->group[CT_LOCAL];
    int row = ct_kv_snapshot(cache, snapshot), n = cache->ready[sequence];

    cache->ready[row] = n;
    cache->low[row] = cache->low[sequence];
    share_blocks(g, row, sequence, first_needed(g, n - 1), blocks_for(n));
    for (int i = g->first[row]; i < g->end[row]; i++)
        cache->n_in_snapshots += cache->in_snapshots[*entry(g, row, i)]++ == 0;
    return cache->reserved[sequence] == 0 || ct_kv_reserve(cache, sequence, cache->reserved[sequence]);
}

void ct_kv_drop_snapshot(struct ct_kv_cache *cache, int snapshot, bool discard)
{
    struct ct_kv_blocks *g = &cache->group[CT_LOCAL];
    int row = ct_kv_snapshot(cache, snapshot);

    for (int i = g->first[row]; i < g->end[row]; i++)
        cache->n_in_snapshots -= --cache->in_snapshots[*entry(g, row, i)] == 0;
    trim_row(cache, g, row, 0, discard);
}

struct ct_kv_use ct_kv_cache_use(const struct ct_kv_cache *cache)
{
    struct ct_kv_use use = {0};

    for (int i = 0; i < CT_ATTN_TYPES; i++) {
        const struct ct_kv_blocks *g = &cache->group[i];
        use.blocks += g->pool.n_blocks;
        use.free += g->n_free;
        use.bytes += (size_t)(g->pool.n_blocks - g->n_free) * g->pool.block_bytes;
        for (int k = 0; k < g->pool.n_blocks; k++) {
            int kept = i == CT_GLOBAL ? cache->in_prefixes[k] : cache->snapshots ? cache->in_snapshots[k] : 0;
            use.shared += g->holders[k] > 1;
            use.cached += kept > 0 && g->holders[k] == kept;
        }
    }
    use.held = use.blocks - use.free;
    return use;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_attend.c: attention of the CPU backend: cuts the rows of a pass into tiles of queries and says which
 * thread reads which keys. A tile is a stretch of a sequence's queries: the heads of row 0 that share a KV
 * head, those of row 1, and so on. Where there are fewer tiles than the threads need, a tile is split by
 * key blocks, and who finishes the last of them merges all, in order. What a block gives is the kernels'
 * business; no bit depends on the split.
 *
 * A tile has up to 32 queries, against blocks of 256 keys. With fewer than four tiles a thread each block is
 * claimed apart and its result kept in planned memory (4 rows over the whole context), so that a row over a
 * long context needs no second barrier. */
#include "backend/cpu/cpu_backend.h"

enum {
    ITEMS_PER_THREAD = 4, /* with fewer, tiles are split */
    SPLIT_ROWS = 4,       /* as many rows over the longest context fit the memory for splits */
};

struct ct_tile {
    int row;           /* of the first query's stretch */
    int first, n;      /* queries of the stretch */
    int block, blocks; /* key blocks that one of them sees */
    int item, parts;   /* its first item; items of each KV head: 1, or blocks */
    size_t at;         /* of the results of its parts, in floats */
};

/* One attention over the current rows. */
struct job {
    struct ct_cpu_backend *b;
    ct_mat out, q;
    const struct ct_kv *kv;
    const struct ct_seen *seen; /* [row] */
    int group;                  /* query heads of a KV head */
    int tiles;
    float scale, cap;
};

/* Floats of what n queries made of a block. */
static size_t attended_floats(int n, int dim)
{
    return ct_round_up((size_t)n * ((size_t)dim + 2), 16);
}

static struct ct_attended attended_at(float *at, int n, int dim)
{
    float *max = at + (size_t)n * (size_t)dim;
    return (struct ct_attended){max, max + n, at};
}

/* Floats of one thread: queries, what they made of one block and of all, scratch of a kernel. */
static size_t thread_floats(int dim)
{
    return CT_QUERIES * (size_t)dim + 2 * attended_floats(CT_QUERIES, dim) + CT_ATTEND_SCRATCH;
}

static int max_tiles(const struct ct_cpu_backend *b)
{
    int queries = CT_MIN(b->kernels[0].queries, b->kernels[1].queries);

    return b->extent.rows * (b->o.max_heads / queries + 1);
}

void ct_cpu_attention_init(struct ct_cpu_backend *b)
{
    struct ct_cpu_attention *a = &b->attention;
    size_t blocks = (size_t)b->extent.context / CT_KEY_BLOCK + 1, threads = (size_t)b->base.threads;

    a->tile = ct_cpu_take(&b->work, (size_t)max_tiles(b) * sizeof *a->tile);
    a->scratch = ct_cpu_take(&b->work, threads * thread_floats(b->o.max_head_dim) * sizeof(float));
    a->left = ct_cpu_take(&b->work, ITEMS_PER_THREAD * threads * sizeof(atomic_int));
    a->part_floats =
        threads == 1 ? 0 : SPLIT_ROWS * blocks * attended_floats(b->o.max_heads, b->o.max_head_dim);
    a->part = ct_cpu_take(&b->work, a->part_floats * sizeof(float));
}

static int row_of_query(const struct job *j, const struct ct_tile *t, int i)
{
    return t->row + (t->first + i) / j->group;
}

/* The key blocks that one of the rows of a tile sees. */
static void set_blocks(const struct job *j, struct ct_tile *t)
{
    const int row = row_of_query(j, t, 0), end = row_of_query(j, t, t->n - 1);
    struct ct_seen all = j->seen[row];

    for (int r = row + 1; r <= end; r++)
        all = (struct ct_seen){CT_MIN(all.first, j->seen[r].first), CT_MAX(all.last, j->seen[r].last)};
    t->block = all.first / CT_KEY_BLOCK;
    t->blocks = all.last / CT_KEY_BLOCK - t->block + 1;
}

/* Cuts the current rows into tiles. */
static void cut(struct job *j)
{
    const struct ct_rows *rows = &j->b->rows;
    struct ct_tile *t = j->b->attention.tile;

    for (int row = 0, end; row < rows->n; row = end) {
        for (end = row + 1; end < rows->n && rows->sequence[end] == rows->sequence[row];)
            end++;
        int queries = (end - row) * j->group;
        for (int first = 0; first < queries; first += j->b->kernel.queries, t++) {
            *t = (struct ct_tile){.row = row, .first = first, .parts = 1};
            t->n = CT_MIN(queries - first, j->b->kernel.queries);
            set_blocks(j, t);
        }
    }
    j->tiles = (int)(t - j->b->attention.tile);
}

/* Gives every tile its items, and returns how many there are. */
static int share(struct job *j)
{
    struct ct_cpu_attention *a = &j->b->attention;
    int items = 0, heads = j->kv->n_kv_head, threads = j->b->threads;
    bool split = threads > 1 && j->tiles * heads < ITEMS_PER_THREAD * threads;
    size_t at = 0;

    for (int i = 0; i < j->tiles; i++) {
        struct ct_tile *t = &a->tile[i];
        size_t floats = (size_t)(heads * t->blocks) * attended_floats(t->n, j->kv->head_dim);
        t->item = items;
        if (split && t->blocks > 1 && floats <= a->part_floats - at) {
            t->parts = t->blocks;
            t->at = at;
            at += floats;
            for (int h = 0; h < heads; h++)
                atomic_store_explicit(&a->left[i * heads + h], t->parts, memory_order_relaxed);
        }
        items += heads * t->parts;
    }
    return items;
}

/* The tile of an item. */
static int tile_of_item(const struct job *j, int item)
{
    int lo = 0, hi = j->tiles;

    while (hi - lo > 1) {
        int middle = (lo + hi) / 2;
        *(j->b->attention.tile[middle].item <= item ? &lo : &hi) = middle;
    }
    return lo;
}

static void load_queries(const struct job *j, const struct ct_tile *t, int head, struct ct_queries *queries)
{
    const struct ct_kv_head kv = {.type = j->kv->type, .head_dim = j->kv->head_dim};

    queries->n = t->n;
    for (int i = 0; i < t->n; i++) {
        int row = row_of_query(j, t, i), h = head * j->group + (t->first + i) % j->group;
        queries->lo[i] = j->seen[row].first;
        queries->hi[i] = j->seen[row].last;
        assert(queries->hi[i] - queries->lo[i] < j->kv->pool->length * CT_KEY_BLOCK);
        j->b->kernel.attend_query(queries, i, ct_row(j->q, row) + (size_t)h * (size_t)kv.head_dim, &kv);
    }
}

static void attend_block(const struct job *j, struct ct_attended *a, const struct ct_queries *queries,
                         const struct ct_tile *t, int head, int block, float *scratch)
{
    struct ct_kv_head kv = ct_cpu_kv_head(j->b, j->kv, j->b->rows.sequence[t->row], block, head);

    ct_kv_attend(&j->b->kernel, a, queries, &kv, block, j->scale, j->cap, scratch);
}

static void finish_tile(const struct job *j, const struct ct_tile *t, int head, const struct ct_attended *all)
{
    for (int i = 0; i < t->n; i++) {
        int row = row_of_query(j, t, i), h = head * j->group + (t->first + i) % j->group;
        j->b->kernel.attend_finish(ct_row(j->out, row) + (size_t)h * (size_t)j->kv->head_dim, all, i,
                                   j->kv->head_dim);
    }
}

static void attend_item(void *arg, int item, int thread)
{
    struct job *j = arg;
    struct ct_cpu_attention *a = &j->b->attention;
    const struct ct_kernel *k = &j->b->kernel;
    int tile = tile_of_item(j, item), dim = j->kv->head_dim;
    const struct ct_tile *t = &a->tile[tile];
    int head = (item - t->item) / t->parts, part = (item - t->item) % t->parts;
    size_t floats = attended_floats(t->n, dim);
    float *at = a->scratch + (size_t)thread * thread_floats(j->b->o.max_head_dim);
    struct ct_queries queries = {.q = at};
    struct ct_attended all = attended_at(at + CT_QUERIES * (size_t)dim, t->n, dim);
    struct ct_attended block = attended_at(all.out + floats, t->n, dim);
    float *scratch = block.out + floats, *parts = a->part + t->at + (size_t)(head * t->parts) * floats;

    load_queries(j, t, head, &queries);
    memset(all.sum, 0, (size_t)t->n * sizeof *all.sum);
    if (t->parts > 1) {
        block = attended_at(parts + (size_t)part * floats, t->n, dim);
        attend_block(j, &block, &queries, t, head, t->block + part, scratch);
        if (atomic_fetch_sub_explicit(&a->left[tile * j->kv->n_kv_head + head], 1, memory_order_acq_rel) > 1)
            return;
    }
    for (int b = 0; b < t->blocks && ct_pool_goes_on(j->b->pool, thread); b++) {
        if (t->parts > 1)
            block = attended_at(parts + (size_t)b * floats, t->n, dim);
        else
            attend_block(j, &block, &queries, t, head, t->block + b, scratch);
        k->attend_merge(&all, &block, t->n, dim);
    }
    finish_tile(j, t, head, &all);
}

void ct_cpu_attend(struct ct_backend *base, ct_mat out, ct_mat q, const struct ct_kv *kv, int attn_type,
                   float scale, float cap)
{
    struct ct_cpu_backend *b = ct_cpu(base);
    struct job j = {.b = b,
                    .out = out,
                    .q = q,
                    .kv = kv,
                    .seen = b->rows.seen[attn_type],
                    .group = q.cols / kv->head_dim / kv->n_kv_head,
                    .scale = scale,
                    .cap = cap};

    assert(j.group > 0 && j.group <= b->o.max_heads && kv->head_dim <= b->o.max_head_dim);
    cut(&j);
    ct_pool_run(b->pool, share(&j), attend_item, &j);
}

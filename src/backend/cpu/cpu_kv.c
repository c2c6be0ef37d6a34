/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_kv.c: K and V in memory: blocks of whole pages, in each the layers of its pool one after another, each
 * with the heads of K and then those of V. What lies in a head: kernel/kernel.h; who holds a block:
 * model/kv_cache.c. */
#include "backend/cpu/cpu_backend.h"

#include <math.h>

#include "base/redzone.h"
#include "layout/kv.h"
#include "os/memory.h"

/* Bytes of K, or of V, of n positions of a head. */
static size_t head_bytes(const struct ct_kv *kv, int n)
{
    return ct_kv_bytes(kv->type, n, kv->head_dim);
}

static uint8_t *block_at(const struct ct_cpu_backend *b, const struct ct_kv_pool *pool, int block)
{
    assert(block >= 0 && block < pool->n_blocks);
    return b->kv.base + pool->at + (size_t)block * pool->block_bytes;
}

/* Takes the next bytes of each block of a pool and returns where they begin. */
static size_t take_half(struct ct_cpu_backend *b, struct ct_kv_pool *pool, size_t *used, size_t bytes)
{
    size_t at = *used;

    *used += bytes + CT_REDZONE;
    for (int i = 0; b->kv.base && i < pool->n_blocks && CT_REDZONE; i++)
        CT_FORBID(block_at(b, pool, i) + at + bytes, CT_REDZONE);
    return at;
}

/* Twice over the layers: what a block takes is known before the first byte of one has an address. */
static void cpu_alloc_kv(struct ct_backend *base, struct ct_kv_pool *pool, int n, struct ct_kv *layer)
{
    struct ct_cpu_backend *b = ct_cpu(base);
    size_t used = 0;

    pool->at = b->kv.used;
    pool->block_bytes = 0;
    for (int i = 0; i < n; i++)
        if (layer[i].pool == pool)
            pool->block_bytes +=
                2 * ((size_t)layer[i].n_kv_head * head_bytes(&layer[i], CT_KEY_BLOCK) + CT_REDZONE);
    pool->block_bytes = ct_round_up(pool->block_bytes, ct_os_page());
    b->kv.used += (size_t)pool->n_blocks * pool->block_bytes;
    for (int i = 0; i < n; i++) {
        size_t half = (size_t)layer[i].n_kv_head * head_bytes(&layer[i], CT_KEY_BLOCK);
        if (layer[i].pool != pool)
            continue;
        assert(layer[i].n_kv_head > 0 && layer[i].head_dim > 0 && layer[i].head_dim <= CT_MAX_HEAD_DIM);
        layer[i].k = take_half(b, pool, &used, half);
        layer[i].v = take_half(b, pool, &used, half);
    }
}

static void cpu_kv_discard(struct ct_backend *base, const struct ct_kv_pool *pool, int block)
{
    ct_os_discard(block_at(ct_cpu(base), pool, block), pool->block_bytes);
}

/* Huge pages are read faster; short sequences would touch far more of them than they fill. */
static void cpu_kv_long(struct ct_backend *base, const struct ct_kv_pool *pool)
{
    if (pool->n_blocks > 0)
        ct_os_huge(block_at(ct_cpu(base), pool, 0), (size_t)pool->n_blocks * pool->block_bytes);
}

/* A head of a block: a cache of CT_KEY_BLOCK slots to the kernels. */
static struct ct_kv_head head_of_block(const struct ct_cpu_backend *b, const struct ct_kv *kv, int block,
                                       int head)
{
    uint8_t *at = block_at(b, kv->pool, block) + (size_t)head * head_bytes(kv, CT_KEY_BLOCK);

    return (struct ct_kv_head){kv->type, CT_KEY_BLOCK, kv->head_dim, at + kv->k, at + kv->v};
}

struct ct_kv_head ct_cpu_kv_head(const struct ct_cpu_backend *b, const struct ct_kv *kv, int sequence,
                                 int number, int head)
{
    const struct ct_kv_pool *pool = kv->pool;

    return head_of_block(b, kv, pool->table[sequence * pool->length + number % pool->length], head);
}

static void cpu_kv_copy(struct ct_backend *base, const struct ct_kv *kv, int to, int from, int n)
{
    const struct ct_cpu_backend *b = ct_cpu(base);
    /* K lies in panels of so many positions */
    size_t bytes = head_bytes(kv, (int)ct_round_up((size_t)n, CT_KEY_PANEL));

    assert(n > 0 && n <= CT_KEY_BLOCK);
    for (int h = 0; h < kv->n_kv_head; h++) {
        struct ct_kv_head target = head_of_block(b, kv, to, h), source = head_of_block(b, kv, from, h);
        memcpy(target.k, source.k, bytes);
        memcpy(target.v, source.v, bytes);
    }
}

static void cpu_kv_get(struct ct_backend *b, const struct ct_kv *kv, int block, int first, int n, void *k,
                       void *v)
{
    const size_t bytes = head_bytes(kv, 1), step = (size_t)kv->n_kv_head * bytes;

    for (int h = 0; h < kv->n_kv_head; h++) {
        struct ct_kv_head head = head_of_block(ct_cpu(b), kv, block, h);
        size_t at = (size_t)h * bytes;
        ct_kv_get_rows(&head, first, n, (uint8_t *)k + at, (uint8_t *)v + at, step);
    }
}

static void cpu_kv_put(struct ct_backend *b, const struct ct_kv *kv, int block, int first, int n,
                       const void *k, const void *v)
{
    const size_t bytes = head_bytes(kv, 1), step = (size_t)kv->n_kv_head * bytes;

    for (int h = 0; h < kv->n_kv_head; h++) {
        struct ct_kv_head head = head_of_block(ct_cpu(b), kv, block, h);
        size_t at = (size_t)h * bytes;
        ct_kv_put_rows(&head, first, n, (const uint8_t *)k + at, (const uint8_t *)v + at, step);
    }
}

struct job {
    struct ct_cpu_backend *b;
    const struct ct_kv *kv;
    ct_mat k, v;
};

/* Stored values are finite: a masked one is multiplied by 0, and blocks are shared. A row that has others is
 * not finite, and zeros stand for it. */
static bool storable(const float *x, int n, float limit)
{
    bool below = true;

    for (int i = 0; i < n; i++)
        below &= fabsf(x[i]) < limit;
    return below;
}

static void write_row(const struct job *j, int row)
{
    const struct ct_rows *rows = &j->b->rows;
    float *k = ct_row(j->k, row), *v = ct_row(j->v, row), limit = ct_kv_info(j->kv->type)->limit;
    int n = j->kv->n_kv_head * j->kv->head_dim, position = rows->position[row];
    const int32_t *kept = j->kv->pool->kept;

    if (!storable(k, n, limit) || !storable(v, n, limit)) {
        j->b->not_finite[j->b->origin[row]] = true;
        memset(k, 0, (size_t)n * sizeof *k);
        memset(v, 0, (size_t)n * sizeof *v);
    }
    if (kept && position < kept[rows->sequence[row]])
        return;
    for (int h = 0; h < j->kv->n_kv_head; h++) {
        struct ct_kv_head head = ct_cpu_kv_head(j->b, j->kv, rows->sequence[row], position / CT_KEY_BLOCK, h);
        int at = h * j->kv->head_dim;
        ct_kv_write(&j->b->kernel, &head, position % CT_KEY_BLOCK, k + at, v + at);
    }
}

/* As many rows as positions share lines of the cache in stored K, so that a thread has these to itself. */
static void write_item(void *arg, int item, int thread)
{
    struct job *j = arg;

    (void)thread;
    for (int row = item * CT_KEY_PANEL; row < CT_MIN((item + 1) * CT_KEY_PANEL, j->b->rows.n); row++)
        write_row(j, row);
}

static void cpu_kv_write(struct ct_backend *base, const struct ct_kv *kv, ct_mat k, ct_mat v)
{
    struct ct_cpu_backend *b = ct_cpu(base);

    if (!k.handle || !v.handle)
        return;
    assert(k.cols == v.cols && k.cols >= kv->n_kv_head * kv->head_dim);
    ct_pool_run(b->pool, (b->rows.n + CT_KEY_PANEL - 1) / CT_KEY_PANEL, write_item,
                &(struct job){b, kv, k, v});
}

void ct_cpu_kv_verbs(struct ct_verbs *v)
{
    v->alloc_kv = cpu_alloc_kv;
    v->kv_copy = cpu_kv_copy;
    v->kv_get = cpu_kv_get;
    v->kv_put = cpu_kv_put;
    v->kv_discard = cpu_kv_discard;
    v->kv_long = cpu_kv_long;
    v->kv_write = cpu_kv_write;
}

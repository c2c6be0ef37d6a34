/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_kv.c: K and V on the device, in blocks as backend/cpu/cpu_kv.c has them: the layers of a pool one
 * after another, in each the heads of K and then those of V. Attention over them: cuda_attend.c. */
#include "backend/cuda/cuda_backend.h"

#include "layout/kv.h"

static_assert((int)CT_KV_BF16 == CT_GPU_KV_BF16 && (int)CT_KV_F16 == CT_GPU_KV_F16 &&
                  (int)CT_KV_F32 == CT_GPU_KV_F32 && (int)CT_KV_Q8 == CT_GPU_KV_Q8,
              "as kernels are told");

/* Bytes of K, or of V, of n positions of a head. */
static size_t bytes_of_head(const struct ct_kv *kv, int n)
{
    return ct_kv_bytes(kv->type, n, kv->head_dim);
}

/* Its table goes to the device with each pass. */
static void note_pool(struct ct_cuda_backend *b, const struct ct_kv_pool *pool)
{
    const size_t sequences = (size_t)b->extent.sequences, entries = sequences * (size_t)pool->length;

    for (int i = 0; i < b->n_pools; i++)
        if (b->pool[i].pool == pool)
            return;
    assert(b->n_pools < CT_ATTN_TYPES);
    b->pool[b->n_pools++] =
        (struct ct_cuda_pool){.pool = pool,
                              .table = ct_cuda_take(&b->work, entries * sizeof(int32_t)),
                              .kept = ct_cuda_take(&b->work, sequences * sizeof(int32_t)),
                              .sent_table = b->host->verb.alloc_host(b->host, entries * sizeof(int32_t)),
                              .sent_kept = b->host->verb.alloc_host(b->host, sequences * sizeof(int32_t))};
}

/* Brings numbers to the device, all but those that are there already: most passes that decode find nothing
 * new. */
static void bring(struct ct_cuda_backend *b, ct_cu_address to, int32_t *sent, const int32_t *now, size_t n)
{
    const size_t bytes = n * sizeof *now;

    if (memcmp(sent, now, bytes) == 0)
        return;
    memcpy(sent, now, bytes);
    ct_cuda_put(b, to, sent, bytes);
}

/* True when positions that were kept when they were sent decide of the rows of the pass as those of now
 * do. */
static bool decides_alike(const struct ct_cuda_backend *b, const struct ct_cuda_pool *p)
{
    bool alike = true;

    for (int i = 0; i < b->rows.n; i++) {
        const int32_t at = b->position[i], of = b->sequence[i];
        alike &= (at < p->sent_kept[of]) == (at < p->pool->kept[of]);
    }
    return alike;
}

void ct_cuda_bring_tables(struct ct_cuda_backend *b)
{
    const size_t sequences = (size_t)b->extent.sequences;

    for (struct ct_cuda_pool *p = b->pool; p < b->pool + b->n_pools; p++) {
        if (p->pool->n_blocks > 0)
            bring(b, p->table, p->sent_table, p->pool->table, sequences * (size_t)p->pool->length);
        if (p->pool->kept && !decides_alike(b, p))
            bring(b, p->kept, p->sent_kept, p->pool->kept, sequences);
    }
}

static void cuda_alloc_kv(struct ct_backend *base, struct ct_kv_pool *pool, int n, struct ct_kv *layer)
{
    struct ct_cuda_backend *b = ct_cuda(base);
    size_t used = 0;

    for (int i = 0; i < n; i++) {
        size_t half = (size_t)layer[i].n_kv_head * bytes_of_head(&layer[i], CT_KEY_BLOCK);
        if (layer[i].pool != pool)
            continue;
        layer[i].k = used;
        layer[i].v = used + half;
        used += 2 * half;
    }
    note_pool(b, pool);
    pool->block_bytes = used;
    pool->at = b->kv.used;
    ct_cuda_take(&b->kv, (size_t)pool->n_blocks * used);
}

/* The address where K of a head of a block begins; V is as far behind as kv says. */
static ct_cu_address head_at(const struct ct_cuda_backend *b, const struct ct_kv *kv, int block, int head)
{
    return b->kv.base + kv->pool->at + (size_t)block * kv->pool->block_bytes + kv->k +
           (size_t)head * bytes_of_head(kv, CT_KEY_BLOCK);
}

static void cuda_kv_copy(struct ct_backend *base, const struct ct_kv *kv, int to, int from, int n)
{
    struct ct_cuda_backend *b = ct_cuda(base);
    const size_t bytes = bytes_of_head(kv, (int)ct_round_up((size_t)n, CT_KEY_PANEL));

    ct_cuda_enter(b);
    for (int h = 0; h < kv->n_kv_head; h++) {
        ct_cuda_copy(b, head_at(b, kv, to, h), head_at(b, kv, from, h), bytes);
        ct_cuda_copy(b, head_at(b, kv, to, h) + (kv->v - kv->k), head_at(b, kv, from, h) + (kv->v - kv->k),
                     bytes);
    }
    ct_cuda_leave(b);
}

/* A head of a block in memory of the host. */
static struct ct_kv_head fetch_head(struct ct_cuda_backend *b, const struct ct_kv *kv, int block, int head)
{
    const size_t bytes = bytes_of_head(kv, CT_KEY_BLOCK);
    const ct_cu_address at = head_at(b, kv, block, head);

    ct_cuda_get(b, b->block, at, bytes);
    ct_cuda_get(b, b->block + bytes, at + (kv->v - kv->k), bytes);
    return (struct ct_kv_head){kv->type, CT_KEY_BLOCK, kv->head_dim, b->block, b->block + bytes};
}

static void cuda_kv_get(struct ct_backend *base, const struct ct_kv *kv, int block, int first, int n, void *k,
                        void *v)
{
    struct ct_cuda_backend *b = ct_cuda(base);
    const size_t bytes = bytes_of_head(kv, 1), step = (size_t)kv->n_kv_head * bytes;

    ct_cuda_enter(b);
    for (int h = 0; h < kv->n_kv_head; h++) {
        struct ct_kv_head head = fetch_head(b, kv, block, h);
        ct_kv_get_rows(&head, first, n, (uint8_t *)k + (size_t)h * bytes, (uint8_t *)v + (size_t)h * bytes,
                       step);
    }
    ct_cuda_leave(b);
}

static void cuda_kv_put(struct ct_backend *base, const struct ct_kv *kv, int block, int first, int n,
                        const void *k, const void *v)
{
    struct ct_cuda_backend *b = ct_cuda(base);
    const size_t bytes = bytes_of_head(kv, 1), step = (size_t)kv->n_kv_head * bytes,
                 whole = bytes_of_head(kv, CT_KEY_BLOCK);

    ct_cuda_enter(b);
    for (int h = 0; h < kv->n_kv_head; h++) {
        struct ct_kv_head head = fetch_head(b, kv, block, h);
        ct_kv_put_rows(&head, first, n, (const uint8_t *)k + (size_t)h * bytes,
                       (const uint8_t *)v + (size_t)h * bytes, step);
        ct_cuda_put(b, head_at(b, kv, block, h), head.k, whole);
        ct_cuda_put(b, head_at(b, kv, block, h) + (kv->v - kv->k), head.v, whole);
    }
    ct_cuda_leave(b);
}

/* Memory of the device stays the engine's. */
static void cuda_kv_discard(struct ct_backend *b, const struct ct_kv_pool *pool, int block)
{
    (void)b, (void)pool, (void)block;
}

static void cuda_kv_long(struct ct_backend *b, const struct ct_kv_pool *pool)
{
    (void)b, (void)pool;
}

/* ---- in a pass ---- */

static const struct ct_cuda_pool *pool_of(const struct ct_cuda_backend *b, const struct ct_kv *kv)
{
    const struct ct_cuda_pool *p = b->pool;

    while (p->pool != kv->pool)
        p++;
    return p;
}

struct ct_gpu_kv ct_cuda_layer(const struct ct_cuda_backend *b, const struct ct_kv *kv)
{
    const ct_cu_address base = b->kv.base + kv->pool->at;

    return (struct ct_gpu_kv){.k = CT_CUDA_AT(uint8_t, base + kv->k),
                              .v = CT_CUDA_AT(uint8_t, base + kv->v),
                              .table = CT_CUDA_AT(const int32_t, pool_of(b, kv)->table),
                              .sequence = CT_CUDA_AT(const int32_t, b->at.sequence),
                              .block_bytes = kv->pool->block_bytes,
                              .head_bytes = bytes_of_head(kv, CT_KEY_BLOCK),
                              .length = kv->pool->length,
                              .dim = (uint32_t)kv->head_dim,
                              .type = (uint32_t)kv->type};
}

static void cuda_kv_write(struct ct_backend *base, const struct ct_kv *kv, ct_mat k, ct_mat v)
{
    struct ct_cuda_backend *b = ct_cuda(base);

    if (!k.handle || !v.handle)
        return;
    ct_cuda_launch(b, CT_CUDA_kv_write,
                   &(struct ct_gpu_kv_write){
                       .kv = ct_cuda_layer(b, kv),
                       .k = k.handle,
                       .v = v.handle,
                       .position = CT_CUDA_AT(const int32_t, b->at.position),
                       .kept = kv->pool->kept ? CT_CUDA_AT(const int32_t, pool_of(b, kv)->kept) : NULL,
                       .origin = CT_CUDA_AT(const int32_t, b->at.origin),
                       .bad = CT_CUDA_AT(int32_t, b->bad),
                       .ldk = k.stride,
                       .ldv = v.stride,
                       .heads = kv->n_kv_head,
                       .limit = ct_kv_info(kv->type)->limit},
                   1, b->rows.n);
    b->bad_is_known = false;
}

void ct_cuda_kv_verbs(struct ct_verbs *v)
{
    v->alloc_kv = cuda_alloc_kv;
    v->kv_copy = cuda_kv_copy;
    v->kv_get = cuda_kv_get;
    v->kv_put = cuda_kv_put;
    v->kv_discard = cuda_kv_discard;
    v->kv_long = cuda_kv_long;
    v->kv_write = cuda_kv_write;
}

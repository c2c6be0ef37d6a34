/* SPDX-License-Identifier: Apache-2.0 */
/* pair_kv.c: K and V of the two. A layer's are with who computes it; or both have all blocks, and who begins
 * a pass first gets those that its rows see and that the other one wrote. Where bytes lie in a block is the
 * business of each. */
#include "backend/pair/pair_backend.h"

#include "backend/cpu/cpu_backend.h"
#include "backend/cuda/cuda_backend.h"

/* ---- layout ---- */

static struct ct_pair_pool *pool_of(struct ct_pair_backend *b, const struct ct_kv_pool *pool)
{
    struct ct_pair_pool *p = b->pool;

    while (p < b->pool + b->n_pools && p->pool != pool)
        p++;
    return p;
}

int ct_pair_kv_homes(const struct ct_pair_backend *b, const struct ct_kv *kv)
{
    if (b->both)
        return CT_AT_BOTH;
    return (kv->first < b->o.host_layers ? CT_AT_HOST : 0) |
           (kv->last >= b->o.host_layers ? CT_AT_DEVICE : 0);
}

static void lay_out_side(struct ct_pair_backend *b, struct ct_pair_pool *p, int side, int n,
                         const struct ct_kv *layer)
{
    struct ct_kv *kv = b->kv[side];

    p->at[side] = *p->pool;
    for (int i = 0; i < n; i++) {
        if (layer[i].pool != p->pool)
            continue;
        kv[i] = layer[i];
        kv[i].pool = ct_pair_kv_homes(b, &layer[i]) & 1 << side ? &p->at[side] : NULL;
    }
    b->side[side]->verb.alloc_kv(b->side[side], &p->at[side], n, kv);
}

static void pair_alloc_kv(struct ct_backend *base, struct ct_kv_pool *pool, int n, struct ct_kv *layer)
{
    struct ct_pair_backend *b = ct_pair(base);
    struct ct_pair_pool *p = pool_of(b, pool);

    assert(n <= b->o.n_layer);
    if (p == b->pool + b->n_pools) {
        assert(b->n_pools < CT_ATTN_TYPES);
        b->n_pools++;
    }
    p->pool = pool;
    b->layer = layer;
    pool->block_bytes = 0;
    for (int i = 0; i < CT_SIDES; i++) {
        lay_out_side(b, p, i, n, layer);
        pool->block_bytes += p->at[i].block_bytes;
    }
    if (b->both)
        p->lacks = base->verb.alloc_host(base, (size_t)pool->n_blocks);
}

const struct ct_kv *ct_pair_kv(const struct ct_pair_backend *b, const struct ct_kv *kv, int side)
{
    return &b->kv[side][kv - b->layer];
}

/* ---- who has what ---- */

int ct_pair_kv_has(const struct ct_pair_backend *b, const struct ct_kv *kv)
{
    const int homes = ct_pair_kv_homes(b, kv);

    return homes == CT_AT_BOTH && !b->both ? 1 << b->written[kv - b->layer] : homes;
}

/* ---- blocks that both have ---- */

/* K, or V, of a layer in a block, as floats that nobody reads as such. */
static ct_mat half(const struct ct_pair_backend *b, const struct ct_kv *kv, int block, size_t at, int side)
{
    const size_t bytes = (size_t)kv->n_kv_head * ct_kv_bytes(kv->type, CT_KEY_BLOCK, kv->head_dim);
    const size_t from = kv->pool->at + (size_t)block * kv->pool->block_bytes + at;
    uint8_t *base = side == CT_HOST ? ct_cpu(b->side[side])->kv.base
                                    : (uint8_t *)(uintptr_t)ct_cuda(b->side[side])->kv.base;

    return (ct_mat){base + from, (int)(bytes / sizeof(float)), 0};
}

static void bring_half(struct ct_pair_backend *b, ct_mat host, ct_mat device, int to)
{
    struct ct_backend *d = b->side[CT_DEVICE];

    if (to == CT_DEVICE)
        d->verb.copy_in(d, device, 0, host.handle);
    else
        d->verb.copy_out(d, host.handle, device, 0);
}

static void bring_block(struct ct_pair_backend *b, struct ct_pair_pool *p, int block, int to)
{
    for (int i = 0; i < b->o.n_layer; i++) {
        const struct ct_kv *host = &b->kv[CT_HOST][i], *device = &b->kv[CT_DEVICE][i];
        if (host->pool != &p->at[CT_HOST])
            continue;
        bring_half(b, half(b, host, block, host->k, CT_HOST), half(b, device, block, device->k, CT_DEVICE),
                   to);
        bring_half(b, half(b, host, block, host->v, CT_HOST), half(b, device, block, device->v, CT_DEVICE),
                   to);
    }
    p->lacks[block] = 0;
}

/* Blocks that rows see, of which those of a sequence follow each other. */
static void bring_seen(struct ct_pair_backend *b, struct ct_pair_pool *p, const struct ct_rows *rows,
                       const struct ct_seen *seen)
{
    const struct ct_kv_pool *pool = p->pool;
    int sequence = -1, from = 0, end = 0; /* blocks of it that were looked at */

    for (int i = 0; i < rows->n; i++) {
        const int32_t *table = pool->table + (size_t)rows->sequence[i] * (size_t)pool->length;
        const int first = seen[i].first / CT_KEY_BLOCK, last = seen[i].last / CT_KEY_BLOCK;
        if (rows->sequence[i] != sequence || first < from)
            end = from = first;
        sequence = rows->sequence[i];
        for (end = CT_MAX(end, first); end <= last; end++) {
            const int block = table[end % pool->length];
            if (p->lacks[block] & 1 << b->turn)
                bring_block(b, p, block, b->turn);
        }
    }
}

void ct_pair_bring_blocks(struct ct_pair_backend *b, const struct ct_rows *rows)
{
    for (int type = 0; type < b->n_pools; type++) {
        struct ct_pair_pool *p = &b->pool[type]; /* the engine lays out those of each kind of layer in turn */
        for (int i = 0; i < CT_SIDES; i++) {
            p->at[i].table = p->pool->table;
            p->at[i].kept = p->pool->kept;
        }
        if (b->both && p->pool->n_blocks > 0)
            bring_seen(b, p, rows, rows->seen[type]);
    }
}

void ct_pair_kv_written(struct ct_pair_backend *b, const struct ct_kv *kv, int side)
{
    struct ct_pair_pool *p = pool_of(b, kv->pool);
    const int32_t *table = kv->pool->table;

    b->written[kv - b->layer] = (uint8_t)side;
    for (int i = 0; b->both && i < b->rows.n; i++) {
        const size_t row = (size_t)b->rows.sequence[i] * (size_t)kv->pool->length;
        p->lacks[table[row + (size_t)(b->rows.position[i] / CT_KEY_BLOCK % kv->pool->length)]] =
            (uint8_t)(CT_AT_BOTH ^ 1 << side);
    }
}

/* ---- blocks ---- */

/* Who has what is in a block. */
static int holders(struct ct_pair_backend *b, const struct ct_kv *kv, int block)
{
    return b->both ? CT_AT_BOTH ^ pool_of(b, kv->pool)->lacks[block] : ct_pair_kv_homes(b, kv);
}

static void pair_kv_copy(struct ct_backend *base, const struct ct_kv *kv, int to, int from, int n)
{
    struct ct_pair_backend *b = ct_pair(base);
    const int has = holders(b, kv, from);

    for (int i = 0; i < CT_SIDES; i++)
        if (has & 1 << i)
            b->side[i]->verb.kv_copy(b->side[i], ct_pair_kv(b, kv, i), to, from, n);
    if (b->both)
        pool_of(b, kv->pool)->lacks[to] = (uint8_t)(CT_AT_BOTH ^ has);
    ct_pair_told(b);
}

static void pair_kv_get(struct ct_backend *base, const struct ct_kv *kv, int block, int first, int n, void *k,
                        void *v)
{
    struct ct_pair_backend *b = ct_pair(base);
    const int side = holders(b, kv, block) & CT_AT_HOST ? CT_HOST : CT_DEVICE;

    b->side[side]->verb.kv_get(b->side[side], ct_pair_kv(b, kv, side), block, first, n, k, v);
    ct_pair_told(b);
}

static void pair_kv_put(struct ct_backend *base, const struct ct_kv *kv, int block, int first, int n,
                        const void *k, const void *v)
{
    struct ct_pair_backend *b = ct_pair(base);
    const int side = holders(b, kv, block) & CT_AT_HOST ? CT_HOST : CT_DEVICE;

    b->side[side]->verb.kv_put(b->side[side], ct_pair_kv(b, kv, side), block, first, n, k, v);
    if (b->both)
        pool_of(b, kv->pool)->lacks[block] = (uint8_t)(CT_AT_BOTH ^ 1 << side);
    ct_pair_told(b);
}

static void pair_kv_discard(struct ct_backend *base, const struct ct_kv_pool *pool, int block)
{
    struct ct_pair_backend *b = ct_pair(base);
    struct ct_pair_pool *p = pool_of(b, pool);

    for (int i = 0; i < CT_SIDES; i++)
        if (p->at[i].block_bytes > 0)
            b->side[i]->verb.kv_discard(b->side[i], &p->at[i], block);
    if (b->both)
        p->lacks[block] = 0;
}

static void pair_kv_long(struct ct_backend *base, const struct ct_kv_pool *pool)
{
    struct ct_pair_backend *b = ct_pair(base);
    struct ct_pair_pool *p = pool_of(b, pool);

    for (int i = 0; i < CT_SIDES; i++)
        if (p->at[i].block_bytes > 0)
            b->side[i]->verb.kv_long(b->side[i], &p->at[i]);
}

void ct_pair_kv_verbs(struct ct_verbs *v)
{
    v->alloc_kv = pair_alloc_kv;
    v->kv_copy = pair_kv_copy;
    v->kv_get = pair_kv_get;
    v->kv_put = pair_kv_put;
    v->kv_discard = pair_kv_discard;
    v->kv_long = pair_kv_long;
}

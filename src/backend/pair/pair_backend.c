/* SPDX-License-Identifier: Apache-2.0 */
/* pair_backend.c: the backend of two: its memory, which is that of both, and its table of verbs. Weights, K
 * and V, the verbs of a pass and those beside it have files of their own. */
#include "backend/pair/pair_backend.h"

#include <stdlib.h>

static void pair_destroy(struct ct_backend *base)
{
    struct ct_pair_backend *b = ct_pair(base);

    for (int i = 0; i < CT_SIDES; i++) {
        if (b->side[i])
            b->side[i]->verb.destroy(b->side[i]);
        free(b->kv[i]);
    }
    free(b->written);
    free(b->experts);
    free(b->weight);
    free(b);
}

/* Only where the CPU has all. */
static bool pair_leave_device(struct ct_backend *base)
{
    struct ct_pair_backend *b = ct_pair(base);

    if (!b->both || b->left)
        return false;
    b->left = base->on_host = true;
    base->failure.code = CARAT_OK;
    base->isa = b->side[CT_HOST]->isa;
    for (int i = 0; i < b->n_pools; i++)
        memset(b->pool[i].lacks, 0, (size_t)b->pool[i].pool->n_blocks);
    return true;
}

static void pair_lay_out(struct ct_backend *base, const struct ct_extent *e)
{
    struct ct_pair_backend *b = ct_pair(base);

    b->n_pools = 0;
    for (int i = 0; i < CT_SIDES; i++)
        b->side[i]->verb.lay_out(b->side[i], e);
}

static void *pair_alloc_host(struct ct_backend *b, size_t bytes)
{
    struct ct_backend *host = ct_pair(b)->side[CT_HOST];

    return host->verb.alloc_host(host, bytes);
}

/* The device has rows as far from each other as the host, so that some go there and back in one piece. */
static ct_mat pair_alloc(struct ct_backend *base, int rows, int cols)
{
    struct ct_pair_backend *b = ct_pair(base);
    struct ct_backend *host = b->side[CT_HOST], *device = b->side[CT_DEVICE];
    struct ct_pair_mat m = {
        .at[CT_HOST] = host->verb.alloc(host, rows, cols), .rows = rows, .cols = cols, .has = CT_AT_BOTH};

    m.at[CT_DEVICE] = device->verb.alloc(device, rows, m.at[CT_HOST].stride);
    m.at[CT_DEVICE].stride = m.at[CT_HOST].stride;
    struct ct_pair_mat *to = pair_alloc_host(base, sizeof *to);
    if (to)
        *to = m;
    return (ct_mat){to, cols, m.at[CT_HOST].stride};
}

static void pair_count(const struct ct_backend *base, carat_plan *p)
{
    const struct ct_pair_backend *b = (const struct ct_pair_backend *)base;
    carat_plan device = *p;

    b->side[CT_HOST]->verb.count(b->side[CT_HOST], p);
    b->side[CT_DEVICE]->verb.count(b->side[CT_DEVICE], &device);
    p->kv_bytes += device.kv_bytes;
    p->work_bytes += device.work_bytes;
    p->stack_bytes += device.stack_bytes;
    p->packed_bytes += device.packed_bytes;
    p->weight_bytes += device.weight_bytes;
    p->bytes += device.bytes;
}

size_t ct_pair_host_bytes(const struct ct_backend *base)
{
    const struct ct_backend *host = ((const struct ct_pair_backend *)base)->side[CT_HOST];
    carat_plan p = {.size = sizeof p};

    host->verb.count(host, &p);
    return p.bytes;
}

static carat_status pair_reserve(struct ct_backend *base, carat_error *err)
{
    struct ct_pair_backend *b = ct_pair(base);

    b->weight = calloc((size_t)CT_MAX(b->n_planned, 1), sizeof *b->weight);
    if (!b->weight)
        return ct_no_memory(err, "the weights of a backend");
    for (int i = 0; i < CT_SIDES; i++)
        CT_TRY(b->side[i]->verb.reserve(b->side[i], err));
    return CARAT_OK;
}

carat_status ct_backend_create_pair(struct ct_backend **out, const struct ct_backend_options *o, int device,
                                    carat_error *err)
{
    struct ct_pair_backend *b = calloc(1, sizeof *b);
    const size_t n = (size_t)CT_MAX(o->n_layer, 1);

    if (!b)
        return ct_no_memory(err, "a backend");
    b->base.verb = (struct ct_verbs){.destroy = pair_destroy,
                                     .leave_device = pair_leave_device,
                                     .lay_out = pair_lay_out,
                                     .alloc = pair_alloc,
                                     .alloc_host = pair_alloc_host,
                                     .count = pair_count,
                                     .reserve = pair_reserve};
    ct_pair_weight_verbs(&b->base.verb);
    ct_pair_kv_verbs(&b->base.verb);
    ct_pair_pass_verbs(&b->base.verb);
    ct_pair_told_verbs(&b->base.verb);
    b->base.apart = true;
    b->o = *o;
    b->both = o->host_layers < 0;
    b->kv[CT_HOST] = calloc(n, sizeof **b->kv);
    b->kv[CT_DEVICE] = calloc(n, sizeof **b->kv);
    b->written = calloc(n, 1);
    b->experts = calloc((size_t)CT_MAX(o->max_experts.n, 1), sizeof *b->experts);
    carat_status status = b->kv[CT_HOST] && b->kv[CT_DEVICE] && b->written && b->experts
                              ? ct_backend_create_cuda(&b->side[CT_DEVICE], o, device, err)
                              : ct_no_memory(err, "a backend");
    if (!status)
        status = ct_backend_create_cpu(&b->side[CT_HOST], o, err);
    if (status) {
        pair_destroy(&b->base);
        return status;
    }
    b->base.isa = b->side[CT_DEVICE]->isa;
    b->base.threads = b->side[CT_HOST]->threads;
    *out = &b->base;
    return CARAT_OK;
}

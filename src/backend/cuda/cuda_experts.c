/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_experts.c: the experts of a layer on the device, of one row after another. Which ones a row goes
 * through is decided by the host, which waits for the router. */
#include "backend/cuda/cuda_backend.h"

static int32_t *ids_of(const struct ct_cuda_backend *b, int row)
{
    return b->experts.id + (size_t)row * (size_t)b->o.max_experts.used;
}

/* out += by * what the expert makes of a row. */
static void add_expert(struct ct_cuda_backend *b, ct_cu_address out, ct_mat in, const struct ct_expert *e,
                       float by)
{
    const struct ct_cuda_experts *x = &b->experts;
    const ct_mat wide = {x->gate.handle, e->down.cols, x->gate.stride};

    ct_cuda_products(b, in, 1, 2, (const ct_mat[]){x->gate, x->up},
                     (const struct ct_weight *const[]){&e->gate, &e->up});
    ct_cuda_launch(b, CT_CUDA_geglu,
                   &(struct ct_gpu_geglu){.gate = x->gate.handle, .up = x->up.handle, .n = e->gate.rows},
                   ct_cuda_blocks(e->gate.rows), 1);
    ct_cuda_products(b, wide, 1, 1, &x->made, (const struct ct_weight *const[]){&e->down});
    ct_cuda_launch(b, CT_CUDA_add_scaled,
                   &(struct ct_gpu_add_scaled){
                       .x = CT_CUDA_AT(float, out), .y = x->made.handle, .n = e->down.rows, .by = by},
                   ct_cuda_blocks(e->down.rows), 1);
}

static void cuda_experts(struct ct_backend *base, ct_mat out, ct_mat in, ct_mat route,
                         const struct ct_experts *e)
{
    struct ct_cuda_backend *b = ct_cuda(base);
    struct ct_cuda_experts *x = &b->experts;

    ct_cuda_get(b, x->scale, (ct_cu_address)(uintptr_t)e->scale.data, (size_t)e->n * sizeof(float));
    for (int row = 0; row < b->rows.n && ct_cuda_goes_on(b); row++) {
        int32_t *id = ids_of(b, row);
        const ct_mat one = {CT_CUDA_AT(void, ct_cuda_row(in, row)), in.cols, in.stride};
        ct_cuda_get(b, x->route, ct_cuda_row(route, row), (size_t)e->n * sizeof(float));
        b->kernel.route(id, x->weight, x->route, e->n, e->used, x->scale);
        ct_cuda_zero(b, ct_cuda_row(out, row), (size_t)out.cols * sizeof(float));
        for (int i = 0; i < e->used; i++)
            add_expert(b, ct_cuda_row(out, row), one, &e->expert[id[i]], x->weight[i]);
    }
}

static const int32_t *cuda_chosen(const struct ct_backend *base, int row)
{
    return ids_of((const struct ct_cuda_backend *)base, row);
}

void ct_cuda_lay_out_experts(struct ct_cuda_backend *b)
{
    struct ct_cuda_experts *x = &b->experts;
    struct ct_backend *h = b->host;
    const size_t n = (size_t)b->o.max_experts.n, used = (size_t)b->o.max_experts.used;

    if (n == 0)
        return;
    x->id = h->verb.alloc_host(h, (size_t)b->extent.rows * used * sizeof *x->id);
    x->weight = h->verb.alloc_host(h, used * sizeof *x->weight);
    x->route = h->verb.alloc_host(h, n * sizeof *x->route);
    x->scale = h->verb.alloc_host(h, n * sizeof *x->scale);
    x->gate = b->base.verb.alloc(&b->base, 1, b->o.max_experts.ffn);
    x->up = b->base.verb.alloc(&b->base, 1, b->o.max_experts.ffn);
    x->made = b->base.verb.alloc(&b->base, 1, b->o.max_experts.cols);
}

void ct_cuda_expert_verbs(struct ct_verbs *v)
{
    v->experts = cuda_experts;
    v->chosen = cuda_chosen;
}

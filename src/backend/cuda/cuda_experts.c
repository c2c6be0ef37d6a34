/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_experts.c: the experts of a layer on the device, for all rows at once. Rows choose theirs there, too:
 * a table tells where the weights of each lie, so that the host is not asked. */
#include "backend/cuda/cuda_backend.h"

enum { GATE, UP, DOWN, MATRICES };

/* The tables of a layer, of which the first pass tells. No launch that waits reads one that is not there. */
static ct_cu_address table_of(struct ct_cuda_backend *b, const struct ct_experts *e)
{
    struct ct_cuda_experts *x = &b->experts;
    const size_t n = (size_t)e->n, bytes = MATRICES * (size_t)b->o.max_experts.n * sizeof *x->staged;
    int layer = 0;

    while (x->known[layer] && x->known[layer] != e->expert[0].gate.data)
        layer++;
    assert(layer < b->o.n_layer);
    const ct_cu_address table = x->table + (size_t)layer * bytes;
    if (x->known[layer])
        return table;
    for (size_t i = 0; i < n; i++) {
        const struct ct_weight *const w[] = {&e->expert[i].gate, &e->expert[i].up, &e->expert[i].down};
        for (int m = 0; m < MATRICES; m++)
            x->staged[(size_t)m * n + i] = (struct ct_gpu_expert){.w = w[m]->data, .factor = w[m]->scale};
    }
    ct_cuda_put_ahead(b, table, x->staged, MATRICES * n * sizeof *x->staged);
    x->known[layer] = e->expert[0].gate.data;
    return table;
}

static void choose(struct ct_cuda_backend *b, ct_mat route, const struct ct_experts *e)
{
    struct ct_cuda_experts *x = &b->experts;

    ct_cuda_launch(b, CT_CUDA_route,
                   &(struct ct_gpu_route){.id = CT_CUDA_AT(int32_t, x->id),
                                          .weight = CT_CUDA_AT(float, x->weight),
                                          .logits = route.handle,
                                          .scale = e->scale.data,
                                          .ldl = route.stride,
                                          .n = e->n,
                                          .used = e->used},
                   1, b->rows.n);
    if (b->base.trace) /* who listens may ask which they are */
        ct_cuda_get(b, x->chosen, x->id, (size_t)(b->rows.n * e->used) * sizeof *x->chosen);
}

static void cuda_experts(struct ct_backend *base, ct_mat out, ct_mat in, ct_mat route,
                         const struct ct_experts *e)
{
    struct ct_cuda_backend *b = ct_cuda(base);
    struct ct_cuda_experts *x = &b->experts;
    const struct ct_expert *one = e->expert; /* all have its shape and its type */
    const size_t matrix = (size_t)e->n * sizeof *x->staged;
    const ct_cu_address table = table_of(b, e);
    const int rows = b->rows.n, made = rows * e->used;
    const ct_mat wide = {x->gate.handle, one->down.cols, x->gate.stride};

    choose(b, route, e);
    ct_cuda_prepare_chosen(b, in, rows, &one->gate);
    ct_cuda_multiply_chosen(b, x->gate, made, &one->gate, table + GATE * matrix, e->used);
    if (ct_cuda_input(b, &one->up) != ct_cuda_input(b, &one->gate))
        ct_cuda_prepare_chosen(b, in, rows, &one->up);
    ct_cuda_multiply_chosen(b, x->up, made, &one->up, table + UP * matrix, e->used);
    ct_cuda_launch(b, CT_CUDA_geglu,
                   &(struct ct_gpu_geglu){.gate = x->gate.handle,
                                          .up = x->up.handle,
                                          .ldg = x->gate.stride,
                                          .ldu = x->up.stride,
                                          .n = one->gate.rows},
                   ct_cuda_blocks(one->gate.rows), made);
    ct_cuda_prepare_chosen(b, wide, made, &one->down);
    ct_cuda_multiply_chosen(b, x->made, made, &one->down, table + DOWN * matrix, 1);
    ct_cuda_launch(b, CT_CUDA_add_experts,
                   &(struct ct_gpu_add_experts){.out = out.handle,
                                                .y = x->made.handle,
                                                .weight = CT_CUDA_AT(const float, x->weight),
                                                .ldo = out.stride,
                                                .ldy = x->made.stride,
                                                .n = one->down.rows,
                                                .used = e->used},
                   ct_cuda_blocks(one->down.rows), rows);
}

static const int32_t *cuda_chosen(const struct ct_backend *base, int row)
{
    const struct ct_cuda_backend *b = (const struct ct_cuda_backend *)base;

    return b->experts.chosen + (size_t)row * (size_t)b->o.max_experts.used;
}

void ct_cuda_lay_out_experts(struct ct_cuda_backend *b)
{
    struct ct_cuda_experts *x = &b->experts;
    struct ct_backend *h = b->host;
    const size_t n = (size_t)b->o.max_experts.n, layers = (size_t)b->o.n_layer,
                 rows = (size_t)b->extent.rows * (size_t)b->o.max_experts.used;

    if (n == 0)
        return;
    x->id = ct_cuda_take(&b->work, rows * sizeof(int32_t));
    x->weight = ct_cuda_take(&b->work, rows * sizeof(float));
    x->table = ct_cuda_take(&b->work, layers * MATRICES * n * sizeof *x->staged);
    x->known = h->verb.alloc_host(h, (layers + 1) * sizeof *x->known);
    x->staged = h->verb.alloc_host(h, MATRICES * n * sizeof *x->staged);
    x->chosen = h->verb.alloc_host(h, rows * sizeof *x->chosen);
    x->gate = b->base.verb.alloc(&b->base, (int)rows, b->o.max_experts.ffn);
    x->up = b->base.verb.alloc(&b->base, (int)rows, b->o.max_experts.ffn);
    x->made = b->base.verb.alloc(&b->base, (int)rows, b->o.max_experts.cols);
}

void ct_cuda_expert_verbs(struct ct_verbs *v)
{
    v->experts = cuda_experts;
    v->chosen = cuda_chosen;
}

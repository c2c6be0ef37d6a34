/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_backend.c: the backend for NVIDIA's GPUs: its memory, its table of verbs. Weights, K and V, the verbs
 * of a pass and those beside it have files of their own.
 *
 * Its memory is not the host's (apart): vectors are brought in as matrices are, and the head is dense. */
#include "backend/cuda/cuda_backend.h"

#include <stdlib.h>

#include "kernel/gpu/gpu_types.h"

static void cuda_destroy(struct ct_backend *base)
{
    struct ct_cuda_backend *b = ct_cuda(base);

    ct_cuda_end(b);
    if (b->host)
        b->host->verb.destroy(b->host);
    free(b);
}

static void cuda_lay_out(struct ct_backend *base, const struct ct_extent *e)
{
    struct ct_cuda_backend *b = ct_cuda(base);

    b->extent = *e;
    b->kv.used = b->work.used = b->pinned.used = 0;
    b->n_pools = 0;
    b->host->verb.lay_out(b->host, &(struct ct_extent){1, CT_KEY_BLOCK, 1}); /* for draws */
    for (int i = 0; i < 2; i++)
        b->panels[i] = ct_cuda_take_pinned(b, CT_CUDA_PANELS * b->widest_panel);
    b->stored = b->host->verb.alloc_host(b->host, CT_GPU_SPARE(b->widest));
    b->block = /* f32 is the widest type */
        b->host->verb.alloc_host(b->host, 2 * ct_kv_bytes(CT_KV_F32, CT_KEY_BLOCK, b->o.max_head_dim));
    ct_cuda_lay_out_making(b);
    ct_cuda_lay_out_pass(b);
    ct_cuda_lay_out_attend(b);
    ct_cuda_lay_out_few(b);
    ct_cuda_lay_out_ahead(b);
    ct_cuda_lay_out_streams(b);
    ct_cuda_lay_out_experts(b);
    ct_cuda_lay_out_graphs(b);
}

static ct_mat cuda_alloc(struct ct_backend *base, int rows, int cols)
{
    const int stride = (int)ct_round_up((size_t)cols, 32);

    assert(rows > 0 && cols > 0);
    const ct_cu_address at =
        ct_cuda_take(&ct_cuda(base)->work, (size_t)rows * (size_t)stride * sizeof(float));
    return (ct_mat){CT_CUDA_AT(void, at), cols, stride};
}

static void *cuda_alloc_host(struct ct_backend *b, size_t bytes)
{
    return ct_cuda(b)->host->verb.alloc_host(ct_cuda(b)->host, bytes);
}

/* Counts what the device and the host need together; only stacks and part of the work are the host's. */
static void cuda_count(const struct ct_backend *base, carat_plan *p)
{
    const struct ct_cuda_backend *b = (const struct ct_cuda_backend *)base;

    b->host->verb.count(b->host, p);
    p->kv_bytes = b->kv.used;
    p->work_bytes += b->work.used + b->pinned.used;
    p->packed_bytes = p->weight_bytes = b->planned;
    p->bytes = p->weight_bytes + p->kv_bytes + p->work_bytes + p->stack_bytes;
}

static carat_status cuda_reserve(struct ct_backend *base, carat_error *err)
{
    struct ct_cuda_backend *b = ct_cuda(base);

    CT_TRY(b->host->verb.reserve(b->host, err));
    CT_TRY(ct_cuda_begin(b, err));
    return ct_cuda_reserve(b, err);
}

static carat_status find_device(struct ct_cuda_backend *b, const struct ct_backend_options *o, int device,
                                carat_error *err)
{
    struct ct_backend_options of_host = *o;
    struct ct_cpu cpu;

    of_host.threads = of_host.decode_threads = 1; /* they only draw */
    of_host.max_ffn = of_host.max_input = 0;
    CT_TRY(ct_cuda_open(&b->driver, err));
    CT_TRY(ct_cuda_choose(&b->device, &b->driver, device, err));
    if (o->tensor && b->device.major < 8)
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "tensor arithmetic needs a GPU of capability 8.0 or more, and %s has %d.%d",
                       b->device.name, b->device.major, b->device.minor);
    CT_TRY(ct_backend_create_cpu(&b->host, &of_host, err));
    ct_cpu_detect(&cpu);
    ct_kernel_choose(&b->kernel, &cpu, o->isa);
    return CARAT_OK;
}

carat_status ct_backend_create_cuda(struct ct_backend **out, const struct ct_backend_options *o, int device,
                                    carat_error *err)
{
    if (!*ct_cuda_ptx)
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "this library was built without clang, so it has no kernels for a GPU");
    for (int i = 0; i < CT_ATTN_TYPES; i++)
        if (o->attn[i].head_dim % 4)
            return ct_fail(err, CARAT_E_UNSUPPORTED,
                           "heads have %d values, and on a GPU carat runs multiples of 4 alone",
                           o->attn[i].head_dim);
    if (o->max_experts.used > CT_GPU_THREADS)
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "a token goes through %d experts, and on a GPU carat takes at most %d",
                       o->max_experts.used, CT_GPU_THREADS);
    struct ct_cuda_backend *b = calloc(1, sizeof *b);
    if (!b)
        return ct_no_memory(err, "a backend");
    b->base = (struct ct_backend){
        .verb = {.destroy = cuda_destroy,
                 .lay_out = cuda_lay_out,
                 .alloc = cuda_alloc,
                 .alloc_host = cuda_alloc_host,
                 .count = cuda_count,
                 .reserve = cuda_reserve},
        .isa = "cuda",
        .threads = 1,
        .apart = true,
    };
    ct_cuda_weight_verbs(&b->base.verb);
    ct_cuda_kv_verbs(&b->base.verb);
    ct_cuda_attend_verbs(&b->base.verb);
    ct_cuda_pass_verbs(&b->base.verb);
    ct_cuda_few_verbs(&b->base.verb);
    ct_cuda_stream_verbs(&b->base.verb);
    ct_cuda_expert_verbs(&b->base.verb);
    ct_cuda_told_verbs(&b->base.verb);
    b->o = *o;
    carat_status status = find_device(b, o, device, err);
    if (status)
        cuda_destroy(&b->base);
    else
        *out = &b->base;
    return status;
}

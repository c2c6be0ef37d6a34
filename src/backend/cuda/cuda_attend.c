/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_attend.c: attention on the device: how its work is cut into blocks of threads. Those of a prompt have
 * rows next to each other and go through all blocks of keys that these see. Where that makes few of them, as
 * in a pass that decodes, the blocks of keys are split among more. Among how many depends on the rows alone,
 * since one graph serves every depth; blocks for all keys of a long context, which return where rows see
 * fewer, would cost more than the turns that each of these takes. K and V: cuda_kv.c.
 *
 * A block has up to eight queries of a KV head, of rows side by side in a prompt, of one row where a pass
 * decodes. Split blocks of 256 keys are merged by a second kernel, in their order. */
#include "backend/cuda/cuda_backend.h"

enum {
    FEW = 128,  /* blocks; large devices run twice as many at a time */
    MANY = 512, /* what they are brought to */
    SPLIT_ROWS = 1 << (CT_CUDA_BUCKETS - 1),
    MOST_PARTS = 64 << 18 /* floats: 64 MiB */
};

/* Floats of what blocks of keys give. */
static size_t parts_of(int rows, int heads, int entries, int head_dim)
{
    return (size_t)rows * (size_t)heads * (size_t)entries * (size_t)(head_dim + 2);
}

static int divide_up(int n, int by)
{
    return (n + by - 1) / by;
}

static int splits_of(const struct ct_cuda_backend *b, int blocks, const struct ct_gpu_attend *a)
{
    if (blocks == 0 || blocks >= FEW || parts_of(a->n, a->all, a->kv.length, (int)a->kv.dim) > b->parts)
        return 1;
    return CT_MIN(a->kv.length, divide_up(MANY, blocks));
}

static void cuda_attend(struct ct_backend *base, ct_mat out, ct_mat q, const struct ct_kv *kv, int attn_type,
                        float scale, float cap)
{
    struct ct_cuda_backend *b = ct_cuda(base);
    const int all = q.cols / kv->head_dim, group = all / kv->n_kv_head, heads = CT_MIN(group, CT_GPU_QUERIES),
              rows = b->rows.decodes ? 1 : CT_GPU_QUERIES / heads,
              blocks = kv->n_kv_head * divide_up(group, heads), of_rows = divide_up(b->rows.n, rows);
    struct ct_gpu_attend a = {.kv = ct_cuda_layer(b, kv),
                              .out = out.handle,
                              .q = q.handle,
                              .seen = CT_CUDA_AT(const int32_t, b->at.seen[attn_type]),
                              .part = CT_CUDA_AT(float, b->part),
                              .ldo = out.stride,
                              .ldq = q.stride,
                              .n = b->rows.n,
                              .all = all,
                              .group = group,
                              .rows = rows,
                              .heads = heads,
                              .scale = scale,
                              .cap = cap};

    a.splits = splits_of(b, blocks * of_rows, &a);
    ct_cuda_goes_on(b);
    ct_cuda_launch(b, CT_CUDA_attend, &a, blocks * a.splits, of_rows);
    if (a.splits > 1)
        ct_cuda_launch(b, CT_CUDA_attend_merge,
                       &(struct ct_gpu_attend_merge){.out = a.out,
                                                     .part = a.part,
                                                     .seen = a.seen,
                                                     .ldo = a.ldo,
                                                     .all = all,
                                                     .dim = kv->head_dim,
                                                     .length = a.kv.length},
                       all, b->rows.n);
}

void ct_cuda_lay_out_attend(struct ct_cuda_backend *b)
{
    const int entries = divide_up(b->extent.context, CT_KEY_BLOCK), rows = CT_MIN(b->extent.rows, SPLIT_ROWS);
    const size_t all = parts_of(rows, b->o.max_heads, entries, b->o.max_head_dim);

    b->parts = CT_MIN(all, (size_t)MOST_PARTS);
    b->part = ct_cuda_take(&b->work, b->parts * sizeof(float));
}

void ct_cuda_attend_verbs(struct ct_verbs *v)
{
    v->attend = cuda_attend;
}

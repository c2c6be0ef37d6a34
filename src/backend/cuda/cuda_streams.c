/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_streams.c: verbs of Gemma 3n and of inputs of layers on the device. The table of those inputs stays
 * where the file is: its rows are decoded by the host, and come with each pass. */
#include "backend/cuda/cuda_backend.h"

static void cuda_embed_add(struct ct_backend *base, ct_mat x, const struct ct_weight *table,
                           const int32_t *row, float scale, float times)
{
    struct ct_cuda_backend *b = ct_cuda(base);
    const size_t n = (size_t)x.cols;

    assert(x.cols == table->cols && table->cols <= b->o.max_row && table->layout != CT_LAYOUT_DEVICE);
    for (int r = 0; r < b->rows.n && ct_cuda_goes_on(b); r++) {
        b->kernel.dequantize_row(b->table_rows + (size_t)r * n, table, row[b->origin[r]], b->table_scratch);
        b->kernel.scale(b->table_rows + (size_t)r * n, scale, x.cols);
    }
    ct_cuda_put_ahead(b, b->added, b->table_rows, (size_t)b->rows.n * n * sizeof(float));
    ct_cuda_launch(b, CT_CUDA_add_rows,
                   &(struct ct_gpu_add_rows){.x = x.handle,
                                             .from = CT_CUDA_AT(const float, b->added),
                                             .ldx = x.stride,
                                             .n = x.cols,
                                             .times = times},
                   ct_cuda_blocks(x.cols), b->rows.n);
}

static void cuda_gelu_times(struct ct_backend *base, ct_mat x, ct_mat up, int at)
{
    struct ct_cuda_backend *b = ct_cuda(base);

    assert(at >= 0 && at + x.cols <= up.cols);
    ct_cuda_launch(b, CT_CUDA_geglu,
                   &(struct ct_gpu_geglu){.gate = x.handle,
                                          .up = (const float *)up.handle + at,
                                          .ldg = x.stride,
                                          .ldu = up.stride,
                                          .n = x.cols},
                   ct_cuda_blocks(x.cols), b->rows.n);
}

/* Runs AltUp, to predict or to correct; w: coefficients, norm, router. */
static void altup(struct ct_cuda_backend *b, ct_mat y, const ct_mat stream[CT_STREAMS],
                  const struct ct_weight *const w[3], const struct ct_weight *scale, bool corrects)
{
    struct ct_gpu_altup a = {.y = y.handle,
                             .norm = w[1]->data,
                             .router = w[2]->data,
                             .coefs = w[0]->data,
                             .scale = scale ? scale->data : NULL,
                             .ldy = y.stride,
                             .lds = stream[0].stride,
                             .n = y.cols,
                             .corrects = corrects,
                             .eps = b->o.norm_eps};

    for (int i = 0; i < CT_STREAMS; i++)
        a.stream[i] = stream[i].handle;
    ct_cuda_launch(b, CT_CUDA_altup, &a, 1, b->rows.n);
}

static void cuda_altup_predict(struct ct_backend *b, ct_mat y, const ct_mat stream[CT_STREAMS],
                               const struct ct_weight *const w[3])
{
    altup(ct_cuda(b), y, stream, w, NULL, false);
}

static void cuda_altup_correct(struct ct_backend *b, ct_mat y, const ct_mat stream[CT_STREAMS],
                               const struct ct_weight *const w[4])
{
    altup(ct_cuda(b), y, stream, w, w[3], true);
}

static void cuda_altup_match(struct ct_backend *base, ct_mat y, ct_mat x)
{
    struct ct_cuda_backend *b = ct_cuda(base);

    ct_cuda_launch(b, CT_CUDA_altup_match,
                   &(struct ct_gpu_altup_match){
                       .y = y.handle, .x = x.handle, .ldy = y.stride, .ldx = x.stride, .n = y.cols},
                   1, b->rows.n);
}

static void cuda_cutoff(struct ct_backend *base, ct_mat x, float deviations)
{
    struct ct_cuda_backend *b = ct_cuda(base);

    ct_cuda_launch(
        b, CT_CUDA_cutoff,
        &(struct ct_gpu_cutoff){.x = x.handle, .ldx = x.stride, .n = x.cols, .deviations = deviations}, 1,
        b->rows.n);
}

void ct_cuda_lay_out_streams(struct ct_cuda_backend *b)
{
    const size_t bytes = (size_t)b->extent.rows * (size_t)b->o.max_row * sizeof(float);

    b->table_rows = ct_cuda_take_pinned(b, bytes);
    b->table_scratch = b->host->verb.alloc_host(b->host, CT_SCRATCH(b->o.max_row) * sizeof(float));
    b->added = ct_cuda_take(&b->work, bytes);
}

void ct_cuda_stream_verbs(struct ct_verbs *v)
{
    v->embed_add = cuda_embed_add;
    v->gelu_times = cuda_gelu_times;
    v->altup_predict = cuda_altup_predict;
    v->altup_correct = cuda_altup_correct;
    v->altup_match = cuda_altup_match;
    v->cutoff = cuda_cutoff;
}

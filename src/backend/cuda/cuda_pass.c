/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_pass.c: a pass on the device: what its rows are goes there in one piece, and each verb is a launch or
 * two of the kernels of kernel/gpu. All logits of a row come back to the host only for who reads them all; of
 * the others cuda_few.c brings what a draw reads. */
#include "backend/cuda/cuda_backend.h"

#include "kernel/gpu/gpu_types.h"
#include "os/clock.h"

/* ---- rows ---- */

/* Brings the current rows to the device. */
static void bring_rows(struct ct_cuda_backend *b)
{
    ct_cuda_put(b, b->piece, b->staged, ct_cuda_stage_rows(b, b->staged, &b->rows));
}

/* A copy of the first row behind the others computes and stores what that does. */
static void copy_first(struct ct_cuda_backend *b)
{
    const int at = b->rows.n++;

    b->token[at] = b->token[0];
    b->position[at] = b->position[0];
    b->sequence[at] = b->sequence[0];
    for (int i = 0; i < CT_ATTN_TYPES; i++)
        b->seen[i][at] = b->seen[i][0];
    b->origin[at] = 0;
    b->copies++;
}

static void cuda_begin_pass(struct ct_backend *base, const struct ct_rows *rows, const struct ct_watch *watch)
{
    struct ct_cuda_backend *b = ct_cuda(base);
    const size_t n = (size_t)rows->n;
    const int bucket = ct_cuda_bucket(b, rows);

    assert(rows->n > 0 && rows->n <= b->extent.rows);
    ct_cuda_note_rows(b, rows, bucket);
    b->rows = *rows;
    b->begun = rows->n;
    memcpy(b->token, rows->token, n * sizeof *b->token);
    memcpy(b->position, rows->position, n * sizeof *b->position);
    memcpy(b->sequence, rows->sequence, n * sizeof *b->sequence);
    for (int i = 0; i < CT_ATTN_TYPES; i++) {
        memcpy(b->seen[i], rows->seen[i], n * sizeof *b->seen[i]);
        b->rows.seen[i] = b->seen[i];
    }
    for (int i = 0; i < b->begun; i++)
        b->origin[i] = i;
    for (b->copies = 0; bucket >= 0 && b->rows.n < 1 << bucket;)
        copy_first(b);
    for (int i = 0; i < b->rows.n; i++)
        b->from[i] = i;
    b->rows.token = b->token;
    b->rows.position = b->position;
    b->rows.sequence = b->sequence;
    b->watch = *watch;
    b->asked = ct_os_seconds();
    b->stopped = b->bad_is_known = false;
    b->fp = ct_os_fp_enter();
    ct_cuda_enter(b);
    ct_cuda_bring_tables(b);
    const size_t used = ct_cuda_stage_rows(b, b->staged, &b->rows);
    const bool ran = ct_cuda_ran_ahead(b, used);
    if (!ran) {
        ct_cuda_put(b, b->piece, b->staged, used);
        ct_cuda_zero(b, b->bad, n * sizeof(int32_t));
    }
    ct_cuda_hold_back(b, bucket, ran);
}

static bool cuda_end_pass(struct ct_backend *base)
{
    struct ct_cuda_backend *b = ct_cuda(base);

    ct_cuda_wait(b);
    ct_cuda_leave(b);
    ct_os_fp_leave(b->fp);
    return !b->stopped && !base->failure.code;
}

static bool cuda_goes_on(struct ct_backend *b)
{
    return ct_cuda_goes_on(ct_cuda(b));
}

static bool cuda_is_finite(struct ct_backend *base, int row)
{
    struct ct_cuda_backend *b = ct_cuda(base);

    if (!b->bad_is_known) {
        ct_cuda_enter(b);
        ct_cuda_get(b, b->known_bad, b->bad, (size_t)b->begun * sizeof *b->known_bad);
        ct_cuda_leave(b);
        b->bad_is_known = true;
    }
    return !b->known_bad[row];
}

static void cuda_select_rows(struct ct_backend *base, int n, const ct_mat *m)
{
    struct ct_cuda_backend *b = ct_cuda(base);
    int kept = 0;

    for (int r = 0; r < b->rows.n; r++) {
        if (!b->rows.wanted[b->origin[r]])
            continue;
        b->from[kept] = r;
        b->origin[kept] = b->origin[r];
        b->position[kept] = b->position[r];
        b->sequence[kept] = b->sequence[r];
        for (int i = 0; i < CT_ATTN_TYPES; i++)
            b->seen[i][kept] = b->seen[i][r];
        kept++;
    }
    if (kept == b->rows.n)
        return;
    b->rows.n = kept;
    bring_rows(b);
    for (int i = 0; i < n && kept > 0; i++)
        if (m[i].handle)
            ct_cuda_launch(b, CT_CUDA_select_rows,
                           &(struct ct_gpu_select){.x = m[i].handle,
                                                   .from = CT_CUDA_AT(const int32_t, b->at.from),
                                                   .ldx = m[i].stride,
                                                   .cols = m[i].cols,
                                                   .n = kept},
                           ct_cuda_blocks(m[i].cols), 1);
}

/* ---- row by row ---- */

static void cuda_embed(struct ct_backend *base, ct_mat x, const struct ct_weight *table, float scale)
{
    struct ct_cuda_backend *b = ct_cuda(base);

    if (!table->data)
        return;
    ct_cuda_launch(b, CT_CUDA_embed,
                   &(struct ct_gpu_embed){.type = ct_gpu_type_of(table->type),
                                          .out = x.handle,
                                          .table = table->data,
                                          .token = CT_CUDA_AT(const int32_t, b->at.token),
                                          .panel = ct_gpu_panel_bytes(table->type, table->cols),
                                          .ldo = x.stride,
                                          .cols = x.cols,
                                          .factor = table->scale,
                                          .scale = scale},
                   ct_cuda_blocks(x.cols), b->rows.n);
}

/* Norms parts of n columns each. */
static void norm_parts(struct ct_cuda_backend *b, ct_mat y, ct_mat x, const struct ct_weight *w, int n,
                       bool add)
{
    ct_cuda_launch(b, CT_CUDA_norm,
                   &(struct ct_gpu_norm){.out = y.handle,
                                         .x = x.handle,
                                         .w = w->data,
                                         .ldo = y.stride,
                                         .ldx = x.stride,
                                         .n = n,
                                         .add = add,
                                         .eps = b->o.norm_eps},
                   x.cols / n, b->rows.n);
}

static void cuda_norm(struct ct_backend *b, ct_mat y, ct_mat x, const struct ct_weight *w)
{
    if (w->data || y.handle != x.handle)
        norm_parts(ct_cuda(b), y, x, w, x.cols, false);
}

static void cuda_qk_norm(struct ct_backend *b, ct_mat x, const struct ct_weight *w)
{
    if (w->data && x.handle)
        norm_parts(ct_cuda(b), x, x, w, w->cols, false);
}

static void cuda_residual_norm(struct ct_backend *b, ct_mat x, ct_mat y, const struct ct_weight *w)
{
    norm_parts(ct_cuda(b), x, y, w, y.cols, true);
}

static void cuda_rope(struct ct_backend *base, ct_mat x, int attn_type)
{
    struct ct_cuda_backend *b = ct_cuda(base);
    const struct ct_attn *attn = &b->o.attn[attn_type];

    if (x.handle)
        ct_cuda_launch(b, CT_CUDA_rope,
                       &(struct ct_gpu_rope){.x = x.handle,
                                             .cosine = CT_CUDA_AT(const float, b->at.cosine[attn_type]),
                                             .sine = CT_CUDA_AT(const float, b->at.sine[attn_type]),
                                             .ldx = x.stride,
                                             .heads = x.cols / attn->head_dim,
                                             .dim = attn->head_dim,
                                             .pairs = attn->rotated},
                       1, b->rows.n);
}

static void cuda_scale(struct ct_backend *base, ct_mat x, const struct ct_weight *w)
{
    struct ct_cuda_backend *b = ct_cuda(base);

    ct_cuda_launch(b, CT_CUDA_scale,
                   &(struct ct_gpu_scale){.x = x.handle, .by = w->data, .ldx = x.stride, .n = x.cols},
                   ct_cuda_blocks(x.cols), b->rows.n);
}

/* ---- products ---- */

enum ct_input ct_cuda_input(const struct ct_cuda_backend *b, const struct ct_weight *w)
{
    return ct_input_form(w, b->o.exact);
}

/* True when the units for matrices sum the product: for a prompt, and where they can, since decoding waits
 * for memory. A product that decides a choice is left to the chains. */
static bool is_tensor(const struct ct_cuda_backend *b, int rows, const struct ct_weight *w)
{
    return b->o.tensor && rows > CT_GPU_TILE && !w->f32_input && (w->type == CT_BF16 || w->type == CT_F16);
}

static void prepare(struct ct_cuda_backend *b, ct_mat in, int rows, const struct ct_weight *w, bool tensor)
{
    const enum ct_input form = ct_cuda_input(b, w);
    const int padded = ct_pad_group(in.cols);

    ct_cuda_launch(b,
                   tensor                ? CT_CUDA_prepare_tensor
                   : form == CT_INPUT_Q8 ? CT_CUDA_prepare_q8
                                         : CT_CUDA_prepare_value,
                   &(struct ct_gpu_prepare){.x = in.handle,
                                            .to = CT_CUDA_AT(void, b->prepared),
                                            .scale = CT_CUDA_AT(float, b->scale),
                                            .sum = CT_CUDA_AT(int32_t, b->sum),
                                            .ldx = in.stride,
                                            .cols = in.cols,
                                            .padded = padded,
                                            .bf16 = form == CT_INPUT_BF16},
                   ct_cuda_blocks(padded), rows);
}

/* Which kernel multiplies. That for many rows of the pass reads a weight once for 32 of them, where the one
 * for eight reads it four times; but all groups of 16 rows of the weight are one warp's there, one behind
 * another, so that fewer warps than a device computes at once take longer. */
enum ct_cuda_kernel ct_cuda_product(const struct ct_cuda_backend *b, int rows, const struct ct_weight *w)
{
    const int enough = 512; /* warps: four on each multiprocessor of a large device */
    const int tiles = (rows + CT_GPU_TILE - 1) / CT_GPU_TILE,
              panels = (w->rows + CT_GPU_PANEL - 1) / CT_GPU_PANEL;
    const struct ct_gpu_type type = ct_gpu_type_of(w->type);

    if (is_tensor(b, rows, w))
        return CT_CUDA_project_tensor;
    if (ct_cuda_input(b, w) != CT_INPUT_Q8)
        return CT_CUDA_project_value;
    if (b->function[CT_CUDA_project_matrix] && ct_gpu_has_matrix(&type) && rows > CT_GPU_TOKENS &&
        tiles * panels >= enough)
        return CT_CUDA_project_matrix;
    return b->function[CT_CUDA_project_eight] && ct_gpu_has_eight(&type) ? CT_CUDA_project_eight
                                                                         : CT_CUDA_project_q8;
}

/* By the input that was prepared last. */
static struct ct_gpu_project product(const struct ct_cuda_backend *b, ct_mat out, int rows,
                                     const struct ct_weight *w)
{
    return (struct ct_gpu_project){.type = ct_gpu_type_of(w->type),
                                   .out = out.handle,
                                   .w = w->data,
                                   .x = CT_CUDA_AT(const void, b->prepared),
                                   .scale = CT_CUDA_AT(const float, b->scale),
                                   .sum = CT_CUDA_AT(const int32_t, b->sum),
                                   .panel = ct_gpu_panel_bytes(w->type, w->cols),
                                   .ldo = out.stride,
                                   .n = rows,
                                   .rows = w->rows,
                                   .groups = ct_pad_group(w->cols) / CT_GROUP,
                                   .factor = w->scale};
}

static void multiply(struct ct_cuda_backend *b, ct_mat out, int rows, const struct ct_weight *w)
{
    const struct ct_gpu_project arguments = product(b, out, rows, w);
    const enum ct_cuda_kernel kernel = ct_cuda_product(b, rows, w);
    const bool large = kernel == CT_CUDA_project_matrix || kernel == CT_CUDA_project_tensor;
    const int width = large                             ? CT_GPU_STRIP
                      : kernel == CT_CUDA_project_eight ? CT_GPU_PANEL
                                                        : CT_GPU_ROWS,
              height = large ? CT_GPU_TILE : CT_GPU_TOKENS;

    ct_cuda_launch(b, kernel, &arguments, (w->rows + width - 1) / width, (rows + height - 1) / height);
}

void ct_cuda_prepare_chosen(struct ct_cuda_backend *b, ct_mat in, int rows, const struct ct_weight *w)
{
    prepare(b, in, rows, w, false);
}

void ct_cuda_multiply_chosen(struct ct_cuda_backend *b, ct_mat out, int rows, const struct ct_weight *w,
                             ct_cu_address table, int share)
{
    struct ct_gpu_project arguments = product(b, out, rows, w);

    arguments.expert = CT_CUDA_AT(const struct ct_gpu_expert, table);
    arguments.id = CT_CUDA_AT(const int32_t, b->experts.id);
    arguments.share = share;
    ct_cuda_launch(b, ct_cuda_input(b, w) == CT_INPUT_Q8 ? CT_CUDA_project_q8 : CT_CUDA_project_value,
                   &arguments, (w->rows + CT_GPU_ROWS - 1) / CT_GPU_ROWS, rows);
}

void ct_cuda_products(struct ct_cuda_backend *b, ct_mat in, int rows, int n, const ct_mat *out,
                      const struct ct_weight *const *w)
{
    const struct ct_weight *before = NULL;

    for (int i = 0; i < n; i++) {
        if (!w[i]->data)
            continue;
        if (!before || ct_cuda_input(b, before) != ct_cuda_input(b, w[i]) ||
            is_tensor(b, rows, before) != is_tensor(b, rows, w[i]))
            prepare(b, in, rows, w[i], is_tensor(b, rows, w[i]));
        before = w[i];
        multiply(b, out[i], rows, w[i]);
    }
}

static void cuda_project(struct ct_backend *base, ct_mat in, int n, const ct_mat *out,
                         const struct ct_weight *const *w)
{
    ct_cuda_products(ct_cuda(base), in, ct_cuda(base)->rows.n, n, out, w);
}

static void cuda_project_geglu(struct ct_backend *base, ct_mat out, ct_mat in, const struct ct_weight *gate,
                               const struct ct_weight *up, const struct ct_weight *reader)
{
    struct ct_cuda_backend *b = ct_cuda(base);

    (void)reader; /* floats are written, which everybody can read */
    cuda_project(base, in, 2, (const ct_mat[]){out, b->up}, (const struct ct_weight *const[]){gate, up});
    ct_cuda_launch(
        b, CT_CUDA_geglu,
        &(struct ct_gpu_geglu){
            .gate = out.handle, .up = b->up.handle, .ldg = out.stride, .ldu = b->up.stride, .n = gate->rows},
        ct_cuda_blocks(gate->rows), b->rows.n);
}

/* Products of the current row `row` and the next ones, as they are. Which rows these are, and what is read of
 * them, is no part of a graph. */
static void multiply_slice(struct ct_cuda_backend *b, ct_mat in, int row, int n, const struct ct_weight *w)
{
    const ct_mat rows = {CT_CUDA_AT(void, ct_cuda_row(in, row)), in.cols, in.stride};

    ct_cuda_settle(b);
    ct_cuda_products(b, rows, n, 1, &b->logits, &w);
}

void ct_cuda_logits(struct ct_cuda_backend *b, ct_mat in, int row, int n, const struct ct_weight *head,
                    float cap)
{
    multiply_slice(b, in, row, n, head);
    ct_cuda_launch(b, CT_CUDA_logits,
                   &(struct ct_gpu_logits){.x = b->logits.handle,
                                           .origin = CT_CUDA_AT(const int32_t, b->at.origin) + row,
                                           .bad = CT_CUDA_AT(int32_t, b->bad),
                                           .ldx = b->logits.stride,
                                           .n = head->rows,
                                           .cap = cap},
                   ct_cuda_blocks(head->rows), n);
    b->bad_is_known = false;
}

static void cuda_project_logits(struct ct_backend *base, ct_mat in, int first, int n, float *const *to,
                                const struct ct_weight *head, float cap)
{
    struct ct_cuda_backend *b = ct_cuda(base);

    for (int at = 0, slice; head->data && at < n; at += slice) {
        slice = CT_MIN(n - at, CT_CUDA_LOGITS_ROWS);
        ct_cuda_logits(b, in, first + at, slice, head, cap);
        for (int i = 0; i < slice; i++)
            ct_cuda_get(b, to[at + i], ct_cuda_row(b->logits, i), (size_t)head->rows * sizeof(float));
    }
}

static void cuda_project_some(struct ct_backend *base, ct_mat in, int first, int n, float *const *to,
                              const struct ct_weight *w, int n_ranges, const struct ct_range *range)
{
    struct ct_cuda_backend *b = ct_cuda(base);

    for (int i = 0; w->data && i < n; i++) {
        multiply_slice(b, in, first + i, 1, w);
        for (const struct ct_range *r = range; r < range + n_ranges; r++)
            ct_cuda_get(b, to[i] + r->at, ct_cuda_row(b->logits, 0) + (size_t)r->first * sizeof(float),
                        (size_t)(r->end - r->first) * sizeof(float));
    }
}

/* ---- memory ---- */

void ct_cuda_lay_out_pass(struct ct_cuda_backend *b)
{
    struct ct_backend *h = b->host;
    const size_t rows = (size_t)b->extent.rows, made = rows * (size_t)b->o.max_experts.used;
    const size_t values = /* of prepared inputs: of rows, or of what experts made of them */
        CT_MAX(ct_round_up(rows, CT_GPU_TILE) * (size_t)ct_pad_group(CT_MAX(b->widest, 1)),
               ct_round_up(made, CT_GPU_TILE) * (size_t)ct_pad_group(b->o.max_experts.ffn));

    b->token = h->verb.alloc_host(h, rows * sizeof *b->token);
    b->position = h->verb.alloc_host(h, rows * sizeof *b->position);
    b->sequence = h->verb.alloc_host(h, rows * sizeof *b->sequence);
    b->origin = h->verb.alloc_host(h, rows * sizeof *b->origin);
    b->from = h->verb.alloc_host(h, rows * sizeof *b->from);
    b->known_bad = ct_cuda_take_pinned(b, rows * sizeof *b->known_bad);
    for (int i = 0; i < CT_ATTN_TYPES; i++) {
        const struct ct_attn *attn = &b->o.attn[i];
        b->seen[i] = h->verb.alloc_host(h, rows * sizeof *b->seen[i]);
        b->inverse[i] = h->verb.alloc_host(h, (size_t)attn->head_dim / 2 * sizeof *b->inverse[i]);
        if (b->inverse[i])
            b->kernel.rope_frequencies(b->inverse[i], attn->head_dim, attn->rope_base, attn->rope_factor);
    }
    b->staged = h->verb.alloc_host(h, ct_cuda_piece_bytes(b));
    b->piece = ct_cuda_take(&b->work, ct_cuda_piece_bytes(b));
    b->bad = ct_cuda_take(&b->work, rows * sizeof(int32_t));
    b->prepared = ct_cuda_take(&b->work, values * sizeof(float));
    b->scale = ct_cuda_take(&b->work, values / CT_GROUP * sizeof(float));
    b->sum = ct_cuda_take(&b->work, values / CT_HALF * sizeof(int32_t));
    b->up = b->base.verb.alloc(&b->base, b->extent.rows, CT_MAX(b->o.max_ffn, 1));
    b->logits = b->base.verb.alloc(&b->base, CT_CUDA_LOGITS_ROWS, CT_MAX(b->o.n_vocab, 1));
}

void ct_cuda_pass_verbs(struct ct_verbs *v)
{
    v->begin_pass = cuda_begin_pass;
    v->end_pass = cuda_end_pass;
    v->goes_on = cuda_goes_on;
    v->is_finite = cuda_is_finite;
    v->select_rows = cuda_select_rows;
    v->embed = cuda_embed;
    v->norm = cuda_norm;
    v->qk_norm = cuda_qk_norm;
    v->residual_norm = cuda_residual_norm;
    v->rope = cuda_rope;
    v->scale = cuda_scale;
    v->project = cuda_project;
    v->project_geglu = cuda_project_geglu;
    v->project_logits = cuda_project_logits;
    v->project_some = cuda_project_some;
}

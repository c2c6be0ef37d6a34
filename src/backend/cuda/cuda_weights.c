/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_weights.c: weights on their way to the device: matrices as panels (kernel/gpu/gpu_types.h), some at a
 * time, which are copied while the next ones are read; vectors as they are. */
#include "backend/cuda/cuda_backend.h"

#include "kernel/gpu/gpu_types.h"

static int panels_of(const struct ct_weight *w)
{
    return (w->rows + CT_PANEL_ROWS - 1) / CT_PANEL_ROWS;
}

static bool is_vector(const struct ct_weight *w)
{
    return w->rows == 1 && w->type == CT_F32;
}

/* On the device. */
static size_t bytes_of(const struct ct_weight *w)
{
    return is_vector(w) ? ct_weight_bytes(w) : (size_t)panels_of(w) * ct_gpu_panel_bytes(w->type, w->cols);
}

/* ---- planning ---- */

static carat_status cuda_plan_weight(struct ct_backend *base, const struct ct_weight *w, carat_error *err)
{
    struct ct_cuda_backend *b = ct_cuda(base);
    struct ct_cuda_memory planned = {0, b->planned, 0};

    (void)err;
    if (w->layout == CT_LAYOUT_TABLE) /* it stays with the host */
        return CARAT_OK;
    ct_cuda_take(&planned, bytes_of(w));
    b->planned = planned.used;
    b->widest_panel = CT_MAX(b->widest_panel, ct_gpu_panel_bytes(w->type, w->cols));
    b->widest = CT_MAX(b->widest, w->cols);
    return CARAT_OK;
}

static bool cuda_stays(const struct ct_backend *b, const struct ct_weight *w)
{
    (void)b, (void)w;
    return false;
}

/* ---- panels ---- */

/* Panels [first, first + CT_CUDA_PANELS), as many as there are. */
static void put_panels(struct ct_cuda_backend *b, ct_cu_address to, const struct ct_weight *w, int first)
{
    const size_t panel = ct_gpu_panel_bytes(w->type, w->cols);
    const int n = CT_MIN(CT_CUDA_PANELS, panels_of(w) - first);
    uint8_t *const half = b->panels[b->half];

    for (int i = 0; i < n; i++)
        ct_gpu_pack(half + (size_t)i * panel, w, (first + i) * CT_PANEL_ROWS, b->stored);
    ct_cuda_wait(b); /* the other half was on its way */
    ct_cuda_put(b, to + (size_t)first * panel, half, (size_t)n * panel);
    b->half ^= 1;
    b->loaded += (size_t)n * panel;
    if (b->progress && b->progress(b->progress_user, b->loaded >> 10, b->planned >> 10))
        b->stopped = true;
}

static struct ct_weight cuda_pack_weight(struct ct_backend *base, struct ct_weight w)
{
    struct ct_cuda_backend *b = ct_cuda(base);
    struct ct_weight packed = w;

    if (!w.data || w.layout == CT_LAYOUT_TABLE)
        return w;
    const ct_cu_address at = ct_cuda_take(&b->weights, bytes_of(&w));
    if (is_vector(&w))
        ct_cuda_put(b, at, w.data, bytes_of(&w));
    for (int i = 0; !is_vector(&w) && i < panels_of(&w) && !b->stopped; i += CT_CUDA_PANELS)
        put_panels(b, at, &w, i);
    packed.layout = CT_LAYOUT_DEVICE;
    packed.data = (const void *)(uintptr_t)at;
    return packed;
}

/* ---- weights that are made ---- */

static struct ct_weight made_form(enum ct_type type, int rows, int cols)
{
    struct ct_weight w = {.type = type, .layout = CT_LAYOUT_DEVICE, .rows = rows, .cols = cols, .scale = 1};

    (void)ct_type_row_bytes(type, (size_t)cols, &w.row_bytes);
    return w;
}

static void cuda_plan_made(struct ct_backend *base, enum ct_type type, int rows, int cols)
{
    const struct ct_weight w = made_form(type, rows, cols);

    ct_cuda(base)->widest_made = CT_MAX(ct_cuda(base)->widest_made, cols);
    (void)cuda_plan_weight(base, &w, NULL);
}

static struct ct_weight cuda_take_made(struct ct_backend *base, enum ct_type type, int rows, int cols)
{
    struct ct_weight w = made_form(type, rows, cols);

    w.data = CT_CUDA_AT(const void, ct_cuda_take(&ct_cuda(base)->weights, bytes_of(&w)));
    return w;
}

/* A row as floats, what decoding one takes, and the rows of some panels, none wider than floats. */
static size_t making_bytes(int cols, int rows)
{
    return ((size_t)ct_pad_group(cols) * (size_t)(1 + rows) + CT_SCRATCH(cols)) * sizeof(float);
}

void ct_cuda_lay_out_making(struct ct_cuda_backend *b)
{
    if (b->widest_made)
        b->made =
            b->host->verb.alloc_host(b->host, making_bytes(b->widest_made, CT_CUDA_PANELS * CT_PANEL_ROWS));
}

/* The host decodes rows of `from`, which lies as a file has it, and makes panels of what becomes of them. */
static bool cuda_make(struct ct_backend *base, const struct ct_weight *w, const struct ct_weight *from,
                      int first, const struct ct_maker *maker)
{
    struct ct_cuda_backend *b = ct_cuda(base);
    float *const values = b->made, *const scratch = values + ct_pad_group(w->cols);
    uint8_t *const blocks = (uint8_t *)(scratch + CT_SCRATCH(w->cols));

    for (int i = 0; i < panels_of(w) && !b->stopped; i += CT_CUDA_PANELS) {
        const int r0 = i * CT_PANEL_ROWS;
        struct ct_weight rows = *w;
        rows.layout = CT_LAYOUT_ROWS;
        rows.rows = CT_MIN(CT_CUDA_PANELS * CT_PANEL_ROWS, w->rows - r0);
        rows.data = blocks;
        for (int r = 0; r < rows.rows; r++) {
            b->kernel.dequantize_row(values, from, first + r0 + r, scratch);
            maker->row(maker->user, first + r0 + r, values, blocks + (size_t)r * rows.row_bytes);
        }
        put_panels(b, (ct_cu_address)(uintptr_t)w->data + (size_t)i * ct_gpu_panel_bytes(w->type, w->cols),
                   &rows, 0);
    }
    return !b->stopped;
}

/* ---- loading ---- */

static void cuda_load_begin(struct ct_backend *base, carat_progress progress, void *user)
{
    struct ct_cuda_backend *b = ct_cuda(base);

    b->progress = progress;
    b->progress_user = user;
    b->loaded = b->weights.used = 0;
    b->stopped = false;
    ct_cuda_enter(b);
}

static bool cuda_load_end(struct ct_backend *base)
{
    struct ct_cuda_backend *b = ct_cuda(base);
    const bool whole = !b->stopped;

    b->stopped = false;
    ct_cuda_wait(b);
    ct_cuda_leave(b);
    return whole && !base->failure.code;
}

static void cuda_give_back(struct ct_backend *b, const struct ct_weight *w)
{
    (void)b, (void)w; /* nothing of it is in memory of the host */
}

void ct_cuda_weight_verbs(struct ct_verbs *v)
{
    v->plan_weight = cuda_plan_weight;
    v->stays = cuda_stays;
    v->load_begin = cuda_load_begin;
    v->load_end = cuda_load_end;
    v->pack_weight = cuda_pack_weight;
    v->plan_made = cuda_plan_made;
    v->take_made = cuda_take_made;
    v->make = cuda_make;
    v->give_back = cuda_give_back;
}

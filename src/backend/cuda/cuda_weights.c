/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_weights.c: weights on their way to the device: matrices as panels (kernel/gpu/gpu_types.h), some at a
 * time, vectors as they are. */
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

    for (int i = 0; i < n; i++)
        ct_gpu_pack(b->panels + (size_t)i * panel, w, (first + i) * CT_PANEL_ROWS, b->stored);
    ct_cuda_put(b, to + (size_t)first * panel, b->panels, (size_t)n * panel);
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
    v->give_back = cuda_give_back;
}

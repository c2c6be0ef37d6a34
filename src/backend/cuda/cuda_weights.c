/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_weights.c: weights on their way to the device: matrices in the tiles of kernel/gpu/gpu.h, a tile at a
 * time, vectors as they are. */
#include "backend/cuda/cuda_backend.h"

#include "layout/panel.h"

static int groups_of(const struct ct_weight *w)
{
    return ct_pad_group(w->cols) / CT_GROUP;
}

static int tiles_of(const struct ct_weight *w)
{
    return (w->rows + CT_GPU_TILE - 1) / CT_GPU_TILE;
}

/* Bytes of a tile; 0: no kernel reads the type. */
static size_t tile_bytes(const struct ct_weight *w)
{
    const size_t groups = (size_t)groups_of(w);

    return w->type == CT_BF16   ? groups * CT_GROUP * CT_GPU_TILE * 2
           : w->type == CT_Q8_0 ? groups * CT_GPU_Q8_WORDS * 16
                                : 0;
}

static bool is_vector(const struct ct_weight *w)
{
    return w->rows == 1 && w->type == CT_F32;
}

/* ---- planning ---- */

static carat_status cuda_plan_weight(struct ct_backend *base, const struct ct_weight *w, carat_error *err)
{
    struct ct_cuda_backend *b = ct_cuda(base);
    struct ct_cuda_memory planned = {0, b->planned, 0};
    const size_t tile = tile_bytes(w);

    if (!is_vector(w) && (tile == 0 || w->f32_input))
        return ct_fail(err, CARAT_E_UNSUPPORTED, "a GPU reads weights of BF16 and Q8_0 so far, not of %s",
                       ct_type_info(w->type)->name);
    ct_cuda_take(&planned, is_vector(w) ? ct_weight_bytes(w) : tile * (size_t)tiles_of(w));
    b->planned = planned.used;
    b->widest_tile = CT_MAX(b->widest_tile, tile);
    b->widest = CT_MAX(b->widest, w->cols);
    return CARAT_OK;
}

static bool cuda_stays(const struct ct_backend *b, const struct ct_weight *w)
{
    (void)b, (void)w;
    return false;
}

/* ---- tiles ---- */

static uint16_t bf16_flushed(uint16_t v)
{
    return (v & 0x7fff) < 0x2680 ? 0 : v; /* below 2^-50 (NUMERICS.md section 5) */
}

/* Row `lane` of a tile, as it is stored. */
static void tile_row(uint8_t *tile, const struct ct_weight *w, const uint8_t *stored, int lane)
{
    for (int k = 0; w->type == CT_BF16 && k < w->cols; k++) {
        const uint16_t v = bf16_flushed(ct_le16(stored + 2 * k));
        memcpy(tile + ((size_t)(k / 8) * CT_GPU_TILE + (size_t)lane) * 16 + (size_t)(k % 8) * 2, &v,
               sizeof v);
    }
    for (int g = 0; w->type == CT_Q8_0 && g < groups_of(w); g++, stored += 2 + CT_GROUP) {
        uint8_t *group = tile + (size_t)g * CT_GPU_Q8_WORDS * 16, *first = group + 64 + lane * 16;
        memcpy(group + 2 * lane, stored, 2);
        memcpy(first, stored + 2, CT_HALF);
        memcpy(first + CT_GPU_TILE * 16, stored + 2 + CT_HALF, CT_HALF);
    }
}

static void put_tile(struct ct_cuda_backend *b, ct_cu_address to, const struct ct_weight *w, int tile)
{
    const size_t bytes = tile_bytes(w);

    memset(b->tile, 0, bytes);
    for (int lane = 0; lane < CT_GPU_TILE && tile * CT_GPU_TILE + lane < w->rows; lane++) {
        const int row = tile * CT_GPU_TILE + lane;
        const uint8_t *stored = b->stored;
        if (ct_lies_in_rows(w))
            stored = (const uint8_t *)w->data + (size_t)row * w->row_bytes;
        else
            ct_unpack(b->stored, w, row);
        tile_row(b->tile, w, stored, lane);
    }
    ct_cuda_put(b, to + (size_t)tile * bytes, b->tile, bytes);
    b->loaded += bytes;
    if (b->progress && b->progress(b->progress_user, b->loaded >> 10, b->planned >> 10))
        b->stopped = true;
}

static struct ct_weight cuda_pack_weight(struct ct_backend *base, struct ct_weight w)
{
    struct ct_cuda_backend *b = ct_cuda(base);
    const size_t bytes = is_vector(&w) ? ct_weight_bytes(&w) : tile_bytes(&w) * (size_t)tiles_of(&w);
    const ct_cu_address at = w.data ? ct_cuda_take(&b->weights, bytes) : 0;
    struct ct_weight packed = w;

    if (!w.data)
        return w;
    if (is_vector(&w))
        ct_cuda_put(b, at, w.data, bytes);
    for (int tile = 0; !is_vector(&w) && tile < tiles_of(&w) && !b->stopped; tile++)
        put_tile(b, at, &w, tile);
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

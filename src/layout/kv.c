/* SPDX-License-Identifier: Apache-2.0 */
/* kv.c: copies positions out of stored K and V and back, a panel at a time. Layout: struct ct_kv_head. */
#include "layout/kv.h"

/* Rows of a file. */
struct rows {
    uint8_t *at;
    size_t step; /* bytes from one to the next */
};

/* The direction, a constant where these functions are inlined. */
enum way { GET, PUT };

static inline void move(uint8_t *inside, uint8_t *outside, size_t bytes, enum way way)
{
    memcpy(way == PUT ? inside : outside, way == PUT ? outside : inside, bytes);
}

/* Rows are lanes [from, to) of inside[n][width], whose elements have `size` bytes. */
static inline void move_lanes(uint8_t *inside, int width, struct rows r, int from, int to, int n, size_t size,
                              enum way way)
{
    for (int lane = from; lane < to; lane++, r.at += r.step)
        for (int i = 0; i < n; i++)
            move(inside + (size_t)(i * width + lane) * size, r.at + (size_t)i * size, size, way);
}

/* Slots [from, to) of a panel of K; bf16 holds pairs of channels there. */
static inline void move_k(uint8_t *panel, struct rows r, int from, int to, int dim, enum ct_kv_type type,
                          enum way way)
{
    if (type == CT_KV_BF16)
        move_lanes(panel, CT_KEY_PANEL, r, from, to, dim / 2, 4, way);
    else if (type == CT_KV_F16)
        move_lanes(panel, CT_KEY_PANEL, r, from, to, dim, 2, way);
    else
        move_lanes(panel, CT_KEY_PANEL, r, from, to, dim, 4, way);
}

/* The same of V; bf16 holds pairs of slots there. */
static inline void move_v(uint8_t *panel, struct rows r, int from, int to, int dim, enum ct_kv_type type,
                          enum way way)
{
    const size_t bytes = ct_kv_info(type)->bytes, row = (size_t)dim * bytes;

    for (int slot = from, n; slot < to; slot += n, r.at += (size_t)n * r.step) {
        uint8_t *pair = panel + (size_t)(slot / 2) * 2 * row;
        n = type == CT_KV_BF16 ? CT_MIN(to - slot, 2 - slot % 2) : 1;
        if (type == CT_KV_BF16)
            move_lanes(pair, 2, r, slot % 2, slot % 2 + n, dim, 2, way);
        else
            move(panel + (size_t)slot * row, r.at, row, way);
    }
}

/* Slots [from, to) of the groups of a panel, of K or of V. */
static inline void move_q8(struct ct_kv_q8 *group, struct rows r, int from, int to, int dim, bool is_k,
                           enum way way)
{
    for (int left = dim; left > 0; left -= CT_GROUP, group++, r.at += ct_kv_info(CT_KV_Q8)->bytes) {
        const struct rows values = {r.at + sizeof *group->scale, r.step};
        const int n = CT_MIN(left, CT_GROUP);
        for (int lane = from; lane < to; lane++) {
            uint8_t *row = r.at + (size_t)(lane - from) * r.step;
            if (way == GET && n < CT_GROUP)
                memset(row, 0, ct_kv_info(CT_KV_Q8)->bytes);
            move((uint8_t *)&group->scale[lane], row, sizeof *group->scale, way);
            if (!is_k)
                move((uint8_t *)group->v[lane], row + sizeof *group->scale, (size_t)n, way);
        }
        if (is_k)
            move_lanes((uint8_t *)group->k, CT_KEY_PANEL, values, from, to, n, 1, way);
    }
}

static inline void move_panel(const struct ct_kv_head *kv, int panel, struct rows k, struct rows v, int from,
                              int to, enum way way)
{
    const int dim = kv->head_dim;
    const size_t at = (size_t)panel * ct_kv_bytes(kv->type, CT_KEY_PANEL, dim);
    uint8_t *in_k = (uint8_t *)kv->k + at, *in_v = (uint8_t *)kv->v + at;

    if (kv->type == CT_KV_Q8) {
        move_q8((struct ct_kv_q8 *)(void *)in_k, k, from, to, dim, true, way);
        move_q8((struct ct_kv_q8 *)(void *)in_v, v, from, to, dim, false, way);
    } else {
        move_k(in_k, k, from, to, dim, kv->type, way);
        move_v(in_v, v, from, to, dim, kv->type, way);
    }
}

static inline void move_rows(const struct ct_kv_head *kv, int first, int n, struct rows k, struct rows v,
                             enum way way)
{
    assert(first >= 0 && n >= 0 && first + n <= kv->capacity);
    for (int slot = first, taken; n > 0; slot += taken, n -= taken) {
        const int from = slot % CT_KEY_PANEL;
        taken = CT_MIN(n, CT_KEY_PANEL - from);
        move_panel(kv, slot / CT_KEY_PANEL, k, v, from, from + taken, way);
        k.at += (size_t)taken * k.step;
        v.at += (size_t)taken * v.step;
    }
}

void ct_kv_get_rows(const struct ct_kv_head *kv, int first, int n, void *k, void *v, size_t step)
{
    move_rows(kv, first, n, (struct rows){k, step}, (struct rows){v, step}, GET);
}

void ct_kv_put_rows(const struct ct_kv_head *kv, int first, int n, const void *k, const void *v, size_t step)
{
    move_rows(kv, first, n, (struct rows){(uint8_t *)(uintptr_t)k, step},
              (struct rows){(uint8_t *)(uintptr_t)v, step}, PUT);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* kv_rows.c: where a channel of a position lies in stored K and V, for moving it to a file and back. The
 * layout is said at struct ct_kv_head. */
#include "kernel/layout/kv_rows.h"

/* Bytes of one channel, or of one group of q8 without its scale. */
struct place {
    size_t k, v; /* offsets of the first channel's bytes */
};

static struct place place_of(const struct ct_kv_head *kv, size_t slot, size_t d)
{
    size_t dim = (size_t)kv->head_dim, bytes = ct_kv_info(kv->type)->bytes;
    size_t panel = slot / CT_KEY_PANEL * dim * CT_KEY_PANEL, lane = slot % CT_KEY_PANEL;

    if (kv->type == CT_KV_BF16) /* pairs of channels in K, of keys in V */
        return (struct place){(panel + d / 2 * 2 * CT_KEY_PANEL + lane * 2 + d % 2) * bytes,
                              (slot / 2 * 2 * dim + d * 2 + slot % 2) * bytes};
    return (struct place){(panel + d * CT_KEY_PANEL + lane) * bytes, (slot * dim + d) * bytes};
}

static void move(void *inside, void *outside, size_t bytes, bool put)
{
    memcpy(put ? inside : outside, put ? outside : inside, bytes);
}

static void move_q8(const struct ct_kv_head *kv, size_t slot, uint8_t *k, uint8_t *v, bool put)
{
    const size_t dim = (size_t)kv->head_dim, groups = (dim + CT_GROUP - 1) / CT_GROUP,
                 lane = slot % CT_KEY_PANEL;
    struct ct_kv_q8 *in_k = (struct ct_kv_q8 *)kv->k + slot / CT_KEY_PANEL * groups;
    struct ct_kv_q8 *in_v = (struct ct_kv_q8 *)kv->v + slot / CT_KEY_PANEL * groups;
    const size_t bytes = ct_kv_info(CT_KV_Q8)->bytes;

    for (size_t g = 0; g < groups; g++, k += bytes, v += bytes) {
        const size_t n = CT_MIN(dim - g * CT_GROUP, CT_GROUP);
        if (!put) {
            memset(k, 0, bytes);
            memset(v, 0, bytes);
        }
        move(&in_k[g].scale[lane], k, 2, put);
        move(&in_v[g].scale[lane], v, 2, put);
        for (size_t d = 0; d < n; d++)
            move(&in_k[g].k[d][lane], k + 2 + d, 1, put);
        move(in_v[g].v[lane], v + 2, n, put);
    }
}

static void move_row(const struct ct_kv_head *kv, int slot, uint8_t *k, uint8_t *v, bool put)
{
    const size_t bytes = ct_kv_info(kv->type)->bytes;

    assert(slot >= 0 && slot < kv->capacity);
    if (kv->type == CT_KV_Q8) {
        move_q8(kv, (size_t)slot, k, v, put);
        return;
    }
    for (size_t d = 0; d < (size_t)kv->head_dim; d++) {
        struct place p = place_of(kv, (size_t)slot, d);
        move((uint8_t *)kv->k + p.k, k + d * bytes, bytes, put);
        move((uint8_t *)kv->v + p.v, v + d * bytes, bytes, put);
    }
}

void ct_kv_get_row(const struct ct_kv_head *kv, int slot, void *k, void *v)
{
    move_row(kv, slot, k, v, false);
}

void ct_kv_put_row(const struct ct_kv_head *kv, int slot, const void *k, const void *v)
{
    move_row(kv, slot, (uint8_t *)(uintptr_t)k, (uint8_t *)(uintptr_t)v, true);
}

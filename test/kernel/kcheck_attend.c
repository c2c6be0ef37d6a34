/* SPDX-License-Identifier: Apache-2.0 */
/* kcheck_attend.c: kcheck's random cases of attention: rings full of older keys and values, and tiles of
 * queries that see any part of them. */
#include "kcheck.h"

/* Which positions the queries see: rows of a prompt with or without a window, or any. */
static void draw_intervals(struct kcheck *c, struct ct_queries *t, int capacity)
{
    int hi = kc_chance(c, 2) ? kc_below(c, capacity) : kc_below(c, 3 * capacity);
    int window = kc_chance(c, 2) ? 40 : capacity, group = 1 << kc_below(c, 4);
    bool any = kc_chance(c, 4);

    for (int i = t->n - 1; i >= 0; i--) {
        int back = any ? kc_below(c, hi + 1) : (t->n - 1 - i) / group,
            seen = any ? 1 + kc_below(c, window) : window;
        t->hi[i] = CT_MAX(0, hi - back);
        t->lo[i] = CT_MAX(0, t->hi[i] - seen + 1);
    }
}

/* Any int8 and scales of either sign up to 2 / 127, in blocks of 16 keys and 32 channels. */
static void fill_blocks(struct kcheck *c, struct ct_kv_q8 *b, size_t n)
{
    for (; n > 0; n--, b++) {
        for (size_t i = 0; i < sizeof *b / 4; i++) {
            uint32_t u = kc_random(c);
            memcpy((uint8_t *)b + 4 * i, &u, 4);
        }
        for (int key = 0; key < CT_KEY_PANEL; key++)
            b->scale[key] = ct_f32_to_f16(kc_uniform(c, -2, 2) / 127);
    }
}

/* Older keys and values everywhere, of either sign, up to 2. */
static void fill_ring(struct ct_case *cases, const struct ct_kv_head *kv)
{
    struct kcheck *c = (struct kcheck *)cases;

    c->random = c->ring; /* the same for every level */
    if (kv->type == CT_KV_Q8) {
        size_t blocks = ct_kv_bytes(kv->type, kv->capacity, kv->head_dim) / sizeof(struct ct_kv_q8);
        fill_blocks(c, kv->k, blocks);
        fill_blocks(c, kv->v, blocks);
        return;
    }
    size_t each = kv->type == CT_KV_F32 ? 4 : 2, n = ct_kv_bytes(kv->type, kv->capacity, kv->head_dim) / each;

    for (size_t i = 0; i < n; i++) {
        uint32_t u = kc_random(c);
        for (int of_v = 0; of_v < 2; of_v++, u >>= 16) {
            float v = (float)((int32_t)(u & 0xffff) - 0x8000) * 0x1p-14f;
            uint16_t h = kv->type == CT_KV_F16 ? ct_f32_to_f16(v) : ct_f32_to_bf16(v);
            memcpy((uint8_t *)(of_v ? kv->v : kv->k) + i * each, each == 4 ? (void *)&v : &h, each);
        }
    }
}

/* Makes scores that differ by up to 160, so that all of exp and of the rounding of weights is seen: a
 * query is one channel of the keys. Else the largest score leaves next to nothing to most others. */
static void spread_scores(struct kcheck *c, float *q, int n, int dim, float *rows, size_t n_row)
{
    memset(q, 0, (size_t)n * (size_t)dim * sizeof *q);
    for (int i = 0; i < n; i++)
        q[i * dim + kc_below(c, dim)] = kc_uniform(c, 1, 40);
    for (size_t i = 0; i < n_row; i++)
        rows[i] = CT_MIN(CT_MAX(rows[i], -2.0f), 2.0f);
}

void kc_attend_case(struct kcheck *c)
{
    int dim = kc_chance(c, 3) ? 2 * (1 + kc_below(c, 80)) : 32 << kc_below(c, 5);
    struct ct_attention a = {.type = (enum ct_kv_type)kc_below(c, CT_KV_TYPE_COUNT),
                             .capacity = CT_KEY_BLOCK * (1 + kc_below(c, 3)),
                             .dim = dim,
                             .fill = fill_ring,
                             .n_stored = 6};
    a.tile.n = kc_chance(c, 2) ? 1 + kc_below(c, 8) : 1 + kc_below(c, CT_QUERIES);
    a.scale = kc_uniform(c, 0.01f, 1);
    a.cap = kc_chance(c, 2) ? 0 : 50;
    size_t n = (size_t)dim * (size_t)a.tile.n, n_stored = 2 * (size_t)dim * (size_t)a.n_stored;
    float *q = kc_take(c, n * sizeof *q, 4), *stored = kc_take(c, n_stored * sizeof *stored, 4);

    kc_fill_finite(c, q, n);
    kc_fill_finite(c, stored, n_stored);
    for (size_t i = 0; i < n_stored; i++)
        stored[i] = CT_MIN(CT_MAX(stored[i], -60000.0f), 60000.0f); /* finite in f16 too */
    if (kc_chance(c, 2)) {
        spread_scores(c, q, a.tile.n, dim, stored, n_stored);
        a.scale = 1;
    }
    kc_freeze(c, q);
    kc_freeze(c, stored);
    a.q = q;
    a.stored = stored;
    draw_intervals(c, &a.tile, a.capacity);
    c->ring = c->random;
    snprintf(c->shape, sizeof c->shape, "KV %s, head of %d, %d slots, %d queries up to position %d, cap %g",
             ct_kv_info(a.type)->name, dim, a.capacity, a.tile.n, a.tile.hi[a.tile.n - 1], (double)a.cap);
    ct_case_attend(&c->cases, &a);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* kcheck_attend.c: kcheck's random cases of attention: positions stored into a ring, then a tile of
 * queries over every block that one of them sees, the blocks merged, the sums divided. All of it is
 * compared at every level. */
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
static void fill_ring(struct kcheck *c, const struct ct_kv_head *kv)
{
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

static struct ct_attended take(struct kcheck *c, int n, int dim)
{
    size_t count = (size_t)n;
    return (struct ct_attended){kc_take(c, count * 4, 4), kc_take(c, count * 4, 4),
                                kc_take(c, count * (size_t)dim * 4, 64)};
}

/* Compares what a tile made of some keys; nothing is said about queries that saw none, and of scores with
 * a NaN only that it comes out. */
static void compare(struct kcheck *c, int place, const struct ct_attended *a, int n, int dim)
{
    float all[CT_QUERIES * (CT_MAX_HEAD_DIM + 2)] = {0};

    for (int i = 0; i < n; i++) {
        float *to = all + i * (dim + 2);
        if (a->sum[i] == 0)
            continue;
        to[0] = a->sum[i];
        to[1] = a->sum[i] != a->sum[i] ? a->sum[i] : a->max[i] + 0.0f; /* the zeros are one */
        memcpy(to + 2, a->out + i * dim, (size_t)dim * sizeof *to);
    }
    kc_floats(c, place, all, (size_t)(n * (dim + 2)));
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
    enum ct_kv_type type = (enum ct_kv_type)kc_below(c, CT_KV_TYPE_COUNT);
    int capacity = CT_KEY_BLOCK * (1 + kc_below(c, 3));
    struct ct_queries tile = {.n = kc_chance(c, 2) ? 1 + kc_below(c, 8) : 1 + kc_below(c, CT_QUERIES)};
    float scale = kc_uniform(c, 0.01f, 1), cap = kc_chance(c, 2) ? 0 : 50;
    size_t n = (size_t)dim, count = (size_t)tile.n;
    float *q = kc_take(c, n * count * 4, 4), *rows = kc_take(c, 2 * n * 6 * 4, 4);

    kc_fill_finite(c, q, n * count);
    kc_fill_finite(c, rows, 2 * n * 6);
    for (size_t i = 0; i < 2 * n * 6; i++)
        rows[i] = CT_MIN(CT_MAX(rows[i], -60000.0f), 60000.0f); /* finite in f16 too */
    if (kc_chance(c, 2)) {
        spread_scores(c, q, tile.n, dim, rows, 2 * n * 6);
        scale = 1;
    }
    kc_freeze(c, q);
    kc_freeze(c, rows);
    draw_intervals(c, &tile, capacity);
    int lo = tile.lo[0], hi = tile.hi[0];
    for (int i = 1; i < tile.n; i++) {
        lo = CT_MIN(lo, tile.lo[i]);
        hi = CT_MAX(hi, tile.hi[i]);
    }
    uint64_t random = c->random;

    snprintf(c->shape, sizeof c->shape, "KV %s, head of %d, %d slots, %d queries, keys %d to %d, cap %g",
             ct_kv_info(type)->name, dim, capacity, tile.n, lo, hi, (double)cap);
    for (int l = 0; l < c->n_level; l++) {
        const struct ct_kernel *k = &c->level[l];
        int mark = c->pens;
        size_t bytes = ct_kv_bytes(type, capacity, dim);
        struct ct_kv_head kv = {type, capacity, dim, kc_take(c, bytes, 64), kc_take(c, bytes, 64)};
        c->random = random; /* the same older keys for every level */
        fill_ring(c, &kv);
        kc_enter(c, l, "kv_write");
        for (int i = 0; i < CT_MIN(6, hi + 1); i++)
            ct_kv_write(k, &kv, hi - i, rows + 2 * n * (size_t)i, rows + 2 * n * (size_t)i + n);
        kc_bytes(c, 0, kv.k, bytes);
        kc_bytes(c, 1, kv.v, bytes);
        kc_freeze(c, kv.k);
        kc_freeze(c, kv.v);

        tile.q = kc_take(c, CT_QUERIES * n * 4, 64);
        float *scratch = kc_take(c, CT_ATTEND_SCRATCH * 4, 64), *out = kc_take(c, n * count * 4, 4);
        struct ct_attended all = take(c, tile.n, dim), block = take(c, tile.n, dim);
        kc_enter(c, l, "attend");
        ct_call_attend(k, &all, &block, &tile, q, &kv, lo, hi, scale, cap, scratch);
        compare(c, 2, &block, tile.n, dim);
        for (int i = 0; i < tile.n; i++)
            k->attend_finish(out + (size_t)i * n, &all, i, dim);
        kc_floats(c, 3, out, n * count);
        kc_release(c, mark);
    }
}

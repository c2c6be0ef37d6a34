/* SPDX-License-Identifier: Apache-2.0 */
/* attend_amx.c: attention over bf16 K and V with AMX tiles, which read both as they lie (NUMERICS.md sections
 * 5 and 7): a tile of B is 32 channels of 16 keys, or 32 keys of 16 channels; one of A the same channels of
 * 16 queries, or their weights of the same keys. Between the products: attend_softmax.h. Heads that 64
 * channels at a time do not fill, and other KV types, are left to the level below (CT_BELOW_ATTEND). */
#include "kernel/contract.h"
#include "kernel/x86/amx/tile.h"
#include "kernel/x86/avx512/simd_avx512.h"
#include "kernel/attend_softmax.h"

#define BELOW(name) CT_PASTE(name, CT_BELOW_ATTEND)
void BELOW(ct_query_in_groups)(struct ct_queries *t, int i, const float *q, const struct ct_kv_head *kv);
void BELOW(ct_attend_lines)(struct ct_attended *a, const struct ct_queries *t, const struct ct_kv_head *kv,
                            int block, float scale, float cap, float *s);

enum {
    HEIGHT = 16, /* queries of a tile */
    LINE = 64,   /* bytes of a row of a tile: 32 channels or keys of A, 16 columns of B and C */
};

static bool has_path(const struct ct_kv_head *kv)
{
    return kv->type == CT_KV_BF16 && kv->head_dim % 64 == 0;
}

/* A query in rows of tiles, two bytes a channel: [head_dim/32][n][32]. */
static void attend_query(struct ct_queries *t, int i, const float *q, const struct ct_kv_head *kv)
{
    if (!has_path(kv)) {
        BELOW(ct_query_in_groups)(t, i, q, kv);
        return;
    }
    for (int d = 0; d < kv->head_dim; d += CT_GROUP) {
        uint16_t *row = (uint16_t *)(void *)t->q + d * t->n + i * CT_GROUP;
        for (int c = 0; c < CT_GROUP; c++)
            row[c] = (uint16_t)(ct_f32_bits(ct_bf16_round(q[d + c])) >> 16);
    }
}

/* ---- products: rows of C are queries, columns keys or channels ---- */

/* Tiles of A or B, in bytes. */
struct tiles {
    const uint8_t *at;
    size_t row;  /* to the next row of a tile */
    size_t step; /* to the next tile of a sum */
};

/* Asks memory for as many lines as a tile of K has. */
INLINE void fetch_tile(const uint8_t *p)
{
    UNROLL for (int i = 0; i < CT_KEY_PANEL; i++) fetch(p + i * LINE);
}

/* Four tiles of C: 32 columns of two tiles of queries, or 64 of one. Tiles of B are `apart` from column to
 * column; what lies like them at v is fetched, and at k too, unless they are NULL. */
INLINE void product(float *c, size_t ld_c, struct tiles a, struct tiles b, size_t apart, int steps,
                    const bool two, const uint8_t *v, const uint8_t *k)
{
    CT_TILE_ZERO(0);
    CT_TILE_ZERO(1);
    CT_TILE_ZERO(2);
    CT_TILE_ZERO(3);
    for (int i = 0; i < steps; i++, a.at += a.step, b.at += b.step) {
        CT_TILE_LOAD(4, a.at, a.row);
        CT_TILE_LOAD(6, b.at, b.row);
        CT_TILE_DOT_BF16(0, 4, 6);
        CT_TILE_LOAD(7, b.at + apart, b.row);
        CT_TILE_DOT_BF16(1, 4, 7);
        if (two) {
            CT_TILE_LOAD(5, a.at + HEIGHT * a.row, a.row);
            CT_TILE_DOT_BF16(2, 5, 6);
            CT_TILE_DOT_BF16(3, 5, 7);
        } else {
            CT_TILE_LOAD(5, b.at + 2 * apart, b.row);
            CT_TILE_DOT_BF16(2, 4, 5);
            CT_TILE_LOAD(6, b.at + 3 * apart, b.row);
            CT_TILE_DOT_BF16(3, 4, 6);
        }
        for (int beside = 0; beside < (two ? 2 : 4); beside++) {
            const size_t at = (size_t)i * b.step + (size_t)beside * apart;
            if (v)
                fetch_tile(v + at);
            if (k)
                fetch_tile(k + at);
        }
    }
    float *rest = two ? c + HEIGHT * ld_c : c + 2 * HEIGHT;
    CT_TILE_STORE(0, c, 4 * ld_c);
    CT_TILE_STORE(1, c + HEIGHT, 4 * ld_c);
    CT_TILE_STORE(2, rest, 4 * ld_c);
    CT_TILE_STORE(3, rest + HEIGHT, 4 * ld_c);
}

/* Scores. The values of the same keys, which lie as many bytes behind v as the keys behind k, are fetched
 * meanwhile, and for few queries, whose products would wait, the next keys too. */
INLINE void score(const struct ct_queries *t, const uint8_t *k, const uint8_t *v, size_t dim,
                  struct groups groups, float *s, const bool two)
{
    const struct tiles q = {(const uint8_t *)t->q, LINE, (size_t)t->n * LINE};
    const int keys = two ? 32 : 64;

    for (int j = groups.begin / keys * keys; j < groups.end; j += keys) {
        const size_t at = (size_t)j * dim * 2;
        product(s + j, ROW, q, (struct tiles){k + at, LINE, CT_KEY_PANEL * LINE}, CT_KEY_PANEL * dim * 2,
                (int)dim / CT_GROUP, two, v + at,
                two || j + keys >= groups.end ? NULL : k + at + (size_t)keys * dim * 2);
    }
}

INLINE void add_values(const struct ct_attended *a, const uint8_t *v, size_t dim, struct groups groups,
                       const float *s, const bool two)
{
    const struct tiles weights = {(const uint8_t *)s + 2 * groups.begin, 4 * ROW, LINE};
    const int steps = (groups.end - groups.begin) / CT_GROUP;

    for (size_t c = 0; c < dim; c += two ? 32 : 64)
        product(a->out + c, dim, weights,
                (struct tiles){v + (size_t)groups.begin * dim * 2 + 4 * c, 4 * dim, CT_GROUP * dim * 2}, LINE,
                steps, two, NULL, NULL);
}

/* Weights of a group of keys in two bytes each, from the row's begin on. */
INLINE void put_bf16(float *s, int j, const fvec v[ACROSS])
{
    static const uint16_t order[32] = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30,
                                       1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31};
    const ivec both = _mm512_or_si512(_mm512_srli_epi32(as_bits(v[0]), 16), as_bits(v[1]));

    _mm512_storeu_si512((void *)((uint16_t *)(void *)s + j),
                        _mm512_permutexvar_epi16(_mm512_loadu_si512((const void *)order), both));
}

static void attend_block_amx(struct ct_attended *a, const struct ct_queries *t, const struct ct_kv_head *kv,
                             int block, float scale, float cap, float *s)
{
    ct_assert_attend(a, t, kv, block, s);
    if (!has_path(kv)) {
        BELOW(ct_attend_lines)(a, t, kv, block, scale, cap, s);
        return;
    }
    const struct groups groups = groups_seen(a, t, block);
    if (groups.end == 0)
        return;

    const size_t dim = (size_t)kv->head_dim, at = (size_t)(block * CT_KEY_BLOCK % kv->capacity) * dim * 2;
    const uint8_t *k = (const uint8_t *)kv->k + at, *v = (const uint8_t *)kv->v + at;
    const bool two = t->n > HEIGHT;
    const uint8_t n = (uint8_t)CT_MIN(t->n, HEIGHT), rest = (uint8_t)(two ? t->n - HEIGHT : t->n);
    const struct ct_tile_config config = {.palette = 1,
                                          .row_bytes = {LINE, LINE, LINE, LINE, LINE, LINE, LINE, LINE},
                                          .rows = {n, n, rest, rest, n, two ? rest : 16, 16, 16}};

    CT_TILE_CONFIG(&config);
    if (two)
        score(t, k, v, dim, groups, s, true);
    else
        score(t, k, v, dim, groups, s, false);
    weigh_all(a, t, block, groups, s, scale, cap, BF16_FLOATS, put_bf16);
    if (two)
        add_values(a, v, dim, groups, s, true);
    else
        add_values(a, v, dim, groups, s, false);
    CT_TILE_RELEASE();
}

void CT_NAME(ct_attend_init)(struct ct_kernel *k);
void CT_NAME(ct_attend_init)(struct ct_kernel *k)
{
    k->attend_query = attend_query;
    k->attend_block = attend_block_amx;
}

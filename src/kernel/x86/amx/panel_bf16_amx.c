/* SPDX-License-Identifier: Apache-2.0 */
/* panel_bf16_amx.c: products of bf16 values with AMX tiles (NUMERICS.md section 5), which are the sums: over
 * all of k, or over a block of it, between which they lie in the results. Which tokens these are, and their
 * inputs: panel_amx.c. */
#include "kernel/x86/amx/panel_amx.h"

enum {
    CHUNK = CT_GROUP * CT_PANEL_ROWS * 2, /* bytes of a tile */
    DEEP = CT_SIZE(deep) / CT_GROUP,      /* chunks of k at a time */
};

static const struct ct_tile_config of_values = {
    .palette = 1, .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64}, .rows = {16, 16, 16, 16, 16, 16, 16, 16}};

/* The part that is multiplied: chunks [from, to) of k. */
struct stretch {
    const uint8_t *w, *x; /* at the first */
    size_t apart, block;  /* to another panel, another block of tokens */
    int chunks;
    bool first, last; /* of all k */
};

/* Two blocks of tokens and two panels, or one of either. direct: where tiles of results are whole, in lines,
 * and not to be changed any more, so that the tiles of sums can be they. */
INLINE void tiles_of_bf16(const struct results *to, struct stretch s, struct asking next, const bool panels,
                          const bool blocks, bool direct)
{
    _Alignas(64) float sums[4][TOKENS * CT_PANEL_ROWS];
    float *const below = to->at + TOKENS * to->ldo;
    const size_t row = to->ldo * sizeof *to->at;

    if (s.first) {
        CT_TILE_ZERO(0);
        CT_TILE_ZERO(1);
        CT_TILE_ZERO(2);
        CT_TILE_ZERO(3);
    } else {
        CT_TILE_LOAD(0, to->at, row);
        if (panels)
            CT_TILE_LOAD(1, to->at + CT_PANEL_ROWS, row);
        if (blocks)
            CT_TILE_LOAD(2, below, row);
        if (panels && blocks)
            CT_TILE_LOAD(3, below + CT_PANEL_ROWS, row);
    }
    for (int c = 0; c < s.chunks; c++, s.w += CHUNK, s.x += CHUNK) {
        ask(&next, true);
        CT_TILE_LOAD(4, s.x, LINE_BYTES);
        CT_TILE_LOAD(6, s.w, LINE_BYTES);
        CT_TILE_DOT_BF16(0, 4, 6);
        if (panels) {
            CT_TILE_LOAD(7, s.w + s.apart, LINE_BYTES);
            CT_TILE_DOT_BF16(1, 4, 7);
        }
        if (blocks) {
            CT_TILE_LOAD(5, s.x + s.block, LINE_BYTES);
            CT_TILE_DOT_BF16(2, 5, 6);
        }
        if (panels && blocks)
            CT_TILE_DOT_BF16(3, 5, 7);
    }
    if (direct) {
        CT_TILE_STORE(0, to->at, row);
        if (panels)
            CT_TILE_STORE(1, to->at + CT_PANEL_ROWS, row);
        if (blocks)
            CT_TILE_STORE(2, below, row);
        if (panels && blocks)
            CT_TILE_STORE(3, below + CT_PANEL_ROWS, row);
        return;
    }
    CT_TILE_STORE(0, sums[0], LINE_BYTES);
    CT_TILE_STORE(1, sums[1], LINE_BYTES);
    CT_TILE_STORE(2, sums[2], LINE_BYTES);
    CT_TILE_STORE(3, sums[3], LINE_BYTES);
    for (int b = 0; b < 1 + blocks; b++)
        for (int j = 0; j < 1 + panels; j++) {
            struct results tile = *to;
            __m512 a[TOKENS];
            tile.at += (size_t)(b * TOKENS) * to->ldo + (size_t)(j * CT_PANEL_ROWS);
            tile.n = CT_MIN(TOKENS, to->n - b * TOKENS);
            UNROLL for (int t = 0; t < TOKENS; t++) a[t] =
                _mm512_load_ps(sums[2 * b + j] + CT_PANEL_ROWS * t);
            store_results(&tile, a);
        }
}

/* Two panels or one, rows [r, r + rows), and tokens [t0, t1): chunks [c0, c1) of k. Results that are no whole
 * tiles in lines keep no sums: with the first chunks come all the others. */
INLINE void panels_of_bf16(float *out, size_t ldo, const struct ct_weight *w, int r, int rows,
                           const struct ct_prepared *p, int t0, int t1, int c0, int c1,
                           const struct ahead *next, const bool panels)
{
    const int all = ct_pad_group(p->cols) / CT_GROUP, steps = (t1 - t0 + 2 * TOKENS - 1) / (2 * TOKENS);
    const uint8_t *panel = (const uint8_t *)w->data + (size_t)(r / CT_PANEL_ROWS) * w->row_bytes;
    const size_t block = (size_t)CHUNK * (size_t)all;

    for (int i = 0; i < steps; i++) {
        const int t = t0 + 2 * TOKENS * i;
        const bool blocks = t + TOKENS < t1;
        const int across = (blocks ? 2 : 1) * TOKENS, n = CT_MIN(p->n - t, across);
        const struct results to = {out + (size_t)t * ldo + r, ldo, n, CT_MIN(rows, CT_PANEL_ROWS), w->scale};
        const bool whole = aligned_results(out, ldo) && to.rows == CT_PANEL_ROWS && n == across;
        const struct stretch s = {panel + (size_t)CHUNK * (size_t)c0,
                                  (const uint8_t *)p->value + (size_t)(t / TOKENS) * block +
                                      (size_t)CHUNK * (size_t)c0,
                                  w->row_bytes,
                                  block,
                                  (whole ? c1 : all) - c0,
                                  c0 == 0,
                                  !whole || c1 == all};
        if (!whole && c0 > 0)
            continue;
        const bool direct = !s.last || (whole && w->scale == 1);
        own_results(&to, panels ? 2 : 1);
        if (blocks)
            tiles_of_bf16(&to, s, ask_part(next, i, steps, s.chunks), panels, true, direct);
        else
            tiles_of_bf16(&to, s, ask_part(next, i, steps, s.chunks), panels, false, direct);
    }
}

/* Rows [r0, r1), tokens [t0, t1) and chunks [c0, c1) of k; after: what follows them. */
static void project_chunks(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                           const struct ct_prepared *p, int t0, int t1, int c0, int c1,
                           const struct ahead *after)
{
    const uint8_t *data = (const uint8_t *)w->data + (size_t)CHUNK * (size_t)c0;

    for (int r = r0; r < r1;) {
        const bool two = r1 - r >= 2 * CT_PANEL_ROWS;
        const int follows = r + (two ? 2 : 1) * CT_PANEL_ROWS;
        struct ahead next = *after;
        if (follows < r1)
            next = (struct ahead){data + (size_t)(follows / CT_PANEL_ROWS) * w->row_bytes,
                                  (size_t)CHUNK * (size_t)(c1 - c0),
                                  follows + CT_PANEL_ROWS < r1 ? w->row_bytes : 0};
        if (two)
            panels_of_bf16(out, ldo, w, r, CT_PANEL_ROWS, p, t0, t1, c0, c1, &next, true);
        else
            panels_of_bf16(out, ldo, w, r, r1 - r, p, t0, t1, c0, c1, &next, false);
        r = follows;
    }
}

void CT_NAME(ct_project_bf16)(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                              const struct ct_prepared *p, const struct ct_panels_next *next)
{
    const int chunks = ct_pad_group(p->cols) / CT_GROUP;
    const int many = tokens_at_once(CT_MIN(chunks, DEEP) * CT_GROUP);
    const size_t apart = r1 - r0 > CT_PANEL_ROWS ? w->row_bytes : 0;
    const uint8_t *first = (const uint8_t *)w->data + (size_t)(r0 / CT_PANEL_ROWS) * w->row_bytes;

    CT_TILE_CONFIG(&of_values);
    for (int t = 0; t < p->n; t += many)
        for (int c = 0; c < chunks; c += DEEP) {
            const int end = CT_MIN(c + DEEP, chunks);
            struct ahead after = ahead_of_call(next);
            if (end < chunks || t + many < p->n)
                after = (struct ahead){first + (size_t)CHUNK * (size_t)(end % chunks),
                                       (size_t)CHUNK * (size_t)CT_MIN(DEEP, chunks - end % chunks), apart};
            project_chunks(out, ldo, w, r0, r1, p, t, CT_MIN(t + many, p->n), c, end, &after);
        }
    CT_TILE_RELEASE();
}

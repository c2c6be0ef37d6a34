/* SPDX-License-Identifier: Apache-2.0 */
/* kcheck_product.c: kcheck's random cases of matrix products: every stored type, as rows and as panels,
 * from one row and column on. Now and then one that kernels cut in blocks of tokens and of k, or whose rows
 * of results lie as far apart as those of logits. */
#include "kcheck.h"

#include "quant/palette.h"

static size_t stored_bytes(enum ct_type type, int cols)
{
    size_t bytes = 0;
    if (!ct_type_row_bytes(type, (size_t)cols, &bytes))
        abort();
    return bytes;
}

/* ---- weights ---- */

struct range {
    int from, to;
};

static int draw_within(struct kcheck *c, struct range r)
{
    return r.from + kc_below(c, r.to - r.from + 1);
}

/* Beyond what a kernel takes at once, of tokens and of k together. ref is slow: so few rows then that the
 * multiplications are at most `work`, and whole panels of them at times. far: rows of results are at least
 * that far apart. */
static const struct large {
    struct range n, cols;
    int work, far;
} large[] = {
    {{193, 276}, {1281, 2048}, 1 << 21, 0}, {{193, 212}, {2049, 2720}, 1 << 21, 0},
    {{129, 148}, {4097, 5200}, 1 << 21, 0}, {{33, 70}, {2305, 4900}, 1 << 21, 0},
    {{13, 35}, {1, 400}, 1 << 19, 1 << 14},
};

/* Tokens, rows, columns, and the stride of results. */
static void draw_sizes(struct kcheck *c, struct ct_product *p, enum ct_type type)
{
    const int block = ct_type_info(type)->block;
    const struct large *l = kc_chance(c, 24) ? &large[kc_below(c, (int)CT_COUNT(large))] : NULL;
    /* most cases small, so that there are many */
    int work = l ? l->work : kc_chance(c, 8) ? 1 << 20 : 1 << 17, cols;

    if (l) {
        p->n = draw_within(c, l->n);
        cols = (draw_within(c, l->cols) + block - 1) / block * block;
    } else {
        p->n = kc_chance(c, 3) ? 1 : kc_chance(c, 4) ? 1 + kc_below(c, 70) : 1 + kc_below(c, 17);
        cols = block == 1 ? 1 + kc_below(c, 400) : block * (1 + kc_below(c, 1 + 640 / block));
    }
    if (block == 1 && kc_chance(c, 3))
        cols = ct_pad_group(cols);
    int most = kc_chance(c, 4) ? 150 : 70;
    most = CT_MIN(most, CT_MAX(1, work / cols / p->n));
    p->rows.rows = 1 + kc_below(c, most);
    p->rows.cols = cols;

    p->ldo = (size_t)(CT_MAX(p->rows.rows, l ? l->far : 0) + kc_below(c, kc_chance(c, 4) ? 200 : 5));
    if (kc_chance(c, l ? 2 : 8)) { /* as kernels like it: whole panels, whole lines */
        p->rows.rows = (int)ct_round_up((size_t)p->rows.rows, CT_PANEL_ROWS);
        p->ldo = ct_round_up(CT_MAX(p->ldo, (size_t)p->rows.rows), CT_PANEL_ROWS);
    }
}

/* Indices of any bits into palettes that any number of rows share. */
static void draw_palettes(struct kcheck *c, struct ct_weight *w)
{
    static const int bits[] = {2, 3, 4, 4, 6, 8};
    struct ct_palettes *p = kc_take(c, sizeof *p, _Alignof(struct ct_palettes));

    p->bits = bits[kc_below(c, (int)CT_COUNT(bits))];
    p->shared = kc_chance(c, 3) ? 1 + kc_below(c, w->rows) : 4 * (1 + kc_below(c, 8));
    const size_t entries = ct_palette_groups(w->rows, p->shared) << p->bits;
    uint16_t *entry = kc_take(c, entries * sizeof *entry, 2);
    kc_fill_weights(c, CT_F16, (uint8_t *)entry, entries * sizeof *entry, (enum kc_bits)kc_below(c, KC_BITS));
    for (size_t i = 0; i < entries; i++) /* a file with others is refused */
        if ((entry[i] & 0x7c00) == 0x7c00)
            entry[i] &= 0xbfff;
    w->layout = CT_LAYOUT_PALETTE;
    w->row_bytes = ct_palette_row_bytes(p->bits, w->cols);
    const size_t bytes = ct_weight_bytes(w);
    uint8_t *index = kc_take(c, bytes, 1);
    for (size_t i = 0; i < bytes; i++)
        index[i] = (uint8_t)kc_below(c, 256);
    p->entry = entry;
    p->index = index;
    kc_freeze(c, entry);
    kc_freeze(c, index);
    w->palettes = p;
    w->data = index;
}

static void draw_weight(struct kcheck *c, struct ct_product *p, enum ct_type type)
{
    struct ct_weight *w = &p->rows;

    draw_sizes(c, p, type);
    w->type = type;
    w->layout = CT_LAYOUT_ROWS;
    w->row_bytes = stored_bytes(type, w->cols);
    w->scale = kc_chance(c, 4) ? kc_uniform(c, -2, 2) : 1;
    if (type == CT_F16 && kc_chance(c, 2)) {
        draw_palettes(c, w);
        return;
    }
    size_t bytes = ct_weight_bytes(w);
    uint8_t *data = kc_take(c, bytes, 1);
    kc_fill_weights(c, type, data, bytes, (enum kc_bits)kc_below(c, KC_BITS));
    kc_freeze(c, data);
    w->data = data;
}

void kc_product_case(struct kcheck *c, enum ct_type type)
{
    struct ct_product p = {0};
    int mark = c->pens;

    draw_weight(c, &p, type);
    size_t values = (size_t)p.n * (size_t)p.rows.cols;
    float *x = kc_take(c, values * sizeof *x, 4);
    kc_fill_inputs(c, x, values);
    kc_freeze(c, x);
    p.x = x;
    /* exact arithmetic takes f32 with any stored row */
    p.exact = kc_chance(c, 4);
    snprintf(c->shape, sizeof c->shape,
             "type %s%s, %d rows, %d columns, %d tokens, rows of results %zu apart%s",
             ct_type_info(type)->name, p.rows.palettes ? " by indices" : "", p.rows.rows, p.rows.cols, p.n,
             p.ldo, p.exact ? ", exact" : "");

    ct_case_pack(&c->cases, &p);
    ct_case_dequantize_row(&c->cases, &p, kc_below(c, p.rows.rows));
    ct_case_product(&c->cases, &p);
    kc_release(c, mark);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* kcheck_product.c: kcheck's random cases of matrix products: every stored type, as rows and as panels,
 * from one row and column on. */
#include "kcheck.h"

static size_t stored_bytes(enum ct_type type, int cols)
{
    size_t bytes = 0;
    if (!ct_type_row_bytes(type, (size_t)cols, &bytes))
        abort();
    return bytes;
}

/* ---- weights ---- */

static void draw_weight(struct kcheck *c, struct ct_product *p, enum ct_type type)
{
    struct ct_weight *w = &p->rows;
    int block = ct_type_info(type)->block;
    /* most cases small, so that there are many */
    int work = kc_chance(c, 8) ? 1 << 20 : 1 << 17;

    p->n = kc_chance(c, 3) ? 1 : kc_chance(c, 4) ? 1 + kc_below(c, 70) : 1 + kc_below(c, 17);
    int cols = block == 1 ? 1 + kc_below(c, 400) : block * (1 + kc_below(c, 1 + 640 / block));
    if (block == 1 && kc_chance(c, 3))
        cols = ct_pad_group(cols);
    int most = kc_chance(c, 4) ? 150 : 70;
    most = CT_MIN(most, CT_MAX(1, work / cols / p->n));
    *w = (struct ct_weight){
        .type = type,
        .layout = CT_LAYOUT_ROWS,
        .rows = 1 + kc_below(c, most),
        .cols = cols,
        .row_bytes = stored_bytes(type, cols),
        .scale = kc_chance(c, 4) ? kc_uniform(c, -2, 2) : 1,
    };
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
    p.ldo = (size_t)p.rows.rows + (size_t)kc_below(c, 5);
    size_t values = (size_t)p.n * (size_t)p.rows.cols;
    float *x = kc_take(c, values * sizeof *x, 4);
    kc_fill_inputs(c, x, values);
    kc_freeze(c, x);
    p.x = x;
    /* exact arithmetic takes f32 with any stored row */
    p.exact = kc_chance(c, 4);
    snprintf(c->shape, sizeof c->shape, "type %s, %d rows, %d columns, %d tokens%s", ct_type_info(type)->name,
             p.rows.rows, p.rows.cols, p.n, p.exact ? ", exact" : "");

    ct_case_pack(&c->cases, &p);
    ct_case_dequantize_row(&c->cases, &p, kc_below(c, p.rows.rows));
    ct_case_product(&c->cases, &p);
    kc_release(c, mark);
}

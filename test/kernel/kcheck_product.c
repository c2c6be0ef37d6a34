/* SPDX-License-Identifier: Apache-2.0 */
/* kcheck_product.c: kcheck's random cases of matrix products: every stored type, as rows and as panels,
 * against the products of ref over stored rows. */
#include "kcheck.h"

/* A case: a weight as rows and perhaps as panels, and inputs. */
struct product {
    struct ct_weight rows, panels;
    bool packed;
    int n;
    const float *x;
    size_t ldo;
    bool exact;
    enum ct_input form; /* of rows */
};

static size_t stored_bytes(enum ct_type type, int cols)
{
    size_t bytes = 0;
    if (!ct_type_row_bytes(type, (size_t)cols, &bytes))
        abort();
    return bytes;
}

/* ---- weights ---- */

static void draw_weight(struct kcheck *c, struct product *p, enum ct_type type)
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

/* Packs, and looks whether every row comes out of the panels as it went in. */
static void check_pack(struct kcheck *c, struct product *p)
{
    const struct ct_weight *w = &p->rows;
    const struct ct_panel *form = ct_panel_of(w->type);

    p->packed = form->lines != CT_LINES_NONE;
    if (!p->packed)
        return;
    kc_enter(c, 0, "pack");
    p->panels = *w;
    p->panels.layout = CT_LAYOUT_PANELS;
    p->panels.row_bytes = ct_panel_bytes(form, w->cols);
    size_t bytes = ct_weight_bytes(&p->panels);
    uint8_t *data = kc_take(c, bytes, 64);
    for (int r = 0; r < w->rows; r += CT_PANEL_ROWS)
        ct_pack(data + (size_t)(r / CT_PANEL_ROWS) * p->panels.row_bytes, w, r);
    kc_freeze(c, data);
    p->panels.data = data;

    int mark = c->pens;
    uint8_t *row = kc_take(c, w->row_bytes, 1);
    for (int r = 0; r < w->rows; r++) {
        kc_keep(c, 3, (const uint8_t *)w->data + (size_t)r * w->row_bytes, w->row_bytes);
        for (int i = 0; w->type == CT_BF16 && i < w->cols; i++) {
            uint8_t *at = (uint8_t *)c->want[3].data + 2 * i;
            if ((ct_le16(at) & 0x7fff) < 0x2680) /* below 2^-50 */
                memset(at, 0, 2);
        }
        ct_unpack(row, &p->panels, r);
        kc_compare_bytes(c, 3, row, w->row_bytes);
    }
    kc_release(c, mark);
}

/* Rows as f32, out of both layouts. */
static void check_widen(struct kcheck *c, const struct product *p)
{
    size_t cols = (size_t)p->rows.cols;
    int row = kc_below(c, p->rows.rows);

    for (int l = 0; l < c->n_level; l++)
        for (int packed = 0; packed <= p->packed; packed++) {
            int mark = c->pens;
            float *scratch = kc_take(c, CT_SCRATCH(cols) * sizeof(float), 64);
            float *out = kc_take(c, cols * sizeof *out, 4);
            kc_enter(c, l, "dequantize_row");
            c->level[l].dequantize_row(out, packed ? &p->panels : &p->rows, row, scratch);
            if (l == 0 && !packed)
                kc_keep(c, 0, out, cols * sizeof *out);
            kc_compare_floats(c, 0, out, cols);
            kc_release(c, mark);
        }
}

/* ---- inputs ---- */

/* As backend/cpu/cpu_backend.c lays it out; LANES may use all of it. */
static struct ct_prepared take_prepared(struct kcheck *c, const struct product *p, enum ct_input form)
{
    size_t padded = (size_t)ct_pad_group(p->rows.cols), n = (size_t)p->n;
    struct ct_prepared x = {.n = p->n, .cols = p->rows.cols};

    if (form == CT_INPUT_LANES || (form != CT_INPUT_Q8 && n > 1))
        n = ct_round_up(n, CT_LANES);
    if (form == CT_INPUT_Q8 || form == CT_INPUT_LANES) {
        x.q = kc_take(c, n * padded, 64);
        x.scale = kc_take(c, n * padded / CT_GROUP * sizeof *x.scale, 64);
        x.sum = kc_take(c, n * padded / CT_HALF * sizeof *x.sum, 64);
        if (form == CT_INPUT_LANES && !kc_chance(c, 4))
            x.tile = kc_take(c, n * padded, 64);
    } else {
        x.value = kc_take(c, n * padded * sizeof *x.value, 64);
    }
    return x;
}

/* In portions of whole lanes, the last ones first at times: threads do that. */
static struct ct_prepared prepare(struct kcheck *c, const struct ct_kernel *k, const struct product *p,
                                  enum ct_input form)
{
    struct ct_prepared x = take_prepared(c, p, form);
    int step = CT_LANES * (1 + kc_below(c, 3)), items = (p->n + step - 1) / step;
    bool backwards = kc_chance(c, 2);

    for (int i = 0; i < items; i++) {
        int t0 = (backwards ? items - 1 - i : i) * step;
        ct_call_prepare(k, &x, form, p->x, t0, t0 + step);
    }
    return x;
}

static void check_prepare(struct kcheck *c, const struct product *p, enum ct_input form)
{
    size_t padded = (size_t)ct_pad_group(p->rows.cols), n = (size_t)p->n;

    for (int l = 0; l < c->n_level; l++) {
        int mark = c->pens;
        kc_enter(c, l, "prepare_input");
        struct ct_prepared x = prepare(c, &c->level[l], p, form);
        if (form == CT_INPUT_Q8) {
            kc_bytes(c, 0, x.q, n * padded);
            kc_floats(c, 1, x.scale, n * padded / CT_GROUP);
            kc_bytes(c, 2, x.sum, n * padded / CT_HALF * sizeof *x.sum);
        } else {
            kc_floats(c, 0, x.value, (n > 1 ? ct_round_up(n, CT_LANES) : 1) * padded);
        }
        kc_release(c, mark);
    }
}

/* ---- products ---- */

static size_t out_count(const struct product *p)
{
    return (size_t)(p->n - 1) * p->ldo + (size_t)p->rows.rows;
}

/* What out must be when only rows [r0, r1) are computed: ref's values there, canaries elsewhere. */
static void expect_part(struct kcheck *c, const struct product *p, int r0, int r1)
{
    kc_keep(c, 1, c->want[0].data, out_count(p) * sizeof(float));
    for (size_t i = 0; i < out_count(p); i++) {
        int row = (int)(i % p->ldo);
        if (row < r0 || row >= r1)
            memset((float *)c->want[1].data + i, 0xa5, sizeof(float));
    }
}

static void check_project(struct kcheck *c, const struct product *p, const struct ct_weight *w, int level)
{
    const struct ct_kernel *k = &c->level[level];
    bool panels = w->layout == CT_LAYOUT_PANELS;
    enum ct_input form = ct_input_form(w, p->exact);
    int mark = c->pens, step = panels ? CT_PANEL_ROWS * (1 + kc_below(c, 9)) : 1 + kc_below(c, w->rows);

    kc_enter(c, level, panels ? "project_panels" : "project");
    struct ct_prepared x = prepare(c, k, p, form);
    float *scratch = kc_take(c, CT_SCRATCH(w->cols) * sizeof(float), 64);
    float *out = kc_take(c, out_count(p) * sizeof *out, 4);
    if (kc_chance(c, 4)) { /* only a part */
        int r0 = kc_below(c, w->rows) / (panels ? CT_PANEL_ROWS : 1) * (panels ? CT_PANEL_ROWS : 1);
        int r1 = r0 + 1 + kc_below(c, w->rows - r0);
        expect_part(c, p, r0, r1);
        ct_call_project(k, out, p->ldo, w, r0, r1, &x, form, scratch);
        kc_compare_floats(c, 1, out, out_count(p));
    } else {
        for (int r = 0; r < w->rows; r += step)
            ct_call_project(k, out, p->ldo, w, r, CT_MIN(w->rows, r + step), &x, form, scratch);
        kc_compare_floats(c, 0, out, out_count(p));
    }
    kc_release(c, mark);
}

/* ref over stored rows, all at once: what everything else must equal. */
static void expect_product(struct kcheck *c, const struct product *p)
{
    int mark = c->pens;
    float *scratch = kc_take(c, CT_SCRATCH(p->rows.cols) * sizeof(float), 64);
    float *out = kc_take(c, out_count(p) * sizeof *out, 4);

    kc_enter(c, 0, "project");
    struct ct_prepared x = prepare(c, &c->level[0], p, p->form);
    c->level[0].project(out, p->ldo, &p->rows, 0, p->rows.rows, &x, p->form, scratch);
    kc_keep(c, 0, out, out_count(p) * sizeof *out);
    kc_release(c, mark);
}

void kc_product_case(struct kcheck *c, enum ct_type type)
{
    struct product p = {0};
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
    p.form = ct_input_form(&p.rows, p.exact);
    snprintf(c->shape, sizeof c->shape, "type %s, %d rows, %d columns, %d tokens%s", ct_type_info(type)->name,
             p.rows.rows, p.rows.cols, p.n, p.exact ? ", exact" : "");

    check_pack(c, &p);
    check_widen(c, &p);
    check_prepare(c, &p, p.form);
    expect_product(c, &p);
    for (int l = 0; l < c->n_level; l++) {
        check_project(c, &p, &p.rows, l);
        if (ct_takes_panels(type, p.exact))
            check_project(c, &p, &p.panels, l);
    }
    kc_release(c, mark);
}

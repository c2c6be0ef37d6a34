/* SPDX-License-Identifier: Apache-2.0 */
/* verify_trial.c: single calls of kernels, made with every level and compared with ref, bit for bit: on a
 * model's own weights, shapes and parameters, with fixed pseudo-random inputs. Which calls there are:
 * verify_kernels.c. What kernels compute: kernel/kernel.h. */
#include "check/verify_trial.h"

#include <stdio.h>

#include "kernel/layout/panel.h"

enum {
    KEYS = 300, /* that attention looks at: a whole block and a part of one */
    SLOTS = 2 * CT_KEY_BLOCK,
};

/* ---- what all share ---- */

/* The 32 high bits of a linear congruential generator, as a number in [-1, 1), now and then a large one:
 * activations of Gemma have such. */
static float draw_value(struct ct_trial *t)
{
    t->random = t->random * 6364136223846793005u + 1442695040888963407u;
    float v = (float)(int32_t)(t->random >> 32) * 0x1p-31f;
    return (t->random >> 24 & 0xff) == 0 ? v * 100 : v;
}

static float *take(struct ct_trial *t, size_t n)
{
    return ct_arena_push(&t->arena, n, sizeof(float));
}

static float *take_values(struct ct_trial *t, size_t n)
{
    float *x = take(t, n);
    for (size_t i = 0; x && i < n; i++)
        x[i] = draw_value(t);
    return x;
}

static float *take_copy(struct ct_trial *t, const float *x, size_t n)
{
    float *y = x ? take(t, n) : NULL;
    if (y)
        memcpy(y, x, n * sizeof *y);
    return y;
}

/* Notes the first place where got is not want; the payload of a NaN is not promised. */
static void compare(struct ct_trial *t, const struct ct_kernel *k, const float *want, const float *got,
                    size_t n, const char *how)
{
    if (memcmp(want, got, n * sizeof *got) == 0 || *t->differs)
        return;
    for (size_t i = 0; i < n; i++)
        if (ct_f32_bits(want[i]) != ct_f32_bits(got[i]) && !(want[i] != want[i] && got[i] != got[i])) {
            snprintf(t->differs, sizeof t->differs,
                     "%s of level %s gives %08x at %zu of %zu values on %s%s, ref %08x", t->name, k->isa,
                     ct_f32_bits(got[i]), i, n, t->what, how, ct_f32_bits(want[i]));
            return;
        }
}

static void compare_bytes(struct ct_trial *t, const struct ct_kernel *k, const void *want, const void *got,
                          size_t n)
{
    if (memcmp(want, got, n) != 0 && !*t->differs)
        snprintf(t->differs, sizeof t->differs, "%s of level %s gives other bytes than ref on %s", t->name,
                 k->isa, t->what);
}

/* ---- products ---- */

/* Rows [r0, r1) of a weight as files store them, and in panels where the type has them. */
struct slice {
    struct ct_weight rows, panels;
    bool packed;
};

static bool take_slice(struct ct_trial *t, struct slice *s)
{
    const struct ct_weight *w = t->w;
    const struct ct_panel *form = ct_panel_of(w->type);
    uint8_t *rows, *panels;

    s->rows = s->panels = *w;
    s->rows.rows = s->panels.rows = t->r1 - t->r0;
    s->rows.layout = CT_LAYOUT_ROWS;
    ct_type_row_bytes(w->type, (size_t)w->cols, &s->rows.row_bytes);
    s->packed = form->lines != CT_LINES_NONE;
    if (w->layout == CT_LAYOUT_ROWS) {
        s->rows.data = (const uint8_t *)w->data + (size_t)t->r0 * w->row_bytes;
    } else {
        s->rows.data = rows = ct_arena_push(&t->arena, (size_t)s->rows.rows, s->rows.row_bytes);
        for (int r = t->r0; rows && r < t->r1; r++)
            ct_unpack(rows + (size_t)(r - t->r0) * s->rows.row_bytes, w, r);
    }
    if (!s->packed || !s->rows.data)
        return s->rows.data != NULL;
    s->panels.layout = CT_LAYOUT_PANELS;
    s->panels.row_bytes = ct_panel_bytes(form, w->cols);
    if (w->layout == CT_LAYOUT_PANELS) {
        s->panels.data = (const uint8_t *)w->data + (size_t)(t->r0 / CT_PANEL_ROWS) * w->row_bytes;
        return true;
    }
    s->panels.data = panels =
        ct_arena_push(&t->arena, (size_t)ct_weight_pieces(&s->panels), s->panels.row_bytes);
    for (int r = 0; panels && r < s->rows.rows; r += CT_PANEL_ROWS)
        ct_pack(panels + (size_t)(r / CT_PANEL_ROWS) * s->panels.row_bytes, &s->rows, r);
    return panels != NULL;
}

/* Memory for an input in every form, as backend/cpu/cpu_backend.c lays it out. */
static bool take_prepared(struct ct_trial *t, struct ct_prepared *p)
{
    size_t padded = (size_t)ct_pad_group(t->w->cols), n = ct_round_up((size_t)t->n, CT_LANES);

    *p = (struct ct_prepared){
        .n = t->n,
        .cols = t->w->cols,
        .value = take(t, n * padded),
        .q = ct_arena_push(&t->arena, n * padded, 1),
        .scale = take(t, n * padded / CT_GROUP),
        .sum = ct_arena_push(&t->arena, n * padded / CT_HALF, sizeof *p->sum),
        .tile = ct_arena_push(&t->arena, n * padded, 1),
    };
    return p->value && p->q && p->tile && p->scale && p->sum;
}

static void multiply_all(const struct ct_trial *t, const struct ct_kernel *k, const struct ct_weight *w,
                         const float *x, struct ct_prepared *p, float *scratch, float *out)
{
    enum ct_input form = ct_input_form(w, t->exact);

    ct_call_prepare(k, p, form, x, 0, t->n);
    ct_call_project(k, out, (size_t)w->rows, w, 0, w->rows, p, form, scratch);
}

carat_status ct_try_product(struct ct_trial *t, const struct ct_comparison *c)
{
    struct slice s;
    struct ct_prepared p;
    const float *x = take_values(t, (size_t)t->n * (size_t)t->w->cols);
    size_t n = (size_t)(t->r1 - t->r0) * (size_t)t->n;
    float *want = take(t, n), *got = take(t, n), *scratch = take(t, CT_SCRATCH(t->w->cols));

    if (!x || !want || !got || !scratch || !take_slice(t, &s) || !take_prepared(t, &p))
        return CARAT_E_MEMORY;
    for (int l = 0; l < c->n_level; l++) {
        const struct ct_kernel *k = &c->level[l];
        multiply_all(t, k, &s.rows, x, &p, scratch, l == 0 ? want : got);
        if (l > 0)
            compare(t, k, want, got, n, ", rows");
        if (!ct_takes_panels(t->w->type, t->exact))
            continue;
        multiply_all(t, k, &s.panels, x, &p, scratch, got);
        compare(t, k, want, got, n, ", panels");
    }
    return CARAT_OK;
}

/* Rows as float32, out of both layouts: embeddings are read so. */
carat_status ct_try_dequantize_row(struct ct_trial *t, const struct ct_comparison *c)
{
    struct slice s;
    size_t n = (size_t)t->w->cols;
    float *want = take(t, n), *got = take(t, n), *scratch = take(t, CT_SCRATCH(n));

    if (!want || !got || !scratch || !take_slice(t, &s))
        return CARAT_E_MEMORY;
    for (int row = 0; row < t->r1 - t->r0; row++)
        for (int l = 0; l < c->n_level; l++) {
            const struct ct_kernel *k = &c->level[l];
            k->dequantize_row(l == 0 ? want : got, &s.rows, row, scratch);
            if (l > 0)
                compare(t, k, want, got, n, ", rows");
            if (!s.packed)
                continue;
            k->dequantize_row(got, &s.panels, row, scratch);
            compare(t, k, want, got, n, ", panels");
        }
    return CARAT_OK;
}

/* ---- vectors ---- */

carat_status ct_try_elementwise(struct ct_trial *t, const struct ct_comparison *c)
{
    const struct ct_config *config = &c->model->config;
    const float number = t->at == CT_NORM    ? config->norm_eps
                         : t->at == CT_SCALE ? config->embed_scale
                                             : config->logit_cap;
    size_t n = (size_t)t->n;
    const float *x = take_values(t, n), *y = take_values(t, n);
    float *want = take_copy(t, x, n), *got = take(t, n);

    if (!want || !y || !got)
        return CARAT_E_MEMORY;
    for (int l = 0; l < c->n_level; l++) {
        const struct ct_kernel *k = &c->level[l];
        float *out = l == 0 ? want : got;
        memcpy(out, x, n * sizeof *out);
        ct_call_elementwise(k, (enum ct_elementwise)t->at, out, t->at == CT_NORM ? t->w->data : y, number,
                            t->n);
        compare(t, k, want, out, n, "");
    }
    return CARAT_OK;
}

/* Frequencies, the table of a position, and a head that it turns. */
carat_status ct_try_rope(struct ct_trial *t, const struct ct_comparison *c)
{
    const struct ct_attn *kind = &c->model->config.attn[t->at];
    size_t dim = (size_t)kind->head_dim, pairs = (size_t)kind->rotated;
    const float *x = take_values(t, dim);
    double *inverse[2] = {ct_arena_push(&t->arena, dim, sizeof(double)),
                          ct_arena_push(&t->arena, dim, sizeof(double))};
    float *out[2] = {take(t, dim + 2 * pairs), take(t, dim + 2 * pairs)};

    if (!x || !inverse[0] || !inverse[1] || !out[0] || !out[1])
        return CARAT_E_MEMORY;
    for (int l = 0; l < c->n_level; l++) {
        const struct ct_kernel *k = &c->level[l];
        float *head = out[l > 0], *cosine = head + dim, *sine = cosine + pairs;
        memcpy(head, x, dim * sizeof *head);
        k->rope_frequencies(inverse[l > 0], kind->head_dim, kind->rope_base, kind->rope_factor);
        k->rope_table(cosine, sine, inverse[l > 0], kind->rotated, t->n);
        k->rope(head, cosine, sine, kind->rotated, kind->head_dim);
        compare_bytes(t, k, inverse[0], inverse[l > 0], dim / 2 * sizeof(double));
        compare(t, k, out[0], out[l > 0], dim + 2 * pairs, "");
    }
    return CARAT_OK;
}

/* The end of a pass: are all logits finite? One that is not, at the ends and in between. */
carat_status ct_try_finite(struct ct_trial *t, const struct ct_comparison *c)
{
    size_t n = (size_t)t->n;
    const size_t at[] = {0, n / 2, n - 1};
    float *x = take_values(t, n);

    if (!x)
        return CARAT_E_MEMORY;
    for (int l = 0; l < c->n_level; l++) {
        const struct ct_kernel *k = &c->level[l];
        bool want[1 + CT_COUNT(at)] = {true}, got[CT_COUNT(want)] = {k->finite(x, n)};
        for (size_t i = 0; i < CT_COUNT(at); i++) {
            float value = x[at[i]];
            x[at[i]] = ct_f32_from_bits(i == 1 ? 0xff800000u : 0x7fc00000u); /* -infinity, NaN */
            got[1 + i] = k->finite(x, n);
            x[at[i]] = value;
        }
        compare_bytes(t, k, want, got, sizeof want);
    }
    return CARAT_OK;
}

/* The next id by the model's own parameters, and the one with the highest logit. */
carat_status ct_try_draw(struct ct_trial *t, const struct ct_comparison *c)
{
    const carat_sampling *s = &c->model->sampling;
    size_t n = (size_t)t->n;
    const float *logits = take_values(t, n);
    float *weight = take(t, n);
    int32_t *order = ct_arena_push(&t->arena, n, sizeof *order), want[2] = {0}, got[2];

    if (!logits || !weight || !order)
        return CARAT_E_MEMORY;
    for (int l = 0; l < c->n_level; l++) {
        const struct ct_kernel *k = &c->level[l];
        int32_t *out = l == 0 ? want : got;
        struct ct_draw d = {.temperature = s->temperature,
                            .top_p = s->top_p,
                            .min_p = s->min_p,
                            .top_k = s->top_k,
                            .seed = t->random,
                            .position = 7};
        out[0] = k->draw(logits, t->n, &d, order, weight);
        d.temperature = 0;
        out[1] = k->draw(logits, t->n, &d, order, weight);
        compare_bytes(t, k, want, out, sizeof want);
    }
    return CARAT_OK;
}

/* ---- attention ---- */

struct attention {
    struct ct_kv_head kv;
    struct ct_queries tile;
    struct ct_attended all, block;
    float *scratch, *out;
};

static bool take_attended(struct ct_trial *t, struct ct_attended *a, size_t n, size_t dim)
{
    *a = (struct ct_attended){take(t, n), take(t, n), take(t, n * dim)};
    return a->max && a->sum && a->out;
}

static bool take_attention(struct ct_trial *t, struct attention *a, size_t dim)
{
    size_t n = (size_t)t->n, bytes = ct_kv_bytes(t->kv, SLOTS, (int)dim);

    *a = (struct attention){
        .kv = {t->kv, SLOTS, (int)dim, ct_arena_push(&t->arena, bytes, 1),
               ct_arena_push(&t->arena, bytes, 1)},
        .tile = {.n = t->n, .q = take(t, CT_QUERIES * dim)},
        .scratch = take(t, CT_ATTEND_SCRATCH),
        .out = take(t, n * dim),
    };
    return a->kv.k && a->kv.v && a->tile.q && a->scratch && a->out && take_attended(t, &a->all, n, dim) &&
           take_attended(t, &a->block, n, dim);
}

static void attend_with(const struct ct_kernel *k, struct attention *a, const struct ct_layer_config *l,
                        const float *keys, const float *q)
{
    size_t dim = (size_t)a->kv.head_dim;

    for (int i = 0; i < KEYS; i++)
        ct_kv_write(k, &a->kv, i, keys + 2 * (size_t)i * dim, keys + (2 * (size_t)i + 1) * dim);
    ct_call_attend(k, &a->all, &a->block, &a->tile, q, &a->kv, 0, KEYS - 1, l->attn_scale, l->attn_cap,
                   a->scratch);
    for (int i = 0; i < a->tile.n; i++)
        k->attend_finish(a->out + (size_t)i * dim, &a->all, i, a->kv.head_dim);
}

/* K and V of positions stored, then a tile of queries over them, two rows' worth of heads that share a KV
 * head. */
carat_status ct_try_attend(struct ct_trial *t, const struct ct_comparison *c)
{
    const struct ct_config *config = &c->model->config;
    const struct ct_layer_config *layer = &config->layer[t->at];
    size_t dim = (size_t)layer->head_dim, bytes = ct_kv_bytes(t->kv, SLOTS, layer->head_dim);
    int window = config->attn[layer->attn_type].window;
    const float *keys = take_values(t, 2 * KEYS * dim), *q = take_values(t, (size_t)t->n * dim);
    struct attention a[2];

    if (!keys || !q || !take_attention(t, &a[0], dim) || !take_attention(t, &a[1], dim))
        return CARAT_E_MEMORY;
    for (int i = 0; i < t->n; i++) {
        int hi = KEYS - 1 - (t->n - 1 - i) / 2;
        a[0].tile.hi[i] = a[1].tile.hi[i] = hi;
        a[0].tile.lo[i] = a[1].tile.lo[i] = window ? CT_MAX(0, hi - window + 1) : 0;
    }
    for (int l = 0; l < c->n_level; l++) {
        const struct ct_kernel *k = &c->level[l];
        struct attention *x = &a[l > 0];
        attend_with(k, x, layer, keys, q);
        compare_bytes(t, k, a[0].kv.k, x->kv.k, bytes);
        compare_bytes(t, k, a[0].kv.v, x->kv.v, bytes);
        compare(t, k, a[0].out, x->out, (size_t)t->n * dim, "");
    }
    return CARAT_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* verify_trial.c: the cases of kernel_cases.h on a model's own weights, shapes and parameters, with fixed
 * pseudo-random inputs. Which there are: verify_kernels.c. What kernels compute: kernel/kernel.h. */
#include "check/verify_trial.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    KEYS = 300, /* that attention looks at: a whole block and a part of one */
    SLOTS = 2 * CT_KEY_BLOCK,
};

/* ---- what cases ask for ---- */

/* A trial that runs: its memory, what ref gave, and what runs now. */
struct trial_case {
    struct ct_case base;
    struct ct_trial *t;
    const char *isa, *how;
    struct ct_arena taken[24]; /* one for each, so that the newest can go alone */
    int n_taken;
    void *want[CT_CASE_PLACES];
};

static void *trial_take(struct ct_case *c, size_t bytes, size_t align)
{
    struct trial_case *x = (struct trial_case *)c;

    (void)align; /* an arena's is enough */
    return x->n_taken < (int)CT_COUNT(x->taken) ? ct_arena_push(&x->taken[x->n_taken++], bytes, 1) : NULL;
}

static int trial_mark(const struct ct_case *c)
{
    return ((const struct trial_case *)c)->n_taken;
}

static void trial_release(struct ct_case *c, int mark)
{
    struct trial_case *x = (struct trial_case *)c;

    while (x->n_taken > mark) {
        ct_arena_free(&x->taken[--x->n_taken]);
        x->taken[x->n_taken] = (struct ct_arena){0};
    }
}

static void trial_freeze(struct ct_case *c, const void *at)
{
    (void)c, (void)at;
}

static void trial_enter(struct ct_case *c, int level, const char *entry, const char *how)
{
    struct trial_case *x = (struct trial_case *)c;

    (void)entry; /* the trial has a name */
    x->isa = c->level[level].isa;
    x->how = how;
}

static bool trial_keep(struct ct_case *c, int place, const void *data, size_t bytes)
{
    struct trial_case *x = (struct trial_case *)c;

    free(x->want[place]);
    x->want[place] = malloc(CT_MAX(bytes, 1));
    if (x->want[place])
        memcpy(x->want[place], data, bytes);
    return x->want[place] != NULL;
}

/* Notes the first place where got is not what ref gave; the payload of a NaN is not promised. */
static void trial_compare_floats(struct ct_case *c, int place, const float *got, size_t n)
{
    struct trial_case *x = (struct trial_case *)c;
    const float *want = x->want[place];

    if (memcmp(want, got, n * sizeof *got) == 0 || *x->t->differs)
        return;
    for (size_t i = 0; i < n; i++)
        if (ct_f32_bits(want[i]) != ct_f32_bits(got[i]) && !(want[i] != want[i] && got[i] != got[i])) {
            snprintf(x->t->differs, sizeof x->t->differs,
                     "%s of level %s gives %08x at %zu of %zu values on %s%s, ref %08x", x->t->name, x->isa,
                     ct_f32_bits(got[i]), i, n, x->t->what, x->how, ct_f32_bits(want[i]));
            return;
        }
}

static void trial_compare_bytes(struct ct_case *c, int place, const void *got, size_t n)
{
    struct trial_case *x = (struct trial_case *)c;

    if (memcmp(x->want[place], got, n) != 0 && !*x->t->differs)
        snprintf(x->t->differs, sizeof x->t->differs, "%s of level %s gives other bytes than ref on %s",
                 x->t->name, x->isa, x->t->what);
}

carat_status ct_trial_run(struct ct_trial *t, const struct ct_comparison *c)
{
    struct trial_case x = {
        .base = {.level = c->level,
                 .n_level = c->n_level,
                 .take = trial_take,
                 .mark = trial_mark,
                 .release = trial_release,
                 .freeze = trial_freeze,
                 .enter = trial_enter,
                 .keep = trial_keep,
                 .compare_floats = trial_compare_floats,
                 .compare_bytes = trial_compare_bytes},
        .t = t,
    };
    bool done = t->run(t, c->model, &x.base);

    trial_release(&x.base, 0);
    for (size_t i = 0; i < CT_COUNT(x.want); i++)
        free(x.want[i]);
    return done ? CARAT_OK : CARAT_E_MEMORY;
}

/* ---- inputs ---- */

/* The 32 high bits of a linear congruential generator, as a number in [-1, 1), now and then a large one:
 * activations of Gemma have such. */
static float draw_value(struct ct_trial *t)
{
    t->random = t->random * 6364136223846793005u + 1442695040888963407u;
    float v = (float)(int32_t)(t->random >> 32) * 0x1p-31f;
    return (t->random >> 24 & 0xff) == 0 ? v * 100 : v;
}

static float *take_values(struct ct_trial *t, struct ct_case *c, size_t n)
{
    float *x = c->take(c, n * sizeof *x, 64);
    for (size_t i = 0; x && i < n; i++)
        x[i] = draw_value(t);
    return x;
}

/* Rows [r0, r1) of the weight as files store them, and in panels where the type has them. */
static bool take_slice(struct ct_trial *t, struct ct_case *c, struct ct_product *p)
{
    const struct ct_weight *w = t->w;
    uint8_t *rows;

    p->rows = *w;
    p->rows.rows = t->r1 - t->r0;
    if (w->layout == CT_LAYOUT_ROWS) {
        p->rows.data = (const uint8_t *)w->data + (size_t)t->r0 * w->row_bytes;
        return ct_case_pack(c, p);
    }
    p->packed = true;
    p->panels = p->rows;
    p->panels.data = (const uint8_t *)w->data + (size_t)(t->r0 / CT_PANEL_ROWS) * w->row_bytes;
    p->rows.layout = CT_LAYOUT_ROWS;
    ct_type_row_bytes(w->type, (size_t)w->cols, &p->rows.row_bytes);
    p->rows.data = rows = c->take(c, ct_weight_bytes(&p->rows), 64);
    for (int r = t->r0; rows && r < t->r1; r++)
        ct_unpack(rows + (size_t)(r - t->r0) * p->rows.row_bytes, w, r);
    return rows != NULL;
}

/* ---- trials ---- */

bool ct_try_product(struct ct_trial *t, const struct carat_model *m, struct ct_case *c)
{
    struct ct_product p = {.n = t->n, .ldo = (size_t)(t->r1 - t->r0), .exact = t->exact};

    (void)m;
    p.x = take_values(t, c, (size_t)t->n * (size_t)t->w->cols);
    return p.x && take_slice(t, c, &p) && ct_case_product(c, &p);
}

bool ct_try_dequantize_row(struct ct_trial *t, const struct carat_model *m, struct ct_case *c)
{
    struct ct_product p = {.n = 0};
    bool done = take_slice(t, c, &p);

    (void)m;
    for (int row = 0; done && row < p.rows.rows; row++)
        done = ct_case_dequantize_row(c, &p, row);
    return done;
}

bool ct_try_elementwise(struct ct_trial *t, const struct carat_model *m, struct ct_case *c)
{
    const float number = t->at == CT_NORM    ? m->config.norm_eps
                         : t->at == CT_SCALE ? m->config.embed_scale
                                             : m->config.logit_cap;
    const float *x = take_values(t, c, (size_t)t->n), *y = take_values(t, c, (size_t)t->n);

    return x && y &&
           ct_case_elementwise(c, (enum ct_elementwise)t->at, x, t->at == CT_NORM ? t->w->data : y, number,
                               t->n);
}

bool ct_try_rope(struct ct_trial *t, const struct carat_model *m, struct ct_case *c)
{
    const struct ct_attn *a = &m->config.attn[t->at];
    const float *x = take_values(t, c, (size_t)a->head_dim);

    return x && ct_case_rope(
                    c, &(struct ct_rotation){a->head_dim, a->rotated, t->n, a->rope_base, a->rope_factor, x});
}

/* The end of a pass. */
bool ct_try_finite(struct ct_trial *t, const struct carat_model *m, struct ct_case *c)
{
    const float *x = take_values(t, c, (size_t)t->n);

    (void)m;
    return x && ct_case_finite(c, x, t->n);
}

bool ct_try_log_sum(struct ct_trial *t, const struct carat_model *m, struct ct_case *c)
{
    const float *x = take_values(t, c, (size_t)t->n);

    (void)m;
    return x && ct_case_log_sum(c, x, t->n);
}

bool ct_try_entropy(struct ct_trial *t, const struct carat_model *m, struct ct_case *c)
{
    const float *x = take_values(t, c, (size_t)t->n);

    (void)m;
    return x && ct_case_entropy(c, x, t->n);
}

/* By the model's own parameters. */
bool ct_try_draw(struct ct_trial *t, const struct carat_model *m, struct ct_case *c)
{
    const carat_sampling *s = &m->sampling;
    const float *logits = take_values(t, c, (size_t)t->n);
    const struct ct_draw d = {.temperature = s->temperature,
                              .top_p = s->top_p,
                              .min_p = s->min_p,
                              .top_k = s->top_k,
                              .seed = t->random,
                              .position = 7};

    return logits && ct_case_draw(c, &(struct ct_logits){.value = logits, .n = t->n}, NULL, 0, &d);
}

/* ---- which rows of a head are computed ---- */

bool ct_try_select(struct ct_trial *t, const struct carat_model *m, struct ct_case *c)
{
    static const int32_t excluded[] = {0, 3};
    const float *logits = take_values(t, c, (size_t)t->n);

    return logits && ct_case_select(c, &(struct ct_logits){.value = logits, .n = t->n},
                                    CT_MAX(1, CT_MIN(m->sampling.top_k, t->n)), excluded, CT_COUNT(excluded));
}

bool ct_try_input_norms(struct ct_trial *t, const struct carat_model *m, struct ct_case *c)
{
    const float *x = take_values(t, c, (size_t)t->n);

    (void)m;
    return x && ct_case_input_norms(c, x, t->n);
}

/* Bounds so wide that about half of the rows stay. */
bool ct_try_prune(struct ct_trial *t, const struct carat_model *m, struct ct_case *c)
{
    const float *score = take_values(t, c, (size_t)t->n), *width = take_values(t, c, (size_t)t->n);
    struct ct_row_bound *bound = c->take(c, (size_t)t->n * sizeof *bound, 64);
    struct ct_prune p = {.score = score, .bound = bound, .n = t->n, .token = {0.5, 0.01}};

    (void)m;
    if (!score || !width || !bound)
        return false;
    for (int i = 0; i < t->n; i++) {
        const uint16_t f16 = ct_f32_to_f16(CT_MIN(__builtin_fabsf(width[i]), 1000));
        bound[i] = (struct ct_row_bound){f16, f16};
    }
    p.bar = score[0];
    return ct_case_prune(c, &p);
}

bool ct_try_uncap(struct ct_trial *t, const struct carat_model *m, struct ct_case *c)
{
    const float cap = m->config.logit_cap, x = draw_value(t);

    return ct_case_uncap(c, cap * (x / (1 + __builtin_fabsf(x))), cap);
}

/* Two rows' worth of heads that share a KV head. */
bool ct_try_attend(struct ct_trial *t, const struct carat_model *m, struct ct_case *c)
{
    const struct ct_layer_config *l = &m->config.layer[t->at];
    const size_t dim = (size_t)l->head_dim;
    const int window = m->config.attn[l->attn_type].window;
    struct ct_attention a = {t->kv,
                             SLOTS,
                             l->head_dim,
                             .n_stored = KEYS,
                             .tile = {.n = t->n},
                             .scale = l->attn_scale,
                             .cap = l->attn_cap};

    for (int i = 0; i < t->n; i++) {
        a.tile.hi[i] = KEYS - 1 - (t->n - 1 - i) / 2;
        a.tile.lo[i] = window ? CT_MAX(0, a.tile.hi[i] - window + 1) : 0;
    }
    a.stored = take_values(t, c, 2 * KEYS * dim);
    a.q = take_values(t, c, (size_t)t->n * dim);
    return a.stored && a.q && ct_case_attend(c, &a);
}

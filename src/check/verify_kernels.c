/* SPDX-License-Identifier: Apache-2.0 */
/* verify_kernels.c: the calls of kernels that a model makes, as trials: cases of kernel_cases.h on its own
 * weights, shapes and parameters, with fixed pseudo-random inputs. There is one for every type and shape of
 * its matrices, its norms, heads, positions, activations and KV types. The level that engines would use here
 * and all below it are compared with ref. kcheck (test/kernel) does the same over random shapes and hard
 * values. */
#include <stdlib.h>

#include "base/array.h"
#include "check/kernel_cases.h"
#include "check/verify.h"
#include "kernel/level.h"

enum {
    RUN = 5 * CT_PANEL_ROWS, /* rows of a product: four panels side by side, and one alone */
    BATCH = 16,              /* trials between two reports of progress */
    KEYS = 300,              /* that attention looks at: a whole block and a part of one */
    SLOTS = 2 * CT_KEY_BLOCK,
};

struct trial {
    /* Draws what a case is given and runs it; uses the members below that its kernel asks for. */
    void (*run)(struct trial *t, const struct carat_model *m, struct ct_case *c);
    const char *name; /* of the kernel */
    const struct ct_weight *w;
    int r0, r1; /* rows of w; r0 begins a panel */
    int n;      /* tokens, values, queries, or the position */
    int at;     /* enum ct_elementwise, layer, or kind */
    bool exact; /* arithmetic */
    enum ct_kv_type kv;
    void (*values)(struct ct_case *c, const float *x, int n); /* the case of try_values */
    char what[160];                                           /* it works on */
    uint64_t random;                                          /* what inputs are drawn from */
    bool failed;                                              /* memory was out */
    char differs[384]; /* what another level gave than ref, as a sentence; "" when none did */
};

struct trials {
    struct ct_verify *v;
    const struct ct_kernel *level; /* [n_level], the first is ref */
    int n_level;
    struct trial *list;
    size_t capacity;
    int n, first;
};

/* ---- what cases ask for ---- */

/* A trial that runs: its memory, what ref gave, and what runs now. */
struct trial_case {
    struct ct_case base;
    struct trial *t;
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

    if (!want || memcmp(want, got, n * sizeof *got) == 0 || *x->t->differs)
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

    if (x->want[place] && memcmp(x->want[place], got, n) != 0 && !*x->t->differs)
        snprintf(x->t->differs, sizeof x->t->differs, "%s of level %s gives other bytes than ref on %s",
                 x->t->name, x->isa, x->t->what);
}

static void run_trial(void *arg, int item, int thread)
{
    const struct trials *ts = arg;
    struct trial *t = &ts->list[ts->first + item];
    struct trial_case x = {
        .base = {.level = ts->level,
                 .n_level = ts->n_level,
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

    (void)thread;
    t->run(t, ts->v->model, &x.base);
    t->failed = x.base.failed;
    trial_release(&x.base, 0);
    for (size_t i = 0; i < CT_COUNT(x.want); i++)
        free(x.want[i]);
}

/* ---- inputs ---- */

/* The 32 high bits of a linear congruential generator, as a number in [-1, 1), now and then a large one:
 * activations of Gemma have such. */
static float draw_value(struct trial *t)
{
    t->random = t->random * 6364136223846793005u + 1442695040888963407u;
    float v = (float)(int32_t)(t->random >> 32) * 0x1p-31f;
    return (t->random >> 24 & 0xff) == 0 ? v * 100 : v;
}

static float *take_values(struct trial *t, struct ct_case *c, size_t n)
{
    float *x = ct_case_take(c, n * sizeof *x, 64);
    for (size_t i = 0; x && i < n; i++)
        x[i] = draw_value(t);
    return x;
}

/* Rows [r0, r1) of the weight as files store them, and in panels where the type has them. */
static void take_slice(struct trial *t, struct ct_case *c, struct ct_product *p)
{
    const struct ct_weight *w = t->w;

    p->rows = *w;
    p->rows.rows = t->r1 - t->r0;
    p->rows.layout = CT_LAYOUT_ROWS;
    if (ct_lies_in_rows(w)) {
        p->rows.data = (const uint8_t *)w->data + (size_t)t->r0 * w->row_bytes;
        ct_case_pack(c, p);
        return;
    }
    p->rows.palettes = NULL;
    ct_type_row_bytes(w->type, (size_t)w->cols, &p->rows.row_bytes);
    uint8_t *rows = ct_case_take(c, ct_weight_bytes(&p->rows), 64);
    for (int r = t->r0; rows && r < t->r1; r++)
        ct_unpack(rows + (size_t)(r - t->r0) * p->rows.row_bytes, w, r);
    p->rows.data = rows;
    p->packed = ct_in_panels(w);
    if (p->packed)
        p->panels = ct_weight_rows(w, t->r0, t->r1);
    else if (rows)
        ct_case_pack(c, p);
}

/* ---- trials: without memory for its inputs a case is not run ---- */

static void try_product(struct trial *t, const struct carat_model *m, struct ct_case *c)
{
    struct ct_product p = {.n = t->n, .ldo = (size_t)(t->r1 - t->r0), .exact = t->exact};

    (void)m;
    p.x = take_values(t, c, (size_t)t->n * (size_t)t->w->cols);
    take_slice(t, c, &p);
    if (!c->failed)
        ct_case_product(c, &p);
}

static void try_dequantize_row(struct trial *t, const struct carat_model *m, struct ct_case *c)
{
    struct ct_product p = {.n = 0};

    (void)m;
    take_slice(t, c, &p);
    for (int row = 0; row < p.rows.rows && !c->failed; row++)
        ct_case_dequantize_row(c, &p, row);
}

static void try_elementwise(struct trial *t, const struct carat_model *m, struct ct_case *c)
{
    const float number = t->at == CT_NORM     ? m->config.norm_eps
                         : t->at == CT_SCALE  ? m->config.embed_scale
                         : t->at == CT_CUTOFF ? m->config.layer[0].cutoff
                                              : m->config.logit_cap;
    const float *x = take_values(t, c, (size_t)t->n), *y = take_values(t, c, (size_t)t->n);

    if (!c->failed)
        ct_case_elementwise(c, (enum ct_elementwise)t->at, x, t->at == CT_NORM ? t->w->data : y, number,
                            t->n);
}

/* By the weights of the first layer. */
static void try_altup(struct trial *t, const struct carat_model *m, struct ct_case *c)
{
    const struct ct_layer *l = &m->weights.layer[0];
    const struct ct_stream_rows s = {t->n, take_values(t, c, (CT_STREAMS + 1) * (size_t)t->n),
                                     l->altup_norm.data, l->altup_router.data, l->altup_predict.data};

    if (!c->failed)
        ct_case_altup(c, &s);
}

static void try_rope(struct trial *t, const struct carat_model *m, struct ct_case *c)
{
    const struct ct_attn *a = &m->config.attn[t->at];
    const struct ct_rotation r = {a->head_dim,  a->rotated,     t->n,
                                  a->rope_base, a->rope_factor, take_values(t, c, (size_t)a->head_dim)};

    if (!c->failed)
        ct_case_rope(c, &r);
}

static void try_values(struct trial *t, const struct carat_model *m, struct ct_case *c)
{
    const float *x = take_values(t, c, (size_t)t->n);

    (void)m;
    if (!c->failed)
        t->values(c, x, t->n);
}

/* By the model's own parameters. */
static void try_draw(struct trial *t, const struct carat_model *m, struct ct_case *c)
{
    const carat_sampling *s = &m->sampling;
    const struct ct_logits logits = {.value = take_values(t, c, (size_t)t->n), .n = t->n};
    const struct ct_draw d = {.temperature = s->temperature,
                              .top_p = s->top_p,
                              .min_p = s->min_p,
                              .top_k = s->top_k,
                              .seed = t->random,
                              .position = 7};

    if (!c->failed)
        ct_case_draw(c, &logits, NULL, 0, &d, NULL);
}

static void try_select(struct trial *t, const struct carat_model *m, struct ct_case *c)
{
    static const int32_t excluded[] = {0, 3};
    const struct ct_logits logits = {.value = take_values(t, c, (size_t)t->n), .n = t->n};

    if (!c->failed)
        ct_case_select(c, &logits, CT_MAX(1, CT_MIN(m->sampling.top_k, t->n)), excluded, CT_COUNT(excluded));
}

/* Bounds so wide that about half of the rows stay. */
static void try_prune(struct trial *t, const struct carat_model *m, struct ct_case *c)
{
    const float *score = take_values(t, c, (size_t)t->n), *width = take_values(t, c, (size_t)t->n);
    struct ct_row_bound *bound = ct_case_take(c, (size_t)t->n * sizeof *bound, 64);
    struct ct_prune p = {.score = score, .bound = bound, .n = t->n, .token = {0.5, 0.01}};

    (void)m;
    if (c->failed)
        return;
    for (int i = 0; i < t->n; i++) {
        const uint16_t f16 = ct_f32_to_f16(CT_MIN(__builtin_fabsf(width[i]), 1000));
        bound[i] = (struct ct_row_bound){f16, f16};
    }
    p.bar = score[0];
    ct_case_prune(c, &p);
}

static void try_uncap(struct trial *t, const struct carat_model *m, struct ct_case *c)
{
    const float cap = m->config.logit_cap, x = draw_value(t);

    ct_case_uncap(c, cap * (x / (1 + __builtin_fabsf(x))), cap);
}

/* Two rows' worth of heads that share a KV head. */
static void try_attend(struct trial *t, const struct carat_model *m, struct ct_case *c)
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
    if (!c->failed)
        ct_case_attend(c, &a);
}

/* ---- the list ---- */

/* Adds a trial with its own inputs. E_MEMORY. */
static carat_status __attribute__((format(printf, 3, 4)))
add_trial(struct trials *ts, struct trial trial, const char *what, ...)
{
    if (!ct_array_grow(&ts->list, &ts->capacity, (size_t)ts->n + 1, sizeof *ts->list))
        return CARAT_E_MEMORY;
    trial.random = (uint64_t)ts->n + 1;
    CT_FORMAT(trial.what, what);
    ts->list[ts->n++] = trial;
    return CARAT_OK;
}

static carat_status add_product(struct trials *ts, const char *place, const struct ct_weight *w, int r0,
                                int n, bool exact)
{
    const int r1 = CT_MIN(r0 + RUN, w->rows);

    return add_trial(ts, (struct trial){try_product, "project", w, r0, r1, n, .exact = exact},
                     "%s (%s, %d x %d), rows %d to %d, %d token%s, %s", place, ct_type_info(w->type)->name,
                     w->rows, w->cols, r0, r1 - 1, n, n == 1 ? "" : "s", exact ? "exact" : "fast");
}

/* One token, some, and more than a prompt's lanes, over stretches at both ends and in between. */
static carat_status add_products(struct trials *ts, const char *place, const struct ct_weight *w)
{
    static const int tokens[] = {1, 4, 33};
    int last = CT_MAX(0, (w->rows - 1) / CT_PANEL_ROWS * CT_PANEL_ROWS - RUN + CT_PANEL_ROWS),
        middle = last / 2 / CT_PANEL_ROWS * CT_PANEL_ROWS;
    bool arithmetics = ct_input_form(w, false) != ct_input_form(w, true);

    for (int exact = 0; exact <= arithmetics; exact++)
        for (size_t i = 0; i < CT_COUNT(tokens); i++) {
            CT_TRY(add_product(ts, place, w, last, tokens[i], exact));
            if (i == 2 || last == 0) /* many tokens cost ref much: one stretch will do */
                continue;
            CT_TRY(add_product(ts, place, w, 0, tokens[i], exact));
            if (middle > 0)
                CT_TRY(add_product(ts, place, w, middle, tokens[i], exact));
        }
    return CARAT_OK;
}

static carat_status add_elementwise(struct trials *ts, enum ct_elementwise at, int n,
                                    const struct ct_weight *w)
{
    return add_trial(ts,
                     (struct trial){try_elementwise, ct_elementwise_name(at), .n = n, .at = (int)at, .w = w},
                     "%d values", n);
}

/* Rows as embeddings are read. */
static carat_status add_rows(struct trials *ts, const char *place, const struct ct_weight *w)
{
    return add_trial(
        ts, (struct trial){try_dequantize_row, "dequantize_row", w, .r1 = CT_MIN(CT_PANEL_ROWS, w->rows)},
        "rows of %s (%s, %d x %d)", place, ct_type_info(w->type)->name, w->rows, w->cols);
}

/* A weight of a type and shape that no other had. */
static carat_status visit(void *user, const char *place, const char *tensor, const struct ct_weight *w)
{
    struct trials *ts = user;
    bool norm = strstr(place, "norm") != NULL;

    (void)tensor;
    for (int i = 0; i < ts->n; i++) {
        const struct ct_weight *seen = ts->list[i].w;
        if (seen && seen->type == w->type && seen->rows == w->rows && seen->cols == w->cols)
            return CARAT_OK;
    }
    return w->layout == CT_LAYOUT_TABLE ? add_rows(ts, place, w)
           : norm                       ? add_elementwise(ts, CT_NORM, w->cols, w)
                                        : add_products(ts, place, w);
}

/* Positions near, far, and the last of the context. */
static carat_status add_positions(struct trials *ts, int kind)
{
    const int position[] = {0, 1, 777, ts->v->model->config.max_context - 1};

    for (size_t i = 0; i < CT_COUNT(position); i++)
        CT_TRY(add_trial(ts, (struct trial){try_rope, "rope", .n = position[i], .at = kind},
                         "position %d of %s layers", position[i], kind == CT_LOCAL ? "local" : "global"));
    return CARAT_OK;
}

static carat_status add_attention(struct trials *ts, int layer)
{
    static const int queries[] = {1, 7, CT_QUERIES};

    for (enum ct_kv_type kv = 0; kv < CT_KV_TYPE_COUNT; kv++)
        for (size_t i = 0; i < CT_COUNT(queries); i++)
            CT_TRY(add_trial(ts,
                             (struct trial){try_attend, "attention", .n = queries[i], .at = layer, .kv = kv},
                             "a KV cache of %s, heads of %d, %d quer%s, layer %d", ct_kv_info(kv)->name,
                             ts->v->model->config.layer[layer].head_dim, queries[i],
                             queries[i] == 1 ? "y" : "ies", layer));
    return CARAT_OK;
}

/* Does attention of this layer differ from that of all before it? */
static bool attends_anew(const struct ct_config *c, int layer)
{
    const struct ct_layer_config *l = &c->layer[layer];

    for (int i = 0; i < layer; i++)
        if (c->layer[i].head_dim == l->head_dim && c->layer[i].attn_type == l->attn_type &&
            ct_f32_bits(c->layer[i].attn_scale) == ct_f32_bits(l->attn_scale) &&
            ct_f32_bits(c->layer[i].attn_cap) == ct_f32_bits(l->attn_cap))
            return false;
    return true;
}

/* Adds the kernels that read the logits of a row, and those that a pruned head asks: of its input, of scores,
 * of the cap. */
static carat_status add_head(struct trials *ts)
{
    const struct ct_config *c = &ts->v->model->config;
    const struct trial of_head[] = {
        {try_values, "finite", .n = c->n_vocab, .values = ct_case_finite},
        {try_values, "above", .n = c->n_vocab, .values = ct_case_above},
        {try_values, "log_sum", .n = c->n_vocab, .values = ct_case_log_sum},
        {try_values, "entropy", .n = c->n_vocab, .values = ct_case_entropy},
        {try_draw, "draw", .n = c->n_vocab},
        {try_select, "select", .n = c->n_vocab},
        {try_values, "input_norms", .n = c->hidden, .values = ct_case_input_norms},
        {try_prune, "prune", .n = c->n_vocab},
        {try_uncap, "uncap", .n = 1},
    };

    for (size_t i = 0; i < CT_COUNT(of_head); i++)
        if (of_head[i].run != try_uncap || c->logit_cap > 0)
            CT_TRY(add_trial(ts, of_head[i], "%d value%s", of_head[i].n, of_head[i].n == 1 ? "" : "s"));
    return CARAT_OK;
}

/* Adds the kernels that Gemma 3n has beside the others. */
static carat_status add_streams(struct trials *ts)
{
    const struct ct_config *c = &ts->v->model->config;

    if (!c->altup)
        return CARAT_OK;
    CT_TRY(add_trial(ts, (struct trial){try_altup, "altup", .n = c->hidden}, "rows of %d streams of %d",
                     CT_STREAMS, c->hidden));
    CT_TRY(add_elementwise(ts, CT_ALTUP_MATCH, c->hidden, NULL));
    return add_elementwise(ts, CT_CUTOFF, c->layer[0].ffn, NULL);
}

static carat_status list_trials(struct trials *ts)
{
    const struct carat_model *m = ts->v->model;
    const struct ct_config *c = &m->config;
    bool turned[CT_ATTN_TYPES] = {false};

    CT_TRY(ct_weights_walk(&m->weights, c, m->file, visit, ts));
    CT_TRY(add_rows(ts, "token_embd", &m->weights.embed));
    CT_TRY(add_elementwise(ts, CT_ADD, c->hidden, NULL));
    CT_TRY(add_elementwise(ts, CT_SCALE, c->hidden, NULL));
    CT_TRY(add_elementwise(ts, CT_GEGLU, c->layer[0].ffn, NULL));
    if (c->logit_cap > 0)
        CT_TRY(add_elementwise(ts, CT_SOFTCAP, c->n_vocab, NULL));
    for (int i = 0; i < c->n_layer; i++) {
        if (!turned[c->layer[i].attn_type])
            CT_TRY(add_positions(ts, c->layer[i].attn_type));
        turned[c->layer[i].attn_type] = true;
        if (attends_anew(c, i))
            CT_TRY(add_attention(ts, i));
    }
    CT_TRY(add_streams(ts));
    return add_head(ts);
}

/* ---- running it ---- */

static carat_status run_trials(struct trials *ts, carat_error *err)
{
    for (; ts->first < ts->n; ts->first += BATCH) {
        int n = CT_MIN(BATCH, ts->n - ts->first);
        ct_verify_run(ts->v, n, run_trial, ts);
        for (int i = ts->first; i < ts->first + n; i++)
            if (ts->list[i].failed)
                return ct_fail(err, CARAT_E_MEMORY, "out of memory for %s on %s", ts->list[i].name,
                               ts->list[i].what);
        CT_TRY(ct_verify_step(ts->v, (size_t)(ts->first + n), (size_t)ts->n, err));
    }
    return CARAT_OK;
}

/* Names the first trial that another level decides differently than ref. */
static int judge_trials(const struct trials *ts)
{
    for (int i = 0; i < ts->n; i++)
        if (*ts->list[i].differs) {
            ct_verify_say(ts->v, "%s", ts->list[i].differs);
            return CT_FAILED;
        }
    ct_verify_say(ts->v, "%d calls give the bits of ref at each level:", ts->n);
    for (int i = 0; i < ts->n_level; i++)
        ct_verify_say(ts->v, "%s %s", i ? "," : "", ts->level[i].isa);
    return CT_PASSED;
}

carat_status ct_verify_levels(struct ct_verify *v, const struct ct_kernel *level, int n_level, int *verdict,
                              carat_error *err)
{
    struct trials ts = {.v = v, .level = level, .n_level = n_level};
    carat_status status = list_trials(&ts);

    if (status)
        ct_no_memory(err, "the list of kernels");
    else
        status = run_trials(&ts, err);
    if (!status)
        *verdict = judge_trials(&ts);
    free(ts.list);
    return status;
}

carat_status ct_verify_kernels(struct ct_verify *v, int *verdict, carat_error *err)
{
    struct ct_kernel level[CT_MOST_LEVELS];
    struct ct_cpu cpu;
    const char *name;
    int n = 0;

    ct_cpu_detect(&cpu);
    for (int i = 0; (name = carat_isa_name(i)) != NULL; i++) {
        bool there = ct_kernel_choose(&level[n], &cpu, name) && strcmp(level[n].isa, name) == 0;
        n += there;
        if (there && strcmp(name, v->kernel.isa) == 0)
            break;
    }
    return ct_verify_levels(v, level, n, verdict, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* verify_kernels.c: which calls of kernels a model makes, as a list of trials (verify_trial.c): every type
 * and shape of its matrices, its norms, heads, positions, activations and KV types. The level that engines
 * would use here and all below it are compared with ref. kcheck (test/kernel) does the same over random
 * shapes and hard values. */
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "check/verify.h"
#include "check/verify_trial.h"
#include "kernel/level.h"

enum {
    RUN = 5 * CT_PANEL_ROWS, /* rows of a product: four panels side by side, and one alone */
    BATCH = 16,              /* trials between two reports of progress */
};

struct trials {
    struct ct_comparison c;
    struct ct_trial *list;
    carat_status *status; /* of each, when it has run */
    size_t capacity;
    int n, first;
};

/* ---- the list ---- */

/* A new trial with its own inputs; NULL when memory is out. */
static struct ct_trial *add(struct trials *ts, struct ct_trial trial)
{
    if (!ct_array_grow(&ts->list, &ts->capacity, (size_t)ts->n + 1, sizeof *ts->list))
        return NULL;
    trial.random = (uint64_t)ts->n + 1;
    ts->list[ts->n] = trial;
    return &ts->list[ts->n++];
}

static carat_status add_product(struct trials *ts, const char *place, const struct ct_weight *w, int r0,
                                int n, bool exact)
{
    struct ct_trial *t = add(ts, (struct ct_trial){ct_try_product, "project", "", w, r0,
                                                   CT_MIN(r0 + RUN, w->rows), n, .exact = exact});
    if (!t)
        return CARAT_E_MEMORY;
    snprintf(t->what, sizeof t->what, "%s (%s, %d x %d), rows %d to %d, %d token%s, %s", place,
             ct_type_info(w->type)->name, w->rows, w->cols, t->r0, t->r1 - 1, n, n == 1 ? "" : "s",
             exact ? "exact" : "fast");
    return CARAT_OK;
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
    struct ct_trial *t = add(
        ts, (struct ct_trial){ct_try_elementwise, ct_elementwise_name(at), .n = n, .at = (int)at, .w = w});

    if (t)
        snprintf(t->what, sizeof t->what, "%d values", n);
    return t ? CARAT_OK : CARAT_E_MEMORY;
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
    return norm ? add_elementwise(ts, CT_NORM, w->cols, w) : add_products(ts, place, w);
}

static carat_status add_rows(struct trials *ts)
{
    const struct ct_weight *w = &ts->c.model->weights.embed;
    struct ct_trial *t = add(ts, (struct ct_trial){ct_try_dequantize_row, "dequantize_row", "", w,
                                                   .r1 = CT_MIN(CT_PANEL_ROWS, w->rows)});

    if (t)
        snprintf(t->what, sizeof t->what, "rows of token_embd (%s, %d x %d)", ct_type_info(w->type)->name,
                 w->rows, w->cols);
    return t ? CARAT_OK : CARAT_E_MEMORY;
}

/* Positions near, far, and the last of the context. */
static carat_status add_positions(struct trials *ts, int kind)
{
    const int position[] = {0, 1, 777, ts->c.model->config.max_context - 1};

    for (size_t i = 0; i < CT_COUNT(position); i++) {
        struct ct_trial *t = add(ts, (struct ct_trial){ct_try_rope, "rope", .n = position[i], .at = kind});
        if (!t)
            return CARAT_E_MEMORY;
        snprintf(t->what, sizeof t->what, "position %d of %s layers", position[i],
                 kind == CT_LOCAL ? "local" : "global");
    }
    return CARAT_OK;
}

static carat_status add_attention(struct trials *ts, int layer)
{
    static const int queries[] = {1, 7, CT_QUERIES};

    for (int kv = 0; kv < CT_KV_TYPE_COUNT; kv++)
        for (size_t i = 0; i < CT_COUNT(queries); i++) {
            struct ct_trial *t = add(ts, (struct ct_trial){ct_try_attend, "attention", .n = queries[i],
                                                           .at = layer, .kv = (enum ct_kv_type)kv});
            if (!t)
                return CARAT_E_MEMORY;
            snprintf(t->what, sizeof t->what, "a KV cache of %s, heads of %d, %d quer%s, layer %d",
                     ct_kv_info((enum ct_kv_type)kv)->name, ts->c.model->config.layer[layer].head_dim,
                     queries[i], queries[i] == 1 ? "y" : "ies", layer);
        }
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

static carat_status add_values(struct trials *ts, ct_try *run, const char *name, int n, const char *what)
{
    struct ct_trial *t = add(ts, (struct ct_trial){run, name, .n = n});

    if (t)
        snprintf(t->what, sizeof t->what, "%d %s", n, what);
    return t ? CARAT_OK : CARAT_E_MEMORY;
}

static carat_status add_logits(struct trials *ts, ct_try *run, const char *name)
{
    return add_values(ts, run, name, ts->c.model->config.n_vocab, "logits");
}

/* What a pruned head asks: of its input, of scores, of the cap. */
static carat_status add_head(struct trials *ts)
{
    const struct ct_config *c = &ts->c.model->config;

    CT_TRY(add_logits(ts, ct_try_select, "select"));
    CT_TRY(add_values(ts, ct_try_input_norms, "input_norms", c->hidden, "values"));
    CT_TRY(add_values(ts, ct_try_prune, "prune", c->n_vocab, "scores"));
    return c->logit_cap > 0 ? add_values(ts, ct_try_uncap, "uncap", 1, "logit under the soft-cap") : CARAT_OK;
}

static carat_status list(struct trials *ts)
{
    const struct carat_model *m = ts->c.model;
    const struct ct_config *c = &m->config;
    bool turned[CT_ATTN_TYPES] = {false};

    CT_TRY(ct_weights_walk(&m->weights, c, m->file, visit, ts));
    CT_TRY(add_rows(ts));
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
    CT_TRY(add_logits(ts, ct_try_finite, "finite"));
    CT_TRY(add_logits(ts, ct_try_log_sum, "log_sum"));
    CT_TRY(add_logits(ts, ct_try_entropy, "entropy"));
    CT_TRY(add_logits(ts, ct_try_draw, "draw"));
    CT_TRY(add_head(ts));
    ts->status = calloc((size_t)ts->n, sizeof *ts->status);
    return ts->status ? CARAT_OK : CARAT_E_MEMORY;
}

/* ---- running it ---- */

static void run_trial(void *arg, int item, int thread)
{
    struct trials *ts = arg;

    (void)thread;
    ts->status[ts->first + item] = ct_trial_run(&ts->list[ts->first + item], &ts->c);
}

/* The first that another level decides differently than ref; NULL when there is none. */
static const struct ct_trial *first_difference(const struct trials *ts)
{
    for (int i = 0; i < ts->n; i++)
        if (*ts->list[i].differs)
            return &ts->list[i];
    return NULL;
}

static carat_status run_all(struct trials *ts, struct ct_verify *v, carat_error *err)
{
    for (; ts->first < ts->n; ts->first += BATCH) {
        int n = CT_MIN(BATCH, ts->n - ts->first);
        ct_verify_run(v, n, run_trial, ts);
        for (int i = ts->first; i < ts->first + n; i++)
            if (ts->status[i])
                return ct_fail(err, ts->status[i], "out of memory for %s on %s", ts->list[i].name,
                               ts->list[i].what);
        CT_TRY(ct_verify_step(v, (size_t)(ts->first + n), (size_t)ts->n, err));
    }
    return CARAT_OK;
}

carat_status ct_verify_levels(struct ct_verify *v, const struct ct_kernel *level, int n_level, int *verdict,
                              carat_error *err)
{
    struct trials ts = {.c = {v->model, level, n_level}};
    carat_status status = list(&ts);

    if (status)
        status = ct_fail(err, status, "out of memory for the list of kernels");
    else
        status = run_all(&ts, v, err);
    if (!status) {
        const struct ct_trial *t = first_difference(&ts);
        *verdict = t ? CT_FAILED : CT_PASSED;
        if (t)
            ct_verify_say(v, "%s", t->differs);
        else
            ct_verify_say(v, "%d calls give the bits of ref at each level:", ts.n);
        for (int i = 0; i < n_level && !t; i++)
            ct_verify_say(v, "%s %s", i ? "," : "", level[i].isa);
    }
    free(ts.list);
    free(ts.status);
    return status;
}

carat_status ct_verify_kernels(struct ct_verify *v, int *verdict, carat_error *err)
{
    struct ct_kernel level[CT_MOST_LEVELS];
    struct ct_cpu cpu;
    const char *name;
    int n = 0;

    ct_cpu_detect(&cpu);
    for (int i = 0; (name = ct_isa_name(i)) != NULL; i++) {
        bool there = ct_kernel_choose(&level[n], &cpu, name) && strcmp(level[n].isa, name) == 0;
        n += there;
        if (there && strcmp(name, v->kernel.isa) == 0)
            break;
    }
    return ct_verify_levels(v, level, n, verdict, err);
}

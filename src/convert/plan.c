/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c: see plan.h. Weights are taken as the forward pass has them, by the names of GGUF, so that no
 * container of a source matters here; what type each tensor gets: recipe.c, what a GGUF file says beside
 * them: keys.c. */
#include "convert/plan.h"

#include <stdlib.h>

#include "convert/keys.h"

enum { CHUNK = 1 << 20 }; /* bytes of a tensor that a thread fills at once, but for long rows */

/* Slots whose tensors are not called by their own name and ".weight": a number at the end of a slot says
 * which matrix of a tensor it is, and they follow one another there. */
static const struct renamed {
    const char *slot, *tensor;
    bool several;
} renamed[] = {
    {"ffn_gate_exps.", "ffn_gate_up_exps.weight", true},
    {"ffn_up_exps.", "ffn_gate_up_exps.weight", true},
    {"ffn_down_exps.", "ffn_down_exps.weight", true},
    {"ffn_gate_inp_scale", "ffn_gate_inp.scale", false},
    {"ffn_down_exps_scale", "ffn_down_exps.scale", false},
};

static carat_status count_weight(void *user, const char *slot, const char *tensor, const struct ct_weight *w)
{
    (void)slot, (void)tensor, (void)w;
    ((struct ct_conversion *)user)->n++;
    return CARAT_OK;
}

static int gguf_name(char name[CT_NEW_NAME], const struct ct_conversion *v, const char *slot)
{
    const char *own = strncmp(slot, "blk.", 4) == 0 ? strchr(slot + 4, '.') + 1 : slot;

    (void)v;
    for (size_t i = 0; i < CT_COUNT(renamed); i++) {
        const struct renamed *r = &renamed[i];
        const size_t n = strlen(r->slot);
        if (strncmp(own, r->slot, n) != 0)
            continue;
        snprintf(name, CT_NEW_NAME, "%.*s%s", (int)(own - slot), slot, r->tensor);
        return r->several ? atoi(own + n) + 1 : 0;
    }
    snprintf(name, CT_NEW_NAME, "%s.weight", slot);
    return 0;
}

/* The tensor of that name, the last or the one before it; a new one at the end. */
static int tensor_named(struct ct_conversion *v, const char *name)
{
    int i = v->n_tensor;

    while (i > 0 && i > v->n_tensor - 2)
        if (strcmp(v->tensor[--i].name, name) == 0)
            return i;
    v->tensor[v->n_tensor] =
        (struct ct_new_tensor){.name = ct_arena_str(&v->arena, name, strlen(name)), .type = CT_TYPE_COUNT};
    return v->n_tensor++;
}

/* A router's scale is multiplied by a root where the model is opened; containers have it without. */
static bool as_stored(struct ct_weight *w, const struct ct_conversion *v, const char *slot,
                      const char *source)
{
    const struct ct_tensor *t = ct_file_find(v->m->file, source);

    if (!strstr(slot, "ffn_gate_inp_scale"))
        return true;
    if (!t || !t->data || t->n_dim != 1 || t->dim[0] != w->cols || ct_type_info(t->type)->block != 1)
        return false;
    w->type = t->type;
    w->data = t->data;
    w->row_bytes = t->size;
    return true;
}

static carat_status gguf_take(struct ct_converted *c, enum ct_type *type, const struct ct_conversion *v,
                              const char *slot, const struct ct_weight *w, carat_error *err)
{
    c->w = *w;
    if (!as_stored(&c->w, v, slot, c->source))
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "%s: %s is not kept here as it was: convert the file that this one was made from",
                       ct_file_path(v->m->file), c->source);
    *type = ct_recipe_type(&v->recipe, slot, &c->w);
    return CARAT_OK;
}

static carat_status add_weight(void *user, const char *slot, const char *source, const struct ct_weight *w)
{
    struct ct_conversion *v = user;
    struct ct_converted *c = &v->c[v->n++];
    char name[CT_NEW_NAME];
    const int several = v->container->tensor(name, v, slot), at = tensor_named(v, name);
    struct ct_new_tensor *t = &v->tensor[at];
    enum ct_type type;

    *c = (struct ct_converted){
        .source = ct_arena_str(&v->arena, source, strlen(source)), .tensor = at, .chunks = v->n_chunk};
    if (!t->name || !c->source)
        return ct_no_memory(v->err, "the list of weights");
    CT_TRY(v->container->take(c, &type, v, slot, w, v->err));
    w = &c->w;
    if (t->type == CT_TYPE_COUNT)
        t->type = type;
    ct_type_row_bytes(t->type, (size_t)w->cols, &c->row_bytes); /* the container has seen to it */
    c->first = (int)(t->size / c->row_bytes);
    t->size += (size_t)w->rows * c->row_bytes;
    t->n_dim = several ? 3 : w->rows == 1 ? 1 : 2;
    const int rows = c->first + w->rows;
    const int64_t dims[3][3] = {
        {w->cols}, {w->rows, w->cols}, {several, several ? rows / several : 0, w->cols}};
    memcpy(t->dim, dims[t->n_dim - 1], sizeof dims[0]);
    c->rows = (int)CT_MAX((size_t)CHUNK / c->row_bytes, (size_t)1);
    v->n_chunk += (w->rows + c->rows - 1) / c->rows;
    return CARAT_OK;
}

/* Where some pairs of global heads do not turn, what their angles are divided by. */
static carat_status add_rope_freqs(struct ct_conversion *v)
{
    const struct ct_attn *global = &v->m->config.attn[CT_GLOBAL];
    const int n = global->head_dim / 2;
    float *divisor;

    if (global->rotated == n)
        return CARAT_OK;
    divisor = ct_arena_push(&v->arena, (size_t)n, sizeof *divisor);
    for (int i = 0; divisor && i < n; i++)
        divisor[i] = i < global->rotated ? 1 : 1e30f;
    const struct ct_weight w = {.type = CT_F32,
                                .layout = CT_LAYOUT_ROWS,
                                .rows = 1,
                                .cols = n,
                                .row_bytes = (size_t)n * sizeof *divisor,
                                .data = divisor,
                                .scale = 1};
    return divisor ? add_weight(v, "rope_freqs", CT_ROPE_FREQS, &w)
                   : ct_no_memory(v->err, "the list of weights");
}

/* llama.cpp's number for a file whose matrices are mostly of that type. */
static uint32_t file_type(enum ct_type type)
{
    static const uint8_t number[CT_TYPE_COUNT] = {
        [CT_F16] = 1,   [CT_Q4_0] = 2,    [CT_Q4_1] = 3,  [CT_Q8_0] = 7,    [CT_Q5_0] = 8,
        [CT_Q5_1] = 9,  [CT_Q2_K] = 10,   [CT_Q3_K] = 12, [CT_Q4_K] = 15,   [CT_Q5_K] = 17,
        [CT_Q6_K] = 18, [CT_IQ4_NL] = 25, [CT_BF16] = 32, [CT_IQ4_XS] = 30, [CT_MXFP4] = 38,
    };
    return number[type];
}

static enum ct_type most_of(const struct ct_conversion *v)
{
    size_t bytes[CT_TYPE_COUNT] = {0};
    enum ct_type most = CT_F32;

    for (int i = 0; i < v->n_tensor; i++)
        bytes[v->tensor[i].type] += v->tensor[i].size;
    for (int t = 0; t < CT_TYPE_COUNT; t++)
        most = bytes[t] > bytes[most] ? (enum ct_type)t : most;
    return most;
}

static carat_status gguf_end(struct ct_conversion *v, carat_error *err)
{
    ct_gguf_begin(&v->head);
    CT_TRY(ct_put_keys(&v->head, v->m, file_type(most_of(v)), err));
    return ct_gguf_end(&v->head, v->tensor, v->n_tensor, &v->size, v->path, err);
}

carat_status ct_plan_file(struct ct_conversion *v, carat_error *err)
{
    const struct carat_model *m = v->m;

    if (m->config.altup || m->config.embeds)
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "%s: it is a %s model, which carat runs, but does not convert yet",
                       ct_file_path(m->file), m->config.architecture);
    ct_weights_walk(&m->weights, &m->config, m->file, count_weight, v);
    v->c = ct_arena_push(&v->arena, (size_t)v->n + 1, sizeof *v->c);
    v->tensor = ct_arena_push(&v->arena, (size_t)v->n + 1, sizeof *v->tensor);
    v->n = 0;
    if (!v->c || !v->tensor)
        return ct_no_memory(err, "the list of weights");
    if (v->container == &ct_new_gguf)
        CT_TRY(add_rope_freqs(v));
    CT_TRY(ct_weights_walk(&m->weights, &m->config, m->file, add_weight, v));
    return v->container->end(v, err);
}

const struct ct_new_container ct_new_gguf = {
    .name = "GGUF", .tensor = gguf_name, .take = gguf_take, .end = gguf_end};

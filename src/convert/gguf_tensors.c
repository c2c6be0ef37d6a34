/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_tensors.c: the tensors of a new GGUF file: what they are called, how they are shaped, and those that
 * are no weights of a model. What the file says beside them: keys.c. */
#include "convert/keys.h"
#include "convert/plan.h"
#include "model/family.h"
#include "quant/palette.h"

#include <math.h>

static int gguf_name(char name[CT_NEW_NAME], const struct ct_conversion *v, const char *slot)
{
    struct ct_gguf_place place;

    ct_gguf_place(&place, &v->m->config, slot);
    snprintf(name, CT_NEW_NAME, "%s", place.name);
    return place.at + 1;
}

/* A value that times the factor gives v: a short one, as checkpoints have, or a neighbour of the quotient.
 * NaN: there is none. */
static float before_factor(float v, float factor)
{
    enum { NEAR = 4 };
    const float quotient = v / factor, brief = ct_bf16_to_f32(ct_f32_to_bf16(quotient));
    float x = quotient;

    if (brief * factor == v)
        return brief;
    for (int i = 0; i < NEAR; i++)
        x = nextafterf(x, -INFINITY);
    for (int i = 0; i <= 2 * NEAR; i++, x = nextafterf(x, INFINITY))
        if (x * factor == v)
            return x;
    return NAN;
}

/* A router's scale is multiplied by a root where the model is opened; containers have it without. *w becomes
 * that: as the source has it, else as it must have been. E_UNSUPPORTED, E_MEMORY. */
static carat_status without_root(struct ct_weight *w, struct ct_conversion *v, const char *source)
{
    const struct ct_tensor *t = ct_file_find(v->m->file, source);
    const float *from = w->data, root = (float)(1 / sqrt((double)v->m->config.hidden));

    if (t && t->data && t->n_dim == 1 && t->dim[0] == w->cols && ct_type_info(t->type)->block == 1) {
        w->type = t->type;
        w->data = t->data;
        w->row_bytes = t->size;
        return CARAT_OK;
    }
    float *x = ct_arena_push(&v->arena, (size_t)w->cols, sizeof *x);
    if (!x)
        return ct_no_memory(v->err, "the list of weights");
    for (int i = 0; i < w->cols; i++) {
        x[i] = before_factor(from[i], root);
        if (x[i] != x[i])
            return ct_fail(
                v->err, CARAT_E_UNSUPPORTED,
                "%s: value %d of %s is not kept here as it was: convert the file that this one was "
                "made from",
                ct_file_path(v->m->file), i, source);
    }
    w->data = x;
    return CARAT_OK;
}

/* Groups of int4 with a scale that f16 does not hold are bound as floats: Q4_0 would lose something. */
static carat_status check_int4(const struct ct_converted *c, enum ct_type type, const struct ct_conversion *v,
                               carat_error *err)
{
    char name[CT_NEW_NAME];

    if (type != CT_Q4_0 || c->w.type != CT_F32 || ct_file_is_packed(v->m->file))
        return CARAT_OK;
    snprintf(name, sizeof name, "%s_scale", c->source);
    const struct ct_tensor *scale = ct_file_find(v->m->file, name);
    if (!scale)
        return CARAT_OK;
    for (size_t i = 0; i + 1 < scale->size; i += 2) {
        const float d = ct_bf16_to_f32(ct_le16(scale->data + i));
        if (ct_f16_to_f32(ct_f32_to_f16(d)) != d)
            return ct_fail(err, CARAT_E_UNSUPPORTED,
                           "%s: tensor %s has the scale %g at byte %llu, which f16 does not hold, so that %s "
                           "cannot become Q4_0 without loss",
                           scale->file, name, (double)d, (unsigned long long)(scale->offset + i), c->source);
    }
    return CARAT_OK;
}

static carat_status gguf_take(struct ct_converted *c, enum ct_type *type, const struct ct_conversion *v,
                              const char *slot, const struct ct_weight *w, carat_error *err)
{
    const struct ct_chosen *chosen = ct_recipe_tensor(&v->recipe, &v->m->config, slot);
    struct ct_gguf_place place;

    c->w = *w;
    *type = chosen ? chosen->type : w->type;
    CT_TRY(check_int4(c, *type, v, err));
    ct_gguf_place(&place, &v->m->config, slot);
    c->w.rows *= place.rows;
    c->w.cols /= place.rows;
    c->w.row_bytes /= (size_t)place.rows;
    return CARAT_OK;
}

/* Adds the divisors of angles, where some pairs of global heads do not turn. */
static carat_status add_rope_freqs(struct ct_conversion *v)
{
    const struct ct_config *config = &v->m->config;
    const struct ct_attn *global = &config->attn[CT_GLOBAL], *local = &config->attn[CT_LOCAL];
    const struct ct_architecture *a = ct_architecture_named(ct_str_of(config->architecture));
    const int n = global->head_dim / 2;
    float *divisor;

    if ((global->rotated < n && a->rotated == 1) || local->rotated < local->head_dim / 2)
        return ct_fail(v->err, CARAT_E_UNSUPPORTED,
                       "%s: %d of %d pairs of a head turn (rope_type \"proportional\"), which GGUF says of "
                       "global layers of Gemma 4 only: write safetensors",
                       v->path, CT_MIN(global->rotated, local->rotated), n);
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
    return divisor ? ct_plan_weight(v, "rope_freqs", CT_ROPE_FREQS, &w)
                   : ct_no_memory(v->err, "the list of weights");
}

/* Writes how the file was made, or, where nothing is changed, how the one that it is made from was. */
static carat_status put_recipe(struct ct_conversion *v, carat_error *err)
{
    static const char key[] = "carat.recipe";
    const struct ct_meta *old = ct_file_meta(v->m->file, key);
    const char *made = ct_recipe_text(&v->recipe, &v->arena);

    if (!made)
        return ct_no_memory(err, "a recipe");
    if (*made)
        ct_gguf_put_string(&v->head, key, ct_str_of(made));
    else if (old && old->type == CT_META_STRING && !ct_gguf_copies(v))
        ct_gguf_put_string(&v->head, key, old->s);
    return CARAT_OK;
}

/* As llama-quantize says it; of the path only the name, so that it does not matter where the file lay. */
static void put_importance(struct ct_conversion *v)
{
    const struct ct_importance *i = &v->importance;
    const char *name = v->importance_path;

    if (!v->recipe.importance)
        return;
    for (const char *at = name; *at; at++)
        name = *at == '/' ? at + 1 : name;
    ct_gguf_put_string(&v->head, "quantize.imatrix.file", ct_str_of(name));
    if (i->dataset)
        ct_gguf_put_string(&v->head, "quantize.imatrix.dataset", ct_str_of(i->dataset));
    ct_gguf_put_uint(&v->head, "quantize.imatrix.entries_count", (uint32_t)i->n);
    if (i->chunks)
        ct_gguf_put_uint(&v->head, "quantize.imatrix.chunks_count", i->chunks);
}

/* Writes the residual scale; a source that was scaled already has one, too. */
static carat_status put_residual(struct ct_conversion *v, carat_error *err)
{
    static const char key[] = "carat.residual_scale";
    double all = 1;

    if (ct_gguf_copies(v)) /* the source's key is there */
        return CARAT_OK;
    if (ct_file_meta(v->m->file, key))
        CT_TRY(ct_file_meta_float(v->m->file, key, &all, err));
    all *= (double)v->residual;
    if (all != 1)
        ct_gguf_put_float(&v->head, key, (float)all);
    return CARAT_OK;
}

static carat_status gguf_end(struct ct_conversion *v, carat_error *err)
{
    ct_gguf_begin(&v->head);
    if (ct_gguf_copies(v))
        CT_TRY(ct_gguf_copy_keys(v, err));
    else
        CT_TRY(ct_put_keys(&v->head, v->m, ct_recipe_file_type(&v->recipe), v->tied ? v->residual : 1, err));
    CT_TRY(put_recipe(v, err));
    put_importance(v);
    CT_TRY(put_residual(v, err));
    if (v->kept)
        CT_TRY(ct_gguf_keep_keys(v, err));
    for (int i = 0; i < v->n; i++)
        if (v->c[i].palette >= 0) {
            ct_gguf_put_uint(&v->head, CT_PALETTE_KEY, 1);
            break;
        }
    CT_TRY(ct_set_keys(&v->head, v->o, err));
    CT_TRY(ct_gguf_end(&v->head, v->tensor, v->n_tensor, &v->size, v->path, err));
    v->heads = v->head.n;
    return CARAT_OK;
}

/* Plans a weight that is bound in another form, or with more or fewer rows, than a file has it. */
static carat_status plan_weight(void *conversion, const char *slot, const char *source,
                                const struct ct_weight *w)
{
    struct ct_conversion *v = conversion;
    const struct ct_config *c = &v->m->config;

    struct ct_weight stored = *w;

    if (strstr(slot, "ffn_gate_inp_scale"))
        CT_TRY(without_root(&stored, v, source));
    CT_TRY(ct_plan_weight(v, slot, source, &stored));
    if (c->altup && strcmp(slot, "per_layer_token_embd") == 0 && w->rows < c->n_vocab)
        return ct_plan_zeros(v, c->n_vocab - w->rows); /* a row for each of the embedding */
    return ct_plan_order(v, w, false);
}

static carat_status gguf_list(struct ct_conversion *v)
{
    const struct carat_model *m = v->m;

    if (v->kept || ct_gguf_copies(v))
        return ct_gguf_copy_tensors(v);
    CT_TRY(add_rope_freqs(v));
    return ct_weights_walk(&m->weights, &m->config, m->file, plan_weight, v);
}

const struct ct_new_container ct_new_gguf = {
    .name = "GGUF",
    .palettes = true,
    .tensor = gguf_name,
    .take = gguf_take,
    .list = gguf_list,
    .end = gguf_end,
};

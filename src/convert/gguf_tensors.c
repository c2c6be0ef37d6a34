/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_tensors.c: the tensors of a new GGUF file: what they are called, how they are shaped, and those that
 * are no weights of a model. What the file says beside them: keys.c. */
#include "convert/keys.h"
#include "convert/plan.h"
#include "quant/palette.h"

static int gguf_name(char name[CT_NEW_NAME], const struct ct_conversion *v, const char *slot)
{
    struct ct_gguf_place place;

    ct_gguf_place(&place, &v->m->config, slot);
    snprintf(name, CT_NEW_NAME, "%s", place.name);
    return place.at + 1;
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
    struct ct_gguf_place place;

    c->w = *w;
    if (!as_stored(&c->w, v, slot, c->source))
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "%s: %s is not kept here as it was: convert the file that this one was made from",
                       ct_file_path(v->m->file), c->source);
    *type = ct_recipe_type(&v->recipe, &v->m->config, slot);
    ct_gguf_place(&place, &v->m->config, slot);
    c->w.rows *= place.rows;
    c->w.cols /= place.rows;
    c->w.row_bytes /= (size_t)place.rows;
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
    return divisor ? ct_plan_weight(v, "rope_freqs", CT_ROPE_FREQS, &w)
                   : ct_no_memory(v->err, "the list of weights");
}

/* How the file was made, or how the one that it is made from was, where nothing is changed. */
static carat_status put_recipe(struct ct_conversion *v, carat_error *err)
{
    static const char key[] = "carat.recipe";
    const struct ct_meta *old = ct_file_meta(v->m->file, key);
    const char *made = ct_recipe_text(&v->recipe, &v->arena);

    if (!made)
        return ct_no_memory(err, "a recipe");
    if (*made)
        ct_gguf_put_string(&v->head, key, ct_str_of(made));
    else if (old && old->type == CT_META_STRING)
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

static carat_status gguf_end(struct ct_conversion *v, carat_error *err)
{
    ct_gguf_begin(&v->head);
    CT_TRY(ct_put_keys(&v->head, v->m, ct_recipe_file_type(&v->recipe), err));
    CT_TRY(put_recipe(v, err));
    put_importance(v);
    for (int i = 0; i < v->n; i++)
        if (v->c[i].palette >= 0) {
            ct_gguf_put_uint(&v->head, CT_PALETTE_KEY, 1);
            break;
        }
    CT_TRY(ct_gguf_end(&v->head, v->tensor, v->n_tensor, &v->size, v->path, err));
    v->heads = v->head.n;
    return CARAT_OK;
}

/* The table of inputs of Gemma 3n gets a row for each of the embedding. */
static carat_status plan_weight(void *conversion, const char *slot, const char *source,
                                const struct ct_weight *w)
{
    struct ct_conversion *v = conversion;
    const struct ct_config *c = &v->m->config;

    CT_TRY(ct_plan_weight(v, slot, source, w));
    return c->altup && strcmp(slot, "per_layer_token_embd") == 0 && w->rows < c->n_vocab
               ? ct_plan_zeros(v, c->n_vocab - w->rows)
               : CARAT_OK;
}

static carat_status gguf_list(struct ct_conversion *v)
{
    const struct carat_model *m = v->m;

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

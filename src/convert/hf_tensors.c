/* SPDX-License-Identifier: Apache-2.0 */
/* hf_tensors.c: the tensors of a Hugging Face directory: what they are called, which type each has, and in
 * which file it lies. Names: src/model/weights_hf.c; the format: src/file/safetensors_write.c. */
#include "convert/hf.h"

#include "convert/residual.h"
#include "file/packed.h"
#include "model/family.h"

bool ct_hf_keeps_config(const struct ct_conversion *v)
{
    const struct ct_json_value *root = NULL;

    return ct_file_kind(v->m->file) == CT_FILE_HF &&
           ct_file_json(v->m->file, "config.json", "config.json", &root, NULL) == CARAT_OK &&
           !ct_json_given(root, "quantization_config");
}

/* As transformers has models of text; a directory that keeps its config.json keeps its names, too. */
static int hf_name(char name[CT_NEW_NAME], const struct ct_conversion *v, const char *slot)
{
    struct ct_weights w = v->m->weights;
    struct ct_gguf_place place;

    if (!ct_hf_keeps_config(v)) {
        const struct ct_config *c = &v->m->config;
        w.prefix = !c->embeds ? NULL : c->vector_inside ? "language_model." : "";
        w.ple_apart = c->vector_inside;
    }
    ct_hf_place(&place, &w, &v->m->config, slot);
    snprintf(name, CT_NEW_NAME, "%s", place.name);
    return place.at + 1;
}

static bool is_float(enum ct_type type)
{
    return type == CT_F32 || type == CT_F16 || type == CT_BF16;
}

/* Norms, and what is as small: in the type that a directory has; from others, and scaled, F32, since 1 less
 * than the weight may need all bits of it. Points c->w at what is stored, where the model has made more of
 * it. */
static enum ct_type take_small(struct ct_converted *c, const struct ct_conversion *v, bool scaled)
{
    const struct ct_file *f = v->m->file;
    const struct ct_tensor *t = ct_file_find(f, c->source);
    const struct ct_architecture *a = ct_architecture_named(ct_str_of(v->m->config.architecture));
    const bool stored = t && t->data && t->n_dim <= 2 && is_float(t->type) &&
                        !(scaled && v->m->config.norm_plus_one); /* what is scaled has the 1 */
    const bool lacks_one = stored && v->m->config.norm_plus_one;

    if (stored) {
        c->w.type = t->type;
        c->w.data = t->data;
        c->w.rows = t->n_dim == 2 ? (int)t->dim[0] : 1;
        c->w.cols = (int)t->dim[t->n_dim - 1];
        c->w.row_bytes = t->size / (size_t)CT_MAX(c->w.rows, 1);
        c->w.scale = t->scale;
    }
    if (a && !a->norms_as_stored && !lacks_one)
        c->less = 1;
    return stored && !scaled && ct_file_kind(f) == CT_FILE_HF ? t->type : CT_F32;
}

static carat_status hf_take(struct ct_converted *c, enum ct_type *type, const struct ct_conversion *v,
                            const char *slot, const struct ct_weight *w, carat_error *err)
{
    const struct ct_packed *packed = ct_file_packed(v->m->file);
    const struct ct_chosen *chosen = ct_recipe_tensor(&v->recipe, &v->m->config, slot);

    if (packed)
        return ct_fail(
            err, CARAT_E_UNSUPPORTED,
            "%s: a packed file does not have all of a directory: convert %.*s, which it was made from",
            ct_file_path(v->m->file), (int)packed->origin.n, packed->origin.s);
    *type = chosen ? chosen->type : w->type;
    if (!is_float(*type) && (!chosen || *type == chosen->stored))
        *type = CT_BF16;
    if (!is_float(*type))
        return ct_fail(
            err, CARAT_E_ARGUMENT,
            "%s: safetensors have no place for blocks of %s: name a type of F32, F16 and BF16, or a "
            ".gguf file",
            v->path, ct_type_info(*type)->name);
    if (v->tied && v->residual != 1)
        return ct_fail(
            err, CARAT_E_UNSUPPORTED,
            "%s: an embedding that keeps its values has another factor, which only .gguf files say", v->path);
    c->w = *w;
    if (w->rows == 1)
        *type = take_small(c, v, ct_residual_factor(&v->m->config, slot, v->residual) != 1);
    return CARAT_OK;
}

/* Matrices of modules lie in their folders (hf_write.c). */
static carat_status plan_tensor(void *conversion, const char *slot, const char *source,
                                const struct ct_weight *w)
{
    struct ct_conversion *v = conversion;

    if (strncmp(slot, "dense_", 6) == 0 && !v->m->config.vector_inside)
        return CARAT_OK;
    CT_TRY(ct_plan_weight(v, slot, source, w));
    return ct_plan_order(v, w, true);
}

static carat_status hf_list(struct ct_conversion *v)
{
    const struct carat_model *m = v->m;

    CT_TRY(ct_weights_walk(&m->weights, &m->config, m->file, plan_tensor, v));
    return ct_plan_dead(v);
}

static carat_status hf_end(struct ct_conversion *v, carat_error *err)
{
    v->n_shard = ct_safetensors_spread(v->tensor, v->n_tensor, v->shard_bytes);
    if (v->n_shard > CT_MOST_SHARDS)
        return ct_fail(err, CARAT_E_ARGUMENT, "%s would have %d files of at most %llu bytes; the limit is %d",
                       v->path, v->n_shard, (unsigned long long)v->shard_bytes, CT_MOST_SHARDS);
    v->shard = ct_arena_push(&v->arena, (size_t)v->n_shard, sizeof *v->shard);
    if (!v->shard) {
        v->n_shard = 0;
        return ct_no_memory(err, v->path);
    }
    for (int i = 0; i < v->n_shard; i++) {
        struct ct_new_shard *s = &v->shard[i];
        CT_TRY(ct_safetensors_head(&s->head, v->tensor, v->n_tensor, i, &s->size, v->path, err));
        v->size += s->size;
        v->heads += s->head.n;
    }
    return CARAT_OK;
}

enum ct_type ct_hf_embedding(const struct ct_conversion *v)
{
    return v->tensor[v->c[v->embed].tensor].type;
}

const struct ct_new_container ct_new_hf = {
    .name = "config.json", .tensor = hf_name, .take = hf_take, .list = hf_list, .end = hf_end};

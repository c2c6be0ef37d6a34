/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_copy.c: a GGUF file out of another one, see plan.h. Tensors keep their order, names and shapes, and so
 * do those that the model has no place for. What becomes of a matrix is asked of the recipe, by the slot that
 * it is bound to. */
#include "convert/plan.h"

#include "convert/keys.h"
#include "quant/palette.h"

/* The use that the model makes of a tensor. */
struct use {
    const char *slot; /* that it is bound to, the first of several; NULL: to none */
    bool matrix;      /* there, else it is a vector or a small matrix, whose type stays */
    bool scaled;      /* by a tensor beside it, which is part of its type */
    enum ct_type type;
};

struct copying {
    struct ct_conversion *v;
    const struct ct_file *f;
    struct use *use;                /* [tensors] */
    const struct ct_tensor *scaled; /* whose matrices are planned one by one */
};

/* True when anything gets another type. */
static bool changes(const struct ct_conversion *v)
{
    return v->recipe.mix || v->recipe.words || v->recipe.scheme.kind != CT_BLOCKS;
}

/* Palettes, and scales that rows share, are planned by matrices of the model. */
static bool is_plain(const struct ct_recipe *r)
{
    int i = 0;

    while (i < r->n && r->tensor[i].scheme.kind == CT_BLOCKS)
        i++;
    return i == r->n;
}

bool ct_gguf_copies(const struct ct_conversion *v)
{
    const struct ct_file *f = v->m->file;

    return ct_file_kind(f) == CT_FILE_GGUF && v->residual == 1 && !ct_file_is_packed(f) &&
           (!changes(v) || (!ct_file_meta(f, CT_PALETTE_KEY) && is_plain(&v->recipe)));
}

static int number_of(const struct copying *k, const char *name)
{
    const struct ct_tensor *t = ct_file_find(k->f, name);

    return t ? (int)(t - ct_file_tensor(k->f, 0)) : -1;
}

static carat_status note_use(void *copying, const char *slot, const char *tensor, const struct ct_weight *w)
{
    struct copying *k = copying;
    const int i = number_of(k, tensor);

    if (i < 0)
        return CARAT_OK;
    struct use *u = &k->use[i];
    u->scaled = u->scaled || w->scale != 1;
    if (u->slot)
        return CARAT_OK;
    u->matrix = w->rows > 1;
    u->slot = ct_arena_str(&k->v->arena, slot, strlen(slot));
    return u->slot ? CARAT_OK : ct_no_memory(k->v->err, "the list of tensors");
}

/* The factor of a matrix, or what its input is divided by, which goes where the matrix gets another type. */
static bool goes(const struct copying *k, const struct ct_tensor *t)
{
    static const char *const endings[] = {".input_scale", ".scale"};
    const size_t n = strlen(t->name);
    char name[CT_NEW_NAME];

    for (size_t i = 0; i < CT_COUNT(endings); i++) {
        const size_t k_end = strlen(endings[i]);
        if (n <= k_end || n >= CT_NEW_NAME || strcmp(t->name + n - k_end, endings[i]) != 0)
            continue;
        snprintf(name, sizeof name, "%.*s.weight", (int)(n - k_end), t->name);
        const int at = number_of(k, name);
        return at >= 0 && !k->use[t - ct_file_tensor(k->f, 0)].slot && k->use[at].scaled &&
               k->use[at].type != ct_file_tensor(k->f, at)->type;
    }
    return false;
}

/* The next entry of the plan, for the last tensor. */
static void plan_rows(struct ct_conversion *v, const struct ct_tensor *t, const struct ct_weight *w)
{
    struct ct_converted *c = &v->c[v->n++];

    *c = (struct ct_converted){.w = *w, .source = t->name, .tensor = v->n_tensor - 1, .palette = -1};
    ct_plan_rows(v, c, 0);
}

static carat_status plan_scaled(void *copying, const char *slot, const char *tensor,
                                const struct ct_weight *w)
{
    struct copying *k = copying;

    (void)slot;
    if (strcmp(tensor, k->scaled->name) == 0)
        plan_rows(k->v, k->scaled, w);
    return CARAT_OK;
}

static carat_status plan_tensor(struct copying *k, int i)
{
    struct ct_conversion *v = k->v;
    const struct carat_model *m = v->m;
    const struct ct_tensor *t = ct_file_tensor(k->f, i);
    const enum ct_type type = k->use[i].type;
    struct ct_new_tensor *to = &v->tensor[v->n_tensor++];
    int64_t rows = 1;

    for (int d = 0; d + 1 < t->n_dim; d++)
        rows *= t->dim[d];
    if (rows > INT32_MAX || t->dim[t->n_dim - 1] > INT32_MAX)
        return ct_fail(v->err, CARAT_E_UNSUPPORTED, "%s: tensor %s has %lld rows of %lld values", t->file,
                       t->name, (long long)rows, (long long)t->dim[t->n_dim - 1]);
    *to = (struct ct_new_tensor){.name = t->name, .type = type, .type_name = t->type_name};
    if (k->use[i].scaled && type != t->type) {
        k->scaled = t;
        CT_TRY(ct_weights_walk(&m->weights, &m->config, k->f, plan_scaled, k));
    } else {
        /* of a stack each matrix may have importance of its own */
        const int n = t->n_dim == 3 && k->use[i].slot ? (int)t->dim[0] : 1;
        for (int at = 0; at < n; at++) {
            const struct ct_weight w = {.type = t->type,
                                        .layout = CT_LAYOUT_ROWS,
                                        .rows = (int)rows / n,
                                        .cols = (int)t->dim[t->n_dim - 1],
                                        .row_bytes = t->size / (size_t)rows,
                                        .data = t->data + t->size / (size_t)n * (size_t)at,
                                        .scale = 1};
            plan_rows(v, t, &w);
        }
    }
    if (k->use[i].slot && strcmp(k->use[i].slot, "token_embd") == 0)
        v->embed = v->n - 1;
    to->n_dim = t->n_dim;
    memcpy(to->dim, t->dim, sizeof to->dim);
    return CARAT_OK;
}

carat_status ct_gguf_copy_tensors(struct ct_conversion *v)
{
    const struct carat_model *m = v->m;
    struct copying k = {.v = v, .f = ct_taken_from(v)};
    const int n = ct_file_tensor_count(k.f);

    k.use = ct_arena_push(&v->arena, (size_t)n, sizeof *k.use);
    if (!k.use)
        return ct_no_memory(v->err, "the list of tensors");
    if (!v->kept)
        CT_TRY(ct_weights_walk(&m->weights, &m->config, m->file, note_use, &k));
    for (int i = 0; i < n; i++) {
        const struct ct_tensor *t = ct_file_tensor(k.f, i);
        const struct ct_chosen *chosen = changes(v) && k.use[i].matrix && t->type != CT_TYPE_COUNT
                                             ? ct_recipe_tensor(&v->recipe, &m->config, k.use[i].slot)
                                             : NULL;
        k.use[i].type = chosen && chosen->type != chosen->stored ? chosen->type : t->type;
    }
    for (int i = 0; i < n; i++)
        if (!goes(&k, ct_file_tensor(k.f, i)))
            CT_TRY(plan_tensor(&k, i));
    return CARAT_OK;
}

/* The keys that say something about tensors. */
static const char *const about_tensors[] = {
    "general.alignment",
    "general.file_type",
    "general.quantization_version",
    "quantize.imatrix.file",
    "quantize.imatrix.dataset",
    "quantize.imatrix.entries_count",
    "quantize.imatrix.chunks_count",
    "carat.recipe",
    "carat.palette",
    "carat.embedding_scale",
    "carat.residual_scale",
};

carat_status ct_gguf_keep_keys(struct ct_conversion *v, carat_error *err)
{
    int64_t alignment = 0;

    CT_TRY(ct_file_meta_int(v->kept, "general.alignment", 0, 1 << 20, &alignment, err));
    v->head.alignment = (uint32_t)alignment;
    for (size_t i = 0; i < CT_COUNT(about_tensors); i++) {
        const struct ct_meta *kept = ct_file_meta(v->kept, about_tensors[i]);
        struct ct_gguf_pair old;
        if (ct_gguf_find(&v->head, about_tensors[i], &old))
            ct_gguf_drop(&v->head, &old);
        if (kept)
            ct_gguf_put_pair(&v->head, kept->pair);
    }
    return CARAT_OK;
}

static bool begins(struct ct_str s, const char *with)
{
    return s.n >= strlen(with) && memcmp(s.s, with, strlen(with)) == 0;
}

carat_status ct_gguf_copy_keys(struct ct_conversion *v, carat_error *err)
{
    const struct carat_model *m = v->m;
    const struct {
        const char *key;
        uint32_t value;
    } own[] = {{"general.file_type", ct_recipe_file_type(&v->recipe)}, {"general.quantization_version", 2}};
    int64_t alignment = 0;
    const struct ct_meta *meta;

    CT_TRY(
        ct_file_meta_int(m->file, "general.alignment", 0, 1 << 20, &alignment, err)); /* the reader's limit */
    v->head.alignment = (uint32_t)alignment;
    for (int i = 0; (meta = ct_file_meta_at(m->file, i)); i++) {
        bool is_own = false;
        for (size_t k = 0; k < CT_COUNT(own) && changes(v); k++)
            if (ct_str_is(meta->key, own[k].key)) {
                ct_gguf_put_uint(&v->head, own[k].key, own[k].value);
                is_own = true;
            }
        is_own = is_own || (changes(v) && ct_str_is(meta->key, "carat.recipe")); /* a new one follows */
        is_own = is_own || (v->recipe.importance && begins(meta->key, "quantize.imatrix."));
        if (!is_own && !begins(meta->key, "split.") &&
            !(m->tokenizer_file && begins(meta->key, "tokenizer.")))
            ct_gguf_put_pair(&v->head, meta->pair);
    }
    for (size_t k = 0; k < CT_COUNT(own) && changes(v); k++)
        if (!ct_file_meta(m->file, own[k].key))
            ct_gguf_put_uint(&v->head, own[k].key, own[k].value);
    return m->tokenizer_file ? ct_put_tokenizer_keys(&v->head, m, err) : CARAT_OK;
}

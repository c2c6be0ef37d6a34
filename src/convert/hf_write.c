/* SPDX-License-Identifier: Apache-2.0 */
/* hf_write.c: a Hugging Face directory: made beside the place that it is for, and renamed as a whole. Tensors
 * are hf_tensors.c's, texts about the model hf_config.c's; the vocabulary is src/text's. */
#include "convert/hf.h"

#include <math.h>
#include <stdlib.h>

#include "checkpoint/new_model.h"
#include "convert/fill.h"
#include "convert/read_back.h"
#include "layout/panel.h"
#include "os/new_dir.h"
#include "text/tokenizer/vocab_write.h"

/* The directory under way. */
struct making {
    struct ct_conversion *v;
    const carat_convert_options *o;
    struct ct_os_new_dir dir;
    char *path; /* room for a name in it, which begins at end */
    size_t end;
    carat_error *err;
};
enum { MOST_NAME = 300 };

static const char *path_of(const struct making *g, const char *name)
{
    snprintf(g->path + g->end, MOST_NAME, "/%s", name);
    return g->path;
}

static carat_status put_bytes(struct making *g, const char *name, const void *data, size_t n)
{
    const char *path = path_of(g, name);
    struct ct_os_new file;
    struct ct_os_id id;

    CT_TRY(ct_os_new_begin(&file, path, 0666, g->err));
    carat_status status = n ? ct_os_new_size(&file, n, g->err) : CARAT_OK;
    if (!status && n)
        memcpy(file.base, data, n);
    if (!status)
        status = ct_os_new_finish(&file, path, &id, g->err);
    if (status)
        ct_os_new_abandon(&file);
    return status;
}

/* A text, whose buffer is freed. */
static carat_status put_text(struct making *g, const char *name, struct ct_new_head *h, carat_status status)
{
    if (!status && h->failed)
        status = ct_no_memory(g->err, name);
    if (!status)
        status = put_bytes(g, name, h->data, h->n);
    ct_new_head_free(h);
    return status;
}

/* ---- beside the weights ---- */

/* Copies the source's file of that name, byte for byte; *there: the source has one. */
static carat_status copy_side(struct making *g, const struct ct_file *from, const char *name, bool *there)
{
    const struct ct_bytes bytes = ct_file_side(from, name);

    *there = bytes.data != NULL;
    return bytes.data ? put_bytes(g, name, bytes.data, bytes.size) : CARAT_OK;
}

static carat_status put_config(struct making *g)
{
    struct ct_new_head h = {.data = NULL};

    return put_text(g, "config.json", &h, ct_hf_put_config(&h, g->v, g->err));
}

static carat_status put_generation(struct making *g)
{
    struct ct_new_head h = {.data = NULL};
    bool there;

    CT_TRY(copy_side(g, g->v->m->file, "generation_config.json", &there));
    if (there || ct_file_kind(g->v->m->file) == CT_FILE_HF)
        return CARAT_OK;
    return put_text(g, "generation_config.json", &h, ct_hf_put_generation(&h, g->v, g->err));
}

static carat_status put_tokenizer_json(struct making *g, const char *from)
{
    const struct carat_model *m = g->v->m;
    struct ct_new_head h = {.data = NULL};

    return put_text(g, "tokenizer.json", &h,
                    ct_tokenizer_put_json(m->tokenizer, &h, m->config.embeds, from, g->err));
}

/* Writes the files of the vocabulary that are not there yet. Scores are written in both forms, as published
 * directories have them: programs read tokenizer.json without a library for the other. */
static carat_status put_vocabulary(struct making *g, const struct ct_file *from, bool json, bool model)
{
    const struct ct_tokenizer *t = g->v->m->tokenizer;
    const bool merges = ct_tokenizer_merges_pairs(t), whole = merges || ct_tokenizer_fits_json(t);
    struct ct_new_head h = {.data = NULL};

    if (ct_file_kind(from) == CT_FILE_HF && (json || model))
        return CARAT_OK;
    if (!merges && !model)
        CT_TRY(put_text(g, "tokenizer.model", &h, ct_tokenizer_put_model(t, &h, ct_file_path(from), g->err)));
    if (!json && whole)
        CT_TRY(put_tokenizer_json(g, ct_file_path(from)));
    if (!json && !whole && g->o->log)
        g->o->log(g->o->user,
                  "the vocabulary is written as tokenizer.model alone: two pieces are one text, or a "
                  "piece means something else, in tokenizer.json");
    return CARAT_OK;
}

static carat_status put_tokenizer(struct making *g)
{
    static const char *const kept[] = {"tokenizer.json",      "tokenizer.model",    "tokenizer_config.json",
                                       "chat_template.jinja", "chat_template.json", "special_tokens_map.json",
                                       "added_tokens.json"};
    const struct carat_model *m = g->v->m;
    const struct ct_file *from = m->tokenizer_file ? m->tokenizer_file : m->file;
    bool there[CT_COUNT(kept)];
    struct ct_new_head h = {.data = NULL};

    for (size_t i = 0; i < CT_COUNT(kept); i++)
        CT_TRY(copy_side(g, from, kept[i], &there[i]));
    if (!m->tokenizer)
        return CARAT_OK;
    CT_TRY(put_vocabulary(g, from, there[0], there[1]));
    if (there[2] || ct_file_kind(from) == CT_FILE_HF)
        return CARAT_OK;
    return put_text(g, "tokenizer_config.json", &h, ct_hf_put_tokenizer_config(&h, g->v, g->err));
}

/* ---- what follows an embedder ---- */

static carat_status put_in_folder(struct making *g, const char *folder, const char *name,
                                  struct ct_bytes bytes)
{
    char path[MOST_NAME];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    CT_TRY(ct_os_new_dir_folder(&g->dir, folder, g->err));
    return put_bytes(g, path, bytes.data, bytes.size);
}

/* As the source has them, byte for byte. */
static carat_status copy_modules(struct making *g, const struct ct_modules *m)
{
    CT_TRY(put_bytes(g, "modules.json", m->text.data, m->text.size));
    if (m->pooling.folder)
        CT_TRY(put_in_folder(g, m->pooling.folder, "config.json", m->pooling.text));
    for (int i = 0; i < m->n_dense; i++) {
        CT_TRY(put_in_folder(g, m->dense[i].folder, "config.json", m->dense[i].text));
        CT_TRY(put_in_folder(g, m->dense[i].folder, "model.safetensors", m->dense[i].weights));
    }
    return CARAT_OK;
}

/* A matrix behind the mean: as it is, or, if it is in blocks, as F32. */
static carat_status put_dense(struct making *g, const char *folder, const struct ct_weight *w)
{
    const bool plain = ct_type_info(w->type)->block == 1 && ct_lies_in_rows(w);
    const size_t row = plain ? w->row_bytes : (size_t)w->cols * sizeof(float);
    struct ct_new_tensor t = {.name = "linear.weight",
                              .type = plain ? w->type : CT_F32,
                              .n_dim = 2,
                              .dim = {w->rows, w->cols},
                              .size = (size_t)w->rows * row};
    struct ct_new_head h = {.data = NULL};
    float *x = malloc(2 * (size_t)w->cols * sizeof *x);
    uint64_t size = 0;

    carat_status status =
        x ? ct_safetensors_head(&h, &t, 1, 0, &size, g->v->path, g->err) : ct_no_memory(g->err, folder);
    for (int r = 0; r < w->rows && !status; r++) {
        const void *stored = (const uint8_t *)w->data + (size_t)r * w->row_bytes;
        if (!ct_lies_in_rows(w)) {
            ct_unpack((uint8_t *)(x + w->cols), w, r);
            stored = x + w->cols;
        }
        if (!plain)
            ct_dequantize(w->type, x, stored, (size_t)w->cols);
        ct_new_head_put(&h, plain ? stored : x, row);
    }
    free(x);
    if (!status && h.failed)
        status = ct_no_memory(g->err, folder);
    if (!status)
        status = put_in_folder(g, folder, "model.safetensors", (struct ct_bytes){h.data, h.n});
    ct_new_head_free(&h);
    return status;
}

/* A text in a folder, or in the directory. */
static carat_status put_json(struct making *g, const char *folder, const char *name, const char *text)
{
    const struct ct_bytes bytes = {(const uint8_t *)text, strlen(text)};

    return folder ? put_in_folder(g, folder, name, bytes) : put_bytes(g, name, bytes.data, bytes.size);
}

static carat_status write_modules(struct making *g)
{
    static const char module[] = "%s\n  {\"idx\": %d, \"name\": \"%d\", \"path\": \"%s\", \"type\": "
                                 "\"sentence_transformers.models.%s\"}";
    const struct carat_model *m = g->v->m;
    const struct ct_config *c = &m->config;
    char text[1024], folder[32];
    int n = 0, at;

    snprintf(text, sizeof text, "{\"word_embedding_dimension\": %d, \"pooling_mode_mean_tokens\": true}\n",
             c->hidden);
    CT_TRY(put_json(g, "1_Pooling", "config.json", text));
    for (int i = 0; i < c->n_dense; i++) {
        const struct ct_weight *w = &m->weights.dense[i];
        snprintf(folder, sizeof folder, "%d_Dense", i + 2);
        snprintf(text, sizeof text,
                 "{\"in_features\": %d, \"out_features\": %d, \"bias\": false, \"activation_function\": "
                 "\"torch.nn.modules.linear.Identity\"}\n",
                 w->cols, w->rows);
        CT_TRY(put_json(g, folder, "config.json", text));
        CT_TRY(put_dense(g, folder, w));
    }
    n += snprintf(text + n, sizeof text - (size_t)n, module, "[", 0, 0, "", "Transformer");
    n += snprintf(text + n, sizeof text - (size_t)n, module, ",", 1, 1, "1_Pooling", "Pooling");
    for (at = 2; at < c->n_dense + 2; at++) {
        snprintf(folder, sizeof folder, "%d_Dense", at);
        n += snprintf(text + n, sizeof text - (size_t)n, module, ",", at, at, folder, "Dense");
    }
    snprintf(folder, sizeof folder, "%d_Normalize", at);
    n += snprintf(text + n, sizeof text - (size_t)n, module, ",", at, at, folder, "Normalize");
    snprintf(text + n, sizeof text - (size_t)n, "\n]\n");
    return put_json(g, NULL, "modules.json", text);
}

static carat_status put_modules(struct making *g)
{
    const struct carat_model *m = g->v->m;
    const struct ct_modules *modules = NULL;

    if (!m->config.embeds)
        return CARAT_OK;
    if (ct_file_kind(m->file) != CT_FILE_HF)
        return m->config.vector_inside ? CARAT_OK : write_modules(g);
    CT_TRY(ct_file_modules(m->file, &modules, g->err));
    return modules ? copy_modules(g, modules) : CARAT_OK;
}

/* ---- the weights ---- */

static carat_status put_index(struct making *g)
{
    const struct ct_conversion *v = g->v;
    struct ct_new_head h = {.data = NULL};

    if (v->n_shard == 1)
        return CARAT_OK;
    ct_safetensors_index(&h, v->tensor, v->n_tensor, v->n_shard);
    return put_text(g, "model.safetensors.index.json", &h, CARAT_OK);
}

/* The files, whose room is taken before one is filled. */
static carat_status begin_shards(struct making *g, struct ct_os_new *file, uint8_t **base, const char **path)
{
    const struct ct_conversion *v = g->v;
    char name[CT_SHARD_NAME];

    for (int i = 0; i < v->n_shard; i++) {
        const struct ct_new_shard *s = &v->shard[i];
        ct_safetensors_name(name, i, v->n_shard);
        path_of(g, name);
        path[i] = ct_arena_str(&g->v->arena, g->path, strlen(g->path));
        if (!path[i])
            return ct_no_memory(g->err, v->path);
        CT_TRY(ct_os_new_begin(&file[i], path[i], 0666, g->err));
        CT_TRY(ct_os_new_size(&file[i], (size_t)s->size, g->err));
        memcpy(file[i].base, s->head.data, s->head.n);
        base[i] = file[i].base;
    }
    return CARAT_OK;
}

static carat_status put_shards(struct making *g)
{
    struct ct_conversion *v = g->v;
    struct ct_os_new *file = ct_arena_push(&v->arena, (size_t)v->n_shard, sizeof *file);
    uint8_t **base = ct_arena_push(&v->arena, (size_t)v->n_shard, sizeof(uint8_t *));
    const char **path = ct_arena_push(&v->arena, (size_t)v->n_shard, sizeof(const char *));
    struct ct_os_id id;

    if (!file || !base || !path)
        return ct_no_memory(g->err, v->path);
    for (int i = 0; i < v->n_shard; i++)
        file[i].fd = -1;
    carat_status status = begin_shards(g, file, base, path);
    if (!status)
        status = ct_fill(v, base, g->o, g->err);
    for (int i = 0; i < v->n_shard; i++)
        if (!status)
            status = ct_os_new_finish(&file[i], path[i], &id, g->err);
        else
            ct_os_new_abandon(&file[i]);
    return status;
}

/* Writes the files that stand beside the weights of every model. */
static carat_status put_texts(struct making *g)
{
    CT_TRY(put_config(g));
    CT_TRY(put_generation(g));
    return put_tokenizer(g);
}

static carat_status put_all(struct making *g)
{
    CT_TRY(put_texts(g));
    CT_TRY(put_modules(g));
    CT_TRY(put_index(g));
    CT_TRY(put_shards(g));
    g->path[g->end] = 0;
    return ct_read_back(g->v, g->path, g->err);
}

/* Tells how the directory will differ. */
static void tell_changes(const struct ct_conversion *v, const carat_convert_options *o)
{
    const struct ct_config *c = &v->m->config;
    const enum ct_type type = ct_hf_embedding(v);
    const float scale = ct_hf_embed_scale(sqrtf((float)c->hidden), type);
    char line[512];

    if (!o->log)
        return;
    if (v->m->weights.n_unused) {
        snprintf(line, sizeof line,
                 "%d tensors are left out, the first of them %s: carat keeps the text alone",
                 v->m->weights.n_unused, v->m->weights.unused);
        o->log(o->user, line);
    }
    if (scale == c->embed_scale && scale != sqrtf((float)c->hidden)) {
        snprintf(
            line, sizeof line,
            "the embedding is multiplied by %.7g, the root of %d in %s, as in the model; a reference that "
            "opens the directory in float32 has %.7g, and other logits: open it in %s to compare",
            (double)scale, c->hidden, ct_type_info(type)->name, (double)sqrtf((float)c->hidden),
            ct_type_info(type)->name);
        o->log(o->user, line);
    }
    if (scale != c->embed_scale) {
        snprintf(
            line, sizeof line,
            "the embedding is multiplied by %.7g in a directory where it is %s, and by %.7g in the model: "
            "%+.2g %%",
            (double)scale, ct_type_info(type)->name, (double)c->embed_scale,
            100 * ((double)scale / (double)c->embed_scale - 1));
        o->log(o->user, line);
    }
}

/* A directory that is made beside the one that is asked for: *path is that, without a slash behind it. */
static carat_status begin_making(struct making *g, char **path)
{
    const char *asked = g->v->path;
    size_t n = strlen(asked);
    const size_t room = n + sizeof CT_PART + 1;
    const char *why;

    *path = ct_arena_push(&g->v->arena, room, 1);
    g->path = ct_arena_push(&g->v->arena, room + MOST_NAME, 1);
    if (!*path || !g->path)
        return ct_no_memory(g->err, asked);
    while (n > 1 && asked[n - 1] == '/')
        n--;
    memcpy(*path, asked, n);
    if (!g->v->kept_dir && !ct_os_takes_dir(*path, &why))
        return ct_fail(g->err, CARAT_E_IO, "%s %s: name a new directory, or an empty one", *path, why);
    snprintf(g->path, room, "%s" CT_PART, *path);
    g->end = strlen(g->path);
    return ct_os_new_dir_begin(&g->dir, ct_arena_str(&g->v->arena, g->path, g->end), g->err);
}

carat_status ct_hf_write(struct ct_conversion *v, const carat_convert_options *o, carat_error *err)
{
    struct making g = {.v = v, .o = o, .err = err};
    char *path;

    CT_TRY(begin_making(&g, &path));
    tell_changes(v, o);
    carat_status status = put_all(&g);
    if (!status)
        status = ct_os_new_dir_finish(&g.dir, path, err);
    else
        ct_os_new_dir_abandon(&g.dir);
    return status;
}

/* ---- what stands beside tensors, anew ---- */

carat_status ct_hf_keep(struct ct_conversion *v, carat_error *err)
{
    const carat_model_options o = {.size = sizeof o, .drafter_alone = v->m->drafts};

    CT_TRY(ct_model_open(&v->kept_dir, v->path, &o, err));
    if (ct_file_kind(v->kept_dir->file) != CT_FILE_HF)
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "%s is no directory of safetensors, and metadata_only writes "
                       "what stands beside these",
                       v->path);
    return CARAT_OK;
}

/* Whatever the model says of the tensors, the directory goes on saying. */
static void take_kept(struct ct_conversion *v)
{
    const struct ct_weights *kept = &v->kept_dir->weights;

    v->recipe.head_apart = v->m->weights.tied && !kept->tied;
    v->tensor[v->c[v->embed].tensor].type = kept->embed.type;
}

carat_status ct_hf_renew(struct ct_conversion *v, const carat_convert_options *o, carat_error *err)
{
    struct making g = {.v = v, .o = o, .err = err};
    char *path;

    take_kept(v);
    CT_TRY(begin_making(&g, &path));
    carat_status status = put_texts(&g);
    if (!status)
        status = ct_os_new_dir_borrow(&g.dir, path, err);
    g.path[g.end] = 0;
    if (!status)
        status = ct_read_back(v, g.path, err);
    if (!status)
        status = ct_os_new_dir_give(&g.dir, path, err);
    else
        ct_os_new_dir_abandon(&g.dir);
    return status;
}

/* model.c: opening a checkpoint and the facts about it. Reading files is file/'s business, what they mean model/'s and
 * text/'s. */
#include "api/api.h"

#include "base/os.h"
#include "file/sbs.h"

#include <stdio.h>
#include <stdlib.h>

const char *carat_version(void)
{
    return CARAT_VERSION;
}

const char *carat_status_name(carat_status status)
{
    static const char *const name[] = {
        "CARAT_OK",       "CARAT_E_ARGUMENT",    "CARAT_E_NOT_FOUND", "CARAT_E_IO",
        "CARAT_E_FORMAT", "CARAT_E_UNSUPPORTED", "CARAT_E_MEMORY",    "CARAT_E_CONTEXT",
        "CARAT_E_REWIND", "CARAT_E_NUMERIC",     "CARAT_E_CANCELLED", "CARAT_E_BUSY",
    };
    return (size_t)status < CT_COUNT(name) ? name[status] : "unknown status";
}

carat_status ct_check_size(size_t found, size_t expected, const char *what, carat_error *err)
{
    if (found == expected)
        return CARAT_OK;
    return ct_fail(err, CARAT_E_ARGUMENT, "%s has size %zu, expected %zu: initialise it with its macro", what,
                   found, expected);
}

/* ---- opening: the steps after the container, in order; on failure the caller closes the model. The config comes first:
 * a model that carat does not run is to be called by its name before its tokenizer is found odd. ---- */

static bool wants_weights(const carat_model *m, const carat_model_options *o)
{
    return ct_file_kind(m->file) != CT_FILE_TOKENIZER && !o->tokenizer_only;
}

static carat_status load_tokenizer(carat_model *m, const carat_model_options *o, carat_error *err)
{
    carat_error found;
    if (o->tokenizer)
        CT_TRY(ct_file_open(&m->tokenizer_file, o->tokenizer, true, err));
    carat_status status =
        ct_tokenizer_open(&m->tokenizer, o->tokenizer ? m->tokenizer_file : m->file, &found);

    if (status == CARAT_E_NOT_FOUND && wants_weights(m, o) && !o->tokenizer) {
        if (o->log)
            o->log(o->user, ct_file_sbs(m->file)
                                ? "the model has no tokenizer: it works by ids only; put its tokenizer.spm "
                                  "beside the file, or name it as the tokenizer"
                                : "the model has no tokenizer: it works by ids only");
        return CARAT_OK;
    }
    return status ? ct_fail(err, status, "%s", found.message) : CARAT_OK;
}

static carat_status load_config(carat_model *m, const carat_model_options *o, carat_error *err)
{
    if (o->log && ct_file_note(m->file))
        o->log(o->user, ct_file_note(m->file));
    return wants_weights(m, o) ? ct_config_read(&m->config, m->file, err) : CARAT_OK;
}

static carat_status load_weights(carat_model *m, const carat_model_options *o, carat_error *err)
{
    if (!wants_weights(m, o))
        return CARAT_OK;
    CT_TRY(ct_weights_bind(&m->weights, &m->config, m->file, &m->arena, err));
    m->has_weights = true;
    const struct ct_weights *w = &m->weights;
    char line[256];
    if (m->config.multimodal)
        snprintf(line, sizeof line, "a multimodal checkpoint: only its text tower is used");
    else if (w->n_unused > 0)
        snprintf(line, sizeof line, "%d tensor%s in the file %s no part of the model: %s%s", w->n_unused,
                 w->n_unused == 1 ? "" : "s", w->n_unused == 1 ? "is" : "are", w->unused,
                 w->n_unused == 1 ? "" : ", ...");
    else
        return CARAT_OK;
    if (o->log)
        o->log(o->user, line);
    return CARAT_OK;
}

static carat_status load_defaults(carat_model *m, const carat_model_options *o, carat_error *err)
{
    (void)o;
    const char *architecture = m->has_weights ? m->config.architecture : "";
    int n_vocab = m->has_weights ? m->config.n_vocab : ct_tokenizer_size(m->tokenizer);
    const struct ct_meta *name = ct_file_meta(m->file, "general.name");
    const struct ct_sbs_config *sbs = ct_file_sbs(m->file);
    if (sbs)
        m->name = sbs->display_name; /* lives as long as the file */
    if (name && name->type == CT_META_STRING && !(m->name = ct_arena_str(&m->arena, name->s.s, name->s.n)))
        return ct_fail(err, CARAT_E_MEMORY, "%s: out of memory", ct_file_path(m->file));
    char note[CT_CHAT_NOTE];
    CT_TRY(ct_chat_detect(m->file, architecture, &m->chat, note, err));
    if (*note && o->log)
        o->log(o->user, note);
    CT_TRY(ct_sampling_defaults(&m->sampling, m->file, err));
    CT_TRY(ct_stop_ids(m->file, m->tokenizer, architecture, m->chat, n_vocab, m->stop, CT_MAX_STOP,
                       &m->n_stop, err));
    return ct_banned_ids(m->file, m->tokenizer, n_vocab, m->banned, CT_MAX_BANNED, &m->n_banned, err);
}

static const struct step {
    carat_status (*run)(carat_model *, const carat_model_options *, carat_error *);
    size_t seconds; /* where in carat_setup its time goes */
} steps[] = {
    {load_config, offsetof(carat_setup, parse)},
    {load_tokenizer, offsetof(carat_setup, tokenizer)},
    {load_weights, offsetof(carat_setup, parse)},
    {load_defaults, offsetof(carat_setup, parse)},
};

static carat_status report(const carat_model_options *o, size_t done, carat_error *err)
{
    const size_t total = 1 + CT_COUNT(steps); /* the container is the first */

    if (!o->progress || !o->progress(o->user, done, total))
        return CARAT_OK;
    return ct_fail(err, CARAT_E_CANCELLED, "opening the model was cancelled after %zu of %zu steps", done,
                   total);
}

/* began: when the container was asked for. */
static carat_status load(carat_model *m, const carat_model_options *o, double began, carat_error *err)
{
    m->setup.open = ct_os_seconds() - began;
    CT_TRY(report(o, 1, err));
    for (size_t i = 0; i < CT_COUNT(steps); i++) {
        double start = ct_os_seconds();
        CT_TRY(steps[i].run(m, o, err));
        *(double *)(void *)((char *)&m->setup + steps[i].seconds) += ct_os_seconds() - start;
        CT_TRY(report(o, 2 + i, err));
    }
    return CARAT_OK;
}

static const carat_model_options default_options = CARAT_MODEL_OPTIONS;

carat_status carat_model_open(carat_model **model, const char *path, const carat_model_options *options,
                              carat_error *err)
{
    const carat_model_options *o = options ? options : &default_options;
    carat_model *m = NULL;
    carat_status status;

    if (!model || !path)
        return ct_fail(err, CARAT_E_ARGUMENT, "carat_model_open: %s is NULL", model ? "path" : "model");
    CT_TRY(ct_check_size(o->size, sizeof *o, "carat_model_options", err));
    CT_TRY(report(o, 0, err));
    m = calloc(1, sizeof *m);
    if (!m)
        return ct_fail(err, CARAT_E_MEMORY, "%s: out of memory", path);
    double began = ct_os_seconds();
    status = ct_file_open(&m->file, path, o->tokenizer_only != 0, err);
    if (!status)
        status = load(m, o, began, err);
    if (status)
        goto fail;
    *model = m;
    return CARAT_OK;
fail:
    carat_model_close(m);
    return status;
}

carat_status carat_model_open_memory(carat_model **model, const carat_buffer *buffers, int n,
                                     const carat_model_options *options, carat_error *err)
{
    const carat_model_options *o = options ? options : &default_options;
    carat_model *m = NULL;
    struct ct_part *part = NULL;
    double began = ct_os_seconds();
    carat_status status;

    if (!model || !buffers || n < 1)
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "carat_model_open_memory: model or buffers is NULL, or n = %d is below 1", n);
    CT_TRY(ct_check_size(o->size, sizeof *o, "carat_model_options", err));
    for (int i = 0; i < n; i++)
        if (!buffers[i].name || !buffers[i].data)
            return ct_fail(err, CARAT_E_ARGUMENT, "carat_model_open_memory: buffer %d has no name or no data",
                           i);
    CT_TRY(report(o, 0, err));
    m = calloc(1, sizeof *m);
    part = calloc((size_t)n, sizeof *part);
    if (!m || !part) {
        status = ct_fail(err, CARAT_E_MEMORY, "out of memory for %d buffers", n);
        goto fail;
    }
    for (int i = 0; i < n; i++)
        part[i] = (struct ct_part){buffers[i].name, {buffers[i].data, buffers[i].size}};
    status = ct_file_open_memory(&m->file, part, n, err);
    if (!status)
        status = load(m, o, began, err);
    if (status)
        goto fail;
    free(part);
    *model = m;
    return CARAT_OK;
fail:
    free(part);
    carat_model_close(m);
    return status;
}

void carat_model_close(carat_model *model)
{
    if (!model)
        return;
    ct_tokenizer_free(model->tokenizer);
    ct_file_close(model->tokenizer_file);
    ct_arena_free(&model->arena);
    ct_file_close(model->file);
    free(model);
}

carat_status carat_model_get_info(const carat_model *m, carat_model_info *info, carat_error *err)
{
    if (!m || !info)
        return ct_fail(err, CARAT_E_ARGUMENT, "carat_model_get_info: model or info is NULL");
    CT_TRY(ct_check_size(info->size, sizeof *info, "carat_model_info", err));
    static const char *const container[] = {[CT_FILE_HF] = "safetensors",
                                            [CT_FILE_GGUF] = "GGUF",
                                            [CT_FILE_SBS] = "SBS",
                                            [CT_FILE_TOKENIZER] = "tokenizer"};
    const struct ct_config *c = &m->config;
    const struct ct_layer_config *l = &c->layer[0];
    *info = (carat_model_info){
        .size = sizeof *info,
        .kind = m->has_weights ? CARAT_GENERATOR : CARAT_TOKENIZER_ONLY,
        .architecture = m->has_weights ? c->architecture : "",
        .container = container[ct_file_kind(m->file)],
        .name = m->name ? m->name : "",
        .has_tokenizer = m->tokenizer != NULL,
        .has_chat_template = m->chat != CT_CHAT_NONE,
        .tokenizer = m->tokenizer ? ct_tokenizer_source(m->tokenizer) : "",
        .chat_template = ct_chat_name(m->chat),
        .bos = m->tokenizer ? ct_tokenizer_bos(m->tokenizer) : -1,
    };
    if (!m->has_weights) {
        info->n_vocab = info->n_text_vocab = ct_tokenizer_size(m->tokenizer);
        return CARAT_OK;
    }
    for (int i = 0; i < c->n_layer; i++)
        info->n_local += c->layer[i].kind == CT_LOCAL;
    info->n_layer = c->n_layer;
    info->hidden = c->hidden;
    info->ffn = l->ffn;
    info->n_head = l->n_head;
    info->n_kv_head = l->n_kv_head;
    info->head_dim = l->head_dim;
    info->n_vocab = c->n_vocab;
    info->n_text_vocab = c->n_text_vocab;
    info->max_context = c->max_context;
    info->sliding_window = info->n_local ? c->kind[CT_LOCAL].window : 0;
    info->rope_base = c->kind[CT_GLOBAL].rope_base;
    info->rope_base_local = c->kind[CT_LOCAL].rope_base;
    info->rope_factor = c->kind[CT_GLOBAL].rope_factor;
    info->attention_scale = l->attn_scale;
    info->embedding_scale = c->embed_scale;
    info->attention_cap = l->attn_cap;
    info->logit_cap = c->logit_cap;
    info->norm_eps = c->norm_eps;
    info->n_parameter = m->weights.n_parameter;
    info->weight_bytes = m->weights.bytes;
    info->tied = m->weights.tied;
    info->multimodal = c->multimodal;
    return CARAT_OK;
}

carat_status carat_model_get_setup(const carat_model *m, carat_setup *setup, carat_error *err)
{
    if (!m || !setup)
        return ct_fail(err, CARAT_E_ARGUMENT, "carat_model_get_setup: model or setup is NULL");
    CT_TRY(ct_check_size(setup->size, sizeof *setup, "carat_setup", err));
    *setup = m->setup;
    setup->size = sizeof *setup;
    return CARAT_OK;
}

int carat_model_tensor_count(const carat_model *model)
{
    return model ? ct_file_tensor_count(model->file) : 0;
}

carat_status carat_model_get_tensor(const carat_model *model, int i, carat_tensor_info *info,
                                    carat_error *err)
{
    if (!model || !info || i < 0 || i >= ct_file_tensor_count(model->file))
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "carat_model_get_tensor: model or info is NULL, or there is no tensor %d", i);
    CT_TRY(ct_check_size(info->size, sizeof *info, "carat_tensor_info", err));
    const struct ct_tensor *t = ct_file_tensor(model->file, i);
    *info = (carat_tensor_info){sizeof *info, t->name, t->type_name, t->n_dim, {0}, t->size};
    memcpy(info->dim, t->dim, sizeof info->dim);
    return CARAT_OK;
}

int carat_is_stop(const carat_model *model, int32_t id)
{
    for (int i = 0; model && i < model->n_stop; i++)
        if (model->stop[i] == id)
            return 1;
    return 0;
}

int carat_stop_ids(const carat_model *model, const int32_t **ids)
{
    if (ids)
        *ids = model ? model->stop : NULL;
    return model ? model->n_stop : 0;
}

carat_sampling carat_default_sampling(const carat_model *model)
{
    carat_sampling card = CARAT_SAMPLING;
    return model ? model->sampling : card;
}

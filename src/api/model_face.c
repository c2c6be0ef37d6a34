/* SPDX-License-Identifier: Apache-2.0 */
/* model_face.c: the functions of carat.h and carat_tools.h on a model: arguments are checked here, the facts
 * are gathered from what is open. Opening and packing are checkpoint/'s, checking is check/'s. */
#include "api/sizes.h"
#include "check/verify.h"
#include "checkpoint/checkpoint.h"

#include <stdlib.h>

#include "file/packed.h"

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

carat_status carat_model_open(carat_model **model, const char *path, const carat_model_options *options,
                              carat_error *err)
{
    carat_model_options o = {.size = sizeof o};

    if (!model || !path)
        return ct_fail(err, CARAT_E_ARGUMENT, "%s is NULL", model ? "path" : "model");
    CT_TRY(ct_take_struct(&o, sizeof o, options, "carat_model_options", err));
    return ct_model_open(model, path, &o, err);
}

carat_status carat_model_open_memory(carat_model **model, const carat_buffer *buffers, size_t buffer_size,
                                     int n, const carat_model_options *options, carat_error *err)
{
    carat_model_options o = {.size = sizeof o};
    const void *all;
    void *copy;

    if (!model || !buffers || n < 1)
        return ct_fail(err, CARAT_E_ARGUMENT, "model or buffers is NULL, or n = %d is below 1", n);
    CT_TRY(ct_take_struct(&o, sizeof o, options, "carat_model_options", err));
    CT_TRY(ct_take_array(&all, &copy, buffers, buffer_size, n, sizeof *buffers, "carat_buffer", err));
    carat_status status = ct_model_open_memory(model, all, n, &o, err);
    free(copy);
    return status;
}

void carat_model_close(carat_model *model)
{
    ct_model_close(model);
}

carat_status carat_model_pack(const carat_model *model, const char *path, carat_progress progress, void *user,
                              carat_error *err)
{
    return ct_model_pack(model, path, progress, user, err);
}

carat_status carat_cache_walk(const char *dir, carat_cache_visit visit, void *user, carat_error *err)
{
    return ct_cache_walk(dir, visit, user, err);
}

carat_status carat_cache_look(const char *dir, carat_cache_info *info, carat_error *err)
{
    carat_cache_info full;

    CT_TRY(ct_check_struct(info, sizeof full, "carat_cache_info", err));
    CT_TRY(ct_cache_look(dir, &full, err));
    ct_give_struct(info, &full);
    return CARAT_OK;
}

carat_status carat_verify(const carat_model *model, const carat_verify_options *options,
                          carat_verdict *verdict, carat_error *err)
{
    carat_verify_options o = {.size = sizeof o};
    carat_verdict full;

    if (!model || !verdict)
        return ct_fail(err, CARAT_E_ARGUMENT, "%s is NULL", model ? "verdict" : "model");
    CT_TRY(ct_take_struct(&o, sizeof o, options, "carat_verify_options", err));
    CT_TRY(ct_check_struct(verdict, sizeof full, "carat_verdict", err));
    CT_TRY(ct_verify(model, &o, &full, err));
    ct_give_struct(verdict, &full);
    return CARAT_OK;
}

static void gather_info(const carat_model *m, carat_model_info *info)
{
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
        .template_altered = m->chat_altered,
        .template_origin = m->chat_origin,
        .packed_path = ct_file_packed_path(m->file) ? ct_file_packed_path(m->file) : "",
        .bos = m->tokenizer ? ct_tokenizer_bos(m->tokenizer) : -1,
        .file_bytes = m->file_bytes,
    };
    if (!m->has_weights) {
        info->n_vocab = info->n_text_vocab = ct_tokenizer_size(m->tokenizer);
        return;
    }
    for (int i = 0; i < c->n_layer; i++)
        info->n_local += c->layer[i].attn_type == CT_LOCAL;
    info->n_layer = c->n_layer;
    info->hidden = c->hidden;
    info->ffn = l->ffn;
    info->n_head = l->n_head;
    info->n_kv_head = l->n_kv_head;
    info->head_dim = l->head_dim;
    info->n_vocab = c->n_vocab;
    info->n_text_vocab = c->n_text_vocab;
    info->max_context = c->max_context;
    info->sliding_window = info->n_local ? c->attn[CT_LOCAL].window : 0;
    info->rope_base = c->attn[CT_GLOBAL].rope_base;
    info->rope_base_local = c->attn[CT_LOCAL].rope_base;
    info->rope_factor = c->attn[CT_GLOBAL].rope_factor;
    info->attention_scale = l->attn_scale;
    info->embedding_scale = c->embed_scale;
    info->attention_cap = l->attn_cap;
    info->logit_cap = c->logit_cap;
    info->norm_eps = c->norm_eps;
    info->n_parameter = m->weights.n_parameter;
    info->weight_bytes = m->weights.bytes;
    info->tied = m->weights.tied;
    info->multimodal = c->multimodal;
}

carat_status carat_model_get_info(const carat_model *m, carat_model_info *info, carat_error *err)
{
    carat_model_info full;

    if (!m)
        return ct_fail(err, CARAT_E_ARGUMENT, "model is NULL");
    CT_TRY(ct_check_struct(info, sizeof full, "carat_model_info", err));
    gather_info(m, &full);
    ct_give_struct(info, &full);
    return CARAT_OK;
}

carat_status carat_model_get_load_times(const carat_model *m, carat_load_times *times, carat_error *err)
{
    if (!m)
        return ct_fail(err, CARAT_E_ARGUMENT, "model is NULL");
    CT_TRY(ct_check_struct(times, sizeof *times, "carat_load_times", err));
    ct_give_struct(times, &m->times);
    return CARAT_OK;
}

int carat_model_reads(const carat_model *m, const char *path)
{
    return m && path && ct_model_reads(m, path);
}

int carat_model_tensor_count(const carat_model *model)
{
    return model ? ct_file_tensor_count(model->file) : 0;
}

carat_status carat_model_get_tensor(const carat_model *model, int i, carat_tensor_info *info,
                                    carat_error *err)
{
    if (!model || i < 0 || i >= ct_file_tensor_count(model->file))
        return ct_fail(err, CARAT_E_ARGUMENT, "model is NULL, or there is no tensor %d", i);
    CT_TRY(ct_check_struct(info, sizeof *info, "carat_tensor_info", err));
    const struct ct_tensor *t = ct_file_tensor(model->file, i);
    carat_tensor_info full = {sizeof full, t->name, t->type_name, t->n_dim, {0}, t->size};
    memcpy(full.dim, t->dim, sizeof full.dim);
    ct_give_struct(info, &full);
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

void carat_get_sampling(const carat_model *model, carat_sampling *s)
{
    carat_sampling full = model ? model->sampling : ct_card_sampling();

    if (s && ct_check_struct(s, sizeof full, "carat_sampling", NULL) == CARAT_OK)
        ct_give_struct(s, &full);
}

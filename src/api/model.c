/* SPDX-License-Identifier: Apache-2.0 */
/* model.c: the facts about an open checkpoint. Opening is open.c's. */
#include "checkpoint/checkpoint.h"

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

carat_status carat_model_get_info(const carat_model *m, carat_model_info *info, carat_error *err)
{
    if (!m || !info)
        return ct_fail(err, CARAT_E_ARGUMENT, "model or info is NULL");
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
        .template_altered = m->chat_altered,
        .template_origin = m->chat_origin,
        .packed_path = ct_file_packed_path(m->file) ? ct_file_packed_path(m->file) : "",
        .bos = m->tokenizer ? ct_tokenizer_bos(m->tokenizer) : -1,
        .file_bytes = m->file_bytes,
    };
    if (!m->has_weights) {
        info->n_vocab = info->n_text_vocab = ct_tokenizer_size(m->tokenizer);
        return CARAT_OK;
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
    return CARAT_OK;
}

carat_status carat_model_get_load_times(const carat_model *m, carat_load_times *setup, carat_error *err)
{
    if (!m || !setup)
        return ct_fail(err, CARAT_E_ARGUMENT, "model or setup is NULL");
    CT_TRY(ct_check_size(setup->size, sizeof *setup, "carat_load_times", err));
    *setup = m->setup;
    setup->size = sizeof *setup;
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
    if (!model || !info || i < 0 || i >= ct_file_tensor_count(model->file))
        return ct_fail(err, CARAT_E_ARGUMENT, "model or info is NULL, or there is no tensor %d", i);
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

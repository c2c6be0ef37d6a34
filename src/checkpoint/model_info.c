/* SPDX-License-Identifier: Apache-2.0 */
/* model_info.c: the facts of an open model, as carat_model_info tells them. */
#include "checkpoint/checkpoint.h"
#include "checkpoint/content.h"
#include "file/packed.h"
#include "base/arguments.h"

static void tell_info(const carat_model *m, carat_model_info *info)
{
    static const char *const container[] = {[CT_FILE_HF] = "safetensors",
                                            [CT_FILE_GGUF] = "GGUF",
                                            [CT_FILE_SBS] = "SBS",
                                            [CT_FILE_TOKENIZER] = "tokenizer"};
    const struct ct_config *c = &m->config;
    const struct ct_layer_config *l = &c->layer[0];
    *info = (carat_model_info){
        .size = sizeof *info,
        .kind = !m->has_weights ? CARAT_TOKENIZER_ONLY
                : c->embeds     ? CARAT_EMBEDDER
                                : CARAT_GENERATOR,
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
        .content = ct_content_kept(m) ? ct_content_kept(m) : "",
        .can_think = ct_chat_can_think(m->chat),
        .bos = m->tokenizer ? ct_tokenizer_bos(m->tokenizer) : -1,
        .file_bytes = m->file_bytes,
    };
    if (!m->has_weights) {
        info->n_vocab = info->n_text_vocab = ct_tokenizer_size(m->tokenizer);
        return;
    }
    for (int i = 0; i < c->n_layer; i++) {
        const struct ct_layer_config *each = &c->layer[i];
        info->n_local += each->attn_type == CT_LOCAL;
        info->n_kv_shared += each->kv_layer != i;
        if (each->kv_layer != i)
            info->ffn_shared = each->ffn;
        if (each->attn_type == CT_GLOBAL) {
            info->n_kv_head_global = each->n_kv_head;
            info->head_dim_global = each->head_dim;
        }
    }
    info->n_layer = c->n_layer;
    info->hidden = c->hidden;
    info->ffn = l->ffn;
    info->n_head = l->n_head;
    info->n_kv_head = l->n_kv_head;
    info->head_dim = l->head_dim;
    info->n_vocab = c->n_vocab;
    info->n_text_vocab = c->n_text_vocab;
    info->max_context = c->max_context;
    info->ple_width = c->ple_width;
    info->n_expert = l->n_expert;
    info->n_expert_used = l->n_used;
    info->expert_ffn = l->expert_ffn;
    info->sliding_window = info->n_local ? c->attn[CT_LOCAL].window - c->embeds : 0;
    info->rope_base = c->attn[CT_GLOBAL].rope_base;
    info->rope_base_local = c->attn[CT_LOCAL].rope_base;
    info->rope_factor = c->attn[CT_GLOBAL].rope_factor;
    info->attention_scale = l->attn_scale;
    info->embedding_scale = c->embed_scale;
    info->attention_cap = l->attn_cap;
    info->logit_cap = c->logit_cap;
    info->norm_eps = c->norm_eps;
    info->n_parameter = info->n_active = m->weights.n_parameter;
    for (int i = 0; i < c->n_layer; i++) {
        const struct ct_layer_config *of = &c->layer[i];
        const uint64_t unused = (uint64_t)(of->n_expert - of->n_used);
        info->n_active -= unused * 3 * (uint64_t)c->hidden * (uint64_t)of->expert_ffn;
    }
    info->weight_bytes = m->weights.bytes;
    info->tied = m->weights.tied && !c->embeds;
    info->multimodal = c->multimodal;
}

carat_status carat_model_get_info(const carat_model *m, carat_model_info *info, carat_error *err)
{
    carat_model_info full;

    CT_GIVEN(m, err);
    tell_info(m, &full);
    return ct_give_struct(info, &full, sizeof full, "carat_model_info", err);
}

carat_status carat_get_embedder(const carat_model *model, carat_embedder *embedder, carat_error *err)
{
    CT_GIVEN(model, err);
    static const int cuts[] = {512, 256, 128};
    const struct ct_config *c = &model->config;

    if (!model->has_weights || !c->embeds)
        return ct_fail(err, CARAT_E_UNSUPPORTED, "%s: the model is no embedder: it gives no vectors",
                       ct_file_path(model->file));
    carat_embedder full = {.size = sizeof full,
                           .width = c->n_dense ? c->dense[c->n_dense - 1] : c->hidden,
                           .raw_width = c->hidden,
                           .n_dense = c->n_dense,
                           .max_tokens = c->max_context};
    for (size_t i = 0; i < CT_COUNT(cuts); i++)
        if (cuts[i] < full.width)
            full.cut[full.n_cut++] = cuts[i];
    return ct_give_struct(embedder, &full, sizeof full, "carat_embedder", err);
}

struct unread {
    carat_unread_visit visit;
    void *user;
};

static int visit_unread(void *user, const char *key, const char *class_name, bool known)
{
    const struct unread *u = user;
    const carat_unread_key full = {.size = sizeof full, .key = key, .class_name = class_name, .known = known};

    return u->visit(u->user, &full);
}

carat_status carat_model_unread(const carat_model *model, carat_unread_visit visit, void *user,
                                carat_error *err)
{
    struct unread u = {visit, user};

    CT_GIVEN(model, err);
    CT_GIVEN(visit, err);
    return ct_config_unread(model->file, visit_unread, &u, err);
}

carat_status carat_model_get_load_times(const carat_model *m, carat_load_times *times, carat_error *err)
{
    CT_GIVEN(m, err);
    return ct_give_struct(times, &m->times, sizeof m->times, "carat_load_times", err);
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
    const struct ct_tensor *t = ct_file_tensor(model->file, i);
    carat_tensor_info full = {sizeof full, t->name, t->type_name, t->n_dim, {0}, t->size};
    memcpy(full.dim, t->dim, sizeof full.dim);
    return ct_give_struct(info, &full, sizeof full, "carat_tensor_info", err);
}

int carat_is_stop(const carat_model *model, int32_t id)
{
    return model && ct_is_stop(model, id);
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

    (void)ct_give_struct(s, &full, sizeof full, "carat_sampling", NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* weights_hf.c: the tensors of a model in safetensors (MODEL.md, names). Those that are quantised are put
 * together in weights_compressed.c. */
#include "model/weights_container.h"

/* Where those of the text tower are. */
static const char *const prefixes[] = {"model.", "language_model.model.", "model.language_model.",
                                       "language_model.", ""};

static const struct {
    const char *slot, *name;
} hf_names[] = {
    {"token_embd", "embed_tokens.weight"},
    {"output_norm", "norm.weight"},
    {"attn_norm", "input_layernorm.weight"},
    {"attn_q", "self_attn.q_proj.weight"},
    {"attn_k", "self_attn.k_proj.weight"},
    {"attn_v", "self_attn.v_proj.weight"},
    {"attn_output", "self_attn.o_proj.weight"},
    {"attn_q_norm", "self_attn.q_norm.weight"},
    {"attn_k_norm", "self_attn.k_norm.weight"},
    {"post_attention_norm", "post_attention_layernorm.weight"},
    {"ffn_norm", "pre_feedforward_layernorm.weight"},
    {"ffn_gate", "mlp.gate_proj.weight"},
    {"ffn_up", "mlp.up_proj.weight"},
    {"ffn_down", "mlp.down_proj.weight"},
    {"post_ffw_norm", "post_feedforward_layernorm.weight"},
    {"layer_output_scale", "layer_scalar"},
    {"inp_gate", "per_layer_input_gate.weight"},
    {"proj", "per_layer_projection.weight"},
    {"post_norm", "post_per_layer_input_norm.weight"},
    {"ffn_gate_inp", "router.proj.weight"},
    {"ffn_gate_inp_scale", "router.scale"},
    {"ffn_gate_up_exps", "experts.gate_up_proj"},
    {"ffn_down_exps", "experts.down_proj"},
    {"ffn_down_exps_scale", "router.per_expert_scale"},
    {"post_ffw_norm_1", "post_feedforward_layernorm_1.weight"},
    {"pre_ffw_norm_2", "pre_feedforward_layernorm_2.weight"},
    {"post_ffw_norm_2", "post_feedforward_layernorm_2.weight"},
    {"per_layer_token_embd", "embed_tokens_per_layer.weight"},
    {"per_layer_model_proj", "per_layer_model_projection.weight"},
    {"per_layer_proj_norm", "per_layer_projection_norm.weight"},
    {"altup_router_norm", "altup.router_norm.weight"},
    {"altup_router", "altup.modality_router.weight"},
    {"altup_predict_coef", "altup.prediction_coefs.weight"},
    {"altup_correct_coef", "altup.correction_coefs.weight"},
    {"altup_correct_scale", "altup.correct_output_scale"},
    {"laurel_l", "laurel.linear_left.weight"},
    {"laurel_r", "laurel.linear_right.weight"},
    {"laurel_post_norm", "laurel.post_laurel_norm.weight"},
    {"altup_proj.0", "altup_projections.0.weight"},
    {"altup_proj.1", "altup_projections.1.weight"},
    {"altup_proj.2", "altup_projections.2.weight"},
    {"altup_unembd_proj.0", "altup_unembed_projections.0.weight"},
    {"altup_unembd_proj.1", "altup_unembed_projections.1.weight"},
    {"altup_unembd_proj.2", "altup_unembed_projections.2.weight"},
    {"dense_2", "embedding_projection.weight"},
};

/* Those beside the text tower, which have no prefix. */
static const struct {
    const char *slot, *name;
} hf_outside[] = {
    {"output", "lm_head.weight"},
    {"nextn.pre_projection", "pre_projection.weight"},
    {"nextn.post_projection", "post_projection.weight"},
    {"masked_embd_centroids", "masked_embedding.centroids.weight"},
    {CT_ORDERING, "masked_embedding.token_ordering"},
};
/* What stands before the name of the slot, in a class that keeps what makes inputs of layers apart. */
static const char *apart(const char *slot, int layer)
{
    static const char *const of_layers[] = {"inp_gate", "proj", "post_norm"};
    const char *within = strncmp(slot, "per_layer_", strlen("per_layer_")) == 0 ? "ple." : "";

    for (size_t i = 0; i < CT_COUNT(of_layers) && layer >= 0; i++)
        if (strcmp(slot, of_layers[i]) == 0)
            within = "ple_block.";
    return within;
}

void ct_hf_tensor_name(char name[CT_TENSOR_NAME], const struct ct_weights *w, const struct ct_config *c,
                       const char *slot, int layer)
{
    const char *prefix = w->prefix ? w->prefix : prefixes[0];
    size_t i = 0;

    for (size_t k = 0; k < CT_COUNT(hf_outside); k++)
        if (strcmp(slot, hf_outside[k].slot) == 0) {
            snprintf(name, CT_TENSOR_NAME, "%s", hf_outside[k].name);
            return;
        }
    if (!c->vector_inside && strncmp(slot, "dense_", 6) == 0) { /* of a module beside the model */
        snprintf(name, CT_TENSOR_NAME, "%s_Dense/linear.weight", slot + 6);
        return;
    }
    /* Gemma 1 has one norm after attention, before its feed-forward, and calls it by where it stands */
    if (!c->post_norms && strcmp(slot, "ffn_norm") == 0)
        slot = "post_attention_norm";
    while (i < CT_COUNT(hf_names) && strcmp(hf_names[i].slot, slot) != 0)
        i++;
    assert(i < CT_COUNT(hf_names));
    const char *within = w->ple_apart ? apart(slot, layer) : "";
    if (layer < 0)
        snprintf(name, CT_TENSOR_NAME, "%s%s%s", prefix, within, hf_names[i].name);
    else
        snprintf(name, CT_TENSOR_NAME, "%slayers.%d.%s%s", prefix, layer, within, hf_names[i].name);
}

/* True when the file has the tensor of a slot of the whole model as w would call it. */
static bool is_named(const struct ct_binding *b, const char *slot)
{
    char name[CT_TENSOR_NAME];

    ct_hf_tensor_name(name, b->w, b->c, slot, -1);
    return ct_file_find(b->f, name) != NULL;
}

/* The prefix is that of the embedding. */
static void find_prefix(struct ct_binding *b)
{
    size_t i = 0;

    do
        b->w->prefix = prefixes[i];
    while (!is_named(b, "token_embd") && ++i < CT_COUNT(prefixes));
    if (i == CT_COUNT(prefixes))
        b->w->prefix = prefixes[0];
    b->w->ple_apart = true;
    b->w->ple_apart = is_named(b, "per_layer_model_proj");
}

static carat_status hf_make(struct ct_tensor *t, struct ct_binding *b, const char *slot, int layer)
{
    CT_TRY(ct_make_ordered(t, b, slot));
    return t->name ? CARAT_OK : ct_make_compressed(t, b, slot, layer);
}

float ct_hf_embed_scale(float root, enum ct_type stored)
{
    return stored == CT_BF16  ? ct_embed_scale_bf16(root, stored)
           : stored == CT_F16 ? ct_f16_to_f32(ct_f32_to_f16(root))
                              : root;
}

const struct ct_container ct_container_hf = {
    .begin = find_prefix,
    .name = ct_hf_tensor_name,
    .parts = ct_compressed_parts,
    .make = hf_make,
    .other_head = "language_model.lm_head.weight",
    .find = ct_file_find,
    .counts_unused = true,
    .key = CT_HF_KEYS,
    .layers = "num_hidden_layers",
    .says_tied = true,
    .types = "F32, F16 and BF16",
    .embed_scale = ct_hf_embed_scale,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* sbs.h: the configuration that a gemma.cpp file carries, field by field as stored. What it means for the
 * forward pass is model/config_sbs.c's; reading it is sbs_fields.c's. */
#ifndef CT_SBS_H
#define CT_SBS_H

#include "file/file.h"

enum { CT_SBS_MAX_VECTOR = 65536 };

/* The numbers of gemma.cpp's enumerations that carat asks for. */
enum {
    CT_SBS_GEMMA3_4B = 14,
    CT_SBS_GEMMA3_12B = 16,
    CT_SBS_GEMMA3_27B = 17,
    CT_SBS_PALIGEMMA_FIRST = 10, /* PaliGemma 2, four of them */
    CT_SBS_PALIGEMMA_LAST = 13,
};
enum { CT_SBS_WRAP_IT, CT_SBS_WRAP_PT, CT_SBS_WRAP_VLM, CT_SBS_WRAP_PALIGEMMA };
enum { CT_SBS_BY_HEAD, CT_SBS_BY_WIDTH }; /* query scale: 1/sqrt(qkv_dim), 1/sqrt(model_dim / heads) */

struct ct_sbs_layer {
    uint32_t model_dim, ff_hidden_dim, heads, kv_heads, qkv_dim;
    bool ff_biases, optimized_gating, use_qk_norm;
    uint32_t post_norm, type, activation, post_qk; /* 0: none, Gemma, GELU, whole RoPE */
};

/* Elements are structs of the vector's own kind or uint32_t. */
struct ct_sbs_vector {
    void *element;
    uint32_t n;
};

struct ct_sbs_vit {
    struct ct_sbs_vector layer_configs; /* empty: the file has no vision tower */
};

struct ct_sbs_config {
    const char *display_name;
    uint32_t model_family_version, model, wrapping, weight, query_scale;
    uint32_t num_layers, model_dim, vocab_size, max_seq_len, norm_num_groups;
    float att_cap, final_cap;
    bool absolute_pe;
    int32_t eos_id, secondary_eos_id;
    struct ct_sbs_vector layer_configs;          /* of struct ct_sbs_layer */
    struct ct_sbs_vector attention_window_sizes; /* of uint32_t */
    struct ct_sbs_vit vit_config;
};

/* NULL for files of other kinds. */
const struct ct_sbs_config *ct_file_sbs(const struct ct_file *f);

#endif

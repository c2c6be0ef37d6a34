/* SPDX-License-Identifier: Apache-2.0 */
/* gemma4_gguf.h: small Gemma 4 models as GGUF files that really run, in the two forms of its dense members:
 * as E2B, with inputs of layers, shared K and V and wider feed-forwards where they are shared; and as 31B,
 * where K makes V in global layers. Matrices have several types, as published files do. Include it in place
 * of bad_gguf.h. */
#ifndef GEMMA4_GGUF_H
#define GEMMA4_GGUF_H

#include "cli/model/bad_gguf.h"

enum { LAYERS4 = 4, HEAD4 = 64, PLE = 64, TURNING = 6 }; /* layers 1 and 3 are global, with heads of HEAD4 */

/* The types of what members store in different ones. */
struct gemma4 {
    bool small; /* as E2B */
    uint32_t matrix, embedding, table, projection;
};

#define GEMMA4_E2B                                                                                           \
    (struct gemma4)                                                                                          \
    {                                                                                                        \
        true, T_Q4_0, T_Q8_0, T_Q6_K, T_BF16                                                                 \
    }
#define GEMMA4_31B                                                                                           \
    (struct gemma4)                                                                                          \
    {                                                                                                        \
        false, T_Q8_0, T_F16, 0, 0                                                                           \
    }

static inline void gguf_set_array(struct gguf *g, const char *key, uint32_t type, const void *v, size_t bytes,
                                  uint64_t n)
{
    struct buf *b = gguf_entry(g, key);
    put_u32(b, ARRAY);
    put_u32(b, type);
    put_u64(b, n);
    put(b, v, bytes * n);
}
static inline void gguf_set_u32s(struct gguf *g, const char *key, const uint32_t *v, uint64_t n)
{
    gguf_set_array(g, key, U32, v, 4, n);
}

static inline void gemma4_keys(struct gguf *g, bool small)
{
    gguf_set_text(g, "general.architecture", "gemma4");
    gguf_set_text(g, "general.name", "small");
    gguf_set_u32(g, "gemma4.block_count", LAYERS4);
    gguf_set_u32(g, "gemma4.context_length", 128);
    gguf_set_u32(g, "gemma4.embedding_length", HIDDEN);
    if (small)
        gguf_set_u32s(g, "gemma4.feed_forward_length", (const uint32_t[]){FFN, FFN, 2 * FFN, 2 * FFN},
                      LAYERS4);
    else
        gguf_set_u32(g, "gemma4.feed_forward_length", FFN);
    gguf_set_u32(g, "gemma4.attention.head_count", HEADS);
    if (small)
        gguf_set_u32(g, "gemma4.attention.head_count_kv", 1);
    else
        gguf_set_u32s(g, "gemma4.attention.head_count_kv", (const uint32_t[]){2, 1, 2, 1}, LAYERS4);
    gguf_set_u32(g, "gemma4.attention.key_length", HEAD4);
    gguf_set_u32(g, "gemma4.attention.value_length", HEAD4);
    gguf_set_u32(g, "gemma4.attention.key_length_swa", HEAD);
    gguf_set_u32(g, "gemma4.attention.value_length_swa", HEAD);
    gguf_set_u32(g, "gemma4.attention.sliding_window", 16);
    gguf_set_array(g, "gemma4.attention.sliding_window_pattern", BOOL, (const uint8_t[]){1, 0, 1, 0}, 1,
                   LAYERS4);
    gguf_set_u32(g, "gemma4.attention.shared_kv_layers", small ? 2 : 0);
    gguf_set_u32(g, "gemma4.embedding_length_per_layer_input", small ? PLE : 0);
    gguf_set_f32(g, "gemma4.attention.layer_norm_rms_epsilon", 1e-6f);
    gguf_set_f32(g, "gemma4.rope.freq_base", 1e6f);
    gguf_set_f32(g, "gemma4.rope.freq_base_swa", 1e4f);
    gguf_set_u32(g, "gemma4.rope.dimension_count", HEAD4);
    gguf_set_u32(g, "gemma4.rope.dimension_count_swa", HEAD);
    gguf_set_f32(g, "gemma4.final_logit_softcapping", 30);
    gguf_vocabulary(g);
}

/* The name of a tensor of a layer, for ever. */
static inline const char *gemma4_name(int layer, const char *part)
{
    static char names[LAYERS4 * 24][48];
    static int n;
    char name[48];
    snprintf(name, sizeof name, "blk.%d.%s.weight", layer, part);
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return names[i];
    assert_true(n < (int)CT_COUNT(names));
    strcpy(names[n], name);
    return names[n++];
}

static inline void gemma4_layer(struct gguf *g, int layer, struct gemma4 m)
{
    const bool global = layer % 2, owns = !m.small || layer < 2;
    const uint64_t head = global ? HEAD4 : HEAD, ffn = owns ? FFN : 2 * FFN;
    const uint64_t kv = head * (m.small || global ? 1 : 2);
    const struct {
        const char *part;
        uint32_t type;
        uint64_t cols, rows;
        bool absent;
    } tensors[] = {
        {"attn_norm", T_F32, HIDDEN, 0, false},
        {"attn_q", m.matrix, HIDDEN, HEADS * head, false},
        {"attn_k", m.matrix, HIDDEN, kv, !owns},
        {"attn_v", m.matrix, HIDDEN, kv, !owns || (!m.small && global)},
        {"attn_output", m.matrix, HEADS * head, HIDDEN, false},
        {"attn_q_norm", T_F32, head, 0, false},
        {"attn_k_norm", T_F32, head, 0, !owns},
        {"post_attention_norm", T_F32, HIDDEN, 0, false},
        {"ffn_norm", T_F32, HIDDEN, 0, false},
        {"ffn_gate", m.matrix, HIDDEN, ffn, false},
        {"ffn_up", m.matrix, HIDDEN, ffn, false},
        {"ffn_down", m.matrix, ffn, HIDDEN, false},
        {"post_ffw_norm", T_F32, HIDDEN, 0, false},
        {"inp_gate", m.matrix, HIDDEN, PLE, !m.small},
        {"proj", m.matrix, PLE, HIDDEN, !m.small},
        {"post_norm", T_F32, HIDDEN, 0, !m.small},
        {"layer_output_scale", T_F32, 1, 0, false},
    };
    for (size_t i = 0; i < CT_COUNT(tensors); i++)
        if (!tensors[i].absent)
            gguf_add(g, gemma4_name(layer, tensors[i].part), tensors[i].type, tensors[i].cols,
                     tensors[i].rows);
}

static inline void gemma4_init(struct gguf *g, struct gemma4 m)
{
    *g = (struct gguf){.version = 3, .alignment = 32};
    gemma4_keys(g, m.small);
    gguf_add(g, "rope_freqs.weight", T_F32, HEAD4 / 2, 0);
    for (int i = 0; i < HEAD4 / 2; i++) /* fewer pairs turn than in published members */
        memcpy(g->tensor[0].data.p + 4 * i, &(float){i < TURNING ? 1 : 1e30f}, 4);
    gguf_add(g, "token_embd.weight", m.embedding, HIDDEN, PIECES);
    if (m.small) {
        gguf_add(g, "per_layer_token_embd.weight", m.table, LAYERS4 * PLE, PIECES);
        gguf_add(g, "per_layer_model_proj.weight", m.projection, HIDDEN, LAYERS4 * PLE);
        gguf_add(g, "per_layer_proj_norm.weight", T_F32, PLE, 0);
    }
    for (int i = 0; i < LAYERS4; i++)
        gemma4_layer(g, i, m);
    gguf_add(g, "output_norm.weight", T_F32, HIDDEN, 0);
}

#endif

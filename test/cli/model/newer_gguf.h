/* SPDX-License-Identifier: Apache-2.0 */
/* newer_gguf.h: small models of Gemma 3n and Gemma 4 as GGUF files that really run: as E2B of Gemma 4, with
 * inputs of layers, shared K and V and wider feed-forwards where they are shared; as its 31B, where K makes
 * V in global layers; as its 26B, which has experts besides; and as E2B of Gemma 3n. Matrices have several
 * types, as published files do. Include it in place of bad_gguf.h. */
#ifndef NEWER_GGUF_H
#define NEWER_GGUF_H

#include "cli/model/bad_gguf.h"

/* Layers 1 and 3 are global, in Gemma 4 with heads of HEAD4, of which TURNING pairs turn. In Gemma 3n the
 * table of inputs ends in rows of zeros, for ids that are no text. */
enum { LAYERS4 = 4, HEAD4 = 64, PLE = 64, TURNING = 6, LAUREL = 32, NO_TEXT = 40 };
enum { EXPERTS4 = 4, USED4 = 2, EXPERT_FFN = HIDDEN / 2 };

enum newer_form { AS_E2B, AS_31B, AS_26B, AS_3N };

/* The types of what members store in different ones. */
struct newer {
    enum newer_form form;
    uint32_t matrix, embedding, table, projection;
};
static const struct newer newer_published[] = {[AS_E2B] = {AS_E2B, T_Q4_0, T_Q8_0, T_Q6_K, T_BF16},
                                               [AS_31B] = {AS_31B, T_Q8_0, T_F16, 0, 0},
                                               [AS_26B] = {AS_26B, T_Q4_0, T_Q8_0, 0, 0},
                                               [AS_3N] = {AS_3N, T_Q4_0, T_Q8_0, T_Q8_0, T_F16}};

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

static inline bool newer_has_inputs(enum newer_form form)
{
    return form == AS_E2B || form == AS_3N;
}

static inline void newer_keys(struct gguf *g, enum newer_form form)
{
    const bool inputs = newer_has_inputs(form), heads = form != AS_3N; /* of two widths */
    char key[64];
#define KEY(name) (snprintf(key, sizeof key, "%s.%s", heads ? "gemma4" : "gemma3n", name), key)
    gguf_set_text(g, "general.architecture", heads ? "gemma4" : "gemma3n");
    gguf_set_text(g, "general.name", "small");
    gguf_set_u32(g, KEY("block_count"), LAYERS4);
    gguf_set_u32(g, KEY("context_length"), 128);
    gguf_set_u32(g, KEY("embedding_length"), HIDDEN);
    if (inputs)
        gguf_set_u32s(g, KEY("feed_forward_length"), (const uint32_t[]){FFN, FFN, 2 * FFN, 2 * FFN}, LAYERS4);
    else
        gguf_set_u32(g, KEY("feed_forward_length"), FFN);
    gguf_set_u32(g, KEY("attention.head_count"), HEADS);
    if (inputs)
        gguf_set_u32(g, KEY("attention.head_count_kv"), 1);
    else
        gguf_set_u32s(g, KEY("attention.head_count_kv"), (const uint32_t[]){2, 1, 2, 1}, LAYERS4);
    gguf_set_u32(g, KEY("attention.key_length"), heads ? HEAD4 : HEAD);
    gguf_set_u32(g, KEY("attention.value_length"), heads ? HEAD4 : HEAD);
    gguf_set_u32(g, KEY("attention.sliding_window"), 16);
    gguf_set_array(g, KEY("attention.sliding_window_pattern"), BOOL, (const uint8_t[]){1, 0, 1, 0}, 1,
                   LAYERS4);
    gguf_set_u32(g, KEY("attention.shared_kv_layers"), inputs ? 2 : 0);
    gguf_set_u32(g, KEY("embedding_length_per_layer_input"), inputs ? PLE : 0);
    gguf_set_f32(g, KEY("attention.layer_norm_rms_epsilon"), 1e-6f);
    gguf_set_f32(g, KEY("rope.freq_base"), 1e6f);
    gguf_set_f32(g, KEY("rope.freq_base_swa"), 1e4f);
    gguf_set_f32(g, KEY("final_logit_softcapping"), 30);
    if (form == AS_26B) {
        gguf_set_u32(g, KEY("expert_count"), EXPERTS4);
        gguf_set_u32(g, KEY("expert_used_count"), USED4);
        gguf_set_u32(g, KEY("expert_feed_forward_length"), EXPERT_FFN);
    }
    if (heads) {
        gguf_set_u32(g, KEY("attention.key_length_swa"), HEAD);
        gguf_set_u32(g, KEY("attention.value_length_swa"), HEAD);
        gguf_set_u32(g, KEY("rope.dimension_count"), HEAD4);
        gguf_set_u32(g, KEY("rope.dimension_count_swa"), HEAD);
    } else {
        const float none = -__builtin_inff(), cut = 1.6448536f;
        gguf_set_u32(g, KEY("altup.num_inputs"), 4);
        gguf_set_u32(g, KEY("altup.active_idx"), 0);
        gguf_set_array(g, KEY("activation_sparsity_scale"), F32, (const float[]){cut, cut, none, none}, 4,
                       LAYERS4);
    }
#undef KEY
    gguf_vocabulary(g);
}

/* The name of a tensor of a layer, for ever; a part with a dot has its ending. */
static inline const char *newer_name(int layer, const char *part)
{
    static char names[LAYERS4 * 40][48];
    static int n;
    char name[48];
    snprintf(name, sizeof name, "blk.%d.%s%s", layer, part, strchr(part, '.') ? "" : ".weight");
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return names[i];
    assert_true(n < (int)CT_COUNT(names));
    strcpy(names[n], name);
    return names[n++];
}

/* Matrices in one tensor. */
static inline void newer_stack(struct gguf *g, const char *name, uint32_t type, uint64_t cols, uint64_t rows,
                               uint64_t n)
{
    gguf_add(g, name, type, cols, n * rows);
    struct gguf_tensor *t = gguf_find(g, name);
    t->n_dim = 3;
    t->dim[1] = rows;
    t->dim[2] = n;
}

/* Gate and up of all experts in tensors of their own. */
static inline void newer_apart(struct gguf *g)
{
    static const char *const parts[] = {"ffn_gate_exps", "ffn_up_exps"};
    for (int layer = 0; layer < LAYERS4; layer++) {
        const char *const fused = newer_name(layer, "ffn_gate_up_exps");
        const struct gguf_tensor *from = gguf_find(g, fused);
        const size_t n = from->data.n / (2 * EXPERTS4);
        for (size_t i = 0; i < CT_COUNT(parts); i++) {
            newer_stack(g, newer_name(layer, parts[i]), from->type, HIDDEN, EXPERT_FFN, EXPERTS4);
            struct buf *to = &gguf_find(g, newer_name(layer, parts[i]))->data;
            for (size_t e = 0; e < EXPERTS4; e++)
                memcpy(to->p + e * n, from->data.p + (2 * e + i) * n, n);
        }
        gguf_remove(g, fused);
    }
}

static inline void newer_layer(struct gguf *g, int layer, struct newer m)
{
    const bool inputs = newer_has_inputs(m.form), altup = m.form == AS_3N, experts = m.form == AS_26B;
    const bool global = layer % 2, owns = !inputs || layer < 2;
    const uint64_t head = global && !altup ? HEAD4 : HEAD, ffn = owns ? FFN : 2 * FFN;
    const uint64_t kv = head * (inputs || global ? 1 : 2);
    const struct {
        const char *part;
        uint32_t type;
        uint64_t cols, rows;
        bool present;
    } tensors[] = {
        {"attn_norm", T_F32, HIDDEN, 0, true},
        {"attn_q", m.matrix, HIDDEN, HEADS * head, true},
        {"attn_k", m.matrix, HIDDEN, kv, owns},
        {"attn_v", m.matrix, HIDDEN, kv, owns && (inputs || !global)},
        {"attn_output", m.matrix, HEADS * head, HIDDEN, true},
        {"attn_q_norm", T_F32, head, 0, true},
        {"attn_k_norm", T_F32, head, 0, owns},
        {"post_attention_norm", T_F32, HIDDEN, 0, true},
        {"ffn_norm", T_F32, HIDDEN, 0, true},
        {"ffn_gate", m.matrix, HIDDEN, ffn, true},
        {"ffn_up", m.matrix, HIDDEN, ffn, true},
        {"ffn_down", m.matrix, ffn, HIDDEN, true},
        {"post_ffw_norm", T_F32, HIDDEN, 0, true},
        {"inp_gate", m.matrix, HIDDEN, PLE, inputs},
        {"proj", m.matrix, PLE, HIDDEN, inputs},
        {"post_norm", T_F32, HIDDEN, 0, inputs},
        {"layer_output_scale", T_F32, 1, 0, !altup},
        {"post_ffw_norm_1", T_F32, HIDDEN, 0, experts},
        {"post_ffw_norm_2", T_F32, HIDDEN, 0, experts},
        {"pre_ffw_norm_2", T_F32, HIDDEN, 0, experts},
        {"ffn_gate_inp", T_F32, HIDDEN, EXPERTS4, experts},
        {"ffn_gate_inp.scale", T_F32, HIDDEN, 0, experts},
        {"ffn_down_exps.scale", T_F32, EXPERTS4, 0, experts},
        {"altup_router_norm", T_F32, HIDDEN, 0, altup},
        {"altup_router", T_F32, HIDDEN, 4, altup},
        {"altup_predict_coef", T_F32, 4, 16, altup},
        {"altup_correct_coef", T_F32, 4, 4, altup},
        {"altup_correct_scale", T_F32, HIDDEN, 0, altup},
        {"laurel_l", m.matrix, HIDDEN, LAUREL, altup},
        {"laurel_r", m.matrix, LAUREL, HIDDEN, altup},
        {"laurel_post_norm", T_F32, HIDDEN, 0, altup},
    };
    for (size_t i = 0; i < CT_COUNT(tensors); i++)
        if (tensors[i].present)
            gguf_add(g, newer_name(layer, tensors[i].part), tensors[i].type, tensors[i].cols,
                     tensors[i].rows);
    if (!experts)
        return;
    newer_stack(g, newer_name(layer, "ffn_gate_up_exps"), m.matrix, HIDDEN, 2 * EXPERT_FFN, EXPERTS4);
    newer_stack(g, newer_name(layer, "ffn_down_exps"), m.matrix, EXPERT_FFN, HIDDEN, EXPERTS4);
}

static inline void newer_init(struct gguf *g, struct newer m)
{
    *g = (struct gguf){.version = 3, .alignment = 32};
    newer_keys(g, m.form);
    gguf_add(g, "token_embd.weight", m.embedding, HIDDEN, PIECES);
    if (newer_has_inputs(m.form)) {
        gguf_add(g, "per_layer_token_embd.weight", m.table, LAYERS4 * PLE, PIECES);
        gguf_add(g, "per_layer_model_proj.weight", m.projection, HIDDEN, LAYERS4 * PLE);
        gguf_add(g, "per_layer_proj_norm.weight", T_F32, PLE, 0);
    }
    if (m.form == AS_3N) {
        struct buf *table = &gguf_find(g, "per_layer_token_embd.weight")->data;
        const size_t zeros = table->n / PIECES * NO_TEXT;
        memset(table->p + table->n - zeros, 0, zeros);
        newer_stack(g, "altup_proj.weight", m.matrix, HIDDEN, HIDDEN, 3);
        newer_stack(g, "altup_unembd_proj.weight", m.matrix, HIDDEN, HIDDEN, 3);
    } else {
        gguf_add(g, "rope_freqs.weight", T_F32, HEAD4 / 2, 0);
        for (int i = 0; i < HEAD4 / 2; i++)
            memcpy(gguf_find(g, "rope_freqs.weight")->data.p + 4 * i, &(float){i < TURNING ? 1 : 1e30f}, 4);
    }
    for (int i = 0; i < LAYERS4; i++)
        newer_layer(g, i, m);
    gguf_add(g, "output_norm.weight", T_F32, HIDDEN, 0);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* int4_build.h: a small random Gemma 3 whose matrices are quantised to int4 in groups of 32, as safetensors
 * in compressed-tensors' form and as a GGUF file with Q4_0: what both hold is worked out here from the same
 * codes and scales, each by its own format's words. */
#ifndef INT4_BUILD_H
#define INT4_BUILD_H

#include "file/file_build.h"

enum {
    I4_HIDDEN = 64,
    I4_FFN = 96,
    I4_HEADS = 2,
    I4_HEAD = 32,
    I4_VOCAB = 64,
    I4_LAYERS = 2,
    I4_LAYERS4 = 4
};

#define I4_WEIGHTS                                                                                           \
    "\"weights\":{\"num_bits\":4,\"type\":\"int\",\"symmetric\":true,\"strategy\":\"group\","                \
    "\"group_size\":32,\"dynamic\":false,\"actorder\":null,\"observer\":\"minmax\"}"
#define I4_QUANTISED                                                                                         \
    "\"quantization_config\":{\"quant_method\":\"compressed-tensors\",\"format\":\"pack-quantized\","        \
    "\"quantization_status\":\"compressed\",\"kv_cache_scheme\":null,\"sparsity_config\":{},"                \
    "\"ignore\":[\"lm_head\",\"model.embed_tokens\"],\"config_groups\":{\"group_0\":{"                       \
    "\"targets\":[\"Linear\"],\"input_activations\":null,\"output_activations\":null," I4_WEIGHTS "}}}}"
#define I4_SIZES                                                                                             \
    "\"vocab_size\":64,\"hidden_size\":64,\"intermediate_size\":96,\"num_attention_heads\":2,"               \
    "\"num_key_value_heads\":1,\"head_dim\":32,\"max_position_embeddings\":256,\"sliding_window\":32,"       \
    "\"rms_norm_eps\":1e-06,\"tie_word_embeddings\":true,\"bos_token_id\":2,\"eos_token_id\":1,"
#define I4_CONFIG                                                                                            \
    "{\"model_type\":\"gemma3_text\",\"num_hidden_layers\":2,\"query_pre_attn_scalar\":32,"                  \
    "\"sliding_window_pattern\":2," I4_SIZES I4_QUANTISED
/* As a Gemma 4 whose second half reads K and V of the first, which it has all the same. */
#define I4_CONFIG4                                                                                           \
    "{\"model_type\":\"gemma4_text\",\"num_hidden_layers\":4,\"global_head_dim\":32,"                        \
    "\"hidden_size_per_layer_input\":0,\"num_kv_shared_layers\":2,\"layer_types\":["                         \
    "\"sliding_attention\",\"full_attention\",\"sliding_attention\",\"full_attention\"]," I4_SIZES           \
        I4_QUANTISED

/* rows 0: a norm; else a matrix, of int4 where it says so. */
struct i4_tensor {
    const char *hf, *gguf;
    int rows, cols;
    bool int4;
};
static const struct i4_tensor i4_of_layer[] = {
    {"input_layernorm", "attn_norm", 0, I4_HIDDEN, false},
    {"self_attn.q_proj", "attn_q", I4_HEADS *I4_HEAD, I4_HIDDEN, true},
    {"self_attn.k_proj", "attn_k", I4_HEAD, I4_HIDDEN, true},
    {"self_attn.v_proj", "attn_v", I4_HEAD, I4_HIDDEN, true},
    {"self_attn.o_proj", "attn_output", I4_HIDDEN, I4_HEADS *I4_HEAD, true},
    {"self_attn.q_norm", "attn_q_norm", 0, I4_HEAD, false},
    {"self_attn.k_norm", "attn_k_norm", 0, I4_HEAD, false},
    {"post_attention_layernorm", "post_attention_norm", 0, I4_HIDDEN, false},
    {"pre_feedforward_layernorm", "ffn_norm", 0, I4_HIDDEN, false},
    {"mlp.gate_proj", "ffn_gate", I4_FFN, I4_HIDDEN, true},
    {"mlp.up_proj", "ffn_up", I4_FFN, I4_HIDDEN, true},
    {"mlp.down_proj", "ffn_down", I4_HIDDEN, I4_FFN, true},
    {"post_feedforward_layernorm", "post_ffw_norm", 0, I4_HIDDEN, false},
};

/* The two forms in the making. */
struct i4_model {
    struct buf header, data;  /* of safetensors */
    struct buf infos, values; /* of GGUF */
    uint64_t n_tensor;        /* in it */
    uint32_t random;
    const char
        *scaled; /* the tensor whose first group has the scale `scale`, and zeros if `zeros`; NULL: none */
    uint16_t scale;
    bool zeros;
    const char *entry;   /* one tensor more in the safetensors, of 64 values; NULL: none */
    uint64_t rows, cols; /* that weight_shape says of k_proj; 0: what it is */
    bool gemma4;         /* as I4_CONFIG4 says, in safetensors alone */
};

static inline uint32_t i4_random(struct i4_model *m)
{
    m->random = m->random * 1664525u + 1013904223u;
    return m->random >> 16;
}

static inline void i4_entry(struct i4_model *m, const char *name, const char *type, const char *shape,
                            const struct buf *data)
{
    char entry[320];
    snprintf(entry, sizeof entry, "%c\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}",
             m->header.n ? ',' : '{', name, type, shape, m->data.n, m->data.n + data->n);
    put_text(&m->header, entry);
    put(&m->data, data->p, data->n);
}

static inline void i4_info(struct i4_model *m, const char *name, uint32_t type, int rows, int cols,
                           const struct buf *data)
{
    const uint64_t ne[] = {(uint64_t)cols, (uint64_t)rows};
    put_pad(&m->values, 32);
    put_info(&m->infos, name, rows ? 2 : 1, ne, type, m->values.n);
    put(&m->values, data->p, data->n);
    m->n_tensor++;
}

/* A plain tensor; GGUF has norms as f32 with Gemma's 1 added. */
static inline void i4_plain(struct i4_model *m, const char *hf, const char *gguf, int rows, int cols)
{
    struct buf half = {0}, wide = {0};
    char shape[48];
    for (int i = 0; i < cols * CT_MAX(rows, 1); i++) {
        const uint16_t bits = ct_f32_to_bf16((float)(int)(i4_random(m) % 255) / 1024 - 0.125f);
        put(&half, &bits, 2);
        put(&wide, &(float){ct_bf16_to_f32(bits) + 1}, 4);
    }
    snprintf(shape, sizeof shape, rows ? "%2$d,%1$d" : "%1$d", cols, rows);
    i4_entry(m, hf, "BF16", shape, &half);
    i4_info(m, gguf, rows ? 30 : 0, rows, cols, rows ? &half : &wide);
    buf_free(&half);
    buf_free(&wide);
}

/* Codes from -8 to 7 and a scale for each 32 of them. */
static inline void i4_quantised(struct i4_model *m, const char *hf, const char *gguf, int rows, int cols)
{
    struct buf packed = {0}, scales = {0}, shape = {0}, blocks = {0};
    char name[160], text[48];
    for (int g = 0; g < rows * cols / 32; g++) {
        const bool special = g == 0 && m->scaled && strcmp(m->scaled, gguf) == 0;
        const uint16_t scale =
            special ? m->scale : ct_f32_to_bf16((float)(1 + i4_random(m) % 255) * 0x1p-13f);
        uint8_t block[18] = {0};
        const uint16_t half = ct_f32_to_f16(ct_bf16_to_f32(scale));
        int code[32];
        memcpy(block, &half, 2);
        for (int i = 0; i < 32; i++)
            code[i] = special && m->zeros ? 0 : (int)(i4_random(m) % 16) - 8;
        for (int i = 0; i < 32; i += 8) { /* eight to an integer, the first in the lowest bits */
            uint32_t eight = 0;
            for (int k = 0; k < 8; k++)
                eight |= (uint32_t)(code[i + k] + 8) << (4 * k);
            put_u32(&packed, eight);
        }
        for (int i = 0; i < 16; i++) /* the first 16 are low nibbles */
            block[2 + i] = (uint8_t)((code[i] + 8) | (code[i + 16] + 8) << 4);
        put(&scales, &scale, 2);
        put(&blocks, block, sizeof block);
    }
    put_u64(&shape, m->rows && strstr(hf, "k_proj") ? m->rows : (uint64_t)rows);
    put_u64(&shape, m->cols && strstr(hf, "k_proj") ? m->cols : (uint64_t)cols);
    snprintf(name, sizeof name, "%s_packed", hf);
    snprintf(text, sizeof text, "%d,%d", rows, cols / 8);
    i4_entry(m, name, "I32", text, &packed);
    snprintf(name, sizeof name, "%s_scale", hf);
    snprintf(text, sizeof text, "%d,%d", rows, cols / 32);
    i4_entry(m, name, "BF16", text, &scales);
    snprintf(name, sizeof name, "%s_shape", hf);
    i4_entry(m, name, "I64", "2", &shape);
    i4_info(m, gguf, 2, rows, cols, &blocks);
    buf_free(&packed);
    buf_free(&scales);
    buf_free(&shape);
    buf_free(&blocks);
}

static inline void i4_build(struct i4_model *m)
{
    m->random = 1;
    i4_plain(m, "model.embed_tokens.weight", "token_embd.weight", I4_VOCAB, I4_HIDDEN);
    i4_plain(m, "model.norm.weight", "output_norm.weight", 0, I4_HIDDEN);
    if (m->entry)
        i4_plain(m, m->entry, "more", 0, 64);
    for (int l = 0; l < (m->gemma4 ? I4_LAYERS4 : I4_LAYERS); l++) {
        char hf[128], gguf[64];
        snprintf(hf, sizeof hf, "model.layers.%d.layer_scalar", l);
        if (m->gemma4)
            i4_plain(m, hf, "more", 0, 1);
        for (size_t i = 0; i < CT_COUNT(i4_of_layer); i++) {
            const struct i4_tensor *t = &i4_of_layer[i];
            snprintf(hf, sizeof hf, "model.layers.%d.%s.weight", l, t->hf);
            snprintf(gguf, sizeof gguf, "blk.%d.%s.weight", l, t->gguf);
            (t->int4 ? i4_quantised : i4_plain)(m, hf, gguf, t->rows, t->cols);
        }
    }
    put_text(&m->header, "}");
}

/* Keys of the GGUF file beside its architecture. */
static const struct {
    const char *key;
    uint32_t value;
} i4_keys[] = {{"gemma3.block_count", I4_LAYERS},
               {"gemma3.context_length", 256},
               {"gemma3.embedding_length", I4_HIDDEN},
               {"gemma3.feed_forward_length", I4_FFN},
               {"gemma3.attention.head_count", I4_HEADS},
               {"gemma3.attention.head_count_kv", 1},
               {"gemma3.attention.key_length", I4_HEAD},
               {"gemma3.attention.sliding_window", 32},
               {"gemma3.attention.sliding_window_pattern", 2}};

/* The GGUF file. */
static inline struct buf i4_gguf(const struct i4_model *m)
{
    struct buf b = {0};
    put_header(&b, 3, m->n_tensor, CT_COUNT(i4_keys) + 1);
    put_str(&b, "general.architecture");
    put_u32(&b, 8);
    put_str(&b, "gemma3");
    for (size_t i = 0; i < CT_COUNT(i4_keys); i++)
        put_meta_u32(&b, i4_keys[i].key, i4_keys[i].value);
    put(&b, m->infos.p, m->infos.n);
    put_pad(&b, 32);
    put(&b, m->values.p, m->values.n);
    return b;
}

static inline void i4_free(struct i4_model *m)
{
    buf_free(&m->header);
    buf_free(&m->data);
    buf_free(&m->infos);
    buf_free(&m->values);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* small_model.h: a Gemma 3 in memory that is as small as one can be whose attention goes by the vector paths,
 * for tests of a million steps. Its weights are random. Committed models are opened by invariance.h. */
#ifndef SMALL_MODEL_H
#define SMALL_MODEL_H

#include "invariance.h"

enum { SMALL_WIDTH = 32, SMALL_IDS = 64, SMALL_BYTES = 1 << 17 };

struct small_model {
    carat_model *model;
    char config[1024], weights[SMALL_BYTES];
};

/* Names a tensor in the header of the file, and gives it values. */
static void small_tensor(char *header, float *values, size_t *n, const char *name, int rows, int cols)
{
    const size_t begin = *n;

    for (int i = 0; i < CT_MAX(rows, 1) * cols; i++) {
        const uint32_t mixed = (uint32_t)(*n + 1) * 2654435761u;
        values[(*n)++] = (float)(int32_t)(mixed ^ mixed << 13) * 0x1p-34f;
    }
    sprintf(header + strlen(header), "%c\"%s.weight\":{\"dtype\":\"F32\",\"shape\":[", *header ? ',' : '{',
            name);
    sprintf(header + strlen(header), rows ? "%d,%d" : "%.0d%d", rows, cols);
    sprintf(header + strlen(header), "],\"data_offsets\":[%zu,%zu]}", begin * sizeof *values,
            *n * sizeof *values);
}

/* One layer that sees all; before it another one of this window, where it is not 0. */
static void small_open(struct small_model *m, int window)
{
    static const struct {
        const char *name;
        bool is_matrix;
    } of_layer[] = {
        {"self_attn.q_proj", true},
        {"self_attn.k_proj", true},
        {"self_attn.v_proj", true},
        {"self_attn.o_proj", true},
        {"mlp.gate_proj", true},
        {"mlp.up_proj", true},
        {"mlp.down_proj", true},
        {"self_attn.q_norm", false},
        {"self_attn.k_norm", false},
        {"input_layernorm", false},
        {"post_attention_layernorm", false},
        {"pre_feedforward_layernorm", false},
        {"post_feedforward_layernorm", false},
    };
    static float values[SMALL_BYTES / sizeof(float)];
    static char header[1 << 13];
    const int layers = window ? 2 : 1;
    char name[64];
    size_t n = 0;

    *header = 0;
    snprintf(
        m->config, sizeof m->config,
        "{\"architectures\":[\"Gemma3ForCausalLM\"],\"model_type\":\"gemma3_text\",\"attention_bias\":false,"
        "\"head_dim\":%d,\"hidden_activation\":\"gelu_pytorch_tanh\",\"hidden_size\":%d,"
        "\"intermediate_size\":%d,\"layer_types\":[%s\"full_attention\"],\"max_position_embeddings\":2048,"
        "\"num_attention_heads\":1,\"num_hidden_layers\":%d,\"num_key_value_heads\":1,"
        "\"query_pre_attn_scalar\":%d,\"rms_norm_eps\":1e-6,\"rope_local_base_freq\":10000.0,"
        "\"rope_theta\":1000000.0,\"sliding_window\":%d,\"torch_dtype\":\"float32\",\"vocab_size\":%d,"
        "\"bos_token_id\":2,\"eos_token_id\":1,\"pad_token_id\":0}",
        SMALL_WIDTH, SMALL_WIDTH, SMALL_WIDTH, window ? "\"sliding_attention\"," : "", layers, SMALL_WIDTH,
        window ? window : 512, SMALL_IDS);
    small_tensor(header, values, &n, "model.embed_tokens", SMALL_IDS, SMALL_WIDTH);
    small_tensor(header, values, &n, "model.norm", 0, SMALL_WIDTH);
    for (int l = 0; l < layers; l++)
        for (size_t i = 0; i < sizeof of_layer / sizeof *of_layer; i++) {
            snprintf(name, sizeof name, "model.layers.%d.%s", l, of_layer[i].name);
            small_tensor(header, values, &n, name, of_layer[i].is_matrix ? SMALL_WIDTH : 0, SMALL_WIDTH);
        }
    strcat(header, "}");

    const uint64_t header_bytes = strlen(header);
    memcpy(m->weights, &header_bytes, sizeof header_bytes);
    memcpy(m->weights + sizeof header_bytes, header, header_bytes);
    memcpy(m->weights + sizeof header_bytes + header_bytes, values, n * sizeof *values);
    const carat_buffer file[] = {
        {"config.json", m->config, strlen(m->config)},
        {"model.safetensors", m->weights, sizeof header_bytes + header_bytes + n * sizeof *values},
    };
    OK(carat_model_open_memory(&m->model, file, sizeof *file, 2, NULL, err));
    snprintf(where, sizeof where, "a small model with a window of %d", window);
}

#endif

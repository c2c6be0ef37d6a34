/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_drafter.c: any bytes as the model.safetensors of a small drafter: it is refused, or the ids of its
 * groups are a permutation and its embedding lies in their order, row by row. The length of the header is
 * made right first when the first byte is odd, so that mutations reach the JSON behind it. */
#include <stdlib.h>

#include "model/weights.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char config[] =
    "{\"model_type\":\"gemma4_assistant\",\"backbone_hidden_size\":4,\"use_ordered_embeddings\":true,"
    "\"num_centroids\":2,\"centroid_intermediate_top_k\":1,\"text_config\":{\"model_type\":\"gemma4_text\","
    "\"num_hidden_layers\":1,\"vocab_size\":8,\"hidden_size\":4,\"intermediate_size\":4,"
    "\"num_attention_heads\":1,\"num_key_value_heads\":1,\"head_dim\":4,\"global_head_dim\":4,"
    "\"layer_types\":[\"full_attention\"],\"sliding_window\":16,\"hidden_size_per_layer_input\":0,"
    "\"vocab_size_per_layer_input\":0,\"num_kv_shared_layers\":1}}";

static void must(bool condition)
{
    if (!condition)
        abort();
}

static void check(const struct ct_file *f, const struct ct_config *c, const struct ct_weights *w)
{
    const struct ct_tensor *embed = ct_file_find(f, "model.embed_tokens.weight");
    const float *id = w->ordering.data;
    bool seen[8] = {false};

    must(c->n_vocab == 8 && w->ordering.cols == 8 && embed && w->embed.rows == 8);
    for (int i = 0; i < 8; i++) {
        const int at = (int)id[i];
        must(at >= 0 && at < 8 && (float)at == id[i] && !seen[at]);
        seen[at] = true;
        must(memcmp((const uint8_t *)w->embed.data + (size_t)i * w->embed.row_bytes,
                    embed->data + (size_t)at * w->embed.row_bytes, w->embed.row_bytes) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = malloc(size + 1);
    struct ct_file *f;
    struct ct_config c;
    struct ct_weights w;
    struct ct_arena arena = {0};
    carat_error err;

    if (!bytes)
        return 0;
    memcpy(bytes, data, size);
    if (size > 8 && bytes[0] & 1) {
        const uint8_t *end = memchr(bytes + 8, '}', size - 8);
        for (const uint8_t *next = end; next; next = memchr(next + 1, '}', size - (size_t)(next + 1 - bytes)))
            end = next[0] == '}' && (size_t)(next - bytes) + 1 < size && next[1] == '}' ? next + 1 : end;
        const uint64_t n = end ? (uint64_t)(end - bytes) + 1 - 8 : 0;
        memcpy(bytes, &n, sizeof n);
    }
    const struct ct_part part[] = {
        {"config.json", {(const uint8_t *)config, sizeof config - 1}},
        {"model.safetensors", {bytes, size}},
    };
    if (ct_file_open_memory(&f, part, 2, &err) == CARAT_OK) {
        must(ct_config_read(&c, f, &err) == CARAT_OK);
        if (ct_weights_bind(&w, &c, f, &arena, &err) == CARAT_OK)
            check(f, &c, &w);
        else
            must(err.message[0]);
        ct_arena_free(&arena);
        ct_file_close(f);
    }
    free(bytes);
    return 0;
}

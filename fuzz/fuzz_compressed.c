/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_compressed.c: any bytes as the model.safetensors of a small Gemma 3 in compressed-tensors' form: it is
 * refused, or every value of a matrix is (code - 8) * scale, worked out here value by value from the file's
 * own tensors. The length of the header is made right first when the first byte is odd, so that mutations
 * reach the JSON behind it. config.json is fixed: fuzz_config.c has such ones. */
#include <math.h>
#include <stdlib.h>

#include "model/weights.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char config[] =
    "{\"model_type\":\"gemma3_text\",\"num_hidden_layers\":1,\"query_pre_attn_scalar\":32,"
    "\"sliding_window_pattern\":2,\"vocab_size\":8,\"hidden_size\":32,\"intermediate_size\":64,"
    "\"num_attention_heads\":1,\"num_key_value_heads\":1,\"head_dim\":32,\"max_position_embeddings\":64,"
    "\"sliding_window\":16,\"rms_norm_eps\":1e-06,\"tie_word_embeddings\":true,\"quantization_config\":{"
    "\"quant_method\":\"compressed-tensors\",\"format\":\"pack-quantized\",\"config_groups\":{\"group_0\":{"
    "\"targets\":[\"Linear\"],\"weights\":{\"num_bits\":4,\"symmetric\":true,\"strategy\":\"group\","
    "\"group_size\":32}}}}}";

static void must(bool condition)
{
    if (!condition)
        abort();
}

static const struct ct_tensor *beside(const struct ct_file *f, const char *name, const char *part)
{
    char whole[512];

    snprintf(whole, sizeof whole, "%s%s", name, part);
    return ct_file_find(f, whole);
}

static void check_row(const struct ct_weight *w, int row, const struct ct_tensor *packed,
                      const struct ct_tensor *scale)
{
    float v[64];

    must(w->cols <= 64);
    ct_dequantize(w->type, v, (const uint8_t *)w->data + (size_t)row * w->row_bytes, (size_t)w->cols);
    for (int i = 0; i < w->cols; i++) {
        const size_t at = (size_t)row * (size_t)w->cols + (size_t)i;
        const int code = (int)(ct_le32(packed->data + at / 8 * 4) >> 4 * (at % 8) & 15);
        const float right = (float)(code - 8) * ct_bf16_to_f32(ct_le16(scale->data + at / 32 * 2));
        must(v[i] == right || (isnan(right) && (isnan(v[i]) || code == 8)));
    }
}

static carat_status check_weight(void *file, const char *slot, const char *name, const struct ct_weight *w)
{
    const struct ct_tensor *packed = beside(file, name, "_packed"), *scale = beside(file, name, "_scale");
    volatile uint8_t sum = 0;

    (void)slot;
    for (size_t i = 0; i < ct_weight_bytes(w); i++)
        sum = (uint8_t)(sum + ((const uint8_t *)w->data)[i]);
    for (int r = 0; packed && r < w->rows; r++) {
        must(scale && (w->type == CT_Q4_0 || w->type == CT_F32));
        check_row(w, r, packed, scale);
    }
    return CARAT_OK;
}

static void check(struct ct_bytes tensors)
{
    static struct ct_config c; /* large */
    const struct ct_part part[] = {{"config.json", {(const uint8_t *)config, sizeof config - 1}},
                                   {"model.safetensors", tensors}};
    struct ct_weights w;
    struct ct_arena arena = {0};
    struct ct_file *f;
    carat_error err;

    if (ct_file_open_memory(&f, part, 2, &err) != CARAT_OK)
        return;
    if (ct_config_read(&c, f, &err) == CARAT_OK && ct_weights_bind(&w, &c, f, &arena, &err) == CARAT_OK)
        must(ct_weights_walk(&w, &c, f, check_weight, f) == CARAT_OK);
    ct_arena_free(&arena);
    ct_file_close(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);

    if (!copy)
        return 0;
    if (size)
        memcpy(copy, data, size);
    if (size >= 8 && (copy[0] & 1)) {
        uint64_t n = 0; /* up to the last "}}" */
        for (size_t i = 9; i < size; i++)
            if (copy[i] == '}' && copy[i - 1] == '}')
                n = i - 7;
        memcpy(copy, &n, 8);
    }
    check((struct ct_bytes){copy, size});
    free(copy);
    return 0;
}

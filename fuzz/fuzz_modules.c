/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_modules.c: any bytes as modules.json and the configurations of its modules, one behind the other with
 * a NUL between, beside a sound embedder: it is refused, or its matrices follow each other. Weights of
 * modules are fuzz_safetensors.c's. */
#include <stdlib.h>

#include "model/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char config[] = "{\"model_type\":\"gemma3_text\",\"use_bidirectional_attention\":true,"
                             "\"hidden_size\":4,\"num_hidden_layers\":1}";
static const char weights[] = "\2\0\0\0\0\0\0\0{}";

static void must(bool condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ct_part part[] = {
        {"config.json", {(const uint8_t *)config, sizeof config - 1}},
        {"model.safetensors", {(const uint8_t *)weights, sizeof weights - 1}},
        {"2_Dense/model.safetensors", {(const uint8_t *)weights, sizeof weights - 1}},
        {"3_Dense/model.safetensors", {(const uint8_t *)weights, sizeof weights - 1}},
        {"modules.json", {0}},
        {"1_Pooling/config.json", {0}},
        {"2_Dense/config.json", {0}},
        {"3_Dense/config.json", {0}},
    };
    const int n = (int)CT_COUNT(part);
    struct ct_file *f;
    struct ct_config c;
    carat_error err;

    for (int i = 4; i < n; i++) {
        const uint8_t *end = size ? memchr(data, 0, size) : NULL;
        const size_t length = end ? (size_t)(end - data) : size;
        part[i].bytes = (struct ct_bytes){data, length};
        data += end ? length + 1 : length;
        size -= end ? length + 1 : length;
    }
    if (ct_file_open_memory(&f, part, n, &err) != CARAT_OK) {
        must(err.message[0]);
        return 0;
    }
    if (ct_config_read(&c, f, &err) == CARAT_OK) {
        must(c.embeds && c.n_dense >= 0 && c.n_dense <= CT_MOST_DENSE && !c.vector_inside);
        for (int i = 0; i < c.n_dense; i++)
            must(c.dense[i] >= 1);
    } else {
        must(err.message[0]);
    }
    ct_file_close(f);
    return 0;
}

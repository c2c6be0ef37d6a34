/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_safetensors.c: any bytes as the model.safetensors of a directory in memory; what opens must lie
 * inside the bytes. The first eight bytes are replaced by the true header length when the first is odd, so
 * that mutations reach the JSON behind them. Indexes of sharded checkpoints are fuzz_hf_index.c's. */
#include <stdlib.h>

#include "file/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct ct_part *part, int n, struct ct_bytes b)
{
    struct ct_file *f;
    carat_error err;
    if (ct_file_open_memory(&f, part, n, &err) != CARAT_OK)
        return;
    for (int i = 0; i < ct_file_tensor_count(f); i++) {
        const struct ct_tensor *t = ct_file_tensor(f, i);
        if (ct_file_find(f, t->name) != t || t->data < b.data || t->size > b.size ||
            (size_t)(t->data - b.data) > b.size - t->size)
            abort();
    }
    ct_file_close(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ct_bytes config = {(const uint8_t *)"{}", 2};
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        return 0;
    if (size)
        memcpy(copy, data, size);
    if (size >= 8 && (copy[0] & 1)) {
        uint64_t n = 0; /* up to the last '}' */
        for (size_t i = 8; i < size; i++)
            if (copy[i] == '}')
                n = i - 7;
        memcpy(copy, &n, 8);
    }
    struct ct_bytes b = {copy, size};
    check((struct ct_part[]){{"config.json", config}, {"model.safetensors", b}}, 2, b);
    free(copy);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_hf_index.c: any bytes as the index of a sharded checkpoint in memory, beside two sound shards:
 * refused, or every tensor lies where the index puts it, inside its shard, and has a name of its own.
 * Shards themselves are fuzz_safetensors.c's. */
#include <stdlib.h>

#include "file/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TENSOR(name, begin, end)                                                                             \
    "\"" name "\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[" begin "," end "]}"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char x[] =
        "\x6f\0\0\0\0\0\0\0{" TENSOR("a", "0", "4") "," TENSOR("b", "4", "8") "}    \0\0\0\0\1\1\1\1",
                      y[] = "\x6f\0\0\0\0\0\0\0{" TENSOR("b", "0", "4") "," TENSOR(
                          "c", "4", "8") "}    \2\2\2\2\3\3\3\3";
    const struct ct_part part[] = {
        {"config.json", {(const uint8_t *)"{}", 2}},
        {"model.safetensors.index.json", {data, size}},
        {"x", {(const uint8_t *)x, sizeof x - 1}},
        {"y", {(const uint8_t *)y, sizeof y - 1}},
    };
    struct ct_file *f;
    carat_error err;
    if (ct_file_open_memory(&f, part, 4, &err) != CARAT_OK) {
        if (!err.message[0])
            abort();
        return 0;
    }
    if (ct_file_tensor_count(f) > 3)
        abort();
    for (int i = 0; i < ct_file_tensor_count(f); i++) {
        const struct ct_tensor *t = ct_file_tensor(f, i);
        const struct ct_part *shard = strcmp(t->file, "x") == 0 ? &part[2] : &part[3];
        if (ct_file_find(f, t->name) != t || strcmp(t->file, shard->name) != 0 ||
            t->data != shard->bytes.data + t->offset || t->offset + 4 > shard->bytes.size || t->size != 4)
            abort();
    }
    ct_file_close(f);
    return 0;
}

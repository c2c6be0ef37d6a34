/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_ollama.c: any bytes as a manifest of ollama's store: refused with a reason, or its layers are names
 * of files in blobs/ and nothing else. */
#include <stdlib.h>

#include "names/stores.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
}

static void check(const struct ct_ollama_layer *layer)
{
    if (!*layer->blob)
        return;
    must(strlen(layer->blob) == CT_OLLAMA_BLOB - 1 && memcmp(layer->blob, "sha256-", 7) == 0 &&
         layer->size >= -1);
    for (const char *c = layer->blob + 7; *c; c++)
        must(ct_hex_digit(*c) >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ct_ollama_manifest m;
    carat_error err;

    if (ct_ollama_read_manifest(&m, "manifest", (struct ct_bytes){data, size}, &err) != CARAT_OK) {
        must(err.message[0]);
        return 0;
    }
    must(strlen(m.refused) < sizeof m.refused);
    must(*m.refused || *m.list.blob || *m.layer[CT_OLLAMA_WEIGHTS].blob);
    check(&m.list);
    for (int i = 0; i < CT_OLLAMA_ROLES; i++)
        check(&m.layer[i]);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_tokenizer_model.c: any bytes as a tokenizer.model: refused, or a tokenizer that encodes and
 * decodes. */
#include "fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ct_tokenizer *t;
    carat_error err;
    if (ct_tokenizer_from_model(&t, "fuzz", (struct ct_bytes){data, size}, NULL, &err) != CARAT_OK)
        return 0;
    exercise(t, data, size);
    ct_tokenizer_free(t);
    return 0;
}

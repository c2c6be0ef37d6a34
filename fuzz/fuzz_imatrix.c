/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_imatrix.c: any bytes as a file of importance, in either form: it is read or refused, and what was read
 * are numbers of at least 0 that can be read to the last one. */
#include <math.h>
#include <stdlib.h>

#include "convert/importance.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ct_arena arena = {0};
    struct ct_importance i;
    carat_error err;

    if (ct_importance_parse(&i, "fuzz", (struct ct_bytes){data, size}, &arena, &err) == CARAT_OK)
        for (int k = 0; k < i.n; k++)
            for (size_t c = 0; c < i.of[k].n; c++)
                if (!isfinite(i.of[k].value[c]) || i.of[k].value[c] < 0 || !*i.of[k].name)
                    abort();
    ct_arena_free(&arena);
    return 0;
}

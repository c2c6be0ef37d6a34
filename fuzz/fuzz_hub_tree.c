/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_hub_tree.c: any bytes as huggingface_hub's list of a commit's files: refused, or every name stays in
 * its folder. */
#include <stdlib.h>

#include "base/path.h"
#include "names/hub.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ct_arena arena = {NULL};
    struct ct_hub_tree t;
    const bool good = ct_hub_read_tree(&t, (struct ct_bytes){data, size}, &arena);

    for (size_t i = 0; i < t.n && good; i++)
        if (!t.name[i] || !ct_path_stays_inside(ct_str_of(t.name[i])))
            abort();
    free(t.name);
    ct_arena_free(&arena);
    return 0;
}

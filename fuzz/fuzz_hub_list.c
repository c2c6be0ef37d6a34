/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_hub_list.c: any bytes as what a hub answers when it is asked for the files of a repository, one
 * page behind the other with a NUL between: it is refused with a reason, or every file has a name that
 * stays in its folder, a size and a hash. Connections are http.c's and are not here. */
#include "fetch_stubs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return ask_source(&hub_source, "google/gemma-3-1b-it", "main", data, size);
}

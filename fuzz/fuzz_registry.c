/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_registry.c: any bytes as what ollama's registry answers when it is asked for a manifest: refused with
 * a reason, or every blob has a hash, a size, and a name that stays in its folder. */
#include "fetch_stubs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return ask_source(&ollama_source, "library/gemma3", "1b", data, size);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_kaggle_list.c: any bytes as what Kaggle answers when it is asked for the newest version of a model
 * and its files, one answer behind the other with a NUL between: refused with a reason, or every file has
 * a name that stays in its folder, and a size. */
#include "fetch_stubs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return ask_source(&kaggle_source, "google/gemma-3/gguf/1b-it", "", data, size);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_kaggle_list.c: any bytes as what Kaggle answers when it is asked for the newest version of a model
 * and its files, one answer behind the other with a NUL between: refused with a reason, or every file has
 * a name that stays in its folder, and a size. Then the same bytes as what it finds by words. */
#include "fetch_stubs.h"
#include "search.h"

static void search(const uint8_t *data, size_t size)
{
    struct plan plan = {.task = TASK_SEARCH,
                        .source = &kaggle_source,
                        .endpoint = "http://hub",
                        .query = "gemma",
                        .limit = 10};

    answers = data;
    n_answers = size;
    n_refused = 0;
    const int code = search_kaggle(NULL, &plan);
    must((code == DONE) == (n_refused == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    search(data, size);
    return ask_source(&kaggle_source, "google/gemma-3/gguf/1b-it", "", data, size);
}

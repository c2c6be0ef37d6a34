/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_eval_item.c: any bytes as a line of `carat eval`. Checked besides memory: what is accepted has a
 * question, two to 26 choices of which none is empty or there twice, and an answer among them; what is
 * refused says why. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "quality/eval_item.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *value = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    struct eval_item item;
    struct item_fault fault = {NULL, 0, ""};

    if (!value)
        return 0;
    if (eval_item_read(&item, value, &fault)) {
        require(*item.question && item.context && item.subject);
        require(item.n >= 2 && item.n <= MOST_CHOICES && item.answer >= 0 && item.answer < item.n);
        for (int i = 0; i < item.n; i++) {
            require(*item.choice[i]);
            for (int j = 0; j < i; j++)
                require(strcmp(item.choice[i], item.choice[j]) != 0);
        }
    } else {
        require(fault.text[0] && fault.member && fault.element >= -1 && fault.element < MOST_CHOICES);
    }
    json_decref(value);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_dataset.c: any bytes as a line of a data set. Checked besides memory: what is accepted has a prompt of
 * its kind, what is refused says why and where, and members and elements are found inside the line. */
#include <stdint.h>
#include <stdlib.h>

#include "io/json_place.h"
#include "prompt/dataset_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void look(const char *text, size_t size)
{
    static const char *const members[] = {"id",   "ids",    "messages", "tools", "prompt",
                                          "text", "answer", "logits",   ""};

    for (size_t m = 0; m < sizeof members / sizeof *members; m++) {
        for (int i = -1; i < 3; i++)
            require(json_member_at(text, size, members[m], i) <= size);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct dataset_line l;
    struct line_fault fault;

    look(text, size);
    if (!dataset_line_read(&l, text, size, &fault)) {
        require(fault.text[0] && fault.byte <= size && !l.root);
        return 0;
    }
    require((l.kind == PROMPT_IDS) == (l.ids != NULL));
    require(l.kind != PROMPT_MESSAGES || json_array_size(l.messages) > 0);
    require(l.kind < PROMPT_USER || l.text);
    require(!l.id || text[json_member_at(text, size, "id", -1)] != 0);
    dataset_line_free(&l);
    return 0;
}

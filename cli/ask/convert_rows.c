/* SPDX-License-Identifier: Apache-2.0 */
/* convert_rows.c: the options about text and ids. */
#include "ask/convert_options.h"

#define AT(field) offsetof(struct convert_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_INPUT + 160, {"--no-bos"}, FLAG, AT(no_bos), "tokenize", NULL, NULL,
     "do not begin with <bos>", 0, 0},
    {ABOUT_INPUT + 200, {"--jsonl"}, READS, AT(jsonl), "tokenize", "FILE", NULL,
     "read one {\"text\": ...} a line, print one {\"ids\": ...} a line", 0, 0},
    {ABOUT_INPUT + 210, {"--jsonl"}, READS, AT(jsonl), "detokenize", "FILE", NULL,
     "read one {\"ids\": ...} a line, print one {\"text\": ...} a line", 0, 0},
    {ABOUT_OUTPUT + 60, {"--ids"}, FLAG, AT(as_ids), "render", NULL, NULL,
     "print token ids instead of text", 0, 0},
    {ABOUT_OUTPUT + 90, {"--pieces"}, FLAG, AT(pieces), "tokenize", NULL, NULL,
     "print each id with its piece of the vocabulary", 0, 0},
};
/* clang-format on */

const struct option_group convert_group = OPTION_GROUP(rows, struct convert_options, NULL);

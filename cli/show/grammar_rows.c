/* SPDX-License-Identifier: Apache-2.0 */
/* grammar_rows.c: the options about looking at a form. */
#include "show/grammar.h"

#define AT(field) offsetof(struct grammar_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_INPUT + 950, {"--as"}, CHOICE, AT(as), "grammar", "schema|regex|grammar|auto", "auto",
     "what FILE holds; auto takes what begins with { for a schema and all else for a grammar (default {default})", 0, 0},
    {ABOUT_INPUT + 951, {"--check"}, TEXT, AT(check), "grammar", "TEXT", NULL,
     "say whether TEXT fits, and where it stops fitting", 0, 0},
    {ABOUT_INPUT + 952, {"--check-file"}, READS, AT(check_file), "grammar", "FILE", NULL,
     "the same of the bytes of FILE", 0, 0},
};
/* clang-format on */

const struct option_group grammar_group = OPTION_GROUP(rows, struct grammar_options, NULL);

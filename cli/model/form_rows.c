/* SPDX-License-Identifier: Apache-2.0 */
/* form_rows.c: the options about the form of an answer. */
#include "model/form.h"

#define AT(field) offsetof(struct form_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_GENERATION + 281, {"-j", "--json-schema"}, TEXT, AT(schema), GENERATES " replay", "TEXT", NULL,
     "the answer is JSON that fits this JSON schema; {} is any object or value", 0, 0},
    {ABOUT_GENERATION + 282, {"-jf", "--json-schema-file"}, READS, AT(schema_file), "/ " GENERATES " replay", "FILE", NULL,
     "read the schema from FILE", 0, 0},
    {ABOUT_GENERATION + 283, {"--json-ws"}, CHOICE, AT(json_ws), "/ " GENERATES " replay", "any|dumps", "any",
     "white space in that JSON: any that JSON has, or dumps: as Python's json.dumps writes it (default {default})", 0, 0},
    {ABOUT_GENERATION + 284, {"--grammar"}, TEXT, AT(grammar), "/ " GENERATES " replay", "TEXT", NULL,
     "the answer fits this grammar, in llama.cpp's spelling (GBNF)", 0, 0},
    {ABOUT_GENERATION + 285, {"--grammar-file"}, READS, AT(grammar_file), "/ " GENERATES " replay", "FILE", NULL,
     "read the grammar from FILE", 0, 0},
    {ABOUT_GENERATION + 286, {"--regex"}, TEXT, AT(regex), "/ " GENERATES " replay", "TEXT", NULL,
     "the whole answer fits this regular expression", 0, 0},
    {ABOUT_GENERATION + 287, {"--tool-choice"}, TEXT, AT(tool_choice), GENERATES " replay", "WORD", NULL,
     "calls of --tools that parse and fit their declaration: auto (text, or such calls), none (no call), "
     "required (at least one), or the name of the tool to call", 0, 0},
};
/* clang-format on */

const struct option_group form_group = OPTION_GROUP(rows, struct form_options, NULL);

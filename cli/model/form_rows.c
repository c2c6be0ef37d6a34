/* SPDX-License-Identifier: Apache-2.0 */
/* form_rows.c: the options about the form of an answer. */
#include "model/form.h"

#define AT(field) offsetof(struct form_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_GENERATION + 206, {"--tool-choice"}, TEXT, AT(tool_choice), GENERATES, "WORD", NULL,
     "calls of --tools that parse and fit their declaration: auto (text, or such calls), none (no call), "
     "required (at least one), or the name of the tool to call", 0, 0},
};
/* clang-format on */

const struct option_group form_group = OPTION_GROUP(rows, struct form_options, NULL);

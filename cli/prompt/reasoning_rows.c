/* SPDX-License-Identifier: Apache-2.0 */
/* reasoning_rows.c: the options about thoughts. */
#include <limits.h>

#include "prompt/reasoning.h"

#define AT(field) offsetof(struct reasoning_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_INPUT + 125, {"--reasoning", "-rea"}, CHOICE, AT(reasoning), GENERATES " render", "on|off|auto||true|false|1|0", "auto",
     "have the model think before it answers, where its template knows how; auto: as the template does when "
     "it is not told, which for Gemma 4 is off (default {default})", 0, 0},
    {ABOUT_INPUT + 126, {"--think"}, SWITCH, AT(reasoning), "/ " GENERATES " render", "on|off|auto||true|false|1|0", "auto",
     "ollama's option: --reasoning by another name, whose word may be left out", 0, 0},
    {ABOUT_GENERATION + 15, {"--reasoning-budget"}, INT, AT(budget), "/ " GENERATES, "N", "-1",
     "end a thought after N tokens, and have the answer begin; 0: at once, -1: never (default {default})", -1, INT_MAX},
    {ABOUT_OUTPUT + 65, {"--hidethinking", "--hide-thinking"}, FLAG, AT(hides), "/ " GENERATES, NULL, NULL,
     "do not print thoughts, which go to standard error, nor put them into JSON", 0, 0},
};
/* clang-format on */

const struct option_group reasoning_group = OPTION_GROUP(rows, struct reasoning_options, NULL);

/* SPDX-License-Identifier: Apache-2.0 */
/* insight_rows.c: the options about what an engine says of itself. */
#include "model/insight.h"

#define AT(field) offsetof(struct insight_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_MESSAGES + 10, {"--explain-plan"}, FLAG, AT(explain_plan), "/ " DRAWS, NULL, NULL,
     "before the first token, print which kernels are used and why", 0, 0},
    {ABOUT_MESSAGES + 20, {"--stats"}, FLAG, AT(stats), "/ " DRAWS, NULL, NULL,
     "after the last token, print the passes and how long they took", 0, 0},
};
/* clang-format on */

const struct option_group insight_group = OPTION_GROUP(rows, struct insight_options, NULL);

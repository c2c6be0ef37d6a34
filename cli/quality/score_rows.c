/* SPDX-License-Identifier: Apache-2.0 */
/* score_rows.c: the options about scoring. */
#include <limits.h>

#include "quality/score_options.h"

#define AT(field) offsetof(struct score_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_MEASURING + 10, {"--stride"}, INT, AT(stride), "perplexity", "N", NULL,
     "score every id once: N ids in each window, after those before them", 1, INT_MAX},
    {ABOUT_MEASURING + 20, {"--chat"}, FLAG, AT(in_chat), "eval", NULL, NULL,
     "put the question into the user's turn of the chat template", 0, 0},
    {ABOUT_MEASURING + 30, {"--min"}, REAL, AT(least), "eval", "X", NULL,
     "exit with 7 when the accuracy by letter is below X, as in 0.6", 0, 1},
};
/* clang-format on */

const struct option_group score_group = OPTION_GROUP(rows, struct score_options, NULL);

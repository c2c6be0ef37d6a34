/* SPDX-License-Identifier: Apache-2.0 */
/* search_rows.c: the options about searching. */
#include "store/search_options.h"

#define AT(field) offsetof(struct search_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_MODEL + 908, {"--source"}, CHOICE, AT(source), "search", "hf|kaggle", "hf",
     "ask the Hugging Face hub or Kaggle (default {default})", 0, 0},
    {ABOUT_OUTPUT + 905, {"--limit"}, INT, AT(limit), "search", "N", "10",
     "print at most N models (default {default})", 1, 100},
    {ABOUT_OUTPUT + 906, {"-a", "--all"}, FLAG, AT(all), "search", NULL, NULL,
     "also models that carat does not run", 0, 0},
};
/* clang-format on */

const struct option_group search_group = OPTION_GROUP(rows, struct search_options, NULL);

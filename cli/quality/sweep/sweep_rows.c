/* SPDX-License-Identifier: Apache-2.0 */
/* sweep_rows.c: the options about trying recipes; those about comparing are compare's. */
#include "quality/sweep/sweep_options.h"

#define AT(field) offsetof(struct sweep_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_COMPARISON + 200, {"--recipes"}, READS, AT(recipes), "sweep", "FILE", NULL,
     "what is tried: a name and options of convert in each line, behind # a remark", 0, 0},
    {ABOUT_COMPARISON + 210, {"--max-kl"}, REAL_OR_0, AT(max_kl), "sweep", "X", NULL,
     "name the smallest whose mean KL is at most X; exit code 7 if none is", 0, 1e6},
    {ABOUT_OUTPUT + 170, {"--keep"}, FLAG, AT(keep), "sweep", NULL, NULL,
     "leave what is made in DIR, as NAME.gguf", 0, 0},
    {ABOUT_MEASURING + 400, {"--n-prompt"}, INT, AT(n_prompt), "/ sweep", "N", "128",
     "ids of the prompt that is timed (default {default}; 0: none)", 0, 1 << 20},
    {ABOUT_MEASURING + 410, {"--n-gen"}, INT, AT(n_gen), "/ sweep", "N", "32",
     "steps of generation that are timed (default {default}; 0: none)", 0, 1 << 20},
    {ABOUT_MEASURING + 420, {"--repetitions"}, INT, AT(repetitions), "/ sweep", "N", "3",
     "how often both are timed, after a first time that does not count (default {default})", 1, 100},
};
/* clang-format on */

const struct option_group sweep_group = OPTION_GROUP(rows, struct sweep_options, NULL);

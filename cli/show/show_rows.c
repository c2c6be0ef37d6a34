/* SPDX-License-Identifier: Apache-2.0 */
/* show_rows.c: the options about verbs that look. */
#include "options/option.h"
#include "show/show_options.h"

#define AT(field) offsetof(struct show_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_OUTPUT + 30, {"-o", "--out"}, WRITES, AT(out), "pack", "FILE", NULL,
     "write the packed form there, not into the cache", 0, 0},
    {ABOUT_OUTPUT + 100, {"--tensors"}, FLAG, AT(tensors), "show", NULL, NULL,
     "list every tensor", 0, 0},
    {ABOUT_OUTPUT + 101, {"--ranges"}, FLAG, AT(ranges), "show", NULL, NULL,
     "evaluate a text, -f or one that is built in, and list how large the values of every operation became", 0, 0},
    {ABOUT_MEASURING + 260, {"--measure"}, SWITCH, AT(measure), "doctor", "on|off|auto", "auto",
     "measure this machine; auto measures what no earlier run has (default {default})", 0, 0},
    {ABOUT_MEASURING + 270, {"--soak"}, REAL, AT(soak), "doctor", "SECONDS", NULL,
     "instead, compute an answer of MODEL, or of tiny, on every processor in turn; exit with 7 when an operation gives another bit", 0.001, 1e9},
};
/* clang-format on */

const struct option_group show_group = OPTION_GROUP(rows, struct show_options, NULL);

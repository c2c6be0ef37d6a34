/* SPDX-License-Identifier: Apache-2.0 */
/* steps_rows.c: the options about single steps. */
#include "steps/steps_options.h"

#define AT(field) offsetof(struct steps_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_OUTPUT + 10, {"--all"}, FLAG, AT(all), "logits", NULL, NULL,
     "logits after every id, not only after the last", 0, 0},
    {ABOUT_OUTPUT + 20, {"-o", "--out"}, WRITES, AT(out), "logits", "FILE", NULL,
     "write float32 NPY, [vocab] or with --all [n][vocab] (- is standard output)", 0, 0},
    {ABOUT_OUTPUT + 40, {"--top"}, INT, AT(top), "logits", "K", NULL,
     "print the K highest logits", 1, 1000},
    {ABOUT_OUTPUT + 50, {"--top"}, INT, AT(top), "decode", "K", "1",
     "print the K highest logits of each step (default {default})", 1, 1000},
    {ABOUT_MEASURING + 40, {"--steps"}, INT, AT(steps), "decode", "N", "16",
     "ids to generate in each round (default {default})", 1, 1 << 20},
    {ABOUT_MEASURING + 70, {"--rounds"}, INT, AT(rounds), "decode", "N", "1",
     "repeat everything N times (default {default})", 1, 1000},
    {ABOUT_MEASURING + 80, {"--prefill-logits"}, FLAG, AT(prefill_logits), "decode", NULL, NULL,
     "also compute the prompt's logits, which nobody reads", 0, 0},
    {ABOUT_COMPUTING + 180, {"--tap"}, TEXT, AT(tap), "logits", "NAME", NULL,
     "write these values to --out instead, a row for each id: embed, layer.N, layer.N.attn, .q, .k, .v, "
     "final_norm", 0, 0},
};
/* clang-format on */

const struct option_group steps_group = OPTION_GROUP(rows, struct steps_options, NULL);

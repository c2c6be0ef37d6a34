/* SPDX-License-Identifier: Apache-2.0 */
/* told_rows.c: the options about where an answer ends and what is told of its ids. */
#include "prompt/told.h"

#define AT(field) offsetof(struct told_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_GENERATION + 230, {"--ignore-eos"}, FLAG, AT(ignore_eos), "/ " GENERATES, NULL, NULL,
     "never generate the ids that end generation", 0, 0},
    {ABOUT_GENERATION + 260, {"--stop-ids"}, TEXT, AT(stop_ids), "/ " GENERATES, "IDS", NULL,
     "ids that end generation, instead of the model's own; \"\" for none", 0, 0},
    {ABOUT_GENERATION + 270, {"--stop", "-r", "--reverse-prompt"}, TEXTS, AT(stop), GENERATES, "TEXT", NULL,
     "end the answer before TEXT, which is not printed; may be repeated up to {most} times", 0, CARAT_MOST_STOPS},
    {ABOUT_GENERATION + 280, {"--ban"}, TEXT, AT(ban), "/ " GENERATES, "IDS", NULL,
     "ids that are never generated, as in 2,5,9; @FILE reads them from FILE", 0, 0},
    {ABOUT_GENERATION + 290, {"--loop-guard"}, OFF_OR_INT, AT(loop_guard), "/ " GENERATES, "off|N", "96",
     "end an answer whose last N tokens only repeat themselves while the model is sure of them (default "
     "{default})", 1, CARAT_MOST_LOOP},
    {ABOUT_OUTPUT + 80, {"--logprobs"}, INT, AT(logprobs), "/ " DRAWS, "N", NULL,
     "print the log-probability of each token and the N most likely ones: with --json in OpenAI's form, "
     "else after the answer", 0, CARAT_MOST_LOGPROBS},
};
/* clang-format on */

const struct option_group told_group = OPTION_GROUP(rows, struct told_options, NULL);

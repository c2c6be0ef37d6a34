/* SPDX-License-Identifier: Apache-2.0 */
/* lookup_rows.c: the options about drafts. */
#include <limits.h>

#include "model/lookup.h"

#define AT(field) offsetof(struct lookup_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_GENERATION + 300, {"--lookup"}, CHOICE, AT(lookup), GENERATES " / bench", "on|off|auto", "auto",
     "guess next tokens from repetitions in the text: faster, and the same tokens; auto: only where it "
     "pays (default {default})", 0, 0},
    {ABOUT_GENERATION + 305, {"--lookup"}, CHOICE, AT(lookup), "decode", "on|off|auto", "off",
     "guess next tokens from repetitions in the ids: the same ids, of which a pass may give several; they "
     "share its time, and no highest logits are printed (default {default})", 0, 0},
    {ABOUT_GENERATION + 310, {"--draft-max", "--draft", "--draft-n", "--spec-draft-n-max"}, INT, AT(draft_max), "/ " DRAWS " bench", "N", "7",
     "the most ids guessed at once; 0 is none (default {default}, the most that a pass checks)", 0, INT_MAX},
    {ABOUT_GENERATION + 320, {"--draft-min", "--draft-n-min", "--spec-draft-n-min"}, INT, AT(draft_min), "/ " DRAWS " bench", "N", "1",
     "the fewest ids worth guessing (default {default})", 0, INT_MAX},
    {ABOUT_GENERATION + 330, {"--spec-type"}, CHOICE, AT(spec_type), "/ " DRAWS " bench", "none|draft-simple|draft-mtp|ngram-simple|ngram-map-k|ngram-map-k4v|ngram-mod|ngram-cache", NULL,
     "llama.cpp's option: none guesses nothing, those of ngram are --lookup on, those of draft are "
     "--model-draft whether it pays or not", 0, 0},
};
/* clang-format on */

const struct option_group lookup_group = OPTION_GROUP(rows, struct lookup_options, NULL);

/* SPDX-License-Identifier: Apache-2.0 */
/* draw_rows.c: the options about drawing. */
#include <limits.h>

#include "model/sampling.h"

#define AT(field) offsetof(struct draw_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_GENERATION + 20, {"--temp", "--temperature"}, REAL_OR_0, AT(temp), DRAWS, "X", NULL,
     "temperature; 0 takes the highest logit (default: the model's)", CARAT_TEMPERATURE_MIN, CARAT_TEMPERATURE_MAX},
    {ABOUT_GENERATION + 30, {"--top-k"}, INT, AT(top_k), DRAWS, "N", NULL,
     "draw from the N most likely tokens; 0 is all (default: the model's)", 0, INT_MAX},
    {ABOUT_GENERATION + 40, {"--top-p"}, REAL, AT(top_p), DRAWS, "X", NULL,
     "draw from the most likely tokens whose probabilities sum up to X (default: the model's)", CARAT_TOP_P_MIN, 1},
    {ABOUT_GENERATION + 50, {"--min-p"}, REAL, AT(min_p), "/ " DRAWS, "X", NULL,
     "drop tokens less likely than X times the likeliest (default: the model's)", 0, 1},
    {ABOUT_GENERATION + 60, {"--samplers"}, TEXT, AT(samplers), "/ " DRAWS, "NAMES", NULL,
     "the samplers and their order, as in 'top_k;temperature' (default: penalties, dry, top_k, "
     "temperature, typ_p, top_p, min_p, xtc; one without a value does nothing)", 0, 0},
    {ABOUT_GENERATION + 70, {"--sampling-seq", "--sampler-seq"}, TEXT, AT(sampling_seq), "/ " DRAWS, "LETTERS", NULL,
     "the same in llama.cpp's letters, as in edktypmx", 0, 0},
    {ABOUT_GENERATION + 80, {"-l", "--logit-bias"}, TEXTS, AT(logit_bias), "/ " DRAWS, "ID+X", NULL,
     "add X to the logit of token ID before all samplers, or with ID-X subtract it; ID-inf bans it; "
     "separate several by commas or repeat the option", 0, MOST_TEXTS},
    {ABOUT_GENERATION + 90, {"--repeat-penalty"}, REAL, AT(repeat_penalty), "/ " DRAWS, "X", "1",
     "divide the logits of ids in the recent text by X, or multiply them if negative (default {default}: "
     "off)", 0.001, 1000},
    {ABOUT_GENERATION + 100, {"--frequency-penalty"}, REAL, AT(frequency_penalty), "/ " DRAWS, "X", "0",
     "subtract X from the logit of an id for each time it occurs in the recent text (default {default})", -1000, 1000},
    {ABOUT_GENERATION + 110, {"--presence-penalty"}, REAL, AT(presence_penalty), "/ " DRAWS, "X", "0",
     "subtract X from the logits of ids in the recent text (default {default})", -1000, 1000},
    {ABOUT_GENERATION + 120, {"--repeat-last-n"}, INT, AT(repeat_last_n), "/ " DRAWS, "N", "64",
     "how many tokens are the recent text for these three penalties; -1 is all, 0 none (default "
     "{default})", -1, INT_MAX},
    {ABOUT_GENERATION + 130, {"--dry-multiplier"}, REAL, AT(dry_multiplier), "/ " DRAWS, "X", "0",
     "subtract X * BASE^n from the logit of an id that would make a repetition n tokens longer than "
     "allowed (default {default}: off)", 0, 1000},
    {ABOUT_GENERATION + 140, {"--dry-base"}, REAL, AT(dry_base), "/ " DRAWS, "X", "1.75",
     "BASE of --dry-multiplier (default {default})", 1, 1000},
    {ABOUT_GENERATION + 150, {"--dry-allowed-length"}, INT, AT(dry_allowed_length), "/ " DRAWS, "N", "2",
     "the longest repetition that --dry-multiplier allows (default {default})", 0, INT_MAX},
    {ABOUT_GENERATION + 160, {"--dry-penalty-last-n"}, INT, AT(dry_penalty_last_n), "/ " DRAWS, "N", "-1",
     "look for repetitions in the last N tokens; -1 is all, 0 none (default {default})", -1, INT_MAX},
    {ABOUT_GENERATION + 170, {"--dry-sequence-breaker"}, TEXTS, AT(dry_breaker), "/ " DRAWS, "TEXT", NULL,
     "a token that ends any repetition; may be repeated; the word none removes all (default: newline, "
     "colon, quote and star)", 0, CARAT_MOST_BREAKERS},
    {ABOUT_GENERATION + 180, {"--typical", "--typical-p", "--typ"}, REAL, AT(typical), "/ " DRAWS, "X", "1",
     "draw from the tokens whose log-probability is nearest to the expected one and which sum up to X "
     "(default {default}: off)", CARAT_TOP_P_MIN, 1},
    {ABOUT_GENERATION + 190, {"--xtc-probability"}, REAL, AT(xtc_probability), "/ " DRAWS, "X", "0",
     "with this probability drop all tokens above the threshold except the least likely of them (default "
     "{default}: off)", 0, 1},
    {ABOUT_GENERATION + 200, {"--xtc-threshold"}, REAL, AT(xtc_threshold), "/ " DRAWS, "X", "0.1",
     "the threshold of --xtc-probability (default {default})", 0, 1},
    {ABOUT_GENERATION + 210, {"-s", "--seed"}, INT64, AT(seed), GENERATES, "N", "-1",
     "seed of sampling; -1 is random (default {default})", -1, 0},
    {ABOUT_GENERATION + 220, {"-s", "--seed"}, INT64, AT(seed), "decode", "N", "0",
     "seed of sampling (default {default}); without any sampling option the highest logit is taken", -1, 0},
};
/* clang-format on */

const struct option_group draw_group = OPTION_GROUP(rows, struct draw_options, NULL);

/* SPDX-License-Identifier: Apache-2.0 */
/* receipt_rows.c: the options about receipts. */
#include "ask/receipt.h"

#define AT(field) offsetof(struct receipt_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_OUTPUT + 72, {"--receipt"}, WRITES, AT(file), GENERATES, "FILE", NULL,
     "write a receipt of each answer, a line of JSON that carat replay can check", 0, 0},
    {ABOUT_OUTPUT + 74, {"--receipt-private"}, FLAG, AT(is_private), "/ " GENERATES, NULL, NULL,
     "with --receipt: of prompt and answer only salted SHA-256", 0, 0},
    {ABOUT_INPUT + 960, {"--prompt-ids"}, IDS, AT(prompt), "replay", "IDS", NULL,
     "the prompt's ids, of a private receipt: numbers, @FILE, or - for standard input", 0, 0},
    {ABOUT_INPUT + 961, {"--answer-ids"}, IDS, AT(answer), "replay", "IDS", NULL,
     "the answer's ids, of a private receipt", 0, 0},
    {ABOUT_COMPARISON + 300, {"--states"}, FLAG, AT(states), "replay", NULL, NULL,
     "compare digests of states alone, and draw no id: faster", 0, 0},
    {ABOUT_COMPARISON + 310, {"--sample"}, REAL, AT(sample), "replay", "P", "1",
     "draw only this share of ids, chosen at random; all states are compared (default {default})", 1e-6, 1},
    {ABOUT_COMPARISON + 320, {"--trace"}, WRITES, AT(trace), "replay", "FILE", NULL,
     "write hashes of what every operation gives where the receipt differs, for --against", 0, 0},
    {ABOUT_COMPARISON + 330, {"--against"}, READS, AT(against), "replay", "FILE", NULL,
     "name the first operation that gives something else than in this trace, of another machine", 0, 0},
};
/* clang-format on */

const struct option_group receipt_group = OPTION_GROUP(rows, struct receipt_options, NULL);

/* SPDX-License-Identifier: Apache-2.0 */
/* compare_rows.c: the options about comparing. */
#include <limits.h>

#include "carat_quality.h"
#include "options/option.h"
#include "quality/compare/compare_options.h"

#define AT(field) offsetof(struct compare_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_GENERATION + 340, {"-n", "--max-tokens", "--max-new-tokens"}, INT, AT(predict), "compare sweep", "N", "64",
     "positions to compare for each prompt (default {default}; with --driver text all)", 1, INT_MAX},
    {ABOUT_GENERATION + 350, {"--ignore-eos"}, FLAG, AT(ignore_eos), "compare", NULL, NULL,
     "continue after the id that ends an answer; what follows is reported apart", 0, 0},
    {ABOUT_COMPARISON + 10, {"--ref"}, TEXT, AT(ref_mode), "compare", "WORDS", NULL,
     "the mode of REF, separated by commas: exact, kv=TYPE, isa=LEVEL, chunk=N, threads=N, layers=N, "
     "head=STRATEGY, activations=f16", 0, 0},
    {ABOUT_COMPARISON + 20, {"--test"}, TEXT, AT(test_mode), "compare", "WORDS", NULL,
     "the mode of TEST, in the same words", 0, 0},
    {ABOUT_COMPARISON + 30, {"--hf-reference"}, MODEL, AT(hf_reference), "/ compare", "MODEL", NULL,
     "another way to give REF; TEST is then the only argument", 0, 0},
    {ABOUT_COMPARISON + 40, {"--driver"}, CHOICE, AT(driver), "compare sweep", "ref|test|free|text|hf|coreml", "ref",
     "who chooses the next id: the highest logit of REF, or of TEST (hf and coreml are other names of "
     "these); free: each model its own, until they differ; text: the given ids (default {default})", 0, 0},
    {ABOUT_COMPARISON + 50, {"--at"}, INTS, AT(at), "compare", "N[,N...]", NULL,
     "print a line for each of these lengths, from one run", 1, INT_MAX},
    {ABOUT_COMPARISON + 60, {"--ref-logits"}, PATH, AT(ref_logits), "compare", "FILE.npy", NULL,
     "recorded logits instead of REF, a row for each id of --ids: float32, as carat logits --all and "
     "numpy.save write them", 0, 0},
    {ABOUT_COMPARISON + 70, {"--dataset"}, PATH, AT(dataset), "compare sweep", "FILE.jsonl", NULL,
     "a file of prompts, a JSON object a line with \"ids\", \"messages\", \"prompt\" or \"text\", and "
     "for --driver text \"answer\" or \"answer_ids\"", 0, 0},
    {ABOUT_COMPARISON + 80, {"--out", "--out-dir"}, TEXT, AT(out_dir), "compare sweep", "DIR", NULL,
     "write results, summary and report there; the same command continues where it was stopped", 0, 0},
    {ABOUT_COMPARISON + 90, {"--restart"}, FLAG, AT(restart), "/ compare sweep", NULL, NULL,
     "discard what DIR has and begin again", 0, 0},
    {ABOUT_COMPARISON + 100, {"--parallel"}, INT, AT(parallel), "/ compare sweep", "N", "4",
     "prompts evaluated together in a pass (default {default})", 1, 256},
    {ABOUT_COMPARISON + 110, {"--limits"}, TEXT, AT(limits), "compare sweep", "LIMITS",
     "kl=0.01:0.1, correlation=0.99:0.95, match=98:90, entropy=0.5:0.1, outside=0.01:0.1",
     "where healthy ends and concerning begins (default {default})", 0, 0},
    {ABOUT_COMPARISON + 120, {"--top"}, INT, AT(top), "/ compare", "K", "10",
     "compare the K highest ids of both (default {default})", 1, 1024},
    {ABOUT_COMPARISON + 130, {"--near-tie"}, REAL, AT(near_tie), "/ compare", "X", "0.05",
     "a position is a near-tie when the reference's two highest logits differ by less than X (default "
     "{default})", 0, 1e6},
    {ABOUT_COMPARISON + 140, {"--bisect"}, FLAG, AT(bisect), "compare", NULL, NULL,
     "find where the two begin to differ: the first operation that is wrong on the reference's own "
     "inputs", 0, 0},
    {ABOUT_COMPARISON + 150, {"--rows"}, INT, AT(bisect_rows), "/ compare", "N", "16",
     "how many tokens --bisect compares, spread over all (default {default})", 1, CARAT_MOST_BISECT_ROWS},
};
/* clang-format on */

const struct option_group compare_group = OPTION_GROUP(rows, struct compare_options, NULL);

/* SPDX-License-Identifier: Apache-2.0 */
/* bench_rows.c: the options about measuring. */
#include <limits.h>

#include "bench/bench_options.h"
#include "model/engine.h"

#define AT(field) offsetof(struct bench_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_MEASURING + 50, {"--steps"}, INT, AT(steps), "bench", "N", "32",
     "with lm-head: ids to generate after --ids (default {default})", 2, 1 << 20},
    {ABOUT_MEASURING + 60, {"--spectrum"}, CHOICE, AT(spectrum), "bench", "flat|falling", NULL,
     "with lm-head: use a random model of MODEL's shape and types; the energy of its head is spread "
     "evenly, or falls along common directions as in a trained one", 0, 0},
    {ABOUT_MEASURING + 85, {"--prefill-logits"}, FLAG, AT(prefill_logits), "bench", NULL, NULL,
     "also compute the prompt's logits, which nobody reads", 0, 0},
    {ABOUT_MEASURING + 90, {"-p", "--n-prompt"}, TEXT, AT(n_prompt), "bench", "N[,N...]", "512",
     "tokens of the prompt tests; 0 is none (default {default})", 0, 0},
    {ABOUT_MEASURING + 100, {"-n", "--n-gen"}, TEXT, AT(n_gen), "bench", "N[,N...]", "64",
     "tokens of the generation tests; 0 is none (default {default})", 0, 0},
    {ABOUT_MEASURING + 110, {"-pg"}, TEXT, AT(n_pair), "bench", "N,N[,N,N...]", NULL,
     "pairs of prompt and generation, each timed as one test", 0, 0},
    {ABOUT_MEASURING + 120, {"-d", "--n-depth"}, TEXT, AT(n_depth), "bench", "N[,N...]", "0",
     "tokens in the context before each test (default {default})", 0, 0},
    {ABOUT_MEASURING + 130, {"-npl", "--n-parallel"}, TEXT, AT(n_parallel), "/ bench", "N[,N...]", "1",
     "sequences that the generation tests evaluate together (default {default})", 0, 0},
    {ABOUT_MEASURING + 140, {"-r", "--repetitions"}, INT, AT(repetitions), "bench", "N", "5",
     "runs of each test (default {default})", 1, 1000},
    {ABOUT_MEASURING + 150, {"-fa", "--flash-attn"}, TEXT, AT(flash), "/ bench", "0|1[,...]", NULL,
     "llama-bench's option: a row for each value; carat always uses its one kernel", 0, 0},
    {ABOUT_MEASURING + 160, {"--prompt"}, TEXT, AT(prompt), "bench", "TEXT", NULL,
     "instead of these tests, time whole generations from TEXT, the prompt's evaluation included", 0, 0},
    {ABOUT_MEASURING + 170, {"--draft-right"}, REAL, AT(draft_right), "bench", "A", NULL,
     "instead of these tests, time generation with drafts that are right with probability A, and without", 0, 1},
    {ABOUT_MEASURING + 175, {"--self-check"}, FLAG, AT(self_check), "bench", NULL, NULL,
     "instead of these tests, compute one answer -r times on every processor in turn; exit with 7 when an operation gives another bit", 0, 0},
    {ABOUT_MEASURING + 180, {"--max-tokens"}, INT, AT(predict), "bench", "N", "64",
     "with --prompt: generate at most N tokens (default {default})", 1, INT_MAX},
    {ABOUT_MEASURING + 190, {"--bench-iters"}, INT, AT(iterations), "bench", "N", "3",
     "with --prompt: how many generations (default {default})", 1, 1000},
    {ABOUT_MEASURING + 200, {"--bench-warmup"}, INT, AT(warmup), "bench", "N", "1",
     "with --prompt: untimed generations before these (default {default})", 0, 1000},
    {ABOUT_MEASURING + 210, {"--bench-json"}, WRITES, AT(bench_json), "bench", "FILE", NULL,
     "with --prompt: write mean, median and p90 as one JSON object", 0, 0},
    {ABOUT_MEASURING + 220, {"-o", "--output"}, CHOICE, AT(output), "bench", "md|csv|json|jsonl", "md",
     "the form of the result (default {default}); --json is -o json", 0, 0},
    {ABOUT_MEASURING + 230, {"--compare"}, READS, AT(compare), "bench", "FILE", NULL,
     "compare each test with FILE, an older result of -o json; exit with 7 when one is slower by more "
     "than the noise", 0, 0},
    {ABOUT_MEASURING + 240, {"--plot"}, WRITES, AT(plot), "bench", "FILE", NULL,
     "draw speed over depth and what the machine allows, as SVG", 0, 0},
    {ABOUT_MEASURING + 250, {"--profile"}, FLAG, AT(profile), "bench", NULL, NULL,
     "also print where the time goes, operation by operation", 0, 0},
    {ABOUT_COMPUTING + 50, {"-t", "--threads"}, INTS, AT(thread_list), "bench", "N[,N...]", "0",
     "number of threads (default {default}: the CPUs this process may use)", 0, MOST_THREADS},
    {ABOUT_COMPUTING + 70, {"--chunk", "-ub", "--ubatch-size"}, INTS, AT(chunk_list), "bench", "N[,N...]", "0",
     "the most prompt tokens in one pass (default {default}: the library chooses); several are timed in "
     "turn", 0, MOST_CHUNK},
};
/* clang-format on */

const struct option_group bench_group = OPTION_GROUP(rows, struct bench_options, NULL);

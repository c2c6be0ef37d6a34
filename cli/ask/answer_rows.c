/* SPDX-License-Identifier: Apache-2.0 */
/* answer_rows.c: the options about answers. */
#include <limits.h>

#include "ask/converse.h"

#define AT(field) offsetof(struct answer_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_GENERATION + 10, {"-n", "--predict", "--n-predict", "--max-tokens"}, INT, AT(predict), GENERATES, "N", "-1",
     "generate at most N tokens (default {default}: to the end of the context)", -1, INT_MAX},
    {ABOUT_GENERATION + 240, {"--context-shift"}, FLAG, AT(context_shift), "/ run", NULL, NULL,
     "when the context is full, drop the older half of it and continue", 0, 0},
    {ABOUT_GENERATION + 250, {"--keep"}, INT, AT(keep), "/ run", "N", "0",
     "with --context-shift: how many first tokens of the prompt are kept, besides <bos>; -1 is all "
     "(default {default})", -1, INT_MAX},
    {ABOUT_INPUT + 207, {"--jsonl"}, READS, AT(jsonl), "/ run", "FILE", NULL,
     "answer a prompt a line, {\"prompt\": ...}, {\"messages\": ...} or {\"ids\": ...}, several together; print one "
     "{\"line\", \"ids\", \"text\", \"stop\"} a line", 0, 0},
    {ABOUT_COMPUTING + 262, {"--parallel", "-np"}, INT, AT(parallel), "/ run", "N", "8",
     "the most answers of --jsonl that are drawn together, if memory has room (default {default})", 1, 256},
    {ABOUT_OUTPUT + 70, {"--raw-calls"}, FLAG, AT(raw_calls), "/ run", NULL, NULL,
     "print function calls as the model wrote them", 0, 0},
    {ABOUT_COMPUTING + 240, {"--prompt-cache"}, TEXT, AT(prompt_cache), "/ " GENERATES, "FILE", NULL,
     "continue from the evaluated prompt in FILE, and write this one there", 0, 0},
    {ABOUT_COMPUTING + 250, {"--prompt-cache-all"}, FLAG, AT(prompt_cache_all), "/ " GENERATES, NULL, NULL,
     "write the answer there, too", 0, 0},
    {ABOUT_COMPUTING + 260, {"--prompt-cache-ro"}, FLAG, AT(prompt_cache_ro), "/ " GENERATES, NULL, NULL,
     "only read that FILE", 0, 0},
    {ABOUT_MESSAGES + 40, {"--log-jsonl"}, WRITES, AT(log_jsonl), "/ " GENERATES, "FILE", NULL,
     "append a line of JSON for each load, prompt and generation: numbers only, no text", 0, 0},
    {ABOUT_MESSAGES + 50, {"--no-perf"}, FLAG, AT(no_perf), "/ run", NULL, NULL,
     "do not print speed", 0, 0},
};
/* clang-format on */

const struct option_group answer_group = OPTION_GROUP(rows, struct answer_options, NULL);

/* SPDX-License-Identifier: Apache-2.0 */
/* bench.c: `carat bench`: prompt (pp) and generation (tg) speed on random ids, at depths of context, against
 * what the machine can read and compute at most, measured in the same run. Here the tests are planned;
 * bench.h names the files that run them and print the results. */
#include "bench/bench.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/alone.h"
#include "bench/bench_options.h"
#include "bench/fields.h"
#include "io/save.h"
#include "model/engine.h"
#include "model/model.h"
#include "model/self_check.h"
#include "options/table.h"
#include "prompt/prompt.h"
#include "term/interrupt.h"

/* The options about measuring. */
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

enum { MOST_NUMBERS = 16 };

struct list {
    int n, value[MOST_NUMBERS];
};

/* "512" or "128,512". */
static int parse_list(const char *option, const char *text, struct list *list)
{
    const char *at = text;

    for (list->n = 0;; at++) {
        int64_t value = 0;
        int digits = 0;
        for (; *at >= '0' && *at <= '9' && digits < 8; at++, digits++)
            value = 10 * value + (*at - '0');
        if (digits == 0 || value > 1 << 20 || list->n == MOST_NUMBERS || (*at && *at != ','))
            return term_fail(
                USAGE,
                "bench: option %s: '%s' is not a list of at most %d numbers from 0 to %d, as in 128,512",
                option, text, MOST_NUMBERS, 1 << 20);
        list->value[list->n++] = (int)value;
        if (!*at)
            return DONE;
    }
}

static int parse_pairs(const char *text, struct list *list)
{
    int code = parse_list("-pg", text, list);

    for (int i = 0; i < list->n && code == DONE; i++)
        if (list->value[i] == 0 || list->n % 2)
            return term_fail(USAGE, "bench: option -pg: '%s' is not pairs of numbers above 0, as in 512,64",
                             text);
    return code;
}

static int add_test(struct bench *b, const struct setting *with, int n_prompt, int n_gen, int depth,
                    int parallel)
{
    int length = depth + n_prompt + n_gen;

    if (n_prompt + n_gen == 0)
        return DONE;
    if (b->n == MOST_TESTS)
        return term_fail(USAGE, "bench: more than %d tests", MOST_TESTS);
    b->test[b->n++] = (struct test){.with = with,
                                    .n_prompt = n_prompt,
                                    .n_gen = n_gen,
                                    .depth = depth,
                                    .parallel = parallel,
                                    .old = {.lost = NAN, .taken = NAN}};
    b->longest = length > b->longest ? length : b->longest;
    b->widest = parallel > b->widest ? parallel : b->widest;
    return DONE;
}

/* Every length at every depth; prompts first, then generation for every number of sequences, then both
 * together, as llama-bench orders them. */
static int plan_tests(struct bench *b, const struct setting *with)
{
    struct list prompt, gen, pair = {0}, depth, parallel;
    const struct options *o = b->o;
    int code;

    if ((code = parse_list("-p", o->bench->n_prompt, &prompt)) != DONE ||
        (code = parse_list("-n", o->bench->n_gen, &gen)) != DONE ||
        (code = parse_list("-d", o->bench->n_depth, &depth)) != DONE ||
        (code = parse_list("-npl", o->bench->n_parallel, &parallel)) != DONE ||
        (o->bench->n_pair && (code = parse_pairs(o->bench->n_pair, &pair)) != DONE))
        return code;
    for (int i = 0; i < parallel.n; i++)
        if (parallel.value[i] < 1 || parallel.value[i] > PACE_PARALLEL)
            return term_fail(USAGE, "bench: option -npl: %d is not a number of sequences from 1 to %d",
                             parallel.value[i], PACE_PARALLEL);
    for (int d = 0; d < depth.n; d++) {
        for (int i = 0; i < prompt.n && code == DONE; i++)
            code = add_test(b, with, prompt.value[i], 0, depth.value[d], 1);
        for (int i = 0; i < gen.n; i++)
            for (int k = 0; k < parallel.n && code == DONE; k++)
                code = add_test(b, with, 0, gen.value[i], depth.value[d], parallel.value[k]);
        for (int i = 0; i < pair.n && code == DONE; i += 2)
            code = add_test(b, with, pair.value[i], pair.value[i + 1], depth.value[d], 1);
    }
    if (code == DONE && b->n == 0)
        return term_fail(USAGE, "bench: with -p 0 and -n 0 there is nothing to measure");
    return code;
}

/* "0,1" or words: llama-bench's -fa, for which there is one kernel here. */
static int parse_flash(const char *text, struct list *list)
{
    for (list->n = 0;; text++) {
        size_t n = strcspn(text, ",");
        char word[8];
        snprintf(word, sizeof word, "%.*s", (int)n, text);
        if (list->n == MOST_NUMBERS || n >= sizeof word || !is_choice("0|1|on|off|auto", word))
            return term_fail(
                USAGE, "bench: option -fa: '%.80s' must be one of 0, 1, on, off and auto, or a list of them",
                text);
        list->value[list->n++] = !is_choice("0|off", word);
        if (!*(text += n))
            return DONE;
    }
}

/* Every number of threads with every width of passes. */
static int plan_settings(struct bench *b)
{
    struct list threads, chunk, flash = {1, {1}};
    const struct options *o = b->o;
    int code;

    if ((code = parse_list("-t", o->bench->thread_list, &threads)) != DONE ||
        (code = parse_list("-ub", o->bench->chunk_list, &chunk)) != DONE ||
        (o->bench->flash && (code = parse_flash(o->bench->flash, &flash)) != DONE))
        return code;
    if (threads.n * chunk.n * flash.n > MOST_SETTINGS)
        return term_fail(USAGE, "bench: more than %d settings", MOST_SETTINGS);
    b->several_threads = threads.n > 1;
    b->several_chunks = chunk.n > 1;
    b->several_flash = flash.n > 1;
    for (int i = 0; i < threads.n; i++)
        for (int k = 0; k < chunk.n; k++)
            for (int f = 0; f < flash.n && code == DONE; f++) {
                struct setting *s = &b->setting[b->n_setting++];
                *s = (struct setting){.threads = threads.value[i],
                                      .chunk = chunk.value[k],
                                      .flash = flash.value[f],
                                      .plan = {.size = sizeof s->plan},
                                      .limits = {.size = sizeof s->limits}};
                code = plan_tests(b, s);
            }
    return code;
}

/* Everything that can be wrong without a model is wrong before one is opened. */
static int prepare(struct bench *b, struct save *plot)
{
    const struct options *o = b->o;
    const struct bench_options *of = o->bench;
    int code = plan_settings(b);

    if (code == DONE && (options_given(o, &of->predict) || options_given(o, &of->iterations) ||
                         options_given(o, &of->warmup) || of->bench_json))
        return term_fail(USAGE, "bench: option %s goes with --prompt TEXT, whose generations it is about",
                         of->bench_json                      ? "--bench-json"
                         : options_given(o, &of->predict)    ? "--max-tokens"
                         : options_given(o, &of->iterations) ? "--bench-iters"
                                                             : "--bench-warmup");
    if (code == DONE &&
        (o->prompt->ids || options_given(o, &of->steps) || of->prefill_logits || of->spectrum))
        return term_fail(USAGE, "bench: option %s goes with lm-head, as in carat bench lm-head MODEL",
                         o->prompt->ids                 ? "--ids"
                         : options_given(o, &of->steps) ? "--steps"
                         : of->prefill_logits           ? "--prefill-logits"
                                                        : "--spectrum");
    if (code == DONE && o->bench->plot && b->n_setting > 1)
        return term_fail(USAGE, "bench: --plot draws one setting: give -t, -ub and -fa one value each");
    if (code == DONE && o->json && options_given(o, &o->bench->output) &&
        strcmp(o->bench->output, "json") != 0)
        return term_fail(USAGE, "bench: --json and -o %s contradict each other", o->bench->output);
    if (code == DONE && o->bench->plot && strcmp(o->bench->plot, "-") == 0)
        return term_fail(USAGE, "bench: --plot - and the result cannot both go to standard output");
    if (code == DONE && o->bench->compare)
        code = bench_compare_open(b);
    if (code == DONE && o->bench->plot)
        code = save_open(plot, o->bench->plot);
    return code;
}

static const char *format_of(const struct bench *b)
{
    return b->o->json ? "json" : b->o->bench->output;
}

/* All tests of a setting, whose rows go out as soon as what stands in them is known: shares of the limits are
 * when these have been measured again, verdicts when everything is. */
static int run_setting(struct bench *b, struct setting *s)
{
    bool people = strcmp(format_of(b), "md") == 0;
    int code = bench_begin(b, s);

    for (int i = 0; i < b->n && code == DONE; i++) {
        if (b->test[i].with != s)
            continue;
        code = bench_run(b, &b->test[i]);
        if (code == DONE && people)
            bench_print_speed(b, i);
    }
    if (code == DONE)
        code = bench_end(b, s);
    for (int i = 0; i < b->n && code == DONE; i++) {
        if (b->test[i].with != s)
            continue;
        bench_sum_up(b, &b->test[i]);
        if (!people && !b->older)
            code = bench_fields_test(b, i, format_of(b));
    }
    return code;
}

static int run_tests(struct bench *b)
{
    const char *format = format_of(b);
    bool people = strcmp(format, "md") == 0;
    int code = DONE;

    if (people)
        bench_print_head(b);
    else
        code = bench_fields_begin(format);
    for (int i = 0; i < b->n_setting && code == DONE; i++)
        code = run_setting(b, &b->setting[i]);
    if (code == DONE)
        code = bench_compare(b);
    for (int i = 0; i < b->n && code == DONE && !people && b->older; i++)
        code = bench_fields_test(b, i, format);
    if (code == DONE && !people)
        code = bench_fields_end(format);
    return code;
}

static int tell(const struct bench *b, struct save *plot)
{
    int code = DONE;

    if (strcmp(format_of(b), "md") == 0)
        bench_print(b);
    if (b->o->bench->plot) {
        bench_plot(b, plot->file);
        code = save_close(plot);
    }
    return code == DONE ? bench_compare_result(b) : code;
}

static void free_all(struct bench *b)
{
    for (int i = 0; i < b->n; i++) {
        free(b->test[i].spent);
        free(b->test[i].speed);
        free(b->test[i].first);
        free(b->test[i].step);
    }
    pace_end(&b->pace);
    json_decref(b->older);
    free(b->ids);
    free(b->command);
    carat_engine_close(b->pace.engine);
    carat_model_close(b->model);
    free(b);
}

static int bench_tests(const struct options *o)
{
    struct bench *b = calloc(1, sizeof *b);
    struct save plot = {0};
    int code;

    if (!b)
        return fail_memory();
    b->o = o;
    b->path = o->model;
    b->info.size = sizeof b->info;
    b->setup.size = sizeof b->setup;
    b->host.size = sizeof b->host;
    b->widest = 1;
    code = prepare(b, &plot);
    if (code == DONE && o->bench->flash)
        term_note("-fa changes nothing: attention is the same kernel with 0 and 1");
    if (code == DONE) {
        interrupt_install();
        code = bench_open(b);
    }
    if (code == DONE && b->info.kind == CARAT_EMBEDDER)
        code = bench_embed(o, b->model);
    else if (code == DONE && (code = run_tests(b)) == DONE)
        code = tell(b, &plot);
    save_abandon(&plot);
    free_all(b);
    return code;
}

/* On every processor in turn: a bit that one of them gets wrong is found, not how fast it is. */
static int bench_self_check(const struct options *o)
{
    const struct bench_options *b = o->bench;
    const struct bench_refusal own[] = {{"timeline", o->word && strcmp(o->word, "timeline") == 0},
                                        {"lm-head", o->word != NULL},
                                        {"--draft-right", b->draft_right >= 0},
                                        {"--model-draft", o->open->drafter != NULL},
                                        {"-p", options_given(o, &b->n_prompt)},
                                        {"-n", options_given(o, &b->n_gen)},
                                        {"-d", options_given(o, &b->n_depth)},
                                        {"-npl", options_given(o, &b->n_parallel)},
                                        {"-t", options_given(o, &b->thread_list)},
                                        {"-ub", options_given(o, &b->chunk_list)},
                                        {NULL, false}};

    TRY(bench_check_alone(o, own, "bench", "--self-check computes one answer by one thread, without",
                          "--self-check gives"));
    return self_check(o, b->repetitions, 0, o->json || strcmp(b->output, "json") == 0);
}

int verb_bench(const struct options *o)
{
    if (o->bench->self_check)
        return bench_self_check(o);
    if (o->word)
        return strcmp(o->word, "timeline") == 0 ? bench_timeline(o) : bench_head(o);
    if (o->bench->draft_right >= 0 || o->open->drafter)
        return bench_draft(o);
    return o->bench->prompt ? bench_whole(o) : bench_tests(o);
}

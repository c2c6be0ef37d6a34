/* bench.c: `carat bench`: prompt (pp) and generation (tg) speed on random ids, at depths of context, against what the
 * machine can read and compute at most, measured in the same run. Here the tests are planned; bench.h says who runs them
 * and who tells what came out. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "save.h"

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
            return fail(
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
            return fail(USAGE, "bench: option -pg: '%s' is not pairs of numbers above 0, as in 512,64", text);
    return code;
}

static int add_test(struct bench *b, int n_prompt, int n_gen, int depth, int parallel)
{
    int length = depth + n_prompt + n_gen;

    if (n_prompt + n_gen == 0)
        return DONE;
    if (b->n == MOST_TESTS)
        return fail(USAGE, "bench: more than %d tests", MOST_TESTS);
    b->test[b->n++] = (struct test){.n_prompt = n_prompt,
                                    .n_gen = n_gen,
                                    .depth = depth,
                                    .parallel = parallel,
                                    .old = {.lost = NAN, .taken = NAN}};
    b->longest = length > b->longest ? length : b->longest;
    b->widest = parallel > b->widest ? parallel : b->widest;
    return DONE;
}

/* Every length at every depth; prompts first, then generation for every number of sequences, then both together, as
 * llama-bench orders them. */
static int plan_tests(struct bench *b)
{
    struct list prompt, gen, pair = {0}, depth, parallel;
    const struct options *o = b->o;
    int code;

    if ((code = parse_list("-p", o->n_prompt, &prompt)) != DONE ||
        (code = parse_list("-n", o->n_gen, &gen)) != DONE ||
        (code = parse_list("-d", o->n_depth, &depth)) != DONE ||
        (code = parse_list("-npl", o->n_parallel, &parallel)) != DONE ||
        (o->n_pair && (code = parse_pairs(o->n_pair, &pair)) != DONE))
        return code;
    for (int i = 0; i < parallel.n; i++)
        if (parallel.value[i] < 1 || parallel.value[i] > BENCH_PARALLEL)
            return fail(USAGE, "bench: option -npl: %d is not a number of sequences from 1 to %d",
                        parallel.value[i], BENCH_PARALLEL);
    for (int d = 0; d < depth.n; d++) {
        for (int i = 0; i < prompt.n && code == DONE; i++)
            code = add_test(b, prompt.value[i], 0, depth.value[d], 1);
        for (int i = 0; i < gen.n; i++)
            for (int k = 0; k < parallel.n && code == DONE; k++)
                code = add_test(b, 0, gen.value[i], depth.value[d], parallel.value[k]);
        for (int i = 0; i < pair.n && code == DONE; i += 2)
            code = add_test(b, pair.value[i], pair.value[i + 1], depth.value[d], 1);
    }
    if (code == DONE && b->n == 0)
        return fail(USAGE, "bench: with -p 0 and -n 0 there is nothing to measure");
    return code;
}

/* Everything that can be wrong without a model is wrong before one is opened. */
static int prepare(struct bench *b, struct save *plot)
{
    const struct options *o = b->o;
    int code = plan_tests(b);

    if (code == DONE && o->json && o->output && strcmp(o->output, "json") != 0)
        return fail(USAGE, "bench: --json and -o %s contradict each other", o->output);
    if (code == DONE && o->plot && strcmp(o->plot, "-") == 0)
        return fail(USAGE, "bench: --plot - leaves no room on standard output for the result");
    if (code == DONE && o->compare)
        code = bench_compare_open(b);
    if (code == DONE && o->plot)
        code = save_open(plot, o->plot);
    return code;
}

static int run_tests(struct bench *b)
{
    int code = bench_open(b);

    for (int i = 0; i < b->n && code == DONE; i++)
        code = bench_run(b, &b->test[i]);
    if (code == DONE)
        code = bench_close(b);
    for (int i = 0; i < b->n && code == DONE; i++)
        bench_sum_up(b, &b->test[i]);
    return code == DONE ? bench_compare(b) : code;
}

static int tell(const struct bench *b, struct save *plot)
{
    const char *format = b->o->output ? b->o->output : b->o->json ? "json" : "md";
    int code = DONE;

    if (strcmp(format, "md") == 0)
        bench_print(b);
    else
        code = bench_print_fields(b, format);
    if (code == DONE && b->o->plot) {
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
    for (int i = 0; i < BENCH_PARALLEL; i++)
        carat_session_close(b->session[i]);
    json_decref(b->older);
    free(b->ids);
    free(b->command);
    carat_engine_close(b->engine);
    carat_model_close(b->model);
    free(b);
}

int verb_bench(const struct options *o)
{
    struct bench *b = calloc(1, sizeof *b);
    struct save plot = {0};
    int code;

    if (!b)
        return fail_memory();
    b->o = o;
    b->path = o->model;
    b->exact = o->exact;
    b->info.size = sizeof b->info;
    b->setup.size = sizeof b->setup;
    b->plan.size = sizeof b->plan;
    b->limits.size = sizeof b->limits;
    b->host.size = sizeof b->host;
    b->widest = 1;
    code = prepare(b, &plot);
    if (code == DONE) {
        interrupt_install();
        code = run_tests(b);
    }
    if (code == DONE)
        code = tell(b, &plot);
    save_abandon(&plot);
    free_all(b);
    return code;
}

/* bench.c: `carat bench`: prompt (pp) and generation (tg) speed on random ids, at depths of context, in the table that
 * users of this field know. Neither tokenising nor sampling is in the time. The memory bandwidth that generation is
 * compared with is measured in the same run (bandwidth.c). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { MOST_REPETITIONS = 1000, MOST_TESTS = 64, MOST_NUMBERS = 16 };

struct bench {
    const struct options *o;
    carat_model *model;
    carat_engine *engine;
    carat_session *session;
    carat_model_info info;
    carat_plan plan;
    struct progress bar;
    int32_t *ids;     /* [longest] */
    double bandwidth; /* bytes per second */
};

struct test {
    const char *kind; /* "pp", "tg" */
    int tokens, depth;
    int step;      /* tokens per call: all of them, or one */
    double *speed; /* [repetitions], tok/s */
    double mean, deviation, median, low, high;
};

/* "512" or "128,512": numbers in list. */
static int parse_list(const char *option, const char *text, int *list, int *n)
{
    const char *at = text;

    for (*n = 0;; at++) {
        int64_t value = 0;
        int digits = 0;
        for (; *at >= '0' && *at <= '9' && digits < 8; at++, digits++)
            value = 10 * value + (*at - '0');
        if (digits == 0 || value > 1 << 20 || *n == MOST_NUMBERS || (*at && *at != ','))
            return fail(
                USAGE,
                "bench: option %s: '%s' is not a list of at most %d numbers from 0 to %d, as in 128,512",
                option, text, MOST_NUMBERS, 1 << 20);
        list[(*n)++] = (int)value;
        if (!*at)
            return DONE;
    }
}

/* The same ids in every run: a speed should not depend on them, but a comparison should not have to trust that. */
static void fill_ids(struct bench *b, int n)
{
    uint64_t state = 1;
    uint32_t range = (uint32_t)(b->info.n_text_vocab > 0 ? b->info.n_text_vocab : b->info.n_vocab);

    for (int i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        b->ids[i] = (int32_t)((state >> 33) % range);
    }
}

/* One timed run in a fresh session that holds `depth` tokens already. */
static int run_once(struct bench *b, const struct test *t, double *spent)
{
    carat_session_options options = CARAT_SESSION_OPTIONS;
    carat_error err;
    double start;

    progress_begin(&b->bar, t->kind, "tok");
    if (t->step > 1 || t->depth > 0) {
        options.progress = progress_update;
        options.user = &b->bar;
    }
    carat_session_close(b->session);
    b->session = NULL;
    if (carat_session_create(&b->session, b->engine, &options, &err) != CARAT_OK ||
        (t->depth > 0 && carat_append(b->session, b->ids, t->depth, &err) != CARAT_OK))
        return fail_status(&err);
    start = seconds();
    for (int i = 0; i < t->tokens; i += t->step) {
        if (carat_append(b->session, b->ids + t->depth + i, t->step, &err) != CARAT_OK)
            return fail_status(&err);
        if (progress_update(&b->bar, (size_t)(i + t->step), (size_t)t->tokens))
            return INTERRUPTED;
    }
    *spent = seconds() - start;
    progress_end(&b->bar);
    return DONE;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int run_test(struct bench *b, struct test *t)
{
    double sorted[MOST_REPETITIONS], spent, sum = 0, squares = 0;
    int n = b->o->repetitions, code = run_once(b, t, &spent); /* warm-up */

    t->speed = calloc((size_t)n, sizeof *t->speed);
    if (!t->speed)
        return fail_memory();
    for (int i = 0; i < n && code == DONE; i++) {
        code = run_once(b, t, &spent);
        if (code == DONE) {
            t->speed[i] = sorted[i] = t->tokens / (spent > 0 ? spent : 1e-9);
            sum += t->speed[i];
        }
    }
    if (code != DONE)
        return code;
    t->mean = sum / n;
    for (int i = 0; i < n; i++)
        squares += (t->speed[i] - t->mean) * (t->speed[i] - t->mean);
    t->deviation = n > 1 ? sqrt(squares / (n - 1)) : 0;
    qsort(sorted, (size_t)n, sizeof *sorted, ascending);
    t->median = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
    t->low = sorted[0];
    t->high = sorted[n - 1];
    return DONE;
}

/* Bytes of weights that a second of this test reads, one token at a time; 0 where a pass takes many. */
static double bytes_per_second(const struct bench *b, const struct test *t)
{
    return t->step == 1 ? t->median * (double)b->plan.weight_bytes : 0;
}

static void print_table(const struct bench *b, const struct test *tests, int n)
{
    out_print("| model                | size       | params     | backend     | threads | test            |  "
              "         "
              "t/s      |   median |  GB/s | of limit |\n"
              "| -------------------- | ---------: | ---------: | ----------- | ------: | --------------: | "
              "-----------------: | -------: | ----: | -------: |\n");
    for (int i = 0; i < n; i++) {
        char test[32], read[32] = "      |         ";
        double bytes = bytes_per_second(b, &tests[i]);
        snprintf(test, sizeof test, tests[i].depth ? "%s%d @ d%d" : "%s%d", tests[i].kind, tests[i].tokens,
                 tests[i].depth);
        if (bytes > 0)
            snprintf(read, sizeof read, "%5.1f | %6.0f %%", bytes / 1e9, 100 * bytes / b->bandwidth);
        out_print(
            "| %-20.20s | %6.1f MiB | %8.2f M | CPU %-7.7s | %7d | %15s | %10.2f ± %5.2f | %8.2f | %s |\n",
            model_name(b->o->model), (double)b->info.weight_bytes / (1 << 20),
            (double)b->info.n_parameter / 1e6, b->plan.isa, b->plan.threads, test, tests[i].mean,
            tests[i].deviation, tests[i].median, read);
    }
    out_print(
        "\nlimit: %.1f GB/s read from memory by %d threads, measured in this run; GB/s: weights read, by the "
        "median\n",
        b->bandwidth / 1e9, b->plan.threads);
}

static json_t *test_json(const struct bench *b, const struct test *t)
{
    json_t *samples = json_array();

    for (int i = 0; i < b->o->repetitions; i++)
        json_array_append_new(samples, json_number(t->speed[i]));
    return json_pack("{s:s, s:i, s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:o}", "test", t->kind,
                     "tokens", t->tokens, "n_prompt", t->step > 1 ? t->tokens : 0, "n_gen",
                     t->step > 1 ? 0 : t->tokens, "n_depth", t->depth, "avg_ts", t->mean, "stddev_ts",
                     t->deviation, "median_ts", t->median, "min_ts", t->low, "max_ts", t->high, "read_gb_s",
                     bytes_per_second(b, t) / 1e9, "samples_ts", samples);
}

static int print_json(const struct bench *b, const struct test *tests, int n)
{
    json_t *list = json_array();
    const char *name = model_name(b->o->model);

    for (int i = 0; i < n; i++)
        json_array_append_new(list, test_json(b, &tests[i]));
    return out_json(json_pack(
        "{s:o, s:I, s:I, s:s, s:s, s:b, s:i, s:i, s:i, s:f, s:o}", "model", json_text(name, strlen(name)),
        "model_size", (json_int_t)b->info.weight_bytes, "model_n_params", (json_int_t)b->info.n_parameter,
        "isa", b->plan.isa, "kv", b->plan.kv, "exact", b->o->exact, "chunk", b->plan.chunk, "threads",
        b->plan.threads, "repetitions", b->o->repetitions, "limit_gb_s", b->bandwidth / 1e9, "tests", list));
}

static int prepare(struct bench *b, int longest)
{
    carat_engine_options options;
    carat_error err;
    int code = open_model(&b->model, b->o, false);

    if (code != DONE)
        return code;
    engine_options(&options, b->o);
    options.context = longest;
    if (carat_model_get_info(b->model, &b->info, &err) != CARAT_OK ||
        carat_plan_engine(b->model, &options, &b->plan, &err) != CARAT_OK ||
        carat_engine_create(&b->engine, b->model, &options, &err) != CARAT_OK)
        return fail_status(&err);
    b->ids = calloc((size_t)longest, sizeof *b->ids);
    b->bandwidth = measure_bandwidth(b->plan.threads);
    if (!b->ids || b->bandwidth <= 0)
        return fail_memory();
    fill_ids(b, longest);
    return DONE;
}

/* Every length at every depth; prompts first, as llama-bench orders them. */
static int plan_tests(const struct options *o, struct test *tests, int *n, int *longest)
{
    int prompt[MOST_NUMBERS], gen[MOST_NUMBERS], depth[MOST_NUMBERS], n_prompt, n_gen, n_depth, code;

    if ((code = parse_list("-p", o->n_prompt, prompt, &n_prompt)) != DONE ||
        (code = parse_list("-n", o->n_gen, gen, &n_gen)) != DONE ||
        (code = parse_list("-d", o->n_depth, depth, &n_depth)) != DONE)
        return code;
    *n = *longest = 0;
    for (int d = 0; d < n_depth; d++)
        for (int i = 0; i < n_prompt + n_gen; i++) {
            bool pp = i < n_prompt;
            int tokens = pp ? prompt[i] : gen[i - n_prompt];
            if (tokens == 0)
                continue;
            if (*n == MOST_TESTS)
                return fail(USAGE, "bench: more than %d tests", MOST_TESTS);
            tests[(*n)++] = (struct test){
                .kind = pp ? "pp" : "tg", .tokens = tokens, .depth = depth[d], .step = pp ? tokens : 1};
            *longest = *longest > depth[d] + tokens ? *longest : depth[d] + tokens;
        }
    return *n ? DONE : fail(USAGE, "bench: with -p 0 and -n 0 there is nothing to measure");
}

int verb_bench(const struct options *o)
{
    struct bench b = {.o = o, .info.size = sizeof b.info, .plan.size = sizeof b.plan};
    struct test tests[MOST_TESTS];
    int n, longest, code = plan_tests(o, tests, &n, &longest);

    if (code != DONE)
        return code;
    interrupt_install();
    code = prepare(&b, longest);
    for (int i = 0; i < n && code == DONE; i++) {
        code = run_test(&b, &tests[i]);
        progress_end(&b.bar);
    }
    if (code == DONE && o->json)
        code = print_json(&b, tests, n);
    else if (code == DONE)
        print_table(&b, tests, n);
    for (int i = 0; i < n; i++)
        free(tests[i].speed);
    free(b.ids);
    carat_session_close(b.session);
    carat_engine_close(b.engine);
    carat_model_close(b.model);
    return code;
}

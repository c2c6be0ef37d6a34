/* bench.c: `carat bench`: prompt (pp) and generation (tg) speed on random ids, at depths of context, against what the
 * machine can read and compute at most, measured in the same run. Neither tokenising nor sampling is in the time. How it
 * is told: bench_report.c. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

enum { MOST_REPETITIONS = 1000, MOST_TESTS = 64, MOST_NUMBERS = 16 };

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

static void close_sessions(struct bench *b)
{
    for (int i = 0; i < BENCH_PARALLEL; i++) {
        carat_session_close(b->session[i]);
        b->session[i] = NULL;
    }
}

/* Fresh sessions that hold `depth` tokens. */
static int open_sessions(struct bench *b, const struct test *t)
{
    carat_session_options options = CARAT_SESSION_OPTIONS;
    carat_error err;

    if (t->step > 1 || t->depth > 0) {
        options.progress = progress_update;
        options.user = &b->bar;
    }
    close_sessions(b);
    for (int i = 0; i < t->parallel; i++)
        if (carat_session_create(&b->session[i], b->engine, &options, &err) != CARAT_OK ||
            (t->depth > 0 && carat_append(b->session[i], b->ids, t->depth, &err) != CARAT_OK))
            return fail_status(&err);
    return DONE;
}

/* One timed run; with a profile unless that is NULL. */
static int run_once(struct bench *b, const struct test *t, double *spent, carat_profile *profile)
{
    carat_row rows[BENCH_PARALLEL];
    carat_error err;
    double start;
    int code;

    progress_begin(&b->bar, t->kind, "tok");
    if ((code = open_sessions(b, t)) != DONE)
        return code;
    if (profile)
        carat_profile_begin(b->engine);
    start = seconds();
    for (int i = 0; i < t->tokens; i += t->step) {
        for (int s = 0; s < t->parallel; s++)
            rows[s] = (carat_row){.session = b->session[s], .tokens = b->ids + t->depth + i, .n = t->step};
        if (carat_step(b->engine, rows, t->parallel, &err) != CARAT_OK)
            return fail_status(&err);
        if (progress_update(&b->bar, (size_t)(i + t->step), (size_t)t->tokens))
            return INTERRUPTED;
    }
    *spent = fmax(seconds() - start, 1e-9);
    if (profile && carat_profile_end(b->engine, profile, &err) != CARAT_OK)
        return fail_status(&err);
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
    carat_profile profile = {.size = sizeof profile};
    int n = b->o->repetitions, code;

    t->profile.size = sizeof t->profile;
    t->seconds = INFINITY;
    code = run_once(b, t, &spent, &t->profile); /* warm-up */
    t->speed = calloc((size_t)n, sizeof *t->speed);
    if (!t->speed)
        return fail_memory();
    for (int i = 0; i < n && code == DONE; i++) {
        code = run_once(b, t, &spent, b->o->profile ? &profile : NULL);
        if (code != DONE)
            break;
        t->speed[i] = sorted[i] = (double)t->tokens * t->parallel / spent;
        sum += t->speed[i];
        if (b->o->profile && spent < t->seconds) {
            t->seconds = spent;
            t->profile = profile;
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

static int prepare(struct bench *b, int longest, int parallel)
{
    carat_engine_options options;
    carat_error err;
    int code = open_model(&b->model, b->o, false);

    if (code != DONE)
        return code;
    engine_options(&options, b->o);
    options.context = longest;
    options.sessions = parallel;
    if (carat_model_get_info(b->model, &b->info, &err) != CARAT_OK ||
        carat_plan_engine(b->model, &options, &b->plan, &err) != CARAT_OK ||
        carat_measure_limits(b->plan.threads, b->o->isa, &b->limits, &err) != CARAT_OK ||
        carat_engine_create(&b->engine, b->model, &options, &err) != CARAT_OK)
        return fail_status(&err);
    b->ids = calloc((size_t)longest, sizeof *b->ids);
    if (!b->ids)
        return fail_memory();
    fill_ids(b, longest);
    return DONE;
}

/* Measures the limits again and keeps the higher: neighbours only ever take away. */
static int measure_again(struct bench *b)
{
    carat_limits again = {.size = sizeof again};
    carat_error err;

    if (carat_measure_limits(b->plan.threads, b->o->isa, &again, &err) != CARAT_OK)
        return fail_status(&err);
    b->limits.read = fmax(b->limits.read, again.read);
    for (int a = 0; a < CARAT_N_ARITHMETIC; a++)
        b->limits.operations[a] = fmax(b->limits.operations[a], again.operations[a]);
    return DONE;
}

/* Every length at every depth; prompts first, as llama-bench orders them. Generation for every number of sequences. */
static int plan_tests(const struct options *o, struct test *tests, int *n, int *longest, int *widest)
{
    int prompt[MOST_NUMBERS], gen[MOST_NUMBERS], depth[MOST_NUMBERS], parallel[MOST_NUMBERS];
    int n_prompt, n_gen, n_depth, n_parallel, code;

    if ((code = parse_list("-p", o->n_prompt, prompt, &n_prompt)) != DONE ||
        (code = parse_list("-n", o->n_gen, gen, &n_gen)) != DONE ||
        (code = parse_list("-d", o->n_depth, depth, &n_depth)) != DONE ||
        (code = parse_list("-npl", o->n_parallel, parallel, &n_parallel)) != DONE)
        return code;
    *n = *longest = 0;
    *widest = 1;
    for (int i = 0; i < n_parallel; i++)
        if (parallel[i] < 1 || parallel[i] > BENCH_PARALLEL)
            return fail(USAGE, "bench: option -npl: %d is not a number of sequences from 1 to %d",
                        parallel[i], BENCH_PARALLEL);
    for (int d = 0; d < n_depth; d++)
        for (int i = 0; i < n_prompt + n_gen * n_parallel; i++) {
            bool pp = i < n_prompt;
            int side = pp ? 1 : parallel[(i - n_prompt) % n_parallel];
            int tokens = pp ? prompt[i] : gen[(i - n_prompt) / n_parallel];
            if (tokens == 0)
                continue;
            if (*n == MOST_TESTS)
                return fail(USAGE, "bench: more than %d tests", MOST_TESTS);
            tests[(*n)++] = (struct test){.kind = pp ? "pp" : "tg",
                                          .tokens = tokens,
                                          .depth = depth[d],
                                          .step = pp ? tokens : 1,
                                          .parallel = side};
            *longest = *longest > depth[d] + tokens ? *longest : depth[d] + tokens;
            *widest = *widest > side ? *widest : side;
        }
    return *n ? DONE : fail(USAGE, "bench: with -p 0 and -n 0 there is nothing to measure");
}

int verb_bench(const struct options *o)
{
    struct bench b = {
        .o = o, .info.size = sizeof b.info, .plan.size = sizeof b.plan, .limits.size = sizeof b.limits};
    struct test tests[MOST_TESTS];
    int n, longest, widest, code = plan_tests(o, tests, &n, &longest, &widest);

    if (code != DONE)
        return code;
    interrupt_install();
    code = prepare(&b, longest, widest);
    for (int i = 0; i < n && code == DONE; i++) {
        code = run_test(&b, &tests[i]);
        progress_end(&b.bar);
    }
    if (code == DONE)
        code = measure_again(&b);
    if (code == DONE && o->json)
        code = bench_print_json(&b, tests, n);
    else if (code == DONE)
        bench_print(&b, tests, n);
    for (int i = 0; i < n; i++)
        free(tests[i].speed);
    free(b.ids);
    close_sessions(&b);
    carat_engine_close(b.engine);
    carat_model_close(b.model);
    return code;
}

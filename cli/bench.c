/* bench.c: `carat bench`: prompt (pp) and generation (tg) speed on random ids, in the table that users of this field
 * know. Neither tokenising nor sampling is in the time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { MOST_REPETITIONS = 1000 };

struct bench {
    const struct options *o;
    carat_model *model;
    carat_engine *engine;
    carat_session *session;
    carat_model_info info;
    carat_plan plan;
    struct progress bar;
    int32_t *ids; /* [larger of n_prompt, n_gen] */
};

struct test {
    const char *kind; /* "pp", "tg" */
    int tokens;
    int step;               /* tokens per call: all of them, or one */
    double mean, deviation; /* tok/s */
};

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

/* One timed run from an empty session. */
static int run_once(struct bench *b, const struct test *t, double *spent)
{
    carat_session_options options = CARAT_SESSION_OPTIONS;
    carat_error err;
    double start;

    progress_begin(&b->bar, t->kind, "tok");
    if (t->step > 1) {
        options.progress = progress_update;
        options.user = &b->bar;
    }
    carat_session_close(b->session);
    b->session = NULL;
    if (carat_session_create(&b->session, b->engine, &options, &err) != CARAT_OK)
        return fail_status(&err);
    start = seconds();
    for (int i = 0; i < t->tokens; i += t->step) {
        if (carat_append(b->session, b->ids + i, t->step, &err) != CARAT_OK)
            return fail_status(&err);
        if (progress_update(&b->bar, (size_t)(i + t->step), (size_t)t->tokens))
            return INTERRUPTED;
    }
    *spent = seconds() - start;
    progress_end(&b->bar);
    return DONE;
}

static int run_test(struct bench *b, struct test *t)
{
    double speed[MOST_REPETITIONS], spent, sum = 0, squares = 0;
    int n = b->o->repetitions, code = run_once(b, t, &spent); /* warm-up */

    for (int i = 0; i < n && code == DONE; i++) {
        code = run_once(b, t, &spent);
        if (code == DONE) {
            speed[i] = t->tokens / (spent > 0 ? spent : 1e-9);
            sum += speed[i];
        }
    }
    if (code != DONE)
        return code;
    t->mean = sum / n;
    for (int i = 0; i < n; i++)
        squares += (speed[i] - t->mean) * (speed[i] - t->mean);
    t->deviation = n > 1 ? sqrt(squares / (n - 1)) : 0;
    return DONE;
}

static void print_table(const struct bench *b, const struct test *tests, int n)
{
    out_print("| model                | size       | params     | backend    | threads | test    |           "
              "t/s      |\n"
              "| -------------------- | ---------: | ---------: | ---------- | ------: | ------: | "
              "-----------------: |\n");
    for (int i = 0; i < n; i++) {
        char test[16];
        snprintf(test, sizeof test, "%s%d", tests[i].kind, tests[i].tokens);
        out_print("| %-20.20s | %6.1f MiB | %8.2f M | CPU %-6.6s | %7d | %7s | %10.2f ± %5.2f |\n",
                  model_name(b->o->model), (double)b->info.weight_bytes / (1 << 20),
                  (double)b->info.n_parameter / 1e6, b->plan.isa, b->plan.threads, test, tests[i].mean,
                  tests[i].deviation);
    }
}

static int print_json(const struct bench *b, const struct test *tests, int n)
{
    json_t *list = json_array();
    const char *name = model_name(b->o->model);

    for (int i = 0; i < n; i++) {
        json_t *test = json_pack("{s:s, s:i, s:f, s:f}", "test", tests[i].kind, "tokens", tests[i].tokens,
                                 "avg_ts", tests[i].mean, "stddev_ts", tests[i].deviation);
        json_array_append_new(list, test);
    }
    return out_json(json_pack("{s:o, s:I, s:I, s:s, s:s, s:b, s:i, s:i, s:i, s:o}", "model",
                              json_text(name, strlen(name)), "model_size", (json_int_t)b->info.weight_bytes,
                              "model_n_params", (json_int_t)b->info.n_parameter, "isa", b->plan.isa, "kv",
                              b->plan.kv, "exact", b->o->exact, "chunk", b->plan.chunk, "threads",
                              b->plan.threads, "repetitions", b->o->repetitions, "tests", list));
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
    if (!b->ids)
        return fail_memory();
    fill_ids(b, longest);
    return DONE;
}

int verb_bench(const struct options *o)
{
    struct bench b = {.o = o, .info.size = sizeof b.info, .plan.size = sizeof b.plan};
    struct test tests[2];
    int n = 0, code;

    if (o->n_prompt > 0)
        tests[n++] = (struct test){.kind = "pp", .tokens = o->n_prompt, .step = o->n_prompt};
    if (o->n_gen > 0)
        tests[n++] = (struct test){.kind = "tg", .tokens = o->n_gen, .step = 1};
    if (n == 0)
        return fail(USAGE, "bench: with -p 0 and -n 0 there is nothing to measure");
    interrupt_install();
    code = prepare(&b, o->n_prompt > o->n_gen ? o->n_prompt : o->n_gen);
    for (int i = 0; i < n && code == DONE; i++) {
        code = run_test(&b, &tests[i]);
        progress_end(&b.bar);
    }
    if (code == DONE && o->json)
        code = print_json(&b, tests, n);
    else if (code == DONE)
        print_table(&b, tests, n);
    free(b.ids);
    carat_session_close(b.session);
    carat_engine_close(b.engine);
    carat_model_close(b.model);
    return code;
}

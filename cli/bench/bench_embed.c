/* SPDX-License-Identifier: Apache-2.0 */
/* bench_embed.c: `carat bench EMBEDDER`: how long vectors of many short texts, of a few long ones and of a
 * query alone take. Nothing is generated, so it has none of the tests of bench.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/alone.h"
#include "bench/bench.h"
#include "bench/bench_options.h"
#include "carat_embed.h"
#include "model/engine.h"
#include "model/model.h"
#include "term/clock.h"
#include "term/interrupt.h"
#include "term/out_json.h"
#include "term/output.h"

enum { MOST_INPUTS = 64, LONGEST = 512 };

/* One thing that is timed: n texts of so many tokens in one call. */
struct timed {
    int n, tokens;
    double *sample; /* [runs] seconds */
    struct spread ms, ts;
};

struct embedding {
    const struct options *o;
    carat_model *model;
    carat_engine *engine;
    carat_model_info info;
    carat_embedder about;
    carat_plan plan;
    carat_host_info host;
    int32_t *ids;  /* [MOST_INPUTS * LONGEST] */
    float *vector; /* [MOST_INPUTS][width] */
    int width;
    int runs;
    struct timed test[3];
};
enum { TESTS = sizeof((struct embedding *)0)->test / sizeof(struct timed) };

static int check_embedding(const struct options *o)
{
    const struct bench_options *b = o->bench;
    const struct bench_refusal own[] = {{"-p", options_given(o, &b->n_prompt)},
                                        {"-n", options_given(o, &b->n_gen)},
                                        {"-d", options_given(o, &b->n_depth)},
                                        {"-npl", options_given(o, &b->n_parallel)},
                                        {NULL, false}};

    return bench_check_alone(o, own, "bench", "an embedding model is timed by its vectors, without",
                             "an embedding model gives");
}

static int make_engine(struct embedding *e)
{
    carat_engine_options options;
    carat_error err;
    const int most = e->about.max_tokens;

    for (int i = 0; i < TESTS; i++)
        e->test[i].tokens = e->test[i].tokens < most ? e->test[i].tokens : most;
    engine_options(&options, e->o);
    options.threads = atoi(e->o->bench->thread_list);
    options.chunk = atoi(e->o->bench->chunk_list);
    options.context = LONGEST < most ? LONGEST : most;
    if (carat_plan_engine(e->model, &options, &e->plan, &err) != CARAT_OK)
        return fail_status(&err);
    return create_engine(&e->engine, e->model, &options);
}

static int time_texts(struct embedding *e, struct timed *t, double *spent)
{
    carat_embed_input input[MOST_INPUTS];
    carat_embed_options options;
    carat_error err;

    for (int i = 0; i < t->n; i++)
        input[i] = (carat_embed_input){.tokens = e->ids + (size_t)i * (size_t)t->tokens,
                                       .n = t->tokens,
                                       .vector = e->vector + (size_t)i * (size_t)e->width};
    carat_embed_options_default(&options);
    options.raw = e->about.n_dense == 0;
    options.watch = stop_when_interrupted;
    const double start = term_seconds();
    const carat_status status = carat_embed(e->engine, input, sizeof *input, t->n, &options, &err);
    *spent = fmax(term_seconds() - start, 1e-9);
    return status == CARAT_OK ? DONE : fail_status(&err);
}

/* All tests in turn, so that what else the machine does meets each of them; -1 is the warm-up. */
static int time_all(struct embedding *e)
{
    double spent;

    for (int run = -1; run < e->runs; run++)
        for (int i = 0; i < TESTS; i++) {
            TRY(time_texts(e, &e->test[i], &spent));
            if (run >= 0)
                e->test[i].sample[run] = spent;
        }
    for (int i = 0; i < TESTS; i++) {
        struct timed *t = &e->test[i];
        if (!spread_of(&t->ms, t->sample, e->runs, 1e3))
            return fail_memory();
        for (int run = 0; run < e->runs; run++)
            t->sample[run] = t->n * t->tokens / t->sample[run];
        if (!spread_of(&t->ts, t->sample, e->runs, 1))
            return fail_memory();
    }
    return DONE;
}

static int print_vectors_json(const struct embedding *e)
{
    json_t *all = json_array();

    for (int i = 0; i < TESTS; i++) {
        const struct timed *t = &e->test[i];
        json_array_append_new(all, json_pack("{s:i, s:i, s:f, s:f, s:f, s:f}", "texts", t->n, "tokens",
                                             t->tokens, "median_ts", t->ts.median, "low_ts", t->ts.low,
                                             "high_ts", t->ts.high, "median_ms", t->ms.median));
    }
    return out_json(json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:o}", "model_filename",
                              model_name(e->o->model), "version", carat_version(), "cpu_info", e->host.cpu,
                              "isa", e->plan.isa, "n_threads", e->plan.threads, "repetitions", e->runs,
                              "vectors", all));
}

static int print_vectors_table(const struct embedding *e)
{
    static const char *const titles[] = {"vectors of", "tok/s:", "from:", "to:", "ms:", NULL};
    static struct table table; /* too large for a small stack */

    out_print("%s: vectors of %d values; %d runs\n", model_name(e->o->model), e->width, e->runs);
    out_print("%s, %s, %d threads, carat %s\n\n", e->host.cpu, e->plan.isa, e->plan.threads, carat_version());
    table_begin(&table, titles);
    for (int i = 0; i < TESTS; i++) {
        const struct timed *t = &e->test[i];
        table_cell(&table, "%d text%s of %d tokens", t->n, t->n == 1 ? "" : "s", t->tokens);
        table_cell(&table, "%.1f", t->ts.median);
        table_cell(&table, "%.1f", t->ts.low);
        table_cell(&table, "%.1f", t->ts.high);
        table_cell(&table, "%.2f", t->ms.median);
    }
    table_print(&table);
    return DONE;
}

static int embed_all(struct embedding *e)
{
    carat_error err;

    TRY(check_embedding(e->o));
    if (carat_get_embedder(e->model, &e->about, &err) != CARAT_OK ||
        carat_get_host(&e->host, &err) != CARAT_OK ||
        carat_model_get_info(e->model, &e->info, &err) != CARAT_OK)
        return fail_status(&err);
    e->width = e->about.n_dense ? e->about.width : e->about.raw_width;
    e->ids = calloc(MOST_INPUTS * LONGEST, sizeof *e->ids);
    e->vector = calloc(MOST_INPUTS * (size_t)e->width, sizeof *e->vector);
    for (int i = 0; i < TESTS; i++)
        e->test[i].sample = calloc((size_t)e->runs, sizeof *e->test[i].sample);
    if (!e->ids || !e->vector || !e->test[0].sample || !e->test[1].sample || !e->test[2].sample)
        return fail_memory();
    random_ids(e->ids, MOST_INPUTS * LONGEST, &e->info, 1);
    TRY(make_engine(e));
    TRY(time_all(e));
    return e->o->json || strcmp(e->o->bench->output, "json") == 0 ? print_vectors_json(e)
                                                                  : print_vectors_table(e);
}

int bench_embed(const struct options *o, carat_model *model)
{
    struct embedding e = {
        .o = o,
        .model = model,
        .info.size = sizeof e.info,
        .about.size = sizeof e.about,
        .plan.size = sizeof e.plan,
        .host.size = sizeof e.host,
        .runs = o->bench->repetitions,
        .test = {{.n = 64, .tokens = 16}, {.n = 8, .tokens = LONGEST}, {.n = 1, .tokens = 8}}};
    const int code = embed_all(&e);

    for (int i = 0; i < TESTS; i++)
        free(e.test[i].sample);
    free(e.ids);
    free(e.vector);
    carat_engine_close(e.engine);
    return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* bench_whole.c: `carat bench --prompt`: whole generations of a real prompt, the prompt and every draw in the
 * time, told in the figures that other Gemma runners give. Tests of random ids, which tell what binds a
 * speed, are bench.c's. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/alone.h"
#include "bench/bench.h"
#include "bench/bench_options.h"
#include "io/input.h"
#include "io/save.h"
#include "model/engine.h"
#include "model/model.h"
#include "options/table.h"
#include "prompt/prompt.h"
#include "term/clock.h"
#include "term/interrupt.h"
#include "term/out_json.h"
#include "term/output.h"

struct whole {
    const struct options *o;
    carat_model *model;
    carat_engine *engine;
    carat_model_info info;
    carat_plan plan;
    carat_tokens prompt, ids; /* ids: of the last generation */
    int most;                 /* ids of a generation */
    int warmup, iterations;
    double *speed; /* [iterations] tok/s */
    struct progress bar;
    struct save file;
    bool quiet; /* only the object goes to standard output */
};

static int check(const struct options *o)
{
    const struct bench_options *b = o->bench;
    const struct {
        const char *name;
        bool given;
    } tests[] = {{"-p", options_given(o, &b->n_prompt)},
                 {"-n", options_given(o, &b->n_gen)},
                 {"-d", options_given(o, &b->n_depth)},
                 {"-pg", b->n_pair != NULL},
                 {"-npl", options_given(o, &b->n_parallel)},
                 {"-r", options_given(o, &b->repetitions)},
                 {"--plot", b->plot != NULL},
                 {"--compare", b->compare != NULL},
                 {"--profile", b->profile},
                 {"-fa", b->flash != NULL},
                 {"list for -t", strchr(b->thread_list, ',') != NULL},
                 {"list for -ub", strchr(b->chunk_list, ',') != NULL}};

    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        if (tests[i].given)
            return term_fail(USAGE, "bench: --prompt times whole generations and takes no %s", tests[i].name);
    if (!is_choice("md|json", b->output))
        return term_fail(USAGE, "bench: --prompt gives one object, so -o must be md or json");
    if (o->json && options_given(o, &o->bench->output) && strcmp(o->bench->output, "json") != 0)
        return term_fail(USAGE, "bench: --json and -o %s contradict each other", o->bench->output);
    return DONE;
}

static int open_whole(struct whole *w)
{
    struct conversation talk = {.o = w->o}; /* the user's prompt alone */
    carat_engine_options options;
    carat_error err;
    int code = open_packed(&w->model, w->o);

    if (code == DONE && carat_model_get_info(w->model, &w->info, &err) != CARAT_OK)
        code = fail_status(&err);
    if (code == DONE)
        code = make_prompt(w->model, &w->info, &talk, &w->prompt);
    conversation_free(&talk);
    if (code != DONE)
        return code;
    w->most = w->o->bench->predict;
    if (w->prompt.n >= w->info.max_context)
        return fail_as(FAILED, CARAT_E_CONTEXT, "the prompt has %d tokens and the model %d positions",
                       w->prompt.n, w->info.max_context);
    if (w->most > w->info.max_context - w->prompt.n)
        w->most = w->info.max_context - w->prompt.n;
    engine_options(&options, w->o);
    options.context = w->prompt.n + w->most;
    options.threads = atoi(w->o->bench->thread_list); /* one number, as checked */
    options.chunk = atoi(w->o->bench->chunk_list);
    TRY(fit_engine(&options, w->model, w->o));
    if (carat_plan_engine(w->model, &options, &w->plan, &err) != CARAT_OK)
        return fail_status(&err);
    return create_engine(&w->engine, w->model, &options);
}

/* From the first id of the prompt to the last that is drawn. The seed is always the same, and so is the
 * text. */
static int generate(struct whole *w, carat_session *session)
{
    carat_sampling sampling;
    carat_sampling_default(w->model, &sampling);
    carat_error err;
    int32_t id;

    w->ids.n = 0;
    progress_begin(&w->bar, "prompt", "tok");
    if (carat_sync(session, w->prompt.ids, w->prompt.n, NULL, &err) != CARAT_OK)
        return fail_status(&err);
    progress_end(&w->bar);
    while (w->ids.n < w->most && !term_interrupted()) {
        if (w->ids.n > 0 && carat_append(session, &w->ids.ids[w->ids.n - 1], 1, &err) != CARAT_OK)
            return fail_status(&err);
        if (carat_sample(session, &sampling, &id, &err) != CARAT_OK)
            return fail_status(&err);
        if (carat_is_stop(w->model, id))
            break;
        if (!push_id(&w->ids, id))
            return fail_memory();
    }
    return term_interrupted() ? INTERRUPTED : DONE;
}

/* The tokens of the text that was generated, encoded again, as other runners count them; 1 when there are
 * none. */
static int count_tokens(const struct whole *w, int *n)
{
    carat_tokens again = {0};
    char *text = NULL;
    size_t n_text;
    carat_error err;
    int code = DONE;

    if (carat_detokenize(w->model, w->ids.ids, w->ids.n, 0, &text, &n_text, &err) != CARAT_OK ||
        carat_tokenize(w->model, text, n_text, 0, &again, &err) != CARAT_OK)
        code = fail_status(&err);
    *n = again.n > 0 ? again.n : 1;
    carat_free(text);
    carat_tokens_free(&again);
    return code;
}

/* One generation; i: its place in speed, or -1 for a warm-up. */
static int run_once(struct whole *w, int i)
{
    carat_session *session = NULL;
    double start = term_seconds(), spent;
    int n;

    TRY(create_session(&session, w->engine, progress_update, &w->bar));
    int code = generate(w, session);
    progress_end(&w->bar);
    spent = fmax(term_seconds() - start, 1e-9);
    carat_session_close(session);
    if (code != DONE || i < 0)
        return code;
    TRY(count_tokens(w, &n));
    w->speed[i] = n / spent;
    if (w->quiet)
        return DONE;
    out_print("run %-3d %6d token%s in %.3f s  %8.2f tok/s\n", i + 1, n, n == 1 ? " " : "s", spent,
              w->speed[i]);
    return out_flush() ? DONE : FAILED;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int whole_tell(struct whole *w)
{
    const int n = w->iterations, ninth = n * 9 / 10;
    double sum = 0, mean, p50, p90;
    int code = DONE;

    for (int i = 0; i < n; i++)
        sum += w->speed[i];
    qsort(w->speed, (size_t)n, sizeof *w->speed, ascending);
    mean = sum / n;
    p50 = w->speed[n / 2]; /* of an even number the upper one, as other runners have it */
    p90 = w->speed[ninth < n ? ninth : n - 1];
    json_t *all = json_pack("{s:s, s:f, s:f, s:f, s:i, s:i}", "device", "cpu", "mean_tok_s", mean,
                            "p50_tok_s", p50, "p90_tok_s", p90, "iters", n, "warmup", w->warmup);
    if (!all)
        return fail_memory();
    if (w->file.file) {
        json_dumpf(all, w->file.file,
                   JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(9)); /* errors stay in the file */
        code = save_close(&w->file);
    }
    if (code == DONE && !w->quiet)
        out_print(
            "mean %.2f, p50 %.2f, p90 %.2f tok/s: generated tokens by the time of the whole generation, "
            "prompt included\n",
            mean, p50, p90);
    if (w->quiet)
        return code == DONE ? out_json(all) : (json_decref(all), code);
    json_decref(all);
    return code;
}

static int measure(struct whole *w)
{
    int code = DONE;

    w->speed = calloc((size_t)w->iterations, sizeof *w->speed);
    if (!w->speed)
        return fail_memory();
    if (!w->quiet)
        out_print("prompt %d tokens, at most %d generated; %d warm-up, %d measured; CPU %s, %d threads\n",
                  w->prompt.n, w->most, w->warmup, w->iterations, w->plan.isa, w->plan.threads);
    for (int i = 0; i < w->warmup && code == DONE; i++)
        code = run_once(w, -1);
    for (int i = 0; i < w->iterations && code == DONE; i++)
        code = run_once(w, i);
    return code;
}

int bench_whole(const struct options *o)
{
    struct whole w = {.o = o,
                      .info.size = sizeof w.info,
                      .plan.size = sizeof w.plan,
                      .warmup = o->bench->warmup,
                      .iterations = o->bench->iterations,
                      .quiet = o->json || strcmp(o->bench->output, "json") == 0 ||
                               (o->bench->bench_json && strcmp(o->bench->bench_json, "-") == 0)};
    int code = check(o);

    if (code == DONE && o->bench->bench_json && strcmp(o->bench->bench_json, "-") != 0)
        code = save_open(&w.file, o->bench->bench_json);
    if (code == DONE) {
        interrupt_install();
        code = open_whole(&w);
    }
    if (code == DONE)
        code = measure(&w);
    if (code == DONE)
        code = whole_tell(&w);
    save_abandon(&w.file);
    free(w.speed);
    carat_tokens_free(&w.prompt);
    carat_tokens_free(&w.ids);
    carat_engine_close(w.engine);
    carat_model_close(w.model);
    return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* bench_timeline.c: `carat bench timeline`: what it takes to go back in a session, to keep it in a file and
 * to go on: the calls alone, and a chat whose last answer is given anew and which gets a further turn, beside
 * fresh prompts as long as what is new. Speeds of passes are bench.c's. */
#define _POSIX_C_SOURCE 200809L /* mkstemp */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/alone.h"
#include "bench/bench.h"
#include "bench/bench_options.h"
#include "carat_generate.h"
#include "model/engine.h"
#include "model/model.h"
#include "term/clock.h"
#include "term/interrupt.h"
#include "term/out_json.h"
#include "term/output.h"
#include "term/size.h"

enum { TURN = 64, SHORT_ANSWER = 64 };

enum figure { UNCHANGED, RESTORE, SNAPSHOT, SAVE, LOAD, AGAIN, ONE, NEXT, FRESH, N_FIGURE };
static const struct {
    const char *name, *field;
    enum figure fresh; /* the figure that it is compared with; N_FIGURE: none */
} figures[N_FIGURE] = {
    [UNCHANGED] = {"sync, nothing is new", "sync_unchanged", N_FIGURE},
    [RESTORE] = {"back to the last turn", "rewind_and_restore", N_FIGURE},
    [SNAPSHOT] = {"take a snapshot", "snapshot", N_FIGURE},
    [SAVE] = {"save", "save", N_FIGURE},
    [LOAD] = {"load", "load", N_FIGURE},
    [AGAIN] = {"the last answer again, first token", "regenerate_first_token", ONE},
    [ONE] = {"a fresh prompt as long", "fresh_token_first_token", N_FIGURE},
    [NEXT] = {"the next turn, first token", "next_turn_first_token", FRESH},
    [FRESH] = {"a fresh prompt as long", "fresh_turn_first_token", N_FIGURE},
};

struct chat {
    const struct options *o;
    carat_model *model;
    carat_engine *engine;
    carat_session *session;
    carat_model_info info;
    carat_plan plan;
    carat_host_info host;
    int depth, answer; /* tokens of the prompt, and of an answer to it */
    int32_t *ids;      /* [depth + answer + TURN] */
    int repetitions;
    double *sample[N_FIGURE]; /* [repetitions] seconds */
    int evaluated[N_FIGURE];  /* tokens, -1: it evaluates none */
    struct spread ms[N_FIGURE];
    char path[4096]; /* of the file */
    size_t file_bytes;
    struct progress bar;
    bool json;
};

static int check_timeline(const struct options *o)
{
    const struct bench_refusal own[] = {{"-p", options_given(o, &o->bench->n_prompt)},
                                        {"-n", options_given(o, &o->bench->n_gen)},
                                        {"-npl", options_given(o, &o->bench->n_parallel)},
                                        {"--memory", options_given(o, &o->engine->memory)},
                                        {"list for -d", strchr(o->bench->n_depth, ',') != NULL},
                                        {NULL, false}};

    return bench_check_alone(o, own, "bench timeline", "takes no", "gives");
}

/* ---- the engine ---- */

static int depth_of(const char *text, int *depth)
{
    char *end;
    long n = strtol(text, &end, 10);

    if (strspn(text, "0123456789") != strlen(text) || *end || n < TURN || n > 1 << 20)
        return term_fail(USAGE, "bench timeline: option -d: '%.80s' is not a number of tokens from %d to %d",
                         text, TURN, 1 << 20);
    *depth = (int)n;
    return DONE;
}

/* With the snapshots that a chat has. */
static int plan_chat(struct chat *c, carat_engine_options *options)
{
    carat_error err;

    TRY(choose_snapshots(options, c->model));
    return carat_plan_engine(c->model, options, &c->plan, &err) == CARAT_OK ? DONE : fail_status(&err);
}

static int open_chat(struct chat *c)
{
    carat_engine_options options;
    carat_error err;

    TRY(open_packed(&c->model, c->o));
    if (carat_model_get_info(c->model, &c->info, &err) != CARAT_OK ||
        carat_get_host(&c->host, &err) != CARAT_OK)
        return fail_status(&err);
    /* an answer behind which the local layers have nothing left of the prompt */
    c->answer = c->info.sliding_window ? c->info.sliding_window + 256 : SHORT_ANSWER;
    engine_options(&options, c->o);
    options.context = c->depth + c->answer + TURN;
    options.sessions = 2;
    options.threads = atoi(c->o->bench->thread_list); /* one number, as checked */
    options.chunk = atoi(c->o->bench->chunk_list);
    if (options.context > c->info.max_context)
        return fail_as(FAILED, CARAT_E_CONTEXT,
                       "bench timeline: a prompt of %d tokens, an answer of %d and a turn of %d are more "
                       "than the %d positions of the model; -d N makes the prompt shorter",
                       c->depth, c->answer, TURN, c->info.max_context);
    c->ids = calloc((size_t)options.context, sizeof *c->ids);
    for (int i = 0; i < N_FIGURE; i++)
        c->sample[i] = calloc((size_t)c->repetitions, sizeof *c->sample[i]);
    for (int i = 0; i < N_FIGURE; i++)
        if (!c->sample[i] || !c->ids)
            return fail_memory();
    random_ids(c->ids, c->depth + c->answer + TURN, &c->info, 1);
    TRY(plan_chat(c, &options));
    TRY(create_engine(&c->engine, c->model, &options));
    return create_session(&c->session, c->engine, progress_update, &c->bar);
}

static int open_file(struct chat *c)
{
    const char *folder = getenv("TMPDIR");
    int n =
        snprintf(c->path, sizeof c->path, "%s/carat-timeline-XXXXXX", folder && *folder ? folder : "/tmp");
    int fd = n < (int)sizeof c->path ? mkstemp(c->path) : -1;

    if (fd < 0) {
        c->path[0] = 0;
        return term_fail(FAILED, "bench timeline: no file can be made in %.200s", folder ? folder : "/tmp");
    }
    close(fd);
    return DONE;
}

/* ---- what is timed ---- */

/* Makes a session hold the first n tokens, and with `drawn` draws one more. The seconds of it, and what was
 * evaluated; an exit code. */
static int go_to(struct chat *c, carat_session *s, int n, bool drawn, double *spent, int *evaluated)
{
    carat_session_stats stats;
    double start = term_seconds();
    carat_error err;
    int32_t id;

    carat_session_stats_default(&stats);
    if (carat_sync(s, c->ids, n, NULL, &err) != CARAT_OK ||
        (drawn && carat_sample(s, NULL, &id, &err) != CARAT_OK))
        return fail_status(&err);
    *spent = term_seconds() - start;
    if (carat_session_get_stats(s, &stats, &err) != CARAT_OK)
        return fail_status(&err);
    *evaluated = n - stats.kept + stats.reevaluated;
    return DONE;
}

/* Appends the tokens from what is held up to n. */
static int go_on(struct chat *c, int n, double *spent)
{
    int held = carat_tokens_held(c->session, NULL);
    double start = term_seconds();
    carat_error err;

    if (carat_append(c->session, c->ids + held, n - held, &err) != CARAT_OK)
        return fail_status(&err);
    *spent = term_seconds() - start;
    return DONE;
}

/* A call that began then has ended so. */
static int ended(double *sample, double begun, carat_status status, const carat_error *err)
{
    *sample = term_seconds() - begun;
    return status == CARAT_OK ? DONE : fail_status(err);
}

static int time_rewind(struct chat *c, double *sample)
{
    carat_error err;
    double begun = term_seconds();
    return ended(sample, begun, carat_rewind(c->session, c->depth, &err), &err);
}

static int time_snapshot(struct chat *c, double *sample)
{
    carat_error err;
    double begun = term_seconds();
    return ended(sample, begun, carat_mark(c->session, &err), &err);
}

static int time_save(struct chat *c, double *sample)
{
    carat_error err;
    double begun = term_seconds();
    return ended(sample, begun, carat_save(c->session, c->path, NULL, 0, &err), &err);
}

/* Into a session of its own: one that was loaded has not what the token before the next one saw. */
static int time_load(struct chat *c, double *sample)
{
    carat_session *s = NULL;
    carat_error err;
    int code = create_session(&s, c->engine, progress_update, &c->bar);

    if (code == DONE) {
        double begun = term_seconds();
        code = ended(sample, begun, carat_load(s, c->path, NULL, NULL, &err), &err);
    }
    carat_session_close(s);
    return code;
}

/* The session holds the prompt, and does so at the end. What going back leaves to be done comes with the next
 * token, and is what this one takes more than the one after it. */
static int time_calls(struct chat *c, int i)
{
    double spent, first, second;
    int code, evaluated;

    if ((code = go_to(c, c->session, c->depth, false, &c->sample[UNCHANGED][i], &c->evaluated[UNCHANGED])) !=
            DONE ||
        (code = go_on(c, c->depth + c->answer, &spent)) != DONE ||
        (code = time_rewind(c, &c->sample[RESTORE][i])) != DONE ||
        (code = go_on(c, c->depth + 1, &first)) != DONE || (code = go_on(c, c->depth + 2, &second)) != DONE)
        return code;
    c->sample[RESTORE][i] += fmax(first - second, 0);
    if ((code = time_snapshot(c, &c->sample[SNAPSHOT][i])) != DONE ||
        (code = go_to(c, c->session, c->depth, false, &spent, &evaluated)) != DONE ||
        (code = time_save(c, &c->sample[SAVE][i])) != DONE)
        return code;
    return time_load(c, &c->sample[LOAD][i]);
}

/* A prompt of n tokens in a session of its own. */
static int time_fresh(struct chat *c, int i, enum figure figure, int n)
{
    carat_session *s = NULL;
    int code = create_session(&s, c->engine, progress_update, &c->bar);

    if (code == DONE)
        code = go_to(c, s, n, true, &c->sample[figure][i], &c->evaluated[figure]);
    carat_session_close(s);
    return code;
}

static int time_chat(struct chat *c, int i)
{
    const int all = c->depth + c->answer;
    double spent;

    TRY(go_on(c, all, &spent));
    TRY(go_to(c, c->session, c->depth, true, &c->sample[AGAIN][i], &c->evaluated[AGAIN]));
    TRY(go_on(c, all, &spent));
    TRY(go_to(c, c->session, all + TURN, true, &c->sample[NEXT][i], &c->evaluated[NEXT]));
    TRY(time_fresh(c, i, ONE, 1));
    return time_fresh(c, i, FRESH, TURN);
}

static int measure_chat(struct chat *c)
{
    double spent;
    int code, evaluated;

    progress_begin(&c->bar, "prompt", "tok");
    code = go_to(c, c->session, c->depth, false, &spent, &evaluated);
    progress_end(&c->bar);
    if (code == DONE) /* the first file of a model needs the model's hash, which the engine then knows */
        code = time_save(c, &spent);
    for (int i = 0; i < c->repetitions && code == DONE; i++) {
        code = time_calls(c, i);
        if (code == DONE)
            code = time_chat(c, i);
        if (code == DONE)
            code = go_to(c, c->session, c->depth, false, &spent, &evaluated);
        if (term_interrupted())
            code = INTERRUPTED;
    }
    for (int i = 0; i < N_FIGURE && code == DONE; i++)
        if (!spread_of(&c->ms[i], c->sample[i], c->repetitions, 1e3))
            return fail_memory();
    return code;
}

/* ---- output ---- */

static size_t size_of_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (size_t)st.st_size : 0;
}

static double ratio_of(const struct chat *c, int i)
{
    return figures[i].fresh == N_FIGURE ? NAN : c->ms[i].median / c->ms[figures[i].fresh].median;
}

static void print_chat(const struct chat *c)
{
    static const char *const titles[] = {
        "what", "tokens evaluated:", "ms:", "from:", "to:", "x fresh:", NULL};
    static struct table table; /* too large for a small stack */
    char size[SIZE_TEXT], snapshots[SIZE_TEXT];

    out_print("%s: a prompt of %d tokens, an answer of %d, a turn of %d; %d runs\n", model_name(c->o->model),
              c->depth, c->answer, TURN, c->repetitions);
    out_print("%s, %s, %d threads, %s cache, %s of snapshots, carat %s\n\n", c->host.cpu, c->plan.isa,
              c->plan.threads, c->plan.kv, size_text(snapshots, (double)c->plan.snapshot_bytes),
              carat_version());
    table_begin(&table, titles);
    for (int i = 0; i < N_FIGURE; i++) {
        table_cell(&table, "%s", figures[i].name);
        if (c->evaluated[i] < 0)
            table_cell(&table, "%s", "");
        else
            table_cell(&table, "%d", c->evaluated[i]);
        table_cell(&table, "%.3f", c->ms[i].median);
        table_cell(&table, "%.3f", c->ms[i].low);
        table_cell(&table, "%.3f", c->ms[i].high);
        table_number(&table, "%.2f", ratio_of(c, i));
    }
    table_print(&table);
    out_print("\nthe file: %zu bytes (%s), of them %zu of logits\n", c->file_bytes,
              size_text(size, (double)c->file_bytes), (size_t)c->info.n_vocab * sizeof(float));
}

static json_t *figure_json(const struct chat *c, int i)
{
    const struct spread *s = &c->ms[i];
    json_t *all = json_array();

    for (int k = 0; k < c->repetitions; k++)
        json_array_append_new(all, json_real(c->sample[i][k] * 1e3));
    return json_pack("{s:f, s:f, s:f, s:f, s:o, s:o, s:o}", "median_ms", s->median, "p90_ms", s->p90,
                     "low_ms", s->low, "high_ms", s->high, "evaluated",
                     c->evaluated[i] < 0 ? json_null() : json_integer(c->evaluated[i]), "of_fresh",
                     json_number(ratio_of(c, i)), "samples_ms", all);
}

static int chat_json(const struct chat *c)
{
    json_t *all = json_object();

    for (int i = 0; i < N_FIGURE; i++)
        json_object_set_new(all, figures[i].field, figure_json(c, i));
    return out_json(json_pack("{s:s, s:s, s:s, s:s, s:i, s:s, s:i, s:i, s:i, s:i, s:I, s:I, s:o}",
                              "model_filename", model_name(c->o->model), "version", carat_version(),
                              "cpu_info", c->host.cpu, "isa", c->plan.isa, "n_threads", c->plan.threads, "kv",
                              c->plan.kv, "n_prompt", c->depth, "n_answer", c->answer, "n_turn", TURN,
                              "repetitions", c->repetitions, "file_bytes", (json_int_t)c->file_bytes,
                              "snapshot_bytes", (json_int_t)c->plan.snapshot_bytes, "figures", all));
}

int bench_timeline(const struct options *o)
{
    struct chat c = {.o = o,
                     .info.size = sizeof c.info,
                     .plan.size = sizeof c.plan,
                     .host.size = sizeof c.host,
                     .repetitions = o->bench->repetitions,
                     .json = o->json || strcmp(o->bench->output, "json") == 0};
    int code = check_timeline(o);

    for (int i = 0; i < N_FIGURE; i++)
        c.evaluated[i] = -1;
    if (code == DONE)
        code = depth_of(options_given(o, &o->bench->n_depth) ? o->bench->n_depth : TIMELINE_DEPTH, &c.depth);
    if (code == DONE) {
        interrupt_install();
        code = open_chat(&c);
    }
    if (code == DONE)
        code = open_file(&c);
    if (code == DONE)
        code = measure_chat(&c);
    if (*c.path) {
        c.file_bytes = size_of_file(c.path);
        unlink(c.path);
    }
    if (code == DONE && c.json)
        code = chat_json(&c);
    else if (code == DONE)
        print_chat(&c);
    for (int i = 0; i < N_FIGURE; i++)
        free(c.sample[i]);
    free(c.ids);
    carat_session_close(c.session);
    carat_engine_close(c.engine);
    carat_model_close(c.model);
    return code;
}

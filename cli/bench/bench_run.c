/* SPDX-License-Identifier: Apache-2.0 */
/* bench_run.c: runs a test: a warm-up, then every repetition, between two measurements of what the machine
 * can do at most. The clock is model/pace.c's. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/alone.h"
#include "bench/bench.h"
#include "bench/bench_options.h"
#include "model/engine.h"
#include "model/model.h"
#include "term/clock.h"
#include "term/interrupt.h"

/* ---- limits ---- */

/* Higher counts: neighbours only ever take away. */
static void keep_higher(carat_limits *best, const carat_limits *other)
{
    best->threads = other->threads;
    best->isa = other->isa;
    best->read = fmax(best->read, other->read);
    for (int a = 0; a < CARAT_N_ARITHMETIC; a++)
        best->operations[a] = fmax(best->operations[a], other->operations[a]);
}

/* Keeps limits for every setting with as many threads. */
static void keep(struct bench *b, const struct setting *s, const carat_limits *found)
{
    for (int i = 0; i < b->n_setting; i++)
        if (b->setting[i].plan.threads == s->plan.threads)
            keep_higher(&b->setting[i].limits, found);
}

/* The name of the GPU in the options. */
static const char *device_name(const struct options *o)
{
    return strcmp(o->engine->device, "auto") == 0 ? "cuda" : o->engine->device;
}

/* Measures what a GPU reads and writes while it copies its memory; nothing is known of its arithmetic. */
static int measure_device(struct bench *b, const struct setting *s)
{
    carat_device found = {.size = sizeof found};
    carat_error err;

    if (carat_get_device(device_name(b->o), 1, &found, &err) != CARAT_OK)
        return fail_status(&err);
    keep(b, s, &(carat_limits){.threads = s->plan.threads, .isa = s->plan.isa, .read = found.copied});
    return DONE;
}

static int measure(struct bench *b, const struct setting *s)
{
    carat_limits found = {.size = sizeof found};
    carat_error err;

    if (*s->device.name)
        return measure_device(b, s);
    if (carat_measure_limits(s->plan.threads, b->o->engine->isa, stop_when_interrupted, NULL, &found, &err) !=
        CARAT_OK)
        return fail_status(&err);
    keep(b, s, &found);
    return DONE;
}

static bool read_all(int fd, void *to, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = read(fd, (char *)to + done, n - done);
        if (got == 0 || (got < 0 && (errno != EINTR || term_interrupted())))
            return false;
        done += got > 0 ? (size_t)got : 0;
    }
    return true;
}

/* In a process of its own, because what measuring reads would be the peak of this one. There are no other
 * threads yet that a fork could leave behind. */
static int measure_apart(struct bench *b, const struct setting *s)
{
    carat_limits found = {.size = sizeof found};
    int ends[2], status;
    pid_t child;
    bool good;

    if (*s->device.name || pipe(ends) != 0)
        return measure(b, s);
    child = fork();
    if (child == 0) {
        good = carat_measure_limits(s->plan.threads, b->o->engine->isa, stop_when_interrupted, NULL, &found,
                                    NULL) == CARAT_OK;
        _exit(good && write(ends[1], &found, sizeof found) == sizeof found ? 0 : 1);
    }
    close(ends[1]);
    good = child > 0 && read_all(ends[0], &found, sizeof found);
    close(ends[0]);
    if (child > 0 && term_interrupted())
        kill(child, SIGKILL); /* the signal may have been for this process alone */
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (!good)
        return measure(b, s); /* it may work here, or say why not */
    keep(b, s, &found);
    return DONE;
}

/* ---- the model ---- */

/* Which device the engine of a setting will have. */
static int find_device(struct bench *b, struct setting *s)
{
    carat_error err;

    s->backend = "CPU";
    if (strcmp(s->plan.isa, "cuda") != 0)
        return DONE;
    s->device.size = sizeof s->device;
    if (carat_get_device(device_name(b->o), 0, &s->device, &err) != CARAT_OK)
        return fail_status(&err);
    s->backend = "CUDA";
    s->free_mb = (double)s->device.free_bytes / 1e6;
    s->total_mb = (double)s->device.total_bytes / 1e6;
    s->gpu_layers = b->info.n_layer;
    return DONE;
}

/* Sets the options for the engine of a setting. */
static int set_options(struct bench *b, const struct setting *s, carat_engine_options *options)
{
    engine_options(options, b->o);
    b->exact = options->exact;
    b->fast8 = options->fast8;
    b->tensor = options->tensor;
    options->threads = s->threads;
    options->chunk = s->chunk;
    options->context = b->longest;
    options->sessions = b->widest;
    return fit_engine(options, b->model, b->o);
}

int bench_open(struct bench *b)
{
    carat_engine_options options;
    double start = term_seconds();
    carat_error err;

    TRY(open_either(&b->model, b->o));
    b->open_seconds = term_seconds() - start;
    if (carat_get_host(&b->host, &err) != CARAT_OK ||
        carat_model_get_info(b->model, &b->info, &err) != CARAT_OK ||
        carat_model_get_load_times(b->model, &b->setup, &err) != CARAT_OK)
        return fail_status(&err);
    for (int i = 0; i < b->n_setting && b->info.kind != CARAT_EMBEDDER; i++) {
        struct setting *s = &b->setting[i];
        TRY(set_options(b, s, &options));
        if (carat_plan_engine(b->model, &options, &s->plan, &err) != CARAT_OK)
            return fail_status(&err);
        TRY(find_device(b, s));
    }
    b->ids = calloc((size_t)b->longest, sizeof *b->ids);
    if (!b->ids)
        return fail_memory();
    random_ids(b->ids, b->longest, &b->info, 1);
    b->pace.ids = b->ids;
    return bench_describe(b);
}

int bench_begin(struct bench *b, struct setting *s)
{
    carat_engine_options options;
    double begun;

    TRY(s->limits.read > 0 ? DONE : measure_apart(b, s));
    TRY(set_options(b, s, &options));
    begun = term_seconds();
    TRY(create_engine(&b->pace.engine, b->model, &options));
    s->engine_seconds = term_seconds() - begun;
    if (s == b->setting)
        b->start_seconds = b->open_seconds + s->engine_seconds;
    return DONE;
}

int bench_end(struct bench *b, struct setting *s)
{
    pace_end(&b->pace);
    carat_engine_close(b->pace.engine);
    b->pace.engine = NULL;
    return measure(b, s);
}

/* ---- a test ---- */

/* Run i of a test, or with -1 the warm-up; with a profile unless that is NULL. */
static int run_once(struct bench *b, struct test *t, int i, carat_profile *profile, double *spent)
{
    const struct stretch stretch = {t->n_prompt, t->n_gen, t->depth, t->parallel};
    struct paced paced;
    carat_error err;

    TRY(pace_begin(&b->pace, &stretch));
    if (profile)
        carat_profile_begin(b->pace.engine);
    TRY(pace_run(&b->pace, &stretch, i >= 0 ? t->step + (size_t)i * (size_t)t->n_gen : NULL, &paced));
    *spent = fmax(paced.prompt + paced.steps, 1e-9);
    if (profile && carat_profile_end(b->pace.engine, profile, &err) != CARAT_OK)
        return fail_status(&err);
    if (i >= 0) {
        t->spent[i] = *spent;
        t->speed[i] = tokens_of(t) / *spent;
        t->first[i] = paced.first;
    }
    return term_interrupted() ? INTERRUPTED : DONE;
}

static int run_all(struct bench *b, struct test *t)
{
    carat_profile profile = {.size = sizeof profile};
    struct load_mark mark;
    double spent;
    int code;

    t->profile.size = sizeof t->profile;
    t->seconds = INFINITY;
    if ((code = run_once(b, t, -1, &t->profile, &spent)) != DONE) /* warm-up */
        return code;
    load_begin(&b->host, &mark);
    for (int i = 0; i < b->o->bench->repetitions; i++) {
        if ((code = run_once(b, t, i, b->o->bench->profile ? &profile : NULL, &spent)) != DONE)
            return code;
        load_frequency(&t->load);
        if (b->o->bench->profile && spent < t->seconds) {
            t->seconds = spent;
            t->profile = profile;
        }
    }
    load_end(&b->host, &mark, &t->load);
    t->peak_rss = peak_rss();
    return DONE;
}

int bench_run(struct bench *b, struct test *t)
{
    int n = b->o->bench->repetitions, n_first = t->n_prompt ? n : 0;
    time_t now = time(NULL);
    struct tm utc;
    int code;

    strftime(t->time, sizeof t->time, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    t->spent = calloc((size_t)n, sizeof *t->spent);
    t->speed = calloc((size_t)n, sizeof *t->speed);
    t->first = calloc((size_t)n, sizeof *t->first);
    t->step = calloc((size_t)n * (size_t)t->n_gen + 1, sizeof *t->step);
    if (!t->spent || !t->speed || !t->first || !t->step)
        return fail_memory();
    code = run_all(b, t);
    progress_end(&b->pace.bar);
    if (code != DONE)
        return code;
    return spread_of(&t->ns, t->spent, n, 1e9) && spread_of(&t->ts, t->speed, n, 1) &&
                   spread_of(&t->first_ms, t->first, n_first, 1e3) &&
                   spread_of(&t->step_ms, t->step, n * t->n_gen, 1e3)
               ? DONE
               : fail_memory();
}

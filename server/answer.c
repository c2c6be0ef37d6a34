/* SPDX-License-Identifier: Apache-2.0 */
/* answer.c: the thread that drives the engine. Each turn is a piece of one prompt and a step of every answer
 * under way; requests join and leave between turns. */
#include <stdlib.h>

#include "ask.h"
#include "places.h"
#include "routes.h"
#include "workers.h"

enum { FEWEST_ROWS = 16, MOST_ROWS = 4096, REST_MS = 10 };

/* The jobs that have their places. */
struct drawing {
    struct server *s;
    struct places places;
    struct job *waiting, **last_waiting; /* first come, first served */
    struct job *reading;                 /* has a place, and its prompt is under way; NULL: none */
    struct job *begun;                   /* linked by next */
    carat_generation **running;          /* [parallel] */
    double rate;                         /* tokens of prompts a millisecond, as measured; 0: not yet */
};

static double now_ms(void)
{
    return (double)uv_hrtime() / 1e6;
}

/* ---- one job ---- */

static void release(struct drawing *d, struct job *job)
{
    for (int i = 0; i < job->ask->n; i++) {
        struct choice *c = &job->ask->choice[i];
        carat_generation_close(c->generation);
        c->generation = NULL;
        if (c->session)
            places_give(&d->places, c->session);
        c->session = NULL;
    }
    atomic_fetch_sub(&d->s->running, 1);
}

static void end_refused(struct drawing *d, struct job *job, const struct refusal *r)
{
    release(d, job);
    if (r)
        job_refuse(job, r);
    job_end(job);
}

static void end_failed(struct drawing *d, struct job *job, const carat_error *err)
{
    struct refusal r = {0};

    if (err->code == CARAT_E_NUMERIC)
        refuse(&r, 500, "model_output_invalid", NULL, "%s", err->message);
    else
        refuse(&r, err->code == CARAT_E_MEMORY ? 503 : 500, NULL, NULL, "%s", err->message);
    end_refused(d, job, &r);
}

static int take_id(void *user, const carat_given *given)
{
    struct choice *c = user;
    struct job *job = c->job;

    uv_mutex_lock(&job->lock);
    job->ask->writer->given(job, c->number, given);
    uv_mutex_unlock(&job->lock);
    atomic_store(&job->silent, false);
    return 0;
}

static carat_status begin_choice(struct drawing *d, struct ask *ask, struct choice *c, carat_error *err)
{
    carat_generation_options options;
    carat_sampling sampling = ask->sampling;
    carat_matcher *matcher = NULL;
    const int positions = ask->prompt.n + ask->max_tokens - 1;
    carat_status status = CARAT_OK;

    if (!c->session)
        status = places_fork(&d->places, ask->choice[0].session, positions, &c->session, err);
    if (status == CARAT_OK && ask->constraint)
        status = carat_matcher_create(&matcher, ask->constraint, err);
    if (status != CARAT_OK)
        return status;
    sampling.number = (uint32_t)c->number;
    sampling.matcher = matcher;
    carat_generation_options_default(&options);
    options.sampling = &sampling;
    options.max_tokens = ask->max_tokens;
    options.on_token = take_id;
    options.user = c;
    options.stops = (const char *const *)ask->stops;
    options.n_stops = ask->n_stops;
    options.logprobs = ask->logprobs;
    options.top_logprobs = ask->top_logprobs;
    options.limits_thought = ask->limits_thought;
    options.thought_budget = ask->thought_budget;
    status = carat_generation_create(&c->generation, c->session, &options, err);
    carat_matcher_close(matcher);
    return status;
}

/* The prompt is evaluated: the answers begin. */
static void begin_answers(struct drawing *d, struct job *job)
{
    struct ask *ask = job->ask;
    carat_error err;

    ask->prompt_ms = now_ms();
    for (int i = 0; i < ask->n; i++)
        if (begin_choice(d, ask, &ask->choice[i], &err) != CARAT_OK) {
            end_failed(d, job, &err);
            return;
        }
    job->next = d->begun;
    d->begun = job;
}

/* ---- waiting ---- */

/* Gives the first one that waits its places. False: it goes on waiting, or nobody does. */
static bool admit(struct drawing *d)
{
    struct job *job = d->waiting;
    carat_error err;

    if (!job || d->places.free < job->ask->n)
        return false;
    const int positions = job->ask->prompt.n + job->ask->max_tokens - 1;
    const carat_status status =
        places_take(&d->places, &job->ask->prompt, positions, &job->ask->choice[0].session, &err);
    if (status == CARAT_E_MEMORY && d->places.free < d->places.n)
        return false;
    d->waiting = job->next;
    if (!d->waiting)
        d->last_waiting = &d->waiting;
    atomic_fetch_sub(&d->s->waiting, 1);
    atomic_fetch_add(&d->s->running, 1);
    job->next = NULL;
    if (status != CARAT_OK) {
        end_failed(d, job, &err);
        return true;
    }
    job->ask->begin_ms = now_ms();
    d->reading = job;
    return true;
}

static void take_new(struct drawing *d, bool waits)
{
    struct job *job;

    while ((job = job_queue_take(&d->s->to_answer, waits)) != NULL) {
        *d->last_waiting = job;
        d->last_waiting = &job->next;
        waits = false;
    }
}

/* Those whose clients have gone, before they have places. */
static void drop_waiting(struct drawing *d)
{
    struct job **at = &d->waiting, *job;

    while ((job = *at) != NULL)
        if (atomic_load(&job->cancelled)) {
            *at = job->next;
            atomic_fetch_sub(&d->s->waiting, 1);
            job_end(job);
        } else
            at = &job->next;
    d->last_waiting = at;
}

/* ---- a turn ---- */

/* Tokens of a prompt in a turn: as many as a quarter of a second has, or a second when nobody else waits for
 * his next token. */
static int piece_rows(const struct drawing *d)
{
    const double rows = d->rate * (d->begun ? 250 : 1000);

    return rows < FEWEST_ROWS ? FEWEST_ROWS : rows > MOST_ROWS ? MOST_ROWS : (int)rows;
}

static void read_piece(struct drawing *d)
{
    struct job *job = d->reading;
    struct ask *ask = job->ask;
    carat_session *session = ask->choice[0].session;
    const int common = held_in_common(session, &ask->prompt), left = ask->prompt.n - common;
    const int rows = piece_rows(d), n = left <= rows ? ask->prompt.n : common + rows;
    const double start = now_ms();
    int reused = 0;
    carat_error err;

    if (atomic_load(&job->cancelled)) { /* what was evaluated stays */
        d->reading = NULL;
        end_refused(d, job, NULL);
        return;
    }
    const carat_status status = carat_sync(session, ask->prompt.ids, n, &reused, &err);
    if (status != CARAT_OK) {
        d->reading = NULL;
        end_failed(d, job, &err);
        return;
    }
    const double ms = now_ms() - start;
    ask->evaluated += n - reused;
    if (n - reused >= FEWEST_ROWS && ms > 0)
        d->rate = d->rate > 0 ? (d->rate + (n - reused) / ms) / 2 : (n - reused) / ms;
    if (n < ask->prompt.n)
        return;
    ask->cached = ask->prompt.n - ask->evaluated;
    d->reading = NULL;
    begin_answers(d, job);
}

static bool owes_too_much(struct job *job)
{
    uv_mutex_lock(&job->lock);
    const bool owes = job->streams && job->out.n > MOST_OWED;
    uv_mutex_unlock(&job->lock);
    return owes;
}

static bool has_ended(const struct choice *c, carat_error *err)
{
    carat_generation_info info;
    carat_generation_info_default(&info);

    err->code = CARAT_OK;
    if (carat_generation_get_info(c->generation, &info, err) != CARAT_OK)
        return true;
    return info.reason != CARAT_REASON_NONE;
}

/* Ends what has ended of a job. True: all of it has, and it is given back. */
static bool settle_job(struct drawing *d, struct job *job)
{
    struct ask *ask = job->ask;
    const carat_model *model = d->s->options->model;
    bool all = true;
    carat_error err;

    for (int i = 0; i < ask->n; i++) {
        struct choice *c = &ask->choice[i];
        if (c->ended || !has_ended(c, &err)) {
            all = all && c->ended;
            continue;
        }
        choice_end(model, ask, c);
        if (c->reason == CARAT_REASON_NUMERIC) {
            err = (carat_error){CARAT_E_NUMERIC, "the model's logits hold NaN or infinity"};
            end_failed(d, job, &err);
            return true;
        }
        uv_mutex_lock(&job->lock);
        if (ask->stream)
            ask->writer->finish(job, i);
        uv_mutex_unlock(&job->lock);
    }
    if (!all)
        return false;
    ask->end_ms = now_ms();
    if (!ask->stream)
        job_begin(job, 200, "application/json", false);
    uv_mutex_lock(&job->lock);
    ask->writer->end(job);
    uv_mutex_unlock(&job->lock);
    release(d, job);
    job_end(job);
    return true;
}

static void step_answers(struct drawing *d)
{
    struct job **at = &d->begun, *job, *next;
    int n = 0;
    carat_error err;

    while ((job = *at) != NULL) {
        if (atomic_load(&job->cancelled)) {
            *at = job->next;
            end_refused(d, job, NULL);
            continue;
        }
        const bool rests = owes_too_much(job);
        for (int i = 0; i < job->ask->n && !rests; i++)
            if (!job->ask->choice[i].ended)
                d->running[n++] = job->ask->choice[i].generation;
        at = &job->next;
    }
    if (n == 0) {
        if (d->begun && !d->reading) /* all of them wait for slow readers */
            uv_sleep(REST_MS);
        return;
    }
    (void)carat_generation_step(d->s->options->engine, d->running, n, &err); /* each knows why it ended */
    struct job *all = d->begun;
    d->begun = NULL;
    for (job = all; job; job = next) {
        next = job->next;
        if (!settle_job(d, job)) {
            job->next = d->begun;
            d->begun = job;
        }
    }
    uv_async_send(&d->s->wake);
}

void answer_jobs(void *server)
{
    struct drawing d = {.s = server};
    struct server *s = server;

    d.last_waiting = &d.waiting;
    d.running = calloc((size_t)s->options->parallel, sizeof(*d.running));
    if (!d.running || places_open(&d.places, s->options->engine, s->options->parallel) != 0) {
        free(d.running);
        return;
    }
    for (;;) {
        const bool idle = !d.waiting && !d.reading && !d.begun;
        take_new(&d, idle);
        if (idle && !d.waiting)
            break; /* the queue is closed */
        drop_waiting(&d);
        while (!d.reading && admit(&d))
            ;
        if (d.reading)
            read_piece(&d);
        step_answers(&d);
    }
    places_close(&d.places);
    free(d.running);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* answer.c: the thread that drives the engine. Each turn is one pass: an id of every answer under way, and
 * pieces of prompts, of those that came first; requests join and leave between turns. */
#include <stdlib.h>

#include "request.h"
#include "base/base.h"
#include "explain.h"
#include "prompt_list.h"
#include "pace.h"
#include "slots.h"
#include "receipts.h"
#include "routes.h"
#include "scores.h"
#include "workers.h"

enum { FEWEST_ROWS = 16, MOST_ROWS = 4096, REST_MS = 10 };

/* The jobs that have their places. */
struct drawing {
    struct server *s;
    bool scores;                         /* a prompt was scored in this turn */
    bool is_full;                        /* somebody got no place or memory, and none was given back since */
    struct job *waiting, **last_waiting; /* first come, first served */
    struct job *begun;                   /* linked by next, in the order in which they got their places */
    carat_generation **running;          /* [parallel] */
    struct pace pace;
    int given, read; /* ids, and tokens of prompts, in this turn */
};

static double now_ms(void)
{
    return (double)uv_hrtime() / 1e6;
}

/* ---- one job ---- */

static void give_place(struct drawing *d, struct choice *c)
{
    carat_generation_close(c->generation);
    c->generation = NULL;
    if (c->session)
        d->is_full = false;
    slot_give(&c->session);
}

static void give_places(struct drawing *d, struct request *request)
{
    for (int i = 0; i < request->n; i++)
        give_place(d, &request->choice[i]);
}

static void end_refused(struct drawing *d, struct job *job, const struct refusal *r)
{
    give_places(d, job->request);
    atomic_fetch_sub(&d->s->running, 1);
    atomic_fetch_sub(&d->s->taken, job->request->n);
    if (r)
        job_refuse(job, r);
    job_end(job);
}

static void end_failed(struct drawing *d, struct job *job, const carat_error *err)
{
    struct refusal r = {0};

    if (err->code == CARAT_E_NUMERIC)
        server_refuse(&r, 500, "model_output_invalid", NULL, "model_output_invalid: %s", refusal_says(err));
    else if (err->code == CARAT_E_ARGUMENT) /* a form that needs more ids, or a draw without one */
        server_refuse(&r, 400, NULL, NULL, "%s", refusal_says(err));
    else
        server_refuse(&r, err->code == CARAT_E_MEMORY ? 503 : 500, NULL, NULL, "%s", refusal_says(err));
    end_refused(d, job, &r);
}

/* So much of the prompt is evaluated. */
static void tell_progress(struct job *job, int evaluated)
{
    struct request *request = job->request;

    if (!request->course.progress || evaluated <= request->course.progressed)
        return;
    request->course.progressed = evaluated;
    uv_mutex_lock(&job->lock);
    request->course.progress(job, evaluated, (int64_t)(now_ms() - request->course.begin_ms));
    uv_mutex_unlock(&job->lock);
}

static int take_id(void *user, const carat_given *given)
{
    struct choice *c = user;
    struct job *job = c->job;

    tell_progress(job, job->request->prompt.n);
    uv_mutex_lock(&job->lock);
    job->request->writer->given(job, c->number, given);
    uv_mutex_unlock(&job->lock);
    atomic_store(&job->silent, false);
    return 0;
}

/* A generation in the session of a choice. */
static carat_status begin_drawing(const struct request *request, struct choice *c, carat_error *err)
{
    carat_generation_options options;
    carat_sampling sampling = request->sampling;
    carat_matcher *matcher = NULL;

    carat_generation_options_default(&options);
    options.max_tokens = request->max_tokens;
    if (request->evaluates)
        return carat_generation_create(&c->generation, c->session, &options, err);
    if (request->constraint && carat_matcher_create(&matcher, request->constraint, err) != CARAT_OK)
        return CARAT_E_MEMORY;
    sampling.number = (uint32_t)c->number;
    sampling.matcher = matcher;
    options.sampling = &sampling;
    options.on_token = take_id;
    options.user = c;
    options.stops = (const char *const *)request->stops;
    options.n_stops = request->n_stops;
    options.stop_ids = request->extra.n_stop_ids ? request->extra.stop_ids : NULL;
    options.n_stop_ids = request->extra.n_stop_ids;
    options.min_tokens =
        CT_MIN(request->extra.min_tokens, request->max_tokens); /* which the context may have cut */
    options.logprobs = request->logprobs;
    options.top_logprobs = request->top_logprobs;
    options.limits_thought = request->extra.limits_thought;
    options.thought_budget = request->extra.thought_budget;
    carat_status status = carat_generation_create(&c->generation, c->session, &options, err);
    carat_matcher_close(matcher);
    return status == CARAT_OK ? receipt_begin(request, c, err) : status;
}

/* A generation with the prompt, of which *cached tokens are there. */
static carat_status begin_prompt(carat_engine *engine, const struct request *request, struct choice *c,
                                 int *cached, carat_error *err)
{
    carat_prompt prompt;
    carat_status status = begin_drawing(request, c, err);

    carat_prompt_default(&prompt);
    prompt.ids = request->prompt.ids;
    prompt.n = request->prompt.n;
    prompt.marks = request->begins.ids;
    prompt.n_marks = request->begins.n;
    if (status == CARAT_OK)
        status = carat_generation_prompt(c->generation, &prompt, cached, err);
    if (status == CARAT_OK &&
        request->constraint) /* a form that is too long for it would end a pass of all */
        status = carat_generation_pass(engine, &c->generation, 1, 0, err);
    c->prompt_left = request->prompt.n - *cached;
    return status;
}

/* The first of the answers gets the prompt, and then what it lacks of memory; the others, which begin when it
 * is evaluated, get theirs now. is_short: what was remembered of the prompt may go for it. */
static carat_status begin_job(struct drawing *d, struct request *request, bool is_short, carat_error *err)
{
    carat_engine *engine = d->s->options->engine;
    const int positions = request_positions(request), behind = slot_behind(request->prompt.n, positions);
    struct choice *first = &request->choice[0];
    const bool scores = request_waits_for_scores(request), reserves = is_short || scores;
    carat_status status = slot_take(engine, reserves ? positions : 0, &first->session, err);

    request->course.cached = 0;
    first->prompt_left = request->prompt.n;
    if (status == CARAT_OK && !reserves)
        status = begin_prompt(engine, request, first, &request->course.cached, err);
    if (status == CARAT_OK && !reserves)
        status = carat_reserve(first->session, positions, err);
    for (int i = 1; i < request->n && status == CARAT_OK; i++)
        status = slot_take(engine, behind, &request->choice[i].session, err);
    if (status == CARAT_OK && is_short && !scores)
        status = begin_prompt(engine, request, first, &request->course.cached, err);
    request->course.evaluated = request->prompt.n - request->course.cached;
    request->course.begin_ms = now_ms();
    return status;
}

/* A further answer begins with what the first one holds, which is the prompt and its logits. */
static carat_status begin_fork(struct drawing *d, struct request *request, struct choice *c, carat_error *err)
{
    const int positions = request_positions(request), behind = slot_behind(request->prompt.n, positions);

    if (slot_fork(request->choice[0].session, positions, &c->session, err) == CARAT_OK)
        return begin_drawing(request, c, err);
    /* the copy of a block that both write on has no room now */
    (void)slot_take(d->s->options->engine, behind, &c->session, NULL);
    return CARAT_E_MEMORY;
}

/* It begins when others have given memory back, with what there still is of the prompt. */
static carat_status begin_late(struct drawing *d, const struct request *request, struct choice *c,
                               carat_error *err)
{
    const int positions = request_positions(request);
    int cached = 0;
    const carat_status status = c->session ? carat_reserve(c->session, positions, err)
                                           : slot_take(d->s->options->engine, positions, &c->session, err);

    return status == CARAT_OK ? begin_prompt(d->s->options->engine, request, c, &cached, err) : status;
}

/* ---- waiting ---- */

/* Answers that have a generation, or those that wait for memory since their prompts are evaluated. */
static int count_answers(const struct drawing *d, bool have_one)
{
    int n = 0;

    for (const struct job *job = d->begun; job; job = job->next)
        for (int i = 0; i < job->request->n; i++) {
            const struct choice *c = &job->request->choice[i];
            n += have_one ? c->generation != NULL
                          : !c->generation && !c->ended && job->request->course.prompt_ms > 0;
        }
    return n;
}

/* Gives the first one that waits its places. False: it goes on waiting, or nobody does. */
static bool admit(struct drawing *d)
{
    struct job *job = d->waiting;
    carat_error err;

    if (!job || d->is_full || count_answers(d, false) > 0)
        return false;
    carat_status status = begin_job(d, job->request, false, &err);
    if (status == CARAT_E_MEMORY) {
        give_places(d, job->request);
        if (d->begun) {
            d->is_full = true;
            return false;
        }
        status = begin_job(d, job->request, true, &err);
    }
    d->waiting = job->next;
    if (!d->waiting)
        d->last_waiting = &d->waiting;
    atomic_fetch_sub(&d->s->waiting, 1);
    atomic_fetch_add(&d->s->running, 1);
    atomic_fetch_add(&d->s->taken, job->request->n);
    job->next = NULL;
    if (status != CARAT_OK) {
        end_failed(d, job, &err);
        return true;
    }
    struct job **last = &d->begun;
    while (*last)
        last = &(*last)->next;
    *last = job;
    return true;
}

static void add_waiting(struct drawing *d, struct job *job)
{
    *d->last_waiting = job;
    d->last_waiting = &job->next;
}

/* False: nothing came. */
static bool take_new(struct drawing *d, bool waits)
{
    bool any = false;
    struct job *job;

    while ((job = job_queue_take(&d->s->to_answer, waits && !any)) != NULL) {
        if (job->request->explained)
            explain_look_up(job);
        else
            add_waiting(d, job);
        any = true;
    }
    return any;
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

/* Tokens of prompts in a turn: as many as a quarter of a second has, or a second when nobody else waits for
 * his next token. */
static int piece_rows(const struct drawing *d, bool alone)
{
    const double rows = d->pace.prompt * (alone ? 1000 : 250);

    return rows < FEWEST_ROWS ? FEWEST_ROWS : rows > MOST_ROWS ? MOST_ROWS : (int)rows;
}

static bool owes_too_much(struct job *job)
{
    uv_mutex_lock(&job->lock);
    const bool owes = job->streams && job->out.n > MOST_OWED;
    uv_mutex_unlock(&job->lock);
    return owes;
}

/* What a pass has made of a choice. failed: the error of the pass. A choice that was due and did not move has
 * it, unless the error is NaN in the logits of another choice: then the next pass fails by the error of this
 * one. True: the choice has ended. */
static bool inspect_at(struct drawing *d, struct choice *c, const carat_error *failed, carat_error *err)
{
    carat_generation_info info;
    carat_generation_info_default(&info);

    err->code = CARAT_OK;
    if (carat_generation_get_info(c->generation, &info, err) != CARAT_OK)
        return true;
    const bool moved = info.given != c->seen_given || info.prompt_left != c->prompt_left;
    d->given += info.given - c->seen_given;
    if (info.reason != CARAT_REASON_NUMERIC) /* then nothing is left, whatever was read */
        d->read += c->prompt_left - info.prompt_left;
    c->seen_given = info.given;
    c->prompt_left = info.prompt_left;
    if (info.reason == CARAT_REASON_NUMERIC)
        *err = (carat_error){CARAT_E_NUMERIC, "the model's logits hold NaN or infinity"};
    else if (info.reason == CARAT_REASON_NONE && c->is_due && !moved && failed->code != CARAT_E_NUMERIC)
        *err = *failed; /* may be none */
    return info.reason != CARAT_REASON_NONE || err->code != CARAT_OK;
}

/* The prompt is evaluated: the other answers begin, or wait until others have given memory back. False: the
 * job has failed, and is given back. */
static bool begin_others(struct drawing *d, struct job *job)
{
    struct request *request = job->request;
    const bool at_once = request->course.prompt_ms == 0;
    carat_error err;

    if (at_once)
        request->course.prompt_ms = now_ms();
    for (int i = 1; i < request->n && !d->is_full; i++) {
        struct choice *c = &request->choice[i];
        if (c->generation || c->ended)
            continue;
        const carat_status status =
            at_once ? begin_fork(d, request, c, &err) : begin_late(d, request, c, &err);
        if (status == CARAT_E_MEMORY && count_answers(d, true) > 0)
            d->is_full = true;
        else if (status != CARAT_OK) {
            end_failed(d, job, &err);
            return false;
        }
    }
    return true;
}

/* All answers to a prompt have ended. The next prompt of a list waits for its turn. */
static void end_whole(struct drawing *d, struct job *job)
{
    struct request *request = job->request;

    request->course.end_ms = now_ms();
    if (!request->stream && request_is_last(request))
        job_begin(job, 200, "application/json", false);
    uv_mutex_lock(&job->lock);
    request->writer->end(job);
    uv_mutex_unlock(&job->lock);
    atomic_fetch_sub(&d->s->running, 1);
    atomic_fetch_sub(&d->s->taken, request->n);
    if (request_next(request)) {
        job->next = NULL;
        atomic_fetch_add(&d->s->waiting, 1);
        add_waiting(d, job);
    } else
        job_end(job);
}

/* A piece of a prompt that is scored; behind the last one the prompt goes on as others do. False: the job has
 * failed, and is given back. */
static bool settle_scores(struct drawing *d, struct job *job)
{
    struct request *request = job->request;
    carat_status status = CARAT_OK;
    carat_error err;
    int cached;

    if (d->scores)
        return true;
    d->scores = true;
    if (!request_is_scored(request)) {
        const double start = now_ms();
        const int before = request->course.scored;
        status = request_score(request, piece_rows(d, false), &err);
        pace_prompt(&d->pace, request->course.scored - before, now_ms() - start);
    }
    if (status == CARAT_OK && request_is_scored(request) && request->max_tokens > 0)
        status = begin_prompt(d->s->options->engine, request, &request->choice[0], &cached, &err);
    if (status == CARAT_OK)
        return true;
    end_failed(d, job, &err);
    return false;
}

/* Nothing is drawn behind the prompt: its answers have ended. */
static void end_undrawn(struct job *job)
{
    struct request *request = job->request;

    request->course.prompt_ms = now_ms();
    for (int i = 0; i < request->n; i++) {
        request->choice[i].ended = true;
        request->choice[i].reason = CARAT_REASON_LENGTH;
        uv_mutex_lock(&job->lock);
        if (request->stream)
            request->writer->finish(job, i);
        uv_mutex_unlock(&job->lock);
    }
}

/* Looks what a pass has made of a job. False: it is given back. */
static bool settle_job(struct drawing *d, struct job *job, const carat_error *failed)
{
    struct request *request = job->request;
    bool all = true;
    carat_error err;

    if (request_waits_for_scores(request) && request->course.prompt_ms == 0 &&
        !request->choice[0].generation) {
        if (!settle_scores(d, job))
            return false;
        if (request_is_scored(request) && request->max_tokens == 0)
            end_undrawn(job);
    }
    for (int i = 0; i < request->n; i++) {
        struct choice *c = &request->choice[i];
        if (c->ended || !c->generation || !inspect_at(d, c, failed, &err)) {
            all = all && c->ended;
            continue;
        }
        if (err.code != CARAT_OK) {
            end_failed(d, job, &err);
            return false;
        }
        choice_end(d->s->options->model, request, c);
        pace_length(&d->pace, c->given);
        uv_mutex_lock(&job->lock);
        if (request->stream)
            request->writer->finish(job, i);
        uv_mutex_unlock(&job->lock);
    }
    tell_progress(job, request->prompt.n - request->choice[0].prompt_left);
    if (request->course.prompt_ms == 0 && request->choice[0].prompt_left == 0 && !begin_others(d, job))
        return false;
    for (int i = 0; i < request->n; i++)
        if (request->choice[i].ended)
            give_place(d, &request->choice[i]);
    if (request->course.prompt_ms > 0 && !begin_others(d, job))
        return false;
    if (all)
        end_whole(d, job);
    return !all;
}

static bool anyone_is_scored(const struct drawing *d)
{
    const struct job *job = d->begun;

    while (job && !(request_waits_for_scores(job->request) && job->request->course.prompt_ms == 0))
        job = job->next;
    return job != NULL;
}

/* Puts those that want a token, or have a prompt to be evaluated, into d->running. Returns their number. Due
 * are those that move in any pass that does not fail: of prompts the first. One behind it that fails is told
 * so when it has become the first, unless there is memory again by then. */
static int gather(struct drawing *d, bool *reads)
{
    struct job **at = &d->begun, *job;
    int n = 0;

    *reads = false;
    while ((job = *at) != NULL) {
        if (atomic_load(&job->cancelled)) { /* what was evaluated stays */
            *at = job->next;
            end_refused(d, job, NULL);
            continue;
        }
        const bool rests = owes_too_much(job);
        for (int i = 0; i < job->request->n; i++) {
            struct choice *c = &job->request->choice[i];
            c->is_due = false;
            if (rests || c->ended || !c->generation)
                continue;
            c->is_due = c->prompt_left == 0 || !*reads;
            *reads |= c->prompt_left > 0;
            d->running[n++] = c->generation;
        }
        at = &job->next;
    }
    return n;
}

static void pass(struct drawing *d)
{
    struct job **at, *job, *next;
    bool reads;
    carat_error err = {CARAT_OK, ""};
    const int n = gather(d, &reads);

    if (!d->begun)
        return;
    const double start = now_ms();
    carat_status status = CARAT_OK;
    d->scores = false;
    d->given = d->read = 0;
    if (n > 0)
        status = carat_generation_pass(d->s->options->engine, d->running, n, piece_rows(d, n == 1), &err);
    else if (!anyone_is_scored(d))
        uv_sleep(REST_MS); /* all of them wait for slow readers, or for memory that is free by now */
    const double ms = now_ms() - start;
    if (status == CARAT_OK)
        err.code = CARAT_OK;
    at = &d->begun;
    for (job = d->begun; job; job = next) {
        next = job->next;
        *at = job;
        if (settle_job(d, job, &err))
            at = &job->next;
    }
    *at = NULL;
    if (reads)
        pace_prompt(&d->pace, d->read, ms);
    else
        pace_drawn(&d->pace, d->given, ms);
    uv_async_send(&d->s->wake);
}

static void add_load(const struct drawing *d, const struct job *job, bool waits, struct load *load)
{
    for (; job; job = job->next)
        for (int i = 0; i < job->request->n; i++) {
            const struct choice *c = &job->request->choice[i];
            const int prompt = i > 0 ? 0 : waits ? job->request->prompt.n : c->prompt_left;
            if (!c->ended)
                pace_add(&d->pace, load, prompt, job->request->max_tokens - c->given, waits);
        }
}

/* What others may know of the engine without waiting for its passes. */
static void tell_engine(const struct drawing *d)
{
    carat_use use;
    struct load load = {0};
    carat_use_default(&use);

    add_load(d, d->begun, false, &load);
    add_load(d, d->waiting, true, &load);
    atomic_store(&d->s->wait_ms, (int)pace_wait_ms(&d->pace, &load, d->s->options->parallel));
    if (carat_engine_use(d->s->options->engine, &use, NULL) != CARAT_OK)
        return;
    atomic_store(&d->s->blocks, use.blocks);
    atomic_store(&d->s->blocks_free, use.free);
    atomic_store(&d->s->blocks_cached, use.cached);
    atomic_store(&d->s->prompt_rate, (int)(d->pace.prompt * 1e3));
}

void answer_jobs(void *server)
{
    struct drawing d = {.s = server};
    struct server *s = server;

    d.last_waiting = &d.waiting;
    d.running = calloc((size_t)s->options->parallel, sizeof(*d.running));
    if (!d.running)
        return;
    for (;;) {
        tell_engine(&d);
        const bool idle = !d.waiting && !d.begun;
        if (!take_new(&d, idle) && idle)
            break; /* the queue is closed */
        drop_waiting(&d);
        while (admit(&d))
            ;
        pass(&d);
    }
    free(d.running);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* vectors.c: texts on their way to vectors, and the thread that drives the engine of an embedding model: a
 * few texts of one request, then a few of the next. What fields say is left to the surfaces. */
#include "vectors.h"

#include <stdlib.h>

#include "request.h"
#include "base/utf8.h"
#include "pace.h"
#include "workers.h"

/* Texts of a call, and tokens of all but the last: as many as a pass has. */
enum { MOST_CALL = 64, MOST_CALL_TOKENS = 1024 };

/* ---- what is asked for ---- */

static bool refuse_texts(struct document *d)
{
    return server_refuse(d->r, 503, NULL, NULL, "there is no memory for the texts");
}

bool vectors_begin(struct document *d, struct job *job, const struct vector_writer *writer, size_t n,
                   int64_t dimensions)
{
    const struct server *s = job->server;
    const int width = s->embedder.width;
    struct vectors *v;

    if (s->info.kind != CARAT_EMBEDDER)
        return server_refuse(d->r, 400, "model_not_supported", "model",
                             "%s gives no vectors: `carat embed` and `carat serve` do, of an embedding model",
                             s->options->name);
    if (n > MOST_TEXTS)
        return server_refuse(d->r, 400, NULL, "input", "input has %zu elements, expected at most %d", n,
                             MOST_TEXTS);
    if (dimensions > width)
        return server_refuse(d->r, 400, NULL, "dimensions",
                             "dimensions is %d, expected 1 to %d, the values of a vector of this model",
                             (int)CT_MIN(dimensions, INT32_MAX), width);
    if (!(v = job->request->vectors = calloc(1, sizeof *v)))
        return refuse_texts(d);
    v->writer = writer;
    v->dim = dimensions ? (int)dimensions : width;
    v->values = malloc(MOST_CALL * (size_t)v->dim * sizeof *v->values);
    return v->values || refuse_texts(d);
}

/* The ids from `at` on are a text of their own. */
static bool end_text(struct document *d, struct job *job, const char *param, int at, bool truncate)
{
    struct vectors *v = job->request->vectors;
    const int most = job->server->context;
    carat_embed_input input = {.n = v->ids.n - at};

    if (input.n > most && truncate) {
        v->ids.ids[at + most - 1] = v->ids.ids[v->ids.n - 1]; /* <eos> stays the last */
        input.n = most;
        v->ids.n = at + most;
    } else if (input.n > most) {
        d->r->n_prompt = input.n;
        d->r->n_context = most;
        return server_refuse(d->r, 400, "context_length_exceeded", param,
                             "%s has %d tokens, expected at most %d", param, input.n, most);
    }
    if (v->ids.n > MOST_TEXT_TOKENS)
        return server_refuse(d->r, 400, NULL, param, "the texts up to %s have %d tokens, expected at most %d",
                             param, v->ids.n, MOST_TEXT_TOKENS);
    buffer_put(&v->inputs, &input, sizeof input);
    v->n++;
    return !v->inputs.failed || refuse_texts(d);
}

bool vectors_add_text(struct document *d, struct job *job, const char *param, struct ct_str text,
                      carat_task task, const char *title, bool truncate)
{
    struct vectors *v = job->request->vectors;
    const struct server *s = job->server;
    const int at = v->ids.n;
    carat_error err;

    if (!truncate && text.n > (size_t)s->context * s->longest_text) /* no spelling of it is short enough */
        return server_refuse(d->r, 400, "context_length_exceeded", param,
                             "%s has %zu bytes, which are more than %d tokens", param, text.n, s->context);
    if (carat_embed_tokenize(s->options->model, task, title, text.s, text.n, &v->ids, &err) != CARAT_OK)
        return server_refuse(d->r, err.code == CARAT_E_MEMORY ? 503 : 400, NULL, param, "%s: %s", param,
                             refusal_says(&err));
    return end_text(d, job, param, at, truncate);
}

bool vectors_add_ids(struct document *d, struct job *job, const char *param, const struct ct_json_value *ids)
{
    struct vectors *v = job->request->vectors;
    const int at = v->ids.n, n = (int)ct_json_count(ids);

    if (n == 0)
        return server_refuse(d->r, 400, NULL, param, "%s has no ids", param);
    if (v->ids.n + n > v->ids.capacity) {
        const int capacity = 2 * (v->ids.n + n);
        int32_t *more = realloc(v->ids.ids, (size_t)capacity * sizeof *more);
        if (!more)
            return refuse_texts(d);
        v->ids.ids = more;
        v->ids.capacity = capacity;
    }
    CT_JSON_EACH(one, ids)
    {
        int64_t id;
        if (!ct_json_is(one, CT_JSON_NUMBER) || !ct_json_integer(one, &id) || id < 0 ||
            id >= job->server->info.n_text_vocab)
            return field_refuse(d, param, one, "expected ids from 0 to %d",
                                job->server->info.n_text_vocab - 1);
        v->ids.ids[v->ids.n++] = (int32_t)id;
    }
    return end_text(d, job, param, at, false);
}

void vectors_end(struct job *job)
{
    struct vectors *v = job->request->vectors;
    carat_embed_input *input = (carat_embed_input *)(void *)v->inputs.data;
    const int32_t *ids = v->ids.ids;

    for (int i = 0; i < v->n; i++) {
        input[i].tokens = ids;
        ids += input[i].n;
    }
    v->left = v->ids.n;
}

size_t vectors_bytes(const struct vectors *v)
{
    return (size_t)v->ids.n * sizeof *v->ids.ids + v->inputs.n +
           MOST_CALL * (size_t)v->dim * sizeof *v->values;
}

/* ---- the engine ---- */

/* The jobs of the thread. */
struct embedding {
    struct server *s;
    struct job *begun, **last_begun;     /* in turn */
    struct job *waiting, **last_waiting; /* first come, first served */
    struct pace pace;
};

static double now_ms(void)
{
    return (double)uv_hrtime() / 1e6;
}

static int is_cancelled(void *user, size_t done, size_t total)
{
    const struct job *job = user;

    (void)done;
    (void)total;
    return atomic_load(&job->cancelled);
}

/* The vectors of the texts that come next. */
static carat_status embed_some(struct embedding *e, struct job *job, carat_error *err)
{
    struct vectors *v = job->request->vectors;
    carat_embed_input *input = (carat_embed_input *)(void *)v->inputs.data + v->done;
    carat_embed_options options;
    int n = 0, tokens = 0;

    for (; v->done + n < v->n && n < MOST_CALL && tokens < MOST_CALL_TOKENS; n++) {
        tokens += input[n].n;
        input[n].vector = v->values + (size_t)n * (size_t)v->dim;
    }
    if (n == 0)
        return CARAT_OK;
    carat_embed_options_default(&options);
    options.dim = v->dim;
    options.watch = is_cancelled;
    options.user = job;
    const double start = now_ms();
    const carat_status status = carat_embed(e->s->options->engine, input, sizeof *input, n, &options, err);
    if (status == CARAT_OK)
        pace_prompt(&e->pace, tokens, now_ms() - start);
    v->left -= tokens;
    for (int i = 0; i < n && status == CARAT_OK; i++, v->done++) {
        buffer_text(&v->told, v->done ? "," : "");
        v->writer->put(&v->told, input[i].vector, v->dim, v->done);
    }
    return status;
}

static void end_embedded(struct server *s, struct job *job, const carat_error *err)
{
    struct refusal r = {0};
    struct vectors *v = job->request->vectors;

    v->end_ms = now_ms();
    if (err->code == CARAT_E_NUMERIC)
        server_refuse(&r, 500, "model_output_invalid", NULL, "%s", refusal_says(err));
    else if (err->code != CARAT_OK || v->told.failed)
        server_refuse(&r, err->code == CARAT_E_MEMORY || v->told.failed ? 503 : 500, NULL, NULL, "%s",
                      err->code ? refusal_says(err) : "there is no memory for the vectors");
    if (r.status)
        job_refuse(job, &r);
    else {
        job_begin(job, 200, "application/json", false);
        uv_mutex_lock(&job->lock);
        v->writer->end(job);
        uv_mutex_unlock(&job->lock);
    }
    atomic_fetch_sub(&s->running, 1);
    job_end(job);
}

static void add_job(struct job ***last, struct job *job)
{
    **last = job;
    *last = &job->next;
}

static struct job *take_first(struct job **first, struct job ***last)
{
    struct job *job = *first;

    *first = job->next;
    job->next = NULL;
    if (!*first)
        *last = first;
    return job;
}

/* Takes what came, and begins as many as there are places for. */
static void begin_jobs(struct embedding *e)
{
    struct server *s = e->s;
    struct job *job;

    while ((job = job_queue_take(&s->to_answer, !e->begun && !e->waiting)) != NULL)
        add_job(&e->last_waiting, job);
    while (e->waiting && atomic_load(&s->running) < s->options->parallel) {
        job = take_first(&e->waiting, &e->last_waiting);
        atomic_fetch_sub(&s->waiting, 1);
        atomic_fetch_add(&s->running, 1);
        job->request->vectors->begin_ms = now_ms();
        add_job(&e->last_begun, job);
    }
}

static void add_load(const struct pace *pace, const struct job *job, bool waits, struct load *load)
{
    for (; job; job = job->next)
        pace_add(pace, load, job->request->vectors->left, 0, waits);
}

/* What others may know without waiting. */
static void tell_pace(const struct embedding *e)
{
    struct load load = {0};

    add_load(&e->pace, e->begun, false, &load);
    add_load(&e->pace, e->waiting, true, &load);
    atomic_store(&e->s->wait_ms, (int)pace_wait_ms(&e->pace, &load, e->s->options->parallel));
    atomic_store(&e->s->prompt_rate, (int)(e->pace.prompt * 1e3));
}

void embed_jobs(void *server)
{
    struct embedding e = {.s = server};

    e.last_begun = &e.begun;
    e.last_waiting = &e.waiting;
    for (;;) {
        tell_pace(&e);
        begin_jobs(&e);
        if (!e.begun)
            return; /* the queue is closed */
        tell_pace(&e);
        struct job *job = take_first(&e.begun, &e.last_begun);
        carat_error err = {CARAT_OK, ""};
        const struct vectors *v = job->request->vectors;
        if (embed_some(&e, job, &err) == CARAT_OK && v->done < v->n && !v->told.failed)
            add_job(&e.last_begun, job);
        else
            end_embedded(e.s, job, &err);
    }
}

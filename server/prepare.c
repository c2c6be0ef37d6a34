/* SPDX-License-Identifier: Apache-2.0 */
/* prepare.c: the threads that read bodies, render, tokenise and compile forms. What they refuse never reaches
 * the engine. */
#include <stdlib.h>
#include <time.h>

#include "request.h"
#include "explain.h"
#include "slots.h"
#include "routes.h"
#include "workers.h"

enum { LONG_NS = 2000000 };

static struct request *new_request(struct server *s, const struct job *job)
{
    struct request *request = calloc(1, sizeof *request);

    if (!request)
        return NULL;
    request->call_start = s->call_start;
    request->own_form.cancelled = &job->cancelled;
    request->course.created = (int64_t)time(NULL);
    return request;
}

/* Whether a prepared request can get what it may need, and in time. */
static bool has_room(const struct server *s, const struct job *job, struct refusal *r)
{
    if (job->request->explained) /* it needs no place */
        return true;
    const int blocks = slots_blocks(job->request), seconds = atomic_load(&s->wait_ms) / 1000;

    if (blocks > s->blocks_in_all)
        return server_refuse(
            r, 400, NULL, "max_tokens",
            "%d positions may be needed, and there is memory for %d in all (--kv-memory): give a "
            "smaller max_tokens, or fewer answers",
            blocks * SLOT_BLOCK, s->blocks_in_all * SLOT_BLOCK);
    return seconds < s->options->most.wait ||
           server_refuse(r, job->surface->busy, "queue_full", NULL,
                         "it would be about %d seconds until this request has a place, expected less than %d",
                         seconds, s->options->most.wait);
}

static void end_prepared(struct server *s, struct job *job)
{
    atomic_fetch_sub(&s->waiting, 1);
    job_end(job);
}

static void prepare_job(struct server *s, struct job *job)
{
    struct refusal r = {0};

    if (job->request) { /* it has been looked up */
        explain_end(job);
        end_prepared(s, job);
        return;
    }
    if (!(job->request = new_request(s, job)))
        server_refuse(&r, 503, NULL, NULL, "there is no memory for the request");
    if (r.status || !job->route->prepare(job, &r) || !has_room(s, job, &r) || atomic_load(&job->cancelled)) {
        if (r.status)
            job_refuse(job, &r);
        end_prepared(s, job);
        return;
    }
    for (int i = 0; i < job->request->n; i++) {
        job->request->choice[i].job = job;
        job->request->choice[i].number = i;
    }
    job_free_body(job); /* all of it is in the request */
    if (job->request->stream && !job->request->explained) {
        job_begin(job, 200, job->surface->stream_type, true);
        uv_mutex_lock(&job->lock);
        job->request->writer->begin(job);
        uv_mutex_unlock(&job->lock);
        job_wake(job);
    }
    job_queue_put(&s->to_answer, job);
}

/* ---- the desk ---- */

int desk_open(struct desk *desk)
{
    *desk = (struct desk){0};
    if (uv_mutex_init(&desk->lock) != 0)
        return -1;
    if (uv_cond_init(&desk->changed) == 0)
        return 0;
    uv_mutex_destroy(&desk->lock);
    return -1;
}

void desk_free(struct desk *desk)
{
    uv_mutex_destroy(&desk->lock);
    uv_cond_destroy(&desk->changed);
}

/* Waits until nobody is at the desk, or whoever is has had a request for longer than that; the lock is held.
 * So requests go on in the order in which they come, and none waits for one that takes long. */
static void desk_take(struct desk *desk, uint64_t *turn)
{
    while (desk->is_taken && desk->turn != *turn) {
        const uint64_t now = uv_hrtime();
        if (!desk->since)
            uv_cond_wait(&desk->changed, &desk->lock);
        else if (now - desk->since < LONG_NS)
            uv_cond_timedwait(&desk->changed, &desk->lock, LONG_NS - (now - desk->since));
        else
            break;
    }
    if (!desk->is_taken || desk->turn != *turn)
        *turn = ++desk->turn;
    desk->is_taken = true;
    desk->since = 0;
}

static void desk_leave(struct desk *desk, uint64_t turn)
{
    if (desk->turn == turn)
        desk->is_taken = false;
    uv_cond_broadcast(&desk->changed);
}

static void prepare_jobs(void *server);

/* The lock is held. */
static bool start_thread(struct server *s)
{
    struct desk *desk = &s->desk;

    if (desk->n == MOST_PREPARING || uv_thread_create(&desk->thread[desk->n], prepare_jobs, s) != 0)
        return false;
    desk->n++;
    desk->n_free++;
    return true;
}

static void prepare_jobs(void *server)
{
    struct server *s = server;
    struct desk *desk = &s->desk;
    uint64_t turn = 0;

    for (;;) {
        uv_mutex_lock(&desk->lock);
        desk_take(desk, &turn);
        uv_mutex_unlock(&desk->lock);
        struct job *job = job_queue_take(&s->to_prepare, true);
        uv_mutex_lock(&desk->lock);
        desk->n_free--;
        if (!job)
            desk_leave(desk, turn);
        else {
            desk->since = uv_hrtime();
            if (desk->n_free == 0)
                (void)start_thread(s); /* else whoever comes waits for one of them */
            uv_cond_signal(&desk->changed);
        }
        uv_mutex_unlock(&desk->lock);
        if (!job)
            return;
        prepare_job(s, job);
        uv_mutex_lock(&desk->lock);
        desk->n_free++;
        uv_mutex_unlock(&desk->lock);
    }
}

bool prepare_begin(struct server *s)
{
    struct desk *desk = &s->desk;
    bool starts = true;

    uv_mutex_lock(&desk->lock);
    while (starts && desk->n < FIRST_PREPARING)
        starts = start_thread(s);
    uv_mutex_unlock(&desk->lock);
    return desk->n > 0;
}

void prepare_end(struct server *s)
{
    struct desk *desk = &s->desk;

    job_queue_close(&s->to_prepare);
    for (int i = 0;; i++) {
        uv_mutex_lock(&desk->lock);
        const bool is_one = i < desk->n; /* those before it may have started it */
        uv_mutex_unlock(&desk->lock);
        if (!is_one)
            return;
        uv_thread_join(&desk->thread[i]);
    }
}

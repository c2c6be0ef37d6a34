/* SPDX-License-Identifier: Apache-2.0 */
/* job.c: requests between threads, and their replies. */
#include "job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "request.h"
#include "routes.h"
#include "state.h"

struct job *job_create(struct server *server, const struct route *route)
{
    struct job *job = calloc(1, sizeof *job);
    unsigned char random[(ID_BYTES - 1) / 2];

    if (!job)
        return NULL;
    if (uv_mutex_init(&job->lock) != 0) {
        free(job);
        return NULL;
    }
    job->server = server;
    job->route = route;
    job->surface = route ? route->surface : NULL;
    atomic_init(&job->cancelled, false);
    atomic_init(&job->silent, true);
    if (uv_random(NULL, NULL, random, sizeof random, 0, NULL) != 0)
        memset(random, 0, sizeof random);
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(job->id + 2 * i, 3, "%02x", random[i]);
    return job;
}

void job_free_body(struct job *job)
{
    atomic_fetch_sub(&job->server->bodies, job->body.n);
    buffer_free(&job->body);
}

void job_free(struct job *job)
{
    if (!job)
        return;
    uv_mutex_destroy(&job->lock);
    job_free_body(job);
    buffer_free(&job->out);
    buffer_free(&job->fields);
    free(job);
}

void job_begin(struct job *job, int status, const char *type, bool streams)
{
    uv_mutex_lock(&job->lock);
    job->status = status;
    job->type = type;
    job->streams = streams;
    job->begun = true;
    uv_mutex_unlock(&job->lock);
}

void job_field(struct job *job, const char *name, const char *value)
{
    size_t n = 0;

    while (value[n] >= 0x20 && value[n] < 0x7f)
        n++;
    buffer_text(&job->fields, name);
    buffer_text(&job->fields, ": ");
    buffer_put(&job->fields, value, n);
    buffer_text(&job->fields, "\r\n");
}

void job_retry(struct job *job, const struct refusal *r)
{
    char seconds[16];

    snprintf(seconds, sizeof seconds, "%d", 1 + atomic_load(&job->server->wait_ms) / 1000);
    if (!r->lasts && (r->status == 429 || r->status == 503 || r->status == 529))
        job_field(job, "Retry-After", seconds);
}

void job_refuse(struct job *job, const struct refusal *r)
{
    const struct surface *surface = job->surface;

    uv_mutex_lock(&job->lock);
    if (job->begun && job->streams) {
        surface->refuse_stream(job, r);
        job->broken = true;
    } else {
        job->out.n = 0;
        job->status = r->status;
        job->type = "application/json";
        job->begun = true;
        job_retry(job, r);
        surface->refuse(&job->out, r);
    }
    uv_mutex_unlock(&job->lock);
}

void job_wake(struct job *job)
{
    uv_async_send(&job->server->wake);
}

void job_end(struct job *job)
{
    struct server *server = job->server;

    request_free(job->request);
    job->request = NULL;
    uv_mutex_lock(&job->lock);
    job->ended = true;
    uv_mutex_unlock(&job->lock);
    uv_async_send(&server->wake); /* the job may be gone */
}

int job_queue_open(struct job_queue *q)
{
    *q = (struct job_queue){.last = &q->first};
    if (uv_mutex_init(&q->lock) != 0)
        return -1;
    if (uv_cond_init(&q->some) == 0)
        return 0;
    uv_mutex_destroy(&q->lock);
    return -1;
}

bool job_queue_put(struct job_queue *q, struct job *job)
{
    job->next = NULL;
    uv_mutex_lock(&q->lock);
    const bool open = !q->closed;
    if (open) {
        *q->last = job;
        q->last = &job->next;
        uv_cond_signal(&q->some);
    }
    uv_mutex_unlock(&q->lock);
    return open;
}

struct job *job_queue_take(struct job_queue *q, bool waits)
{
    uv_mutex_lock(&q->lock);
    while (waits && !q->first && !q->closed)
        uv_cond_wait(&q->some, &q->lock);
    struct job *job = q->first;
    if (job) {
        q->first = job->next;
        job->next = NULL;
        if (!q->first)
            q->last = &q->first;
    }
    uv_mutex_unlock(&q->lock);
    return job;
}

void job_queue_close(struct job_queue *q)
{
    uv_mutex_lock(&q->lock);
    q->closed = true;
    uv_cond_broadcast(&q->some);
    uv_mutex_unlock(&q->lock);
}

void job_queue_free(struct job_queue *q)
{
    uv_mutex_destroy(&q->lock);
    uv_cond_destroy(&q->some);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* prepare.c: the thread that reads bodies, renders and tokenises. What it refuses never reaches the
 * engine. */
#include <stdlib.h>
#include <time.h>

#include "ask.h"
#include "explain.h"
#include "places.h"
#include "routes.h"
#include "workers.h"

static struct ask *new_ask(struct server *s)
{
    struct ask *ask = calloc(1, sizeof *ask);

    if (!ask)
        return NULL;
    ask->call_start = s->call_start;
    ask->created = (int64_t)time(NULL);
    return ask;
}

/* Whether a prepared request can get what it may need, and in time. */
static bool has_room(const struct server *s, const struct job *job, struct refusal *r)
{
    if (job->ask->explained) /* it needs no place */
        return true;
    const int blocks = places_blocks(job->ask), seconds = atomic_load(&s->wait_ms) / 1000;

    if (blocks > s->blocks_in_all)
        return refuse(r, 400, NULL, "max_tokens",
                      "%d positions may be needed, and there is memory for %d in all (--kv-memory): give a "
                      "smaller max_tokens, or fewer answers",
                      blocks * PLACE_BLOCK, s->blocks_in_all * PLACE_BLOCK);
    return seconds < s->options->most.wait ||
           refuse(r, job->surface->busy, "queue_full", NULL,
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

    if (job->ask) { /* it has been looked up */
        explain_end(job);
        end_prepared(s, job);
        return;
    }
    if (!(job->ask = new_ask(s)))
        refuse(&r, 503, NULL, NULL, "there is no memory for the request");
    if (r.status || !job->route->prepare(job, &r) || !has_room(s, job, &r) || atomic_load(&job->cancelled)) {
        if (r.status)
            job_refuse(job, &r);
        end_prepared(s, job);
        return;
    }
    for (int i = 0; i < job->ask->n; i++) {
        job->ask->choice[i].job = job;
        job->ask->choice[i].number = i;
    }
    job_free_body(job); /* all of it is in the ask */
    if (job->ask->stream && !job->ask->explained) {
        job_begin(job, 200, job->surface->stream_type, true);
        uv_mutex_lock(&job->lock);
        job->ask->writer->begin(job);
        uv_mutex_unlock(&job->lock);
        job_wake(job);
    }
    job_queue_put(&s->to_answer, job);
}

void prepare_jobs(void *server)
{
    struct server *s = server;
    struct job *job;

    while ((job = job_queue_take(&s->to_prepare, true)) != NULL)
        prepare_job(s, job);
    job_queue_close(&s->to_answer);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* evaluate.c: POST /v1/prepare. The prompt of a request goes the way that it would go to be answered, and
 * stays in the engine's tree of prefixes; no text comes of it. */
#include "routes.h"

#include "json_write.h"
#include "kinds.h"
#include "listed.h"
#include "state.h"

static void begin(struct job *job)
{
    (void)job;
}

static void given(struct job *job, int choice, const carat_given *id)
{
    (void)job;
    (void)choice;
    (void)id;
}

static void finish(struct job *job, int choice)
{
    (void)job;
    (void)choice;
}

static void end(struct job *job)
{
    const struct ask *ask = job->ask;
    const int tokens = ask->course.past.prompt + ask->prompt.n,
              cached = ask->course.past.cached + ask->course.cached;

    if (ask_is_last(ask))
        json_put(&job->out, "{'object':'preparation','model':%s,'tokens':%d,'cached':%d,'evaluated':%d}",
                 job->server->options->name, tokens, cached, tokens - cached);
}

static const struct writer writer = {begin, given, finish, end};

bool server_evaluate(struct job *job, struct refusal *r)
{
    const struct kind *kind = kind_find(job, r);

    if (!kind)
        return false;
    if (!kind->draws)
        return server_refuse(r, 400, NULL, NULL, "nothing is kept of texts whose vectors are asked for");
    if (!kind->prepare(job, r))
        return false;
    job->surface = job->route->surface;
    job->ask->writer = &writer;
    job->ask->stream = job->ask->wants_receipt = false;
    job->ask->n = 1;
    ask_evaluate(job->ask);
    return true;
}

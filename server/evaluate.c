/* SPDX-License-Identifier: Apache-2.0 */
/* evaluate.c: POST /v1/prepare. The prompt of a request goes the way that it would go to be answered, and
 * stays in the engine's tree of prefixes; no text comes of it. */
#include "routes.h"

#include "json_write.h"
#include "body_kind.h"
#include "prompt_list.h"
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
    const struct request *request = job->request;
    const int tokens = request->course.past.prompt + request->prompt.n,
              cached = request->course.past.cached + request->course.cached;

    if (request_is_last(request))
        json_put(&job->out, "{'object':'preparation','model':%s,'tokens':%d,'cached':%d,'evaluated':%d}",
                 job->server->options->name, tokens, cached, tokens - cached);
}

static const struct writer writer = {begin, given, finish, end};

bool server_evaluate(struct job *job, struct refusal *r)
{
    const struct body_kind *kind = body_kind_find(job, r);

    if (!kind)
        return false;
    if (!kind->draws)
        return server_refuse(r, 400, NULL, NULL, "nothing is kept of texts whose vectors are asked for");
    if (!kind->prepare(job, r))
        return false;
    job->surface = job->route->surface;
    job->request->writer = &writer;
    job->request->stream = job->request->wants_receipt = false;
    job->request->n = 1;
    request_evaluate(job->request);
    return true;
}

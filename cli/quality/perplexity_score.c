/* SPDX-License-Identifier: Apache-2.0 */
/* perplexity_score.c: the engine of `carat perplexity`, the losses of ids in it, and their mean. */
#include <math.h>
#include <stdlib.h>

#include "model/engine.h"
#include "model/phases.h"
#include "quality/perplexity.h"
#include "term/clock.h"
#include "term/message.h"

void losses_add(struct losses *to, const struct losses *l)
{
    to->n += l->n;
    to->sum += l->sum;
    to->squares += l->squares;
}

double losses_mean(const struct losses *l)
{
    return l->n ? l->sum / (double)l->n : NAN;
}

double losses_error(const struct losses *l)
{
    const double mean = losses_mean(l), variance = l->squares / (double)l->n - mean * mean;

    return l->n > 1 && variance > 0 ? sqrt(variance / (double)(l->n - 1)) : NAN;
}

static int watch_scoring(void *user, size_t done, size_t total)
{
    struct perplexity *p = user;

    (void)total;
    return progress_update(&p->bar, p->before + done, p->total);
}

int perplexity_begin(struct perplexity *p, int context, int longest)
{
    carat_engine_options options;
    struct phases phases;

    TRY(phases_engine(&phases, &options, p->o));
    options.context = context;
    TRY(fit_engine(&options, p->model, p->o));
    TRY(create_engine(&p->engine, p->model, &options));
    TRY(create_session(&p->session, p->engine, watch_scoring, p));
    p->logprob = calloc((size_t)longest, sizeof *p->logprob);
    if (!p->logprob)
        return fail_memory();
    progress_begin(&p->bar, "scoring", "tok");
    return DONE;
}

int perplexity_score(struct perplexity *p, const int32_t *ids, int from, int n, const char *what, long number,
                     struct losses *l)
{
    double start = term_seconds();
    carat_error err;
    carat_status status = carat_sync(p->session, ids, from, NULL, &err);

    p->before += (size_t)from;
    if (status == CARAT_OK)
        status = carat_score(p->session, ids + from, n - from, p->logprob, &err);
    p->before += (size_t)(n - from);
    p->seconds += term_seconds() - start;
    if (status == CARAT_E_NUMERIC)
        return fail_as(BAD_MODEL, status, "%s: %s %ld: %s", p->name, what, number, err.message);
    if (status != CARAT_OK)
        return fail_status(&err);
    for (int i = 0; i < n - from; i++) {
        l->n++;
        l->sum -= p->logprob[i];
        l->squares += p->logprob[i] * p->logprob[i];
    }
    return DONE;
}

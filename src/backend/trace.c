/* SPDX-License-Identifier: Apache-2.0 */
/* trace.c: the clock around each verb of a pass, and the calls of those who listen. The verbs are in
 * backend.h.
 *
 * A pass without listeners pays nothing. */
#include "backend/backend.h"
#include "os/clock.h"

double ct_trace_start(const struct ct_backend *b)
{
    return b->trace ? ct_os_seconds() : 0;
}

void ct_trace_stop(struct ct_backend *b, double start, struct ct_event event)
{
    if (!b->trace)
        return;
    event.seconds = ct_os_seconds() - start;
    for (const struct ct_trace *t = b->trace; t; t = t->next)
        t->hook(t->user, b, &event);
}

void ct_trace_begin(struct ct_backend *b, struct ct_trace *trace)
{
    struct ct_trace **at = &b->trace;

    while (!trace->first && *at && (*at)->first)
        at = &(*at)->next;
    trace->next = *at;
    *at = trace;
}

bool ct_trace_reads(const struct ct_backend *b)
{
    const struct ct_trace *t = b->trace;

    while (t && !t->reads)
        t = t->next;
    return t != NULL;
}

bool ct_trace_end(struct ct_backend *b, struct ct_trace *trace)
{
    struct ct_trace **at = &b->trace;

    while (*at && *at != trace)
        at = &(*at)->next;
    bool found = *at != NULL;
    if (found)
        *at = trace->next;
    return found;
}

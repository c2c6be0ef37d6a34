/* SPDX-License-Identifier: Apache-2.0 */
/* trace.c: the clock around each verb of a pass, and the call of who listens. The verbs are in backend.h. */
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
    b->trace->hook(b->trace->user, b, &event);
}

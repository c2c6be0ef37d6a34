/* SPDX-License-Identifier: Apache-2.0 */
/* every_row.c: see every_row.h. */
#include "engine/every_row.h"

/* Rows that want no logits are left out later, behind the last layer. */
static void select_later(struct ct_backend *b, int n, const ct_mat *m)
{
    (void)b, (void)n, (void)m;
}

void ct_every_row_begin(struct ct_every_row *r, carat_engine *e, struct ct_trace trace)
{
    *r = (struct ct_every_row){.engine = e, .trace = trace};
    ct_lock_enter(&e->lock);
    r->select = e->backend->verb.select_rows;
    e->backend->verb.select_rows = select_later;
    ct_trace_begin(e->backend, &r->trace);
    ct_lock_leave(&e->lock);
}

void ct_every_row_end(struct ct_every_row *r)
{
    if (!r->engine)
        return;
    ct_lock_enter(&r->engine->lock);
    ct_trace_end(r->engine->backend, &r->trace);
    r->engine->backend->verb.select_rows = r->select;
    ct_lock_leave(&r->engine->lock);
    r->engine = NULL;
}

bool ct_every_row_heard(const struct ct_every_row *r, struct ct_backend *b, const struct ct_event *event)
{
    const bool last = strcmp(event->verb, "norm") == 0 && event->w[0] == &r->engine->weights.final_norm;

    if (last)
        r->select(b, 1, event->out);
    return last;
}

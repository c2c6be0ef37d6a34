/* SPDX-License-Identifier: Apache-2.0 */
/* listener.c: see listener.h. */
#include "listen/listener.h"

/* Rows that want no logits are left out later, behind the last layer. */
static void select_later(struct ct_backend *b, int n, const ct_mat *m)
{
    (void)b, (void)n, (void)m;
}

void ct_listen_locked(struct ct_pass_listener *l, carat_engine *e, struct ct_trace trace, bool every_row)
{
    *l = (struct ct_pass_listener){.engine = e, .trace = trace};
    if (every_row) {
        l->select = e->backend->verb.select_rows;
        e->backend->verb.select_rows = select_later;
    }
    ct_trace_begin(e->backend, &l->trace);
}

bool ct_listen_end_locked(struct ct_pass_listener *l)
{
    if (!l->engine)
        return false;
    struct ct_backend *b = l->engine->backend;
    ct_trace_end(b, &l->trace);
    if (l->select)
        b->verb.select_rows = l->select;
    l->engine = NULL;
    return true;
}

void ct_listen(struct ct_pass_listener *l, carat_engine *e, struct ct_trace trace, bool every_row)
{
    ct_lock_enter(&e->lock);
    ct_listen_locked(l, e, trace, every_row);
    ct_lock_leave(&e->lock);
}

bool ct_listen_end(struct ct_pass_listener *l)
{
    carat_engine *e = l->engine;

    if (!e)
        return false;
    ct_lock_enter(&e->lock);
    const bool listened = ct_listen_end_locked(l);
    ct_lock_leave(&e->lock);
    return listened;
}

bool ct_listen_selects(const struct ct_pass_listener *l, struct ct_backend *b, const struct ct_event *event)
{
    const bool last = strcmp(event->verb, "norm") == 0 && event->w[0] == &l->engine->weights.final_norm;

    if (last)
        l->select(b, 1, event->out);
    return last;
}

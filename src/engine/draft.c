/* SPDX-License-Identifier: Apache-2.0 */
/* draft.c: see draft.h. A drafter for Gemma 4 reads the K and V of the session (model/drafter.c). */
#include "engine/draft.h"

#include "os/clock.h"

bool ct_draft_exists(const carat_engine *e)
{
    return e->drafting != NULL;
}

void ct_draft_measure(carat_engine *e)
{
    enum { TIMES = 4, LEAST_CONTEXT = 2 };

    if (!e->drafting || e->plan.context < LEAST_CONTEXT)
        return;
    for (int i = 0; i < TIMES; i++) { /* on what nobody has written yet */
        const double start = ct_os_seconds();
        ct_drafter_step(&e->drafter, (struct ct_draft_place){0, 1}, 0);
        const double took = (ct_os_seconds() - start) * 1e9;
        e->draft_step = i ? CT_MIN(e->draft_step, took) : took;
    }
}

/* The model's state behind the last token that is held; NULL: it is not there, or local layers lack what a
 * step would read. */
static const float *state_of(const carat_session *s)
{
    const carat_engine *e = s->engine;
    const bool has = s->n > 0 && s->outcome >= 0 && e->outcome[s->outcome].has_hidden &&
                     ct_kv_ready(&e->cache, s->slot) == s->n;
    return has ? ct_outcome_hidden(e, s->outcome) : NULL;
}

double ct_draft_lag(const carat_session *s, int n)
{
    (void)s;
    (void)n;
    return 0;
}

int ct_draft_propose(carat_session *s, const int32_t *ids, int n, int32_t *draft, int k)
{
    carat_engine *e = s->engine;
    const struct ct_draft_place place = {s->slot, s->n};
    int32_t token = ids[n - 1];
    int i = 0;

    ct_lock_enter(&e->lock);
    const float *state = state_of(s);
    if (state)
        ct_drafter_begin(&e->drafter, state);
    while (state && i < k && (token = ct_drafter_step(&e->drafter, place, token)) >= 0)
        draft[i++] = token;
    ct_lock_leave(&e->lock);
    return i;
}

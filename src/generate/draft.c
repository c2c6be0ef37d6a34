/* SPDX-License-Identifier: Apache-2.0 */
/* draft.c: see draft.h. The step of a drafter that reads K and V is model/drafter.c's.
 *
 * A model in an engine beside has a session for each of those that it drafts for. It has to read the prompt
 * first, which is part of the price of its first draft: in auto it begins once 2 % of the time of the
 * generation pay for that, behind a long prompt late or never; --spec-type draft-simple has it begin at once.
 */
#include "generate/draft.h"

#include "engine/row_logits.h"
#include "os/clock.h"

bool ct_draft_exists(const carat_engine *e)
{
    return e->drafts.model || e->drafts.beside;
}

/* ---- a drafter that reads K and V of the session ---- */

/* The model's state behind the last token that is held; NULL: it is not there. Where it is, a pass has ended
 * with that token, so that local layers have what a step reads. */
static const float *state_of(const carat_session *s)
{
    const carat_engine *e = s->engine;
    const float *state = s->n > 0 ? ct_row_logits_state(e, s->logits) : NULL;

    assert(!state || ct_kv_ready(&e->cache, s->slot) == s->n);
    return state;
}

static int propose_by_reading(carat_session *s, int32_t token, int32_t *draft, int k)
{
    carat_engine *e = s->engine;
    const struct ct_draft_place place = {s->slot, s->n};
    int i = 0;

    ct_lock_enter(&e->lock);
    const float *state = state_of(s);
    if (state)
        ct_drafter_begin(&e->drafts.reader, state);
    while (state && i < k && (token = ct_drafter_step(&e->drafts.reader, place, token)) >= 0)
        draft[i++] = token;
    ct_lock_leave(&e->lock);
    return i;
}

/* ---- a smaller model in an engine beside it ---- */

/* Tokens that are not those of the session any more are forgotten, others are evaluated first. */
static int propose_beside(const carat_session *s, const int32_t *ids, int n, int32_t *draft, int k)
{
    carat_session *d = s->beside;
    carat_candidate best;
    int i = 0;

    if (!d || n + k > d->engine->plan.context || ct_sync(d, ids, n, NULL, NULL) != CARAT_OK)
        return 0;
    while (ct_top(d, 1, &best, NULL) == CARAT_OK) {
        draft[i++] = best.id;
        struct ct_row row = {.row = {.session = d, .tokens = &best.id, .n = 1}};
        if (i == k || ct_evaluate(&row, false, NULL) != CARAT_OK)
            break;
    }
    return i;
}

/* ---- either ---- */

double ct_draft_lag(const carat_session *s, int n)
{
    const carat_session *d = s->beside;
    const int lag = d ? CT_MAX(0, n - 1 - d->n) : 0;

    if (lag == 0)
        return 0;
    const int chunk = CT_MIN(lag, d->engine->plan.chunk);
    const double pass = ct_pass_cost(d->engine, chunk);
    return pass > 0 ? pass * ((lag + chunk - 1) / chunk) : lag * s->engine->drafts.step_ns;
}

int ct_draft_propose(carat_session *s, const int32_t *ids, int n, int32_t *draft, int k)
{
    return s->engine->drafts.model ? propose_by_reading(s, ids[n - 1], draft, k)
                                   : propose_beside(s, ids, n, draft, k);
}

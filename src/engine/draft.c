/* SPDX-License-Identifier: Apache-2.0 */
/* draft.c: see draft.h. The step of a drafter that reads K and V is model/drafter.c's. */
#include "engine/draft.h"

#include "os/clock.h"

bool ct_draft_exists(const carat_engine *e)
{
    return e->drafting || e->beside;
}

/* ---- a drafter that reads K and V of the session ---- */

/* The model's state behind the last token that is held; NULL: it is not there, or local layers lack what a
 * step would read. */
static const float *state_of(const carat_session *s)
{
    const carat_engine *e = s->engine;
    const bool has = s->n > 0 && s->outcome >= 0 && e->outcome[s->outcome].has_hidden &&
                     ct_kv_ready(&e->cache, s->slot) == s->n;
    return has ? ct_outcome_hidden(e, s->outcome) : NULL;
}

static int propose_by_reading(carat_session *s, int32_t token, int32_t *draft, int k)
{
    carat_engine *e = s->engine;
    const struct ct_draft_place place = {s->slot, s->n};
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

/* ---- a smaller model in an engine beside it ---- */

static const carat_model *model_beside(const carat_engine *e, const carat_engine_options *o)
{
    const bool whole = !o->first_layer && e->config.n_layer == e->model->config.n_layer;
    return whole && e->model->drafter && !e->model->drafter->config.backbone ? e->model->drafter : NULL;
}

static carat_engine_options options_beside(const carat_engine *e, const carat_engine_options *o, int context)
{
    const carat_model *m = model_beside(e, o);
    carat_engine_options beside = {.size = sizeof beside,
                                   .threads = o->threads,
                                   .context = CT_MIN(context, m->config.max_context),
                                   .sessions = o->sessions,
                                   .kv = o->kv,
                                   .exact = o->exact,
                                   .isa = o->isa,
                                   .progress = o->progress,
                                   .user = o->user};
    return beside;
}

carat_status ct_draft_plan(carat_engine *e, const carat_engine_options *o, carat_error *err)
{
    enum { USUAL = 8192 };
    const carat_model *m = model_beside(e, o);
    carat_plan plan = {.size = sizeof plan};

    e->beside_bytes = 0;
    if (!m)
        return CARAT_OK;
    const carat_engine_options beside =
        options_beside(e, o, o->context ? o->context : CT_MIN(USUAL, e->model->config.max_context));
    CT_TRY(ct_plan_engine(m, &beside, &plan, err));
    e->beside_bytes = plan.bytes;
    return CARAT_OK;
}

/* A pass over one id, a few times, in a session of its own. */
static void measure_beside(carat_engine *e)
{
    enum { TIMES = 4 };
    carat_session *s = NULL;

    if (ct_session_create(&s, e->beside, NULL, NULL) != CARAT_OK)
        return;
    for (int i = 0; i < TIMES && i + 1 < e->beside->plan.context; i++) {
        const int32_t token = 0;
        const double start = ct_os_seconds();
        (void)ct_evaluate(e->beside, &(carat_row){.session = s, .tokens = &token, .n = 1}, 1, false, NULL);
        const double took = (ct_os_seconds() - start) * 1e9;
        e->draft_step = i ? CT_MIN(e->draft_step, took) : took;
    }
    ct_session_close(s);
}

carat_status ct_draft_create(carat_engine *e, const carat_engine_options *o, carat_error *err)
{
    const carat_model *m = model_beside(e, o);

    if (!m)
        return CARAT_OK;
    const carat_engine_options beside = options_beside(e, o, e->plan.context);
    CT_TRY(ct_engine_create(&e->beside, m, &beside, err));
    measure_beside(e);
    return CARAT_OK;
}

void ct_draft_begin(carat_session *s, carat_session *from, int n)
{
    carat_engine *beside = s->engine->beside;

    s->beside = NULL;
    if (beside && from && from->beside)
        (void)ct_fork(from->beside, CT_MIN(n, from->beside->n), &s->beside, NULL);
    else if (beside)
        (void)ct_session_create(&s->beside, beside, NULL, NULL);
}

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
        if (i == k || ct_evaluate(d->engine, &(carat_row){.session = d, .tokens = &best.id, .n = 1}, 1, false,
                                  NULL) != CARAT_OK)
            break;
    }
    return i;
}

/* ---- either ---- */

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

double ct_draft_lag(const carat_session *s, int n)
{
    const carat_session *d = s->beside;
    const int lag = d ? CT_MAX(0, n - 1 - d->n) : 0;

    if (lag == 0)
        return 0;
    const int chunk = CT_MIN(lag, d->engine->plan.chunk);
    const double pass = ct_pass_cost(d->engine, chunk);
    return pass > 0 ? pass * ((lag + chunk - 1) / chunk) : lag * s->engine->draft_step;
}

int ct_draft_propose(carat_session *s, const int32_t *ids, int n, int32_t *draft, int k)
{
    return s->engine->drafting ? propose_by_reading(s, ids[n - 1], draft, k)
                               : propose_beside(s, ids, n, draft, k);
}

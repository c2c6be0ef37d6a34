/* SPDX-License-Identifier: Apache-2.0 */
/* generate.c: generations: which ids go into the next pass, what is drawn in it, what is given. What of a
 * prompt goes into it is prompt.c's.
 *
 * Each generation has one row in a pass: the id that it gave last, then a draft, if there is one. An id is
 * drawn from the logits of each token of the row, where they lie, until one differs from the draft; what was
 * computed behind is cut off. Since a pass gives the same bits for every batch, the ids are those of a pass
 * for each. A generation that holds logits and has given nothing yet draws without a pass.
 *
 * A budget of thoughts is obeyed where ids are drawn: the token that ends the thought takes the place of one
 * draw, and a draft that says otherwise was wrong. */
#include "generate/generate.h"

#include <math.h>
#include <stdlib.h>

#include "os/clock.h"

/* ---- creation ---- */

static carat_status check_generation(const carat_generation_options *o, carat_error *err)
{
    CT_TRY(ct_check_range("max_tokens", o->max_tokens, 0, INT32_MAX, err));
    CT_TRY(ct_check_range("min_tokens", o->min_tokens, 0, o->max_tokens ? o->max_tokens : INT32_MAX, err));
    CT_TRY(ct_check_range("n_stop_ids", o->n_stop_ids, 0, o->stop_ids ? CARAT_MOST_STOP_IDS : 0, err));
    CT_TRY(ct_check_range("lookup", (int)o->lookup, CARAT_LOOKUP_AUTO, CARAT_LOOKUP_OFF, err));
    CT_TRY(ct_check_range("drafter", (int)o->drafter, CARAT_LOOKUP_AUTO, CARAT_LOOKUP_OFF, err));
    CT_TRY(ct_check_range("draft_max", o->draft_max, 0, CARAT_MOST_DRAFT, err));
    CT_TRY(ct_check_range("draft_min", o->draft_min, 0, o->draft_max ? o->draft_max : CARAT_MOST_DRAFT, err));
    CT_TRY(ct_check_range("logprobs", o->logprobs, 0, 1, err));
    CT_TRY(ct_check_range("limits_thought", o->limits_thought, 0, 1, err));
    CT_TRY(ct_check_range("in_thought", o->in_thought, 0, 1, err));
    CT_TRY(ct_check_range("thought_budget", o->thought_budget, 0, INT32_MAX, err));
    CT_TRY(ct_check_range("top_logprobs", o->top_logprobs, 0, o->logprobs ? CARAT_MOST_LOGPROBS : 0, err));
    if (o->naive && (o->lookup == CARAT_LOOKUP_ON || o->drafter == CARAT_LOOKUP_ON || o->propose))
        return ct_fail(err, CARAT_E_ARGUMENT, "naive evaluates every token anew and has no use for drafts");
    if (o->min_tokens && o->sampling->matcher)
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "min_tokens is %d, and the answer has a form, which says how long it is",
                       o->min_tokens);
    return CARAT_OK;
}

static_assert(CT_MAX_STOP <= CARAT_MOST_STOP_IDS, "a model's own stop ids have room");
/* Copies the sampling, with the stop ids behind its banned ids where a generation has a use for them. */
static carat_status take_sampling(carat_generation *g, const carat_sampling *from, carat_error *err)
{
    const int n = from->n_banned, more = g->own.min_tokens ? g->n_stop : 0;
    carat_sampling all = *from;

    CT_TRY(ct_check_range("banned ids and stop ids together", n + more, 0, CT_CALLER_BANNED, err));
    int32_t *banned = malloc((size_t)(n + more + 1) * sizeof *banned);
    if (!banned)
        return ct_no_memory(err, "a generation");
    if (n)
        memcpy(banned, from->banned, (size_t)n * sizeof *banned);
    memcpy(banned + n, g->stop, (size_t)more * sizeof *banned);
    all.banned = banned;
    all.n_banned = n + more;
    carat_status status = ct_sampling_copy(&g->sampling, &g->own.memory, &all, err);
    free(banned);
    g->sampling.n_banned = g->own.n_banned = n;
    return status;
}

static const carat_generation_info fresh_info = {.last = -1, .stop = -1, .end = -1};

carat_status carat_generation_create(carat_generation **generation, carat_session *session,
                                     const carat_generation_options *options, carat_error *err)
{
    CT_GIVEN(generation, err);
    CT_GIVEN(session, err);
    const carat_engine *e = session->engine;
    carat_generation_options o = {0};
    carat_sampling sampling;
    carat_chain chain;

    CT_TRY(ct_take_struct(&o, sizeof o, options, "carat_generation_options", err));
    CT_TRY(ct_take_sampling(e, &sampling, &chain, o.sampling, err));
    CT_TRY(check_generation(&o, err));
    o.sampling = &sampling;
    carat_generation *g = calloc(1, sizeof *g);
    if (!g)
        return ct_fail(err, CARAT_E_MEMORY, "out of memory for a generation");
    *g = (carat_generation){
        .session = session,
        .on_token = o.on_token,
        .user = o.user,
        .naive = o.naive != 0,
        .max_tokens = o.max_tokens,
        .own.min_tokens = o.min_tokens,
        .context = e->plan.context,
        .thought_budget = o.limits_thought ? o.thought_budget : -1,
        .n_stop = o.stop_ids ? o.n_stop_ids : e->model->n_stop,
        .end_of_call = e->model->tokenizer ? ct_tokenizer_call_end(e->model->tokenizer) : -1,
        .start = ct_os_seconds(),
        .info = fresh_info,
        .given_last = -1,
        .all = o.naive ? malloc((size_t)e->plan.context * sizeof *g->all) : NULL,
    };
    memcpy(g->stop, o.stop_ids ? o.stop_ids : e->model->stop, (size_t)g->n_stop * sizeof *g->stop);
    bool proposes = ct_speculate_open(&g->speculation, &o, e->plan.context);
    ct_speculate_with(&g->speculation, session, o.naive ? CARAT_LOOKUP_OFF : o.drafter);
    carat_status status = ct_readout_open(&g->readout, session, &o, err);
    if (!status)
        status = take_sampling(g, &sampling, err);
    if (!status && sampling.matcher)
        status = sampling.matcher->verb->open(&g->form, sampling.matcher, err);
    g->sampling.matcher = g->form.begins;
    if (!status && ((o.naive && !g->all) || !proposes))
        status = ct_no_memory(err, "a generation");
    if (status) {
        carat_generation_close(g);
        return status;
    }
    *generation = g;
    return CARAT_OK;
}

void carat_generation_close(carat_generation *generation)
{
    if (!generation)
        return;
    if (generation->witness)
        generation->witness->closed(generation->witness);
    ct_speculate_close(&generation->speculation);
    ct_readout_close(&generation->readout);
    if (generation->form.given)
        generation->form.given->verb->close(&generation->form);
    free(generation->all);
    ct_prompt_close(&generation->prompt);
    free(generation->own.memory);
    free(generation);
}

/* ---- before a step ---- */

static bool is_stop(const carat_generation *g, int32_t id)
{
    int i = 0;

    while (i < g->n_stop && g->stop[i] != id)
        i++;
    return i < g->n_stop;
}

static carat_status check_generations(const carat_engine *e, carat_generation *const *g, int n,
                                      carat_error *err)
{
    for (int i = 0; i < n; i++) {
        if (!g[i] || g[i]->session->engine != e)
            return ct_fail(err, CARAT_E_ARGUMENT, "generation %d %s", i,
                           g[i] ? "belongs to another engine" : "is NULL");
        for (int j = 0; j < i; j++)
            if (g[j]->session == g[i]->session)
                return ct_fail(err, CARAT_E_ARGUMENT, "generations %d and %d have the same session", j, i);
    }
    return CARAT_OK;
}

/* All begins anew behind n tokens, which the session holds or is given. */
static void begin_anew(carat_generation *g, int n)
{
    g->changes = g->session->changes;
    ct_speculate_begin(&g->speculation);
    for (int rows = 1; rows <= CT_ACCOUNT_ROWS; rows++)
        ct_account_guess(&g->speculation.account, rows, ct_pass_cost(g->session->engine, rows));
    ct_readout_begin(&g->readout, ct_held_tokens(g->session), n);
    g->n_all = 0;
    g->given_last = -1;
    g->info = fresh_info;
    g->closes = g->cut_short = false;
    if (g->witness)
        g->witness->begin(g->witness, ct_held_tokens(g->session), n);
    if (g->form.given)
        g->form.given->verb->begin(&g->form, g->readout.thought.inside);
}

/* What the session holds may have been changed since the last step; then all begins anew. */
static void notice_changes(carat_generation *g)
{
    if (g->changes == g->session->changes)
        return;
    g->prompt.n = 0;
    begin_anew(g, g->session->n);
}

/* Ids that may come as number i of a step, behind n tokens. */
static int ids_left(const carat_generation *g, int i, int n)
{
    const int room = g->context - n;

    return g->max_tokens ? CT_MIN(room, g->max_tokens - g->info.given - i) : room;
}

/* Ends the answer when no more ids can be given behind so many tokens, before one is drawn for nothing. */
static void check_length(carat_generation *g, int tokens)
{
    bool full = tokens >= g->context;

    if (g->info.reason != CARAT_REASON_NONE || (!full && (!g->max_tokens || g->info.given < g->max_tokens)))
        return;
    g->info.reason = CARAT_REASON_LENGTH;
    g->info.context_full = !g->max_tokens || g->info.given < g->max_tokens;
}

/* Tokens that the session holds, and the one that it does not hold yet. */
static int all_tokens(const carat_generation *g)
{
    return g->session->n + (g->info.last >= 0);
}

/* Begins the part of a generation in a step. */
static carat_status begin_part(carat_generation *g, int i, carat_error *err)
{
    notice_changes(g);
    const carat_reason r = g->info.reason;
    g->steps = r == CARAT_REASON_NONE || r == CARAT_REASON_CANCELLED || r == CARAT_REASON_CALLBACK;
    g->passes = g->steps && g->info.last >= 0;
    if (g->steps && !g->passes && !g->prompt.n && g->session->logits < 0)
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "the session of generation %d holds no logits; evaluate a prompt first", i);
    if (g->form.given && g->info.given == 0 && g->steps)
        return g->form.given->verb->check(&g->form, ids_left(g, 0, CT_MAX(g->session->n, g->prompt.n)), err);
    return CARAT_OK;
}

/* ---- rows ---- */

/* Most ids of a draft that a row can verify in this pass. */
static int draft_room(const carat_generation *g, const struct ct_draft_pass *pass)
{
    const carat_engine *e = g->session->engine;
    int held = g->session->n, most = e->plan.context - held - 2; /* where it is full nothing more is drawn */
    most = CT_MIN(most, ct_kv_span(&e->cache, held) - 1);
    most = CT_MIN(most, pass->most / pass->generations - 1);
    return g->max_tokens ? CT_MIN(most, g->max_tokens - g->info.given - 1) : most;
}

/* The ids before the first that cannot be, or that would end the answer: nothing comes behind it. */
static int usable_draft(carat_generation *g, const int32_t *draft, int k)
{
    int i = 0;

    while (i < k && draft[i] >= 0 && draft[i] < g->session->engine->config.n_vocab && !is_stop(g, draft[i]))
        i++;
    return g->form.given ? g->form.given->verb->follow(&g->form, draft, i) : i;
}

/* Drafts the ids that alone can follow in the form; each is decided as others are. */
static int form_draft(carat_generation *g, int room)
{
    return room > 0 && g->form.given ? g->form.given->verb->draft(g->form.given, g->ids + 1, room) : 0;
}

/* Ids that may come after the one given last, behind it; 0: none are proposed. */
static int propose_draft(carat_generation *g, struct ct_draft_pass *pass)
{
    const carat_session *s = g->session;
    int room = draft_room(g, pass);

    int k = form_draft(g, ct_speculate_room(&g->speculation, room));
    if (k > 0 && (k = ct_speculate_given(&g->speculation, pass, usable_draft(g, g->ids + 1, k))) > 0)
        return k;
    if (room > 0)
        ct_held_tokens(s)[s->n] = g->info.last;
    k = ct_speculate_propose(&g->speculation, pass, ct_held_tokens(s), s->n + 1, g->ids + 1, room);
    return ct_speculate_settle(&g->speculation, pass, usable_draft(g, g->ids + 1, k));
}

/* The id that comes next, whatever the model says; -1: it is drawn. */
static int32_t forced_id(const carat_generation *g)
{
    if (g->thought_budget >= 0 && ct_thought_reached(&g->ahead, g->thought_budget))
        return g->readout.marks.end;
    return g->closes ? g->form.drawn->verb->ending(g->form.drawn) : -1;
}

/* The sampling that draws number i of a step. Before it the answer may be too short to end. */
static const carat_sampling *sampling_of(carat_generation *g, int i)
{
    g->sampling.n_banned = g->own.n_banned + (g->info.given + i < g->own.min_tokens ? g->n_stop : 0);
    return &g->sampling;
}

/* Draws number i of a step, behind held[n]. */
static int32_t draw(carat_generation *g, int i, struct ct_draw_logits *logits, const int32_t *held, int n)
{
    const struct ct_draw_form form = {g->form.drawn, ids_left(g, i, n), g->stop, g->n_stop};
    int32_t id = forced_id(g);

    ct_readout_sees(&g->readout, g->session->engine, i, &logits->have);
    g->forced[i] = id >= 0;
    g->fit[i] = CT_FITS;
    if (id < 0)
        id = ct_draw(g->session->engine, logits, sampling_of(g, i), &form, held, n, &g->fit[i]);
    g->forced[i] |= g->fit[i] == CT_TOO_LONG;
    if (g->form.drawn && id >= 0 && !is_stop(g, id))
        g->form.drawn->verb->accept(g->form.drawn, id);
    ct_thought_follow(&g->readout.marks, &g->ahead, id);
    ct_readout_drawn(&g->readout, g->session->engine, i, &logits->have, id);
    if (g->witness && id >= 0)
        g->witness->drawn(g->witness, i, n, id, ct_row_logits_state(g->session->engine, logits->kept));
    g->drawn[i] = id;
    g->n_drawn = i + 1;
    return id;
}

/* Number 0 of a step is this id, whatever would be drawn. Returns it; -1: it leaves the form. */
static int32_t take_undrawn(carat_generation *g, int32_t id)
{
    const bool stop = is_stop(g, id);

    g->forced[0] = false;
    g->fit[0] = CT_FITS;
    g->readout.likely[0] = (struct ct_likely){.entropy = INFINITY};
    if (g->form.drawn && (stop ? !g->form.drawn->verb->complete(g->form.drawn)
                               : g->form.drawn->verb->follow(&g->form, &id, 1) < 1))
        return -1;
    if (g->form.drawn && !stop)
        g->form.drawn->verb->accept(g->form.drawn, id);
    ct_thought_follow(&g->readout.marks, &g->ahead, id);
    return g->drawn[0] = id;
}

/* The reading that draws of n ids need, the first of them behind held[first]. */
static const struct ct_reading *read_for(carat_generation *g, const int32_t *held, int first, int n)
{
    const carat_sampling *o = sampling_of(g, 0); /* bans the most of them */

    g->reading = ct_reading_of(g->session->engine, o, held, first, first + n - 1, g->apart);
    ct_readout_reads(&g->readout, n, &g->reading);
    g->reading.draws = n == 1 ? ct_draws_alone(o) : NULL;
    return &g->reading;
}

/* The tokens of a pass, and those before them. */
static const int32_t *drawn_behind(const carat_generation *g)
{
    return g->naive ? g->all : ct_held_tokens(g->session);
}

/* Gets the logits after a token of a row. Nonzero ends the row: what comes behind has been proposed wrongly,
 * or is not wanted. */
static int draw_next(void *user, int token, struct ct_draw_logits *logits)
{
    carat_generation *g = user;
    int i = token - g->first;
    int32_t id = draw(g, i, logits, drawn_behind(g), g->base + i + 1);

    return id < 0 || is_stop(g, id) || i + 1 == g->n_ids || id != g->ids[i + 1];
}

/* Forgets what was evaluated behind n tokens. */
static void take_back(const carat_generation *g, int n)
{
    carat_session *s = g->session;

    ct_lock_enter(&s->engine->lock);
    ct_session_cut(s, n);
    ct_row_logits_drop(s->engine, &s->logits);
    ct_lock_leave(&s->engine->lock);
}

/* All tokens once more, in a session that is empty. After a pass that was cancelled it holds fewer than
 * before. */
static struct ct_row naive_row(carat_generation *g)
{
    carat_session *s = g->session;

    if (g->n_all == 0) {
        memcpy(g->all, ct_held_tokens(s), (size_t)s->n * sizeof *g->all);
        g->all[s->n] = g->info.last;
        g->n_all = s->n + 1;
    }
    g->base = g->first = g->n_all - 1;
    g->n_ids = 1;
    take_back(g, 0);
    return (struct ct_row){.row = {.tokens = g->all, .n = g->n_all, .wants = CARAT_WANTS_LAST}};
}

static struct ct_row cached_row(carat_generation *g, struct ct_draft_pass *pass)
{
    g->base = g->session->n;
    g->first = 0;
    g->ids[0] = g->info.last;
    g->n_ids = 1 + propose_draft(g, pass);
    /* draws look at them */
    memcpy(ct_held_tokens(g->session) + g->base, g->ids,
           (size_t)CT_MIN(g->n_ids, g->session->engine->plan.context - g->base) * sizeof *g->ids);
    return (struct ct_row){.row = {.tokens = g->ids, .n = g->n_ids, .wants = CARAT_WANTS_ALL}};
}

/* The row of a generation in a pass. */
static struct ct_row row_of(carat_generation *g, struct ct_draft_pass *pass)
{
    struct ct_row r = g->naive ? naive_row(g) : cached_row(g, pass);

    r.row.session = g->session;
    r.row.user = g;
    r.reading = read_for(g, drawn_behind(g), g->base + 1, g->n_ids);
    r.take = draw_next;
    r.cuts = true;
    r.drafts = g->n_ids - 1;
    return r;
}

/* ---- what is drawn ---- */

/* Gives number i of the ids that were drawn. */
static void give(carat_generation *g, int i, int position, bool drafted)
{
    carat_given given = {.id = g->drawn[i], .position = position, .drafted = drafted, .forced = g->forced[i]};
    int which;
    carat_reason reason = ct_readout_give(&g->readout, g->session, i, &given, &which);

    given.ms = (ct_os_seconds() - g->start) * 1e3;
    g->info.given++;
    g->info.forced += g->forced[i];
    if (g->form.given)
        g->form.given->verb->accept(g->form.given, given.id);
    g->info.accepted += drafted;
    g->info.last = g->given_last = given.id;
    if (g->on_token && g->on_token(g->user, &given))
        g->info.reason = CARAT_REASON_CALLBACK;
    if (reason == CARAT_REASON_LOOP && !g->closes)
        g->info.cycle = which;
    if (reason == CARAT_REASON_STOP_STRING)
        g->info.stop = which;
    g->closes |= reason == CARAT_REASON_LOOP && g->form.given;
    if (g->closes && reason != CARAT_REASON_STOP_STRING) /* the answer goes round: its form is ended first */
        reason = g->form.given->verb->complete(g->form.given) ? CARAT_REASON_LOOP : CARAT_REASON_NONE;
    if (reason != CARAT_REASON_NONE)
        g->info.reason = reason;
}

/* Why an answer ends with a stop id. */
static carat_reason reason_of_stop(const carat_generation *g)
{
    if (g->cut_short)
        return CARAT_REASON_LENGTH;
    return g->end_of_call >= 0 && g->given_last == g->end_of_call ? CARAT_REASON_TOOL_CALLS
                                                                  : CARAT_REASON_STOP;
}

/* Decides whether number i of the ids that were drawn ends the answer, before it is given. True: it does, and
 * nothing more can be given. */
static bool end_with(carat_generation *g, int i, int32_t id)
{
    const bool stop = id >= 0 && is_stop(g, id);

    if (g->witness && id >= 0)
        g->witness->given(g->witness, i, id, stop);
    if (id < 0)
        g->info.reason = CARAT_REASON_CONSTRAINT;
    else if (stop) {
        g->info.reason = reason_of_stop(g);
        g->info.end = id;
    } else
        g->cut_short |= g->fit[i] == CT_TOO_LONG;
    return id < 0 || stop;
}

/* Gives the ids that were drawn in a step, as far as they are wanted. */
static carat_status give_drawn(carat_generation *g, carat_error *err)
{
    for (int i = 0; i < g->n_drawn && g->info.reason == CARAT_REASON_NONE; i++) {
        int32_t id = g->drawn[i];
        if (g->passes)
            g->info.last = -1; /* the session holds it */
        if (id < 0 && g->fit[i] == CT_FITS)
            return ct_fail(err, CARAT_E_ARGUMENT, CT_ALL_BANNED);
        if (end_with(g, i, id))
            return CARAT_OK;
        int held = g->passes ? g->base + i + 1 : g->session->n;
        give(g, i, held, g->passes && i + 1 < g->n_ids && id == g->ids[i + 1]);
        if (g->info.reason != CARAT_REASON_NONE && held < g->session->n)
            take_back(g, held);
    }
    check_length(g, all_tokens(g));
    return CARAT_OK;
}

/* Draws without a pass: from what the session holds. */
static carat_status draw_held(carat_generation *g, carat_error *err)
{
    carat_session *s = g->session;
    struct ct_draw_logits logits = {.session = s, .kept = s->logits};

    g->n_drawn = 0;
    ct_lock_enter(&s->engine->lock);
    carat_status status = ct_session_read(s, read_for(g, ct_held_tokens(s), s->n, 1), &logits.have, err);
    if (!status)
        draw(g, 0, &logits, ct_held_tokens(s), s->n);
    if (!status && g->fit[0] == CT_FIT_NOT_FINITE)
        status = ct_fail_not_finite(s->engine, err);
    ct_lock_leave(&s->engine->lock);
    return status;
}

/* What became of a row. */
static carat_status end_row(carat_generation *g, carat_status status, carat_error *err)
{
    carat_session *s = g->session;
    int evaluated = CT_MAX(s->n - g->base, 0);

    g->info.passes += evaluated > 0;
    g->info.drafted += evaluated > 0 ? g->n_ids - 1 : 0;
    g->n_drawn = CT_MIN(g->n_drawn, evaluated); /* a pass that was given up has drawn for nothing */
    if (g->n_drawn > 0)
        g->n_all = 0;
    carat_status drawn = give_drawn(g, err);
    if (status == CARAT_E_CANCELLED && g->info.reason == CARAT_REASON_NONE)
        g->info.reason = CARAT_REASON_CANCELLED;
    if (status == CARAT_E_NUMERIC)
        g->info.reason = CARAT_REASON_NUMERIC;
    return status ? status : drawn;
}

/* What became of a piece of its prompt. The first id is drawn as soon as all is there. */
static carat_status end_piece(carat_generation *g, carat_status status, carat_error *err)
{
    ct_prompt_came(&g->prompt, g->session);
    if (status == CARAT_E_CANCELLED)
        g->info.reason = CARAT_REASON_CANCELLED;
    if (status == CARAT_E_NUMERIC) {
        g->info.reason = CARAT_REASON_NUMERIC;
        g->prompt.n = 0;
    }
    if (status || g->prompt.n)
        return status;
    check_length(g, all_tokens(g));
    if (g->info.reason == CARAT_REASON_NONE)
        CT_TRY(draw_held(g, err));
    return give_drawn(g, err);
}

/* ---- the step ---- */

/* True when a step is one pass over ids that were given and proposed alone: its time tells about such
 * passes. */
static bool is_plain_pass(const struct ct_draft_pass *pass, carat_generation *const *g, int n)
{
    bool plain = pass->generations + pass->drafts <= pass->most;

    for (int i = 0; i < n; i++)
        plain &= !g[i]->passes || (!g[i]->naive && g[i]->row.again == 0);
    return plain;
}

/* Readies a generation for a step. True: it has a row in the pass. */
static bool joins_pass(carat_generation *g)
{
    if (!g->steps)
        return false;
    g->info.reason = CARAT_REASON_NONE;
    g->n_drawn = 0;
    g->ahead = g->readout.thought;
    if (g->form.given)
        g->form.given->verb->draws(&g->form);
    check_length(g, all_tokens(g));
    g->steps = g->info.reason == CARAT_REASON_NONE;
    g->passes &= g->steps;
    return g->passes;
}

/* Deals out so many tokens of a pass to the prompts that are under way, in the order of the list: each has
 * what it can take in a row of its own, and the next one what is left. Returns the tokens of all pieces. */
static int deal_pieces(carat_generation *const *g, int n, int most)
{
    int left = most;

    for (int i = 0; i < n; i++)
        left -= ct_prompt_take(&g[i]->prompt, g[i]->session, left);
    return most - left;
}

/* The row of its piece of a prompt. With the last token its first id is drawn. */
static struct ct_row piece_row(carat_generation *g)
{
    const struct ct_reading *first_draw = read_for(g, ct_held_tokens(g->session), g->prompt.n, 1);

    return ct_prompt_row(&g->prompt, g->session, first_draw);
}

/* What became of a generation in a step. */
static carat_status end_part(carat_generation *g, carat_error *err)
{
    if (g->passes)
        return end_row(g, g->row.row.status, err);
    if (g->prompt.piece)
        return end_piece(g, g->row.row.status, err);
    if (!g->steps || g->prompt.n)
        return CARAT_OK;
    CT_TRY(draw_held(g, err));
    return give_drawn(g, err);
}

/* A step of claimed sessions: one pass, over a row of each generation whose prompt is through, and pieces of
 * the other prompts that have so many tokens together. Where the chunk is short, pieces have what rows leave,
 * and drafts what pieces leave. */
static carat_status step(carat_engine *e, carat_generation *const *g, int n, int piece, carat_error *err)
{
    struct ct_row *rows = NULL, **end = &rows;
    carat_error other, *first = err;
    carat_status result = CARAT_OK;
    int joining = 0;

    for (int i = 0; i < n; i++)
        joining += joins_pass(g[i]);
    const int room = CT_MAX(1, e->plan.chunk - joining); /* the first prompt goes on in any case */
    const int pieces = deal_pieces(g, n, CT_MIN(piece, room));
    struct ct_draft_pass pass = ct_draft_pass(joining, CT_MIN(e->decode_chunk, e->plan.chunk - pieces));
    for (int i = 0; i < n; i++)
        if (g[i]->passes) {
            *end = &g[i]->row;
            g[i]->row = row_of(g[i], &pass);
            end = &g[i]->row.next;
        }
    for (int i = 0; i < n; i++)
        if (g[i]->prompt.piece) {
            *end = &g[i]->row;
            g[i]->row = piece_row(g[i]);
            end = &g[i]->row.next;
        }
    double start = ct_os_seconds();
    if (rows)
        result = ct_evaluate(rows, false, err);
    double seconds = ct_os_seconds() - start;
    bool plain = !result && !pieces && is_plain_pass(&pass, g, n);
    for (int i = 0; i < n; i++) {
        if (result)
            first = &other; /* the message of the first that failed is there already */
        if (g[i]->passes && plain)
            ct_speculate_verified(&g[i]->speculation, &pass, g[i]->n_drawn - 1, seconds);
        carat_status status = end_part(g[i], first);
        if (!result)
            result = status;
        g[i]->changes = g[i]->session->changes;
    }
    return result;
}

carat_status carat_generation_prompt(carat_generation *generation, const carat_prompt *prompt, int *reused,
                                     carat_error *err)
{
    CT_GIVEN(generation, err);
    CT_GIVEN(prompt, err);
    CT_TRY(ct_session_claim(generation->session, err));
    carat_status status =
        ct_prompt_give(&generation->prompt, generation->session, prompt, generation->witness != NULL, err);
    if (!status) {
        begin_anew(generation, generation->prompt.n ? generation->prompt.n : generation->session->n);
        if (reused)
            *reused = generation->session->stats.restored_from;
    }
    return ct_session_release(generation->session, status);
}

carat_status carat_generation_pass(carat_engine *engine, carat_generation *const *generations, int n,
                                   int piece, carat_error *err)
{
    if (!engine || !generations || n < 1 || piece < 0)
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "engine or generations is NULL, n = %d is below 1, or piece = %d below 0", n, piece);
    carat_status status = CARAT_OK;
    int claimed = 0;

    CT_TRY(check_generations(engine, generations, n, err));
    while (claimed < n && !(status = ct_session_claim(generations[claimed]->session, err)))
        claimed++;
    for (int i = 0; i < n && !status; i++)
        status = begin_part(generations[i], i, err);
    if (!status)
        status = step(engine, generations, n, piece, err);
    while (claimed-- > 0)
        (void)ct_session_release(generations[claimed]->session, status);
    return status;
}

carat_status carat_generation_step(carat_engine *engine, carat_generation *const *generations, int n,
                                   carat_error *err)
{
    return carat_generation_pass(engine, generations, n, engine ? engine->plan.chunk : 0, err);
}

carat_status carat_generate(carat_generation *generation, carat_error *err)
{
    CT_GIVEN(generation, err);
    carat_status status;

    do
        status = carat_generation_step(generation->session->engine, &generation, 1, err);
    while (!status && generation->info.reason == CARAT_REASON_NONE);
    return status;
}

/* ---- following an answer that is known ---- */

carat_status ct_generation_follow(carat_generation *g, carat_error *err)
{
    CT_TRY(begin_part(g, 0, err));
    (void)joins_pass(g);
    return CARAT_OK;
}

const struct ct_reading *ct_generation_reads(carat_generation *g, const int32_t *held, int first, int n)
{
    return read_for(g, held, first, n);
}

int32_t ct_generation_next(carat_generation *g, struct ct_draw_logits *logits, int32_t came,
                           const int32_t *held, int n)
{
    const int32_t id = logits ? draw(g, 0, logits, held, n) : take_undrawn(g, came);

    if (!end_with(g, 0, id)) {
        give(g, 0, n, false);
        check_length(g, n + 1);
    }
    return id;
}

carat_status carat_generation_get_info(const carat_generation *generation, carat_generation_info *info,
                                       carat_error *err)
{
    CT_GIVEN(generation, err);
    const struct ct_account *a = &generation->speculation.account;

    CT_TRY(ct_session_claim(generation->session, err));
    carat_generation_info full = generation->info;
    full.gained_ms = a->gained * 1e-6;
    full.switched = a->switched;
    full.thought_ids = generation->readout.thought_ids;
    full.in_thought = generation->readout.thought.inside;
    full.prompt_left = ct_prompt_left(&generation->prompt, generation->session);
    full.complete = !generation->form.given || generation->form.given->verb->complete(generation->form.given);
    full.closed = generation->info.reason != CARAT_REASON_NONE && generation->form.given &&
                  generation->form.given->verb->closed(generation->form.given, generation->info.end >= 0);
    memcpy(full.switches, a->switches, sizeof full.switches);
    memcpy(full.switched_source, a->switched_source, sizeof full.switched_source);
    for (int i = 0; i < CT_DRAFT_SOURCES; i++) {
        const struct ct_account_source *source = &a->source[i];
        *(i == CARAT_FROM_FORM ? &full.use_of_form : &full.use[i]) =
            (carat_draft_use){source->drafted, source->accepted, source->gained * 1e-6};
    }
    return ct_session_release(generation->session,
                              ct_give_struct(info, &full, sizeof full, "carat_generation_info", err));
}

size_t carat_generation_rest(carat_generation *generation, char *out, size_t capacity)
{
    if (!generation || !out || !capacity)
        return 0;
    out[0] = 0;
    if (ct_session_claim(generation->session, NULL))
        return 0;
    size_t n = ct_readout_rest(&generation->readout, generation->session,
                               generation->changes == generation->session->changes, out, capacity);
    (void)ct_session_release(generation->session, CARAT_OK);
    return n;
}

carat_status carat_generation_get_matcher(const carat_generation *generation, carat_matcher **matcher,
                                          carat_error *err)
{
    carat_matcher *copy = NULL;

    CT_GIVEN(generation, err);
    CT_GIVEN(matcher, err);
    CT_TRY(ct_session_claim(generation->session, err));
    carat_status status =
        generation->form.given ? carat_matcher_copy(&copy, generation->form.given, err) : CARAT_OK;
    if (!status)
        *matcher = copy;
    return ct_session_release(generation->session, status);
}

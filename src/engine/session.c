/* SPDX-License-Identifier: Apache-2.0 */
/* session.c: timelines of tokens: what a session holds, what must be evaluated, and the passes that do it.
 * Positions, rings and rewinds are decided here; the forward pass only sees rows.
 *
 * Threads: whoever works on a session has claimed it (no second call gets in), and whoever uses the
 * engine's arrays or its list of sessions holds the engine's lock: for one pass or one draw, never while a
 * callback runs. */
#include "engine/engine.h"

#include <stdlib.h>

static const struct ct_config *config_of(const carat_session *s)
{
    return &s->engine->model->config;
}

/* Logits of the last token, or of the next one: those of a pass that is stopped do no harm. */
static float *logits_of(const carat_session *s, bool next)
{
    return s->engine->logits +
           (2 * (size_t)s->slot + (size_t)(s->side ^ next)) * (size_t)config_of(s)->n_vocab;
}

static int32_t *held_of(const carat_session *s)
{
    return s->engine->held + (size_t)s->slot * (size_t)s->engine->plan.context;
}

/* True when no call is inside the session; then the caller is, until it releases it. A reader claims it
 * too. */
static bool claim(const carat_session *s)
{
    return !atomic_exchange(&((carat_session *)s)->busy, true);
}

static void release(const carat_session *s)
{
    atomic_store(&((carat_session *)s)->busy, false);
}

static carat_status is_busy(carat_error *err)
{
    return ct_fail(err, CARAT_E_BUSY, "the session is inside another call, expected one call at a time");
}

/* A session that grows long has its K and V read by every token. */
static void announce_long(const carat_session *s, int more)
{
    enum { LONG = 1024 };
    struct ct_backend *b = s->engine->backend;

    if (s->n < LONG && s->n + more >= LONG)
        b->verb.kv_long(b, s->slot);
}

/* Zeroes the session's K and V and forgets its tokens: a new one, or one after an error, starts like this. */
static void clear(carat_session *s)
{
    s->engine->backend->verb.kv_clear(s->engine->backend, s->slot);
    s->n = s->floor = 0;
    s->has_logits = false;
    ct_detokenizer_init(&s->detokenizer, s->engine->model->tokenizer, 0);
}

carat_status ct_session_create(carat_session **session, carat_engine *engine, const carat_session_options *o,
                               carat_error *err)
{
    int slot = 0;

    carat_session *s = calloc(1, sizeof *s);
    if (!s)
        return ct_fail(err, CARAT_E_MEMORY, "out of memory");
    ct_lock_enter(&engine->lock);
    while (slot < engine->plan.sessions && engine->session[slot])
        slot++;
    if (slot < engine->plan.sessions)
        engine->session[slot] = s;
    ct_lock_leave(&engine->lock);
    if (slot == engine->plan.sessions) {
        free(s);
        return ct_fail(err, CARAT_E_MEMORY, "all %d sessions of the engine are taken", engine->plan.sessions);
    }
    *s = (carat_session){.engine = engine,
                         .slot = slot,
                         .number = o->number,
                         .progress = o->progress,
                         .watch = o->watch,
                         .user = o->user};
    clear(s);
    *session = s;
    return CARAT_OK;
}

void ct_session_close(carat_session *session)
{
    clear(session);
    ct_lock_enter(&session->engine->lock);
    session->engine->session[session->slot] = NULL;
    ct_lock_leave(&session->engine->lock);
    free(session);
}

int ct_session_tokens(const carat_session *session, const int32_t **tokens)
{
    bool claimed = claim(session);
    int n = claimed ? session->n : 0;

    if (tokens)
        *tokens = claimed ? held_of(session) : NULL;
    if (claimed)
        release(session);
    return n;
}

const float *ct_session_logits(const carat_session *session)
{
    if (!claim(session))
        return NULL;
    const float *logits = session->has_logits ? logits_of(session, false) : NULL;
    release(session);
    return logits;
}

static carat_status check_row(const carat_row *row, carat_error *err)
{
    const carat_session *s = row->session;

    if (!row->tokens || row->n < 1)
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "the tokens of a session are NULL, or there are %d of them, expected at least 1",
                       row->n);
    for (int i = 0; i < row->n; i++)
        if (row->tokens[i] < 0 || row->tokens[i] >= config_of(s)->n_vocab)
            return ct_fail(err, CARAT_E_ARGUMENT, "id %d at index %d is outside the vocabulary of %d",
                           row->tokens[i], i, config_of(s)->n_vocab);
    if (row->n > s->engine->plan.context - s->n)
        return ct_fail(err, CARAT_E_CONTEXT, "%d tokens do not fit after %d held ones in a context of %d",
                       row->n, s->n, s->engine->plan.context);
    return CARAT_OK;
}

/* Where a step stands: the next token to take is rows[row].tokens[token]. */
struct cursor {
    int row, token;
};

/* Fills the engine's row arrays from c on; returns how many rows the pass has and moves c behind them. */
static int gather(carat_engine *e, const carat_row *rows, int n, struct cursor *c)
{
    const struct cursor first = *c;
    size_t vocab = (size_t)e->model->config.n_vocab;
    int taken = 0;

    while (c->row < n && taken < e->plan.chunk) {
        const carat_row *row = &rows[c->row];
        bool last = c->token == row->n - 1;
        e->token[taken] = row->tokens[c->token];
        /* of the row an earlier pass began, session->n counts what that pass took */
        e->position[taken] = row->session->n + c->token - (c->row == first.row ? first.token : 0);
        e->sequence[taken] = row->session->slot;
        e->to[taken] = row->all_logits ? row->all_logits + (size_t)c->token * vocab : NULL;
        if (last)
            e->to[taken] = logits_of(row->session, true);
        taken++;
        *c = last ? (struct cursor){c->row + 1, 0} : (struct cursor){c->row, c->token + 1};
    }
    return taken;
}

/* The last token of a row is evaluated: its logits are the session's, and the caller's who wants all. */
static void take_logits(const carat_row *row)
{
    carat_session *s = row->session;
    size_t vocab = (size_t)config_of(s)->n_vocab;

    s->side = !s->side;
    s->has_logits = true;
    if (row->all_logits)
        memcpy(row->all_logits + (size_t)(row->n - 1) * vocab, logits_of(s, false), vocab * sizeof(float));
}

/* The tokens of [from, to) are in the cache and held from now on; or, where their pass was stopped, only some
 * layers have them, which may have cost the rings what the whole pass would have. */
static void advance(const carat_row *rows, struct cursor from, struct cursor to, bool whole)
{
    for (int r = from.row; r <= to.row; r++) {
        int first = r == from.row ? from.token : 0;
        int end = r == to.row ? to.token : rows[r].n;
        if (end <= first)
            continue;
        carat_session *s = rows[r].session;
        s->floor = CT_MAX(s->floor, s->n + end - first - s->engine->cache.ring);
        if (!whole)
            continue;
        memcpy(held_of(s) + s->n, rows[r].tokens + first, (size_t)(end - first) * sizeof(int32_t));
        s->n += end - first;
        s->has_logits = false;
        if (end == rows[r].n)
            take_logits(&rows[r]);
    }
}

/* Where a step is, for the session that watches it. */
struct watch {
    const carat_session *session;
    const struct ct_pass *pass;
    size_t done, total; /* tokens before the pass under way, and of the step */
    int rows;           /* of that pass */
};

/* A token counts in as many parts as there are layers. */
static int ask_session(void *user)
{
    const struct watch *w = user;
    size_t layers = (size_t)w->pass->config->n_layer, passed = (size_t)w->pass->layer;

    return w->session->watch(w->session->user, w->done + (size_t)w->rows * passed / layers, w->total);
}

/* One pass: takes as many tokens as fit from *at on and moves it behind them. E_NUMERIC, E_CANCELLED. */
static carat_status pass(carat_engine *e, const carat_row *rows, int n, struct cursor *at, struct watch *w)
{
    static const carat_status status_of[] = {[CT_PASS_WHOLE] = CARAT_OK,
                                             [CT_PASS_STOPPED] = CARAT_E_CANCELLED,
                                             [CT_PASS_NOT_FINITE] = CARAT_E_NUMERIC};
    const struct cursor from = *at;

    ct_lock_enter(&e->lock);
    w->rows = gather(e, rows, n, at);
    carat_status status =
        status_of[ct_forward(&e->pass, &(struct ct_rows){w->rows, e->token, e->position, e->sequence, e->to},
                             &(struct ct_watch){w->session->watch ? ask_session : NULL, w})];
    ct_lock_leave(&e->lock);
    advance(rows, from, at->row < n ? *at : (struct cursor){n - 1, rows[n - 1].n}, !status);
    return status;
}

static carat_status cancelled(const struct watch *w, carat_error *err)
{
    return ct_fail(err, CARAT_E_CANCELLED, "evaluation was cancelled after %zu of %zu tokens", w->done,
                   w->total);
}

/* The passes of a step whose rows are checked and whose sessions are claimed; `reports` hears of progress,
 * NULL is none. */
static carat_status evaluate(carat_engine *e, const carat_row *rows, int n, const carat_session *reports,
                             carat_error *err)
{
    struct watch w = {.session = rows[0].session, .pass = &e->pass};
    struct cursor at = {0, 0};

    for (int r = 0; r < n; r++) {
        w.total += (size_t)rows[r].n;
        announce_long(rows[r].session, rows[r].n);
    }
    while (at.row < n) {
        carat_status status = pass(e, rows, n, &at, &w);
        if (status == CARAT_E_CANCELLED)
            return cancelled(&w, err);
        if (status) {
            for (int r = 0; r < n; r++)
                clear(rows[r].session);
            return ct_fail(err, CARAT_E_NUMERIC,
                           "the logits hold NaN or infinity: a weight of the model is damaged, or its range "
                           "exceeds float32");
        }
        w.done += (size_t)w.rows;
        if (reports && reports->progress && reports->progress(reports->user, w.done, w.total) && at.row < n)
            return cancelled(&w, err);
    }
    return CARAT_OK;
}

/* What must be right before a session may be claimed: that there is one, of this engine, and only once. */
static carat_status check_sessions(const carat_engine *engine, const carat_row *rows, int n, carat_error *err)
{
    for (int i = 0; i < n; i++) {
        if (!rows[i].session || rows[i].session->engine != engine)
            return ct_fail(err, CARAT_E_ARGUMENT, "the session of row %d %s", i,
                           rows[i].session ? "belongs to another engine" : "is NULL");
        for (int j = 0; j < i; j++)
            if (rows[j].session == rows[i].session)
                return ct_fail(err, CARAT_E_ARGUMENT, "rows %d and %d name the same session", j, i);
    }
    return CARAT_OK;
}

carat_status ct_step(carat_engine *engine, const carat_row *rows, int n, carat_error *err)
{
    carat_status status = CARAT_OK;
    int claimed = 0;

    CT_TRY(check_sessions(engine, rows, n, err));
    while (claimed < n && claim(rows[claimed].session))
        claimed++;
    if (claimed < n)
        status = is_busy(err);
    for (int i = 0; i < n && !status; i++)
        status = check_row(&rows[i], err);
    if (!status)
        status = evaluate(engine, rows, n, NULL, err);
    while (claimed-- > 0)
        release(rows[claimed].session);
    return status;
}

/* Whether the rings still hold what position n needs. */
static bool can_rewind(const carat_session *s, int n)
{
    int window = config_of(s)->attn[CT_LOCAL].window;
    return window == 0 || CT_MAX(0, n - window + 1) >= s->floor;
}

static carat_status rewind_to(carat_session *s, int n, carat_error *err)
{
    if (n < 0 || n > s->n)
        return ct_fail(err, CARAT_E_ARGUMENT, "n = %d is not within the %d held tokens", n, s->n);
    if (n == s->n)
        return CARAT_OK;
    if (n == 0) {
        clear(s);
        return CARAT_OK;
    }
    if (!can_rewind(s, n))
        return ct_fail(
            err, CARAT_E_REWIND,
            "cannot rewind to %d of %d tokens: the local layers hold positions from %d on and need %d", n,
            s->n, s->floor, CT_MAX(0, n - config_of(s)->attn[CT_LOCAL].window + 1));
    s->n = n;
    s->has_logits = false;
    ct_detokenizer_init(&s->detokenizer, s->engine->model->tokenizer, 0);
    return CARAT_OK;
}

carat_status ct_rewind(carat_session *session, int n, carat_error *err)
{
    if (!claim(session))
        return is_busy(err);
    carat_status status = rewind_to(session, n, err);
    release(session);
    return status;
}

static carat_status sync_to(carat_session *s, const int32_t *tokens, int n, int *reused, carat_error *err)
{
    int common = 0;

    while (common < CT_MIN(n, s->n) && held_of(s)[common] == tokens[common])
        common++;
    bool complete = common == n && s->n == n && s->has_logits;
    if (!complete) {
        common = CT_MIN(common, n - 1); /* the last token is evaluated for its logits */
        if (common < s->n && !can_rewind(s, common))
            common = 0;
        CT_TRY(rewind_to(s, common, err));
    }
    ct_detokenizer_init(&s->detokenizer, s->engine->model->tokenizer, 0);
    if (!complete)
        CT_TRY(evaluate(s->engine, &(carat_row){s, tokens + common, n - common, NULL}, 1, s, err));
    if (reused)
        *reused = common;
    return CARAT_OK;
}

carat_status ct_sync(carat_session *session, const int32_t *tokens, int n, int *reused, carat_error *err)
{
    if (n > session->engine->plan.context)
        return ct_fail(err, CARAT_E_CONTEXT, "%d tokens do not fit in a context of %d", n,
                       session->engine->plan.context);
    for (int i = 0; i < n; i++)
        if (tokens[i] < 0 || tokens[i] >= config_of(session)->n_vocab)
            return ct_fail(err, CARAT_E_ARGUMENT, "id %d at index %d is outside the vocabulary of %d",
                           tokens[i], i, config_of(session)->n_vocab);
    if (!claim(session))
        return is_busy(err);
    carat_status status = sync_to(session, tokens, n, reused, err);
    release(session);
    return status;
}

/* One draw from the logits of a claimed session. */
static carat_status draw(const carat_session *s, const carat_sampling *o, int32_t *id, carat_error *err)
{
    carat_engine *e = s->engine;
    carat_sampling all = *o;

    if (!s->has_logits)
        return ct_fail(err, CARAT_E_ARGUMENT, "the session holds no logits; evaluate a token first");
    ct_lock_enter(&e->lock);
    all.banned = e->banned;
    all.n_banned = e->model->n_banned;
    memcpy(e->banned, e->model->banned, (size_t)e->model->n_banned * sizeof *e->banned);
    for (int i = 0; i < o->n_banned; i++)
        e->banned[all.n_banned++] = o->banned[i];
    int32_t chosen = e->backend->verb.draw(e->backend, logits_of(s, false), config_of(s)->n_text_vocab, &all,
                                           (uint32_t)s->n, s->number);
    ct_lock_leave(&e->lock);
    if (chosen < 0)
        return ct_fail(err, CARAT_E_ARGUMENT, "every id is banned");
    *id = chosen;
    return CARAT_OK;
}

carat_status ct_sample(carat_session *session, const carat_sampling *o, int32_t *id, carat_error *err)
{
    CT_TRY(ct_sampling_check(o, config_of(session)->n_vocab, err));
    if (o->n_banned > CT_CALLER_BANNED)
        return ct_fail(err, CARAT_E_ARGUMENT, "%d banned ids, at most %d are taken", o->n_banned,
                       CT_CALLER_BANNED);
    if (!claim(session))
        return is_busy(err);
    carat_status status = draw(session, o, id, err);
    release(session);
    return status;
}

size_t ct_stream_text(carat_session *session, int32_t id, char *out, size_t capacity)
{
    size_t n = 0;

    if (!session->engine->model->tokenizer || !claim(session))
        return 0;
    n = ct_detokenizer_push(&session->detokenizer, id, out, capacity);
    release(session);
    return n;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* session.c: what a session holds: tokens, K and V, logits, the text so far; creating, rewinding, forking,
 * sampling. Evaluating is step.c's; K and V are in blocks that model/kv_cache.c counts.
 *
 * Threads: whoever works on a session has claimed it (no second call gets in), and whoever uses the
 * engine's arrays, blocks or list of sessions holds the engine's lock: for one pass, one draw or one change
 * of blocks.
 *
 * A rewind is possible everywhere and evaluates nothing. A sequence holds so many positions and is ready
 * after so many of them: fewer where the local layers no longer have what the next row sees. The next pass
 * begins there, with rows of held tokens that want no logits; the global layers have their K and V, which are
 * not written again, so that whoever shares the blocks feels nothing.
 *
 * A call claims its sessions, and a second one gets CARAT_E_BUSY; carat_step and carat_generation_pass claim
 * several. The engine's lock is never held around a callback, and is given in the order of requests, so that
 * threads take turns. */
#include "engine/row_logits.h"
#include "engine/session.h"

#include <stdlib.h>

carat_status ct_session_claim(const carat_session *session, carat_error *err)
{
    CT_GIVEN(session, err);
    if (atomic_exchange(&((carat_session *)session)->busy, true))
        return ct_fail(err, CARAT_E_BUSY, "the session is inside another call, expected one call at a time");
    return CARAT_OK;
}

carat_status ct_session_release(const carat_session *s, carat_status status)
{
    atomic_store(&((carat_session *)s)->busy, false);
    return status;
}

/* ---- what it holds ---- */

void ct_session_grows(const carat_session *s, int more)
{
    enum { LONG = 1024 };
    struct ct_backend *b = s->engine->backend;

    for (int i = 0; i < CT_ATTN_TYPES && s->n < LONG && s->n + more >= LONG; i++)
        b->verb.kv_long(b, &s->engine->cache.group[i].pool);
}

void ct_session_kept(carat_session *s)
{
    s->stats = (carat_session_stats){
        .size = sizeof s->stats, .kept = s->n, .restored_from = ct_kv_ready(&s->engine->cache, s->slot)};
}

/* Forgets logits and text: the tokens held are others now. */
static void begin_text(carat_session *s)
{
    ct_row_logits_drop(s->engine, &s->logits);
    ct_detokenizer_init(&s->detokenizer, s->engine->model->tokenizer, 0);
}

/* The row of the cache with which it goes back to n tokens: its own, or that of a snapshot. */
static int nearest_row(const carat_session *s, int n)
{
    carat_engine *e = s->engine;
    int row = ct_snapshot_nearest(&e->snapshots, s->slot, n);

    ct_snapshot_use(&e->snapshots, row);
    if (row != s->slot) {
        e->stats.snapshots_used++;
        e->stats.restored += (uint64_t)ct_kv_ready_at(&e->cache, row, n);
    }
    return row;
}

void ct_session_leave(carat_session *s)
{
    carat_engine *e = s->engine;

    if (!s->owner || s->unsound)
        return;
    ct_snapshot_take(&e->snapshots, s->slot, true);
    /* where there are local layers, nobody goes on from what lies behind the last snapshot */
    const int n = e->cache.snapshot ? ct_snapshots_last(&e->snapshots, s->slot) : s->n;
    ct_prefixes_keep(&e->prefixes, s->owner, s->slot, ct_held_tokens(s), n);
}

void ct_session_cut(carat_session *s, int n)
{
    carat_engine *e = s->engine;

    ct_kv_rewind(&e->cache, s->slot, n, nearest_row(s, n), n == 0);
    ct_snapshots_cut(&e->snapshots, s->slot, n, n == 0);
    s->n = n;
    s->changes++;
}

void ct_session_empty(carat_session *s, bool discard)
{
    ct_kv_cut(&s->engine->cache, s->slot, 0, 0, discard);
    ct_snapshots_cut(&s->engine->snapshots, s->slot, 0, discard);
    begin_text(s);
    s->n = 0;
    s->unsound = false;
    s->changes++;
}

/* ---- its life ---- */

/* A session in a free slot; NULL: there is none, or no memory. The engine's lock is held. */
static carat_session *new_session(carat_engine *e, uint64_t owner, carat_error *err)
{
    int slot = 0;

    while (slot < e->plan.sessions && e->session[slot])
        slot++;
    carat_session *s = slot < e->plan.sessions ? calloc(1, sizeof *s) : NULL;
    if (!s) {
        ct_fail(err, CARAT_E_MEMORY,
                slot < e->plan.sessions ? "out of memory" : "all %d sessions of the engine are taken",
                e->plan.sessions);
        return NULL;
    }
    /* a generation has seen no change yet, not even that a fork holds tokens */
    *s = (carat_session){.engine = e, .slot = slot, .owner = owner, .logits = -1, .changes = 1};
    begin_text(s);
    e->session[slot] = s;
    return s;
}

static carat_status fork_session(carat_session *from, int n, carat_session **session, carat_error *err);

/* A session of the drafter's engine beside a new one, or beside a fork of n tokens; without memory it has no
 * drafts. */
static void begin_beside(carat_session *s, carat_session *from, int n)
{
    carat_engine *beside = s->engine->drafts.beside;

    s->beside = NULL;
    if (beside && from && from->beside)
        (void)fork_session(from->beside, CT_MIN(n, from->beside->n), &s->beside, NULL);
    else if (beside)
        (void)carat_session_create(&s->beside, beside, NULL, NULL);
}

carat_status carat_session_create(carat_session **session, carat_engine *engine,
                                  const carat_session_options *options, carat_error *err)
{
    CT_GIVEN(session, err);
    CT_GIVEN(engine, err);
    carat_session_options o = {0};
    carat_sampling sampling;
    carat_chain chain;

    CT_TRY(ct_take_struct(&o, sizeof o, options, "carat_session_options", err));
    if (engine->config.embeds)
        return ct_fail(
            err, CARAT_E_ARGUMENT,
            "the model is an embedder: it gives a vector for a text (carat_embed, `carat embed`), and "
            "no session");
    if (o.sampling)
        CT_TRY(ct_take_sampling(engine, &sampling, &chain, o.sampling, err));
    ct_lock_enter(&engine->lock);
    carat_session *s = new_session(engine, o.owner, err);
    ct_lock_leave(&engine->lock);
    if (!s)
        return CARAT_E_MEMORY;
    s->progress = o.progress;
    s->watch = o.watch;
    s->user = o.user;
    if (o.sampling)
        s->declared = ct_reading_of(engine, &sampling, NULL, 0, 0, s->apart);
    begin_beside(s, NULL, 0);
    *session = s;
    return CARAT_OK;
}

void carat_session_close(carat_session *session)
{
    if (!session)
        return;
    carat_engine *e = session->engine;
    carat_session_close(session->beside);
    ct_lock_enter(&e->lock);
    ct_kv_reserve(&e->cache, session->slot, 0);
    ct_session_leave(session);
    ct_session_empty(session, true);
    e->session[session->slot] = NULL;
    ct_lock_leave(&e->lock);
    free(session);
}

int carat_tokens_held(const carat_session *session, const int32_t **tokens)
{
    if (tokens)
        *tokens = NULL;
    if (ct_session_claim(session, NULL))
        return 0;
    int n = session->n;
    if (tokens)
        *tokens = ct_held_tokens(session);
    (void)ct_session_release(session, CARAT_OK);
    return n;
}

const float *carat_logits(const carat_session *session)
{
    struct ct_logits logits = {0};

    if (ct_session_claim(session, NULL))
        return NULL;
    ct_lock_enter(&session->engine->lock);
    carat_status status = ct_session_read(session, NULL, &logits, NULL);
    ct_lock_leave(&session->engine->lock);
    return ct_session_release(session, status) ? NULL : logits.value;
}

static carat_status tell_stats(const carat_session *session, carat_session_stats *stats, carat_error *err)
{
    carat_session_stats full = session->stats;

    ct_lock_enter(&session->engine->lock);
    full.snapshots = ct_snapshots_of(&session->engine->snapshots, session->slot);
    ct_lock_leave(&session->engine->lock);
    return ct_give_struct(stats, &full, sizeof full, "carat_session_stats", err);
}

carat_status carat_session_get_stats(const carat_session *session, carat_session_stats *stats,
                                     carat_error *err)
{
    CT_TRY(ct_session_claim(session, err));
    return ct_session_release(session, tell_stats(session, stats, err));
}

static carat_status check_position(const carat_session *s, int n, carat_error *err)
{
    if (n < 0 || n > s->n)
        return ct_fail(err, CARAT_E_ARGUMENT, "n = %d is not within the %d held tokens", n, s->n);
    return CARAT_OK;
}

carat_status ct_rewind(carat_session *s, int n, carat_error *err)
{
    CT_TRY(check_position(s, n, err));
    if (n < s->n) {
        ct_lock_enter(&s->engine->lock);
        ct_session_leave(s);
        ct_session_cut(s, n);
        begin_text(s);
        ct_lock_leave(&s->engine->lock);
    }
    ct_session_kept(s);
    return CARAT_OK;
}

carat_status carat_rewind(carat_session *session, int n, carat_error *err)
{
    CT_TRY(ct_session_claim(session, err));
    return ct_session_release(session, ct_rewind(session, n, err));
}

/* A session with the first n tokens of a claimed one. The engine's lock is held. */
static carat_status fork_locked(carat_session *from, int n, carat_session **session, carat_error *err)
{
    carat_engine *e = from->engine;
    carat_session *s = new_session(e, from->owner, err);

    if (!s)
        return CARAT_E_MEMORY;
    if (!ct_kv_share(&e->cache, s->slot, from->slot, n, nearest_row(from, n))) {
        e->session[s->slot] = NULL;
        free(s);
        return ct_fail(
            err, CARAT_E_MEMORY,
            "no block of K and V is free for what is reserved, once two sessions may write into the last "
            "block of %d tokens",
            n);
    }
    ct_snapshots_share(&e->snapshots, s->slot, from->slot, n);
    memcpy(ct_held_tokens(s), ct_held_tokens(from), (size_t)n * sizeof(int32_t));
    s->n = n;
    s->progress = from->progress;
    s->watch = from->watch;
    s->user = from->user;
    s->declared = from->declared;
    memcpy(s->apart, from->apart, sizeof s->apart);
    s->declared.apart = s->apart;
    ct_session_kept(s);
    if (n == from->n && from->logits >= 0) {
        s->logits = from->logits;
        e->kept.row[s->logits].holders++;
    }
    *session = s;
    return CARAT_OK;
}

static carat_status fork_session(carat_session *from, int n, carat_session **session, carat_error *err)
{
    CT_TRY(check_position(from, n, err));
    ct_lock_enter(&from->engine->lock);
    carat_status status = fork_locked(from, n, session, err);
    ct_lock_leave(&from->engine->lock);
    if (!status)
        begin_beside(*session, from, n);
    return status;
}

carat_status carat_fork(carat_session *from, int n, carat_session **session, carat_error *err)
{
    CT_GIVEN(session, err);
    CT_TRY(ct_session_claim(from, err));
    return ct_session_release(from, fork_session(from, n, session, err));
}

static carat_status reserve(carat_session *session, int positions, carat_error *err)
{
    carat_engine *e = session->engine;

    if (positions < 0 || positions > e->plan.context)
        return ct_fail(err, CARAT_E_ARGUMENT, "positions is %d, expected 0 to the context of %d", positions,
                       e->plan.context);
    ct_lock_enter(&e->lock);
    bool kept = ct_kv_reserve(&e->cache, session->slot, positions);
    struct ct_kv_use use = ct_kv_cache_use(&e->cache);
    ct_lock_leave(&e->lock);
    if (kept)
        return CARAT_OK;
    return ct_fail(err, CARAT_E_MEMORY,
                   "%d positions need more blocks of K and V than the %d that are free of %d; close or "
                   "rewind a session, "
                   "or give the engine more kv_bytes",
                   positions, use.free, use.blocks);
}

carat_status carat_reserve(carat_session *session, int positions, carat_error *err)
{
    CT_TRY(ct_session_claim(session, err));
    return ct_session_release(session, reserve(session, positions, err));
}

void ct_mark(carat_session *session)
{
    ct_lock_enter(&session->engine->lock);
    ct_snapshot_take(&session->engine->snapshots, session->slot, session->owner != 0);
    ct_lock_leave(&session->engine->lock);
}

carat_status carat_mark(carat_session *session, carat_error *err)
{
    CT_TRY(ct_session_claim(session, err));
    ct_mark(session);
    return ct_session_release(session, CARAT_OK);
}

/* ---- logits ---- */

carat_status ct_take_sampling(const carat_engine *e, carat_sampling *full, carat_chain *chain,
                              const carat_sampling *given, carat_error *err)
{
    const int n_vocab = e->model->config.n_vocab;

    *full = e->model->sampling;
    CT_TRY(ct_take_struct(full, sizeof *full, given, "carat_sampling", err));
    CT_TRY(ct_sampling_check(full, n_vocab, err));
    CT_TRY(ct_check_range("left", full->left, 0, INT32_MAX, err));
    if (full->matcher && full->matcher->verb->model(full->matcher) != e->model)
        return ct_fail(err, CARAT_E_ARGUMENT, "the matcher is of another model than the engine");
    if (full->n_banned > CT_CALLER_BANNED)
        return ct_fail(err, CARAT_E_ARGUMENT, "%d banned ids, at most %d are taken", full->n_banned,
                       CT_CALLER_BANNED);
    if (!full->chain)
        return CARAT_OK;
    carat_chain_default(chain);
    CT_TRY(ct_take_struct(chain, sizeof *chain, full->chain, "carat_chain", err));
    full->chain = chain;
    return ct_chain_check(chain, n_vocab, err);
}

/* The sampling of one draw, whose form begins where it is. */
static struct ct_draw_form sample_form(const carat_engine *e, const carat_sampling *o)
{
    return (struct ct_draw_form){o->matcher, o->left ? o->left : CT_ANY_NUMBER, e->model->stop,
                                 e->model->n_stop};
}

static carat_status sample(carat_session *s, const carat_sampling *sampling, int32_t *id, carat_error *err)
{
    carat_engine *e = s->engine;
    const int32_t *held = ct_held_tokens(s);
    int32_t apart[CT_MOST_APART], chosen = -1;
    carat_sampling o;
    carat_chain chain;
    struct ct_draw_logits logits = {.session = s, .kept = s->logits};
    enum ct_fit fit = CT_FITS;

    CT_TRY(ct_take_sampling(e, &o, &chain, sampling, err));
    const struct ct_draw_form form = sample_form(e, &o);
    const struct ct_reading reading = ct_reading_of(e, &o, held, s->n, s->n, apart);
    ct_lock_enter(&e->lock);
    carat_status status = ct_session_read(s, &reading, &logits.have, err);
    if (!status)
        chosen = ct_draw(e, &logits, &o, &form, held, s->n, &fit);
    if (!status && fit == CT_FIT_NOT_FINITE)
        status = ct_fail_not_finite(e, err);
    ct_lock_leave(&e->lock);
    if (!status && chosen < 0 && fit != CT_FITS)
        return ct_fail(err, CARAT_E_CONSTRAINT, CT_NONE_FITS);
    if (!status && chosen < 0)
        return ct_fail(err, CARAT_E_ARGUMENT, CT_ALL_BANNED);
    if (!status)
        *id = chosen;
    return status;
}

carat_status carat_sample(carat_session *session, const carat_sampling *sampling, int32_t *id,
                          carat_error *err)
{
    CT_GIVEN(id, err);
    CT_TRY(ct_session_claim(session, err));
    return ct_session_release(session, sample(session, sampling, id, err));
}

carat_status ct_top(carat_session *session, int k, carat_candidate *out, carat_error *err)
{
    carat_engine *e = session->engine;
    const struct ct_reading reading = {.k = k, .n = e->model->config.n_vocab};
    struct ct_logits logits;

    if (k < 1 || k > reading.n)
        return ct_fail(err, CARAT_E_ARGUMENT, "k is %d, expected 1 to the vocabulary of %d", k, reading.n);
    ct_lock_enter(&e->lock);
    carat_status status = ct_session_read(session, &reading, &logits, err);
    if (!status)
        e->backend->verb.top(e->backend, &logits, k, out);
    ct_lock_leave(&e->lock);
    return status;
}

carat_status carat_top(carat_session *session, int k, carat_candidate *out, carat_error *err)
{
    CT_GIVEN(out, err);
    CT_TRY(ct_session_claim(session, err));
    return ct_session_release(session, ct_top(session, k, out, err));
}

size_t carat_stream_text(carat_session *session, int32_t id, char *out, size_t capacity)
{
    size_t n = 0;

    if (!out || !capacity)
        return 0;
    out[0] = 0;
    if (ct_session_claim(session, NULL))
        return 0;
    if (session->engine->model->tokenizer)
        n = ct_detokenizer_push(&session->detokenizer, id, out, capacity);
    (void)ct_session_release(session, CARAT_OK);
    return n;
}

void carat_cancel(carat_session *session)
{
    if (session)
        atomic_store(&session->cancel, true);
}

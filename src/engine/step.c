/* SPDX-License-Identifier: Apache-2.0 */
/* step.c: the passes of a step: which tokens of which rows go into the next one, where their logits go, and
 * what becomes of each row. A row that fails ends alone. What a session holds is session.c's business, and
 * what it keeps of a prompt sync.c's.
 *
 * The sessions of a step are claimed. The engine's lock is held for one pass at a time.
 *
 * What a row sees is an interval of positions, made before the pass. A K or V that is not finite is not
 * stored, since blocks are shared, and what is masked is multiplied by 0: its session is emptied, and the
 * others of the pass go on. Where single rows are cheaper (stats.h), a prompt is evaluated so. */
#include "engine/row.h"
#include "engine/row_logits.h"
#include "engine/session.h"
#include "os/clock.h"

#include <stdlib.h>

/* One call of carat_step. */
struct step {
    carat_engine *engine;
    struct ct_row *rows;
    int taken;                   /* rows of the pass under way */
    int most;                    /* how many it may have */
    bool decodes;                /* it has one row of each session, drafts aside */
    bool one_by_one;             /* it has one row, since a larger pass would take longer */
    bool stopped;                /* all sessions of the pass wanted it to end: nothing more is computed */
    const struct ct_row *failed; /* the first row that failed; NULL: none */
    carat_error *err;            /* of that row */
};

/* True when no row before this one has failed. */
static bool is_first_failed(const struct step *s, const struct ct_row *r)
{
    while (r && r != s->failed)
        r = r->next;
    return r == s->failed;
}

/* Ends a row; what its session holds by now stays. */
static void __attribute__((format(printf, 4, 5)))
fail_row(struct step *s, struct ct_row *r, carat_status status, const char *format, ...)
{
    char message[sizeof s->err->message];

    CT_FORMAT(message, format);
    r->row.status = status;
    if (is_first_failed(s, r)) {
        ct_fail(s->err, status, "%s", message);
        s->failed = r;
    }
}

static void cancel_row(struct step *s, struct ct_row *r)
{
    fail_row(s, r, CARAT_E_CANCELLED, "evaluation was cancelled after %d of %d tokens", r->again + r->done,
             r->again + r->row.n);
}

static void fail_not_finite(struct step *s, struct ct_row *r)
{
    carat_error why = {CARAT_E_NUMERIC, ""};

    if (is_first_failed(s, r) && s->err)
        (void)ct_fail_not_finite(s->engine, &why);
    fail_row(s, r, why.code, "%s", why.message);
}

static bool has_more(const struct ct_row *r)
{
    return r->row.status == CARAT_OK && r->done < r->until;
}

/* ---- what a row wants ---- */

static carat_wants wants_of(const carat_row *row)
{
    if (row->wants != CARAT_WANTS_DEFAULT)
        return row->wants;
    return row->logits ? CARAT_WANTS_ALL : CARAT_WANTS_LAST;
}

/* True when the logits of a token are wanted; tokens are asked about in ascending order. */
static bool row_wants(struct ct_row *r, int token)
{
    const carat_row *row = &r->row;
    int *next = &r->next_wanted;

    switch (wants_of(row)) {
    case CARAT_WANTS_ALL:
        return true;
    case CARAT_WANTS_LAST:
        return token == row->n - 1;
    case CARAT_WANTS_SOME:
        while (*next < row->n_wanted && row->wanted[*next] < token)
            ++*next;
        return *next < row->n_wanted && row->wanted[*next] == token;
    default:
        return false;
    }
}

static carat_status check_wants(const carat_row *row, carat_error *err)
{
    carat_wants wants = wants_of(row);

    if ((int)wants < CARAT_WANTS_DEFAULT || wants > CARAT_WANTS_SOME)
        return ct_fail(err, CARAT_E_ARGUMENT, "a row wants %d, which is not a carat_wants", (int)wants);
    if ((wants == CARAT_WANTS_ALL || wants == CARAT_WANTS_SOME) && !row->logits && !row->deliver)
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "a row wants logits of several tokens and has neither logits nor "
                       "deliver to put them");
    if (wants != CARAT_WANTS_SOME)
        return CARAT_OK;
    if (!row->wanted || row->n_wanted < 1)
        return ct_fail(err, CARAT_E_ARGUMENT, "a row wants some logits, and wanted is NULL or n_wanted is %d",
                       row->n_wanted);
    for (int i = 0; i < row->n_wanted; i++)
        if (row->wanted[i] < 0 || row->wanted[i] >= row->n || (i && row->wanted[i] <= row->wanted[i - 1]))
            return ct_fail(err, CARAT_E_ARGUMENT,
                           "wanted[%d] of a row is %d, expected ascending indices of its %d tokens", i,
                           row->wanted[i], row->n);
    return CARAT_OK;
}

/* ---- the rows of a pass ---- */

/* Position of the next token that is evaluated of a row. */
static int next_position(const struct ct_row *r)
{
    return r->row.session->n + CT_MIN(r->done, 0);
}

/* Row `at` of the pass is a token of a session. */
static void place_token(carat_engine *e, int at, const carat_session *c, int position)
{
    e->rows.position[at] = position;
    e->rows.sequence[at] = c->slot;
    for (int k = 0; k < CT_ATTN_TYPES; k++)
        e->rows.seen[k][at] = (struct ct_seen){ct_first_seen(e->config.attn[k].window, position), position};
}

/* Takes the next tokens of a row into the pass: first those held that the local layers lack. */
static void gather_row(struct step *s, struct ct_row *r)
{
    carat_engine *e = s->engine;
    const carat_session *c = r->row.session;
    int from = next_position(r);
    int n = CT_MIN(CT_MIN(r->until - r->done, s->most - s->taken), ct_kv_span(&e->cache, from));

    if (c->branch > from)
        n = CT_MIN(n, c->branch - from);
    if (!ct_kv_extend(&e->cache, c->slot, from + n)) {
        fail_row(
            s, r, CARAT_E_MEMORY,
            "no block of K and V is free for position %d: %d blocks are held; close or rewind a session, or "
            "give the engine more kv_bytes",
            from, ct_kv_cache_use(&e->cache).held);
        return;
    }
    for (int i = 0; i < n; i++) {
        int at = s->taken++, token = r->done + i;
        e->rows.token[at] = token < 0 ? ct_held_tokens(c)[from + i] : r->row.tokens[token];
        place_token(e, at, c, from + i);
        e->rows.wanted[at] = token >= 0 && row_wants(r, token);
        e->rows.from[at] = (struct ct_row_of){r, token, r->asked, -1};
        r->asked += e->rows.wanted[at];
        if (e->rows.wanted[at] && token == r->row.n - 1)
            r->logits = ct_row_logits_take(e);
    }
    r->taking = n;
}

/* Sets how many rows the pass may have: a chunk, or one of a prompt where that is cheaper and nobody decodes
 * beside it. */
static void set_most(struct step *s)
{
    carat_engine *e = s->engine;
    int rows = 0, depth = 0;
    bool prefills = false, decodes = false;

    for (struct ct_row *r = s->rows; r; r = r->next) {
        const int left = r->until - r->done;
        if (!has_more(r))
            continue;
        rows += left;
        depth = CT_MAX(depth, next_position(r) + CT_MIN(left, e->plan.chunk));
        prefills |= left > 1 + r->drafts;
        decodes |= left <= 1 + r->drafts;
    }
    s->one_by_one = prefills && !decodes && ct_one_by_one(&e->stats, CT_MIN(rows, e->plan.chunk), depth);
    s->most = s->one_by_one ? 1 : prefills ? e->plan.chunk : e->decode_chunk;
}

/* Tokens of a row in the pass that are guessed. */
static int drafts_taken(const struct ct_row *r)
{
    return CT_MAX(0, CT_MIN(r->taking, r->done + r->taking - (r->row.n - r->drafts)));
}

static void gather(struct step *s)
{
    set_most(s);
    s->taken = 0;
    s->decodes = true;
    s->stopped = false;
    for (struct ct_row *r = s->rows; r; r = r->next) {
        r->taking = 0;
        if (has_more(r) && s->taken < s->most)
            gather_row(s, r);
        s->decodes &= r->taking <= 1 + drafts_taken(r);
    }
}

/* ---- logits ---- */

/* The place where a row keeps the logits of a token that it wants; NULL: they are handed over. */
static float *logits_place(const struct step *s, const struct ct_row_of *of)
{
    const carat_row *row = &of->row->row;

    return row->logits && !row->deliver ? row->logits + (size_t)of->nth * (size_t)s->engine->config.n_vocab
                                        : NULL;
}

/* The row logits of a row of the pass: the session's for its last token, or some of its own; -1: none. */
static int row_logits_of(const struct ct_row_of *of)
{
    const struct ct_row *r = of->row;
    bool last = of->token == r->row.n - 1 && r->logits >= 0 && !r->ended;

    return last ? r->logits : of->logits;
}

/* The reading of the logits of a row; NULL: all. */
static const struct ct_reading *reading_of(const struct ct_row *r)
{
    const struct ct_reading *declared = &r->row.session->declared;

    if (!r->take && (r->row.deliver || r->row.logits))
        return NULL;
    return r->reading ? r->reading : declared->k > 0 ? declared : NULL;
}

/* Says where the logits of a row of the pass are computed: in the session for its last token, else where the
 * caller wants them, else in row logits of its own, of which *left more may be taken. False: none are. */
static bool place_row(const struct step *s, int at, int *left, struct ct_head_row *to)
{
    struct ct_row_of *of = &s->engine->rows.from[at];
    const struct ct_row *r = of->row;
    float *callers = logits_place(s, of);
    const int begun = CT_MAX(r->done, 0); /* of its tokens are held */

    *to = (struct ct_head_row){.reading = reading_of(r),
                               .memory = callers,
                               .held = ct_held_tokens(r->row.session),
                               .n_held = r->row.session->n,
                               .more = r->row.tokens + begun,
                               .n_more = of->token + 1 - begun};
    if (!callers && row_logits_of(of) < 0) {
        if (*left == 0)
            return false;
        --*left;
        of->logits = ct_row_logits_take(s->engine);
    }
    if (row_logits_of(of) >= 0)
        to->memory = ct_row_logits_memory(s->engine, row_logits_of(of));
    return true;
}

/* Keeps what the head read and gave for a row of the pass. */
static void keep_logits(const struct step *s, int at, int row, const struct ct_head_row *made)
{
    carat_engine *e = s->engine;
    const int logits = row_logits_of(&e->rows.from[at]);

    if (logits < 0)
        return;
    e->backend->verb.copy_out(e->backend, ct_row_logits_hidden(e, logits), e->pass.h, row);
    e->kept.row[logits].has_hidden = true;
    ct_row_logits_keep(e, logits, made);
}

/* The row ends with this token. Where the tokens behind it are forgotten, the session has its logits. */
static void end_at(struct step *s, struct ct_row_of *of)
{
    struct ct_row *r = of->row;

    r->ended = true;
    r->last = of->token;
    if (of->token == r->row.n - 1)
        return;
    ct_row_logits_drop(s->engine, &r->logits);
    if (r->cuts) {
        r->logits = of->logits;
        of->logits = -1;
    }
}

static void note_not_finite(const struct step *s, int at)
{
    s->engine->rows.from[at].row->not_finite |= !s->engine->backend->verb.is_finite(s->engine->backend, at);
}

/* Brings computed logits, of number nth of the rows that want them, where they belong. */
static void deliver(struct step *s, int at, int nth, const struct ct_head_row *made)
{
    const struct ct_row_of *of = &s->engine->rows.from[at];
    struct ct_row *r = of->row;
    const carat_row *row = &r->row;
    float *to = logits_place(s, of);
    struct ct_draw_logits logits = {.have = made->logits, .row = made, .nth = nth, .kept = row_logits_of(of)};

    note_not_finite(s, at);
    if (r->not_finite || r->ended || of->token < r->delivered)
        return;
    r->delivered = of->token + 1;
    if (r->take ? r->take(row->user, of->token, &logits)
                : row->deliver && row->deliver(row->user, of->token, made->logits.value))
        end_at(s, &s->engine->rows.from[at]);
    else if (to && to != made->logits.value)
        memcpy(to, made->logits.value, (size_t)s->engine->config.n_vocab * sizeof *to);
    note_not_finite(s, at); /* a draw may have had more of them computed */
}

/* All rows, those too that want no logits. */
static void note_all_not_finite(const struct step *s)
{
    for (int at = 0; at < s->taken; at++)
        note_not_finite(s, at);
}

/* True when anybody still waits for logits of rows of the pass from `at` on. */
static bool logits_are_awaited(const struct step *s, int at)
{
    const carat_engine *e = s->engine;

    for (; at < s->taken; at++) {
        const struct ct_row *r = e->rows.from[at].row;
        if (e->rows.wanted[at] && !r->not_finite && !r->ended)
            return true;
    }
    return false;
}

/* Runs the head over the rows that want logits, in slices that have a place for each of them. Whether K and V
 * are finite is asked behind the first slice: a device has to be waited for. A stopped pass has no logits. */
static void run_head(struct step *s)
{
    carat_engine *e = s->engine;
    int done = 0; /* rows of the head that are through */

    for (int at = 0; !s->stopped && logits_are_awaited(s, at);) {
        int first = at, slice = 0, left = e->kept.slice;
        for (; at < s->taken; at++) {
            if (!e->rows.wanted[at])
                continue;
            if (!place_row(s, at, &left, &e->head_row[slice]))
                break;
            slice++;
        }
        const double start = ct_os_seconds();
        ct_head_rows(&e->head, &e->pass, done, slice, e->head_row);
        ct_head_took(&e->head, slice, ct_os_seconds() - start);
        s->stopped |= e->backend->failure.code != CARAT_OK; /* nobody gets what a device did not compute */
        if (done == 0)
            note_all_not_finite(s);
        for (int i = first, k = 0; i < at; i++)
            if (e->rows.wanted[i] && !s->stopped) {
                keep_logits(s, i, done + k, &e->head_row[k]);
                deliver(s, i, done + k, &e->head_row[k]);
                k++;
            }
        done += slice;
        for (int i = first; i < at; i++)
            ct_row_logits_drop(e, &e->rows.from[i].logits);
    }
    if (done == 0)
        note_all_not_finite(s);
}

/* ---- cancelling ---- */

/* True when a row's call is to end. A token counts in as many parts as there are layers. */
static bool wants_stop(struct ct_row *r, const struct ct_pass *p)
{
    carat_session *c = r->row.session;
    const carat_progress watch = r->watch ? r->watch : c->watch;
    size_t layers = (size_t)p->config->n_layer, passed = (size_t)CT_MIN(p->layer, p->config->n_layer - 1);

    if (!r->stopped && atomic_exchange(&c->cancel, false))
        r->stopped = true;
    if (!r->stopped && watch)
        r->stopped = watch(r->watch ? r->watcher : c->user,
                           (size_t)(r->again + r->done) + (size_t)r->taking * passed / layers,
                           (size_t)(r->again + r->row.n)) != 0;
    return r->stopped;
}

/* A pass stops when all who are in it want that; one who wants it alone ends after the pass. */
static int ask_sessions(void *user)
{
    struct step *s = user;
    bool all = true;

    for (struct ct_row *r = s->rows; r; r = r->next)
        if (r->taking > 0)
            all &= wants_stop(r, &s->engine->pass);
    s->stopped |= all;
    return all;
}

/* ---- what becomes of a row ---- */

/* Its tokens of the pass are held from now on. */
static void advance(struct ct_row *r)
{
    carat_session *c = r->row.session;
    int again = CT_MIN(CT_MAX(-r->done, 0), r->taking), more = r->taking - again, from = next_position(r);

    memmove(ct_held_tokens(c) + c->n, r->row.tokens + CT_MAX(r->done, 0), (size_t)more * sizeof(int32_t));
    c->n += more;
    c->changes++;
    r->done += r->taking;
    c->stats.reevaluated += again;
    const int step = c->owner ? CT_OWNED_STEP : CT_SNAPSHOT_STEP, to = next_position(r);
    if (r->row.n + r->again > 1 && (from / step < to / step || to == c->branch))
        ct_snapshot_take(&c->engine->snapshots, c->slot, c->owner != 0);
    ct_row_logits_drop(c->engine, &c->logits);
    c->logits = r->logits;
    r->logits = -1;
}

/* Forgets the tokens behind the one at which a row ended, not what was computed there. */
static void cut_row(struct ct_row *r)
{
    carat_session *c = r->row.session;

    r->row.n = r->last + 1;
    if (r->done > r->row.n)
        ct_session_cut(c, c->n - (r->done - r->row.n));
    r->done = r->until = r->row.n;
}

static void settle(struct step *s, struct ct_row *r, bool whole)
{
    carat_session *c = r->row.session;

    if (whole && r->not_finite) {
        ct_row_logits_drop(s->engine, &r->logits);
        ct_session_empty(c, false);
        fail_not_finite(s, r);
        return;
    }
    if (whole) {
        advance(r);
    } else {
        ct_kv_cut(&c->engine->cache, c->slot, c->n, next_position(r), false);
        ct_row_logits_drop(c->engine, &r->logits);
    }
    const bool is_drawn = whole && r->ended && r->cuts;
    if (is_drawn)
        cut_row(r);
    if (r->stopped || (r->ended && !is_drawn)) /* also where the others needed the pass, and it is through */
        cancel_row(s, r);
}

/* Positions that the furthest row of the pass sees; and whether every row wants logits. */
static int depth_of(const struct step *s, bool *all_logits)
{
    int depth = 0;

    *all_logits = true;
    for (int at = 0; at < s->taken; at++) {
        *all_logits &= s->engine->rows.wanted[at];
        depth = CT_MAX(depth, s->engine->rows.position[at] + 1);
    }
    return depth;
}

/* Tells the statistics of a whole pass, whose rows are not settled yet. */
static void count_pass(struct step *s, struct ct_pass_facts *pass)
{
    for (struct ct_row *r = s->rows; r; r = r->next) {
        pass->reevaluated += CT_MIN(CT_MAX(-r->done, 0), r->taking);
        pass->drafted += drafts_taken(r);
    }
    ct_stats_pass(&s->engine->stats, pass);
}

/* Evaluates once more what a session holds. */
static void hold_again(struct step *s, struct ct_row *r)
{
    carat_engine *e = s->engine;
    const carat_session *c = r->row.session;
    bool room = true;

    for (int from = ct_kv_ready(&e->cache, c->slot), n; from < c->n && room; from += n) {
        n = CT_MIN(CT_MIN(c->n - from, e->plan.chunk), ct_kv_span(&e->cache, from));
        room = ct_kv_extend(&e->cache, c->slot, from + n);
        for (int i = 0; i < n && room; i++) {
            e->rows.token[i] = ct_held_tokens(c)[from + i];
            place_token(e, i, c, from + i);
            e->rows.wanted[i] = false;
        }
        const struct ct_rows rows = {n,
                                     e->rows.token,
                                     e->rows.position,
                                     e->rows.sequence,
                                     {e->rows.seen[0], e->rows.seen[1]},
                                     e->rows.wanted,
                                     false};
        if (room) {
            ct_pass_run(&e->pass, &rows, &(struct ct_watch){0});
            end_pass(e->backend);
        }
    }
    if (!room)
        fail_row(s, r, CARAT_E_MEMORY, "no block of K and V is free for tokens that a GPU has lost");
}

/* A pass that a device did not finish is made again, by the CPU, to which all that sessions hold is new. */
static void make_again(struct step *s)
{
    for (int at = 0; at < s->taken; at++)
        s->engine->rows.from[at].row->asked -= s->engine->rows.wanted[at];
    for (struct ct_row *r = s->rows; r; r = r->next) {
        ct_row_logits_drop(s->engine, &r->logits);
        r->next_wanted = 0;
        r->not_finite = false;
        r->done = CT_MAX(r->done, 0);
        if (has_more(r))
            hold_again(s, r);
    }
}

/* Tells once what the backend has to say about passes. */
static void tell_remark(carat_engine *e)
{
    ct_head_log(&e->head, "%s", e->backend->remark.message);
    e->backend->remark.code = CARAT_OK;
}

/* One pass over what the rows have left; none when nothing can go on. */
static void run_pass(struct step *s)
{
    carat_engine *e = s->engine;

    ct_lock_enter(&e->lock);
    gather(s);
    if (s->taken > 0) {
        const struct ct_rows rows = {s->taken,
                                     e->rows.token,
                                     e->rows.position,
                                     e->rows.sequence,
                                     {e->rows.seen[0], e->rows.seen[1]},
                                     e->rows.wanted,
                                     s->decodes};
        struct ct_pass_facts pass = {.rows = s->taken, .decodes = s->decodes, .one_by_one = s->one_by_one};
        pass.depth = depth_of(s, &pass.all_logits);
        const double start = ct_os_seconds();
        ct_choose_side(e, &pass);
        ct_pass_run(&e->pass, &rows, &(struct ct_watch){ask_sessions, s});
        run_head(s);
        bool whole = end_pass(e->backend) && !e->pass.ple.error.code;
        const carat_error *unread = e->backend->failure.code ? &e->backend->failure : &e->pass.ple.error;
        if (e->backend->failure.code && ct_engine_leave_device(e)) {
            make_again(s);
            ct_lock_leave(&e->lock);
            return;
        }
        pass.seconds = ct_os_seconds() - start;
        if (whole)
            count_pass(s, &pass);
        if (e->backend->remark.code)
            tell_remark(e);
        for (struct ct_row *r = s->rows; r; r = r->next) {
            if (r->taking > 0)
                settle(s, r, whole);
        }
        for (struct ct_row *r = s->rows; r; r = r->next) {
            if (unread->code && r->taking > 0 && r->row.status == CARAT_OK)
                fail_row(s, r, unread->code, "%s", unread->message);
        }
    }
    ct_lock_leave(&e->lock);
}

/* Tells the progress of the first session how far it is; one that wants no more ends the row. */
static void report(struct step *s)
{
    struct ct_row *r = s->rows;
    const carat_session *c = r->row.session;

    if (c->progress && c->progress(c->user, (size_t)(r->again + r->done), (size_t)(r->again + r->row.n)) &&
        has_more(r))
        cancel_row(s, r);
}

/* Nothing of it is evaluated yet. */
static void begin_row(struct step *s, struct ct_row *r)
{
    const carat_session *c = r->row.session;

    r->again = c->n - ct_kv_ready(&s->engine->cache, c->slot);
    r->done = -r->again;
    r->until = r->most ? CT_MIN(r->row.n, r->most - r->again) : r->row.n;
    r->taking = r->next_wanted = r->asked = r->delivered = 0;
    r->logits = -1;
    r->stopped = r->ended = r->not_finite = false;
    r->row.status = CARAT_OK;
    if (r->row.n > s->engine->plan.context - c->n)
        fail_row(s, r, CARAT_E_CONTEXT, "%d tokens do not fit after %d held ones in a context of %d",
                 r->row.n, c->n, s->engine->plan.context);
    else
        ct_session_grows(c, r->row.n);
}

carat_status ct_evaluate(struct ct_row *rows, bool reports, carat_error *err)
{
    struct step s = {.engine = rows->row.session->engine, .rows = rows, .err = err};
    bool more = true;

    for (struct ct_row *r = s.rows; r; r = r->next)
        begin_row(&s, r);
    while (more) {
        run_pass(&s);
        if (reports)
            report(&s);
        more = false;
        for (struct ct_row *r = s.rows; r; r = r->next)
            more |= has_more(r);
    }
    return s.failed ? s.failed->row.status : CARAT_OK;
}

/* ---- what is asked for ---- */

carat_status ct_check_ids(const carat_session *s, const int32_t *tokens, int n, carat_error *err)
{
    const int n_vocab = s->engine->model->config.n_vocab;

    for (int i = 0; i < n; i++)
        if (tokens[i] < 0 || tokens[i] >= n_vocab)
            return ct_fail(err, CARAT_E_ARGUMENT, "id %d at index %d is outside the vocabulary of %d",
                           tokens[i], i, n_vocab);
    return CARAT_OK;
}

carat_status ct_row_check(const carat_row *row, carat_error *err)
{
    const carat_session *s = row->session;

    if (!row->tokens || row->n < 1)
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "the tokens of a session are NULL, or there are %d of them, expected at least 1",
                       row->n);
    CT_TRY(ct_check_ids(s, row->tokens, row->n, err));
    return check_wants(row, err);
}

/* Checks what must be right before a session may be claimed: that there is one, of this engine, and only
 * once. */
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

/* The rows of claimed sessions, each of which has room for its own. */
static carat_status evaluate_claimed(carat_row *rows, int n, carat_error *err)
{
    for (int i = 0; i < n; i++)
        CT_TRY(ct_row_check(&rows[i], err));
    for (int i = 0; i < n; i++)
        rows[i].session->row =
            (struct ct_row){.row = rows[i], .next = i + 1 < n ? &rows[i + 1].session->row : NULL};
    const carat_status status = ct_evaluate(&rows[0].session->row, false, err);
    for (int i = 0; i < n; i++)
        rows[i].status = rows[i].session->row.row.status;
    return status;
}

static carat_status step(const carat_engine *engine, carat_row *rows, int n, carat_error *err)
{
    carat_status status = CARAT_OK;
    int claimed = 0;

    CT_TRY(check_sessions(engine, rows, n, err));
    while (claimed < n && !(status = ct_session_claim(rows[claimed].session, err)))
        claimed++;
    if (!status)
        status = evaluate_claimed(rows, n, err);
    while (claimed-- > 0)
        (void)ct_session_release(rows[claimed].session, status);
    return status;
}

carat_status carat_append(carat_session *session, const int32_t *tokens, int n, carat_error *err)
{
    CT_GIVEN(session, err);
    return step(session->engine, &(carat_row){.session = session, .tokens = tokens, .n = n}, 1, err);
}

carat_status carat_step(carat_engine *engine, carat_row *rows, size_t row_size, int n, carat_error *err)
{
    void *copy;

    if (!engine || !rows || n < 1)
        return ct_fail(err, CARAT_E_ARGUMENT, "engine or rows is NULL, or n = %d is below 1", n);
    CT_TRY(ct_take_array(&copy, rows, row_size, n, sizeof *rows, "carat_row", err));
    carat_status status = step(engine, copy ? copy : rows, n, err);
    free(copy);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* bisect_pass.c: two engines evaluate the same tokens in step, so that each operation of the test can be
 * judged on the reference's own inputs.
 *
 * The reference runs on the caller's thread, the test on one of its own, and they take turns: the reference
 * computes an operation and waits inside its pass; the test computes the same one. The two results are
 * compared, and the test's is replaced by the reference's, in every row. Then the reference goes on. So each
 * operation of the test reads what the reference's read: the residual stream, K and V of all positions before
 * they are stored (each engine rounds them to its own KV type), and the float32 result of GELU times up,
 * which a fused product would not write. No results of a pass are kept: memory does not grow with the prompt,
 * and with the model only the sums of channels do, which bisect.c cuts into slices.
 *
 * gate and up are one operation of a pass. Each is computed once more by itself, for the rows that are
 * compared. */
#include "check/bisect.h"
#include "engine/row.h"
#include "engine/row_logits.h"
#include "engine/session.h"
#include "os/threads.h"

#include <math.h>
#include <stdlib.h>

/* Whose turn it is to compute. */
enum { REFS_TURN, TESTS_TURN, OVER };

/* The reference hands this over: one event, or a row of logits. */
struct handed {
    int op;
    const struct ct_event *event;
    const float *logits;
};

struct lockstep;
struct side {
    struct lockstep *both;
    int which; /* CT_REF, CT_TEST */
    carat_engine *engine;
    carat_session *session;
    struct ct_pass_listener listener;
    bool timed;            /* a pass of ours has begun since these were kept: */
    struct ct_stats stats; /* the engine's before it, since most of its time is waiting */
    bool ours;             /* the pass under way is of our session */
    bool written;          /* its final norm has run: what follows is the head's */
    int n;                 /* current rows */
    int *kept;             /* [chunk] of them: number among the rows that are compared; -1: is not */
    int next;              /* number of the next such row */
    int heard;             /* rows of logits so far */
    float *row;            /* [widest] */
    float *gate_up[2];     /* [n_rows][ffn] of the rows of the pass that are compared */
};

struct lockstep {
    struct ct_bisect *b;
    struct side side[2];
    struct handed handed;
    float *before; /* [n_rows][hidden] the residual stream as the operation found it */
    _Atomic uint32_t turn;
    atomic_bool failed;  /* in one of the sides: */
    carat_error failure; /* the first */
};

/* ---- failures ---- */

static void __attribute__((format(printf, 3, 4)))
lockstep_fail(struct lockstep *l, carat_status status, const char *format, ...)
{
    char message[sizeof l->failure.message];

    CT_FORMAT(message, format);
    if (!atomic_exchange(&l->failed, true))
        ct_fail(&l->failure, status, "%s", message);
}

static void end_turns(struct lockstep *l)
{
    atomic_store(&l->turn, OVER);
    ct_os_wake_all(&l->turn);
}

/* True when a side has failed. Only the one that computes asks, and ends both: while the other waits, its
 * values may be read. */
static bool lockstep_ends(struct lockstep *l)
{
    const bool failed = atomic_load(&l->failed);

    if (failed)
        end_turns(l);
    return failed;
}

/* ---- whose turn it is ---- */

static void lockstep_cancel(struct lockstep *l)
{
    lockstep_fail(l, CARAT_E_CANCELLED, "bisecting was cancelled after %zu of %zu tokens", l->b->done,
                  l->b->total);
}

static bool watch_stops(struct lockstep *l)
{
    const carat_bisect_options *o = l->b->o;

    if (!atomic_load(&l->failed) && o->watch && o->watch(o->user, l->b->done, l->b->total))
        lockstep_cancel(l);
    return atomic_load(&l->failed);
}

/* Waits while it is the other's turn. The caller's thread asks its watch meanwhile. False: it is over. */
static bool wait_for_turn(struct side *s)
{
    struct lockstep *l = s->both;
    const uint32_t mine = s->which == CT_REF ? REFS_TURN : TESTS_TURN;
    const uint32_t other = mine == REFS_TURN ? TESTS_TURN : REFS_TURN;

    while (atomic_load(&l->turn) == other) {
        ct_os_wait(&l->turn, other, s->which == CT_REF ? 0.01 : 0);
        if (s->which == CT_REF && atomic_load(&l->turn) == other)
            watch_stops(l);
    }
    return atomic_load(&l->turn) == mine;
}

/* Lets the other one compute until it has done the same. */
static void give_turn(struct side *s)
{
    struct lockstep *l = s->both;

    if (lockstep_ends(l))
        return;
    atomic_store(&l->turn, s->which == CT_REF ? TESTS_TURN : REFS_TURN);
    ct_os_wake_all(&l->turn);
    wait_for_turn(s);
}

/* ---- sums ---- */

/* Fails with the place of a value that is not finite, in one of the two rows. */
static void refuse_row(struct lockstep *l, const struct ct_judged *j, int kept, const float *ref,
                       const float *test)
{
    const struct side *s = &l->side[CT_REF];
    int c = 0;

    while (c < j->width && isfinite(ref[c]))
        c++;
    if (c == j->width) {
        s = &l->side[CT_TEST];
        for (c = 0; c < j->width - 1 && isfinite(test[c]);)
            c++;
    }
    char layer[32] = "";
    if (j->layer >= 0)
        snprintf(layer, sizeof layer, "layer %d, ", s->engine->first_layer + j->layer);
    carat_error why;
    (void)ct_fail_not_finite(s->engine, &why); /* both are inside a pass: their locks are held */
    lockstep_fail(l, CARAT_E_NUMERIC, "NaN or infinity in %s: %s%s, channel %d at position %d; %s",
                  ct_side_name(s->which), layer, j->result.operation, c, (int)l->b->row[kept], why.message);
}

/* Adds the errors of a row to the sums of its operation. */
static void add_row(struct lockstep *l, struct ct_judged *j, int kept, const float *ref, const float *test)
{
    const int hidden = l->side[CT_REF].engine->config.hidden;
    const float *before = j->residual ? l->before + (size_t)kept * (size_t)hidden : NULL;
    double error = 0, size = 0;

    for (int c = 0; c < j->width; c++) {
        double d = (double)test[c] - (double)ref[c];
        double r = l->b->replaces && before ? (double)ref[c] - (double)before[c] : (double)ref[c];
        error += d * d;
        size += r * r;
        if (j->error) {
            j->error[c] += d * d;
            j->size[c] += r * r;
        }
    }
    if (!isfinite(error) || !isfinite(size))
        refuse_row(l, j, kept, ref, test);
    if (!l->b->replaces) {
        j->carried[0] += error;
        j->carried[1] += size;
    }
}

/* The result of an operation in both engines: compares the rows that are kept, and replaces all. */
static void compare_matrix(struct lockstep *l, struct ct_judged *j, ct_mat of_ref, ct_mat of_test)
{
    const int hidden = l->side[CT_REF].engine->config.hidden;
    struct side *ref = &l->side[CT_REF], *test = &l->side[CT_TEST];
    struct ct_backend *from = ref->engine->backend, *to = test->engine->backend;
    const bool stream = ct_operations[j->op].stream;

    if (!of_ref.handle || !of_test.handle)
        return;
    for (int row = 0; row < test->n; row++) {
        int kept = test->kept[row];
        if (kept < 0 && !l->b->replaces)
            continue;
        from->verb.copy_out(from, ref->row, of_ref, row);
        if (kept >= 0 && j->width > 0) {
            to->verb.copy_out(to, test->row, of_test, row);
            add_row(l, j, kept, ref->row, test->row);
        }
        if (kept >= 0 && stream)
            memcpy(l->before + (size_t)kept * (size_t)hidden, ref->row, (size_t)hidden * sizeof(float));
        if (l->b->replaces)
            to->verb.copy_in(to, of_test, row, ref->row);
    }
}

static void compare_gate_up(struct lockstep *l, int layer)
{
    const struct side *ref = &l->side[CT_REF], *test = &l->side[CT_TEST];

    for (int i = 0; i < 2; i++) {
        struct ct_judged *j = ct_bisect_at(l->b, i ? CT_OP_UP : CT_OP_GATE, layer);
        for (int row = 0, at = 0; row < test->n; row++)
            if (test->kept[row] >= 0) {
                size_t to = (size_t)at++ * (size_t)j->width;
                add_row(l, j, test->kept[row], ref->gate_up[i] + to, test->gate_up[i] + to);
            }
    }
}

/* ---- inside the passes ---- */

/* gate and up for the rows of the pass that are compared. */
static void project_apart(struct side *s, const struct ct_event *event)
{
    struct ct_backend *backend = s->engine->backend;

    for (int i = 0; i < 2; i++) {
        const struct ct_weight *w = event->w[i];
        const struct ct_range all = {0, w->rows, 0};
        int at = 0;
        for (int row = 0; row < s->n; row++)
            if (s->kept[row] >= 0) {
                float *to = s->gate_up[i] + (size_t)at++ * (size_t)w->rows;
                backend->verb.project_some(backend, s->engine->pass.h, row, 1, &to, w, 1, &all);
            }
    }
}

static void compare_event(struct lockstep *l, const struct ct_event *event, int op)
{
    const struct handed *h = &l->handed;
    const struct side *test = &l->side[CT_TEST];
    const int layer = ct_operation_layer(test->engine, op);
    const int next = !ct_operations[op].several;

    assert(h->op == op && h->event->n_out == event->n_out && l->side[CT_REF].n == test->n);
    if (op == CT_OP_GEGLU && event->n == 2)
        compare_gate_up(l, layer);
    for (int i = 0; i < event->n_out; i++)
        compare_matrix(l, ct_bisect_at(l->b, (enum ct_operation)(op + i * next), layer), h->event->out[i],
                       event->out[i]);
}

/* A pass begins, or goes on with the rows that want logits, which are those that are compared. */
static void set_rows(struct side *s, bool begins, int rows)
{
    const carat_engine *e = s->engine;
    int n = 0;

    if (begins) {
        for (; n < rows; n++)
            s->kept[n] = e->rows.wanted[n] ? s->next++ : -1;
    } else {
        for (int row = 0; row < s->n; row++)
            if (s->kept[row] >= 0)
                s->kept[n++] = s->kept[row];
    }
    s->n = n;
}

static void bisect_hear(void *user, struct ct_backend *backend, const struct ct_event *event)
{
    struct side *s = user;
    struct lockstep *l = s->both;
    bool begins = strcmp(event->verb, "begin_pass") == 0;

    if (begins) {
        s->ours = s->engine->rows.sequence[0] == s->session->slot;
        s->written = false;
        if (s->ours) {
            s->stats = s->engine->stats;
            s->timed = true;
        }
    }
    if (!s->ours || s->written || lockstep_ends(l))
        return;
    if (begins || strcmp(event->verb, "select_rows") == 0)
        set_rows(s, begins, begins ? backend->verb.cost(backend, event).rows : 0);
    const int op = ct_operation_of(s->engine, event);
    if (op < 0)
        return;
    s->written = op == CT_OP_FINAL_NORM;
    if (op == CT_OP_GEGLU && event->n == 2)
        project_apart(s, event);
    if (lockstep_ends(l)) /* the values are not whole */
        return;
    if (s->which == CT_REF)
        l->handed = (struct handed){.op = op, .event = event};
    else
        compare_event(l, event, op);
    give_turn(s);
}

static int bisect_deliver(void *user, int token, const float *logits)
{
    struct side *s = user;
    struct lockstep *l = s->both;

    (void)token;
    if (lockstep_ends(l))
        return 1;
    if (s->which == CT_REF) {
        l->handed = (struct handed){.op = CT_OP_HEAD, .logits = logits};
    } else {
        assert(l->handed.op == CT_OP_HEAD);
        add_row(l, ct_bisect_at(l->b, CT_OP_HEAD, -1), s->heard++, l->handed.logits, logits);
    }
    give_turn(s);
    return atomic_load(&l->failed);
}

static int bisect_watch(void *user, size_t done, size_t total)
{
    struct side *s = user;

    (void)done;
    (void)total;
    return s->which == CT_REF ? watch_stops(s->both) : atomic_load(&s->both->failed);
}

/* ---- the tokens, in passes that both engines can take ---- */

static int tokens_of_pass(const struct lockstep *l, int at)
{
    int n = l->b->n - at;

    for (int i = 0; i < 2; i++) {
        const carat_engine *e = l->side[i].engine;
        n = CT_MIN(n, CT_MIN(e->decode_chunk, ct_kv_span(&e->cache, at)));
    }
    return n;
}

/* Puts the engine's statistics back as they were before the pass: times that are taken while two engines take
 * turns say nothing. */
static void forget_pass(struct side *s)
{
    ct_lock_enter(&s->engine->lock);
    if (s->timed)
        s->engine->stats = s->stats;
    s->timed = false;
    ct_lock_leave(&s->engine->lock);
}

/* Evaluates tokens [at, at + n), as drafts of the first: no pass of drafts is cut into rows, whatever an
 * engine has measured. */
static bool step_side(struct side *s, int at, int n)
{
    const struct ct_bisect *b = s->both->b;
    int wanted[CARAT_MOST_BISECT_ROWS], n_wanted = 0;
    carat_error err;

    for (int i = 0; i < b->n_rows; i++)
        if (b->row[i] >= at && b->row[i] < at + n)
            wanted[n_wanted++] = b->row[i] - at;
    struct ct_row row = {.row = {.session = s->session,
                                 .tokens = b->tokens + at,
                                 .n = n,
                                 .wants = n_wanted ? CARAT_WANTS_SOME : CARAT_WANTS_NONE,
                                 .wanted = wanted,
                                 .n_wanted = n_wanted,
                                 .deliver = bisect_deliver,
                                 .user = s},
                         .drafts = n - 1};
    carat_status status = ct_row_check(&row.row, &err);
    if (!status)
        status = ct_evaluate(&row, false, &err);
    forget_pass(s);
    if (status)
        lockstep_fail(s->both, status, "%s: %s", ct_side_name(s->which), err.message);
    return !lockstep_ends(s->both);
}

static void run_test(void *user)
{
    struct side *s = user;
    struct lockstep *l = s->both;

    for (int at = 0, n; at < l->b->n; at += n) {
        n = tokens_of_pass(l, at);
        if (!wait_for_turn(s) || !step_side(s, at, n))
            return;
    }
}

/* On the caller's thread, between passes: progress is told while no lock is held. */
static void run_ref(struct side *s)
{
    struct lockstep *l = s->both;
    const carat_bisect_options *o = l->b->o;

    for (int at = 0, n; at < l->b->n; at += n) {
        n = tokens_of_pass(l, at);
        if (!step_side(s, at, n))
            return;
        l->b->done += (size_t)n;
        if (o->progress && o->progress(o->user, l->b->done, l->b->total)) {
            lockstep_cancel(l);
            break;
        }
    }
    end_turns(l);
}

/* ---- beginning and end ---- */

static void end_side(struct side *s)
{
    (void)ct_listen_end(&s->listener);
    if (s->session)
        carat_session_close(s->session);
    free(s->kept);
    free(s->row);
    free(s->gate_up[0]);
}

/* Listens to an engine that nobody bisects: two who wait inside its passes for each other would wait for
 * ever. Without a session it only looks. */
static carat_status listen_to(struct side *s, carat_error *err)
{
    carat_engine *e = s->engine;
    bool busy = false;

    ct_lock_enter(&e->lock);
    for (const struct ct_trace *t = e->backend->trace; t; t = t->next)
        busy |= t->hook == bisect_hear;
    if (!busy && s->session)
        ct_listen_locked(&s->listener, e, (struct ct_trace){.hook = bisect_hear, .user = s, .reads = true},
                         false);
    ct_lock_leave(&e->lock);
    return busy
               ? ct_fail(err, CARAT_E_BUSY, "the engine of %s is being bisected, expected one call at a time",
                         ct_side_name(s->which))
               : CARAT_OK;
}

static carat_status begin_side(struct side *s, carat_error *err)
{
    const carat_engine *e = s->engine;
    const size_t widest = (size_t)ct_widest_output(e);
    const size_t apart = (size_t)s->both->b->n_rows * (size_t)e->pass.ffn.cols;
    carat_session_options o = {.size = sizeof o, .watch = bisect_watch, .user = s};

    CT_TRY(listen_to(s, err));
    s->kept = calloc((size_t)e->plan.chunk, sizeof *s->kept);
    s->row = calloc(widest, sizeof *s->row);
    s->gate_up[0] = calloc(2 * apart, sizeof **s->gate_up);
    if (!s->kept || !s->row || !s->gate_up[0])
        return ct_fail(err, CARAT_E_MEMORY, "out of memory for rows of %zu values", widest);
    s->gate_up[1] = s->gate_up[0] + apart;
    CT_TRY(carat_session_create(&s->session, s->engine, &o, err));
    return listen_to(s, err);
}

static carat_status run_both(struct lockstep *l, carat_error *err)
{
    ct_thread thread;

    CT_TRY(ct_os_thread_start(&thread, run_test, &l->side[CT_TEST], err));
    run_ref(&l->side[CT_REF]);
    ct_os_thread_join(thread);
    return atomic_load(&l->failed) ? ct_fail(err, l->failure.code, "%s", l->failure.message) : CARAT_OK;
}

carat_status ct_bisect_pass(struct ct_bisect *b, carat_error *err)
{
    struct lockstep l = {.b = b};
    carat_status status = CARAT_OK;

    l.before = calloc((size_t)b->n_rows * (size_t)b->engine[CT_REF]->config.hidden, sizeof *l.before);
    if (!l.before)
        status = ct_fail(err, CARAT_E_MEMORY, "out of memory for %d rows", b->n_rows);
    for (int i = 0; i < 2; i++) {
        l.side[i] = (struct side){.both = &l, .which = i, .engine = b->engine[i]};
        if (!status)
            status = begin_side(&l.side[i], err);
    }
    if (!status)
        status = run_both(&l, err);
    for (int i = 0; i < 2; i++)
        end_side(&l.side[i]);
    free(l.before);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c: two engines over prompts: what each evaluates next, and what becomes of a prompt. A step
 * evaluates a row of every prompt under way, with a driver that knows the text several, first in the
 * reference, then in the test, and scores them. How far two rows are apart is score.c's.
 *
 * The logits lie side by side, and each pair is scored by one thread, so that no bit depends on how many
 * there are. A row of the reference has all ids, one of the test those that its head gives to somebody who
 * draws. Prompts come from a callback and end one by one. What the command writes about a prompt is one line
 * of JSON; summary, table and report are functions of these lines. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "check/quality.h"
#include "engine/row.h"
#include "engine/row_logits.h"
#include "engine/session.h"
#include "os/fp_environment.h"
#include "os/pool.h"

/* ---- rows of two sides ---- */

/* Logits of two sides of the same rows, side by side, and what scoring them gave. A row is scored by one
 * thread, so that no bit depends on how many there are. */

/* A row of the reference has all ids of text, one of the test perhaps only those that its head computed. */
struct scored_row {
    struct ct_logits side[CT_SIDES];
    int32_t next;                /* the id that follows, or CT_SCORE_NO_NEXT and so on */
    enum ct_score_side wrong;    /* the side with a NaN or infinity, */
    int32_t wrong_id;            /* and the id that has it; without one: */
    carat_difference difference; /* what scoring gave */
};

struct scored_rows {
    struct ct_pool *pool;
    const struct ct_score *score;
    int capacity, n_vocab, n_text_vocab, top;
    double near_tie;
    float *value[CT_SIDES]; /* [capacity][n_vocab] */
    int32_t *id;            /* the same, of the test; NULL where it computes all logits */
    struct scored_row *row; /* [capacity] */
};

static inline float *scored_place(const struct scored_rows *r, int side, int row)
{
    return r->value[side] + (size_t)row * (size_t)r->n_vocab;
}

/* Memory for so many rows, and threads; some: the test may compute some logits only. E_MEMORY;
 * scored_close after it, too. */
static carat_status scored_open(struct scored_rows *r, int threads, bool some, carat_error *err)
{
    const size_t n = (size_t)r->capacity * (size_t)r->n_vocab;
    bool failed = some && !(r->id = malloc(n * sizeof *r->id));

    r->score = ct_score();
    for (int side = 0; side < CT_SIDES; side++)
        failed |= !(r->value[side] = malloc(n * sizeof *r->value[side]));
    failed |= !(r->row = calloc((size_t)r->capacity, sizeof *r->row));
    if (failed)
        return ct_fail(err, CARAT_E_MEMORY, "out of memory for %d rows of logits of two models", r->capacity);
    return ct_pool_create(&r->pool, threads, err);
}

static void scored_close(struct scored_rows *r)
{
    for (int side = 0; side < CT_SIDES; side++)
        free(r->value[side]);
    free(r->id);
    free(r->row);
    ct_pool_destroy(r->pool);
}

/* The first n rows are other ones now: nothing is known of them. */
static void scored_begin(struct scored_rows *r, int n)
{
    memset(r->row, 0, (size_t)n * sizeof *r->row);
}

/* Row `row` of a side is all logits that lie in its place, or these. */
static void scored_all(struct scored_rows *r, int side, int row, const float *value)
{
    r->row[row].side[side] = (struct ct_logits){.value = value, .n = r->n_text_vocab};
}

/* That of the test is what its head gave; a copy is kept. */
static void scored_take(struct scored_rows *r, int row, const struct ct_logits *logits)
{
    float *value = scored_place(r, CT_TEST, row);
    int32_t *id = r->id + (size_t)row * (size_t)r->n_vocab;
    const int n = ct_logits_below(logits, r->n_text_vocab);

    if (logits->id) /* first: the logits may lie in the same place, ids behind them */
        memcpy(id, logits->id, (size_t)n * sizeof *id);
    memmove(value, logits->value, (size_t)n * sizeof *value);
    r->row[row].side[CT_TEST] = (struct ct_logits){.value = value, .id = logits->id ? id : NULL, .n = n};
}

static void score_row(void *arg, int item, int thread)
{
    struct scored_rows *r = arg;
    struct scored_row *row = &r->row[item];
    const struct ct_logits *ref = &row->side[CT_REF], *test = &row->side[CT_TEST];
    const int n = CT_MIN(ref->n, test->n), next = row->next < ref->n ? row->next : CT_SCORE_NO_NEXT;
    struct ct_score_pair pair;

    (void)thread;
    row->wrong = CT_SCORE_BOTH_FINITE;
    if (n < 2) { /* a side failed, or its head computed no two ids of text */
        row->difference = (carat_difference){.size = sizeof row->difference,
                                             .top_ref = -1,
                                             .top_test = -1,
                                             .compared = n,
                                             .left_out = r->n_text_vocab - n};
        return;
    }
    if (test->id)
        r->score->some(&pair, scored_place(r, CT_REF, item), ref->value, ref->n, test, next, r->top);
    else
        r->score->pair(&pair, ref->value, test->value, n, next, r->top);
    row->wrong = pair.wrong;
    row->wrong_id = pair.wrong_column;
    if (pair.wrong != CT_SCORE_BOTH_FINITE)
        return;
    ct_difference(&row->difference, &pair, NULL, r->near_tie);
    row->difference.compared = n;
    row->difference.left_out = r->n_text_vocab - n;
}

/* Scores the first n rows, each on one thread. Where the test has some logits, those in the reference's place
 * are overwritten. */
static void score_rows(struct scored_rows *r, int n)
{
    ct_fpenv fp = ct_os_fp_enter();

    ct_pool_run(r->pool, n, score_row, r);
    ct_os_fp_leave(fp);
}

/* ---- compare ---- */

enum { LOGITS_BYTES = 32 << 20 /* of a side */ };

/* A prompt under way. */
struct prompt {
    struct compare *c;
    bool runs;
    carat_compare_prompt p;
    struct party {
        carat_session *session; /* NULL: logits are recorded */
        int32_t feed;           /* the id that it evaluates next */
        bool done;              /* it evaluates nothing more */
        int32_t *answer;
        int n;
        size_t capacity;
    } side[CT_SIDES];
    int positions;    /* that were told */
    int total;        /* positions there will be at most */
    int parted, stop; /* as in carat_compared */
    bool ends;        /* after this step */
    carat_status status;
    char message[sizeof((carat_error *)0)->message];
    int first, n; /* its rows of the step */
    int skip;     /* ids before these that the side under way evaluates */
};

struct compare {
    carat_engine *engine[CT_SIDES];
    const carat_compare_options *o;
    struct scored_rows rows;
    struct prompt *prompt; /* [parallel] */
    struct ct_row *step;   /* [parallel] of the side under way; user: the prompt */
    bool exhausted;        /* there are no further prompts */
    carat_status failed;
};

const char *carat_driver_name(carat_driver driver)
{
    static const char *const names[] = {"ref", "test", "free", "text"};

    return (size_t)driver < CT_COUNT(names) ? names[driver] : "";
}

/* True when the text behind a prompt is given. */
static bool is_known(const struct compare *c)
{
    return c->o->driver == CARAT_DRIVER_TEXT;
}

/* ---- prompts ---- */

static void __attribute__((format(printf, 3, 4)))
end_prompt(struct prompt *p, carat_status status, const char *format, ...)
{
    p->ends = true;
    p->status = status;
    CT_FORMAT(p->message, format);
}

static carat_status compare_check_ids(const struct compare *c, const int32_t *ids, int n, const char *what,
                                      carat_error *err)
{
    const int n_vocab = c->rows.n_vocab;

    for (int i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= n_vocab)
            return ct_fail(err, CARAT_E_ARGUMENT,
                           "id %d at index %d of the %s is outside the vocabulary of %d", (int)ids[i], i,
                           what, n_vocab);
    return CARAT_OK;
}

static carat_status check_prompt(const struct compare *c, const carat_compare_prompt *p, carat_error *err)
{
    const bool text = is_known(c);

    if (!p->prompt || p->n_prompt < 1 || p->n_text < 0 || (p->n_text && !p->text))
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "the prompt is NULL, or it has %d ids and %d of text, expected at least 1",
                       p->n_prompt, p->n_text);
    if ((p->n_text && !text) || (text && p->n_text < 1 && !p->recorded))
        return ct_fail(err, CARAT_E_ARGUMENT, "the driver is %s, and the text has %d ids",
                       carat_driver_name(c->o->driver), p->n_text);
    if (!p->recorded != (c->engine[CT_REF] != NULL))
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "a prompt needs an engine of the reference or recorded logits, not both");
    if (p->recorded && !text)
        return ct_fail(err, CARAT_E_ARGUMENT, "with recorded logits the driver is text, not %s",
                       carat_driver_name(c->o->driver));
    if (p->recorded && p->n_recorded != p->n_prompt + p->n_text)
        return ct_fail(err, CARAT_E_ARGUMENT, "%d rows of logits are recorded, expected %d, one for each id",
                       p->n_recorded, p->n_prompt + p->n_text);
    CT_TRY(compare_check_ids(c, p->prompt, p->n_prompt, "prompt", err));
    return compare_check_ids(c, p->text, p->n_text, "text", err);
}

/* Checks that both sides can hold all of a prompt. */
static void check_context(const struct compare *c, struct prompt *p)
{
    for (int side = 0; side < CT_SIDES; side++) {
        const carat_engine *e = c->engine[side];
        const int need = p->p.n_prompt + CT_MAX(p->p.n_text - !p->p.recorded, 0);
        if (e && need > e->plan.context && !p->ends)
            end_prompt(p, CARAT_E_CONTEXT,
                       "the prompt has %d ids%s, which do not fit into the context of %d of %s", need,
                       p->p.n_text ? " with its text" : "", e->plan.context, ct_side_name(side));
    }
}

static carat_status begin_prompt(struct compare *c, struct prompt *p, const carat_compare_prompt *given,
                                 carat_error *err)
{
    const int most = c->o->max_tokens;

    CT_TRY(check_prompt(c, given, err));
    *p = (struct prompt){.c = c,
                         .runs = true,
                         .p = *given,
                         .side = {p->side[CT_REF], p->side[CT_TEST]},
                         .total = most ? most : INT_MAX,
                         .parted = -1,
                         .stop = -1};
    p->p.whole |= given->recorded != NULL;
    if (is_known(c))
        p->total = CT_MIN(p->total, given->n_text + (given->recorded != NULL));
    for (int side = 0; side < CT_SIDES; side++) {
        p->side[side].n = 0;
        p->side[side].done = false;
        if (p->side[side].session)
            CT_TRY(ct_rewind(p->side[side].session, 0, err));
    }
    check_context(c, p);
    return CARAT_OK;
}

/* Fills free places with further prompts. */
static carat_status begin_more(struct compare *c, carat_error *err)
{
    for (int i = 0; i < c->o->parallel && !c->exhausted; i++) {
        carat_compare_prompt given = {.size = sizeof given};
        if (c->prompt[i].runs)
            continue;
        if (!c->o->next || !c->o->next(c->o->user, &given))
            c->exhausted = true;
        else
            CT_TRY(begin_prompt(c, &c->prompt[i], &given, err));
    }
    return CARAT_OK;
}

static void tell_end(struct compare *c, struct prompt *p, carat_error *err)
{
    const carat_compared compared = {.size = sizeof compared,
                                     .status = p->status,
                                     .message = p->message,
                                     .positions = p->positions,
                                     .parted = p->parted,
                                     .stop = p->stop,
                                     .answer_ref = p->side[CT_REF].answer,
                                     .n_ref = p->side[CT_REF].n,
                                     .answer_test = p->side[CT_TEST].answer,
                                     .n_test = p->side[CT_TEST].n};

    p->runs = false;
    if (p->status && !c->failed)
        c->failed = ct_fail(err, p->status, "%s", p->message);
    if (c->o->on_compared)
        c->o->on_compared(c->o->user, p->p.user, &compared);
}

/* ---- a step: which rows ---- */

/* The row that a side evaluates of a prompt in this step; p->n rows of it are compared. */
static carat_row row_of(const struct compare *c, const struct prompt *p, int side)
{
    if (p->positions == 0)
        return (carat_row){.tokens = p->p.prompt, .n = p->p.n_prompt, .wants = CARAT_WANTS_LAST};
    if (!is_known(c))
        return (carat_row){.tokens = &p->side[side].feed, .n = 1, .wants = CARAT_WANTS_LAST};
    return (carat_row){.tokens = p->p.text + p->positions - 1, .n = p->n, .wants = CARAT_WANTS_ALL};
}

static bool is_active(const struct prompt *p)
{
    return p->runs && !p->ends;
}

/* Lays the rows of all prompts one behind the other. Returns their number. */
static int lay_rows(struct compare *c)
{
    int running = 0, n = 0;

    for (int i = 0; i < c->o->parallel; i++)
        running += is_active(&c->prompt[i]);
    for (int i = 0; i < c->o->parallel; i++) {
        struct prompt *p = &c->prompt[i];
        if (!is_active(p))
            continue;
        p->first = n;
        p->n = 1;
        if (is_known(c) && p->positions > 0)
            p->n = CT_MIN(CT_MAX(1, c->rows.capacity / running), p->total - p->positions);
        n += p->n;
    }
    return n;
}

static int take_logits(void *user, int token, struct ct_draw_logits *logits)
{
    const struct prompt *p = user;

    scored_take(&p->c->rows, p->first + token - p->skip, &logits->have);
    return 0;
}

/* Says where the logits of a prompt's rows are: all those of ids that a side has evaluated. */
static void find_logits(struct compare *c, int side, const struct prompt *p, const carat_row *row)
{
    for (int k = 0; k < p->n && row->logits; k++)
        scored_all(&c->rows, side, p->first + k, scored_place(&c->rows, side, p->first + k));
    if (!row->logits)
        scored_all(&c->rows, side, p->first, carat_logits(row->session));
}

/* Evaluates the rows of a side. The reference gives all logits, whatever its head; the test what its head
 * gives to somebody who draws from the best. */
static carat_status evaluate_side(struct compare *c, int side, carat_error *err)
{
    const struct ct_reading best = {.k = CT_MAX(c->rows.top, CT_SCORE_HIGHEST), .n = c->rows.n_text_vocab};
    const bool some = side == CT_TEST && c->rows.id;
    carat_error message = {0};
    int n = 0;

    for (int i = 0; i < c->o->parallel; i++) {
        struct prompt *p = &c->prompt[i];
        struct ct_row *r = &c->step[n];
        carat_row *row = &r->row;
        if (!is_active(p) || p->side[side].done)
            continue;
        *r = (struct ct_row){.row = row_of(c, p, side)};
        row->session = p->side[side].session;
        row->user = p;
        p->skip = row->n - p->n;
        if (some || row->wants == CARAT_WANTS_ALL) /* a single row's stay in its session */
            row->logits = scored_place(&c->rows, side, p->first);
        if (some) {
            r->take = take_logits;
            r->reading = &best;
        }
        CT_TRY(ct_row_check(row, err));
        if (n++)
            r[-1].next = r;
    }
    if (n)
        (void)ct_evaluate(c->step, false, &message); /* each row has its status */
    for (int i = 0; i < n; i++) {
        const carat_row *row = &c->step[i].row;
        if (row->status == CARAT_E_CANCELLED)
            return ct_fail(err, CARAT_E_CANCELLED, "the comparison was cancelled");
        if (row->status)
            end_prompt(row->user, row->status, "%s: %s", ct_side_name(side), message.message);
        else if (!some)
            find_logits(c, side, row->user, row);
    }
    return CARAT_OK;
}

/* ---- a step: what was found ---- */

static bool ends_answer(const struct compare *c, int32_t id)
{
    return ct_is_stop(c->engine[c->engine[CT_REF] ? CT_REF : CT_TEST]->model, id);
}

static bool add_answer(struct party *s, int32_t id)
{
    if (!ct_array_grow(&s->answer, &s->capacity, (size_t)s->n + 1, sizeof *s->answer))
        return false;
    s->answer[s->n++] = id;
    return true;
}

/* The id of the highest logit of a row that is not compared any more. */
static int32_t highest(const struct ct_logits *l)
{
    int best = 0;

    for (int i = 1; i < l->n; i++)
        if (l->value[i] > l->value[best])
            best = i;
    return ct_logits_id(l, best);
}

/* Lets a side's answer go on with this id, with the driver free. */
static void go_on_alone(const struct compare *c, struct prompt *p, int side, int32_t id)
{
    struct party *s = &p->side[side];
    const int most = c->o->max_tokens;

    if (!add_answer(s, id)) {
        end_prompt(p, CARAT_E_MEMORY, "out of memory for an answer of %d ids", s->n);
        return;
    }
    s->feed = id;
    s->done = (!c->o->ignore_eos && ends_answer(c, id)) || (most && s->n >= most) ||
              s->session->n + 1 > c->engine[side]->plan.context;
}

/* Both answers have parted: each goes its own way. */
static void go_on_apart(struct compare *c, struct prompt *p)
{
    bool done = true;

    for (int side = 0; side < CT_SIDES; side++) {
        if (!p->side[side].done && !p->ends)
            go_on_alone(c, p, side, highest(&c->rows.row[p->first].side[side]));
        done &= p->side[side].done;
    }
    p->ends |= done;
}

static int32_t next_id(const struct compare *c, const struct prompt *p, const carat_difference *d)
{
    if (is_known(c))
        return p->positions < p->p.n_text ? p->p.text[p->positions] : -1;
    return c->o->driver == CARAT_DRIVER_TEST ? d->top_test : d->top_ref;
}

/* True when nothing more can be evaluated behind a position. */
static bool is_full(const struct compare *c, const struct prompt *p)
{
    const int held = p->p.n_prompt + p->positions;

    return !is_known(c) &&
           (held > c->engine[CT_REF]->plan.context || held > c->engine[CT_TEST]->plan.context);
}

/* Tells of a position, and decides how its prompt goes on: with what follows, apart, or not at all. */
static void take_position(struct compare *c, struct prompt *p, const carat_difference *d)
{
    const int32_t next = next_id(c, p, d);
    const carat_position position = {.size = sizeof position,
                                     .index = p->positions,
                                     .next = next,
                                     .after_stop = p->stop >= 0,
                                     .difference = *d};

    if (!add_answer(&p->side[CT_REF], d->top_ref) || !add_answer(&p->side[CT_TEST], d->top_test)) {
        end_prompt(p, CARAT_E_MEMORY, "out of memory for an answer of %d ids", p->positions);
        return;
    }
    p->positions++;
    if (p->stop < 0 && !p->p.whole && next >= 0 && ends_answer(c, next))
        p->stop = position.index;
    p->ends |= c->o->on_position && c->o->on_position(c->o->user, p->p.user, &position);
    p->ends |= p->positions == p->total || is_full(c, p);
    p->side[CT_REF].feed = p->side[CT_TEST].feed = next;
    if (c->o->driver == CARAT_DRIVER_FREE && !p->ends && !d->match) {
        p->parted = position.index;
        p->total = INT_MAX;
        p->side[CT_TEST].feed = d->top_test;
        p->ends = true;
        for (int side = 0; side < CT_SIDES; side++) {
            p->side[side].done = !c->o->ignore_eos && ends_answer(c, p->side[side].feed);
            p->ends &= p->side[side].done;
        }
    } else if (p->stop >= 0 && !c->o->ignore_eos) {
        p->ends = true;
    }
}

static void take_row(struct compare *c, struct prompt *p, int i)
{
    const struct scored_row *row = &c->rows.row[p->first + i];

    if (row->wrong != CT_SCORE_BOTH_FINITE)
        end_prompt(p, CARAT_E_NUMERIC, "%s: the logit of id %d at position %d is NaN or infinity",
                   ct_side_name(row->wrong == CT_SCORE_REF ? CT_REF : CT_TEST), (int)row->wrong_id,
                   p->positions);
    else
        take_position(c, p, &row->difference);
}

/* Says of each row what its other side and its next id are. */
static void complete_rows(struct compare *c)
{
    for (int i = 0; i < c->o->parallel; i++) {
        const struct prompt *p = &c->prompt[i];
        for (int k = 0; is_active(p) && k < p->n; k++) {
            const int at = p->positions + k, follows = at < p->p.n_text ? p->p.text[at] : CT_SCORE_NO_NEXT;
            c->rows.row[p->first + k].next = is_known(c)                         ? follows
                                             : c->o->driver == CARAT_DRIVER_TEST ? CT_SCORE_NEXT_TEST
                                                                                 : CT_SCORE_NEXT_REF;
            if (p->p.recorded)
                scored_all(&c->rows, CT_REF, p->first + k,
                           p->p.recorded + (size_t)(p->p.n_prompt - 1 + at) * (size_t)c->rows.n_vocab);
        }
    }
}

static carat_status step_all(struct compare *c, carat_error *err)
{
    const int n = lay_rows(c);

    scored_begin(&c->rows, n);
    for (int side = 0; side < CT_SIDES; side++)
        if (c->engine[side])
            CT_TRY(evaluate_side(c, side, err));
    complete_rows(c);
    score_rows(&c->rows, n);
    for (int i = 0; i < c->o->parallel; i++) {
        struct prompt *p = &c->prompt[i];
        if (!p->runs)
            continue;
        if (p->parted >= 0 && !p->ends)
            go_on_apart(c, p);
        for (int k = 0; k < p->n && !p->ends && p->parted < 0; k++)
            take_row(c, p, k);
        if (p->ends)
            tell_end(c, p, c->failed ? NULL : err);
    }
    return CARAT_OK;
}

/* ---- the call ---- */

static carat_status check_options(const carat_compare_options *o, carat_error *err)
{
    if (!*carat_driver_name(o->driver))
        return ct_fail(err, CARAT_E_ARGUMENT, "driver is %d, which is not a carat_driver", (int)o->driver);
    if (o->max_tokens >= 0 && o->parallel >= 0 && o->top >= 0 && o->top <= CT_SCORE_TOP &&
        !isnan(o->near_tie))
        return CARAT_OK;
    return ct_fail(
        err, CARAT_E_ARGUMENT,
        "max_tokens is %d, parallel %d, top %d, near_tie %g; expected numbers from 0 on, top up to %d",
        o->max_tokens, o->parallel, o->top, o->near_tie, CT_SCORE_TOP);
}

static carat_status check_engines(const carat_engine *ref, const carat_engine *test,
                                  const carat_compare_options *o, carat_error *err)
{
    if (ref == test)
        return ct_fail(err, CARAT_E_ARGUMENT, "ref and test are one engine, expected two: they run in turn");
    if (ref && (ref->config.n_vocab != test->config.n_vocab ||
                ref->config.n_text_vocab != test->config.n_text_vocab))
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "the vocabularies have %d and %d ids (of text %d and %d), expected the same",
                       ref->config.n_vocab, test->config.n_vocab, ref->config.n_text_vocab,
                       test->config.n_text_vocab);
    for (int side = 0; side < CT_SIDES; side++) {
        const carat_engine *e = side == CT_REF ? ref : test;
        if (e && o->parallel > e->plan.sessions)
            return ct_fail(err, CARAT_E_ARGUMENT, "parallel is %d, expected at most %d, the sessions of %s",
                           o->parallel, e->plan.sessions, ct_side_name(side));
    }
    return CARAT_OK;
}

static carat_status open_all(struct compare *c, carat_error *err)
{
    const int parallel = c->o->parallel;
    const size_t row = (size_t)c->rows.n_vocab * sizeof(float);
    /* other heads leave out what is not asked for, and compute it with the same bits when it is */
    const bool few = c->engine[CT_TEST]->head.o.shortlist_tiles > 0;

    c->rows.capacity =
        (int)CT_MAX((size_t)parallel, CT_MIN((size_t)c->engine[CT_TEST]->plan.chunk, LOGITS_BYTES / row));
    c->prompt = calloc((size_t)parallel, sizeof *c->prompt);
    c->step = calloc((size_t)parallel, sizeof *c->step);
    if (!c->prompt || !c->step)
        return ct_fail(err, CARAT_E_MEMORY, "out of memory for %d prompts", parallel);
    CT_TRY(scored_open(&c->rows, c->engine[CT_TEST]->plan.threads, few, err));
    const carat_session_options options = {.size = sizeof options, .watch = c->o->watch, .user = c->o->user};
    for (int i = 0; i < 2 * parallel; i++) {
        const int side = i % CT_SIDES;
        if (c->engine[side])
            CT_TRY(
                carat_session_create(&c->prompt[i / 2].side[side].session, c->engine[side], &options, err));
    }
    return CARAT_OK;
}

static void close_all(struct compare *c)
{
    for (int i = 0; c->prompt && i < c->o->parallel; i++)
        for (int side = 0; side < CT_SIDES; side++) {
            struct party *s = &c->prompt[i].side[side];
            if (s->session)
                carat_session_close(s->session);
            free(s->answer);
        }
    scored_close(&c->rows);
    free(c->prompt);
    free(c->step);
}

static bool is_under_way(const struct compare *c)
{
    bool runs = false;

    for (int i = 0; i < c->o->parallel; i++)
        runs |= c->prompt[i].runs;
    return runs;
}

carat_status carat_compare(carat_engine *ref, carat_engine *test, const carat_compare_prompt *prompt,
                           const carat_compare_options *options, carat_error *err)
{
    CT_GIVEN(test, err);
    CT_GIVEN(prompt, err);
    carat_compare_prompt p = {0};
    carat_compare_options o = {0};

    CT_TRY(ct_take_struct(&p, sizeof p, prompt, "carat_compare_prompt", err));
    CT_TRY(ct_take_struct(&o, sizeof o, options, "carat_compare_options", err));
    CT_TRY(check_options(&o, err));
    o.parallel = o.parallel ? o.parallel : 1;
    CT_TRY(check_engines(ref, test, &o, err));
    struct compare c = {.engine = {ref, test},
                        .o = &o,
                        .rows = {.n_vocab = test->config.n_vocab,
                                 .n_text_vocab = test->config.n_text_vocab,
                                 .top = o.top ? o.top : CT_DEFAULT_TOP,
                                 .near_tie = o.near_tie != 0 ? o.near_tie : CT_DEFAULT_NEAR_TIE}};
    carat_status status = open_all(&c, err);
    if (!status)
        status = begin_prompt(&c, &c.prompt[0], &p, err);
    while (!status && !(status = begin_more(&c, err)) && is_under_way(&c))
        status = step_all(&c, err);
    close_all(&c);
    return status ? status : c.failed;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* constraint.c: a form compiled for a vocabulary, and matchers in it. Which texts it has is the automaton's
 * (grammar/); here is which id leads where, what is free before a form begins, and what its ending takes.
 *
 * A generation has its form three times: where it begins, where the ids given have come to, and those drawn
 * in the pass under way, which may be taken back. The budget is part of what fits. */
#include "engine/constraint.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "checkpoint/checkpoint.h"
#include "grammar/gbnf.h"
#include "grammar/ids.h"
#include "grammar/mask.h"
#include "grammar/regex.h"
#include "grammar/schema.h"
#include "grammar/tool_call.h"
#include "os/clock.h"
#include "os/lock.h"
#include "text/chat/call.h"
#include "text/chat/thought.h"

struct matcher;

struct carat_constraint {
    atomic_int holders;
    const carat_model *model;
    struct ct_thought_marks marks;
    /* Text before the form is free and may be all there is; the form begins with this id, which is part of
     * it. -1: the form begins at once. */
    int32_t opens;
    bool stays_free; /* that id is not given: the form never begins */
    struct ct_grammar grammar;
    double seconds;
    struct ct_lock lock; /* for what is below, and the places of its matchers */
    struct matcher *matchers;
    struct ct_ids ids;
    struct ct_masks masks;
};

/* The place where an answer is. */
enum phase { IN_FORM, BEFORE_FORM, IN_THOUGHT };

struct matcher {
    carat_matcher face;
    carat_constraint *constraint;
    enum phase phase;
    int32_t state;
    struct matcher *before, *next; /* of the same form */
    uint64_t bits[];               /* of the vocabulary */
};

static size_t mask_words(const carat_constraint *c)
{
    return ((size_t)c->model->config.n_vocab + 63) / 64;
}

static struct matcher *own(const carat_matcher *m)
{
    return (struct matcher *)m;
}

/* ---- the form ---- */

/* The rule of what the form itself says. */
static carat_status form_rule(carat_constraint *c, const carat_constraint_options *o, int32_t *root,
                              carat_error *err)
{
    const struct ct_str text = {o->text, o->n_text ? o->n_text : strlen(o->text)};
    const struct ct_schema_options json = {.space = o->json_dumps ? CT_SPACE_DUMPS : CT_SPACE_JSON};
    const struct ct_call_options calls = {.choice = o->tool_choice, .one = o->one_call != 0};

    switch (o->form) {
    case CARAT_FORM_SCHEMA:
        return ct_schema_text(&c->grammar, text, &json, root, err);
    case CARAT_FORM_REGEX:
        return ct_regex_rule(&c->grammar, text, root, err);
    case CARAT_FORM_GRAMMAR:
        return ct_gbnf(&c->grammar, text, c->model->tokenizer, root, err);
    case CARAT_FORM_TOOLS:
        c->stays_free = calls.choice && strcmp(calls.choice, "none") == 0;
        return ct_calls_rule(&c->grammar, c->model->tokenizer, text, &calls, root, &c->opens, err);
    }
    return ct_fail(err, CARAT_E_ARGUMENT, "form is %d, expected a carat_form", (int)o->form);
}

/* Calls beside what a form says: both are required, so that neither is free. */
static carat_status add_calls(carat_constraint *c, const carat_constraint_options *o, int32_t *root,
                              carat_error *err)
{
    const struct ct_call_options options = {.choice = "required", .one = o->one_call != 0};
    int32_t calls;

    if (o->form == CARAT_FORM_TOOLS)
        return ct_fail(err, CARAT_E_ARGUMENT, "tools are given twice, expected a form beside them");
    CT_TRY(ct_calls_rule(&c->grammar, c->model->tokenizer, ct_str_of(o->tools), &options, &calls, &c->opens,
                         err));
    const int32_t both = ct_grammar_rule(&c->grammar, "form or calls");
    ct_grammar_call(&c->grammar, ct_rule_start(&c->grammar, both), *root, ct_rule_end(&c->grammar, both));
    ct_grammar_call(&c->grammar, ct_rule_start(&c->grammar, both), calls, ct_rule_end(&c->grammar, both));
    *root = both;
    return CARAT_OK;
}

/* Nobody could tell how many ids an answer needs, and whoever asks would fill all states anew. */
static carat_status fail_endless(carat_error *err)
{
    return ct_fail(err, CARAT_E_ARGUMENT,
                   "the shortest answer of this form needs more than %d states, expected a simpler one",
                   CT_SETS_MAX);
}

static carat_status compile(carat_constraint *c, const carat_constraint_options *o, carat_error *err)
{
    const struct ct_trie *trie;
    int32_t root = -1;

    if (c->grammar.watch) /* what the vocabulary needs once is not the form's */
        CT_TRY(ct_tokenizer_trie(&trie, c->model->tokenizer, err));
    if (ct_watch_ended(c->grammar.watch, CT_WATCH_STEPS))
        return ct_watch_fail(err);

    CT_TRY(form_rule(c, o, &root, err));
    if (o->tools)
        CT_TRY(add_calls(c, o, &root, err));
    CT_TRY(ct_grammar_finish(&c->grammar, root, err));
    CT_TRY(ct_ids_open(&c->ids, &c->grammar, c->model->tokenizer, err));
    CT_TRY(ct_masks_open(&c->masks, &c->ids, c->model->config.n_text_vocab, CT_MASK_BYTES, err));
    if (!c->grammar.watch)
        return CARAT_OK;
    /* whoever uses the form asks, and it is kept */
    const int shortest = ct_ids_shortest(&c->ids, c->ids.automaton.start);
    if (ct_watch_ended(c->grammar.watch, CT_WATCH_STEPS))
        return ct_watch_fail(err);
    return shortest == INT32_MAX ? fail_endless(err) : CARAT_OK;
}

carat_status carat_constraint_create(carat_constraint **constraint, const carat_model *model,
                                     const carat_constraint_options *options, carat_error *err)
{
    CT_GIVEN(constraint, err);
    CT_GIVEN(model, err);
    CT_GIVEN(options, err);
    const double start = ct_os_seconds();
    carat_constraint_options o = {0};

    CT_TRY(ct_take_struct(&o, sizeof o, options, "carat_constraint_options", err));
    CT_GIVEN(o.text, err);
    if (!model->tokenizer)
        return ct_fail(err, CARAT_E_NOT_FOUND, "the model has no tokenizer, and a form needs text");
    carat_constraint *c = calloc(1, sizeof *c);
    if (!c)
        return ct_no_memory(err, "a form");
    atomic_init(&c->holders, 1);
    c->model = model;
    c->marks = ct_thought_marks(model->tokenizer);
    c->opens = -1;
    ct_grammar_init(&c->grammar);
    struct ct_grammar_watch watch = {.progress = o.progress, .user = o.user};
    c->grammar.watch = o.progress ? &watch : NULL;
    carat_status status = compile(c, &o, err);
    c->grammar.watch = NULL; /* nor is what is asked of it later */
    c->seconds = ct_os_seconds() - start;
    if (status)
        carat_constraint_close(c);
    else
        *constraint = c;
    return status;
}

void carat_constraint_close(carat_constraint *constraint)
{
    if (!constraint || atomic_fetch_sub(&constraint->holders, 1) > 1)
        return;
    ct_masks_close(&constraint->masks);
    ct_ids_close(&constraint->ids);
    ct_grammar_free(&constraint->grammar);
    free(constraint);
}

/* ---- one caller at a time ---- */

/* Forgets states that no matcher is in, where memory for states runs out. */
static void make_room(carat_constraint *c)
{
    struct ct_automaton *a = &c->ids.automaton;

    for (const struct matcher *m = c->matchers; m; m = m->next)
        ct_automaton_mark(a, m->state);
    ct_masks_forget(&c->masks);
    ct_ids_forget(&c->ids);
    ct_automaton_compact(a);
    for (struct matcher *m = c->matchers; m; m = m->next)
        m->state = ct_automaton_moved(a, m->state);
}

static void enter(carat_constraint *c)
{
    ct_lock_enter(&c->lock);
    if (ct_automaton_crowded(&c->ids.automaton) || c->ids.automaton.full)
        make_room(c);
}

/* True when a question is to be asked: once, and once more where states have found no room meanwhile; then
 * nearly all room is there for it. Matchers' states have other numbers then. */
static bool asks(carat_constraint *c, int turn)
{
    const bool again = turn == 1 && c->ids.automaton.full;

    if (again)
        make_room(c);
    return turn == 0 || again;
}

static void leave(carat_constraint *c)
{
    ct_lock_leave(&c->lock);
}

carat_status carat_constraint_get_info(carat_constraint *constraint, carat_constraint_info *info,
                                       carat_error *err)
{
    CT_GIVEN(constraint, err);
    int shortest = 0;

    enter(constraint);
    for (int turn = 0; asks(constraint, turn); turn++)
        shortest = ct_ids_shortest(&constraint->ids, constraint->ids.automaton.start);
    const carat_constraint_info full = {.size = sizeof full,
                                        .rules = constraint->grammar.n_rules,
                                        .nodes = constraint->grammar.n_nodes,
                                        .states = (int)constraint->ids.automaton.n_rows,
                                        .shortest = shortest,
                                        .seconds = constraint->seconds};
    leave(constraint);
    return ct_give_struct(info, &full, sizeof full, "carat_constraint_info", err);
}

/* ---- a place in it ---- */

struct place {
    enum phase phase;
    int32_t state;
};

static struct place matcher_place(const struct matcher *m)
{
    return (struct place){m->phase, m->state};
}

/* Nothing of the form is written yet. */
static bool is_beginning(const carat_constraint *c, struct place at)
{
    return at.phase == BEFORE_FORM || (at.phase == IN_FORM && at.state == c->ids.automaton.start);
}

/* The place behind an id; state CT_DEAD: the id does not fit. */
static struct place follow(carat_constraint *c, struct place at, int32_t id)
{
    const struct place begin = {c->opens < 0 ? IN_FORM : BEFORE_FORM, c->ids.automaton.start};

    if (at.phase == IN_THOUGHT)
        return id == c->marks.end ? begin : at;
    if (id >= 0 && id == c->marks.begin && is_beginning(c, at))
        return (struct place){IN_THOUGHT, at.state};
    if (at.phase == BEFORE_FORM && id != c->opens)
        return at;
    if (at.phase == BEFORE_FORM && c->stays_free)
        return (struct place){BEFORE_FORM, CT_DEAD};
    return (struct place){IN_FORM, ct_ids_follow(&c->ids, at.state, id)};
}

/* True when the form can be ended within so many ids. */
static bool can_end(carat_constraint *c, struct place at, int left)
{
    if (at.phase == BEFORE_FORM || left == CT_ANY_NUMBER)
        return true;
    if (at.phase == IN_THOUGHT)
        return left > 0 && (c->opens >= 0 || ct_ids_ends_within(&c->ids, c->ids.automaton.start, left - 1));
    return ct_ids_ends_within(&c->ids, at.state, left);
}

static enum ct_fit fit_of(carat_constraint *c, struct place at, int32_t id, int left)
{
    const struct place next = follow(c, at, id);

    if (next.state == CT_DEAD)
        return CT_FITS_NOT;
    return can_end(c, next, left == CT_ANY_NUMBER ? left : left - 1) ? CT_FITS : CT_TOO_LONG;
}

/* ---- verbs ---- */

enum ct_fit ct_matcher_fits(const carat_matcher *face, int32_t id, int left)
{
    carat_constraint *c = own(face)->constraint;

    enum ct_fit fit = CT_FITS_NOT;

    enter(c);
    for (int turn = 0; asks(c, turn); turn++)
        fit = fit_of(c, matcher_place(own(face)), id, left);
    leave(c);
    return fit;
}

/* Bits 0 to n - 1; those above, up to a multiple of 64, become 0. */
static void set_all(uint64_t *bits, int32_t n, bool on)
{
    memset(bits, on ? 0xff : 0, (size_t)(n / 64) * sizeof *bits);
    if (n % 64)
        bits[n / 64] = on ? (UINT64_C(1) << n % 64) - 1 : 0;
}

static void make_mask(struct matcher *m, int left)
{
    carat_constraint *c = m->constraint;
    /* ids that mean more than their texts */
    const int32_t marks[] = {c->opens, c->marks.begin, c->marks.end};
    const int32_t n = c->model->config.n_text_vocab;
    const int most = left == CT_ANY_NUMBER ? left : left - 1;
    const struct place at = matcher_place(m);
    uint64_t *bits = m->bits;

    if (at.phase == IN_FORM)
        ct_masks_of(&c->masks, at.state, most, bits);
    else
        set_all(bits, n, can_end(c, at, most));
    for (size_t i = 0; i < CT_COUNT(marks); i++) {
        const uint64_t bit = UINT64_C(1) << (marks[i] & 63);
        if (marks[i] >= 0 && marks[i] < n)
            bits[marks[i] / 64] &= ~bit;
        if (marks[i] >= 0 && marks[i] < n && fit_of(c, at, marks[i], left) == CT_FITS)
            bits[marks[i] / 64] |= bit;
    }
}

uint64_t *ct_matcher_mask(carat_matcher *face, int left)
{
    carat_constraint *c = own(face)->constraint;

    enter(c);
    for (int turn = 0; asks(c, turn); turn++)
        make_mask(own(face), left);
    leave(c);
    return own(face)->bits;
}

void ct_matcher_accept(carat_matcher *face, int32_t id)
{
    carat_constraint *c = own(face)->constraint;

    struct place next = {IN_FORM, CT_DEAD};

    enter(c);
    for (int turn = 0; asks(c, turn); turn++)
        next = follow(c, matcher_place(own(face)), id);
    own(face)->phase = next.phase;
    own(face)->state = next.state;
    leave(c);
}

bool ct_matcher_complete(const carat_matcher *face)
{
    const struct matcher *m = own(face);
    carat_constraint *c = m->constraint;

    enter(c);
    const bool complete =
        m->phase == BEFORE_FORM || (m->phase == IN_FORM && ct_automaton_accepts(&c->ids.automaton, m->state));
    leave(c);
    return complete;
}

/* True when nothing but white space leads on from a state where the form may end, nor from any behind it. A
 * further call does not count: each may be the last. */
static bool only_blanks_follow(carat_constraint *c, int32_t state)
{
    const int32_t call = ct_call_span(c->model->tokenizer).begin;
    enum { MOST = 64 }; /* states; a form that has more of them for white space counts as open */
    struct ct_automaton *a = &c->ids.automaton;
    int32_t seen[MOST] = {state};
    int n = 1;

    for (int i = 0; i < n; i++)
        for (int32_t symbol = 0; symbol < 256 + c->grammar.n_tokens; symbol++) {
            const int32_t next = ct_automaton_symbol(a, seen[i], symbol);
            int k = 0;
            if (next == CT_DEAD || (symbol >= 256 && c->grammar.token[symbol - 256] == call))
                continue;
            if (symbol == 0 || symbol >= 256 || !strchr(" \t\r\n", symbol))
                return false;
            while (k < n && seen[k] != next)
                k++;
            if (k == MOST)
                return false;
            seen[k] = next;
            n = CT_MAX(n, k + 1);
        }
    return true;
}

static bool matcher_closed(const carat_matcher *face, bool stopped)
{
    const struct matcher *m = own(face);
    carat_constraint *c = m->constraint;
    bool closed = false;

    enter(c);
    for (int turn = 0; m->phase == IN_FORM && asks(c, turn); turn++)
        closed =
            ct_automaton_accepts(&c->ids.automaton, m->state) && (stopped || only_blanks_follow(c, m->state));
    leave(c);
    return closed;
}

static int32_t matcher_ending(const carat_matcher *face)
{
    const struct matcher *m = own(face);
    carat_constraint *c = m->constraint;

    if (m->phase == IN_THOUGHT)
        return c->marks.end;
    if (m->phase == BEFORE_FORM)
        return -1;
    int32_t id = -1;

    enter(c);
    for (int turn = 0; asks(c, turn); turn++)
        id = ct_ids_ending(&c->ids, m->state);
    leave(c);
    return id;
}

int ct_matcher_shortest(const carat_matcher *face)
{
    const struct matcher *m = own(face);
    carat_constraint *c = m->constraint;
    const bool thinks = m->phase == IN_THOUGHT;

    if (m->phase == BEFORE_FORM || (thinks && c->opens >= 0))
        return thinks;
    int n = 0;

    enter(c);
    for (int turn = 0; asks(c, turn); turn++)
        n = ct_ids_shortest(&c->ids, thinks ? c->ids.automaton.start : m->state);
    leave(c);
    return n == INT32_MAX ? n : thinks + n;
}

int ct_matcher_draft(const carat_matcher *face, int32_t *ids, int k)
{
    const struct matcher *m = own(face);
    carat_constraint *c = m->constraint;

    if (m->phase != IN_FORM)
        return 0;
    int n = 0;

    enter(c);
    for (int turn = 0; asks(c, turn); turn++)
        n = ct_ids_draft(&c->ids, m->state, ids, k);
    leave(c);
    return n;
}

static bool matcher_begun(const carat_matcher *face)
{
    const struct matcher *m = own(face);
    carat_constraint *c = m->constraint;

    enter(c);
    const bool begun = !is_beginning(c, matcher_place(m));
    leave(c);
    return begun;
}

static const carat_model *matcher_model(const carat_matcher *face)
{
    return own(face)->constraint->model;
}

void carat_matcher_close(carat_matcher *face)
{
    if (!face)
        return;
    struct matcher *m = own(face);
    carat_constraint *c = m->constraint;
    enter(c);
    *(m->before ? &m->before->next : &c->matchers) = m->next;
    if (m->next)
        m->next->before = m->before;
    leave(c);
    carat_constraint_close(c);
    free(m);
}

carat_status carat_matcher_copy(carat_matcher **matcher, const carat_matcher *from, carat_error *err)
{
    CT_GIVEN(matcher, err);
    CT_GIVEN(from, err);
    const size_t bits = mask_words(own(from)->constraint) * sizeof(uint64_t);
    struct matcher *m = malloc(sizeof *m + bits);

    if (!m)
        return ct_no_memory(err, "a matcher");
    carat_constraint *c = own(from)->constraint;
    enter(c);
    *m = *own(from);
    m->before = NULL;
    m->next = c->matchers;
    if (m->next)
        m->next->before = m;
    c->matchers = m;
    leave(c);
    memset(m->bits, 0, bits);
    atomic_fetch_add(&c->holders, 1);
    *matcher = &m->face;
    return CARAT_OK;
}

/* ---- a generation ---- */

static void assign(carat_matcher *to, const carat_matcher *from)
{
    carat_constraint *c = own(from)->constraint;

    assert(own(to)->constraint == c);
    enter(c);
    own(to)->phase = own(from)->phase;
    own(to)->state = own(from)->state;
    leave(c);
}

static void form_close(struct ct_form *f)
{
    carat_matcher_close(f->begins);
    carat_matcher_close(f->given);
    carat_matcher_close(f->drawn);
    *f = (struct ct_form){0};
}

static carat_status form_open(struct ct_form *f, const carat_matcher *begins, carat_error *err)
{
    carat_status status = carat_matcher_copy(&f->begins, begins, err);

    if (!status)
        status = carat_matcher_copy(&f->given, begins, err);
    if (!status)
        status = carat_matcher_copy(&f->drawn, begins, err);
    if (status)
        form_close(f);
    return status;
}

static void form_begin(struct ct_form *f, bool thinks)
{
    struct matcher *m = own(f->given);

    assign(f->given, f->begins);
    enter(m->constraint);
    if (thinks && is_beginning(m->constraint, matcher_place(m)))
        m->phase = IN_THOUGHT;
    leave(m->constraint);
}

static carat_status form_check(const struct ct_form *f, int left, carat_error *err)
{
    const int shortest = ct_matcher_shortest(f->given);

    if (shortest <= left)
        return CARAT_OK;
    if (shortest == INT32_MAX)
        return fail_endless(err);
    return ct_fail(err, CARAT_E_ARGUMENT,
                   "the shortest answer of this form takes %d tokens, and at most %d may come; allow more "
                   "tokens, or a longer context",
                   shortest, left);
}

static void form_draws(struct ct_form *f)
{
    assign(f->drawn, f->given);
}

static int form_follow(struct ct_form *f, const int32_t *draft, int k)
{
    int i = 0;

    for (; i < k && ct_matcher_fits(f->drawn, draft[i], CT_ANY_NUMBER) == CT_FITS; i++)
        ct_matcher_accept(f->drawn, draft[i]);
    form_draws(f);
    return i;
}

static const uint64_t *matcher_refuse(const struct ct_draw_form *d, int32_t id, enum ct_fit *fit)
{
    const bool complete = ct_matcher_complete(d->matcher);
    bool stops = false;

    for (int i = 0; i < d->n_stop; i++)
        stops |= d->stop[i] == id;
    *fit = !stops ? ct_matcher_fits(d->matcher, id, d->left) : complete ? CT_FITS : CT_FITS_NOT;
    if (*fit == CT_FITS)
        return NULL;
    uint64_t *bits = ct_matcher_mask(d->matcher, d->left);
    for (int i = 0; i < d->n_stop; i++) {
        const uint64_t bit = UINT64_C(1) << d->stop[i] % 64;
        if (complete)
            bits[d->stop[i] / 64] |= bit;
        else
            bits[d->stop[i] / 64] &= ~bit;
    }
    return bits;
}

static const struct ct_matcher_verbs verbs = {
    .model = matcher_model,
    .open = form_open,
    .close = form_close,
    .begin = form_begin,
    .check = form_check,
    .draws = form_draws,
    .follow = form_follow,
    .draft = ct_matcher_draft,
    .refuse = matcher_refuse,
    .accept = ct_matcher_accept,
    .complete = ct_matcher_complete,
    .closed = matcher_closed,
    .begun = matcher_begun,
    .ending = matcher_ending,
};

carat_status carat_matcher_create(carat_matcher **matcher, carat_constraint *constraint, carat_error *err)
{
    CT_GIVEN(matcher, err);
    CT_GIVEN(constraint, err);
    const struct matcher begin = {.face = {&verbs},
                                  .constraint = constraint,
                                  .phase = constraint->opens < 0 ? IN_FORM : BEFORE_FORM,
                                  .state = CT_DEAD};

    CT_TRY(carat_matcher_copy(matcher, &begin.face, err));
    enter(constraint);
    own(*matcher)->state = constraint->ids.automaton.start;
    leave(constraint);
    return CARAT_OK;
}

/* 0 stands for any number in the public functions. */
static int left_of(int left)
{
    return left > 0 ? left : CT_ANY_NUMBER;
}

carat_status carat_matcher_accept(carat_matcher *matcher, int32_t id, carat_error *err)
{
    CT_GIVEN(matcher, err);
    if (ct_matcher_fits(matcher, id, CT_ANY_NUMBER) != CT_FITS)
        return ct_fail(err, CARAT_E_CONSTRAINT, "the form of the answer does not go on with id %d", (int)id);
    ct_matcher_accept(matcher, id);
    return CARAT_OK;
}

int carat_matcher_allows(const carat_matcher *matcher, int32_t id, int left)
{
    return matcher && ct_matcher_fits(matcher, id, left_of(left)) == CT_FITS;
}

const uint64_t *carat_matcher_mask(carat_matcher *matcher, int left)
{
    return matcher ? ct_matcher_mask(matcher, left_of(left)) : NULL;
}

int carat_matcher_draft(const carat_matcher *matcher, int32_t *ids, int k)
{
    return matcher && ids && k > 0 ? ct_matcher_draft(matcher, ids, k) : 0;
}

int carat_matcher_complete(const carat_matcher *matcher)
{
    return matcher && ct_matcher_complete(matcher);
}

int carat_matcher_shortest(const carat_matcher *matcher)
{
    return matcher ? ct_matcher_shortest(matcher) : 0;
}

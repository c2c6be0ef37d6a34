/* SPDX-License-Identifier: Apache-2.0 */
/* readout.c: see readout.h. How likely an id is comes from the logits that it is drawn from, in the pass;
 * its text, and whether ids go round, when it is given, which ids behind an end never are. */
#include "generate/readout.h"

#include <math.h>
#include <stdlib.h>

/* ---- opening ---- */

carat_status ct_readout_open(struct ct_readout *t, const carat_session *s, const carat_generation_options *o,
                             carat_error *err)
{
    const carat_model *m = s->engine->model;

    *t = (struct ct_readout){.logprobs = o->logprobs != 0,
                             .n_top = CT_MIN(o->top_logprobs, m->config.n_text_vocab),
                             .marks = ct_thought_marks(m->tokenizer),
                             .goes_on = o->in_thought != 0};
    t->call = m->tokenizer ? ct_call_span(m->tokenizer) : (struct ct_call_span){.begin = -1};
    if (m->tokenizer && t->call.begin == ct_tokenizer_control(m->tokenizer, CT_CONTROL_START_CALL))
        t->n_call_begin = strlen(CARAT_CALL_START);
    CT_TRY(ct_stops_open(&t->stops, o->stops, o->n_stops, err));
    if (t->stops.n && !m->tokenizer)
        return ct_fail(err, CARAT_E_ARGUMENT, "the model has no tokenizer, and stop strings need text");
    CT_TRY(ct_guard_open(&t->guard, o->loop_guard, err));
    t->never = malloc(CT_MOST_APART * sizeof *t->never);
    if (!t->never)
        return ct_no_memory(err, "a generation");
    t->n_never = ct_never_drawn(s->engine, o->sampling, t->never);
    return CARAT_OK;
}

void ct_readout_close(struct ct_readout *t)
{
    ct_stops_close(&t->stops);
    ct_guard_close(&t->guard);
    free(t->never);
}

void ct_readout_begin(struct ct_readout *t, const int32_t *tokens, int n)
{
    ct_stops_begin(&t->stops);
    ct_guard_begin(&t->guard);
    t->thought = ct_thought_after(&t->marks, tokens, n);
    if (t->goes_on && t->marks.begin >= 0)
        t->thought = ct_thought_text_under_way;
    t->goes_on = false; /* what the session is changed to later says so itself */
    ct_thought_text_begin(&t->thought_text, &t->thought);
    t->thought_ids = 0;
    t->in_call = false;
}

/* ---- likelihoods ---- */

void ct_readout_reads(struct ct_readout *t, int n, struct ct_reading *r)
{
    t->asks_entropy = ct_guard_wants(&t->guard, n);
    if (t->logprobs)
        r->k = 0;
    else if (t->asks_entropy && r->k > 0)
        r->k = CT_MIN(CT_MAX(r->k, CT_GUARD_TOP), r->n);
}

/* Those of ids that stand for text. */
static struct ct_logits of_text(const carat_engine *e, const struct ct_logits *l)
{
    struct ct_logits text = *l;

    text.n = ct_logits_below(l, e->model->config.n_text_vocab);
    return text;
}

void ct_readout_sees(struct ct_readout *t, carat_engine *e, int i, const struct ct_logits *l)
{
    t->likely[i].entropy = INFINITY;
    if (!t->asks_entropy)
        return;
    const struct ct_logits text = of_text(e, l);
    t->likely[i].entropy = e->backend->verb.entropy(e->backend, &text, CT_GUARD_TOP, t->never, t->n_never);
}

float ct_likelihood(carat_engine *e, const struct ct_logits *l, int32_t id, carat_logprob *top, int n_top)
{
    const struct ct_logits text = of_text(e, l);
    return e->backend->verb.logprob(e->backend, &text, id, top, n_top);
}

void ct_readout_drawn(struct ct_readout *t, carat_engine *e, int i, const struct ct_logits *l, int32_t id)
{
    struct ct_likely *likely = &t->likely[i];

    likely->logprob = 0;
    if (id < 0 || !t->logprobs)
        return;
    likely->logprob = ct_likelihood(e, l, id, likely->top, t->n_top);
}

/* ---- text ---- */

/* The tokens of calls: callers take them out of the text, so that no string goes across. */
static bool is_mark(const struct ct_tokenizer *t, int32_t id)
{
    for (int c = 0; c < CT_CONTROLS; c++)
        if ((ct_controls[c].use == CT_CONTROL_OF_CALL || ct_controls[c].use == CT_CONTROL_OF_TOOL) &&
            ct_tokenizer_control(t, (enum ct_control)c) == id)
            return true;
    return false;
}

/* Adds the text of an id to what is told; id -1: of an unfinished character. The stop string that is
 * complete, or -1: thoughts have none. */
static int pass_text(struct ct_readout *t, carat_session *s, int32_t id, size_t *n)
{
    char piece[CT_STREAM_MAX];
    size_t more, n_piece = ct_detokenizer_push(&s->detokenizer, id, piece, sizeof piece);

    if (t->thought.inside) {
        *n += ct_thought_text_push(&t->thought_text, piece, n_piece, t->text + *n);
        return -1;
    }
    int which = ct_stops_push(&t->stops, piece, n_piece, t->text + *n, &more);
    *n += more;
    return which;
}

/* A thought begins or ends: what the text before holds back comes out of it. */
static int turn_over(struct ct_readout *t, carat_session *s, int32_t id, size_t *n)
{
    int which = pass_text(t, s, -1, n);

    if (which < 0 && !t->thought.inside)
        *n += ct_stops_rest(&t->stops, t->text + *n);
    ct_thought_follow(&t->marks, &t->thought, id);
    ct_thought_text_begin(&t->thought_text, &t->thought);
    return which;
}

static int tell_text(struct ct_readout *t, carat_session *s, int32_t id, size_t *n)
{
    const struct ct_tokenizer *tokenizer = s->engine->model->tokenizer;
    char piece[CT_STREAM_MAX];
    int which = -1;

    *n = 0;
    if (!tokenizer)
        return which;
    if (id == t->marks.begin || id == t->marks.end)
        return turn_over(t, s, id, n);
    ct_thought_follow(&t->marks, &t->thought, id);
    bool mark = t->stops.n && is_mark(tokenizer, id);
    if (mark && (which = pass_text(t, s, -1, n)) < 0)
        *n += ct_stops_rest(&t->stops, t->text + *n);
    if (which < 0 && (which = pass_text(t, s, id, n)) < 0 && mark)
        *n += ct_stops_rest(&t->stops, t->text + *n);
    if (which >= 0) /* nothing comes behind it */
        (void)ct_detokenizer_push(&s->detokenizer, -1, piece, sizeof piece);
    return which;
}

size_t ct_readout_rest(struct ct_readout *t, carat_session *s, bool flushes, char *out, size_t capacity)
{
    const struct ct_detokenizer text_before = s->detokenizer;
    const struct ct_stops stops_before = t->stops;
    const struct ct_thought_text thought_before = t->thought_text;
    size_t n = 0;

    if (!flushes || !s->engine->model->tokenizer || pass_text(t, s, -1, &n) < 0)
        n += ct_stops_rest(&t->stops, t->text + n);
    if (n < capacity) {
        memcpy(out, t->text, n);
        out[n] = 0;
        return n;
    }
    s->detokenizer = text_before;
    t->stops = stops_before;
    t->thought_text = thought_before;
    return n;
}

/* ---- calls ---- */

/* Says of an id whose text was told whether it is of a call; in a thought none begins. */
static void tell_call(struct ct_readout *t, carat_given *given, bool stops)
{
    const bool thinks = t->thought.inside || given->thought,
               goes_on = t->in_call && !ct_call_stops_before(&t->call, given->id),
               begins = given->id == t->call.begin && !thinks;

    given->call = goes_on || begins;
    if (goes_on)
        given->n_call = given->n_text;
    else if (begins && !stops) /* before its own text stands what was held back until now */
        given->n_call = t->n_call_begin;
    t->in_call = given->call && given->id != t->call.end;
}

/* ---- giving ---- */

carat_reason ct_readout_give(struct ct_readout *t, carat_session *s, int i, carat_given *given, int *which)
{
    const struct ct_likely *likely = &t->likely[i];
    given->thought = t->thought.inside;
    int stop = tell_text(t, s, given->id, &given->n_text);
    int cycle = ct_guard_push(&t->guard, given->id, likely->entropy);

    if (t->call.begin >= 0)
        tell_call(t, given, stop >= 0);
    t->text[given->n_text] = 0;
    given->text = t->text;
    given->logprob = likely->logprob;
    given->top = likely->top;
    given->n_top = t->n_top;
    given->of_thought = t->thought.inside || given->thought;
    t->thought_ids += given->of_thought;
    *which = stop >= 0 ? stop : cycle;
    return stop >= 0 ? CARAT_REASON_STOP_STRING : cycle ? CARAT_REASON_LOOP : CARAT_REASON_NONE;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* prompt.c: prompts of generations, which are evaluated piece by piece in passes that generations share. What
 * a session has of a prompt by now is engine/sync.c's, passes are engine/step.c's. */
#include "generate/generate.h"

#include <stdlib.h>

#include "text/chat/thought.h"

static carat_status check_prompt(const carat_prompt *p, carat_error *err)
{
    if (!p->ids || p->n < 1)
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "the ids of a prompt are NULL, or there are %d, expected at least 1", p->n);
    CT_TRY(ct_check_range("n_marks", p->n_marks, 0, p->marks ? p->n : 0, err));
    for (int i = 0; i < p->n_marks; i++)
        if (p->marks[i] < 0 || p->marks[i] > p->n || (i && p->marks[i] < p->marks[i - 1]))
            return ct_fail(err, CARAT_E_ARGUMENT,
                           "marks[%d] of a prompt is %d, expected ascending positions up to its %d tokens", i,
                           p->marks[i], p->n);
    return CARAT_OK;
}

/* Adds a position in front of stop[n], unless what is kept for the one behind it, or for the end, serves it.
 * Returns how many there are. */
static int add_stop(const carat_session *s, int *stop, int n, int end, int position)
{
    const int next = n ? stop[n - 1] : end;

    if (position >= next || ct_kv_sees_alike(&s->engine->cache, position, next - 1))
        return n;
    stop[n] = position;
    return n + 1;
}

/* Finds where sessions may want to go on: where a message begins, and where an empty thought does, which a
 * later rendering of the conversation leaves out. The search begins at the end. */
static void find_stops(struct ct_given_prompt *to, const carat_session *s, const carat_prompt *p, int held)
{
    const struct ct_thought_marks marks = ct_thought_marks(s->engine->model->tokenizer);
    int turn = ct_thought_turn(&marks, p->ids, p->n);
    int i = p->n_marks, n = 0;

    while (i > 0 || turn > held) {
        const bool is_mark = i > 0 && p->marks[i - 1] >= turn;
        const int position = is_mark ? p->marks[--i] : turn;
        if (!is_mark)
            turn = 0;
        if (position > held)
            n = add_stop(s, to->stop, n, p->n, position);
    }
    to->n_stop = n;
}

carat_status ct_prompt_give(struct ct_given_prompt *p, carat_session *s, const carat_prompt *prompt,
                            bool state, carat_error *err)
{
    carat_prompt given = {0};
    int held;

    CT_TRY(ct_take_struct(&given, sizeof given, prompt, "carat_prompt", err));
    CT_TRY(check_prompt(&given, err));
    int *stop = malloc(((size_t)given.n_marks + 1) * sizeof *stop);
    carat_status status = stop ? ct_keep_prefix(s, given.ids, given.n, &held, err)
                               : ct_no_memory(err, "the places of a prompt");
    if (status) {
        free(stop);
        return status;
    }
    ct_prompt_close(p);
    *p = (struct ct_given_prompt){.stop = stop};
    if (held == given.n && state && !ct_row_logits_state(s->engine, s->logits)) /* it came out of a file */
        CT_TRY(ct_rewind(s, --held, err));
    memcpy(ct_held_tokens(s) + held, given.ids + held, (size_t)(given.n - held) * sizeof *given.ids);
    find_stops(p, s, &given, held);
    p->n = held < given.n ? given.n : 0;
    return CARAT_OK;
}

void ct_prompt_close(struct ct_given_prompt *p)
{
    free(p->stop);
}

int ct_prompt_left(const struct ct_given_prompt *p, const carat_session *s)
{
    return p->n ? p->n - ct_kv_ready(&s->engine->cache, s->slot) : 0;
}

/* The next position at which a piece has to end. */
static int next_stop(const struct ct_given_prompt *p)
{
    return p->n_stop ? p->stop[p->n_stop - 1] : p->n;
}

int ct_prompt_take(struct ct_given_prompt *p, const carat_session *s, int most)
{
    const int ready = p->n - ct_prompt_left(p, s);

    p->piece = p->n ? CT_MIN(CT_MIN(most, next_stop(p) - ready), ct_kv_span(&s->engine->cache, ready)) : 0;
    return p->piece;
}

struct ct_row ct_prompt_row(const struct ct_given_prompt *p, carat_session *s,
                            const struct ct_reading *reading)
{
    const int to = next_stop(p);
    const bool last = to == p->n;

    return (struct ct_row){.row = {.session = s,
                                   .tokens = ct_held_tokens(s) + s->n,
                                   .n = to - s->n,
                                   .wants = last ? CARAT_WANTS_LAST : CARAT_WANTS_NONE},
                           .reading = reading,
                           .most = p->piece};
}

void ct_prompt_came(struct ct_given_prompt *p, carat_session *s)
{
    if (s->n != next_stop(p))
        return;
    ct_mark(s);
    if (p->n_stop)
        p->n_stop--;
    else
        p->n = 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* compare_util.h: what the tests of carat_compare share: two engines, prompts out of the same ids, and all
 * that was told of them. */
#ifndef CT_TEST_COMPARE_UTIL_H
#define CT_TEST_COMPARE_UTIL_H

#include "engine/step_util.h"

#include <carat_quality.h>

#include <math.h>
#include <pthread.h>

static carat_model *clean; /* the model of step_util.h, before anything in it is NaN */

enum { PROMPT = 7, TEXT = 50, PROMPTS = 5, POSITIONS = 256 };

struct heard_prompt {
    int n, ends, stop_at; /* stop_at: position whose callback ends the prompt; -1: none */
    carat_position p[POSITIONS];
    carat_compared end;
    char message[256];
    int32_t ref[POSITIONS], test[POSITIONS];
};

struct heard_all {
    struct heard_prompt of[PROMPTS];
    const carat_compare_prompt *given; /* [n_given], the first is not asked for */
    int n_given, next;
    int watched, stop_watch; /* calls of watch; which one stops; 0: none */
};

UNUSED static int on_position(void *user, void *prompt, const carat_position *p)
{
    struct heard_prompt *h = prompt;
    (void)user;
    assert_true(h->n < POSITIONS && p->index == h->n && h->ends == 0);
    h->p[h->n++] = *p;
    return p->index == h->stop_at;
}

UNUSED static void on_compared(void *user, void *prompt, const carat_compared *end)
{
    struct heard_prompt *h = prompt;
    (void)user;
    h->ends++;
    h->end = *end;
    snprintf(h->message, sizeof h->message, "%s", end->message);
    if (end->n_ref)
        memcpy(h->ref, end->answer_ref, (size_t)end->n_ref * sizeof *h->ref);
    if (end->n_test)
        memcpy(h->test, end->answer_test, (size_t)end->n_test * sizeof *h->test);
    assert_int_equal(end->positions, h->n);
}

UNUSED static int next_prompt(void *user, carat_compare_prompt *prompt)
{
    struct heard_all *h = user;
    if (h->next >= h->n_given)
        return 0;
    *prompt = h->given[h->next++];
    return 1;
}

UNUSED static int watch(void *user, size_t done, size_t total)
{
    struct heard_all *h = user;
    assert_true(done <= total);
    return ++h->watched == h->stop_watch;
}

UNUSED static carat_compare_options all_options(struct heard_all *h, carat_driver driver, int max_tokens)
{
    carat_compare_options o;
    carat_compare_options_default(&o);
    o.driver = driver;
    o.max_tokens = max_tokens;
    o.on_position = on_position;
    o.on_compared = on_compared;
    o.ignore_eos = 1;
    o.next = h->given ? next_prompt : NULL;
    o.watch = watch;
    o.user = h;
    return o;
}

UNUSED static void hear_nothing(struct heard_all *h)
{
    memset(h, 0, sizeof *h);
    for (int i = 0; i < PROMPTS; i++)
        h->of[i].stop_at = -1;
    h->next = 1;
}

/* ids[from] ... as a prompt of PROMPT ids, with text behind it for the driver text. */
UNUSED static carat_compare_prompt prompt_at(struct heard_prompt *h, int from, bool text)
{
    carat_compare_prompt p;
    carat_compare_prompt_default(&p);
    p.prompt = ids + from;
    p.n_prompt = PROMPT;
    p.text = text ? ids + from + PROMPT : NULL;
    p.n_text = text ? TEXT : 0;
    p.user = h;
    return p;
}

struct pair {
    carat_engine *ref, *test;
};

UNUSED static struct pair pair_of(const carat_model *m, carat_engine_options o)
{
    struct pair e;
    OK(carat_engine_create(&e.test, m, &o, err));
    o.exact = 1;
    OK(carat_engine_create(&e.ref, m, &o, err));
    return e;
}

UNUSED static void close_pair(struct pair *e)
{
    carat_engine_close(e->ref);
    carat_engine_close(e->test);
}

UNUSED static struct heard_all *compare(const struct pair *e, carat_driver driver, int max_tokens)
{
    static struct heard_all h;
    hear_nothing(&h);
    carat_compare_prompt p = prompt_at(&h.of[0], 0, driver == CARAT_DRIVER_TEXT);
    carat_compare_options o = all_options(&h, driver, max_tokens);
    OK(carat_compare(e->ref, e->test, &p, &o, err));
    assert_int_equal(h.of[0].ends, 1);
    return &h;
}

/* Field by field: between them there is padding. */
UNUSED static void same_difference(const carat_difference *a, const carat_difference *b)
{
    const double x[] = {a->kl,           a->kl_reverse, a->correlation, a->cosine,  a->entropy_ref,
                        a->entropy_test, a->margin_ref, a->margin_test, a->largest, a->logprob_ref,
                        a->logprob_test, a->delta_p,    a->outside};
    const double y[] = {b->kl,           b->kl_reverse, b->correlation, b->cosine,  b->entropy_ref,
                        b->entropy_test, b->margin_ref, b->margin_test, b->largest, b->logprob_ref,
                        b->logprob_test, b->delta_p,    b->outside};
    const int i[] = {a->top_ref, a->top_test, a->match, a->near_tie, a->overlap, a->compared, a->left_out};
    const int k[] = {b->top_ref, b->top_test, b->match, b->near_tie, b->overlap, b->compared, b->left_out};
    assert_memory_equal(x, y, sizeof x);
    assert_memory_equal(i, k, sizeof i);
}

UNUSED static void same_positions(const carat_position *a, const carat_position *b, int n)
{
    for (int i = 0; i < n; i++) {
        assert_int_equal(a[i].index, b[i].index);
        assert_int_equal(a[i].next, b[i].next);
        assert_int_equal(a[i].after_stop, b[i].after_stop);
        same_difference(&a[i].difference, &b[i].difference);
    }
}

UNUSED static int open_both(void **state)
{
    OK(carat_model_open(&clean, UNTIED, NULL, err));
    return open_model(state);
}

UNUSED static int close_both(void **state)
{
    carat_model_close(clean);
    return close_model(state);
}

#endif

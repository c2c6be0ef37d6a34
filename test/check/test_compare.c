/* SPDX-License-Identifier: Apache-2.0 */
/* test_compare.c: carat_compare: each position is what two rows of logits say, whoever drives, and no bit depends
 * on threads, chunks or neighbours; who fails fails alone. What the numbers mean is test_difference.c's, the
 * verdict test_judge.c's. */
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

static int on_position(void *user, void *prompt, const carat_position *p)
{
    struct heard_prompt *h = prompt;
    (void)user;
    assert_true(h->n < POSITIONS && p->index == h->n && h->ends == 0);
    h->p[h->n++] = *p;
    return p->index == h->stop_at;
}

static void on_compared(void *user, void *prompt, const carat_compared *end)
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

static int next_prompt(void *user, carat_compare_prompt *prompt)
{
    struct heard_all *h = user;
    if (h->next >= h->n_given)
        return 0;
    *prompt = h->given[h->next++];
    return 1;
}

static int watch(void *user, size_t done, size_t total)
{
    struct heard_all *h = user;
    assert_true(done <= total);
    return ++h->watched == h->stop_watch;
}

static carat_compare_options all_options(struct heard_all *h, carat_driver driver, int max_tokens)
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

static void hear_nothing(struct heard_all *h)
{
    memset(h, 0, sizeof *h);
    for (int i = 0; i < PROMPTS; i++)
        h->of[i].stop_at = -1;
    h->next = 1;
}

/* ids[from] ... as a prompt of PROMPT ids, with text behind it for the driver text. */
static carat_compare_prompt prompt_at(struct heard_prompt *h, int from, bool text)
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

static struct pair pair_of(const carat_model *m, carat_engine_options o)
{
    struct pair e;
    OK(carat_engine_create(&e.test, m, &o, err));
    o.exact = 1;
    OK(carat_engine_create(&e.ref, m, &o, err));
    return e;
}

static void close_pair(struct pair *e)
{
    carat_engine_close(e->ref);
    carat_engine_close(e->test);
}

static struct heard_all *compare(const struct pair *e, carat_driver driver, int max_tokens)
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
static void same_difference(const carat_difference *a, const carat_difference *b)
{
    const double x[] = {a->kl,          a->kl_reverse,   a->correlation,  a->cosine,
                        a->entropy_ref, a->entropy_test, a->margin_ref,   a->margin_test,
                        a->largest,     a->logprob_ref,  a->logprob_test, a->delta_p};
    const double y[] = {b->kl,          b->kl_reverse,   b->correlation,  b->cosine,
                        b->entropy_ref, b->entropy_test, b->margin_ref,   b->margin_test,
                        b->largest,     b->logprob_ref,  b->logprob_test, b->delta_p};
    const int i[] = {a->top_ref, a->top_test, a->match, a->near_tie, a->overlap, a->compared, a->left_out};
    const int k[] = {b->top_ref, b->top_test, b->match, b->near_tie, b->overlap, b->compared, b->left_out};
    assert_memory_equal(x, y, sizeof x);
    assert_memory_equal(i, k, sizeof i);
}

static void same_positions(const carat_position *a, const carat_position *b, int n)
{
    for (int i = 0; i < n; i++) {
        assert_int_equal(a[i].index, b[i].index);
        assert_int_equal(a[i].next, b[i].next);
        assert_int_equal(a[i].after_stop, b[i].after_stop);
        same_difference(&a[i].difference, &b[i].difference);
    }
}

/* ---- what is measured ---- */

static float *rows_of(carat_engine *e, int n)
{
    float *rows = malloc((size_t)n * VOCAB * sizeof *rows);
    carat_session *s;
    OK(carat_session_create(&s, e, NULL, err));
    carat_row row = {.session = s, .tokens = ids, .n = n, .logits = rows};
    OK(carat_step(e, &row, sizeof row, 1, err));
    carat_session_close(s);
    return rows;
}

static void check_position(const carat_position *p, const float *ref, const float *test, int32_t next)
{
    carat_model_info info = model_info(model);
    carat_difference_options o;
    carat_difference_options_default(&o);
    carat_difference d;
    carat_difference_default(&d);
    o.has_next = next >= 0;
    o.next = next;
    OK(carat_difference_of(ref, test, info.n_text_vocab, &o, &d, err));
    assert_int_equal(p->next, next);
    same_difference(&p->difference, &d);
    assert_true(d.kl > 0);
}

static void a_position_is_two_rows(void **state)
{
    (void)state;
    struct pair e = pair_of(clean, options(1, 16, MOST));
    struct heard_all *h = compare(&e, CARAT_DRIVER_TEXT, 0);
    float *ref = rows_of(e.ref, PROMPT + TEXT), *test = rows_of(e.test, PROMPT + TEXT);
    assert_int_equal(h->of[0].n, TEXT);
    for (int i = 0; i < TEXT; i++)
        check_position(&h->of[0].p[i], ref + (size_t)(PROMPT - 1 + i) * VOCAB,
                       test + (size_t)(PROMPT - 1 + i) * VOCAB, ids[PROMPT + i]);
    free(ref);
    free(test);
    h = compare(&e, CARAT_DRIVER_TEXT, 9);
    assert_int_equal(h->of[0].n, 9);
    close_pair(&e);
}

static void recorded_logits_are_an_engine(void **state)
{
    (void)state;
    struct pair e = pair_of(clean, options(1, 16, MOST));
    static struct heard_all engine, recorded;
    engine = *compare(&e, CARAT_DRIVER_TEXT, 0);
    hear_nothing(&recorded);
    carat_compare_prompt p = prompt_at(&recorded.of[0], 0, true);
    float *rows = rows_of(e.ref, PROMPT + TEXT);
    p.recorded = rows;
    p.n_recorded = PROMPT + TEXT;
    carat_compare_options o = all_options(&recorded, CARAT_DRIVER_TEXT, 0);
    OK(carat_compare(NULL, e.test, &p, &o, err));
    assert_int_equal(recorded.of[0].n, TEXT + 1); /* and what is recorded behind the last id */
    same_positions(recorded.of[0].p, engine.of[0].p, TEXT);
    assert_int_equal(recorded.of[0].p[TEXT].next, -1);
    assert_true(recorded.of[0].p[TEXT].difference.logprob_ref == 0);
    rows[(size_t)(PROMPT + 3) * VOCAB + 5] = NAN;
    hear_nothing(&recorded);
    FAILS_WITH(carat_compare(NULL, e.test, &p, &o, err), CARAT_E_NUMERIC,
               "the reference: the logit of id 5 at position 4");
    free(rows);
    close_pair(&e);
}

static void a_model_is_itself(void **state)
{
    (void)state;
    struct pair e = pair_of(clean, options(1, 16, MOST)), other = pair_of(clean, options(1, 16, MOST));
    const struct pair same = {other.test, e.test};
    for (carat_driver driver = CARAT_DRIVER_REF; driver <= CARAT_DRIVER_TEXT; driver++) {
        struct heard_all *h = compare(&same, driver, 40);
        assert_int_equal(h->of[0].n, 40);
        assert_int_equal(h->of[0].end.parted, -1);
        for (int i = 0; i < 40; i++) {
            const carat_difference *d = &h->of[0].p[i].difference;
            assert_true(d->kl == 0 && d->kl_reverse == 0 && d->largest == 0 && d->match && d->delta_p == 0);
            assert_true(fabs(d->correlation - 1) < 1e-12 && fabs(d->cosine - 1) < 1e-12);
            assert_int_equal(d->overlap, 10);
        }
    }
    close_pair(&e);
    close_pair(&other);
}

/* ---- who drives ---- */

static void drivers_choose(void **state)
{
    (void)state;
    carat_engine_options o = options(1, 16, MOST), fewer = o;
    struct pair e;
    OK(carat_engine_create(&e.ref, clean, &o, err));
    fewer.layers = 2; /* another model */
    OK(carat_engine_create(&e.test, clean, &fewer, err));
    struct heard_all *h = compare(&e, CARAT_DRIVER_REF, 30);
    assert_int_equal(h->of[0].n, 30);
    int differ = 0;
    for (int i = 0; i < 30; i++) {
        const carat_position *p = &h->of[0].p[i];
        assert_int_equal(p->next, p->difference.top_ref);
        assert_int_equal(h->of[0].ref[i], p->difference.top_ref);
        assert_int_equal(h->of[0].test[i], p->difference.top_test);
        assert_true(
            p->difference.delta_p == exp(p->difference.logprob_test) - exp(p->difference.logprob_ref) ||
            fabs(p->difference.delta_p - (exp(p->difference.logprob_test) - exp(p->difference.logprob_ref))) <
                1e-14);
        differ += !p->difference.match;
    }
    assert_true(differ > 0);
    h = compare(&e, CARAT_DRIVER_TEST, 30);
    for (int i = 0; i < 30; i++)
        assert_int_equal(h->of[0].p[i].next, h->of[0].p[i].difference.top_test);
    h = compare(&e, CARAT_DRIVER_FREE, 30);
    const struct heard_prompt *free_ = &h->of[0];
    assert_true(free_->n < 30 && free_->end.parted == free_->n - 1);
    assert_true(!free_->p[free_->n - 1].difference.match);
    assert_int_equal(free_->end.n_ref, 30);
    assert_int_equal(free_->end.n_test, 30);
    static struct heard_prompt parted;
    parted = *free_;
    /* each answer is what that engine says alone */
    struct pair only = {e.test, e.test};
    carat_engine *twin[2];
    OK(carat_engine_create(&twin[0], clean, &o, err));
    OK(carat_engine_create(&twin[1], clean, &fewer, err));
    only.ref = twin[0];
    only.test = e.ref;
    h = compare(&only, CARAT_DRIVER_REF, 30);
    assert_memory_equal(h->of[0].ref, parted.ref, 30 * sizeof(int32_t));
    only.ref = twin[1];
    only.test = e.test;
    h = compare(&only, CARAT_DRIVER_REF, 30);
    assert_memory_equal(h->of[0].ref, parted.test, 30 * sizeof(int32_t));
    carat_engine_close(twin[0]);
    carat_engine_close(twin[1]);
    close_pair(&e);
}

static void answers_end(void **state)
{
    (void)state;
    carat_model *tiny;
    carat_tokens prompt = {0};
    static struct heard_all h, on;
    OK(carat_model_open(&tiny, CT_TEST_DATA "/../../models/tiny", NULL, err));
    struct pair e = pair_of(tiny, options(1, 16, 256));
    const carat_message message = {.role = "user", .content = "Where is the bed?"};
    OK(carat_render(tiny, &message, sizeof message, 1, NULL, &prompt, NULL, err));
    for (carat_driver driver = CARAT_DRIVER_REF; driver <= CARAT_DRIVER_FREE; driver++) {
        hear_nothing(&h);
        carat_compare_prompt p = {
            .size = sizeof p, .prompt = prompt.ids, .n_prompt = prompt.n, .user = &h.of[0]};
        carat_compare_options o = all_options(&h, driver, 0);
        o.ignore_eos = 0;
        OK(carat_compare(e.ref, e.test, &p, &o, err));
        const struct heard_prompt *a = &h.of[0];
        assert_int_equal(a->end.stop, a->n - 1);
        assert_true(carat_is_stop(tiny, a->p[a->n - 1].next) && a->n > 3 && a->n < 30);
        on = h;
        hear_nothing(&on);
        p.user = &on.of[0];
        o = all_options(&on, driver, 60);
        OK(carat_compare(e.ref, e.test, &p, &o, err));
        assert_int_equal(on.of[0].n, 60);
        assert_int_equal(on.of[0].end.stop, a->end.stop);
        same_positions(on.of[0].p, a->p, a->n);
        for (int i = 0; i < 60; i++)
            assert_int_equal(on.of[0].p[i].after_stop, i > a->end.stop);
    }
    carat_tokens_free(&prompt);
    close_pair(&e);
    carat_model_close(tiny);
}

/* ---- no bit depends on how ---- */

static struct heard_all *many(carat_engine_options o, carat_driver driver, int parallel)
{
    static struct heard_all h;
    carat_compare_prompt p[PROMPTS];
    o.sessions = parallel;
    struct pair e = pair_of(clean, o);
    hear_nothing(&h);
    for (int i = 0; i < PROMPTS; i++) {
        p[i] = prompt_at(&h.of[i], 13 * i, driver == CARAT_DRIVER_TEXT);
        p[i].n_prompt += i; /* they end at different times */
        if (p[i].text)
            p[i].n_text -= 3 * i;
    }
    h.given = p;
    h.n_given = PROMPTS;
    carat_compare_options c = all_options(&h, driver, 40);
    c.parallel = parallel;
    OK(carat_compare(e.ref, e.test, &p[0], &c, err));
    for (int i = 0; i < PROMPTS; i++) {
        assert_int_equal(h.of[i].ends, 1);
        assert_true(h.of[i].n > 20);
    }
    close_pair(&e);
    return &h;
}

static void neighbours_change_nothing(void **state)
{
    static const int threads[] = {1, 2, 3}, chunks[] = {1, 7, 64}, parallels[] = {1, 4};
    static struct heard_all first;
    (void)state;
    for (carat_driver driver = CARAT_DRIVER_REF; driver <= CARAT_DRIVER_TEXT; driver += 3) {
        first = *many(options(1, 16, MOST), driver, 1);
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 2; k++) {
                carat_engine_options o = options(1, chunks[i], MOST);
                o.threads = threads[i];
                struct heard_all *h = many(o, driver, parallels[k]);
                for (int p = 0; p < PROMPTS; p++) {
                    assert_int_equal(h->of[p].n, first.of[p].n);
                    same_positions(h->of[p].p, first.of[p].p, first.of[p].n);
                }
            }
    }
}

static void levels_change_nothing(void **state)
{
    static struct heard_all first;
    carat_engine_options o = options(1, 16, MOST);
    (void)state;
    o.isa = "ref";
    first = *many(o, CARAT_DRIVER_TEXT, 2);
    for (int i = 1; carat_isa_name(i); i++) {
        if (!has_isa(clean, carat_isa_name(i)))
            continue;
        o.isa = carat_isa_name(i);
        struct heard_all *h = many(o, CARAT_DRIVER_TEXT, 2);
        for (int p = 0; p < PROMPTS; p++)
            same_positions(h->of[p].p, first.of[p].p, first.of[p].n);
    }
}

/* A head that computes some rows: the others are left out on both sides, and counted. */
static void heads_leave_out(void **state)
{
    (void)state;
    carat_model *tiny;
    carat_tokens prompt = {0};
    static struct heard_all h;
    OK(carat_model_open(&tiny, CT_TEST_DATA "/../../models/tiny", NULL, err));
    carat_model_info info = model_info(tiny);
    carat_engine_options o = options(1, 16, 256);
    struct pair e;
    OK(carat_engine_create(&e.ref, tiny, &o, err));
    carat_head_options head;
    carat_head_options_default(&head);
    head.strategy = CARAT_HEAD_SHORTLIST;
    head.tile = 64;
    head.shortlist_tiles = 4;
    o.head = &head;
    OK(carat_engine_create(&e.test, tiny, &o, err));
    OK(carat_tokenize(tiny, "Turn on the kitchen lights", 26, CARAT_BOS, &prompt, err));
    for (int swap = 0; swap < 2; swap++) {
        hear_nothing(&h);
        carat_compare_prompt p = {
            .size = sizeof p, .prompt = prompt.ids, .n_prompt = prompt.n, .user = &h.of[0]};
        carat_compare_options c = all_options(&h, CARAT_DRIVER_REF, 12);
        OK(carat_compare(swap ? e.test : e.ref, swap ? e.ref : e.test, &p, &c, err));
        int left_out = 0;
        for (int i = 0; i < h.of[0].n; i++) {
            const carat_difference *d = &h.of[0].p[i].difference;
            assert_int_equal(d->compared + d->left_out, info.n_text_vocab);
            assert_true(d->match && d->kl == 0 &&
                        d->compared >= 100); /* the same logits where both have them */
            left_out += d->left_out > 0;
        }
        assert_true(left_out > 0);
    }
    carat_tokens_free(&prompt);
    close_pair(&e);
    carat_model_close(tiny);
}

/* ---- who fails ---- */

static void one_fails_alone(void **state)
{
    static const int32_t with_sick[] = {9, 8, 7, SICK, 6, 5, 4};
    static struct heard_all alone;
    static int32_t long_prompt[100];
    (void)state;
    struct pair e = pair_of(model, options(2, 16, 80));
    alone = *compare(&e, CARAT_DRIVER_TEXT, 40);
    for (int i = 0; i < 100; i++)
        long_prompt[i] = 3 + i % 50;
    static struct heard_all h;
    hear_nothing(&h);
    carat_compare_prompt p[4];
    for (int i = 0; i < 4; i++)
        p[i] = prompt_at(&h.of[i], 0, true);
    p[0].prompt = with_sick;
    p[2].prompt = long_prompt;
    p[2].n_prompt = 100;
    h.of[3].stop_at = 11;
    h.given = p;
    h.n_given = 4;
    carat_compare_options o = all_options(&h, CARAT_DRIVER_TEXT, 40);
    o.parallel = 2;
    FAILS_WITH(carat_compare(e.ref, e.test, &p[0], &o, err), CARAT_E_NUMERIC, "the reference");
    assert_int_equal(h.of[0].end.status, CARAT_E_NUMERIC);
    assert_int_equal(h.of[0].n, 0);
    assert_int_equal(h.of[1].end.status, CARAT_OK);
    same_positions(h.of[1].p, alone.of[0].p, 40);
    assert_int_equal(h.of[2].end.status, CARAT_E_CONTEXT);
    assert_non_null(strstr(h.of[2].message, "149 ids with its text"));
    assert_non_null(strstr(h.of[2].message, "80"));
    assert_int_equal(h.of[3].end.status, CARAT_OK); /* its callback ended it */
    assert_int_equal(h.of[3].n, 12);
    same_positions(h.of[3].p, alone.of[0].p, 12);
    close_pair(&e);
}

static void a_context_ends(void **state)
{
    (void)state;
    struct pair e = pair_of(clean, options(1, 16, 20));
    struct heard_all *h = compare(&e, CARAT_DRIVER_FREE, 0);
    assert_true(h->of[0].end.n_ref == 20 - PROMPT + 1 && h->of[0].end.n_test == 20 - PROMPT + 1);
    h = compare(&e, CARAT_DRIVER_REF, 0);
    assert_int_equal(h->of[0].n, 20 - PROMPT + 1); /* the last id is not evaluated */
    static struct heard_all text;
    hear_nothing(&text);
    carat_compare_prompt p = prompt_at(&text.of[0], 0, true);
    carat_compare_options o = all_options(&text, CARAT_DRIVER_TEXT, 0);
    p.n_text = 20 - PROMPT + 1;
    OK(carat_compare(e.ref, e.test, &p, &o, err));
    p.n_text++;
    hear_nothing(&text);
    FAILS_WITH(carat_compare(e.ref, e.test, &p, &o, err), CARAT_E_CONTEXT, "21 ids with its text");
    close_pair(&e);
}

static void it_can_be_cancelled(void **state)
{
    (void)state;
    struct pair e = pair_of(clean, options(1, 16, MOST));
    static struct heard_all h;
    hear_nothing(&h);
    h.stop_watch = 5;
    carat_compare_prompt p = prompt_at(&h.of[0], 0, false);
    carat_compare_options o = all_options(&h, CARAT_DRIVER_REF, 200);
    FAILS_WITH(carat_compare(e.ref, e.test, &p, &o, err), CARAT_E_CANCELLED, "cancelled");
    assert_int_equal(h.of[0].ends, 0);
    compare(&e, CARAT_DRIVER_REF, 3); /* the sessions are free again */
    close_pair(&e);
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    struct pair e = pair_of(clean, options(1, 16, MOST));
    static struct heard_all h;
    hear_nothing(&h);
    const carat_compare_prompt good = prompt_at(&h.of[0], 0, false);
    const carat_compare_options fine = all_options(&h, CARAT_DRIVER_REF, 4);
    const float row[VOCAB] = {0};
    static const int32_t beyond[] = {1, VOCAB};
#define REFUSED(ref, test, change_p, change_o, text)                                                         \
    do {                                                                                                     \
        carat_compare_prompt p = good;                                                                       \
        carat_compare_options o = fine;                                                                      \
        change_p;                                                                                            \
        change_o;                                                                                            \
        FAILS_WITH(carat_compare(ref, test, &p, &o, err), CARAT_E_ARGUMENT, text);                           \
    } while (0)
    REFUSED(e.ref, NULL, (void)p, (void)o, "test is NULL");
    REFUSED(e.test, e.test, (void)p, (void)o, "one engine");
    REFUSED(NULL, e.test, (void)p, (void)o, "recorded");
    REFUSED(e.ref, e.test, p.recorded = row, (void)o, "not both");
    REFUSED(NULL, e.test, p.recorded = row, (void)o, "the driver is text");
    REFUSED(NULL, e.test, (p.recorded = row, p.n_recorded = 1), o.driver = CARAT_DRIVER_TEXT,
            "1 rows of logits");
    REFUSED(e.ref, e.test, p.n_prompt = 0, (void)o, "expected at least 1");
    REFUSED(e.ref, e.test, p.prompt = NULL, (void)o, "prompt is NULL");
    REFUSED(e.ref, e.test, (p.prompt = beyond, p.n_prompt = 2), (void)o, "id 97 at index 1 of the prompt");
    REFUSED(e.ref, e.test, (p.text = ids, p.n_text = 2), (void)o,
            "the driver is ref, and the text has 2 ids");
    REFUSED(e.ref, e.test, (void)p, o.driver = CARAT_DRIVER_TEXT, "the text has 0 ids");
    REFUSED(e.ref, e.test, (void)p, o.driver = (carat_driver)4, "no carat_driver");
    REFUSED(e.ref, e.test, (void)p, o.parallel = 2, "sessions of the reference");
    REFUSED(e.ref, e.test, (void)p, o.parallel = -1, "parallel -1");
    REFUSED(e.ref, e.test, (void)p, o.top = 1025, "top 1025");
    REFUSED(e.ref, e.test, (void)p, o.near_tie = NAN, "near_tie");
    REFUSED(e.ref, e.test, (void)p, o.max_tokens = -1, "max_tokens is -1");
    REFUSED(e.ref, e.test, p.size = 4, (void)o, "size");
    carat_session *s; /* no session is left */
    OK(carat_session_create(&s, e.test, NULL, err));
    assert_int_equal(carat_compare(e.ref, e.test, &good, &fine, NULL), CARAT_E_MEMORY);
    carat_session_close(s);
    OK(carat_compare(e.ref, e.test, &good, &fine, err));
    assert_string_equal(carat_driver_name(CARAT_DRIVER_FREE), "free");
    assert_string_equal(carat_driver_name((carat_driver)9), "");
    carat_model *tiny;
    carat_engine *other;
    OK(carat_model_open(&tiny, CT_TEST_DATA "/../../models/tiny", NULL, err));
    carat_engine_options small = options(1, 16, 64);
    OK(carat_engine_create(&other, tiny, &small, err));
    REFUSED(other, e.test, (void)p, (void)o, "vocabularies");
    carat_engine_close(other);
    carat_model_close(tiny);
    close_pair(&e);
}

/* ---- two at once ---- */

struct at_once {
    struct pair e;
    struct heard_all h;
    carat_driver driver;
};

static void *run_at_once(void *arg)
{
    struct at_once *a = arg;
    carat_error err;
    for (int i = 0; i < 3; i++) {
        hear_nothing(&a->h);
        carat_compare_prompt p = prompt_at(&a->h.of[0], 0, a->driver == CARAT_DRIVER_TEXT);
        carat_compare_options o = all_options(&a->h, a->driver, 20);
        if (carat_compare(a->e.ref, a->e.test, &p, &o, &err) != CARAT_OK)
            a->h.of[0].n = -1;
    }
    return NULL;
}

static void two_at_once(void **state)
{
    static struct at_once a, b;
    static struct heard_all alone[2];
    pthread_t thread[2];
    (void)state;
    carat_engine_options o = options(2, 16, MOST);
    o.threads = 2;
    a.e = b.e = pair_of(clean, o);
    b.driver = CARAT_DRIVER_TEXT;
    alone[0] = *compare(&a.e, a.driver, 20);
    alone[1] = *compare(&a.e, b.driver, 20);
    assert_int_equal(pthread_create(&thread[0], NULL, run_at_once, &a), 0);
    assert_int_equal(pthread_create(&thread[1], NULL, run_at_once, &b), 0);
    pthread_join(thread[0], NULL);
    pthread_join(thread[1], NULL);
    assert_int_equal(a.h.of[0].n, 20);
    same_positions(a.h.of[0].p, alone[0].of[0].p, 20);
    same_positions(b.h.of[0].p, alone[1].of[0].p, 20);
    close_pair(&a.e);
}

static int open_both(void **state)
{
    OK(carat_model_open(&clean, UNTIED, NULL, err));
    return open_model(state);
}

static int close_both(void **state)
{
    carat_model_close(clean);
    return close_model(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_position_is_two_rows),
        cmocka_unit_test(recorded_logits_are_an_engine),
        cmocka_unit_test(a_model_is_itself),
        cmocka_unit_test(drivers_choose),
        cmocka_unit_test(answers_end),
        cmocka_unit_test(neighbours_change_nothing),
        cmocka_unit_test(levels_change_nothing),
        cmocka_unit_test(heads_leave_out),
        cmocka_unit_test(one_fails_alone),
        cmocka_unit_test(a_context_ends),
        cmocka_unit_test(it_can_be_cancelled),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(two_at_once),
    };
    return cmocka_run_group_tests(tests, open_both, close_both);
}

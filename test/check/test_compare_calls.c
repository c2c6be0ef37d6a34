/* SPDX-License-Identifier: Apache-2.0 */
/* test_compare_calls.c: how calls of carat_compare end: who fails fails alone, a context ends, somebody
 * cancels, two calls go on at once; and what is refused. */
#include "compare_util.h"

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
    REFUSED(e.ref, e.test, (void)p, o.driver = (carat_driver)4, "not a carat_driver");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_fails_alone),     cmocka_unit_test(a_context_ends),
        cmocka_unit_test(it_can_be_cancelled), cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(two_at_once),
    };
    return cmocka_run_group_tests(tests, open_both, close_both);
}

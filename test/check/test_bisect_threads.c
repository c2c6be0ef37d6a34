/* SPDX-License-Identifier: Apache-2.0 */
/* test_bisect_threads.c: two bisections at once, on engines that others evaluate with meanwhile, give what
 * each gives alone; a third one on the same engines is told that they are busy. `make check-deep` runs it
 * under ThreadSanitizer too. */
#include "bisect_util.h"

#include <pthread.h>

enum { PAIRS = 2, SHORT = 20 };
enum { ROUNDS = SANITIZED ? 1 : 3, CROSSED = SANITIZED ? 2 : 5 };

static carat_engine *engine[PAIRS][2];
static atomic_bool done; /* the bisections are */

static carat_engine *bisected_engine(int threads, int chunk)
{
    carat_engine *e = NULL;
    carat_engine_options o;
    carat_engine_options_default(&o);
    o.threads = threads;
    o.context = 64;
    o.sessions = 2;
    o.chunk = chunk;
    OK(carat_engine_create(&e, tiny, &o, err));
    return e;
}

/* cmocka's assertions belong to the main thread; the others count what went wrong. */
static atomic_int failures, busy;

static int sum_errors(void *user, const carat_operation_error *e)
{
    double *sum = user;

    *sum += e->own + e->carried + e->channel_error;
    return 0;
}

static void *bisect_pair(void *pair)
{
    carat_engine *const *e = pair;
    carat_operation_error first = {.size = sizeof first};
    carat_bisect_options o;
    int32_t id[TOKENS];

    some_ids(id, tiny);
    for (int i = 0; i < ROUNDS; i++) {
        double sum = 0;
        carat_bisect_options_default(&o);
        o.on_operation = sum_errors;
        o.user = &sum;
        carat_status status = carat_bisect(e[0], e[1], id, SHORT, &o, &first, NULL);
        atomic_fetch_add(&busy, status == CARAT_E_BUSY);
        atomic_fetch_add(&failures,
                         (status && status != CARAT_E_BUSY) || (!status && (sum != 0 || first.operation)));
    }
    return NULL;
}

/* Evaluates beside it, with one engine after the other. */
static void *evaluate_beside(void *nothing)
{
    int32_t id[TOKENS];
    carat_session *s = NULL;

    some_ids(id, tiny);
    for (int i = 0; !atomic_load(&done); i++) {
        carat_engine *e = engine[i % PAIRS][i / PAIRS % 2];
        bool opened = carat_session_create(&s, e, NULL, NULL) == CARAT_OK;
        /* where a third bisection has the other session for a moment there is none left */
        if (opened)
            atomic_fetch_add(&failures, carat_sync(s, id, 1 + i % 9, NULL, NULL) != CARAT_OK);
        carat_session_close(s);
        s = NULL;
    }
    return nothing;
}

static void run_all(int bisections)
{
    pthread_t thread[3], beside;

    atomic_store(&done, false);
    assert_int_equal(pthread_create(&beside, NULL, evaluate_beside, NULL), 0);
    for (int i = 0; i < bisections; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, bisect_pair, engine[i % PAIRS]), 0);
    for (int i = 0; i < bisections; i++)
        pthread_join(thread[i], NULL);
    atomic_store(&done, true);
    pthread_join(beside, NULL);
}

static void two_at_once(void **state)
{
    (void)state;
    atomic_store(&busy, 0);
    run_all(PAIRS);
    assert_int_equal(failures, 0);
    assert_int_equal(busy, 0);
}

/* Engines the wrong way round must not wait for each other. */
static void *bisect_crossed(void *nothing)
{
    carat_engine *crossed[2] = {engine[0][1], engine[0][0]};

    bisect_pair(crossed);
    return nothing;
}

static void the_same_engines_twice(void **state)
{
    (void)state;
    pthread_t thread[2];
    for (int i = 0; i < CROSSED; i++) {
        assert_int_equal(pthread_create(&thread[0], NULL, bisect_pair, engine[0]), 0);
        assert_int_equal(pthread_create(&thread[1], NULL, bisect_crossed, NULL), 0);
        pthread_join(thread[0], NULL);
        pthread_join(thread[1], NULL);
    }
    assert_int_equal(failures, 0); /* busy may come, and nothing else */
}

static int open_all(void **state)
{
    (void)state;
    OK(carat_model_open(&tiny, CT_TEST_DATA "/../../models/tiny", NULL, err));
    for (int i = 0; i < PAIRS; i++)
        for (int k = 0; k < 2; k++)
            engine[i][k] = bisected_engine(1 + i, 8 + 3 * k);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    for (int i = 0; i < PAIRS; i++)
        for (int k = 0; k < 2; k++)
            carat_engine_close(engine[i][k]);
    carat_model_close(tiny);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_at_once),
        cmocka_unit_test(the_same_engines_twice),
    };
    return cmocka_run_group_tests_name("check: bisections at once", tests, open_all, close_all);
}

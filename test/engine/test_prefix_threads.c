/* SPDX-License-Identifier: Apache-2.0 */
/* test_prefix_threads.c: threads whose sessions have one owner take over what each other evaluated, while
 * these are in calls, go back or close: every logit is that of one thread alone. `make check-deep` runs it
 * under ThreadSanitizer too. */
#include "timeline_util.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 4, TOKENS = 620, ALICE = 1, ROUNDS = SANITIZED ? 3 : 40 };

static struct windowed wide;
static struct baseline right;
static carat_engine *engine;
static int n_vocab;
static atomic_int failures, found;

static int open_engine(void **state)
{
    (void)state;
    wide = windowed_open();
    right = baseline_of(wide.model, &modes[FAST], TOKENS, 9);
    n_vocab = model_info(wide.model).n_vocab;
    carat_engine_options o = options_of(&modes[FAST], 32, 2);
    o.sessions = 2 * THREADS;
    o.snapshot_bytes = 6 * snapshot_size(wide.model, &o);
    OK(carat_engine_create(&engine, wide.model, &o, err));
    return 0;
}

static int close_engine(void **state)
{
    (void)state;
    carat_engine_close(engine);
    baseline_free(&right);
    windowed_close(&wide);
    return 0;
}

/* cmocka's assertions belong to the main thread; the others count what went wrong. */
static void expect(bool holds)
{
    atomic_fetch_add(&failures, !holds);
}

/* It holds the first n tokens, and their logits. */
static void sync_to(carat_session *s, int n)
{
    int reused = 0;

    expect(carat_sync(s, right.ids.id, n, &reused, NULL) == CARAT_OK);
    atomic_fetch_add(&found, reused > 0);
    const float *logits = carat_logits(s);
    expect(logits && memcmp(logits, row_of(&right, n - 1, n_vocab), (size_t)n_vocab * sizeof *logits) == 0);
}

static void *work(void *user)
{
    const int who = *(const int *)user;

    for (int i = 0; i < ROUNDS; i++) {
        const int n = 40 + (i * 131 + who * 197) % (TOKENS - 40);
        carat_session *s = NULL, *fork = NULL;
        carat_session_options o;
        carat_session_options_default(&o);
        o.owner = ALICE;
        expect(carat_session_create(&s, engine, &o, NULL) == CARAT_OK);
        if (!s)
            return NULL;
        sync_to(s, n);
        if (i % 3 == 0)
            sync_to(s, n / 2 + 1);
        if (i % 4 == 0) {
            expect(carat_fork(s, 20, &fork, NULL) == CARAT_OK);
            sync_to(fork, n);
        }
        carat_session_close(fork);
        carat_session_close(s);
    }
    return NULL;
}

static void threads_of_one_owner(void **state)
{
    (void)state;
    pthread_t thread[THREADS];
    int who[THREADS];

    for (int i = 0; i < THREADS; i++) {
        who[i] = i;
        assert_int_equal(pthread_create(&thread[i], NULL, work, &who[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(atomic_load(&failures), 0);
    assert_true(atomic_load(&found) > THREADS * ROUNDS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_of_one_owner)};
    return cmocka_run_group_tests(tests, open_engine, close_engine);
}

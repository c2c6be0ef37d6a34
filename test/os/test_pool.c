/* SPDX-License-Identifier: Apache-2.0 */
/* test_pool.c: every item of every job runs exactly once, on a thread number in range, in the floating-point
 * environment of NUMERICS.md, whether the workers spin or sleep. Run under ThreadSanitizer as well. */
#define _DEFAULT_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/fp_environment.h"
#include "os/threads.h"
#include "os/pool.h"
#include "host_fp.h"

enum { MOST = 3000 };

struct job {
    int threads;
    int plain[MOST]; /* not atomic on purpose: a second run of an item would be a race */
    int busy[64];    /* per thread number: two threads with one number would race here */
    uint64_t sum[64];
    atomic_int bad;
};

static void count(void *arg, int item, int thread)
{
    struct job *j = arg;
    if (thread < 0 || thread >= j->threads || item < 0 || item >= MOST || j->busy[thread]) {
        atomic_fetch_add(&j->bad, 1);
        return;
    }
    j->busy[thread] = 1;
    j->plain[item]++;
    j->sum[thread] += (uint64_t)item + 1;
    j->busy[thread] = 0;
}

static void run_and_check(struct ct_pool *pool, int items)
{
    struct job *j = calloc(1, sizeof *j);
    assert_non_null(j);
    j->threads = ct_pool_threads(pool);
    ct_pool_run(pool, items, count, j);
    assert_int_equal(atomic_load(&j->bad), 0);
    uint64_t sum = 0;
    for (int t = 0; t < j->threads; t++)
        sum += j->sum[t];
    for (int i = 0; i < MOST; i++)
        assert_int_equal(j->plain[i], i < items);
    assert_true(sum == (uint64_t)items * ((uint64_t)items + 1) / 2);
    free(j);
}

static void every_item_once(void **state)
{
    (void)state;
    static const int threads[] = {1, 2, 3, 4, 8};
    static const int items[] = {0, 1, 2, 3, 7, 64, MOST};
    for (size_t t = 0; t < CT_COUNT(threads); t++) {
        struct ct_pool *pool = NULL;
        assert_int_equal(ct_pool_create(&pool, threads[t], NULL), CARAT_OK);
        assert_int_equal(ct_pool_threads(pool), threads[t]);
        for (int round = 0; round < 20; round++)
            for (size_t i = 0; i < CT_COUNT(items); i++)
                run_and_check(pool, items[i]);
        ct_pool_destroy(pool);
    }
}

/* With a limit the other threads have no part in a job, and come back when it is raised. A pool ends under a
 * limit, too. */
static void a_limit_holds(void **state)
{
    static const int limits[] = {2, 1, 4, 3, 1, 9, 2};
    struct ct_pool *pool = NULL;

    (void)state;
    assert_int_equal(ct_pool_create(&pool, 4, NULL), CARAT_OK);
    for (size_t l = 0; l < CT_COUNT(limits); l++) {
        int late = 0;
        ct_pool_limit(pool, limits[l]);
        for (int round = 0; round < 200; round++) {
            struct job *j = calloc(1, sizeof *j);
            assert_non_null(j);
            j->threads = ct_pool_threads(pool);
            ct_pool_run(pool, 64, count, j);
            for (int t = limits[l]; t < 4; t++)
                late += j->sum[t] > 0;
            for (int i = 0; i < 64; i++)
                assert_int_equal(j->plain[i], 1);
            assert_int_equal(atomic_load(&j->bad), 0);
            free(j);
        }
        assert_true(late <= 4); /* of a job that was under way for a thread when the limit came */
        assert_true(limits[l] > 1 || late == 0);
    }
    ct_pool_destroy(pool);
}

/* Jobs back to back on one set of counters: a late worker must never run an item of an old job, or an item of
 * a new one with the old argument. */
struct relay {
    int job;
    int seen[5];
    atomic_int wrong;
};
static void carry(void *arg, int item, int thread)
{
    struct relay *r = arg;
    (void)thread;
    if (r->seen[item] != r->job - 1)
        atomic_fetch_add(&r->wrong, 1);
    r->seen[item] = r->job;
}

static void many_short_jobs(void **state)
{
    (void)state;
    for (int threads = 2; threads <= 5; threads++) {
        struct ct_pool *pool = NULL;
        assert_int_equal(ct_pool_create(&pool, threads, NULL), CARAT_OK);
        struct relay r[2] = {{0}};
        for (int job = 1; job <= 4000; job++) {
            r[job % 2].job++;
            ct_pool_run(pool, 5, carry, &r[job % 2]);
            if (job % 500 == 0) { /* long enough for every worker to fall asleep */
                double until = ct_os_seconds() + 500e-6;
                while (ct_os_seconds() < until)
                    ct_os_pause();
            }
        }
        for (int k = 0; k < 2; k++) {
            assert_int_equal(atomic_load(&r[k].wrong), 0);
            for (int i = 0; i < 5; i++)
                assert_int_equal(r[k].seen[i], 2000);
        }
        ct_pool_destroy(pool);
    }
}

/* Items long enough that the caller itself falls asleep waiting for the last of them. */
static void linger(void *arg, int item, int thread)
{
    double until = ct_os_seconds() + (item == 0 ? 100e-6 : 400e-6);
    while (ct_os_seconds() < until)
        ct_os_pause();
    atomic_fetch_add((atomic_int *)arg, 1);
    (void)thread;
}

static void caller_sleeps_and_wakes(void **state)
{
    (void)state;
    struct ct_pool *pool = NULL;
    assert_int_equal(ct_pool_create(&pool, 3, NULL), CARAT_OK);
    for (int i = 0; i < 100; i++) {
        atomic_int done = 0;
        ct_pool_run(pool, 3, linger, &done);
        assert_int_equal(atomic_load(&done), 3);
    }
    ct_pool_destroy(pool);
}

/* Waits until both threads have an item, so that a worker really computes; 2^-149 * 2 needs subnormals kept
 * on the way in (DAZ) and 2^-126 / 2 on the way out (FTZ), 1 + 2^-24 needs rounding to nearest even. */
struct environment {
    atomic_int here;
    int right[2];
};
static void compute(void *arg, int item, int thread)
{
    struct environment *e = arg;
    atomic_fetch_add(&e->here, 1);
    while (atomic_load(&e->here) < 2)
        ct_os_pause();
    volatile float tiny = 0x1p-149f, small = 0x1p-126f, one = 1, tie = 0x1p-24f, more = 0x1.8p-23f;
    volatile float a = tiny * 2, b = small / 2, c = one + tie, d = one + more;
    e->right[thread] = a == 0x1p-148f && b == 0x1p-127f && c == 1 && d == 1 + 0x1p-22f;
    (void)item;
}

static void workers_have_the_environment(void **state)
{
    (void)state;
    struct ct_pool *pool = NULL;
    /* A worker inherits its creator's state. */
    uint64_t saved = host_fp_enter();
    carat_status status = ct_pool_create(&pool, 2, NULL);
    ct_fpenv caller = ct_os_fp_enter();
    struct environment e = {0};
    if (status == CARAT_OK)
        ct_pool_run(pool, 2, compute, &e);
    ct_os_fp_leave(caller);
    uint64_t after = host_fp_read();
    host_fp_write(saved);
    assert_int_equal(after, saved | HOST_FP);
    assert_int_equal(status, CARAT_OK);
    assert_true(e.right[0]);
    assert_true(e.right[1]);
    ct_pool_destroy(pool);
}

/* ---- stopping ---- */

struct stop {
    int asked, after; /* questions; the one that is answered with 1 */
    atomic_int ran;
};
static int stop(void *user)
{
    struct stop *s = user;
    return s->asked++ == s->after;
}
static void run_one(void *arg, int item, int thread)
{
    atomic_fetch_add(&((struct stop *)arg)->ran, 1);
    (void)item;
    (void)thread;
}

static void a_stopped_pool_does_nothing(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 4; threads++) {
        struct ct_pool *pool = NULL;
        assert_int_equal(ct_pool_create(&pool, threads, NULL), CARAT_OK);
        struct stop s = {.after = 3};
        ct_pool_watch(pool, stop, &s);
        for (int job = 0; job < 20; job++) /* each asks when it begins, and perhaps later */
            ct_pool_run(pool, 10, run_one, &s);
        assert_int_equal(s.asked, 4);
        assert_true(atomic_load(&s.ran) < 40 && !ct_pool_goes_on(pool, 0));
        assert_false(ct_pool_unwatch(pool));
        run_and_check(pool, 64); /* as if nothing had been */
        assert_int_equal(s.asked, 4);
        ct_pool_watch(pool, stop, &s);
        run_and_check(pool, 64);
        assert_true(ct_pool_unwatch(pool));
        ct_pool_destroy(pool);
    }
}

/* The caller has nothing left to do and waits for an item that asks whether it shall go on. */
struct patient {
    struct ct_pool *pool;
    atomic_bool begun; /* a worker has one of the two items */
    double start;
};
static int stop_while_waiting(void *user)
{
    return ct_os_seconds() - ((struct patient *)user)->start > 0.03;
}
static void outlast(void *arg, int item, int thread)
{
    struct patient *p = arg;
    if (thread != 0)
        atomic_store(&p->begun, true);
    while (thread == 0 && !atomic_load(&p->begun))
        ct_os_sleep(0.001);
    while (thread != 0 && ct_pool_goes_on(p->pool, thread) && ct_os_seconds() - p->start < 20)
        ct_os_sleep(0.001);
    (void)item;
}

static void a_waiting_caller_asks(void **state)
{
    (void)state;
    struct patient p = {.start = ct_os_seconds()};
    assert_int_equal(ct_pool_create(&p.pool, 2, NULL), CARAT_OK);
    ct_pool_watch(p.pool, stop_while_waiting, &p);
    ct_pool_run(p.pool, 2, outlast, &p);
    assert_true(ct_os_seconds() - p.start < 10);
    assert_false(ct_pool_unwatch(p.pool));
    ct_pool_destroy(p.pool);
}

static void refuses_nonsense(void **state)
{
    (void)state;
    struct ct_pool *pool = NULL;
    carat_error err = {0};
    assert_int_equal(ct_pool_create(&pool, 0, &err), CARAT_E_ARGUMENT);
    assert_null(pool);
    assert_true(strlen(err.message) > 0);
    ct_pool_destroy(NULL);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* In a child with little address space left for stacks: the threads that did start are stopped again, or the
 * child would not end. */
static void creation_failure_cleans_up(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit limit = {256u << 20, 256u << 20};
        struct ct_pool *pool = NULL;
        carat_error err = {0};
        alarm(20);
        setrlimit(RLIMIT_AS, &limit);
        if (mmap(NULL, 2 * limit.rlim_cur, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
            _exit(77); /* emulators keep no limits */
        carat_status status = ct_pool_create(&pool, 5000, &err);
        bool small = ct_pool_create(&pool, 2, NULL) == CARAT_OK; /* room again */
        ct_pool_destroy(pool);
        _exit(status == CARAT_E_MEMORY && err.code == status && strstr(err.message, "thread") && small ? 0
                                                                                                       : 1);
    }
    int end = 0;
    assert_int_equal(waitpid(child, &end, 0), child);
    if (WIFEXITED(end) && WEXITSTATUS(end) == 77)
        skip();
    assert_true(WIFEXITED(end) && WEXITSTATUS(end) == 0);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_once),
        cmocka_unit_test(a_limit_holds),
        cmocka_unit_test(many_short_jobs),
        cmocka_unit_test(caller_sleeps_and_wakes),
        cmocka_unit_test(workers_have_the_environment),
        cmocka_unit_test(a_stopped_pool_does_nothing),
        cmocka_unit_test(a_waiting_caller_asks),
        cmocka_unit_test(refuses_nonsense),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        cmocka_unit_test(creation_failure_cleans_up),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

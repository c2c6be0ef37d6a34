/* SPDX-License-Identifier: Apache-2.0 */
/* test_lock.c: one at a time, in the order in which they asked. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "os/lock.h"

static struct ct_lock lock;
static int inside, total, order[8], n_order; /* plain: the lock is what guards them */

static void *count_up(void *arg)
{
    (void)arg;
    for (int i = 0; i < 5000; i++) {
        ct_lock_enter(&lock);
        inside++;
        if (i % 64 == 0)
            sched_yield(); /* a good moment for the others to come in wrongly */
        total += inside == 1;
        inside--;
        ct_lock_leave(&lock);
    }
    return NULL;
}

static void one_at_a_time(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&t[i], NULL, count_up, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    assert_int_equal(total, THREADS * 5000);
    assert_int_equal(atomic_load(&lock.next), atomic_load(&lock.serving));
}

static void *come_in(void *arg)
{
    ct_lock_enter(&lock);
    order[n_order++] = *(int *)arg;
    ct_lock_leave(&lock);
    return NULL;
}

/* Whoever leaves and asks again at once stands behind those that wait. */
static void in_the_order_of_asking(void **state)
{
    (void)state;
    enum { THREADS = 5 };
    pthread_t t[THREADS];
    int name[THREADS];
    atomic_store(&lock.next, UINT32_MAX - 2); /* over the edge of the numbers */
    atomic_store(&lock.serving, UINT32_MAX - 2);
    ct_lock_enter(&lock);
    for (int i = 0; i < THREADS; i++) {
        uint32_t before = atomic_load(&lock.next);
        name[i] = i;
        assert_int_equal(pthread_create(&t[i], NULL, come_in, &name[i]), 0);
        while (atomic_load(&lock.next) == before) /* until it stands in the row */
            sched_yield();
    }
    assert_int_equal(n_order, 0);
    ct_lock_leave(&lock);
    ct_lock_enter(&lock);
    assert_int_equal(n_order, THREADS);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(order[i], i);
    ct_lock_leave(&lock);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_at_a_time),
        cmocka_unit_test(in_the_order_of_asking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

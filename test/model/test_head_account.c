/* SPDX-License-Identifier: Apache-2.0 */
/* test_head_account.c: when a pruned head goes on, rests and is tried again, over made-up times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/head_account.h"

/* Steps with n rows whose pruned ones take so many seconds and whose dense ones 1; returns how many were
 * pruned, and adds up what all took. */
static int run(struct ct_head_account *a, int n, int steps, double pruned, double *seconds)
{
    int count = 0;

    for (int i = 0; i < steps; i++) {
        bool prunes = ct_head_account_prunes(a, n);
        count += prunes;
        *seconds += prunes ? pruned : 1;
        ct_head_account_took(a, n, prunes, prunes ? pruned : 1);
    }
    return count;
}

static void what_pays_goes_on(void **state)
{
    struct ct_head_account a = {0};
    double seconds = 0;

    (void)state;
    assert_int_equal(run(&a, 1, 1000, 0.5, &seconds), 998); /* two dense ones were measured */
    assert_true(a.of[0].known && a.of[0].pays);
    assert_false(a.of[1].known);
    assert_int_equal(run(&a, 2, 100, 0.9, &seconds), 98);
    assert_int_equal(run(&a, 4, 100, 0.9, &seconds), 98);
    assert_int_equal(run(&a, 3, 100, 0.9, &seconds), 100); /* the same bucket */
    assert_int_equal(run(&a, 9, 100, 0.9, &seconds), 98);
}

static void what_does_not_pay_rests_longer_and_longer(void **state)
{
    struct ct_head_account a = {0};
    double seconds = 0;
    int rests[5] = {0}, n = 0;

    (void)state;
    assert_int_equal(run(&a, 1, 11, 0.96, &seconds), 9); /* two, two dense ones, and seven that settle it */
    for (int i = 0; i < 64 + 128 + 256 + 512 + 4; i++) {
        bool prunes = ct_head_account_prunes(&a, 1);
        ct_head_account_took(&a, 1, prunes, prunes ? 0.96 : 1);
        if (prunes)
            n++;
        else
            rests[n]++;
    }
    assert_int_equal(n, 4);
    assert_int_equal(rests[0], 64);
    assert_int_equal(rests[1], 128);
    assert_int_equal(rests[2], 256);
    assert_int_equal(rests[3], 512);
    assert_true(a.of[0].known && !a.of[0].pays);
}

/* Twice as slow costs little in the long run; and another text is noticed. */
static void trying_costs_little(void **state)
{
    struct ct_head_account a = {0};
    double seconds = 0;

    (void)state;
    run(&a, 1, 1024, 1.6, &seconds);
    assert_true(seconds < 1.01 * 1024);
    run(&a, 1, 1200, 0.5, &seconds);
    assert_int_equal(run(&a, 1, 500, 0.5, &seconds), 500);
    assert_true(run(&a, 1, 500, 2, &seconds) < 40); /* and that it does not pay any more */
}

/* Steps that are disturbed do not end it. */
static void slow_steps_change_nothing(void **state)
{
    struct ct_head_account a = {0};
    double seconds = 0;

    (void)state;
    run(&a, 1, 100, 0.5, &seconds);
    for (int i = 0; i < 20; i++) {
        run(&a, 1, 1, 50, &seconds);
        assert_int_equal(run(&a, 1, 9, 0.5, &seconds), 9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_pays_goes_on),
        cmocka_unit_test(what_does_not_pay_rests_longer_and_longer),
        cmocka_unit_test(trying_costs_little),
        cmocka_unit_test(slow_steps_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

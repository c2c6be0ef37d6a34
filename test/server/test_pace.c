/* SPDX-License-Identifier: Apache-2.0 */
/* test_pace.c: how long somebody would wait: nothing where there is a place or nothing was measured, and else
 * the share of all work that has to be done before him. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pace.h"

/* 2 tokens of prompts and half an id a millisecond, answers of 100 ids. */
static const struct pace measured = {.prompt = 2, .drawn = 0.5, .length = 100};

static struct load load_of(const struct pace *p, int running, int waiting)
{
    struct load load = {0};

    for (int i = 0; i < running + waiting; i++)
        pace_add(p, &load, i < running ? 0 : 400, 1000, i >= running);
    return load;
}

static void waits(void **state)
{
    static const struct {
        int running, waiting, places;
        double ms;
    } cases[] = {
        {0, 0, 1, 0},              /* nobody is there */
        {3, 0, 4, 0},              /* a place is free */
        {4, 0, 4, 800.0 / 4},      /* one of four has to end */
        {1, 0, 1, 200},            /* the only one */
        {4, 4, 4, 2400.0 * 5 / 8}, /* and four come before */
        {2, 1, 4, 800.0 * 2 / 3},  /* there are places, and no memory: one waits already */
        {0, 2, 4, 800},            /* no more than all of the work */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct load load = load_of(&measured, cases[i].running, cases[i].waiting);
        assert_float_equal(pace_wait_ms(&measured, &load, cases[i].places), cases[i].ms, 1e-6);
    }
}

static void short_answers(void **state)
{
    struct load load = {0};

    (void)state;
    pace_add(&measured, &load, 0, 30, false); /* fewer ids than others have are left */
    assert_float_equal(pace_wait_ms(&measured, &load, 1), 60, 1e-6);
}

static void unmeasured(void **state)
{
    struct pace p = {0};
    struct load load = load_of(&p, 4, 4);

    (void)state;
    assert_true(pace_wait_ms(&p, &load, 4) == 0);
    p.drawn = 0.5; /* but no answer has ended, and prompts have no speed */
    assert_true(pace_wait_ms(&p, &load, 4) == 0);
}

/* The first figure stands, later ones move it; what tells nothing does not. */
static void learns(void **state)
{
    struct pace p = {0};

    (void)state;
    pace_prompt(&p, 15, 1);
    pace_prompt(&p, 16, 0);
    pace_drawn(&p, 0, 1);
    pace_drawn(&p, 1, 0);
    pace_length(&p, 0);
    assert_float_equal(p.prompt + p.drawn + p.length, 0, 0);
    pace_prompt(&p, 16, 8);
    pace_prompt(&p, 64, 16);
    assert_float_equal(p.prompt, 3, 1e-9);
    pace_drawn(&p, 8, 4);
    pace_drawn(&p, 10, 1);
    pace_drawn(&p, 0, 1);
    assert_float_equal(p.drawn, 3, 1e-9);
    pace_length(&p, 8);
    pace_length(&p, 16);
    pace_length(&p, 0);
    assert_float_equal(p.length, 9, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits),
        cmocka_unit_test(short_answers),
        cmocka_unit_test(unmeasured),
        cmocka_unit_test(learns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

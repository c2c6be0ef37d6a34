/* SPDX-License-Identifier: Apache-2.0 */
/* test_guard.c: the loop guard against its rule, read out over all ids so far: planted cycles of 1 to 65 ids,
 * tables of numbers that are what was asked for, noise; which entropies it asks for. That generations end by
 * it is test_generate_told.c's. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the headers above it. */
#include <cmocka.h>

#include "generate/guard.h"

enum { MOST = 8000, N = 96 };

static carat_error errors, *err = &errors;
static uint64_t state = 3;

static int random_below(int n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((uint32_t)(state >> 33) % (uint32_t)n);
}

struct story {
    int32_t id[MOST];
    float entropy[MOST];
    int n;
};

static void tell(struct story *s, int32_t id, double entropy)
{
    assert_true(s->n < MOST);
    s->id[s->n] = id;
    s->entropy[s->n++] = (float)entropy;
}

/* The rule of guard.h, by looking at everything. */
static int rule(const struct story *s, int n, int least)
{
    for (int c = 1; c <= 64; c++) {
        int ids = CT_MAX(4 * c, least), i = n - 1;
        double sum = 0;
        if (n < ids)
            continue;
        while (i >= n - ids + c && s->id[i] == s->id[i - c])
            i--;
        if (i >= n - ids + c)
            continue;
        for (i = n - ids / 2; i < n; i++)
            sum += (double)s->entropy[i];
        return sum < 0.1 * (ids / 2) ? c : 0;
    }
    return 0;
}

/* What the guard says after each id is the rule, up to the first cycle; entropies that it did not ask for are
 * not there. Returns the ids until it fires, or 0; *cycle is what it said, *asked the entropies. */
static int check_story(const struct story *s, int least, int ahead, int *cycle, int *asked)
{
    struct ct_guard g;

    assert_int_equal(ct_guard_open(&g, least, err), CARAT_OK);
    *cycle = *asked = 0;
    int i = 0;
    while (i < s->n && !*cycle) {
        int more = 1 + (ahead ? random_below(ahead) : 0);
        bool wanted = ct_guard_wants(&g, more);
        for (int k = 0; k < more && i < s->n && !*cycle; k++, i++) {
            *asked += wanted;
            *cycle = ct_guard_push(&g, s->id[i], wanted ? s->entropy[i] : NAN);
            assert_int_equal(*cycle, rule(s, i + 1, least));
        }
    }
    ct_guard_close(&g);
    return *cycle ? i : 0;
}

/* ---- cycles ---- */

static struct story *fresh(void)
{
    static struct story s;

    s.n = 0;
    return &s;
}

static void add_noise(struct story *s, int n)
{
    for (int i = 0; i < n; i++)
        tell(s, 1000 + random_below(5000), random_below(100) / 40.0);
}

/* All ids of a cycle differ; 0.02 nat each. */
static void add_cycle(struct story *s, int c, int n)
{
    for (int i = 0; i < n; i++)
        tell(s, i % c, 0.02);
}

static void planted_cycles(void **unused)
{
    int cycle, asked;

    (void)unused;
    for (int c = 1; c <= 65; c++)
        for (int ahead = 0; ahead <= 8; ahead += 8) {
            struct story *s = fresh();
            int before = random_below(300), ids = CT_MAX(4 * c, N);
            add_noise(s, before);
            add_cycle(s, c, 600);
            int fired = check_story(s, N, ahead, &cycle, &asked);
            assert_int_equal(fired, c <= 64 ? before + ids : 0);
            assert_int_equal(cycle, c <= 64 ? c : 0);
            if (ahead == 0 && c <= 64)
                assert_int_equal(asked, ids / 2); /* the last half of it, and nothing before */
        }
}

/* Cycles that an id disturbs before they have gone round long enough. */
static void disturbed_cycles(void **unused)
{
    int cycle, asked;

    (void)unused;
    for (int c = 1; c <= 64; c++) {
        struct story *s = fresh();
        for (int i = 0; i < 6; i++) {
            add_cycle(s, c, CT_MAX(4 * c, N) - 1);
            tell(s, 777 + i, 0.02);
        }
        assert_int_equal(check_story(s, N, 0, &cycle, &asked), 0);
        s->n -= 1;
        add_cycle(s, c, 600);
        assert_true(check_story(s, N, 3, &cycle, &asked) > 0);
    }
}

/* A cycle whose model is not sure goes on until it is. */
static void unsure_cycles(void **unused)
{
    struct story *s = fresh();
    int cycle, asked;

    (void)unused;
    for (int i = 0; i < 1000; i++)
        tell(s, i % 5, i % 5 ? 0 : 0.55);
    assert_int_equal(check_story(s, N, 0, &cycle, &asked), 0);
    for (int i = 0; i < 100; i++)
        tell(s, i % 5, 0.01);
    int fired = check_story(s, N, 0, &cycle, &asked);
    assert_true(fired > 1000 && fired < 1048);
    assert_int_equal(cycle, 5);
}

static void other_lengths(void **unused)
{
    int cycle, asked;

    (void)unused;
    for (int least = 1; least <= 700; least += 1 + least / 9)
        for (int c = 1; c <= 64; c += 1 + c / 3) {
            struct story *s = fresh();
            add_noise(s, 100);
            add_cycle(s, c, 900);
            assert_int_equal(check_story(s, least, 0, &cycle, &asked), 100 + CT_MAX(4 * c, least));
            check_story(s, least, 8, &cycle, &asked);
        }
}

static void random_stories(void **unused)
{
    int cycle, asked, fired = 0;

    (void)unused;
    for (int round = 0; round < 400; round++) {
        struct story *s = fresh();
        int kinds = 1 + random_below(3);
        while (s->n < 1500)
            if (random_below(3))
                for (int n = random_below(200), c = 1 + random_below(20); n > 0; n--)
                    tell(s, s->n >= c && random_below(60) ? s->id[s->n - c] : random_below(kinds),
                         random_below(26) / 100.0);
            else
                add_noise(s, 1 + random_below(5));
        fired += check_story(s, 20 + random_below(120), random_below(9), &cycle, &asked) > 0;
    }
    assert_true(fired > 100 && fired < 300);
}

/* ---- what is no loop ---- */

/* A character is an id. */
static void add_text(struct story *s, const char *text, double entropy)
{
    for (; *text; text++)
        tell(s, (unsigned char)*text, entropy);
}

/* Rows of numbers, of which the model is sure. */
static void tables(void **unused)
{
    struct story *s = fresh();
    char row[80];
    int cycle, asked;

    (void)unused;
    for (int i = 1; i <= 150; i++) { /* multiples */
        snprintf(row, sizeof row, "| %d | %d | %d |\n", i, 7 * i, i * i);
        add_text(s, row, 0.001);
    }
    assert_int_equal(check_story(s, N, 0, &cycle, &asked), 0);
    s = fresh();
    for (int i = 0; i < 150; i++) { /* hardly anything changes */
        snprintf(row, sizeof row, "0, 0, 0, %d, 0, 0, 0\n", i);
        add_text(s, row, 0.001);
    }
    assert_int_equal(check_story(s, N, 0, &cycle, &asked), 0);
    s = fresh();
    for (int i = 0; i < 80; i++) { /* a line is longer than any cycle, and always the same */
        add_text(s, "| 0 | 1 | 0 | 0 | 1 | 0 | 0 | 1 | 1 | 0 | 1 | 2 | 0 | 0 | 1 | 0 |\n", 0.001);
    }
    assert_int_equal(check_story(s, N, 0, &cycle, &asked), 0);
    s = fresh();
    for (int i = 0; i < 40; i++) { /* a drawing: the same for long, where other things might come */
        for (int k = 0; k < 60; k++)
            tell(s, '=', 0.2);
        tell(s, '\n', 0.2);
    }
    assert_int_equal(check_story(s, N, 0, &cycle, &asked), 0);
}

/* ---- edges ---- */

static void begins_anew(void **unused)
{
    struct ct_guard g;

    (void)unused;
    assert_int_equal(ct_guard_open(&g, N, err), CARAT_OK);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < N - 1; i++)
            assert_int_equal(ct_guard_push(&g, 5, 0), 0);
        ct_guard_begin(&g);
        assert_false(ct_guard_wants(&g, 1));
    }
    ct_guard_close(&g);
}

static void off(void **unused)
{
    struct ct_guard g;

    (void)unused;
    assert_int_equal(ct_guard_open(&g, 0, err), CARAT_OK);
    for (int i = 0; i < 1000; i++) {
        assert_false(ct_guard_wants(&g, 8));
        assert_int_equal(ct_guard_push(&g, 5, 0), 0);
    }
    ct_guard_begin(&g);
    ct_guard_close(&g);
    assert_int_equal(ct_guard_open(&g, -1, err), CARAT_E_ARGUMENT);
    assert_int_equal(ct_guard_open(&g, CARAT_MOST_LOOP + 1, err), CARAT_E_ARGUMENT);
    assert_string_equal(err->message, "loop_guard is 4097, expected 0 to 4096");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planted_cycles), cmocka_unit_test(disturbed_cycles),
        cmocka_unit_test(unsure_cycles),  cmocka_unit_test(other_lengths),
        cmocka_unit_test(random_stories), cmocka_unit_test(tables),
        cmocka_unit_test(begins_anew),    cmocka_unit_test(off),
    };
    return cmocka_run_group_tests_name("loop guard", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_difference.c: carat_difference_of gives what numpy and scipy give (test/data/metrics.txt, from
 * tools/check_metrics.py --vectors), tells ids where columns are some of them, and refuses what it must.
 * Formulas and hard logits are left to test_score.c. */
#include <fenv.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <carat_quality.h>
#include <cmocka.h>

enum { MOST = 5000 };
static float ref[MOST], test[MOST];
static carat_error err;

#define OK(call) assert_int_equal(call, CARAT_OK)

/* ---- numpy and scipy ---- */

static uint32_t random_next(uint32_t *seed)
{
    return (*seed = *seed * 1664525u + 1013904223u) >> 8;
}

/* rows_of in tools/check_metrics.py */
static void make_rows(uint32_t seed, int n, double scale, double apart)
{
    for (int i = 0; i < n; i++) {
        double x = ((int)random_next(&seed) - (1 << 23)) * scale * 0x1p-20;
        ref[i] = (float)x;
        test[i] = (float)(x + ((int)random_next(&seed) - (1 << 23)) * apart * 0x1p-23);
    }
}

static double next_number(FILE *f)
{
    double x;
    assert_int_equal(fscanf(f, "%lf", &x), 1);
    return x;
}

static void metrics_are_scipys(void **state)
{
    FILE *f = fopen(CT_TEST_DATA "/metrics.txt", "r");
    int rows = 0;
    unsigned seed;

    (void)state;
    assert_non_null(f);
    assert_int_equal(fscanf(f, "#%*[^\n]"), 0);
    for (; fscanf(f, "%u", &seed) == 1; rows++) {
        carat_difference_options o;
        carat_difference d;
        carat_difference_options_default(&o);
        carat_difference_default(&d);
        int n = (int)next_number(f);
        double scale = next_number(f), apart = next_number(f);
        o.top = (int)next_number(f);
        o.next = (int32_t)next_number(f);
        o.has_next = o.next >= 0;
        assert_int_equal(fscanf(f, " |"), 0);
        assert_in_range(n, 2, MOST);
        make_rows(seed, n, scale, apart);
        OK(carat_difference_of(ref, test, n, &o, &d, &err));
        const int whole[] = {d.top_ref, d.top_test, d.match, d.near_tie, d.overlap};
        const double real[] = {d.kl,          d.kl_reverse,   d.correlation,  d.cosine,
                               d.entropy_ref, d.entropy_test, d.margin_ref,   d.margin_test,
                               d.largest,     d.logprob_ref,  d.logprob_test, d.delta_p};
        for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
            assert_int_equal(whole[i], (int)next_number(f));
        for (size_t i = 0; i < sizeof real / sizeof *real; i++) {
            double right = next_number(f);
            if (!(fabs(real[i] - right) <= 1e-12 + 1e-11 * fabs(right)))
                fail_msg("seed %u, number %zu is %.17g, expected %.17g", seed, i, real[i], right);
        }
        assert_int_equal(d.compared, n);
        assert_int_equal(d.left_out, 0);
    }
    fclose(f);
    assert_int_equal(rows, 9);
}

/* ---- ids ---- */

static void columns_become_ids(void **state)
{
    int32_t ids[257];
    carat_difference_options o;
    carat_difference by_column, by_id;

    (void)state;
    carat_difference_options_default(&o);
    carat_difference_default(&by_column);
    carat_difference_default(&by_id);
    make_rows(11, 257, 1, 4);
    for (int i = 0; i < 257; i++)
        ids[i] = 3 * i + 7;
    for (int i = 0; i < 257; i++) {
        o = (carat_difference_options){.size = sizeof o, .has_next = 1, .next = i};
        OK(carat_difference_of(ref, test, 257, &o, &by_column, &err));
        o.ids = ids;
        o.next = ids[i];
        OK(carat_difference_of(ref, test, 257, &o, &by_id, &err));
        assert_true(by_id.top_ref == ids[by_column.top_ref] && by_id.top_test == ids[by_column.top_test]);
        assert_true(by_id.logprob_ref == by_column.logprob_ref && by_id.logprob_ref < 0);
        assert_true(by_id.delta_p == by_column.delta_p && by_id.kl == by_column.kl);
        for (int apart = 1; apart <= 2; apart++) { /* an id between two, or behind the last: left out */
            o.next = ids[i] + apart;
            OK(carat_difference_of(ref, test, 257, &o, &by_id, &err));
            assert_true(by_id.logprob_ref == 0 && by_id.logprob_test == 0 && by_id.delta_p == 0);
        }
    }
    o.next = 0;
    OK(carat_difference_of(ref, test, 257, &o, &by_id, &err));
    assert_true(by_id.logprob_ref == 0);
}

static void near_ties_are_the_callers(void **state)
{
    const float a[] = {1, 1.04f, 0}, b[] = {2, 1, 0};
    carat_difference_options o;
    carat_difference d;

    (void)state;
    carat_difference_options_default(&o);
    carat_difference_default(&d);
    OK(carat_difference_of(a, b, 3, NULL, &d, &err));
    assert_true(d.near_tie && !d.match && d.top_ref == 1 && d.top_test == 0 && d.overlap == 3);
    o.near_tie = 0.03;
    OK(carat_difference_of(a, b, 3, &o, &d, &err));
    assert_false(d.near_tie);
    o.near_tie = -1;
    OK(carat_difference_of(b + 1, b + 1, 2, &o, &d, &err));
    assert_true(!d.near_tie && d.match && d.margin_ref == 1);
    o.near_tie = INFINITY;
    OK(carat_difference_of(b, b, 3, &o, &d, &err));
    assert_true(d.near_tie && d.match);
}

static void overlap_is_of_the_top(void **state)
{
    carat_difference_options o;
    carat_difference d;

    (void)state;
    carat_difference_options_default(&o);
    carat_difference_default(&d);
    make_rows(14, 100, 1, 1);
    OK(carat_difference_of(ref, ref, 100, &o, &d, &err));
    assert_int_equal(d.overlap, 10);
    o.top = 1;
    OK(carat_difference_of(ref, ref, 100, &o, &d, &err));
    assert_int_equal(d.overlap, 1);
    o.top = 1024;
    OK(carat_difference_of(ref, ref, 100, &o, &d, &err));
    assert_int_equal(d.overlap, 100);
}

/* ---- callers ---- */

static void older_structs_are_completed(void **state)
{
    struct {
        size_t size;
        int top;
    } old = {sizeof old, 3};
    struct {
        struct {
            size_t size;
            double kl;
        } d;
        double behind;
    } result = {{sizeof result.d, 0}, 5};
    carat_difference_options o;
    carat_difference d;

    (void)state;
    carat_difference_options_default(&o);
    carat_difference_default(&d);
    make_rows(12, 100, 1, 1);
    o.top = 3;
    OK(carat_difference_of(ref, test, 100, &o, &d, &err));
    OK(carat_difference_of(ref, test, 100, (carat_difference_options *)&old, (carat_difference *)&result.d,
                           &err));
    assert_true(result.d.size == sizeof result.d && result.d.kl == d.kl && d.kl > 0);
    assert_true(result.behind == 5);
}

/* A program that rounds otherwise gets the same bits and keeps its rounding. */
static void the_callers_rounding_does_not_matter(void **state)
{
    carat_difference usual, other;

    (void)state;
    carat_difference_default(&usual);
    carat_difference_default(&other);
    make_rows(13, 1000, 1, 1);
    OK(carat_difference_of(ref, test, 1000, NULL, &usual, &err));
    fesetround(FE_UPWARD);
    carat_status status = carat_difference_of(ref, test, 1000, NULL, &other, &err);
    int rounding = fegetround();
    fesetround(FE_TONEAREST);
    OK(status);
    assert_int_equal(rounding, FE_UPWARD);
    assert_memory_equal(&usual, &other, sizeof usual);
}

static void refused(carat_status found, carat_status wanted, const char *text)
{
    assert_int_equal(found, wanted);
    assert_int_equal(err.code, wanted);
    if (!strstr(err.message, text))
        fail_msg("\"%s\" does not say \"%s\"", err.message, text);
}

static void bad_arguments_are_refused(void **state)
{
    const int32_t alike[] = {1, 2, 2}, negative[] = {-1, 0, 1}, good[] = {5, 6, 9};
    const carat_status a = CARAT_E_ARGUMENT, number = CARAT_E_NUMERIC;
    float x[3] = {1, 2, 3}, y[3] = {1, 2, 3};
    carat_difference_options o;
    carat_difference d;

    (void)state;
    carat_difference_options_default(&o);
    carat_difference_default(&d);
    refused(carat_difference_of(NULL, y, 3, &o, &d, &err), a, "ref");
    refused(carat_difference_of(x, NULL, 3, &o, &d, &err), a, "test");
    refused(carat_difference_of(x, y, 3, &o, NULL, &err), a, "carat_difference");
    refused(carat_difference_of(x, y, 1, &o, &d, &err), a, "n = 1");
    refused(carat_difference_of(x, y, -3, &o, &d, &err), a, "n = -3");
    o.top = 1025;
    refused(carat_difference_of(x, y, 3, &o, &d, &err), a, "top = 1025");
    o.top = -1;
    refused(carat_difference_of(x, y, 3, &o, &d, &err), a, "top = -1");
    o.top = 1024;
    OK(carat_difference_of(x, y, 3, &o, &d, &err));
    o.near_tie = NAN;
    refused(carat_difference_of(x, y, 3, &o, &d, &err), a, "near_tie");
    o.near_tie = 0;
    o.has_next = 1;
    o.next = 3;
    refused(carat_difference_of(x, y, 3, &o, &d, &err), a, "next = 3");
    o.ids = good;
    OK(carat_difference_of(x, y, 3, &o, &d, &err));
    o.next = -1;
    refused(carat_difference_of(x, y, 3, &o, &d, &err), a, "next = -1");
    o.has_next = 0;
    o.ids = alike;
    refused(carat_difference_of(x, y, 3, &o, &d, &err), a, "ids[2] = 2");
    o.ids = negative;
    refused(carat_difference_of(x, y, 3, &o, &d, &err), a, "ids[0] = -1");
    o.ids = good;
    d.kl = 77;
    y[2] = NAN;
    refused(carat_difference_of(x, y, 3, &o, &d, &err), number, "test hold nan for id 9");
    x[1] = -INFINITY;
    refused(carat_difference_of(x, y, 3, &o, &d, &err), number, "ref hold -inf for id 6");
    assert_true(d.kl == 77); /* nothing is written */
    o.size++;
    refused(carat_difference_of(x, y, 3, &o, &d, &err), a, "size");
    o.size--;
    d.size = 0;
    refused(carat_difference_of(x, y, 3, &o, &d, &err), a, "size");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics_are_scipys),          cmocka_unit_test(columns_become_ids),
        cmocka_unit_test(near_ties_are_the_callers),   cmocka_unit_test(overlap_is_of_the_top),
        cmocka_unit_test(older_structs_are_completed), cmocka_unit_test(the_callers_rounding_does_not_matter),
        cmocka_unit_test(bad_arguments_are_refused),
    };
    return cmocka_run_group_tests_name("check: difference", tests, NULL, NULL);
}

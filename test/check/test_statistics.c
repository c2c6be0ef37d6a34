/* SPDX-License-Identifier: Apache-2.0 */
/* test_statistics.c: summaries against numpy (tools/check_metrics.py has the same bootstrap), in bounded
 * memory and from a mapping that cannot be written; repetition against one look at every pair; what is
 * refused. */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <carat_quality.h>
#include <cmocka.h>

static carat_error err;

#define OK(call) assert_int_equal(call, CARAT_OK)

static void near(double found, double wanted)
{
    if (!(fabs(found - wanted) <= 1e-13 + 1e-13 * fabs(wanted)))
        fail_msg("%.17g, expected %.17g", found, wanted);
}

/* Numbers that Python makes, too. */
static void fill(double *value, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        value[i] = (double)(i * 7919 % 10007) / 1000 - 3;
}

/* numpy: mean, quantiles of 0.5, 0.9, 0.99, max; 0.025 and 0.975 of the resampled means, as NUMERICS.md draws
 * them. Prompt p has p * 5 % 11 + 1 values, of all values every ninth from the fifth on is NaN; of the third
 * row, those of prompt 0 are, too. */
static void summaries_are_numpys(void **state)
{
    static const struct {
        int prompts;
        int64_t n;
        double is[7];
    } row[] = {
        {1, 1, {-3, -3, -3, -3, -3}},
        {2,
         6,
         {2.7588333333333335, 3.6585000000000001, 5.7464999999999993, 6.49125, 6.5739999999999998, -3,
          3.9106000000000001}},
        {7,
         40,
         {2.2524500000000001, 2.5759999999999996, 6.0716999999999999, 6.7911599999999996, 6.9299999999999997,
          1.6121772916666668, 2.9747777777777773}},
        {40,
         217,
         {2.0227603686635942, 2.0609999999999999, 6.0466000000000006, 6.8483599999999996, 6.9299999999999997,
          1.7735598751944723, 2.2780845050421896}},
    };
    double value[256];
    int64_t count[40];

    (void)state;
    for (size_t r = 0; r < sizeof row / sizeof *row; r++) {
        int64_t n = 0;
        for (int p = 0; p < row[r].prompts; p++)
            n += count[p] = p * 5 % 11 + 1;
        fill(value, n);
        for (int64_t i = 4; i < n; i += 9)
            value[i] = NAN;
        if (row[r].prompts == 7)
            value[0] = NAN;
        carat_summary s;
        carat_summary_default(&s);
        OK(carat_summarise(value, count, row[r].prompts, &s, &err));
        const double found[] = {s.mean, s.median, s.p90, s.p99, s.max, s.low, s.high};
        assert_int_equal(s.n, row[r].n);
        assert_int_equal(s.has_interval, row[r].prompts > 1);
        for (int i = 0; i < (s.has_interval ? 7 : 5); i++)
            near(found[i], row[r].is[i]);
        if (!s.has_interval)
            assert_true(isnan(s.low) && isnan(s.high));
    }
}

/* Values that are hard to order: both signs, both zeros, subnormal ones, infinities, many alike. */
static void every_value_finds_its_place(void **state)
{
    static const double ordered[] = {-INFINITY, -1e300, -1,     -1, -1,          -5e-324,
                                     -0.0,      0,      5e-324, 1,  1 + 0x1p-52, 1e300};
    enum { N = sizeof ordered / sizeof *ordered };
    double value[N];
    int64_t count = N;
    carat_summary s;

    (void)state;
    carat_summary_default(&s);
    for (int i = 0; i < N; i++)
        value[i * 5 % N] = ordered[i];
    OK(carat_summarise(value, &count, 1, &s, &err));
    assert_true(s.median == 0 && s.max == 1e300);
    near(s.p90, 1 + 0x1p-52); /* place 9.9 of 0 to 11 */
    near(s.p99, 1e300 - (1e300 - (1 + 0x1p-52)) * (1 - 0.89));
    /* two alike, even infinite ones, are what lies between them; a NaN of either sign has no place */
    const double alike[] = {INFINITY, NAN, INFINITY, copysign(NAN, -1), INFINITY};
    count = 5;
    OK(carat_summarise(alike, &count, 1, &s, &err));
    assert_true(s.n == 3 && s.median == INFINITY && s.p99 == INFINITY && s.max == INFINITY);
    const double signs[] = {copysign(NAN, -1), 1, 2, 3};
    count = 4;
    OK(carat_summarise(signs, &count, 1, &s, &err));
    assert_true(s.median == 2 && s.max == 3);
}

/* A million values that cannot be written, as a mapped file lies there. */
static void a_mapping_is_read_as_it_lies(void **state)
{
    int64_t n = (int64_t)1 << 20, count[2] = {n / 2, n - n / 2};
    double *value =
        mmap(NULL, (size_t)n * sizeof *value, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    carat_summary s;

    (void)state;
    assert_true(value != MAP_FAILED);
    for (int64_t i = 0; i < n; i++)
        value[i] = (double)(i * 1048573 % n);
    assert_int_equal(mprotect(value, (size_t)n * sizeof *value, PROT_READ), 0);
    carat_summary_default(&s);
    OK(carat_summarise(value, count, 2, &s, &err));
    near(s.mean, (double)(n - 1) / 2);
    near(s.median, (double)(n - 1) / 2);
    near(s.p99, (double)(n - 1) * 0.99);
    munmap(value, (size_t)n * sizeof *value);
}

static void nothing_has_no_mean(void **state)
{
    const double nan[3] = {NAN, NAN, NAN};
    const int64_t none[2] = {0, 0}, three[1] = {3};
    carat_summary s;

    (void)state;
    carat_summary_default(&s);
    OK(carat_summarise(NULL, NULL, 0, &s, &err));
    assert_true(s.n == 0 && isnan(s.mean) && isnan(s.median) && isnan(s.max) && !s.has_interval);
    OK(carat_summarise(NULL, none, 2, &s, &err));
    assert_true(s.n == 0 && isnan(s.p99));
    OK(carat_summarise(nan, three, 1, &s, &err));
    assert_true(s.n == 0 && isnan(s.mean) && isnan(s.max) && isnan(s.low));
}

/* ---- repetition ---- */

static carat_repetition repetition_of(const int32_t *ids, int n)
{
    int32_t *exact = malloc((size_t)n * sizeof *exact + 1); /* a sanitizer sees what is read beyond it */
    carat_repetition r;

    if (n)
        memcpy(exact, ids, (size_t)n * sizeof *exact);
    carat_repetition_default(&r);
    OK(carat_repetition_of(exact, n, &r, &err));
    free(exact);
    return r;
}

static int grams_by_pairs(const int32_t *ids, int n)
{
    int repeated = 0;

    for (int i = 0; i + 4 <= n; i++) {
        int j = 0;
        while (j < i && memcmp(ids + j, ids + i, 4 * sizeof *ids) != 0)
            j++;
        repeated += j < i;
    }
    return repeated;
}

static void repeated_grams_are_counted(void **state)
{
    int32_t ids[300];
    uint32_t seed = 1;

    (void)state;
    for (int n = 0; n <= 300; n++) {
        for (int i = 0; i < n; i++) {
            seed = seed * 1664525 + 1013904223;
            ids[i] = (int32_t)(seed >> 24) % 3;
        }
        assert_int_equal(repetition_of(ids, n).repeated_4grams, grams_by_pairs(ids, n));
    }
}

/* `before` ids that are all different, then n of a cycle. */
static carat_repetition cycle_of(int before, int period, int n)
{
    int32_t ids[512];

    for (int i = 0; i < before; i++)
        ids[i] = 1000 + i;
    for (int i = 0; i < n; i++)
        ids[before + i] = i % period;
    return repetition_of(ids, before + n);
}

static void a_closing_cycle_is_found(void **state)
{
    static const struct {
        int before, period, n, cycle;
    } row[] = {
        {0, 1, 31, 0},   {0, 1, 32, 1},    {5, 1, 32, 1},   {5, 1, 31, 0},   {3, 10, 31, 0},
        {3, 10, 32, 10}, {3, 11, 32, 0},   {3, 11, 33, 11}, {9, 64, 191, 0}, {9, 64, 192, 64},
        {9, 65, 195, 0}, {0, 64, 200, 64}, {200, 7, 40, 7},
    };

    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        carat_repetition r = cycle_of(row[i].before, row[i].period, row[i].n);
        assert_int_equal(r.cycle, row[i].cycle);
        assert_int_equal(r.cycle_start, row[i].cycle ? row[i].before : 0);
    }
    assert_int_equal(repetition_of(NULL, 0).cycle, 0);
    /* one that does not close */
    int32_t ids[101] = {0};
    ids[100] = 1;
    assert_int_equal(repetition_of(ids, 101).cycle, 0);
    assert_int_equal(repetition_of(ids, 100).cycle, 1);
}

/* ---- what is refused ---- */

static void refused(carat_status found, const char *text)
{
    assert_int_equal(found, CARAT_E_ARGUMENT);
    if (!strstr(err.message, text))
        fail_msg("\"%s\" does not say \"%s\"", err.message, text);
}

static void bad_arguments_are_refused(void **state)
{
    const double value[1] = {1};
    const int64_t negative[2] = {1, -1}, large[2] = {INT64_MAX / 8, INT64_MAX / 8}, one[1] = {1};
    const int32_t id = 1;
    carat_summary s;
    carat_repetition r;

    (void)state;
    carat_summary_default(&s);
    carat_repetition_default(&r);
    refused(carat_summarise(value, one, 1, NULL, &err), "carat_summary");
    refused(carat_summarise(value, one, -1, &s, &err), "n_prompts = -1");
    refused(carat_summarise(value, NULL, 1, &s, &err), "counts");
    refused(carat_summarise(NULL, one, 1, &s, &err), "values");
    refused(carat_summarise(value, negative, 2, &s, &err), "counts[1] = -1");
    refused(carat_summarise(value, large, 2, &s, &err), "counts[1]");
    refused(carat_repetition_of(&id, 1, NULL, &err), "carat_repetition");
    refused(carat_repetition_of(&id, -1, &r, &err), "n = -1");
    refused(carat_repetition_of(NULL, 1, &r, &err), "ids");
    s.size++;
    refused(carat_summarise(value, one, 1, &s, &err), "size");
    r.size = 0;
    refused(carat_repetition_of(&id, 1, &r, &err), "size");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(summaries_are_numpys),         cmocka_unit_test(every_value_finds_its_place),
        cmocka_unit_test(a_mapping_is_read_as_it_lies), cmocka_unit_test(nothing_has_no_mean),
        cmocka_unit_test(repeated_grams_are_counted),   cmocka_unit_test(a_closing_cycle_is_found),
        cmocka_unit_test(bad_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

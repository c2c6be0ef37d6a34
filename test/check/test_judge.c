/* SPDX-License-Identifier: Apache-2.0 */
/* test_judge.c: from means to a verdict, at and beyond every limit. */
#include "engine/vector_util.h"

#include <carat_quality.h>

#include <math.h>

static carat_quality healthy(void)
{
    carat_quality q;
    carat_quality_default(&q);
    q.kl = 0.001;
    q.correlation = 0.999;
    q.match = 99.5;
    q.entropy_ref = 1;
    q.entropy_test = 0.9;
    return q;
}

static carat_judgement judged(carat_quality q)
{
    carat_judgement j;
    carat_judgement_default(&j);
    OK(carat_judge(&q, NULL, &j, err));
    return j;
}

static void limits_part_verdicts(void **state)
{
    static const struct {
        size_t value, health;
        double at[5]; /* healthy; at its limit; between; at the other limit; beyond */
        const char *reason;
    } cases[] = {
#define CASE(value, health, ...)                                                                             \
    {offsetof(carat_quality, value), offsetof(carat_judgement, health), __VA_ARGS__}
        CASE(kl, kl, {0.00999, 0.01, 0.05, 0.1, 0.11}, "KL"),
        CASE(correlation, correlation, {0.9901, 0.99, 0.97, 0.95, 0.9499}, "correlation"),
        CASE(match, match, {98.1, 98, 95, 90, 89.9}, "match"),
        CASE(entropy_test, entropy, {0.51, 0.5, 0.2, 0.1, 0.09}, "entropy"),
        CASE(outside, outside, {0.00999, 0.01, 0.05, 0.1, 0.11}, "leaves out"),
    };
    static const carat_health expected[] = {CARAT_HEALTHY, CARAT_WATCH, CARAT_WATCH, CARAT_WATCH,
                                            CARAT_CONCERNING};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int k = 0; k < 5; k++) {
            carat_quality q = healthy();
            memcpy((char *)&q + cases[i].value, &cases[i].at[k], sizeof(double));
            carat_judgement j = judged(q);
            carat_health one;
            memcpy(&one, (char *)&j + cases[i].health, sizeof one);
            assert_int_equal(one, expected[k]);
            assert_int_equal(j.whole, expected[k]);
            if (k)
                assert_non_null(strstr(j.reason, cases[i].reason));
            assert_true(*j.reason && j.reason[strlen(j.reason) - 1] != '.');
        }
}

static void entropy_counts_where_the_reference_has_some(void **state)
{
    (void)state;
    carat_quality q = healthy();
    q.entropy_ref = 0.5; /* models/tiny: 0.003 */
    q.entropy_test = 0.001;
    carat_judgement j = judged(q);
    assert_int_equal(j.entropy, CARAT_NOT_JUDGED);
    assert_int_equal(j.whole, CARAT_HEALTHY);
    q.entropy_ref = 0.51;
    j = judged(q);
    assert_int_equal(j.entropy, CARAT_CONCERNING);
}

static void the_worst_counts(void **state)
{
    (void)state;
    carat_quality q = healthy();
    q.loops = 1;
    carat_judgement j = judged(q);
    assert_int_equal(j.loop, CARAT_WATCH);
    assert_int_equal(j.whole, CARAT_WATCH);
    assert_non_null(strstr(j.reason, "goes round in 1 answer "));
    q.match = 80;
    j = judged(q);
    assert_int_equal(j.whole, CARAT_CONCERNING);
    assert_non_null(strstr(j.reason, "match without near-ties is 80 %, below 90 %"));
    q = healthy();
    q.broken = 2;
    j = judged(q);
    assert_int_equal(j.whole, CARAT_CONCERNING);
    assert_int_equal(j.kl, CARAT_HEALTHY);
    assert_non_null(strstr(j.reason, "2 prompts have NaN"));
    q = healthy();
    q.kl = NAN;
    assert_int_equal(judged(q).whole, CARAT_CONCERNING);
    assert_int_equal(judged(healthy()).whole, CARAT_HEALTHY);
}

static void limits_are_the_callers(void **state)
{
    (void)state;
    carat_quality q = healthy();
    carat_quality_limits l;
    carat_quality_limits_default(&l);
    assert_true(l.kl[0] == 0.01 && l.kl[1] == 0.1 && l.correlation[0] == 0.99 && l.correlation[1] == 0.95);
    assert_true(l.match[0] == 98 && l.match[1] == 90 && l.entropy[0] == 0.5 && l.entropy[1] == 0.1);
    assert_true(l.outside[0] == 0.01 && l.outside[1] == 0.1);
    carat_judgement j = {.size = sizeof j};
    l.kl[0] = 0.0001;
    OK(carat_judge(&q, &l, &j, err));
    assert_int_equal(j.kl, CARAT_WATCH);
    l.kl[1] = 0.0005;
    OK(carat_judge(&q, &l, &j, err));
    assert_int_equal(j.kl, CARAT_CONCERNING);
    l.kl[1] = 0.00005;
    FAILS_WITH(carat_judge(&q, &l, &j, err), CARAT_E_ARGUMENT, "limits of mean KL");
    carat_quality_limits_default(&l);
    l.match[0] = NAN;
    FAILS_WITH(carat_judge(&q, &l, &j, err), CARAT_E_ARGUMENT, "match");
    carat_quality_limits_default(&l);
    l.correlation[0] = 0.9; /* below concerning */
    FAILS_WITH(carat_judge(&q, &l, &j, err), CARAT_E_ARGUMENT, "correlation");
    FAILS_WITH(carat_judge(NULL, NULL, &j, err), CARAT_E_ARGUMENT, "quality");
    FAILS_WITH(carat_judge(&q, NULL, NULL, err), CARAT_E_ARGUMENT, "carat_judgement");
    assert_string_equal(carat_health_name(CARAT_WATCH), "watch");
    assert_string_equal(carat_health_name(CARAT_NOT_JUDGED), "not judged");
    assert_string_equal(carat_health_name((carat_health)7), "");
}

/* Of every metric, its better end counts: one that reaches the healthy side, one that reaches the limit of
 * concerning, one that stays beyond it, one that is worse than its mean, and none. */
static void the_better_end_of_an_interval_counts(void **state)
{
    static const struct {
        size_t value, interval, health;
        double mean;       /* concerning by itself */
        double end[3];     /* better ends: healthy, watch, concerning */
        double worst;      /* the other end */
        const char *wordy; /* of the end that is watched */
    } cases[] = {
#define SPAN(value, interval, health, ...)                                                                   \
    {offsetof(carat_quality, value), offsetof(carat_quality, interval), offsetof(carat_judgement, health),   \
     __VA_ARGS__}
        SPAN(kl, kl_interval, kl, 0.2, {0.009, 0.05, 0.15}, 0.4, "its interval begins at 0.05, above 0.01"),
        SPAN(correlation, correlation_interval, correlation, 0.9, {0.995, 0.97, 0.94}, 0.5,
             "is 0.9, its interval ends at 0.97, below 0.99 is to be watched"),
        SPAN(match, match_interval, match, 85, {99, 97.9999, 89}, 70,
             "is 85 %, its interval ends at 97.9999 %, below 98 % is to be watched"),
        SPAN(entropy_test, entropy_interval, entropy, 0.05, {0.6, 0.3, 0.08}, 0.01, "ends at 0.3, below 0.5"),
        SPAN(outside, outside_interval, outside, 0.2, {0.009, 0.05, 0.15}, 0.4, "begins at 0.05, above 0.01"),
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int k = 0; k < 5; k++) {
            const int less = cases[i].worst > cases[i].mean;
            carat_quality q = healthy();
            double ends[2] = {0, 0};
            if (k < 3) {
                ends[!less] = cases[i].end[k];
                ends[less] = cases[i].worst;
            } else if (k == 3) {
                ends[0] = ends[1] = NAN;
            }
            memcpy((char *)&q + cases[i].value, &cases[i].mean, sizeof(double));
            memcpy((char *)&q + cases[i].interval, ends, sizeof ends);
            carat_judgement j = judged(q);
            carat_health one;
            memcpy(&one, (char *)&j + cases[i].health, sizeof one);
            assert_int_equal(one, k < 3 ? k : CARAT_CONCERNING);
            assert_int_equal(j.whole, one);
            if (k == 0)
                assert_non_null(strstr(j.reason, "may be on the healthy side of"));
            if (k == 1)
                assert_non_null(strstr(j.reason, cases[i].wordy));
            if (k > 2)
                assert_null(strstr(j.reason, "interval"));
        }
}

/* 36 positions of six prompts, one flip: "watch: match is 97.22 %, below 98 %" beside an interval to 100. */
static void what_may_be_chance_is_healthy(void **state)
{
    (void)state;
    carat_quality q = healthy();
    q.match = 97.22;
    q.match_interval[0] = 93;
    q.match_interval[1] = 100;
    carat_judgement j = judged(q);
    assert_int_equal(j.whole, CARAT_HEALTHY);
    assert_non_null(strstr(j.reason, "match 97.22 %; match without near-ties may be on the healthy side of "
                                     "98 %: its interval ends at 100 %"));
    q.match = 98.5; /* a mean beside its interval is no reason against it either */
    q.match_interval[1] = 97;
    q.match_interval[0] = 96;
    assert_int_equal(judged(q).whole, CARAT_HEALTHY);
    q.kl = NAN; /* which no interval makes good */
    q.kl_interval[0] = 0.001;
    q.kl_interval[1] = 0.002;
    assert_int_equal(judged(q).kl, CARAT_CONCERNING);
    q = healthy();
    q.match_interval[0] = 99;
    q.match_interval[1] = 98;
    FAILS_WITH(carat_judge(&q, NULL, &j, err), CARAT_E_ARGUMENT, "interval of match");
}

/* What the test cannot say comes before what it says of the rest. */
static void what_is_left_out_is_the_reason(void **state)
{
    (void)state;
    carat_quality q = healthy();
    q.match = 0;
    q.outside = 0.99;
    assert_non_null(
        strstr(judged(q).reason, "probability of ids that the test leaves out is 0.99, above 0.1"));
}

/* Programs that were built before anything could be left out. */
static void older_structs_leave_nothing_out(void **state)
{
    (void)state;
    carat_quality q = healthy();
    carat_quality_limits l;
    carat_judgement j = {.size = offsetof(carat_judgement, outside)};
    carat_quality_limits_default(&l);
    l.size = offsetof(carat_quality_limits, outside);
    l.outside[0] = l.outside[1] = NAN; /* somebody else's memory */
    q.size = offsetof(carat_quality, outside);
    q.outside = NAN;
    q.kl_interval[0] = 1;
    j.outside = (carat_health)77;
    OK(carat_judge(&q, &l, &j, err));
    assert_int_equal(j.whole, CARAT_HEALTHY);
    assert_int_equal(j.outside, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_part_verdicts),
        cmocka_unit_test(entropy_counts_where_the_reference_has_some),
        cmocka_unit_test(the_worst_counts),
        cmocka_unit_test(limits_are_the_callers),
        cmocka_unit_test(the_better_end_of_an_interval_counts),
        cmocka_unit_test(what_may_be_chance_is_healthy),
        cmocka_unit_test(what_is_left_out_is_the_reason),
        cmocka_unit_test(older_structs_leave_nothing_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

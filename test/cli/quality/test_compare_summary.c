/* SPDX-License-Identifier: Apache-2.0 */
/* test_compare_summary.c: the summary of lines that no model made, with all that can stand in one, against
 * what tools/check_metrics.py says of them; lines that are none; a directory for temporary files that takes
 * none. It is linked with cli/quality/compare/summary.c and its tables; what they ask of the rest of the
 * command stands here. */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#undef fail /* the command has one, too */

#include "quality/compare/summary.h"
#include "term/exit.h"
#include "term/message.h"

/* ---- the rest of the command ---- */

static char message[512];
static bool stop;

int term_fail(int code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return code;
}

int fail_as(int code, carat_status status, const char *format, ...)
{
    va_list args;

    (void)status;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return code;
}

int fail_memory(void)
{
    return term_fail(NO_MEMORY, "out of memory");
}

int fail_status(const carat_error *err)
{
    return term_fail(FAILED, "%s", err->message);
}

bool term_interrupted(void)
{
    return stop;
}

json_t *json_text(const char *text, size_t n)
{
    return json_stringn(text, n);
}

json_t *json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* ---- comparing ---- */

#define wrong(...)                                                                                           \
    do {                                                                                                     \
        print_error(__VA_ARGS__);                                                                            \
        _fail(__FILE__, __LINE__);                                                                           \
    } while (0)

static void same(const char *where, const json_t *found, const json_t *right)
{
    char path[256];

    if (json_is_object(right)) {
        const char *name;
        json_t *value;
        json_object_foreach((json_t *)right, name, value)
        {
            snprintf(path, sizeof path, "%s.%s", where, name);
            same(path, json_object_get(found, name), value);
        }
    } else if (json_is_array(right)) {
        assert_int_equal(json_array_size(found), json_array_size(right));
        for (size_t i = 0; i < json_array_size(right); i++) {
            snprintf(path, sizeof path, "%s[%zu]", where, i);
            same(path, json_array_get(found, i), json_array_get(right, i));
        }
    } else if (json_is_real(right)) {
        double a = json_number_value(found), b = json_real_value(right);
        if (!json_is_number(found) || !(fabs(a - b) <= 1e-12 + 1e-12 * fabs(b)))
            wrong("%s is %.17g, expected %.17g\n", where, a, b);
    } else if (!json_equal(found, right)) {
        wrong("%s is otherwise\n", where);
    }
}

static int summary_of_file(const char *path, struct summary *summary)
{
    carat_quality_limits limits;
    FILE *file = fopen(path, "rb");

    assert_non_null(file);
    carat_quality_limits_default(&limits);
    int code = summary_make(file, &limits, summary);
    fclose(file);
    return code;
}

static void a_summary_is_numpys(void **state)
{
    json_t *right = json_load_file(CT_TEST_DATA "/compare/summary.json", 0, NULL), *found;
    struct summary summary;
    (void)state;

    assert_int_equal(summary_of_file(CT_TEST_DATA "/compare/results.jsonl", &summary), DONE);
    assert_true(json_object_size(right) > 25);
    found = fields_json(summary_fields, &summary);
    same("summary", found, right);
    /* the prompt with a NaN is why it is concerning; failures have their names */
    assert_int_equal(summary.verdict.whole, CARAT_CONCERNING);
    assert_int_equal(summary.n_failures, 3);
    assert_true(words_are(summary.failure[0].status, "context"));
    assert_int_equal(json_integer_value(summary.failure[1].id), 4);
    json_decref(right);
    json_decref(found);
    summary_free(&summary);
}

static int summary_of_text(const char *text, struct summary *summary)
{
    carat_quality_limits limits;
    FILE *file = tmpfile();

    assert_non_null(file);
    fputs(text, file);
    carat_quality_limits_default(&limits);
    int code = summary_make(file, &limits, summary);
    fclose(file);
    return code;
}

/* One prompt whose numbers are good, with members of its own behind them. */
static void verdict_is(const char *members, const char *wanted)
{
    struct summary summary;
    char text[512];

    snprintf(text, sizeof text,
             "{\"id\":1,\"status\":\"ok\",\"kl\":[0,0],\"correlation\":[1,1],\"match\":[1,1],"
             "\"entropy_ref\":[2,2],\"entropy_test\":[2,2],%s}\n",
             members);
    assert_int_equal(summary_of_text(text, &summary), DONE);
    const char *found = carat_health_name(summary.verdict.whole);
    if (strcmp(found, wanted) != 0)
        wrong("%s: %s, expected %s\n", members, found, wanted);
    summary_free(&summary);
}

static void a_verdict_hears_of_loops_and_broken_prompts(void **state)
{
    (void)state;
    verdict_is("\"loop_ref\":{\"cycle\":0},\"loop_test\":{\"cycle\":0}", "healthy");
    verdict_is("\"loop_ref\":{\"cycle\":0},\"loop_test\":{\"cycle\":5}", "watch");
    verdict_is("\"loop_ref\":{\"cycle\":2},\"loop_test\":{\"cycle\":5}", "healthy");
    verdict_is("\"loop_ref\":{\"cycle\":2},\"loop_test\":{\"cycle\":0}", "healthy");
    verdict_is("\"a\":0}\n{\"id\":2,\"status\":\"numeric\"", "concerning");
    verdict_is("\"a\":0}\n{\"id\":2,\"status\":\"context\"", "healthy");
}

static void a_verdict_hears_of_what_is_left_out(void **state)
{
    (void)state;
    verdict_is("\"left_out\":[7,7],\"outside\":[0,0]", "healthy");
    verdict_is("\"left_out\":[7,7],\"outside\":[0,0.1]", "watch");
    verdict_is("\"left_out\":[7,7],\"outside\":[0,0.3]", "concerning");
    /* of the positions of all prompts, also of those in which nothing is left out */
#define WHOLE                                                                                                \
    "\"id\":2,\"status\":\"ok\",\"kl\":[0,0],\"correlation\":[1,1],\"match\":[1,1],\"entropy_ref\":[2,2],"   \
    "\"entropy_test\":[2,2]"
    verdict_is("\"left_out\":[7,7],\"outside\":[0,0.3]}\n{" WHOLE, "healthy"); /* 0 to 0.15 */
    verdict_is("\"left_out\":[7,7],\"outside\":[0,0.3]}\n{" WHOLE ",\"left_out\":[7,7],\"outside\":[0,0.04]",
               "watch");
}

/* Near-ties count against nobody, also where there is nothing else; of two prompts the interval counts. */
static void a_verdict_follows_intervals_and_no_near_ties(void **state)
{
#define PROMPT(match, ties)                                                                                  \
    "{\"id\":1,\"status\":\"ok\",\"kl\":[0,0,0,0],\"correlation\":[1,1,1,1],\"match\":" match                \
    ",\"near_tie\":" ties ",\"entropy_ref\":[2,2,2,2],\"entropy_test\":[2,2,2,2]}\n"
    static const struct {
        const char *text, *whole, *reason;
    } cases[] = {
        {PROMPT("[1,0,1,1]", "[0,1,0,0]"), "healthy", "match 100 %"},
        {PROMPT("[0,0,0,0]", "[1,1,1,1]"), "healthy", "match 100 %"},
        {PROMPT("[1,0,1,1]", "[0,0,1,0]"), "concerning", "match without near-ties is 66.67 %, below 90 %"},
        {PROMPT("[1,1,1,1]", "[0,0,0,0]") PROMPT("[1,1,0,1]", "[0,0,0,0]"), "healthy",
         "match 87.5 %; match without near-ties may be on the healthy side of 98 %: its interval ends at 100 "
         "%"},
        {PROMPT("[1,1,0,1]", "[0,0,0,0]") PROMPT("[1,1,0,1]", "[0,0,0,0]"), "concerning",
         "match without near-ties is 75 %, below 90 % is concerning"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct summary summary;
        assert_int_equal(summary_of_text(cases[i].text, &summary), DONE);
        const char *reason = summary.verdict.reason;
        assert_string_equal(carat_health_name(summary.verdict.whole), cases[i].whole);
        if (!strstr(reason, cases[i].reason))
            wrong("%s, expected %s\n", reason, cases[i].reason);
        summary_free(&summary);
    }
}

/* The test gives an id that it leaves out the probability 0. */
static void what_is_left_out_has_no_perplexity(void **state)
{
    static const char line[] = "{\"id\":1,\"status\":\"ok\",\"kl\":[0,0,0],\"ids\":[4,5,-1],"
                               "\"logprob_ref\":[-1,-1,null],\"logprob_test\":[-1,%s,null]}\n";
    char text[256];
    (void)state;

    for (int left_out = 0; left_out < 2; left_out++) {
        struct summary summary;
        snprintf(text, sizeof text, line, left_out ? "null" : "-1");
        assert_int_equal(summary_of_text(text, &summary), DONE);
        const double ref = summary.perplexity[0], test = summary.perplexity[1];
        assert_true(fabs(ref - exp(1)) < 1e-12);
        assert_true(left_out ? isinf(test) : test == ref);
        json_t *all = fields_json(summary_fields, &summary);
        assert_int_equal(json_is_null(json_object_get(all, "perplexity_test")), left_out);
        json_decref(all);
        summary_free(&summary);
    }
}

static void what_is_no_line_is_refused(void **state)
{
    static const char good[] = "{\"id\":1,\"status\":\"ok\",\"kl\":[]}\n";
    static const char *const bad[] = {"hello\n", "[]\n", "{\"id\":1}\n", "{\"status\":\"ok\"}\n",
                                      "{\"id\":1,\"stat"};
    char text[256];
    struct summary summary;
    (void)state;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(text, sizeof text, "%s%s", good, bad[i]);
        assert_int_equal(summary_of_text(text, &summary), FAILED);
        summary_free(&summary);
        assert_non_null(strstr(message, "line 2 of the results"));
    }
    stop = true;
    assert_int_equal(summary_of_text(good, &summary), INTERRUPTED);
    summary_free(&summary);
    stop = false;
    /* nothing of the kind that is asked for: nothing is known */
    assert_int_equal(
        summary_of_text(
            "{\"id\":1,\"status\":\"ok\",\"kl\":\"x\",\"stop\":9,\"first_divergence\":7,\"run\":{}}\n",
            &summary),
        DONE);
    assert_true(isnan(summary.metric[KL].mean));
    assert_non_null(strstr(summary.verdict.reason, "mean KL(ref||test) is nan"));
    summary_free(&summary);
}

static void no_room_for_numbers_is_told(void **state)
{
    struct summary summary;
    (void)state;

    setenv("TMPDIR", "/absent", 1);
    assert_int_equal(summary_of_text("", &summary), FAILED);
    summary_free(&summary);
    assert_non_null(strstr(message, "/absent"));
    unsetenv("TMPDIR");
    assert_int_equal(summary_of_text("", &summary), DONE);
    summary_free(&summary);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_summary_is_numpys),
        cmocka_unit_test(a_verdict_hears_of_loops_and_broken_prompts),
        cmocka_unit_test(a_verdict_hears_of_what_is_left_out),
        cmocka_unit_test(a_verdict_follows_intervals_and_no_near_ties),
        cmocka_unit_test(what_is_left_out_has_no_perplexity),
        cmocka_unit_test(what_is_no_line_is_refused),
        cmocka_unit_test(no_room_for_numbers_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

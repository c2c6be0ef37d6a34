/* SPDX-License-Identifier: Apache-2.0 */
/* test_bad_bench.c: files for `carat bench --compare` that are no result of a benchmark. They are refused
 * before a model is opened: the one named here does not exist. */
#include "cli/bad.h"

#define COMPARE                                                                                              \
    {                                                                                                        \
        "bench", "no.gguf", "-p", "8", "-n", "2", "--compare", "@"                                           \
    }
#define EXPECTED "expected is"

static void text(struct bad_place *p, const void *with)
{
    bad_file(p, "old.json", with, strlen(with));
}

static void nul(struct bad_place *p, const void *with)
{
    (void)with;
    bad_file(p, "old.json", "[{\0}]", 5);
}

static void nothing(struct bad_place *p, const void *with)
{
    (void)with;
    bad_model(p, "old.json");
}

/* begin, then unit so many times, then end. */
struct repeated {
    const char *begin, *unit;
    int times;
    const char *end;
};

static void repeat(struct bad_place *p, const void *with)
{
    const struct repeated *r = with;
    struct buf b = {0};
    put(&b, r->begin, strlen(r->begin));
    for (int i = 0; i < r->times; i++)
        put(&b, r->unit, strlen(r->unit));
    put(&b, r->end, strlen(r->end));
    bad_file(p, "old.json", b.p, b.n);
    buf_free(&b);
}
#define TIMES(n, begin, unit, end)                                                                           \
    repeat, &(struct repeated)                                                                               \
    {                                                                                                        \
        begin, unit, n, end                                                                                  \
    }

#define TEST(more)    "[{\"n_prompt\":8,\"n_gen\":0," more "}]"
#define SAMPLES(list) TEST("\"n_depth\":0,\"samples_ts\":" list)
#define NO_SPEEDS     "element 0 has no samples_ts, which are speeds above 0"
#define NO_COUNTS     "element 0 has no n_prompt and n_gen that count tokens"

static const struct bad_case cases[] = {
    {"compare", "no file", nothing, NULL, 1, {"cannot be opened"}, COMPARE},
    {"compare", "an empty file", text, "", 2, {"is not JSON", EXPECTED}, COMPARE},
    {"compare", "no JSON", text, "| model | size |", 2, {"is not JSON", EXPECTED}, COMPARE},
    {"compare", "a NUL byte", nul, NULL, 2, {"is not JSON", EXPECTED}, COMPARE},
    {"compare", "no UTF-8", text, "[\"\xff\xfe\"]", 2, {"is not JSON", EXPECTED}, COMPARE},
    {"compare", "control characters", text, "[\x1b[2Jx]", 2, {"is not JSON", EXPECTED}, COMPARE},
    {"compare", "JSON lines", text, "{\"a\":1}\n{\"a\":2}\n", 2, {"is not JSON", EXPECTED}, COMPARE},
    {"compare", "an object", text, "{\"tests\":[]}", 2, {"is JSON, but not that", EXPECTED}, COMPARE},
    {"compare", "no tests", text, "[]", 2, {"is JSON, but not that", EXPECTED}, COMPARE},
    {"compare", "a key twice", text, TEST("\"n_gen\":0"), 2, {"duplicate", EXPECTED}, COMPARE},
    {"compare", "numbers", text, "[1,2]", 2, {NO_COUNTS, EXPECTED}, COMPARE},
    {"compare", "nothing in it", text, "[{}]", 2, {NO_COUNTS}, COMPARE},
    {"compare", "half a token", text, "[{\"n_prompt\":0.5,\"n_gen\":0}]", 2, {NO_COUNTS}, COMPARE},
    {"compare", "less than none", text, "[{\"n_prompt\":-8,\"n_gen\":0}]", 2, {NO_COUNTS}, COMPARE},
    {"compare", "more than any", text, "[{\"n_prompt\":8,\"n_gen\":9999999999}]", 2, {NO_COUNTS}, COMPARE},
    {"compare", "no depth", text, TEST("\"x\":0"), 2, {"element 0 has no n_depth"}, COMPARE},
    {"compare", "no samples", text, TEST("\"n_depth\":0"), 2, {NO_SPEEDS}, COMPARE},
    {"compare", "an empty list", text, SAMPLES("[]"), 2, {NO_SPEEDS}, COMPARE},
    {"compare", "no list", text, SAMPLES("7"), 2, {NO_SPEEDS}, COMPARE},
    {"compare", "no speed", text, SAMPLES("[5,0]"), 2, {NO_SPEEDS}, COMPARE},
    {"compare", "a negative speed", text, SAMPLES("[-5]"), 2, {NO_SPEEDS}, COMPARE},
    {"compare", "a word for a speed", text, SAMPLES("[\"5\"]"), 2, {NO_SPEEDS}, COMPARE},
    {"compare", "no speed at all", text, SAMPLES("[null]"), 2, {NO_SPEEDS}, COMPARE},
    {"compare", "beyond any number", text, SAMPLES("[1e999]"), 2, {"is not JSON", EXPECTED}, COMPARE},
    {"compare",
     "no sequences",
     text,
     SAMPLES("[5],\"carat\":{\"n_parallel\":-1}"),
     2,
     {"n_parallel"},
     COMPARE},
    {"compare",
     "another depth",
     text,
     TEST("\"n_depth\":4,\"samples_ts\":[5]"),
     2,
     {"no test of this run"},
     COMPARE},
    {"compare",
     "several sequences",
     text,
     SAMPLES("[5],\"carat\":{\"n_parallel\":2}"),
     2,
     {"no test of this run"},
     COMPARE},
    {"compare", "deep", TIMES(100000, "", "[", ""), 2, {"is not JSON", EXPECTED}, COMPARE},
    {"compare", "deep enough", TIMES(2000, "", "[", ""), 2, {"is not JSON", EXPECTED}, COMPARE},
    {"compare", "many values", TIMES(300000, "[0", ",0", "]"), 2, {"is larger than any result"}, COMPARE},
    {"compare", "many lists", TIMES(130000, "[0", ",[]", "]"), 2, {NO_COUNTS}, COMPARE},
    {"compare", "many objects", TIMES(130000, "[0", ",{}", "]"), 2, {NO_COUNTS}, COMPARE},
    {"compare",
     "many speeds",
     TIMES(20000, "[{\"n_prompt\":8,\"n_gen\":0,\"n_depth\":0,\"samples_ts\":[5", ",5", "]}]"),
     2,
     {NO_SPEEDS},
     COMPARE},
    {"compare", "a long word", TIMES(5 << 20, "[\"", "x", "\"]"), 2, {"is larger than any result"}, COMPARE},
};

static void bad_results(void **state)
{
    (void)state;
    BAD_RUN(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bad_results)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

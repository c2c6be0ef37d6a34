/* SPDX-License-Identifier: Apache-2.0 */
/* test_json.c: the pull reader: what is legal JSON and what is not, decoded strings and numbers, and that a
 * plain string is a slice of the input. Agreement with jansson on damaged documents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/json.h"

static struct ct_bytes bytes(const char *z)
{
    return (struct ct_bytes){(const uint8_t *)z, strlen(z)};
}

/* Reads all; true when the document is sound. */
static bool sound(struct ct_bytes text, carat_error *err)
{
    struct ct_json j;
    enum ct_json_token token;
    ct_json_init(&j, "doc", text);
    do
        token = ct_json_next(&j);
    while (token != CT_JSON_END && token != CT_JSON_ERROR);
    if (token == CT_JSON_ERROR) {
        assert_int_equal(ct_json_next(&j), CT_JSON_ERROR); /* sticky */
        assert_int_equal(j.error.code, CARAT_E_FORMAT);
        if (err)
            *err = j.error;
    } else {
        assert_int_equal(ct_json_next(&j), CT_JSON_END);
        assert_int_equal(j.error.code, CARAT_OK);
    }
    ct_json_free(&j);
    return token == CT_JSON_END;
}

static void documents(void **state)
{
    (void)state;
    static const char *const good[] = {
        "{}",
        "[]",
        " [ ] ",
        "0",
        "-0",
        "1e5",
        "1E+5",
        "-1.25e-3",
        "\"\"",
        "true",
        "null",
        "[[],{}]",
        "{\"a\":1,\"b\":[true,false,null]}",
        "\t\r\n{ \"a\" : 1 }\n",
        "\"\\u0000\"",
        "\"\\ud83d\\ude42\"",
        "\"\x7f\"",
        "\"\xf4\x8f\xbf\xbf\"",
        "[1,2]",
        "{\"a\":1,\"a\":2}",
    };
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "at byte 0: expected a value, found the end"},
        {" ", "at byte 1"},
        {"[", "the end of the text"},
        {"[1", "',' or ']'"},
        {"[1,]", "expected a value, found ']'"},
        {"[,1]", "expected a value"},
        {"[1 2]", "',' or ']', found '2'"},
        {"{\"a\"}", "':' after a key"},
        {"{\"a\":}", "expected a value"},
        {"{\"a\":1,}", "expected a key"},
        {"{a:1}", "expected a key, found 'a'"},
        {"{1:1}", "expected a key"},
        {"[}", "expected a value"},
        {"{]", "expected a key"},
        {"1 2", "nothing after the document"},
        {"{}x", "nothing after the document"},
        {"nul", "expected a value"},
        {"TRUE", "expected a value"},
        {"NaN", "expected a value"},
        {"+1", "expected a value, found '+'"},
        {".5", "expected a value"},
        {"01", "superfluous 0"},
        {"-", "a digit"},
        {"1.", "a digit"},
        {"1e", "a digit"},
        {"1e+", "a digit"},
        {"1e999", "range of a double"},
        {"-1e999999999999999999999", "range of a double"},
        {"\"a", "closing"},
        {"\"a\nb\"", "control character 0x0a"},
        {"\"\\x\"", "backslash"},
        {"\"\\", "an escape"},
        {"\"\\u12g4\"", "four hexadecimal"},
        {"\"\\u12", "four hexadecimal"},
        {"\"\\ud83d\"", "no partner"},
        {"\"\\ud83d\\u0041\"", "no partner"},
        {"\"\\ude42\"", "no partner"},
        {"\"\\ud83dx\"", "no partner"},
        {"\"\x80\"", "UTF-8"},
        {"\"\xc0\xaf\"", "UTF-8"},
        {"\"\xe0\x9f\xbf\"", "UTF-8"},
        {"\"\xed\xa0\x80\"", "UTF-8"},
        {"\"\xf4\x90\x80\x80\"", "UTF-8"},
        {"\"\xf5\x80\x80\x80\"", "UTF-8"},
        {"\"\xe2\x96\"", "UTF-8"},
        {"\xef\xbb\xbf{}", "expected a value, found the byte 0xef"},
        {"/**/1", "expected a value"},
    };
    carat_error err;
    for (size_t i = 0; i < CT_COUNT(good); i++)
        if (!sound(bytes(good[i]), &err))
            fail_msg("%s: %s", good[i], err.message);
    for (size_t i = 0; i < CT_COUNT(bad); i++) {
        if (sound(bytes(bad[i].text), &err))
            fail_msg("accepted: %s", bad[i].text);
        if (strncmp(err.message, "doc: at byte ", 13) != 0 || !strstr(err.message, bad[i].says))
            fail_msg("%s: \"%s\" does not say \"%s\"", bad[i].text, err.message, bad[i].says);
    }
    assert_false(sound((struct ct_bytes){NULL, 0}, NULL));
    assert_false(sound((struct ct_bytes){(const uint8_t *)"1\0", 2}, NULL));
}

static void depth(void **state)
{
    (void)state;
    char text[2 * CT_JSON_DEPTH + 3];
    memset(text, '[', CT_JSON_DEPTH);
    memset(text + CT_JSON_DEPTH, ']', CT_JSON_DEPTH);
    assert_true(sound((struct ct_bytes){(uint8_t *)text, 2 * CT_JSON_DEPTH}, NULL));
    memset(text, '[', CT_JSON_DEPTH + 1);
    memset(text + CT_JSON_DEPTH + 1, ']', CT_JSON_DEPTH + 1);
    assert_false(sound((struct ct_bytes){(uint8_t *)text, 2 * CT_JSON_DEPTH + 2}, NULL));
}

static void strings(void **state)
{
    (void)state;
    static const char text[] =
        "{\"plain\\n\":\"\xe2\x96\x81the\",\"x\":\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\u2581"
        "\\uD83D\\uDE42\\u0000z\"}";
    struct ct_json j;
    ct_json_init(&j, NULL, bytes(text));
    assert_int_equal(ct_json_next(&j), CT_JSON_OBJECT);
    assert_int_equal(ct_json_next(&j), CT_JSON_KEY);
    assert_true(ct_str_is(j.string, "plain\n"));
    assert_int_equal(ct_json_next(&j), CT_JSON_STRING);
    assert_true(ct_str_is(j.string, "\xe2\x96\x81the"));
    assert_true(j.string.s == strstr(text, "\xe2\x96\x81the")); /* a slice of the input */
    assert_int_equal(ct_json_next(&j), CT_JSON_KEY);
    assert_int_equal(ct_json_next(&j), CT_JSON_STRING);
    static const char decoded[] = "a\"\\/\b\f\n\r\t\xc3\xa9\xe2\x96\x81\xf0\x9f\x99\x82\0z";
    assert_int_equal(j.string.n, sizeof decoded - 1);
    assert_memory_equal(j.string.s, decoded, sizeof decoded - 1);
    assert_int_equal(ct_json_next(&j), CT_JSON_OBJECT_END);
    assert_int_equal(ct_json_next(&j), CT_JSON_END);
    ct_json_free(&j);
}

/* A string with many escapes, so that the buffer grows. */
static void long_string(void **state)
{
    (void)state;
    const size_t n = 5000;
    char *text = malloc(n * 3 + 3);
    struct ct_json j;
    assert_non_null(text);
    text[0] = '"';
    for (size_t i = 0; i < n; i++)
        memcpy(text + 1 + i * 3, "x\\n", 3);
    text[n * 3 + 1] = '"';
    ct_json_init(&j, "doc", (struct ct_bytes){(uint8_t *)text, n * 3 + 2});
    assert_int_equal(ct_json_next(&j), CT_JSON_STRING);
    assert_int_equal(j.string.n, n * 2);
    for (size_t i = 0; i < n; i++)
        assert_memory_equal(j.string.s + i * 2, "x\n", 2);
    ct_json_free(&j);
    free(text);
}

static void numbers(void **state)
{
    (void)state;
    static const char *const spelled[] = {
        "0",
        "-0",
        "1",
        "-17",
        "262143",
        "9007199254740993",
        "123456789012345678901234567890",
        "0.1",
        "1e22",
        "1e23",
        "3.141592653589793238462643383279",
        "2.2250738585072014e-308",
        "4.9e-324",
        "1e-400",
        "1.7976931348623157e308",
        "0.00000000000000000000000000000000000000000001234",
        "123456789012345.5e-22",
        "1e0000000000000000000001",
        "-1000000e-6",
        "8.5e-1",
    };
    for (size_t i = 0; i < CT_COUNT(spelled); i++) {
        struct ct_json j;
        ct_json_init(&j, "doc", bytes(spelled[i]));
        assert_int_equal(ct_json_next(&j), CT_JSON_NUMBER);
        double expected = strtod(spelled[i], NULL);
        if (memcmp(&j.number, &expected, sizeof expected) != 0)
            fail_msg("%s: %.17g found, expected %.17g", spelled[i], j.number, expected);
        assert_int_equal(ct_json_next(&j), CT_JSON_END);
        ct_json_free(&j);
    }
}

static void skipping(void **state)
{
    (void)state;
    struct ct_json j;
    ct_json_init(&j, "doc", bytes("{\"a\":[1,{\"b\":[]},\"c\"],\"d\":2,\"e\":{\"x\":1}}"));
    assert_int_equal(ct_json_next(&j), CT_JSON_OBJECT);
    assert_int_equal(ct_json_next(&j), CT_JSON_KEY);
    assert_true(ct_json_skip(&j));
    assert_int_equal(ct_json_next(&j), CT_JSON_KEY);
    assert_true(ct_str_is(j.string, "d"));
    assert_true(ct_json_skip(&j));
    assert_int_equal(ct_json_next(&j), CT_JSON_KEY);
    assert_true(ct_str_is(j.string, "e"));
    assert_true(ct_json_skip(&j));
    assert_int_equal(ct_json_next(&j), CT_JSON_OBJECT_END);
    assert_int_equal(ct_json_next(&j), CT_JSON_END);
    ct_json_free(&j);

    ct_json_init(&j, "doc", bytes("[1,[2,}]"));
    assert_false(ct_json_skip(&j));
    ct_json_free(&j);
}

static void own_complaint(void **state)
{
    (void)state;
    struct ct_json j;
    ct_json_init(&j, "doc", bytes("[7,8]"));
    ct_json_next(&j);
    ct_json_next(&j);
    assert_int_equal(ct_json_fail(&j, "expected %d", 9), CARAT_E_FORMAT);
    assert_string_equal(j.error.message, "doc: at byte 2: expected 9");
    assert_int_equal(ct_json_fail(&j, "later"), CARAT_E_FORMAT);
    assert_string_equal(j.error.message, "doc: at byte 2: expected 9"); /* the first stays */
    assert_int_equal(ct_json_next(&j), CT_JSON_ERROR);
    ct_json_free(&j);
}

/* Damaged copies of a document: sound or not must be what jansson says. */
static void agrees_with_jansson(void **state)
{
    (void)state;
    static const char document[] =
        "{\"key\": [1, -2.5e+3, \"t\\u00e9x\\ud83d\\ude42t\xe2\x96\x81\", null, {\"a\": []}],"
        " \"b\": {\"c\": true, \"d\": false}, \"e\": \"\\\"\\\\\"}";
    static const char pool[] = "{}[]\",:\\u0123456789deEaf+-. \n\x80\xe2ntrls";
    uint64_t seed = 7;
    int refused = 0, accepted = 0;
    for (int round = 0; round < 200000; round++) {
        char text[sizeof document];
        size_t n = sizeof document - 1;
        memcpy(text, document, sizeof text);
        for (int k = 0; k < 1 + round % 3; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            text[(seed >> 33) % n] = pool[(seed >> 20) % (sizeof pool - 1)];
        }
        json_t *value = json_loadb(text, n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        bool mine = sound((struct ct_bytes){(uint8_t *)text, n}, NULL);
        if (mine != (value != NULL))
            fail_msg("%s: carat says %d", text, mine);
        accepted += mine;
        refused += !mine;
        json_decref(value);
    }
    assert_true(accepted > 1000 && refused > 1000);
}

/* A document of nothing but one endless token is refused before much of it has been looked at. */
static void endless(void **state)
{
    (void)state;
    static const struct {
        const char *before;
        char filling;
        size_t n; /* so much of it is legal */
        const char *after, *says;
    } cases[] = {
        {"[\"", 'x', CT_JSON_STRING_MAX, "\"]", "the string is longer than 16777216 bytes"},
        {"[\"\\n", 'x', CT_JSON_STRING_MAX - 2, "\"]", "the string is longer"},
        {"[", '9', 300, "]", NULL}, /* one more digit is still a number */
        {"[-0.", '0', CT_JSON_NUMBER_MAX - 3, "]", "the number is longer than 1024 characters"},
        {"[1e", '0', CT_JSON_NUMBER_MAX - 2, "]", "the number is longer"},
        {"[", ' ', CT_JSON_SPACE_MAX, "]", "found the byte 0x20"},
    };
    char *text = malloc(CT_JSON_STRING_MAX + 16);
    assert_non_null(text);
    for (size_t i = 0; i < CT_COUNT(cases); i++)
        for (size_t more = 0; more < 2; more++) {
            size_t n = strlen(cases[i].before), filled = cases[i].n + more;
            memcpy(text, cases[i].before, n);
            memset(text + n, cases[i].filling, filled);
            strcpy(text + n + filled, cases[i].after);
            carat_error err = {0};
            bool good =
                sound((struct ct_bytes){(const uint8_t *)text, n + filled + strlen(cases[i].after)}, &err);
            if (good != (more == 0 || !cases[i].says) || (!good && !strstr(err.message, cases[i].says)))
                fail_msg("case %zu and %zu: %s", i, more, err.message);
        }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents),     cmocka_unit_test(depth),
        cmocka_unit_test(strings),       cmocka_unit_test(long_string),
        cmocka_unit_test(numbers),       cmocka_unit_test(skipping),
        cmocka_unit_test(own_complaint), cmocka_unit_test(agrees_with_jansson),
        cmocka_unit_test(endless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

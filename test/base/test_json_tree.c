/* SPDX-License-Identifier: Apache-2.0 */
/* test_json_tree.c: the tree equals the one jansson's own parser makes, and what must be refused is, with the caller's
 * code and a place. Running out of memory is proved by test/api/test_out_of_memory.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/json.h"
#include "base/json_tree.h"

static carat_status parse(json_t **root, const char *text, carat_error *err)
{
    return ct_json_tree(root, CARAT_E_ARGUMENT, "doc", (struct ct_bytes){(const uint8_t *)text, strlen(text)},
                        err);
}

static void equals_jansson(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{}",
        "[]",
        " [ ] ",
        "[[],{},[[{}]]]",
        "{\"a\":{\"b\":[1,2,{\"c\":null}],\"d\":true},\"e\":false,\"\":\"\"}",
        "[0,-0,1,-1,9223372036854775807,-9223372036854775808,1.5,-2e3,1E-7,0.1,123456789.123456789]",
        "[\"\\u00e9\\ud83d\\ude00\\n\\\"\\\\\\/\",\"\xc3\xa9\"]",
        ("{\"a-long-key-that-grows-the-buffer-of-keys-a-few-times-over-and-then-some-more-of-it\":{\"k\":1},"
         "\"k\":2}"),
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        carat_error err;
        json_error_t why;
        json_t *tree = NULL, *expected = json_loads(texts[i], JSON_REJECT_DUPLICATES, &why);
        assert_non_null(expected);
        if (parse(&tree, texts[i], &err) != CARAT_OK)
            fail_msg("%s: %s", texts[i], err.message);
        if (!json_equal(tree, expected))
            fail_msg("%s: another tree", texts[i]);
        json_decref(tree);
        json_decref(expected);
    }
}

/* jansson refuses these; other writers of JSON do not avoid them. */
static void large_integers_are_reals(void **state)
{
    (void)state;
    json_t *tree = NULL;
    assert_int_equal(
        parse(&tree, "[9223372036854775808,-9223372036854775809,1000000000000000019884624838656]", NULL),
        CARAT_OK);
    assert_true(json_real_value(json_array_get(tree, 0)) == 0x1p63);
    assert_true(json_real_value(json_array_get(tree, 1)) == -0x1p63);
    assert_true(json_real_value(json_array_get(tree, 2)) == 1e30);
    json_decref(tree);
}

static void refusals(void **state)
{
    (void)state;
    char deep[2 * CT_JSON_DEPTH + 3];
    memset(deep, '[', CT_JSON_DEPTH + 1);
    memset(deep + CT_JSON_DEPTH + 1, ']', CT_JSON_DEPTH + 1);
    deep[sizeof deep - 1] = 0;
    const struct {
        const char *text, *says;
    } bad[] = {
        {"", "expected"},
        {"1", "an object or a list"},
        {"\"a\"", "an object or a list"},
        {"[1,]", "at byte 3"},
        {"{\"a\":1,\"b\":2,\"a\":3}", "duplicate key"},
        {"[{\"a\":[1]},{\"b\":1,\"b\":2}]", "duplicate key"},
        {"[\"a\\u0000b\"]", "NUL"},
        {"{\"\\u0000\":1}", "NUL"},
        {"[1] x", "at byte 4"},
        {"{\"a\":[{\"b\":", "at byte 11"},
        {"[1e999]", "range"},
        {deep, "nested deeper"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        carat_error err = {CARAT_OK, ""};
        json_t *tree = NULL;
        if (parse(&tree, bad[i].text, &err) != CARAT_E_ARGUMENT || !strstr(err.message, bad[i].says) ||
            strncmp(err.message, "doc: at byte ", 13) != 0 || tree)
            fail_msg("%.40s: \"%s\"", bad[i].text, err.message);
        assert_int_equal(err.code, CARAT_E_ARGUMENT);
    }
    deep[0] = ' '; /* one level less on both sides */
    deep[sizeof deep - 2] = ' ';
    json_t *tree = NULL;
    assert_int_equal(parse(&tree, deep, NULL), CARAT_OK);
    json_decref(tree);
}

/* A value is found again by the names that lead to it. */
static void places(void **state)
{
    (void)state;
    static const char text[] =
        "{\"b.c\":1,\"list\":[1,{\"x\":2},[]],\"a\":{\"b\":{\"c\":[3,4]},\"b2\":-5e1},\"s\":\"\xc3\xa9\\n\","
        "\"long\":\"0123456789012345678901234567890123456789012345678901234567890123456789\"}";
    static const struct {
        const char *key, *says;
    } cases[] = {
        {"list", "f: list at byte 16 is [1,{\"x\":2},[]], expected 7"},
        {"list[0]", "f: list[0] at byte 17 is 1, expected 7"},
        {"list[1]", "f: list[1] at byte 19 is {\"x\":2}, expected 7"},
        {"list[1].x", "f: list[1].x at byte 24 is 2, expected 7"},
        {"list[2]", "f: list[2] at byte 27 is [], expected 7"},
        {"a", "f: a at byte 35 is {\"b\":{\"c\":[3,4]},\"b2\":-5e1}, expected 7"},
        {"a.b.c[1]", "f: a.b.c[1] at byte 48 is 4, expected 7"},
        {"a.b2", "f: a.b2 at byte 57 is -5e1, expected 7"},
        {"s", "f: s at byte 67 is \"??\\n\", expected 7"},
        {"long", "is \"012345678901234567890123456789012345678901234567890123456789012..., expected 7"},
        {"none", "f: none: expected 7"},
        {"a.none", "f: a.none: expected 7"},
        {"list.x", "f: list.x: expected 7"},
        {"a[0]", "f: a[0]: expected 7"},
        {"s.s", "f: s.s: expected 7"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        carat_error err;
        assert_int_equal(ct_json_refuse(&err, CARAT_E_UNSUPPORTED, "f",
                                        (struct ct_bytes){(const uint8_t *)text, sizeof text - 1},
                                        cases[i].key, "expected %d", 7),
                         CARAT_E_UNSUPPORTED);
        if (!strstr(err.message, cases[i].says))
            fail_msg("%s: %s", cases[i].key, err.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_jansson),
        cmocka_unit_test(large_integers_are_reals),
        cmocka_unit_test(refusals),
        cmocka_unit_test(places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

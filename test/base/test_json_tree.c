/* SPDX-License-Identifier: Apache-2.0 */
/* test_json_tree.c: the tree equals the one jansson's own parser makes, what must be refused is, with the
 * caller's code and a place, and no tree costs much more than its text. Running out of memory is proved by
 * test/api/out_of_memory.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <jansson.h>

#include "base/json_tree.h"

static struct ct_bytes bytes_of(const char *text)
{
    return (struct ct_bytes){(const uint8_t *)text, strlen(text)};
}

static carat_status parse(struct ct_json_tree *t, const char *text, carat_error *err)
{
    *t = (struct ct_json_tree){0};
    return ct_json_tree_read(t, CARAT_E_ARGUMENT, "doc", bytes_of(text), err);
}

static json_t *as_jansson(const struct ct_json_value *v)
{
    struct ct_str s = ct_json_str(v);
    int64_t integer;
    json_t *made = NULL;
    switch (v->kind) {
    case CT_JSON_OBJECT:
        made = json_object();
        CT_JSON_EACH(key, v)
        {
            struct ct_str name = ct_json_str(key);
            char *copy = calloc(1, name.n + 1);
            assert_non_null(copy);
            memcpy(copy, name.s, name.n);
            json_object_set_new(made, copy, as_jansson(ct_json_of_key(key)));
            assert_ptr_equal(ct_json_get(v, copy), ct_json_of_key(key));
            free(copy);
        }
        assert_int_equal(json_object_size(made), ct_json_count(v));
        return made;
    case CT_JSON_ARRAY:
        made = json_array();
        CT_JSON_EACH(item, v)
        json_array_append_new(made, as_jansson(item));
        assert_int_equal(json_array_size(made), ct_json_count(v));
        return made;
    case CT_JSON_STRING:
        return json_stringn(s.s, s.n);
    case CT_JSON_NUMBER:
        return ct_json_integer(v, &integer) ? json_integer(integer) : json_real(ct_json_double(v));
    case CT_JSON_NULL:
        return json_null();
    default:
        assert_true(ct_json_is_bool(v));
        return json_boolean(ct_json_is(v, CT_JSON_TRUE));
    }
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
        "[\"\\n\",\"plain\",[\"\\t\"],{\"\\r\":\"\\b\",\"k\":\"\\f\"},\"\\\\\"]",
        "{\"a-long-key-of-many-bytes-that-stays-where-it-stands-in-the-text\":{\"k\":1},\"k\":2}",
        ("{\"a\":0,\"b\":0,\"c\":0,\"d\":0,\"e\":0,\"f\":0,\"g\":0,\"h\":0,\"i\":0,\"j\":0,\"k\":0,\"l\":0,"
         "\"m\":0,\"n\":0,\"o\":0,\"p\":0,\"q\":0,\"r\":0,\"aa\":{\"a\":1}}"),
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        carat_error err;
        json_error_t why;
        struct ct_json_tree tree;
        json_t *expected = json_loads(texts[i], JSON_REJECT_DUPLICATES, &why);
        assert_non_null(expected);
        if (parse(&tree, texts[i], &err) != CARAT_OK)
            fail_msg("%s: %s", texts[i], err.message);
        json_t *found = as_jansson(tree.value);
        if (!json_equal(found, expected))
            fail_msg("%s: another tree", texts[i]);
        assert_int_equal(tree.value->span, tree.n);
        json_decref(found);
        json_decref(expected);
        ct_json_tree_free(&tree);
    }
}

/* jansson refuses these; other writers of JSON do not avoid them. */
static void large_integers_are_reals(void **state)
{
    (void)state;
    static const double expected[] = {0x1p63, -0x1p63, 1e30};
    struct ct_json_tree tree;
    int64_t integer;
    size_t i = 0;
    assert_int_equal(
        parse(&tree, "[9223372036854775808,-9223372036854775809,1000000000000000019884624838656]", NULL),
        CARAT_OK);
    CT_JSON_EACH(v, tree.value)
    {
        assert_false(ct_json_integer(v, &integer));
        assert_true(ct_json_double(v) == expected[i++]);
    }
    assert_int_equal(i, 3);
    ct_json_tree_free(&tree);
}

/* Every question has an answer for a value that is not there, and for one of another kind. */
static void absent(void **state)
{
    (void)state;
    struct ct_json_tree tree;
    int64_t integer;
    assert_int_equal(parse(&tree, "[[],{},1,\"s\",true]", NULL), CARAT_OK);
    assert_null(ct_json_get(NULL, "k"));
    assert_null(ct_json_first(NULL));
    assert_int_equal(ct_json_count(NULL), 0);
    assert_int_equal(ct_json_str(NULL).n, 0);
    assert_false(ct_json_integer(NULL, &integer) || ct_json_is(NULL, CT_JSON_NULL) || ct_json_is_bool(NULL));
    assert_true(ct_json_double(NULL) == 0);
    CT_JSON_EACH(v, tree.value)
    {
        assert_null(ct_json_get(v, "k"));
        assert_null(ct_json_first(v));
        assert_int_equal(ct_json_count(v), 0);
        assert_int_equal(ct_json_str(v).n, ct_json_is(v, CT_JSON_STRING));
    }
    ct_json_tree_free(&tree);
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
        {"", "doc: at byte 0: expected"},
        {"1", "doc: at byte 1: expected an object or a list"},
        {"\"a\"", "an object or a list"},
        {"[1,]", "doc: at byte 3: "},
        {"{\"a\":1,\"b\":2,\"a\":3}", "doc: at byte 17: duplicate key a, expected once"},
        {"{\"a\":1,\"b\":2,\"\\u0061\"  :3}", "doc: at byte 24: duplicate key a, expected once"},
        {"{\"c\":0,\"b\":1,\"a\":2,\"b\":3,\"a\":4}", "doc: at byte 23: duplicate key b, expected once"},
        {"[{\"a\":[1]},{\"b\":1,\"b\":2}]", "doc: at byte 22: duplicate key b, expected once"},
        {"{\"c\":{\"x\":\"\\n\",\"\\u0064\":[1,{\"\\\"\\n\":0,\"e\":\"\\t\",\"f\":{\"a\":1,\"a\":2}}]}}",
         "duplicate key c.d.f.a, expected once"},
        {"{\"c\":{\"\\n\":0,\"\\n\":1}}", "duplicate key c.?, expected once"},
        /* more keys than are compared one by one */
        {"{\"a\":0,\"b\":0,\"c\":0,\"d\":0,\"e\":0,\"f\":0,\"g\":0,\"h\":0,\"i\":0,\"j\":0,\"k\":0,\"l\":0,"
         "\"m\":0,\"n\":0,\"o\":0,\"p\":0,\"q\":0,\"j\":0,\"b\":0}",
         "doc: at byte 107: duplicate key j, expected once"},
        {"[\"a\\u0000b\"]", "doc: at byte 11: a string holds a NUL character"},
        {"{\"\\u0000\":1}", "NUL"},
        {"[1] x", "doc: at byte 4: "},
        {"{\"a\":[{\"b\":", "doc: at byte 11: "},
        {"[1e999]", "range"},
        {"[{},{\"role\":\"user\",\"content\":tru}]", "doc[1].content: at byte 29: expected"},
        {"[0,[[}]]", "doc[1]: at byte 5: expected"},
        {"[{\"a\":{\"b\":[1}}]", "doc[0].a: at byte 13: expected"},
        {"[{\"a\\n\":1,}]", "doc[0].a?: at byte 10: expected"},
        {deep, "nested deeper"},
    };
    struct ct_json_tree tree;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        carat_error err = {CARAT_OK, ""};
        if (parse(&tree, bad[i].text, &err) != CARAT_E_ARGUMENT || !strstr(err.message, bad[i].says))
            fail_msg("%.40s: \"%s\"", bad[i].text, err.message);
        assert_int_equal(err.code, CARAT_E_ARGUMENT);
        ct_json_tree_free(&tree);
    }
    deep[0] = ' '; /* one level less on both sides */
    deep[sizeof deep - 2] = ' ';
    assert_int_equal(parse(&tree, deep, NULL), CARAT_OK);
    ct_json_tree_free(&tree);
}

/* A value says where it stands. */
static void places(void **state)
{
    (void)state;
    static const char text[] =
        "{\"b.c\":1,\"list\":[1,{\"x\":2},[]],\"a\":{\"b\":{\"c\":[3,4]},\"b2\":-5e1},\"s\":\"\xc3\xa9\\n\","
        "\"long\":\"0123456789012345678901234567890123456789012345678901234567890123456789\",\"p\":\"p\"}";
    struct ct_json_tree tree;
    assert_int_equal(parse(&tree, text, NULL), CARAT_OK);
    const struct ct_json_value *root = tree.value, *list = ct_json_get(root, "list"),
                               *object = ct_json_after(ct_json_first(list)),
                               *b = ct_json_get(ct_json_get(root, "a"), "b");
    const struct {
        const struct ct_json_value *value;
        const char *says;
    } cases[] = {
        {root,
         "f: key at byte 0 is {\"b.c\":1,\"list\":[1,{\"x\":2},[]],\"a\":{\"b\":{\"c\":[3,4]},\"b2\":-5e1}"
         ",\"..., expected 7"},
        {list, "f: key at byte 16 is [1,{\"x\":2},[]], expected 7"},
        {ct_json_first(list), "f: key at byte 17 is 1, expected 7"},
        {object, "f: key at byte 19 is {\"x\":2}, expected 7"},
        {ct_json_get(object, "x"), "f: key at byte 24 is 2, expected 7"},
        {ct_json_after(object), "f: key at byte 27 is [], expected 7"},
        {ct_json_get(root, "a"), "f: key at byte 35 is {\"b\":{\"c\":[3,4]},\"b2\":-5e1}, expected 7"},
        {ct_json_after(ct_json_first(ct_json_get(b, "c"))), "f: key at byte 48 is 4, expected 7"},
        {ct_json_get(ct_json_get(root, "a"), "b2"), "f: key at byte 57 is -5e1, expected 7"},
        {ct_json_get(root, "s"), "f: key at byte 67 is \"??\\n\", expected 7"},
        {ct_json_get(root, "long"),
         "is \"012345678901234567890123456789012345678901234567890123456789012..., expected 7"},
        {ct_json_get(root, "p"), "f: key at byte 158 is \"p\", expected 7"},
        {ct_json_get(root, "none"), "f: key: expected 7"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        carat_error err;
        assert_int_equal(ct_json_refuse(&err, CARAT_E_UNSUPPORTED, "f", bytes_of(text), cases[i].value, "key",
                                        "expected %d", 7),
                         CARAT_E_UNSUPPORTED);
        if (!strstr(err.message, cases[i].says))
            fail_msg("%s: %s", cases[i].says, err.message);
    }
    ct_json_tree_free(&tree);
}

/* The worst texts: the shortest values, and what is doubled when an array grows. */
static void costs_little(void **state)
{
    (void)state;
    static const struct {
        const char *unit;
        size_t times; /* bytes of the tree for each byte of text */
    } rows[] = {{"{},", 12}, {"[],", 12}, {"0,", 17}, {"\"\",", 12}, {"\"\\n\",", 14}, {"{\"\":\"\"},", 14}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const size_t unit = strlen(rows[i].unit), n = ((size_t)8 << 20) / unit;
        char *text = malloc(n * unit + 2);
        assert_non_null(text);
        text[0] = '[';
        for (size_t k = 0; k < n; k++)
            memcpy(text + 1 + k * unit, rows[i].unit, unit);
        text[n * unit] = ']';
        text[n * unit + 1] = 0;
        struct ct_json_tree tree;
        assert_int_equal(parse(&tree, text, NULL), CARAT_OK);
        assert_int_equal(ct_json_count(tree.value), n);
        assert_int_equal(sizeof *tree.value, 16);
        if (tree.capacity * sizeof *tree.value > rows[i].times * n * unit)
            fail_msg("%s costs %zu bytes for each of its text", rows[i].unit,
                     tree.capacity * sizeof *tree.value / (n * unit));
        ct_json_tree_free(&tree);
        free(text);
    }
}

/* Without memory nothing more is opened, however often that is asked for. */
static void full(void **state)
{
    struct ct_json_tree t = {0};

    (void)state;
    ct_json_tree_open(&t, CT_JSON_ARRAY, NULL);
    t.failed = true;
    for (int i = 0; i < 10 * CT_JSON_DEPTH; i++) {
        ct_json_tree_open(&t, CT_JSON_OBJECT, NULL);
        ct_json_tree_close(&t);
    }
    assert_int_equal(t.depth, 1);
    ct_json_tree_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_jansson), cmocka_unit_test(large_integers_are_reals),
        cmocka_unit_test(absent),         cmocka_unit_test(refusals),
        cmocka_unit_test(places),         cmocka_unit_test(costs_little),
        cmocka_unit_test(full),
    };
    return cmocka_run_group_tests_name("base: JSON as a tree", tests, NULL, NULL);
}

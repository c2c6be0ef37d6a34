/* SPDX-License-Identifier: Apache-2.0 */
/* test_tool_call_limits.c: what has no limit in a declaration has one in a form of calls, that of their
 * reader: levels of nesting, and digits of numbers; and how many keys an object has, in any order. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "call_form.h"

/* ---- how deep they are nested ---- */

/* Levels of a value as JSON. */
static int levels_of(const char *s)
{
    int level = 0, most = 0;
    bool quoted = false;

    for (; *s; s++) {
        if (*s == '"')
            quoted = !quoted;
        else if (quoted && *s == '\\')
            s++;
        else if (!quoted && strchr("[{", *s))
            level++;
        else if (!quoted && strchr("]}", *s))
            level--;
        most = CT_MAX(most, level);
    }
    return most;
}

/* Takes a text whole, or nothing of it. */
static bool take_text(struct form *f, const char *text, int32_t *state, int32_t *ids, int *n)
{
    int32_t to = *state;

    for (const char *c = text; *c && to != CT_DEAD; c++)
        to = ct_automaton_byte(&f->a, to, (uint8_t)*c);
    for (const char *c = text; *c && to != CT_DEAD; c++)
        take(f, (uint8_t)*c, state, ids, n);
    return to != CT_DEAD;
}

/* What nests without end in its schema ends before the reader's limit: units of `adds` levels each, behind
 * each of which `needs` more must come. */
static void levels(void **state)
{
    static const struct {
        const char *properties, *unit[2]; /* between tokens, as JSON */
        int adds, needs;
        const char *last[2]; /* what fits behind the last unit, but not with a comma behind it */
    } cases[] = {
        {"\"a\":{}", {"[", "["}, 1, 0, {NULL, NULL}},
        {"\"a\":{}", {"[[],3,", "[[],3,"}, 1, 1, {NULL, NULL}},
        {"\"a\":{}", {"{b:", "{\"b\":"}, 1, 0, {NULL, NULL}},
        {"\"a\":{\"type\":\"object\"}", {"{b:", "{\"b\":"}, 1, 0, {NULL, NULL}},
        {"\"a\":{\"$ref\":\"#\"}", {"{a:", "{\"a\":"}, 1, 1, {NULL, NULL}},
        {"\"a\":{\"type\":[\"object\",\"null\"],\"required\":[\"b\"],\"properties\":{\"b\":{\"$ref\":"
         "\"#/properties/a\"},\"c\":{\"$ref\":\"#/properties/a\"}}}",
         {"{c:null,b:", "{\"c\":null,\"b\":"},
         1,
         0,
         {NULL, NULL}},
        /* behind a comma comes a key whose value is flat, or no comma */
        {"\"a\":{\"type\":\"object\",\"properties\":{\"n\":{\"$ref\":\"#/properties/a\"},\"v\":{\"type\":"
         "\"null\"}}}",
         {"{n:", "{\"n\":"},
         1,
         1,
         {"{v:null", "{\"v\":null"}},
        /* a key that has to be there */
        {"\"a\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"minProperties\":1,\"properties\":{\"x\":"
         "{"
         "\"type\":\"array\",\"minItems\":9},\"y\":{\"$ref\":\"#/properties/a\"}}}}",
         {"[{y:", "[{\"y\":"},
         2,
         1,
         {NULL, NULL}},
        {"\"a\":{\"type\":\"array\",\"items\":{\"type\":\"array\",\"minItems\":1,\"items\":{\"$ref\":"
         "\"#/properties/a\"}}}",
         {"[[", "[["},
         2,
         1,
         {NULL, NULL}},
        {"\"a\":{\"type\":\"array\",\"items\":{\"type\":\"array\",\"minItems\":1,\"items\":{\"$ref\":"
         "\"#/properties/a\"}}}",
         {"[[[],[]],[", "[[[],[]],["},
         2,
         1,
         {NULL, NULL}},
        /* an ending that is short and deep, where one that is long and flat is there, too */
        {"\"a\":{\"type\":\"array\",\"minItems\":1,\"items\":{\"anyOf\":[{\"$ref\":\"#/properties/a\"},"
         "{\"const\":[[[[]]]]},{\"const\":\"a long word\"}]}}",
         {"[", "["},
         1,
         0,
         {NULL, NULL}},
    };

    (void)state;
    for (size_t i = 0; i < CT_COUNT(cases); i++)
        for (int json = 0; json < 2; json++) {
            const int most = CT_JSON_DEPTH - json;
            struct form f;
            char tools[1000];
            int32_t ids[LONGEST + 1];
            int n = 0, deepest = 0, level = 1;
            snprintf(tools, sizeof tools, "[" FUNCTION("f", OBJECT("\"properties\":{%s}")) "]",
                     cases[i].properties);
            if (form_open(&f, json, tools, "required", false))
                fail_msg("%s\n  %s", tools, f.err.message);
            int32_t at = f.a.start;
            if (!json)
                take(&f, 256, &at, ids, &n);
            assert_true(
                take_text(&f, json ? "{\"name\":\"f\",\"parameters\":{\"a\":" : "call:f{a:", &at, ids, &n));
            while (take_text(&f, cases[i].unit[json], &at, ids, &n))
                level += cases[i].adds;
            if (level + cases[i].needs > most || level + cases[i].needs + cases[i].adds <= most)
                fail_msg("%s\n  %d levels", tools, level);
            int32_t last = at;
            int n_last = n;
            assert_true(!cases[i].last[0] || take_text(&f, cases[i].last[json], &last, ids, &n_last));
            assert_true(!cases[i].last[0] || !take_text(&f, ",", &last, ids, &n_last));
            for (int w = 0; w < 100; w++) {
                carat_calls calls;
                const int whole = walk_on(&f, at, draw(60), ids, n);
                assert_int_equal(ct_calls_parse(f.t, ids, whole, tools, &calls, &f.err), CARAT_OK);
                for (int k = 0; k < calls.n; k++) {
                    if (calls.part[k].error)
                        fail_msg("%s\n  %s\n  %s", tools, calls.part[k].text, calls.part[k].error);
                    deepest = CT_MAX(deepest, levels_of(calls.part[k].arguments));
                }
                carat_calls_free(&calls);
            }
            assert_true(deepest <= most && deepest + cases[i].adds > most);
            form_close(&f);
        }
}

/* A declaration of which every text has too many levels. */
static void too_deep(void **state)
{
    static const int counts[] = {62, 63, 64, 300};

    (void)state;
    for (size_t c = 0; c < CT_COUNT(counts); c++)
        for (int json = 0; json < 2; json++) {
            const int lists = counts[c];
            char tools[30000];
            struct form f;
            int n =
                sprintf(tools, "[{\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"required\":[\"a\"],"
                               "\"properties\":{\"a\":{\"$ref\":\"#/$defs/1\"}},\"$defs\":{");
            for (int i = 1; i <= lists; i++)
                n += sprintf(
                    tools + n,
                    "\"%d\":{\"type\":\"array\",\"minItems\":%d,\"items\":{\"$ref\":\"#/$defs/%d\"}}%s", i,
                    i < lists, i < lists ? i + 1 : i, i < lists ? "," : "}}}]");
            const bool good = lists + 1 <= CT_JSON_DEPTH - json;
            assert_int_equal(form_open(&f, json, tools, "required", false),
                             good ? CARAT_OK : CARAT_E_ARGUMENT);
            if (!good)
                assert_string_equal(f.err.message, json
                                                       ? "the shortest text is nested deeper than 63 levels"
                                                       : "the shortest text is nested deeper than 64 levels");
            form_close(&f);
        }
}

/* ---- how many keys it has ---- */

#define NULL_OF(key)       "\"" key "\":{\"type\":\"null\"}"
#define TWO(a, b)          NULL_OF(a) "," NULL_OF(b)
#define NULLS              "{" TWO("a", "b") "," TWO("c", "d") "," NULL_OF("e") "}"
#define COUNT(least, most) ",\"minProperties\":" #least ",\"maxProperties\":" #most

/* Whether an object of the keys a, b, ... fits, n of them, each null. */
static bool takes_nulls(struct form *f, bool json, size_t n)
{
    char text[400];
    int32_t ids[LONGEST + 1], at = f->a.start;
    int n_ids = 0;
    size_t n_text = (size_t)sprintf(text, json ? "{\"name\":\"f\",\"parameters\":{" : "call:f{");

    for (size_t i = 0; i < n; i++)
        n_text += (size_t)sprintf(text + n_text, json ? "%s\"%c\":null" : "%s%c:null", i ? "," : "",
                                  (char)('a' + i));
    sprintf(text + n_text, json ? "}}" : "}");
    if (!json)
        take(f, 256, &at, ids, &n_ids);
    return take_text(f, text, &at, ids, &n_ids);
}

static void counts(void **state)
{
    static const struct {
        const char *object;
        size_t least, most;
        bool nulls; /* keys may be null */
    } cases[] = {
        {"\"properties\":" NULLS COUNT(2, 3), 2, 3, true},
        {"\"additionalProperties\":{\"type\":\"null\"}" COUNT(3, 4), 3, 4, true},
        {"\"minProperties\":2", 2, 1000, true},
        {"\"additionalProperties\":{\"type\":\"null\"},\"minProperties\":9", 9, 1000, true},
        {"\"properties\":" NULLS ",\"maxProperties\":1", 0, 1, true},
        {"\"properties\":{" NULL_OF("a") "," NULL_OF(
             "b") "},\"required\":[\"a\",\"b\"],\"additionalProperties\":{\"type\":\"integer\"}" COUNT(3, 3),
         3, 3, false},
        /* the cheapest ones, of which one is required, and one has no text */
        {"\"properties\":{\"a\":{\"const\":\"a long text\"},\"b\":{\"const\":1},\"c\":{\"const\":22},\"d\":{"
         "\"const\":333},\"e\":{\"const\":4444},\"f\":false},\"required\":[\"d\"]" COUNT(3, 4),
         3, 4, false},
    };

    static const char never[] = "[" FUNCTION(
        "f", OBJECT("\"properties\":" NULLS COUNT(0, 2) ",\"required\":[\"a\",\"b\",\"c\"]")) "]";
    struct form none;

    (void)state;
    assert_int_equal(form_open(&none, true, never, "required", true), CARAT_E_ARGUMENT);
    form_close(&none);
    for (size_t i = 0; i < CT_COUNT(cases); i++)
        for (int json = 0; json < 2; json++) {
            size_t least = SIZE_MAX, most = 0;
            struct form f;
            char tools[1000];
            int32_t ids[LONGEST + 1];
            snprintf(tools, sizeof tools, "[" FUNCTION("f", OBJECT("%s")) "]", cases[i].object);
            if (form_open(&f, json, tools, "required", true))
                fail_msg("%s\n  %s", tools, f.err.message);
            for (size_t n = 0; n < 12 && cases[i].nulls; n++)
                if (takes_nulls(&f, json, n) !=
                    (n >= cases[i].least && n <= cases[i].most && (n <= 5 || !strstr(tools, "\"a\""))))
                    fail_msg("%s\n  %zu keys", tools, n);
            for (int w = 0; w < 120; w++) {
                struct ct_json_tree tree = {0};
                carat_calls calls;
                if (ct_automaton_crowded(&f.a))
                    ct_automaton_compact(&f.a);
                assert_int_equal(ct_calls_parse(f.t, ids, walk_on(&f, f.a.start, draw(1000), ids, 0), tools,
                                                &calls, &f.err),
                                 CARAT_OK);
                if (calls.part[0].error ||
                    ct_json_tree_read(&tree, CARAT_E_ARGUMENT, "arguments",
                                      ct_str_bytes(ct_str_of(calls.part[0].arguments)), &f.err))
                    fail_msg("%s\n  %s", tools, calls.part[0].text);
                least = CT_MIN(least, ct_json_count(tree.value));
                most = CT_MAX(most, ct_json_count(tree.value));
                ct_json_tree_free(&tree);
                carat_calls_free(&calls);
            }
            if (least != cases[i].least || most > cases[i].most)
                fail_msg("%s\n  %zu to %zu keys", tools, least, most);
            form_close(&f);
        }
}

/* ---- how long its numbers are ---- */

/* Goes on with what numbers are spelled with, until nothing of it is allowed. */
static int32_t longest_number(struct form *f, int32_t state, int32_t *ids, int *n)
{
    const uint32_t seldom = draw(3) ? 1000 : 3; /* how often more than digits */

    for (;;) {
        static const char all[] = ".eE+-0123456789";
        int choice[15], n_choice = 0;
        for (const char *c = draw(seldom) ? all + 5 : all; *c; c++)
            if (ct_automaton_byte(&f->a, state, (uint8_t)*c) != CT_DEAD)
                choice[n_choice++] = *c;
        if (n_choice)
            take(f, choice[draw((uint32_t)n_choice)], &state, ids, n);
        else if (draw(3) == 0)
            return state;
    }
}

/* Numbers of arguments are those that a reader of JSON takes, who knows no longer ones. */
static void numbers(void **state)
{
    static const char *const schemas[] = {
        "{}",
        "{\"type\":\"integer\"}",
        "{\"type\":\"number\"}",
        "{\"type\":\"number\",\"minimum\":0}",
        "{\"type\":\"number\",\"exclusiveMaximum\":-0.001}",
        "{\"type\":\"integer\",\"minimum\":-5}",
        "{\"type\":\"integer\",\"minimum\":1e60}",
        "{\"type\":\"integer\",\"maximum\":-1e307}",
        "{\"type\":\"integer\",\"multipleOf\":7}",
        "{\"enum\":[1e300,0.1,-7]}",
    };

    (void)state;
    for (size_t i = 0; i < CT_COUNT(schemas); i++)
        for (int json = 0; json < 2; json++) {
            struct form f;
            char tools[300];
            int32_t ids[LONGEST + 1];
            int n = 0;
            snprintf(tools, sizeof tools, "[" FUNCTION("f", OBJECT("\"properties\":{\"a\":%s}")) "]",
                     schemas[i]);
            if (form_open(&f, json, tools, "required", true))
                fail_msg("%s\n  %s", tools, f.err.message);
            int32_t at = f.a.start;
            if (!json)
                take(&f, 256, &at, ids, &n);
            assert_true(
                take_text(&f, json ? "{\"name\":\"f\",\"parameters\":{\"a\":" : "call:f{a:", &at, ids, &n));
            for (int w = 0; w < 40; w++) {
                struct ct_json_tree tree = {0};
                carat_calls calls;
                int whole = n;
                const int32_t behind = longest_number(&f, at, ids, &whole);
                whole = walk_on(&f, behind, 0, ids, whole);
                assert_int_equal(ct_calls_parse(f.t, ids, whole, tools, &calls, &f.err), CARAT_OK);
                assert_int_equal(calls.n, 1);
                if (calls.part[0].error)
                    fail_msg("%s\n  %s\n  %s", tools, calls.part[0].text, calls.part[0].error);
                if (ct_json_tree_read(&tree, CARAT_E_ARGUMENT, "arguments",
                                      ct_str_bytes(ct_str_of(calls.part[0].arguments)), &f.err))
                    fail_msg("%s\n  %s\n  %s", tools, calls.part[0].text, f.err.message);
                ct_json_tree_free(&tree);
                carat_calls_free(&calls);
            }
            form_close(&f);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels),
        cmocka_unit_test(too_deep),
        cmocka_unit_test(counts),
        cmocka_unit_test(numbers),
    };
    return cmocka_run_group_tests_name("grammar/tool_call_limits", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_tool_call.c: what the form of calls lets through is what their reader takes: calls that are walked at
 * random through the automaton come back without an error, between tokens and as JSON; text that is let
 * through has none. What must be refused is refused with its place. */
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

/* ---- what is let through is read ---- */

static int walk(struct form *f, int32_t *ids)
{
    return walk_on(f, f->a.start, draw(8) ? draw(80) : draw(500), ids, 0);
}

static const char *const declarations[] = {
    "[{\"name\":\"bare\"}," FUNCTION("f", "{}") "," FUNCTION("g h",
                                                             "{\"type\":\"object\",\"properties\":{}}") "]",
    "[" FUNCTION(
        "f",
        OBJECT("\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"type\":\"integer\"},\"c\":{\"enum\":[1,"
               "\"x\",null,{\"k\":[1]}]}},\"required\":[\"b\"]")) "]",
    "[" FUNCTION(
        "f",
        OBJECT("\"properties\":{\"free\":{},\"o\":{\"type\":\"object\"},\"l\":{\"type\":\"array\"}}")) "]",
    "[" FUNCTION("f", "{\"type\":\"object\"}") "]",
    "[" FUNCTION(
        "f", OBJECT("\"$defs\":{\"n\":{\"type\":\"object\",\"properties\":{\"next\":{\"$ref\":\"#/$defs/n\"},"
                    "\"v\":{\"type\":\"number\"}}}},\"properties\":{\"a\":{\"$ref\":\"#/$defs/n\"},"
                    "\"root\":{\"$ref\":\"#\"}}")) "]",
    "[" FUNCTION(
        "f",
        OBJECT(
            "\"allOf\":[{\"properties\":{\"a\":{\"type\":\"boolean\"}}},{\"properties\":{\"b\":{\"allOf\":["
            "{\"properties\":{\"x\":{}}},{\"properties\":{\"y\":{\"const\":{\"z\":1}}}}]}}}],"
            "\"properties\":{\"c\":{}},\"required\":[\"b\"]")) "]",
    "[" FUNCTION(
        "f",
        OBJECT(
            "\"properties\":{\"a\":{\"type\":\"null\"}},\"patternProperties\":{\"^x\":{\"type\":\"object\","
            "\"properties\":{\"y\":{}}},\"z$\":{\"type\":[\"object\",\"string\"]}},"
            "\"additionalProperties\":false")) "]",
    "[" FUNCTION(
        "f",
        OBJECT("\"properties\":{\"a\":{\"type\":\"null\"}},\"additionalProperties\":{\"type\":\"object\","
               "\"properties\":{\"q\":{\"type\":\"boolean\"}}}")) "]",
    "[" FUNCTION(
        "f",
        OBJECT("\"properties\":{\"a\":{\"anyOf\":[{\"type\":\"null\"},{\"type\":\"object\",\"properties\":{"
               "\"p\":{}}},"
               "{\"type\":\"array\",\"items\":{\"properties\":{\"q\":{}},\"type\":\"object\"}}]},"
               "\"b\":{\"oneOf\":[{\"type\":\"object\",\"properties\":{\"k\":{\"const\":1},\"u\":{}},"
               "\"required\":[\"k\"]},{\"type\":\"object\",\"properties\":{\"k\":{\"const\":2},\"v\":{}},"
               "\"required\":[\"k\"]}]}}")) "]",
    "[" FUNCTION(
        "f",
        OBJECT(
            "\"properties\":{\"a\":{\"type\":\"array\",\"prefixItems\":[{\"type\":\"object\",\"properties\":{"
            "\"p\":{}}},{\"type\":\"string\"}],\"items\":{\"type\":\"object\",\"properties\":{\"q\":{}}}}},"
            "\"anyOf\":[{\"required\":[\"a\"]},{\"properties\":{\"b\":{\"type\":\"integer\"}}}]")) "]",
    "[" FUNCTION("f", OBJECT("\"properties\":{\"a\":{\"type\":[\"object\",\"null\"],\"properties\":{\"p\":{"
                             "\"type\":\"string\","
                             "\"pattern\":\"^[a-c]*$\"}},\"anyOf\":[{},{\"properties\":{\"q\":{}}}]}}")) "]",
    "[" FUNCTION(
        "f",
        OBJECT("\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"definitions\":{\"o\":{\"type\":"
               "\"object\"}},\"properties\":{\"a\":{\"$ref\":\"#/definitions/"
               "o\",\"properties\":{\"p\":{}}}}")) "]",
};

static void check_walks(bool json, const char *tools, const char *choice, int walks)
{
    struct form f;
    int32_t ids[LONGEST + 1];

    if (form_open(&f, json, tools, choice, false))
        fail_msg("%s\n  %s", tools, f.err.message);
    for (int i = 0; i < walks; i++) {
        carat_calls calls;
        const int n = walk(&f, ids);
        int n_calls = 0, n_texts = 0;
        assert_int_equal(ct_calls_parse(f.t, ids, n, tools, &calls, &f.err), CARAT_OK);
        for (int k = 0; k < calls.n; k++) {
            const carat_part *p = &calls.part[k];
            if (p->error)
                fail_msg("%s\n  %s\n  %s", tools, p->text, p->error);
            n_calls += p->is_call;
            n_texts += !p->is_call;
        }
        if (strcmp(choice, "required") == 0)
            assert_true(n_calls > 0 && n_texts == 0);
        if (strcmp(choice, "none") == 0)
            assert_int_equal(n_calls, 0);
        assert_true(!n_calls || !n_texts);
        carat_calls_free(&calls);
    }
    form_close(&f);
}

static void what_is_let_through_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < CT_COUNT(declarations); i++)
        for (int json = 0; json < 2; json++)
            check_walks(json, declarations[i], "required", 150);
    check_walks(true, declarations[1], "auto", 500);
    check_walks(true, declarations[1], "none", 500);
}

/* One call, or several, whatever they are written in. */
static void one_call_or_several(void **state)
{
    int32_t ids[LONGEST + 1];
    struct form f;

    (void)state;
    for (int json = 0; json < 2; json++)
        for (int one = 0; one < 2; one++) {
            int most = 0;
            assert_int_equal(form_open(&f, json, declarations[0], "required", one), CARAT_OK);
            for (int i = 0; i < 200; i++) {
                carat_calls calls;
                assert_int_equal(ct_calls_parse(f.t, ids, walk(&f, ids), declarations[0], &calls, &f.err),
                                 CARAT_OK);
                most = CT_MAX(most, calls.n);
                carat_calls_free(&calls);
            }
            assert_true(one ? most == 1 : most > 1);
            form_close(&f);
        }
}

/* ---- as JSON: which texts there are ---- */

static bool takes(struct form *f, const char *text)
{
    int32_t state = f->a.start;

    for (; *text && state != CT_DEAD; text++)
        state = ct_automaton_byte(&f->a, state, (uint8_t)*text);
    return state != CT_DEAD && ct_automaton_accepts(&f->a, state);
}

#define A "{\"name\": \"f\", \"parameters\": {\"b\": 1}}"

static void texts_of_calls(void **state)
{
    static const char *const calls[] = {
        A,
        "\n" A " \n ",
        "{ \"name\" : \"f\" , \"parameters\" : { \"c\" : null , \"a\" : \"\\n\" , \"b\" : -3 } }",
        "[" A "]",
        "```" A "```",
        "```json\n" A "\n```\n",
        "```tool_code [ " A " ] ```",
        "```tool_call\n" A "```",
    };
    static const char *const several[] = {A A, A "\n" A, "[" A "," A "]", "[" A " ,\n " A " , " A "]",
                                          "```json\n" A "\n" A "\n```"};
    static const char *const never[] = {
        "{\"name\": \"g\", \"parameters\": {}}",
        "{\"name\": \"f\", \"parameters\": {}}",
        "{\"name\": \"f\"}",
        "{\"name\": \"f\", \"parameters\": {\"b\": 1, \"b\": 2}}",
        "{\"name\": \"f\", \"parameters\": {\"b\": 1, \"d\": 2}}",
        "{\"name\": \"f\", \"parameters\": {\"b\": 1, \"a\": \"\\u0000\"}}",
        "{\"parameters\": {\"b\": 1}, \"name\": \"f\"}",
        "[" A,
        "[" A "," A,
        "[]",
        A "]",
        "[" A "]" A,
        A "," A,
        "```json\n" A,
        "```js\n" A "```",
        A "```",
        A " x",
    };
    struct form f;

    (void)state;
    for (int one = 0; one < 2; one++) {
        assert_int_equal(form_open(&f, true, declarations[1], one ? "f" : "required", one), CARAT_OK);
        assert_int_equal(f.opens, -1);
        for (size_t i = 0; i < CT_COUNT(calls); i++)
            if (!takes(&f, calls[i]))
                fail_msg("%s", calls[i]);
        for (size_t i = 0; i < CT_COUNT(several); i++)
            if (takes(&f, several[i]) == one)
                fail_msg("%s", several[i]);
        for (size_t i = 0; i < CT_COUNT(never); i++)
            if (takes(&f, never[i]))
                fail_msg("%s", never[i]);
        assert_false(takes(&f, "text"));
        form_close(&f);
    }
    assert_int_equal(form_open(&f, true, declarations[0], "required", false), CARAT_OK);
    assert_true(takes(&f, "{\"name\":\"bare\"}") && takes(&f, "{\"name\":\"bare\",\"parameters\":{}}"));
    assert_true(takes(&f, "{\"name\":\"f\"}") && takes(&f, "{\"name\":\"g h\",\"parameters\":{ }}"));
    assert_false(takes(&f, "{\"name\":\"g h\"}"));
    form_close(&f);
}

/* auto and none: every text but those that begin as calls do. */
static void texts_beside_calls(void **state)
{
    static const char *const pieces[] = {" ",         "\n", "\t",    "`", "```",      "json", "tool_code",
                                         "tool_call", "js", "[",     "{", "\"name\"", "\"na", "me\"",
                                         ":",         "x",  "\"f\"", "}", "\xc3\xa9"};
    struct form none, any;
    int begun = 0;

    (void)state;
    assert_int_equal(form_open(&none, true, declarations[1], "none", false), CARAT_OK);
    assert_int_equal(form_open(&any, true, declarations[1], "auto", false), CARAT_OK);
    for (int i = 0; i < 40000; i++) {
        char text[256] = "";
        static const char *const path[] = {"```", "json", "\n", "[", " ", "{", "\"name\"", ":"};
        for (size_t k = draw(3); k < CT_COUNT(path); k++) /* near to a beginning, or anything */
            if (draw(8))
                strcat(text, i % 2 ? path[k] : pieces[draw((uint32_t)CT_COUNT(pieces))]);
        const bool begins = ct_calls_begin(ct_str_of(text)) > 0;
        if (takes(&none, text) == begins || takes(&any, text) == begins)
            fail_msg("%s", text);
        begun += begins;
    }
    assert_true(begun > 1000);
    assert_true(takes(&any, A) && takes(&any, "[" A "," A "]") && !takes(&none, A));
    assert_false(takes(&any, "{\"name\": \"g\", \"parameters\": {}}"));
    assert_false(takes(&any, A " and text"));
    form_close(&none);
    form_close(&any);
}

/* ---- what is refused ---- */

static void refusals(void **state)
{
#define ROOM(schema) "[{\"name\":\"e\"}," FUNCTION("f", OBJECT("\"properties\":{\"room\":" schema "}")) "]"
    static const struct {
        const char *tools, *choice, *message;
        int only; /* 0: between tokens, 1: as JSON, 2: both */
    } rows[] = {
        {"{}", "auto", "tools: expected a list of at most 128 functions", 2},
        {"[", "auto", "tools: at byte 1: ", 2},
        {"[]", "auto", "tools: expected at least one tool to choose from", 2},
        {"[{\"name\":\"f\"}]", "g", "tool_choice \"g\" is none of the tools", 2},
        {"[{\"name\":\"f\"},{\"parameters\":{}}]", "auto", "tools[1].function.name: expected a name", 2},
        {"[1]", "required", "tools[0].function.name: expected a name", 2},
        {"[{\"name\":\"f\"},{\"name\":\"a{b\"}]", "auto",
         "tools[1].function.name: \"a{b\" holds '{', which is part of the syntax of calls", 0},
        {"[{\"name\":\"f\",\"parameters\":{\"type\":\"array\"}}]", "auto",
         "tools[0].function.parameters.type: expected \"object\"", 2},
        {"[{\"name\":\"f\",\"parameters\":{\"properties\":{}}}]", "auto",
         "tools[0].function.parameters.type: expected \"object\"", 2},
        {"[{\"name\":\"f\",\"parameters\":[1]}]", "auto", "tools[0].function.parameters: expected an object",
         2},
        {"[{\"name\":\"f\",\"parameters\":\"x\"}]", "auto",
         "tools[0].function.parameters: expected an object", 2},
        {ROOM("{\"pattern\":\"a(\"}"), "auto",
         "tools[1].function.parameters.properties.room.pattern: byte 1: ", 2},
        {ROOM("{\"type\":\"text\"}"), "auto", "tools[1].function.parameters.properties.room.type: ", 2},
        {ROOM("{\"enum\":[]}"), "auto", "tools[1].function.parameters.properties.room.enum: ", 2},
        {ROOM("1"), "auto", "tools[1].function.parameters.properties: expected an object of schemas", 2},
        {ROOM("{\"$ref\":\"http://x/y\"}"), "auto", "tools[1].function.parameters.properties.room.$ref: ", 2},
        {ROOM("{\"type\":\"string\",\"minLength\":2,\"maxLength\":1}},\"required\":[\"room\"],\"$comment\":{"
              "\"c\":1"),
         "auto", "tools[1].function.parameters", 2},
        {ROOM("{\"type\":\"integer\",\"minimum\":1e308}},\"required\":[\"room\"],\"$comment\":{\"c\":1"),
         "auto", "tools[1].function.parameters.properties.room: an argument has at most 308 digits", 2},
        {"[" FUNCTION("f", OBJECT("\"properties\":{\"a:b\":{}}")) "]", "auto",
         "tools[0].function.parameters.properties: the key \"a:b\" cannot be read back from a call", 0},
    };
    struct form f;

    (void)state;
    for (size_t i = 0; i < CT_COUNT(rows); i++)
        for (int json = 0; json < 2; json++) {
            const bool refused = rows[i].only == 2 || rows[i].only == json;
            const carat_status status = form_open(&f, json, rows[i].tools, rows[i].choice, false);
            if (status != (refused ? CARAT_E_ARGUMENT : CARAT_OK) ||
                (refused && strncmp(f.err.message, rows[i].message, strlen(rows[i].message)) != 0))
                fail_msg("%s\n  gives    %s\n  expected %s", rows[i].tools, f.err.message, rows[i].message);
            form_close(&f);
        }
}

/* A tool that is not chosen is not looked at; ten thousand are refused without looking at any. */
static void choices(void **state)
{
    enum { MANY = 10000 };
    static const char tools[] =
        "[{\"name\":\"f\"},{\"name\":\"g\",\"parameters\":{\"type\":\"object\",\"not\":{}}}]";
    struct form f;
    char *many = malloc(MANY * 16 + 2);

    (void)state;
    assert_non_null(many);
    for (int json = 0; json < 2; json++) {
        assert_int_equal(form_open(&f, json, tools, "f", false), CARAT_OK);
        assert_true(!json || (takes(&f, "{\"name\":\"f\"}") && !takes(&f, "{\"name\":\"g\"}")));
        form_close(&f);
        assert_int_equal(form_open(&f, json, tools, "g", false), CARAT_E_UNSUPPORTED);
        assert_string_equal(f.err.message, "tools[1].function.parameters.not: this keyword is not supported");
        form_close(&f);
        for (int i = 0, n = 0; i < MANY; i++)
            n += sprintf(many + n, "%s{\"name\":\"f\"}%s", i ? "," : "[", i + 1 == MANY ? "]" : "");
        assert_int_equal(form_open(&f, json, many, "auto", false), CARAT_E_ARGUMENT);
        assert_string_equal(f.err.message, "tools: expected a list of at most 128 functions");
        form_close(&f);
    }
    free(many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_let_through_is_read),
        cmocka_unit_test(one_call_or_several),
        cmocka_unit_test(texts_of_calls),
        cmocka_unit_test(texts_beside_calls),
        cmocka_unit_test(refusals),
        cmocka_unit_test(choices),
    };
    return cmocka_run_group_tests_name("grammar/tool_call", tests, NULL, NULL);
}

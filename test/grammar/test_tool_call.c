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

#include "grammar/automaton.h"
#include "grammar/tool_call.h"
#include "text/chat/call.h"
#include "text/tokenizer/tokenizer_parts.h"

#define SPACE "\xe2\x96\x81" /* as vocabularies spell it */

/* ---- a vocabulary of bytes, with tokens for calls or without ---- */

static const char *const with_calls[] = {"<unk>", "<start_function_call>", "<end_function_call>", "<escape>",
                                         "<start_function_response>"};
static const char *const without[] = {"<unk>", "<bos>"};

static struct ct_tokenizer *vocabulary(const char *const *control, int n_control)
{
    struct ct_tokenizer *t = NULL;
    char s[8];
    bool good = ct_tokenizer_create(&t, CT_SOURCE_JSON, NULL, NULL) == CARAT_OK;

    assert_true(good);
    t->seed = 1;
    for (int i = 0; i < n_control; i++)
        good = good && ct_tokenizer_add(t, "test", i, ct_str_of(control[i]),
                                        i ? CT_PIECE_CONTROL : CT_PIECE_UNKNOWN, false, NULL) == CARAT_OK;
    for (int b = 0; b < 256; b++) {
        snprintf(s, sizeof s, "<0x%02X>", (unsigned)b);
        good = good && ct_tokenizer_add(t, "test", t->n, (struct ct_str){s, 6}, CT_PIECE_BYTE, false, NULL) ==
                           CARAT_OK;
    }
    good =
        good && ct_tokenizer_add(t, "test", t->n, ct_str_of(SPACE), CT_PIECE_NORMAL, false, NULL) == CARAT_OK;
    t->byte_fallback = true;
    ct_tokenizer_name_controls(t);
    assert_true(good && ct_tokenizer_merges(t, NULL, 0, NULL) == CARAT_OK &&
                ct_tokenizer_finish(t, "test", NULL) == CARAT_OK);
    return t;
}

static struct ct_tokenizer *vocabulary_of(bool json)
{
    return json ? vocabulary(without, (int)CT_COUNT(without))
                : vocabulary(with_calls, (int)CT_COUNT(with_calls));
}

/* ---- a form ---- */

struct form {
    struct ct_tokenizer *t;
    struct ct_grammar g;
    struct ct_automaton a;
    int32_t opens;
    int first_byte; /* id of byte 0 */
    carat_error err;
};

static carat_status form_open(struct form *f, bool json, const char *tools, const char *choice, bool one)
{
    const struct ct_call_options o = {.choice = choice, .one = one};
    int32_t rule = -1;

    *f = (struct form){.t = vocabulary_of(json)};
    f->first_byte = json ? (int)CT_COUNT(without) : (int)CT_COUNT(with_calls);
    ct_grammar_init(&f->g);
    CT_TRY(ct_calls_rule(&f->g, f->t, ct_str_of(tools), &o, &rule, &f->opens, &f->err));
    CT_TRY(ct_grammar_finish(&f->g, rule, &f->err));
    return ct_automaton_open(&f->a, &f->g, &f->err);
}

static void form_close(struct form *f)
{
    if (f->a.grammar)
        ct_automaton_close(&f->a);
    ct_grammar_free(&f->g);
    ct_tokenizer_free(f->t);
}

static uint64_t seed = 1;
static uint32_t draw(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

enum { LONGEST = 4000 };

static void take(struct form *f, int32_t symbol, int32_t *state, int32_t *ids, int *n)
{
    assert_true(*n < LONGEST);
    ids[(*n)++] = symbol < 256 ? f->first_byte + symbol : f->g.token[symbol - 256];
    *state = ct_automaton_symbol(&f->a, *state, symbol);
    assert_int_not_equal(*state, CT_DEAD);
}

/* The rest of a text of the form at random, in ids; symbols of few members are drawn as often as others. */
static int walk_on(struct form *f, int32_t state, uint32_t length, int32_t *ids, int n)
{

    for (uint32_t i = 0; i < length; i++) {
        int choice[256 + 8], n_choice = 0;
        const int only = (int)draw((uint32_t)f->g.n_classes);
        for (int symbol = 0; symbol < 256 + f->g.n_tokens; symbol++)
            if (ct_automaton_symbol(&f->a, state, symbol) != CT_DEAD &&
                (symbol >= 256 || f->g.class_of[symbol] == only || draw(16) == 0))
                choice[n_choice++] = symbol;
        if (n_choice == 0)
            continue;
        take(f, choice[draw((uint32_t)n_choice)], &state, ids, &n);
    }
    uint32_t least = ct_automaton_least(&f->a, state);
    for (int symbol; (symbol = ct_automaton_shortest(&f->a, state)) != CT_NO_SYMBOL;) {
        take(f, symbol, &state, ids, &n);
        assert_int_equal(ct_automaton_least(&f->a, state), --least);
    }
    assert_true(least == 0 && ct_automaton_accepts(&f->a, state));
    return n;
}

static int walk(struct form *f, int32_t *ids)
{
    return walk_on(f, f->a.start, draw(8) ? draw(80) : draw(500), ids, 0);
}

/* ---- what is let through is read ---- */

#define FUNCTION(name, parameters)                                                                           \
    "{\"type\":\"function\",\"function\":{\"name\":\"" name "\",\"parameters\":" parameters "}}"
#define OBJECT(more) "{\"type\":\"object\"," more "}"

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
        ct_calls_free(&calls);
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
    } cases[] = {
        {"\"a\":{}", {"[", "["}, 1, 0},
        {"\"a\":{}", {"[[],3,", "[[],3,"}, 1, 1},
        {"\"a\":{}", {"{b:", "{\"b\":"}, 1, 0},
        {"\"a\":{\"type\":\"object\"}", {"{b:", "{\"b\":"}, 1, 0},
        {"\"a\":{\"$ref\":\"#\"}", {"{a:", "{\"a\":"}, 1, 1},
        {"\"a\":{\"type\":[\"object\",\"null\"],\"required\":[\"b\"],\"properties\":{\"b\":{\"$ref\":"
         "\"#/properties/a\"},\"c\":{\"$ref\":\"#/properties/a\"}}}",
         {"{c:null,b:", "{\"c\":null,\"b\":"},
         1,
         0},
        /* behind a comma comes a key whose value is flat, or no comma */
        {"\"a\":{\"type\":\"object\",\"properties\":{\"n\":{\"$ref\":\"#/properties/a\"},\"v\":{\"type\":"
         "\"null\"}}}",
         {"{n:", "{\"n\":"},
         1,
         1},
        {"\"a\":{\"type\":\"array\",\"items\":{\"type\":\"array\",\"minItems\":1,\"items\":{\"$ref\":"
         "\"#/properties/a\"}}}",
         {"[[", "[["},
         2,
         1},
        {"\"a\":{\"type\":\"array\",\"items\":{\"type\":\"array\",\"minItems\":1,\"items\":{\"$ref\":"
         "\"#/properties/a\"}}}",
         {"[[[],[]],[", "[[[],[]],["},
         2,
         1},
        /* an ending that is short and deep, where one that is long and flat is there, too */
        {"\"a\":{\"type\":\"array\",\"minItems\":1,\"items\":{\"anyOf\":[{\"$ref\":\"#/properties/a\"},"
         "{\"const\":[[[[]]]]},{\"const\":\"a long word\"}]}}",
         {"[", "["},
         1,
         0},
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
            for (int w = 0; w < 100; w++) {
                carat_calls calls;
                const int whole = walk_on(&f, at, draw(60), ids, n);
                assert_int_equal(ct_calls_parse(f.t, ids, whole, tools, &calls, &f.err), CARAT_OK);
                for (int k = 0; k < calls.n; k++) {
                    if (calls.part[k].error)
                        fail_msg("%s\n  %s\n  %s", tools, calls.part[k].text, calls.part[k].error);
                    deepest = CT_MAX(deepest, levels_of(calls.part[k].arguments));
                }
                ct_calls_free(&calls);
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
                ct_calls_free(&calls);
            }
            form_close(&f);
        }
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
                ct_calls_free(&calls);
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
        {ROOM("{\"not\":{}}"), "auto", "tools[1].function.parameters.properties.room.not: ", 2},
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
        assert_int_equal(form_open(&f, json, tools, "g", false), CARAT_E_ARGUMENT);
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
        cmocka_unit_test(levels),
        cmocka_unit_test(too_deep),
        cmocka_unit_test(numbers),
        cmocka_unit_test(one_call_or_several),
        cmocka_unit_test(texts_of_calls),
        cmocka_unit_test(texts_beside_calls),
        cmocka_unit_test(refusals),
        cmocka_unit_test(choices),
    };
    return cmocka_run_group_tests_name("grammar/tool_call", tests, NULL, NULL);
}

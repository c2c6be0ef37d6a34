/* SPDX-License-Identifier: Apache-2.0 */
/* test_call_json.c: calls that are JSON, for templates without tokens for calls. What the renderer writes
 * comes back equal; everything else is text, or a call with what is wrong. */
#include "call_util.h"

static struct ct_tokenizer *plain(void)
{
    return open_tokenizer(read_data("tokenizer.json"));
}

#define F      "{\"name\": \"f\", \"parameters\": {}}"
#define G      "{\"name\":\"g\",\"parameters\":{\"a\":1}}"
#define G_READ "g {\"a\":1}"

static void forms(void **state)
{
    (void)state;
    struct ct_tokenizer *t = plain();
    static const char *const cases[][2] = {
        {"", ""},
        {"plain text", "plain text"},
        {F, "f {}"},
        {" \n" F "\n", "f {}"},
        {"{\"name\": \"f\"}", "f {}"},
        {"{ \"name\"\n:\t\"f\" , \"parameters\" : { \"a b\" : [ 1 , \"x } y\" , null , true ] } }",
         "f {\"a b\":[1,\"x } y\",null,true]}"},
        {"{\"name\":\"f\",\"parameters\":{\"a\":\"\\\"\\\\ \\u00e9\",\"b\":-1.50e+3}}",
         "f {\"a\":\"\\\"\\\\ \\u00e9\",\"b\":-1.50e+3}"},
        {"{\"name\":\"\\u0066 \\\"g\\\"\",\"parameters\":{}}", "f \"g\" {}"},
        /* several: a list, or one after another */
        {"[" F "]", "f {}"},
        {"[ " F " ,\n" G " ]", "f {}|" G_READ},
        {F G, "f {}|" G_READ},
        {F "\n" G "\n" F, "f {}|" G_READ "|f {}"},
        /* a fence around all */
        {"```\n" F "\n```", "f {}"},
        {"```json\n" F "\n```\n", "f {}"},
        {"```tool_code\n[" F "," G "]```", "f {}|" G_READ},
        {"```tool_call " F " " G " ```", "f {}|" G_READ},
        {"```json\n" F, "f {}"}, /* calls are whole without its end */
        /* text behind calls; in front of them there is none */
        {F " Done. ", "f {}|Done. "},
        {F "\n{\"a\": 1}", "f {}|{\"a\": 1}"},
        {"[" F "] [" G "]", "f {}|[" G "]"},
        {"[" F "] " G, "f {}|" G},
        {"```json\n" F "\n``` so", "f {}|so"},
        {F " ```json " G, "f {}|```json " G},
        {"Well: " F, "Well: " F},
        {"\xc2\xa0" F, "\xc2\xa0" F},
        /* what looks like one */
        {"{", "{"},
        {"{\"name\"", "{\"name\""},
        {"{\"names\": 1}", "{\"names\": 1}"},
        {"{\"city\": \"Rome\"}", "{\"city\": \"Rome\"}"},
        {"[1, 2]", "[1, 2]"},
        {"[[" F "]]", "[[" F "]]"},
        {"```", "```"},
        {"```js\n" F "\n```", "```js\n" F "\n```"},
        {"```jsonl\n" F, "```jsonl\n" F},
        {"``" F, "``" F},
        {"````" F, "````" F},
        {"<start_function_call>call:f{}<end_function_call>",
         "<start_function_call>call:f{}<end_function_call>"},
    };
    for (size_t i = 0; i < CT_COUNT(cases); i++)
        check(t, cases[i][0], NULL, cases[i][1]);
    ct_tokenizer_free(t);
}

/* Nothing is repaired; places count from the beginning of the call. */
static void wrong(void **state)
{
    (void)state;
    struct ct_tokenizer *t = plain();
    static const char *const cases[][2] = {
        {"{\"name\":<end_of_turn>", "- -!at byte 8: expected a value, found the end of the text"},
        {"{\"name\":", "- -!at byte 8: expected a value, found the end of the text"},
        {" {\"name\": f}", "- -!at byte 9: expected a value, found 'f'"},
        {"{\"name\": \"\"}", "- -!at byte 9: the function has no name"},
        {"{\"name\": 1}", "- -!at byte 9: the function has no name"},
        {"{\"name\": \"f\", \"arguments\": {}}",
         "f {}!at byte 14: expected name and parameters, found the key \"arguments\""},
        {"{\"name\": \"f\", \"name\": \"g\"}", "f -!at byte 21: duplicate key name, expected once"},
        {"{\"name\": \"f\", \"parameters\": []}", "f -!at byte 28: parameters is no object"},
        {"{\"name\": \"f\", \"parameters\": {\"a\": 1, \"a\": 2}}",
         "f -!at byte 41: duplicate key parameters.a, expected once"},
        {"{\"name\": \"f\", \"parameters\": {\"a\": 1,}}", "f -!at byte 36: expected a key, found '}'"},
        {"{\"name\": \"f\", \"parameters\": {\"a\": 'x'}}", "f -!at byte 34: expected a value, found '''"},
        {"{\"name\": \"f\", \"parameters\": {\"a\": \"x",
         "f -!at byte 36: expected the closing '\"' of a string, found the end of the text"},
        {"{\"name\": \"f\", \"parameters\": {\"a\": \"\\u0000\"}}",
         "f -!at byte 42: a string holds a NUL character"},
        {"{\"name\": \"f\", \"parameters\": {\"a\": \"\\ud800\"}}",
         "f -!at byte 35: the surrogate \\ud800 has no partner"},
        {F " {\"name\": x", "f {}|- -!at byte 9: expected a value, found 'x'"},
        {"[" F, "f {}!at byte 31: expected ',' or ']' behind a call"},
        {"[" F " " G "]", "f {}!at byte 31: expected ',' or ']' behind a call|" G "]"},
        {"[" F ", 1]", "f {}!at byte 31: expected a call behind the ',' of a list|1]"},
        {"[" F ",", "f {}!at byte 31: expected a call behind the ',' of a list"},
        {"[" F ", {\"a\": 1}]", "f {}|- -!at byte 0: the function has no name"},
        {"[{\"name\": \"\"}", "- -!at byte 9: the function has no name"}, /* the first thing that is wrong */
    };
    for (size_t i = 0; i < CT_COUNT(cases); i++)
        check(t, cases[i][0], NULL, cases[i][1]);
    ct_tokenizer_free(t);
}

static void declared(void **state)
{
    (void)state;
    static const char tools[] =
        "[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"type\":\"object\","
        "\"properties\":{\"a\":{\"type\":\"string\"},\"o\":{\"properties\":{\"x\":{}}},"
        "\"l\":{\"items\":{\"properties\":{\"y\":{}}}},\"c\xc3\xa9\":{}}}}},{\"name\":\"bare\"}]";
    struct ct_tokenizer *t = plain();
#define ARGS(text) "{\"name\":\"f\",\"parameters\":" text "}"
    static const char *const cases[][2] = {
        {ARGS("{\"a\":1,\"o\":{\"x\":1},\"l\":[{\"y\":1},2],\"c\\u00e9\":[{\"q\":1}]}"),
         "f {\"a\":1,\"o\":{\"x\":1},\"l\":[{\"y\":1},2],\"c\\u00e9\":[{\"q\":1}]}"},
        {"{\"name\":\"bare\",\"parameters\":{}}", "bare {}"},
        {"{\"name\":\"bare\"}", "bare {}"},
        {"{\"name\":\"g\"}", "g {}!at byte 8: the function \"g\" is not declared"},
        {ARGS("{\"b\":1}"), "f {\"b\":1}!at byte 26: the key \"b\" is not declared"},
        {ARGS("{\"\\u0062\":1}"), "f {\"\\u0062\":1}!at byte 26: the key \"b\" is not declared"},
        {ARGS("{\"o\":{\"y\":1},\"b\":1}"),
         "f {\"o\":{\"y\":1},\"b\":1}!at byte 31: the key \"y\" is not declared"},
        {ARGS("{\"l\":[{\"y\":1},{\"x\":1}]}"),
         "f {\"l\":[{\"y\":1},{\"x\":1}]}!at byte 40: the key \"x\" is not declared"},
        {"{\"name\":\"bare\",\"parameters\":{\"a\":1}}",
         "bare {\"a\":1}!at byte 29: the key \"a\" is not declared"},
        /* others are none the worse for it */
        {"[{\"name\":\"g\"},{\"name\":\"bare\"}]",
         "g {}!at byte 8: the function \"g\" is not declared|bare {}"},
    };
    for (size_t i = 0; i < CT_COUNT(cases); i++)
        check(t, cases[i][0], tools, cases[i][1]);
    ct_tokenizer_free(t);
}

/* Where a declaration leaves a choice, what one branch declares is good, and no more. */
static void declared_in_branches(void **state)
{
    (void)state;
    static const struct {
        const char *parameters, *good, *bad; /* bad: the key "bad" in it is not declared; NULL: all is good */
    } rows[] = {
        {"\"allOf\":[{\"$ref\":\"#\"}],\"properties\":{\"a\":{}}", "{\"a\":1}", "{\"a\":1,\"bad\":1}"},
        {"\"properties\":{\"a\":{}},\"anyOf\":[{\"required\":[\"a\"]},{}]", "{\"a\":1}", "{\"bad\":1}"},
        {"\"anyOf\":[{\"properties\":{\"p\":{}}},{}]", "{\"p\":1,\"q\":1}", NULL},
        {"\"anyOf\":[{\"properties\":{\"p\":{}}},true]", "{\"p\":1,\"q\":1}", NULL},
        {"\"anyOf\":[{\"properties\":{\"p\":{}}},{\"properties\":{\"q\":{}}}]", "{\"p\":1,\"q\":1}",
         "{\"bad\":1}"},
        {"\"anyOf\":[{\"properties\":{\"p\":{}}},{\"const\":{\"k\":1}}]", "{\"k\":1}", NULL},
        {"\"anyOf\":[{\"properties\":{\"p\":{}}},{\"enum\":[1,\"x\"]}]", "{\"p\":1}", "{\"bad\":1}"},
        {"\"oneOf\":[{\"type\":\"null\"},{\"type\":[\"object\",\"null\"],\"properties\":{\"p\":{}}}]",
         "{\"p\":1}", "{\"bad\":1}"},
        {"\"properties\":{},\"additionalProperties\":{\"properties\":{\"q\":{}}}", "{\"x\":{\"q\":1}}",
         "{\"x\":{\"bad\":1}}"},
        {"\"properties\":{\"a\":{\"$ref\":\"#/$defs/o\"}},\"$defs\":{\"o\":{\"properties\":{\"q\":{}}}}",
         "{\"a\":{\"q\":{\"any\":1}}}", "{\"a\":{\"bad\":1}}"},
        {"\"properties\":{\"l\":{\"prefixItems\":[{\"properties\":{\"p\":{}}}],\"items\":{\"properties\":{"
         "\"q\":{}}}}}",
         "{\"l\":[{\"p\":1},{\"q\":1}]}", "{\"l\":[{\"bad\":1}]}"},
        {"\"properties\":{\"l\":{}}", "{\"l\":[{\"x\":[{\"y\":1}]}]}", NULL},
        {"\"properties\":{\"l\":{\"type\":\"array\"}}", "{\"l\":[{\"x\":1}]}", NULL},
    };
    struct ct_tokenizer *t = plain();
    char tools[4096], text[256];
    for (size_t i = 0; i < CT_COUNT(rows); i++)
        for (int bad = 0; bad <= (rows[i].bad != NULL); bad++) {
            const char *arguments = bad ? rows[i].bad : rows[i].good;
            carat_tokens ids = {0};
            carat_calls calls = {.size = sizeof *calls.part};
            snprintf(tools, sizeof tools, "[{\"name\":\"f\",\"parameters\":{%s}}]", rows[i].parameters);
            snprintf(text, sizeof text, "{\"name\":\"f\",\"parameters\":%s}", arguments);
            encode(t, text, 0, &ids);
            parse(t, &ids, tools, &calls);
            assert_int_equal(calls.n, 1);
            const char *error = calls.part[0].error;
            if (bad ? !error || !strstr(error, "the key \"bad\" is not declared") : error != NULL)
                fail_msg("%s: %s: %s", rows[i].parameters, arguments, error ? error : "no error");
            carat_calls_free(&calls);
            free(ids.ids);
        }
    /* more branches than are looked at: nothing is judged */
    int n = sprintf(tools, "[{\"name\":\"f\",\"parameters\":{\"anyOf\":[");
    for (int i = 0; i < 100; i++)
        n += sprintf(tools + n, "%s{\"properties\":{\"k%d\":{}}}", i ? "," : "", i);
    sprintf(tools + n, "]}}]");
    check(t, "{\"name\":\"f\",\"parameters\":{\"k99\":1}}", tools, "f {\"k99\":1}");
    ct_tokenizer_free(t);
}

/* Sixty-four levels and no more, the call itself is the first; and however many brackets there are. */
static void depth(void **state)
{
    (void)state;
    struct ct_tokenizer *t = plain();
    for (int levels = 64; levels <= 65; levels++) {
        char text[512] = "{\"name\":\"f\",\"parameters\":{\"a\":", wanted[512] = "f {\"a\":";
        for (int side = 0; side < 2; side++)
            for (int i = 2; i < levels; i++) {
                strcat(text, side ? "]" : "[");
                strcat(wanted, side ? "]" : "[");
            }
        strcat(text, "}}");
        strcat(wanted, "}");
        check(t, text, NULL, levels == 64 ? wanted : "f -!at byte 92: nested deeper than 64 levels");
    }
    carat_tokens ids = {0};
    carat_calls calls = {.size = sizeof *calls.part};
    encode(t, "{\"name\":", 0, &ids);
    for (int i = 0; i < 100000; i++)
        encode(t, "[", 0, &ids);
    parse(t, &ids, NULL, &calls);
    assert_int_equal(calls.n, 1);
    assert_non_null(calls.part[0].error);
    carat_calls_free(&calls);
    free(ids.ids);
    ct_tokenizer_free(t);
}

/* ids of parts: those that their bytes lie in, one of which two parts may share. */
static void places(void **state)
{
    (void)state;
    struct ct_tokenizer *t = plain();
    carat_tokens ids = {0};
    carat_calls calls = {.size = sizeof *calls.part};
    encode(t, " [", 0, &ids);
    int first = ids.n;
    encode(t, F, 0, &ids);
    int end = ids.n;
    encode(t, ", ", 0, &ids);
    int second = ids.n;
    encode(t, "{\"name\": ", 0, &ids);
    int bad = ids.n;
    encode(t, "x}", 0, &ids);
    parse(t, &ids, NULL, &calls);
    assert_int_equal(calls.n, 2);
    assert_int_equal(calls.part[0].first, first);
    assert_int_equal(calls.part[0].n, end - first);
    assert_int_equal(calls.part[1].first, second);
    assert_int_equal(calls.part[1].first + calls.part[1].n, ids.n);
    assert_int_equal(calls.part[1].error_id, bad);
    assert_int_equal(calls.part[1].error_byte, strlen("{\"name\": "));
    carat_calls_free(&calls);
    free(ids.ids);
    ct_tokenizer_free(t);
}

/* A text is undecided exactly as long as it can become a call's beginning and can become something else. */
static void beginnings(void **state)
{
    (void)state;
    static const char *const yes[] = {
        "{\"name\":",           " \n[ {\t\"name\" :",      "```{\"name\":",
        "```json\n[{\"name\":", "```tool_code {\"name\":", "```tool_call[\n{\"name\":"};
    static const char *const no[] = {"x",         "{x",          "[x",       "[[",      "{}",
                                     "{\"nam:",   "``x",         "```x",     "```js\n", "```json x",
                                     "```tool_x", "{\"name\" x", "\xc2\xa0", "```````"};
    for (size_t i = 0; i < CT_COUNT(yes); i++)
        for (size_t n = 0; n <= strlen(yes[i]); n++)
            if (ct_calls_begin((struct ct_str){yes[i], n}) != (n == strlen(yes[i]) ? 1 : -1))
                fail_msg("%.*s", (int)n, yes[i]);
    for (size_t i = 0; i < CT_COUNT(no); i++)
        if (ct_calls_begin(ct_str_of(no[i])) != 0)
            fail_msg("%s", no[i]);
    assert_int_equal(ct_calls_begin((struct ct_str){"\0{", 2}), 0);
}

static void there_and_back(void **state)
{
    enum { MOST = 3 };
    (void)state;
    struct ct_tokenizer *t = plain();
    carat_tokens head = {0};
    encode(t, "model\n", 0, &head);
    random_state = 7;
    for (int done = 0; done < 5000;) {
        json_t *tree[MOST];
        char name[MOST][256];
        carat_tokens ids = {0};
        carat_calls calls = {.size = sizeof *calls.part};
        int n = 1 + (int)draw(MOST);
        for (int i = 0; i < n; i++) {
            tree[i] = draw(100) ? draw_object((int)draw(6)) : draw_tower(60);
            do
                draw_text(name[i], true);
            while (!*name[i]);
        }
        render_calls(t, CT_CHAT_GEMMA3, NULL, tree, name, n, &ids);
        int from = ids.n; /* the turn of the model is the last but one, which it is to write */
        for (int turns = 0; turns < 2; turns += ids.ids[from] == ct_tokenizer_id(t, "<start_of_turn>"))
            from--;
        from += 1 + head.n;
        memmove(ids.ids, ids.ids + from, (size_t)(ids.n - from) * sizeof *ids.ids);
        ids.n = 0;
        while (ids.ids[ids.n] != ct_tokenizer_id(t, "<end_of_turn>"))
            ids.n++;
        parse(t, &ids, NULL, &calls);
        if (calls.n != n)
            fail_msg("%d parts, expected %d: %s", calls.n, n, calls.part[0].text);
        for (int i = 0; i < n; i++) {
            const carat_part *p = &calls.part[i];
            if (!p->is_call || p->error)
                fail_msg("%s: %s", p->text, p->error ? p->error : "no call");
            assert_string_equal(p->name, name[i]);
            json_t *back = json_loads(p->arguments, JSON_REJECT_DUPLICATES, NULL);
            char *wanted = json_dumps(tree[i], JSON_REAL_PRECISION(17));
            json_t *given = json_loads(wanted, 0, NULL);
            if (!back || !json_equal(back, given))
                fail_msg("%s\n  gives    %s\n  expected %s", p->text, p->arguments, wanted);
            free(wanted);
            json_decref(given);
            json_decref(back);
        }
        carat_calls_free(&calls);
        free(ids.ids);
        for (int i = 0; i < n; i++)
            json_decref(tree[i]);
        done += n;
    }
    free(head.ids);
    ct_tokenizer_free(t);
}

/* What is known of a call that breaks off, for each of these texts; NULL: it is none, or has no name. */
static void broken_off(void **state)
{
    static const char *const cases[][2] = {
        {"{\"name\": \"f\", \"parameters\": {}}", NULL},
        {"{\"name\": \"f\", \"parameters\": {]", NULL},
        {"{\"name\": \"f", NULL},
        {"{\"name\": \"f\"", ""},
        {"{\"name\": \"f\", \"parameters\"", ""},
        {"{\"name\": \"f\", \"parameters\": {", "{"},
        {"{\"name\": \"f\", \"parameters\": {\"a\": \"x y", "{\"a\":\"x y"},
        {"{\"name\": \"f\", \"parameters\": {\"a\": [1, tru", "{\"a\":[1,tru"},
        {"[{\"name\": \"g\", \"parameters\": {}}, {\"name\": \"f\", \"parameters\": {\"a\": 1}", "{\"a\":1}"},
    };
    struct ct_tokenizer *t = plain();

    (void)state;
    for (size_t i = 0; i < CT_COUNT(cases); i++)
        breaks_off(t, cases[i][0], cases[i][1]);
    ct_tokenizer_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(forms),
                                       cmocka_unit_test(wrong),
                                       cmocka_unit_test(declared),
                                       cmocka_unit_test(depth),
                                       cmocka_unit_test(declared_in_branches),
                                       cmocka_unit_test(places),
                                       cmocka_unit_test(beginnings),
                                       cmocka_unit_test(there_and_back),
                                       cmocka_unit_test(broken_off)};
    return cmocka_run_group_tests_name("text/call_json", tests, NULL, NULL);
}

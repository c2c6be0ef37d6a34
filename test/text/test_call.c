/* SPDX-License-Identifier: Apache-2.0 */
/* test_call.c: calls read back from ids. What the renderer writes comes back equal, for ten thousand
 * generated trees of arguments; everything else is handed out with its text, its place and what is wrong. */
#include "call_util.h"

static struct ct_tokenizer *small(void)
{
    return open_tokenizer(with_function_names(read_data("tokenizer.json"), true));
}

static struct ct_tokenizer *small_gemma4(void)
{
    return open_tokenizer(with_names(read_data("tokenizer.json"), gemma4_names, (int)CT_COUNT(gemma4_names)));
}

static void forms(void **state)
{
    (void)state;
    struct ct_tokenizer *t = small();
    assert_int_equal(ct_tokenizer_call_end(t), ct_tokenizer_id(t, E));
    static const char *const cases[][2] = {
        {"", ""},
        {"plain text", "plain text"},
        {S "call:f{}" E, "f {}"},
        {S "call:f{a:" Q "x" Q "}" E, "f {\"a\":\"x\"}"},
        {S "call:f{a:" Q Q ",b:" Q "\"\\\n\x01{}[],:" Q "}" E,
         "f {\"a\":\"\",\"b\":\"\\\"\\\\\\u000a\\u0001{}[],:\"}"},
        {S "call:f{a:-1,b:0.5,c:1e+16,d:-0.0,e:12345678901234567890123}" E,
         "f {\"a\":-1,\"b\":0.5,\"c\":1e+16,\"d\":-0.0,\"e\":12345678901234567890123}"},
        {S "call:f{a:true,b:false,c:null}" E, "f {\"a\":true,\"b\":false,\"c\":null}"},
        {S "call:f{a:[],b:{},c:[1,[2],{d:" Q "e" Q "}]}" E,
         "f {\"a\":[],\"b\":{},\"c\":[1,[2],{\"d\":\"e\"}]}"},
        {S "call:a b.c-d{\xc3\xa9 \xe2\x82\xac:1,:2}" E, "a b.c-d {\"\xc3\xa9 \xe2\x82\xac\":1,\"\":2}"},
        {"before" S "call:f{}" E "between" S "call:g{}" E S "call:h{}" E "after",
         "before|f {}|between|g {}|h {}|after"},
        /* tokens of the syntax where no call is */
        {"a" Q "b" E "c", "a" Q "b" E "c"},
        {"a<end_of_turn>", "a"},
        {S "call:f{}" E "<start_function_response>", "f {}|<start_function_response>"},
    };
    for (size_t i = 0; i < CT_COUNT(cases); i++)
        check(t, cases[i][0], NULL, cases[i][1]);
    ct_tokenizer_free(t);
}

/* Nothing is dropped and nothing repaired. The lead is 26 bytes: the token, and call: */
static void wrong(void **state)
{
    (void)state;
    struct ct_tokenizer *t = small();
    static const char *const cases[][2] = {
        {S, "- -!at byte 21: expected \"call:\", found the end of the call"},
        {S E, "- -!at byte 21: expected \"call:\", found the token " E},
        {S "f{}" E, "- -!at byte 21: expected \"call:\", found 'f'"},
        {S "cal", "- -!at byte 24: expected \"call:\", found the end of the call"},
        {S "call:f" E, "- -!at byte 27: expected '{' after the name of the function, found the token " E},
        {S "call:{}" E, "- -!at byte 26: the function has no name"},
        {S "call:f{a:1" E, "f -!at byte 31: expected ',' or '}', found the token " E},
        {S "call:f{a:1}", "f -!at byte 32: expected " E ", found the end of the call"},
        {S "call:f{a:1}}" E, "f -!at byte 32: expected " E ", found '}'"},
        {S "call:f{a:Paris}" E, "f -!at byte 30: \"Paris\" is not a value: text stands between " Q " tokens"},
        {S "call:f{a:True}" E, "f -!at byte 30: \"True\" is not a value: text stands between " Q " tokens"},
        {S "call:f{a: 1}" E, "f -!at byte 30: \" 1\" is not a value: text stands between " Q " tokens"},
        {S "call:f{a:01}" E, "f -!at byte 30: \"01\" is not a value: text stands between " Q " tokens"},
        {S "call:f{a:1.}" E, "f -!at byte 30: \"1.\" is not a value: text stands between " Q " tokens"},
        {S "call:f{a:1e}" E, "f -!at byte 30: \"1e\" is not a value: text stands between " Q " tokens"},
        {S "call:f{a:-}" E, "f -!at byte 30: \"-\" is not a value: text stands between " Q " tokens"},
        {S "call:f{a:.5}" E, "f -!at byte 30: \".5\" is not a value: text stands between " Q " tokens"},
        {S "call:f{a:}" E, "f -!at byte 30: expected a value, found '}'"},
        {S "call:f{a:1,}" E, "f -!at byte 32: expected a key, found '}'"},
        {S "call:f{a}" E, "f -!at byte 29: expected ':' after a key, found '}'"},
        {S "call:f{a,b:1}" E, "f -!at byte 29: expected ':' after a key, found ','"},
        {S "call:f{a:[1,]}" E, "f -!at byte 33: expected a value, found ']'"},
        {S "call:f{a:[1}}" E, "f -!at byte 32: expected ',' or ']', found '}'"},
        {S "call:f{a:1,a:2}" E, "f -!at byte 32: the key \"a\" is there twice"},
        {S "call:f{a:{b:1,b:2}}" E, "f -!at byte 35: the key \"b\" is there twice"},
        {S "call:f{a:" Q "x}" E, "f -!at byte 40: expected " Q " at the end of a string, found the token " E},
        {S "call:f{a:" Q "x",
         "f -!at byte 39: expected " Q " at the end of a string, found the end of the call"},
        {S "call:f{a:" Q "x<start_of_image>" Q "}" E,
         "f -!at byte 39: expected " Q " at the end of a string, found the token <start_of_image>"},
        {S "call:f{a:" Q "x" Q "y}" E, "f -!at byte 47: expected ',' or '}', found 'y'"},
        {S "call:f{" Q "a" Q ":1}" E, "f -!at byte 28: expected a key, found the token " Q},
        /* what ends a call that does not end itself, and that the others are none the worse for it */
        {S "call:f{a:1" S "call:g{}" E "x",
         "f -!at byte 31: expected ',' or '}', found the end of the call|g {}|x"},
        {S "call:f{}<end_of_turn>\nx", "f -!at byte 29: expected " E ", found the end of the call|\nx"},
        {S "call:f{}<start_function_response>",
         "f -!at byte 29: expected " E ", found the end of the call|<start_function_response>"},
    };
    for (size_t i = 0; i < CT_COUNT(cases); i++)
        check(t, cases[i][0], NULL, cases[i][1]);
    ct_tokenizer_free(t);
}

/* A name or key that is not declared is wrong, at every depth that is declared, and the arguments are
 * there. */
static void declared(void **state)
{
    (void)state;
    static const char tools[] =
        "[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"type\":\"object\","
        "\"properties\":{"
        "\"a\":{\"type\":\"string\"},"
        "\"o\":{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"integer\"}}},"
        "\"l\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"y\":{}}}},"
        "\"free\":{\"type\":\"object\"},"
        "\"kinds\":{\"prefixItems\":[{\"properties\":{\"u\":{}}}],\"items\":{\"properties\":{\"w\":{}}}},"
        "\"firsts\":{\"prefixItems\":[{\"properties\":{\"u\":{}}}]},"
        "\"some\":{\"properties\":{},\"patternProperties\":{\"^x\":{}},\"additionalProperties\":false},"
        "\"pats\":{\"properties\":{},\"patternProperties\":{\"^x\":{\"properties\":{\"y\":{}}},\"z$\":{"
        "\"type\":\"object\"}}},"
        "\"mores\":{\"patternProperties\":{\"^x\":{\"properties\":{\"y\":{}}}},\"properties\":{},"
        "\"additionalProperties\":{\"type\":\"object\"}},"
        "\"both\":{\"properties\":{\"z\":{}},\"allOf\":[{\"properties\":{\"q\":{}}}]},"
        "\"one\":{\"properties\":{\"z\":{}},\"oneOf\":[{\"properties\":{\"q\":{}}}]},"
        "\"any\":{\"properties\":{\"z\":{}},\"anyOf\":[{\"properties\":{\"q\":{}}}]},"
        "\"ref\":{\"properties\":{\"z\":{}},\"$ref\":\"#/properties/free\"},"
        "\"typed\":{\"properties\":{\"z\":{}},\"additionalProperties\":{}},"
        "\"closed\":{\"properties\":{\"z\":{}},\"additionalProperties\":false},"
        "\"more\":{\"type\":\"object\",\"properties\":{\"z\":{}},\"additionalProperties\":true}}}}},"
        "{\"name\":\"bare\"}]";
    struct ct_tokenizer *t = small();
    static const char *const cases[][2] = {
        {S "call:f{a:1,o:{x:1},l:[{y:1}],free:{q:1},more:{z:1,q:2}}" E,
         "f {\"a\":1,\"o\":{\"x\":1},\"l\":[{\"y\":1}],\"free\":{\"q\":1},\"more\":{\"z\":1,\"q\":2}}"},
        {S "call:f{kinds:[{u:1},{w:1}],some:{x:1},both:{q:1},one:{q:1},any:{q:1},ref:{q:1},typed:{q:1}}" E,
         "f "
         "{\"kinds\":[{\"u\":1},{\"w\":1}],\"some\":{\"x\":1},\"both\":{\"q\":1},\"one\":{\"q\":1},\"any\":{"
         "\"q\":1}"
         ",\"ref\":{\"q\":1},\"typed\":{\"q\":1}}"},
        /* which patterns a key fits is not looked at: it may be any */
        {S "call:f{pats:{az:{q:1}},mores:{a:{q:1}}}" E,
         "f {\"pats\":{\"az\":{\"q\":1}},\"mores\":{\"a\":{\"q\":1}}}"},
        {S "call:f{firsts:[{u:1},{q:1}]}" E, "f {\"firsts\":[{\"u\":1},{\"q\":1}]}"},
        {S "call:f{closed:{q:1}}" E, "f {\"closed\":{\"q\":1}}!at byte 36: the key \"q\" is not declared"},
        {S "call:bare{}" E, "bare {}"},
        {S "call:g{a:1}" E, "g {\"a\":1}!at byte 26: the function \"g\" is not declared"},
        {S "call:F{}" E, "F {}!at byte 26: the function \"F\" is not declared"},
        {S "call:f{b:1}" E, "f {\"b\":1}!at byte 28: the key \"b\" is not declared"},
        {S "call:f{a:1, o:{}}" E, "f {\"a\":1,\" o\":{}}!at byte 32: the key \" o\" is not declared"},
        {S "call:f{o:{y:1}}" E, "f {\"o\":{\"y\":1}}!at byte 31: the key \"y\" is not declared"},
        {S "call:f{l:[{y:1},{x:1}]}" E,
         "f {\"l\":[{\"y\":1},{\"x\":1}]}!at byte 38: the key \"x\" is not declared"},
        {S "call:bare{a:1}" E, "bare {\"a\":1}!at byte 31: the key \"a\" is not declared"},
        {S "call:g{a:x}" E, "g -!at byte 26: the function \"g\" is not declared"},
    };
    for (size_t i = 0; i < CT_COUNT(cases); i++)
        check(t, cases[i][0], tools, cases[i][1]);
    check(t, S "call:f{}" E, "[]", "f {}!at byte 26: the function \"f\" is not declared");
    ct_tokenizer_free(t);
}

/* Sixty-four levels and no more; the arguments themselves are the first. */
static void depth(void **state)
{
    (void)state;
    struct ct_tokenizer *t = small();
    for (int levels = 64; levels <= 65; levels++) {
        char text[512] = S "call:f{a:", wanted[512] = "f {\"a\":";
        for (int side = 0; side < 2; side++)
            for (int i = 1; i < levels; i++) {
                strcat(text, side ? "]" : "[");
                strcat(wanted, side ? "]" : "[");
            }
        strcat(text, "}" E);
        strcat(wanted, "}");
        check(t, text, NULL,
              levels == 64 ? wanted : "f -!at byte 93: lists and objects are nested deeper than 64 levels");
    }
    /* a key that other objects have too, at every distance up to the size of the table of keys */
    char text[2048] = S "call:f{x:[", wanted[2048] = "f {\"x\":[";
    for (int i = 0; i < 140; i++) {
        strcat(text, i % 20 ? "{}," : "{x:1},");
        strcat(wanted, i % 20 ? "{}," : "{\"x\":1},");
    }
    strcat(text, "1");
    strcat(wanted, "1");
    for (int i = 0; i < 70; i++) {
        strcat(text, ",{x:2}");
        strcat(wanted, ",{\"x\":2}");
    }
    strcat(text, "]}" E);
    strcat(wanted, "]}");
    check(t, text, NULL, wanted);
    carat_tokens ids = {0};
    carat_calls calls = {.size = sizeof *calls.part};
    encode(t, S "call:f{a:", CARAT_SPECIAL, &ids);
    encode(t, "[", 0, &ids);
    int32_t open = ids.ids[ids.n - 1];
    for (int i = 0; i < 100000; i++)
        assert_int_equal(ct_tokens_push(&ids, open, NULL), CARAT_OK);
    parse(t, &ids, NULL, &calls);
    assert_int_equal(calls.n, 1);
    assert_non_null(calls.part[0].error);
    carat_calls_free(&calls);
    free(ids.ids);
    ct_tokenizer_free(t);
}

/* A place is an index into all ids, whatever stands before the call; halves of a character are nobody's. */
static void places(void **state)
{
    (void)state;
    struct ct_tokenizer *t = small();
    carat_tokens ids = {0};
    carat_calls calls = {.size = sizeof *calls.part};
    encode(t, "some text " S "call:f{a:1" S "call:g{b:", CARAT_SPECIAL, &ids);
    int second = ids.n;
    while (ids.ids[--second] != ct_tokenizer_id(t, S))
        ;
    encode(t, "x}" E, CARAT_SPECIAL, &ids);
    parse(t, &ids, NULL, &calls);
    assert_int_equal(calls.n, 3);
    assert_int_equal(calls.part[0].first, 0);
    assert_string_equal(calls.part[1].text, S "call:f{a:1");
    assert_int_equal(calls.part[1].error_id, second - 1); /* the end belongs to the last id */
    assert_int_equal(calls.part[2].first, second);
    assert_int_equal(calls.part[2].error_byte, strlen(S "call:g{b:"));
    char *text;
    size_t n;
    assert_int_equal(ct_tokenizer_decode(t, ids.ids + second, calls.part[2].error_id - second, CARAT_SPECIAL,
                                         &text, &n, NULL),
                     CARAT_OK);
    assert_string_equal(text, S "call:g{b:");
    free(text);
    carat_calls_free(&calls);
    /* half a character before and inside a call */
    ids.n = 0;
    int32_t half = ct_tokenizer_id(t, "<0xE2>");
    assert_true(half >= 0);
    ct_tokens_push(&ids, half, NULL);
    encode(t, S "call:f{a:" Q "x", CARAT_SPECIAL, &ids);
    ct_tokens_push(&ids, half, NULL);
    encode(t, Q "}" E, CARAT_SPECIAL, &ids);
    parse(t, &ids, NULL, &calls);
    assert_int_equal(calls.n, 2);
    assert_string_equal(calls.part[0].text, "\xef\xbf\xbd");
    assert_string_equal(calls.part[1].arguments, "{\"a\":\"x\xef\xbf\xbd\"}");
    carat_calls_free(&calls);
    free(ids.ids);
    ct_tokenizer_free(t);
}

static void refusals(void **state)
{
    (void)state;
    struct ct_tokenizer *t = small();
    carat_calls calls = {sizeof *calls.part, NULL, 7};
    carat_error err;
    int32_t id[] = {2, -1, ct_tokenizer_size(t)};
    assert_int_equal(ct_calls_parse(t, id, 2, NULL, &calls, &err), CARAT_E_ARGUMENT);
    assert_non_null(strstr(err.message, "ids[1] is -1"));
    assert_int_equal(ct_calls_parse(t, id + 2, 1, NULL, &calls, &err), CARAT_E_ARGUMENT);
    assert_int_equal(ct_calls_parse(t, id, 1, "{}", &calls, &err), CARAT_E_ARGUMENT);
    assert_int_equal(ct_calls_parse(t, id, 1, "[", &calls, &err), CARAT_E_ARGUMENT);
    assert_non_null(strstr(err.message, "tools: "));
    assert_int_equal(calls.n, 7); /* untouched */
    assert_int_equal(ct_calls_parse(t, NULL, 0, NULL, &calls, &err), CARAT_OK);
    assert_int_equal(calls.n, 0);
    carat_calls_free(&calls);
    ct_tokenizer_free(t);
    /* a vocabulary without the tokens knows no calls */
    t = open_tokenizer(read_data("tokenizer.json"));
    assert_int_equal(ct_tokenizer_call_end(t), -1);
    check(t, S "call:f{}" E, NULL, S "call:f{}" E);
    ct_tokenizer_free(t);
}

/* ---- there and back ---- */

static void trees(const struct ct_tokenizer *t, enum ct_chat chat, int count)
{
    enum { MOST = 3 };
    for (int done = 0; done < count;) {
        json_t *tree[MOST];
        char name[MOST][256];
        carat_tokens ids = {0};
        carat_calls calls = {.size = sizeof *calls.part};
        int n = 1 + (int)draw(MOST), found = 0;
        for (int i = 0; i < n; i++) {
            tree[i] = draw(100) ? draw_object((int)draw(6)) : draw_tower(60);
            do
                draw_text(name[i], false);
            while (!*name[i]);
        }
        render_calls(t, chat, "text before", tree, name, n, &ids);
        parse(t, &ids, NULL, &calls);
        for (int i = 0; i < calls.n; i++) {
            const carat_part *p = &calls.part[i];
            if (!p->is_call)
                continue;
            assert_true(found < n);
            if (p->error)
                fail_msg("%s: %s", p->text, p->error);
            assert_string_equal(p->name, name[found]);
            json_t *back = json_loads(p->arguments, JSON_REJECT_DUPLICATES, NULL);
            char *wanted = json_dumps(tree[found], JSON_REAL_PRECISION(17));
            json_t *given = json_loads(wanted, 0, NULL);
            if (!back || !json_equal(back, given))
                fail_msg("%s\n  gives    %s\n  expected %s", p->text, p->arguments, wanted);
            free(wanted);
            json_decref(given);
            json_decref(back);
            found++;
        }
        assert_int_equal(found, n);
        assert_false(calls.part[calls.n - 1].is_call); /* FunctionGemma's calls end in a response, ... */
        assert_true(calls.part[calls.n - 2].is_call);  /* Gemma 4's stand before the text */
        carat_calls_free(&calls);
        free(ids.ids);
        for (int i = 0; i < n; i++)
            json_decref(tree[i]);
        done += n;
    }
}

static void there_and_back(void **state)
{
    (void)state;
    struct ct_tokenizer *t = small();
    random_state = 20;
    trees(t, CT_CHAT_FUNCTIONGEMMA, 10000);
    ct_tokenizer_free(t);
    t = small_gemma4();
    trees(t, CT_CHAT_GEMMA4, 10000);
    ct_tokenizer_free(t);
}

/* ---- Gemma 4's syntax ---- */

#define S4      "<|tool_call>"
#define E4      "<tool_call|>"
#define Q4      "<|\"|>"
#define THOUGHT "<|channel>thought\nhm<channel|>"

static void forms_gemma4(void **state)
{
    (void)state;
    struct ct_tokenizer *t = small_gemma4();
    static const char *const cases[][2] = {
        {S4 "call:f{}" E4, "f {}"},
        {S4 "call:f{k:" Q4 "text" Q4 ",n:2}" E4, "f {\"k\":\"text\",\"n\":2}"},
        {S4 "call:f{o:{a:[1,{b:" Q4 Q4 "}],c:-0.5},t:true,z:null,y:None}" E4,
         "f {\"o\":{\"a\":[1,{\"b\":\"\"}],\"c\":-0.5},\"t\":true,\"z\":null,\"y\":null}"},
        {"a" S4 "call:f{}" E4 S4 "call:g{}" E4 "b", "a|f {}|g {}|b"},
        {S4 "call:f{}" E4 "<|tool_response>", "f {}"},
        {S4 "call:f{}" E4 E4 E4 "<turn|>", "f {}"}, /* repeated ends say nothing */
        {S4 "call:f{}" E4 E4 S4 "call:g{}" E4, "f {}|g {}"},
        /* thoughts, and calls in them */
        {THOUGHT S4 "call:f{}" E4, "thought\nhm|f {}"},
        {THOUGHT "so" S4 "call:f{}" E4, "thought\nhm|so|f {}"},
        {"a" THOUGHT THOUGHT "b", "a|thought\nhm|thought\nhm|b"},
        {"<|channel>thought\n" S4 "call:f{}" E4 "<channel|>b", "thought\ncall:f{}|b"},
        {"<|channel>thought\nnever ends " S4 "call:f{}" E4, "thought\nnever ends call:f{}"},
        {"<|channel><channel|>" S4 "call:f{}" E4, "f {}"},
        {"so<channel|>" S4 "call:f{}" E4, "so|f {}"},
        /* the other syntax is text here */
        {S "call:f{}" E, S "call:f{}" E},
        /* the lead is 17 bytes: the token, and call: */
        {S4 "call:f{a:" Q4 "x}" E4,
         "f -!at byte 28: expected " Q4 " at the end of a string, found the token " E4},
        {S4 "call:f{a:'x'}" E4, "f -!at byte 21: \"'x'\" is not a value: text stands between " Q4 " tokens"},
        {S4 "call:f{a:\"x\"}" E4,
         "f -!at byte 21: \"\"x\"\" is not a value: text stands between " Q4 " tokens"},
        {S4 "call:f{a:1" E4, "f -!at byte 22: expected ',' or '}', found the token " E4},
        {S4 "call:f{a:1}", "f -!at byte 23: expected " E4 ", found the end of the call"},
        {S4 "call:f{a:1}" S4 "call:g{}" E4,
         "f -!at byte 23: expected " E4 ", found the end of the call|g {}"},
        {S4 "call:f{a:1}<|tool_response>", "f -!at byte 23: expected " E4 ", found the end of the call"},
        {S4 "call:f{a:1<turn|>", "f -!at byte 22: expected ',' or '}', found the end of the call"},
        {S4 "call:f{" Q4 "a" Q4 ":1}" E4, "f -!at byte 19: expected a key, found the token " Q4},
        {S4 "call:f{a:" Q4 "x<|channel>" Q4 "}" E4,
         "f -!at byte 27: expected " Q4 " at the end of a string, found the token <|channel>"},
        {S4 S4 "call:f{}" E4, "- -!at byte 12: expected \"call:\", found the end of the call|f {}"},
    };
    for (size_t i = 0; i < CT_COUNT(cases); i++)
        check(t, cases[i][0], NULL, cases[i][1]);
    assert_int_equal(ct_tokenizer_call_end(t), ct_tokenizer_id(t, E4));
    check(t, S4 "call:f{b:1}" E4 S4 "call:g{}" E4,
          "[{\"name\":\"f\",\"parameters\":{\"properties\":{\"a\":{}}}}]",
          "f {\"b\":1}!at byte 19: the key \"b\" is not declared|"
          "g {}!at byte 17: the function \"g\" is not declared");
    ct_tokenizer_free(t);
}

/* What is known of a call that breaks off, for each of these texts; NULL: it is none, or has no name. */
static void broken_off(void **state)
{
    static const char *const cases[][2] = {
        {S "call:f{}" E, NULL},
        {S "call:f{a:1}}" E, NULL},
        {S "call:f{a 1}" E, NULL},
        {S "call:f", NULL},
        {S "call:f{", "{"},
        {S "call:f{a", "{"},
        {S "call:f{a:", "{\"a\":"},
        {S "call:f{a:12", "{\"a\":12"},
        {S "call:f{a:12,", "{\"a\":12,"},
        {S "call:f{a:" Q, "{\"a\":\""},
        {S "call:f{a:" Q "x\"y", "{\"a\":\"x\\\"y"},
        {S "call:f{a:" Q "x" Q, "{\"a\":\"x\""},
        {S "call:f{a:[{b:tru", "{\"a\":[{\"b\":"},
        {S "call:f{a:1}", "{\"a\":1}"},
    };
    struct ct_tokenizer *t = small();

    (void)state;
    for (size_t i = 0; i < CT_COUNT(cases); i++)
        breaks_off(t, cases[i][0], cases[i][1]);
    ct_tokenizer_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms),          cmocka_unit_test(wrong),        cmocka_unit_test(declared),
        cmocka_unit_test(depth),          cmocka_unit_test(places),       cmocka_unit_test(refusals),
        cmocka_unit_test(there_and_back), cmocka_unit_test(forms_gemma4), cmocka_unit_test(broken_off)};
    return cmocka_run_group_tests_name("text/call", tests, NULL, NULL);
}

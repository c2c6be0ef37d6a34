/* SPDX-License-Identifier: Apache-2.0 */
/* test_rows_costs.c: what a request may cost, on every surface, against models/tiny: schemas, lengths, depths
 * and sizes, at their limits and beyond. */
#include "server/rows.h"

/* ---- schemas ---- */

/* Those that refer to themselves, or are much longer written out, where answers must fit them: nothing is
 * fetched, and none of them takes time or memory. */
static void schemas(void **state)
{
    static const struct {
        const char *schema;
        int status;
        const char *word;
    } forms[] = {
        {"{\"$ref\":\"#\"}", 400, "refers to itself"},
        {"{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"$ref\":\"#/$defs/b\"},\"b\":{\"$ref\":\"#/$defs/a\"}}}",
         400, "refers to itself"},
        {"{\"anyOf\":[{\"$ref\":\"#\"}]}", 400, "refers to itself"},
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#\"}},\"required\":[\"a\"]}", 400,
         "without end"},
        {"{\"type\":\"array\",\"items\":{\"$ref\":\"#\"}}", 200, ""},
        {"{\"$ref\":\"http://localhost/x\"}", 400, "nothing is fetched"},
        {"{\"$ref\":\"file:///etc/passwd\"}", 400, "nothing is fetched"},
        {"{\"$ref\":\"#/nowhere\"}", 400, "nothing is at"},
        {"{\"$ref\":5}", 400, "expected a text"},
        {"{\"type\":\"string\",\"pattern\":\"^(a+)+$\"}", 200, ""},
        {"{\"type\":\"string\",\"pattern\":\"^(a|a)*b$\"}", 200, ""},
        {"{\"type\":\"string\",\"pattern\":\"^a{1,1000000000}$\"}", 400, "repeat"},
        {"{\"type\":\"string\",\"pattern\":\"^((a{1000}){1000}){1000}$\"}", 400, "states"},
        {"{\"type\":\"string\",\"pattern\":\"(?<=x)a\"}", 400, "looking back"},
        {"{\"type\":\"string\",\"pattern\":\"*\"}", 400, "repeat"},
        {"{\"type\":\"string\",\"pattern\":\"(a)\\\\1\"}", 400, "reference back"},
        {"{\"type\":\"string\",\"minLength\":1000000000}", 400, "minLength"},
        {"{\"type\":\"array\",\"minItems\":1000000000}", 400, "minItems"},
        {"{\"type\":\"hiccup\"}", 400, "hiccup"},
        {"{\"enum\":[]}", 400, "nothing fits"},
    };
    static const struct {
        int kind;
        const char *param, *before, *behind; /* around the schema */
    } places[] = {
        {CHAT, "response_format",
         ",\"max_tokens\":20,\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"schema\":",
         "}}"},
        {EXPLAIN, "response_format",
         ",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"schema\":", "}}"},
        {RESPONSES, "text.format",
         ",\"max_output_tokens\":20,\"text\":{\"format\":{\"type\":\"json_schema\",\"name\":\"n\","
         "\"schema\":",
         "}}"},
        {MESSAGES, "output_config.format",
         ",\"output_config\":{\"format\":{\"type\":\"json_schema\",\"schema\":", "}}"},
        {OLLAMA_CHAT, "format", ",\"options\":{\"num_predict\":20},\"format\":", ""},
        {LLAMA, "json_schema", ",\"n_predict\":20,\"json_schema\":", ""},
        {GEMINI_EVENTS, "generationConfig.responseJsonSchema",
         ",\"generationConfig\":{\"maxOutputTokens\":20,\"responseMimeType\":\"application/json\","
         "\"responseJsonSchema\":",
         "}"},
    };
    char members[700];

    (void)state;
    for (size_t k = 0; k < CT_COUNT(places); k++)
        for (size_t i = 0; i < CT_COUNT(forms); i++) {
            snprintf(members, sizeof members, "%s%s%s", places[k].before, forms[i].schema, places[k].behind);
            char *body = body_of(places[k].kind, "x", members);
            assert_refused(places[k].kind, body, forms[i].status, places[k].param, forms[i].word);
            free(body);
        }
}

/* ---- limits: at the limit, and one beyond ---- */

/* first, then n times a text. */
static char *repeated(const char *first, const char *text, size_t n, const char *last)
{
    const size_t size = strlen(text);
    char *all = malloc(strlen(first) + n * size + strlen(last) + 1), *at = all;

    assert_non_null(all);
    at += sprintf(at, "%s", first);
    for (size_t i = 0; i < n; i++, at += size)
        memcpy(at, text, size);
    strcpy(at, last);
    return all;
}

static void assert_limit(int kinds_of, const char *first, const char *text, size_t n, const char *last,
                         int status, const char *param, const char *word)
{
    char *members = repeated(first, text, n, last);

    for (int kind = 0; kind < ALL_KINDS; kind++)
        if (kinds_of >> kind & 1) {
            char *body = body_of(kind, "x", members);
            assert_refused(kind, body, status, param, word);
            free(body);
        }
    free(members);
}

static void limits(void **state)
{
    char *body, biases[16 * 1100], *at;

    (void)state;
    assert_limit(OF_BODIES, ",\"x\":", "[", 63, "1", 400, "", "at byte");
    assert_limit(OF_BODIES, ",\"x\":", "[", 100000, "", 400, "", "at byte");
    assert_limit(OF_ALL, ",\"x\":[0", ",0", 99000, "]", 200, "", "");
    assert_limit(OF_BODIES, ",\"x\":[0", ",0", 100000, "]", 400, "", "values");
    assert_limit(OF_OPENAI, ",\"stop\":\"", "s", 1024, "\"", 200, "", "");
    assert_limit(OF_OPENAI, ",\"stop\":\"", "s", 1025, "\"", 400, "stop", "1 to 1024");
    assert_limit(OF_OPENAI, ",\"stop\":\"", "s", 1 << 20, "\"", 400, "stop", "1 to 1024");
    assert_limit(OF_OPENAI, ",\"stop\":[\"a\"", ",\"b\"", 15, "]", 200, "", "");
    assert_limit(OF_OPENAI, ",\"stop\":[\"a\"", ",\"b\"", 16, "]", 400, "stop", "at most 16");
    assert_limit(OF_CHAT, ",\"tools\":[0", ",0", 128, "]", 400, "tools", "at most 128");
    assert_limit(OF_CHAT, ",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"schema\":",
                 "{\"items\":", 33, "{}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}", 400, "response_format", "");
    assert_limit(1 << OLLAMA_CHAT, ",\"tools\":[0", ",0", 128, "]", 400, "tools", "at most 128");
    at = biases + sprintf(biases, ",\"logit_bias\":{\"0\":1");
    for (int i = 1; i <= 1024; i++) {
        sprintf(at, "}");
        if (i == 1024)
            assert_limit(OF_OPENAI, biases, "", 0, "", 200, "", "");
        at += sprintf(at, ",\"%d\":1", i);
    }
    assert_limit(OF_OPENAI, biases, "", 0, "}", 400, "logit_bias", "has 1025 ids, expected at most 1024");
    body = repeated("{\"max_tokens\":1,\"messages\":[{\"role\":\"user\",\"content\":\"\"}",
                    ",{\"role\":\"user\",\"content\":\"\"}", 4096, "]}");
    assert_refused(CHAT, body, 400, "messages", "expected 1 to 4096");
    assert_refused(MESSAGES, body, 400, "messages", "expected 1 to 4096");
    free(body);
    body = repeated("{\"prompt\":[\"x\"", ",\"x\"", 128, "]}");
    assert_refused(TEXT, body, 400, "prompt", "expected 1 to 128");
    free(body);
    body = repeated("{\"prompt\":[2", ",5", 10000, "]}");
    assert_refused(TEXT, body, 400, "prompt", "the prompt has 10001 tokens, and the context 512 positions");
    free(body);
}

/* A body of 8 MiB is read, and one with a byte more is not; nor is one in another coding. */
static void sizes(void **state)
{
    enum { MOST = 8 << 20 };
    char *body = malloc(MOST + 2);
    struct reply r;

    (void)state;
    assert_non_null(body);
    memset(body, ' ', MOST + 1);
    body[MOST + 1] = 0;
    for (int kind = 0; kind < ALL_KINDS; kind++) {
        body[MOST] = 0;
        assert_refused(kind, body, 400, "", "at byte");
        body[MOST] = ' ';
        assert_refused(kind, body, 413, "", "");
        ask(&served, "POST", kinds[kind].path, "Content-Encoding: gzip\r\n", "\x1f\x8b", &r);
        assert_true(r.status == 415 && is_refusal(kind, &r, "", "coding"));
        reply_free(&r);
        ask(&served, "GET", kinds[kind].path, "", "", &r);
        if (OF_GEMINI >> kind & 1) /* a model of that name is looked up */
            assert_true(r.status == 404 && is_refusal(kind, &r, "model", "tiny"));
        else
            assert_true(r.status == 405 && is_refusal(kind, &r, "", "does not take GET") &&
                        strstr(r.head, "\nAllow: OPTIONS, POST\n"));
        reply_free(&r);
    }
    free(body);
}

/* Strings that could begin in every token change nothing of a text that they do not end. */
static void stops_everywhere(void **state)
{
    static const char common[] =
        ",\"temperature\":0,\"max_tokens\":60,\"logit_bias\":{\"1\":-100,\"106\":-100}";
    char stops[8000], *at = stops, more[9000];
    struct reply plain, r;
    struct told t, u;

    (void)state;
    at += sprintf(at, ",\"stop\":[");
    for (int i = 0; i < 16; i++)
        at += sprintf(at, "%s\"%c%c%0*d\"", i ? "," : "", "the light"[i % 9], "hesnaoi "[i % 8], 300, i);
    strcpy(at, "]");
    ask_kind(&served, CHAT, "Turn on the kitchen lights", common, &plain);
    assert_true(read_told(CHAT, &plain, false, &t));
    for (int streams = 0; streams < 2; streams++) {
        snprintf(more, sizeof more, "%s%s%s", common, stops, streams ? ",\"stream\":true" : "");
        ask_kind(&served, CHAT, "Turn on the kitchen lights", more, &r);
        assert_true(read_told(CHAT, &r, streams, &u));
        assert_string_equal(u.text, t.text);
        told_free(&u);
        reply_free(&r);
    }
    told_free(&t);
    reply_free(&plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(schemas), cmocka_unit_test(limits),
                                       cmocka_unit_test(sizes), cmocka_unit_test(stops_everywhere)};
    return cmocka_run_group_tests(tests, begin, end);
}

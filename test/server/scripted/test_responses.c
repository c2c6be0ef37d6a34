/* SPDX-License-Identifier: Apache-2.0 */
/* test_responses.c: what OpenAI's responses make of answers, whole and as events, over the fake library:
 * thoughts, calls, bytes that are no UTF-8, text that looks like a frame, answers that fail; that events have
 * numbers and say together what the whole says, and that an answer that failed is not remembered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "openai/openai_responses.h"
#include "server/fake_carat.h"
#include "server/talk.h"

enum { CONTEXT = 3000 };

static struct served served;

static int begin(void **state)
{
    (void)state;
    served = (struct served){.options.model = fake_model(),
                             .options.engine = fake_engine(4, CONTEXT, 3 * CONTEXT),
                             .options.parallel = 4,
                             .options.most = {.body = 1 << 20,
                                              .bodies = 1 << 22,
                                              .messages = 99,
                                              .tools = 9,
                                              .n = 1,
                                              .waiting = 9,
                                              .wait = 60,
                                              .connections = 99}};
    serve_begin(&served);
    return 0;
}

static int end(void **state)
{
    (void)state;
    if (serve_end(&served) != SERVER_ENDED)
        return -1;
    fake_engine_free(served.options.engine);
    return 0;
}

static void respond(const char *input, const char *more, struct reply *r)
{
    char body[600];

    snprintf(body, sizeof body, "{\"input\":\"%s\"%s}", input, more);
    ask(&served, "POST", "/v1/responses", "", body, r);
}

static bool read_json(struct ct_json_tree *t, const char *text, size_t n)
{
    carat_error err;

    return ct_json_tree_read(t, CARAT_E_FORMAT, "reply", (struct ct_bytes){(const uint8_t *)text, n}, &err) ==
           CARAT_OK;
}

/* What the events of a reply say. */
struct heard {
    char text[400], thought[400], done[400]; /* pieces together, and what the end of an item says of them */
    char names[2000];                        /* of events behind "response.", runs counted once */
    char last[40];
};

static void add(char *to, size_t capacity, struct ct_str s)
{
    const size_t n = strlen(to);

    assert_true(n + s.n < capacity);
    memcpy(to + n, s.s, s.n);
    to[n + s.n] = 0;
}

static void hear_event(struct heard *h, const struct ct_json_value *event, const char *name)
{
    const struct ct_str delta = ct_json_str(ct_json_get(event, "delta")),
                        text = ct_json_str(ct_json_get(event, "text"));

    if (strcmp(name, "response.output_text.delta") == 0)
        add(h->text, sizeof h->text, delta);
    if (strcmp(name, "response.reasoning_text.delta") == 0)
        add(h->thought, sizeof h->thought, delta);
    if (strstr(name, "_text.done"))
        add(h->done, sizeof h->done, text);
    if (strcmp(name, h->last) == 0)
        return;
    snprintf(h->last, sizeof h->last, "%s", name);
    add(h->names, sizeof h->names, (struct ct_str){" ", 1});
    add(h->names, sizeof h->names, ct_str_of(strchr(name, '.') ? strchr(name, '.') + 1 : name));
}

/* Every event has its name twice and the next number, and is one line of JSON. */
static void hear(const struct reply *r, struct heard *h)
{
    const char *at = r->body;

    *h = (struct heard){0};
    for (int64_t i = 0; *at; i++) {
        struct ct_json_tree t = {0};
        char name[40];
        int n = 0;
        int64_t number;
        assert_int_equal(sscanf(at, "event: %39s\ndata: %n", name, &n), 1);
        assert_true(n > 0);
        const char *stop = strchr(at + n, '\n');
        assert_non_null(stop);
        assert_memory_equal(stop, "\n\n", 2);
        assert_true(read_json(&t, at + n, (size_t)(stop - at - n)));
        assert_true(ct_json_is_text(ct_json_get(t.value, "type"), name));
        assert_true(ct_json_integer(ct_json_get(t.value, "sequence_number"), &number) && number == i);
        hear_event(h, t.value, name);
        ct_json_tree_free(&t);
        at = stop + 2;
    }
}

#define TEXT_ITEM                                                                                            \
    " output_item.added content_part.added output_text.delta output_text.done content_part.done"             \
    " output_item.done"
#define THOUGHT_ITEM                                                                                         \
    " output_item.added content_part.added reasoning_text.delta reasoning_text.done content_part.done"       \
    " output_item.done"
#define BEGIN " created in_progress"

static void answers(void **state)
{
    static const struct {
        const char *input, *thought, *text, *names;
    } rows[] = {
        {"!plain", "", "Hello, world!", BEGIN TEXT_ITEM " completed"},
        {"!nothing", "", "", BEGIN TEXT_ITEM " completed"},
        {"!bad", "", "a\ufffd\ufffdb\ufffd\ufffd\ufffd\ufffd\ufffdc\ufffd\ufffd\ufffd\ufffd",
         BEGIN TEXT_ITEM " completed"},
        {"!lines", "", "data: x\n\n\n\r\n\r\nevent: y\n: z\n\n\"\\\x01\x7f\n\n",
         BEGIN TEXT_ITEM " completed"},
        {"!thought", "hm\ufffdm", "yes", BEGIN THOUGHT_ITEM TEXT_ITEM " completed"},
    };

    (void)state;
    for (size_t i = 0; i < CT_COUNT(rows); i++) {
        struct reply r;
        struct heard h;
        struct ct_json_tree t = {0};
        respond(rows[i].input, ",\"stream\":true", &r);
        assert_int_equal(r.status, 200);
        hear(&r, &h);
        assert_string_equal(h.text, rows[i].text);
        assert_string_equal(h.thought, rows[i].thought);
        assert_string_equal(h.names, rows[i].names);
        reply_free(&r);
        respond(rows[i].input, "", &r);
        assert_true(read_json(&t, r.body, r.n));
        const struct ct_json_value *item = ct_json_first(ct_json_get(t.value, "output"));
        if (*rows[i].thought) {
            assert_true(ct_json_is_text(ct_json_get(item, "type"), "reasoning"));
            assert_true(ct_json_is_text(ct_json_get(ct_json_first(ct_json_get(item, "content")), "text"),
                                        rows[i].thought));
            item = ct_json_after(item);
        }
        assert_true(ct_json_is_text(ct_json_get(item, "type"), "message"));
        assert_true(
            ct_json_is_text(ct_json_get(ct_json_first(ct_json_get(item, "content")), "text"), rows[i].text));
        assert_null(ct_json_after(item));
        ct_json_tree_free(&t);
        reply_free(&r);
    }
}

static void items_have_their_places(void **state)
{
    struct reply r;
    struct heard h;

    (void)state;
    respond("!thought", ",\"stream\":true", &r);
    hear(&r, &h);
    assert_string_equal(h.done, "hm\ufffdmyes");
    assert_non_null(strstr(r.body, "_0\",\"output_index\":0,\"content_index\":0,\"delta\":\"hm\""));
    assert_non_null(strstr(r.body, "_1\",\"output_index\":1,\"content_index\":0,\"delta\":\"yes\""));
    assert_non_null(strstr(r.body, "\"output_tokens_details\":{\"reasoning_tokens\":3}"));
    reply_free(&r);
    respond("!call", ",\"stream\":true,\"tools\":[{\"type\":\"function\",\"name\":\"f\"}]", &r);
    hear(&r, &h);
    assert_string_equal(h.names, BEGIN " output_item.added function_call_arguments.delta"
                                       " function_call_arguments.done output_item.done completed");
    assert_non_null(strstr(r.body, "\"output_index\":0,\"delta\":\"{\\\"a\\\":\\\"b\\\"}\""));
    reply_free(&r);
    respond("!endless", ",\"stream\":true,\"max_output_tokens\":5,\"top_logprobs\":2", &r);
    hear(&r, &h);
    assert_string_equal(h.text, "xxxxx");
    assert_string_equal(h.names, BEGIN TEXT_ITEM " incomplete");
    assert_non_null(strstr(r.body, "\"incomplete_details\":{\"reason\":\"max_output_tokens\"}"));
    reply_free(&r);
    respond("!endless", ",\"max_output_tokens\":5", &r);
    assert_non_null(strstr(r.body, "\"status\":\"incomplete\",\"error\":null"));
    assert_non_null(strstr(r.body, "\"status\":\"incomplete\",\"role\":\"assistant\""));
    reply_free(&r);
}

/* What templates may drop, so that prompts do not show it: thoughts are those of the answer behind them. */
static void thoughts_come_back(void **state)
{
#define THOUGHT(more) "{\"type\":\"reasoning\",\"id\":\"r\"" more "}"
#define CONTENT       ",\"content\":[{\"type\":\"reasoning_text\",\"text\":\"hm\"}]"
#define SUMMARY       ",\"summary\":[{\"type\":\"summary_text\",\"text\":\"so\"}]"
#define SAYS          ",{\"role\":\"assistant\",\"content\":\"a\"}"
    static const struct {
        const char *items;
        int n;                   /* answers */
        const char *thoughts[2]; /* of each; "": none */
    } rows[] = {
        {THOUGHT(CONTENT SUMMARY) SAYS, 1, {"hm"}},
        {THOUGHT(SUMMARY) SAYS, 1, {"so"}},
        {THOUGHT(",\"content\":[]" SUMMARY) SAYS, 1, {"so"}},
        {THOUGHT(",\"encrypted_content\":\"x\"") SAYS, 1, {""}},
        {THOUGHT(CONTENT) "," THOUGHT(SUMMARY) SAYS, 1, {"hmso"}},
        {THOUGHT(CONTENT), 0, {NULL}},
        {THOUGHT(CONTENT) SAYS "," THOUGHT(SUMMARY) SAYS, 2, {"hm", "so"}},
    };

    (void)state;
    for (size_t i = 0; i < CT_COUNT(rows); i++) {
        struct refusal r = {0};
        struct document d = {.r = &r};
        struct items items = {.d = &d, .id = "x"};
        char body[600], *text;
        snprintf(body, sizeof body, "{\"input\":[%s]}", rows[i].items);
        assert_true(document_read(&d, ct_str_bytes(ct_str_of(body))) && said_begin(&items.said, &d));
        assert_true(items_add(&items, ct_json_get(&d.tree.value[0], "input")) && items_end(&items));
        assert_int_equal(carat_talk_count(items.said.talk), rows[i].n);
        for (int k = 0; k < rows[i].n; k++) {
            assert_int_equal(carat_talk_get(items.said.talk, k, CARAT_TALK_TEXT, &text, NULL), CARAT_OK);
            assert_string_equal(text, "a");
            free(text);
            text = NULL;
            const carat_status status = carat_talk_get(items.said.talk, k, CARAT_TALK_THOUGHT, &text, NULL);
            assert_int_equal(status, *rows[i].thoughts[k] ? CARAT_OK : CARAT_E_NOT_FOUND);
            assert_string_equal(text ? text : "", rows[i].thoughts[k]);
            free(text);
        }
        items_free(&items);
        document_free(&d);
    }
}

/* Its last event is the error, whose object lies in it as in other streams of OpenAI; nothing is kept. */
static void failures(void **state)
{
    static const char *const inputs[] = {"!nan", "!nan_first", "!error"};
    char id[40], path[80];

    (void)state;
    for (size_t i = 0; i < CT_COUNT(inputs); i++) {
        struct reply r;
        struct heard h;
        const char *code = strstr(inputs[i], "nan") ? "\"code\":\"model_output_invalid\"" : "\"code\":null";
        respond(inputs[i], "", &r);
        assert_int_equal(r.status, 500);
        assert_non_null(strstr(r.body, code));
        reply_free(&r);
        respond(inputs[i], ",\"stream\":true", &r);
        hear(&r, &h);
        assert_string_equal(h.last, "error");
        assert_non_null(strstr(r.body, ",\"error\":{\"message\":"));
        assert_non_null(strstr(r.body, code));
        assert_int_equal(sscanf(strstr(r.body, "\"id\":\"resp_"), "\"id\":\"%39[a-z0-9_]", id), 1);
        reply_free(&r);
        snprintf(path, sizeof path, "/v1/responses/%s", id);
        ask(&served, "GET", path, "", "", &r);
        assert_int_equal(r.status, 404);
        reply_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(answers, begin, end),
        cmocka_unit_test_setup_teardown(items_have_their_places, begin, end),
        cmocka_unit_test(thoughts_come_back),
        cmocka_unit_test_setup_teardown(failures, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

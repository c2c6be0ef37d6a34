/* SPDX-License-Identifier: Apache-2.0 */
/* test_streams.c: what every surface makes of answers, whole and in pieces, over the fake library: bytes that
 * are no UTF-8, text that looks like the frame it stands in, calls and thoughts, answers that fail at their
 * beginning and in the middle, prompts that have no room. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/fake_carat.h"
#include "server/talk.h"

enum { CONTEXT = 3000 };

static struct served served;

static int begin(void **state)
{
    (void)state;
    served = (struct served){.options.model = fake_model(),
                             .options.engine = fake_engine(4, CONTEXT, 4 * (CONTEXT + 256)),
                             .options.parallel = 4};
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

#define STREAM(streams) ((streams) ? ",\"stream\":true" : ",\"stream\":false")

/* The text of an answer; NULL: the reply is not sound. */
static char *answer(int kind, const char *prompt, const char *more, bool streams)
{
    struct reply r;
    struct told t;
    char fields[200], *text = NULL;

    snprintf(fields, sizeof fields, "%s%s", stream_of(kind, streams), more);
    ask_kind(&served, kind, prompt, fields, &r);
    if (r.status == 200 && r.whole && read_told(kind, &r, streams, &t)) {
        if (!t.error && (t.done || !streams))
            text = strdup(t.text);
        told_free(&t);
    }
    if (!text)
        print_error("%s, %s: %s%s\n", kinds[kind].path, prompt, r.head, r.body);
    reply_free(&r);
    return text;
}

/* The text is the same whole and in pieces, and every byte that is no text has become U+FFFD. */
static void texts(void **state)
{
    static const struct {
        const char *prompt, *text;
    } rows[] = {
        {"hello", "Hello, world!"},
        {"!plain", "Hello, world!"},
        {"!nothing", ""},
        {"!bad", "a\ufffd\ufffdb\ufffd\ufffd\ufffd\ufffd\ufffdc\ufffd\ufffd\ufffd\ufffd"},
        {"!lines", "data: x\n\n\n\r\n\r\nevent: y\n: z\n\n\"\\\x01\x7f\n\n"},
        {"!thought", "yes"},
    };

    (void)state;
    for (size_t i = 0; i < CT_COUNT(rows); i++)
        for (int kind = 0; kind < TOLD_KINDS; kind++)
            for (int streams = 0; streams < 2; streams++) {
                if (!kind_gives(kind, streams))
                    continue;
                char *text = answer(kind, rows[i].prompt, "", streams);
                if (!text || strcmp(text, rows[i].text) != 0)
                    fail_msg("%s, %s, %d: '%s'", kinds[kind].path, rows[i].prompt, streams, text);
                free(text);
            }
}

/* Whether the reply to a prompt has a word in it. */
static void assert_says(int kind, const char *prompt, const char *more, int status, const char *word)
{
    struct reply r;

    ask_kind(&served, kind, prompt, more, &r);
    if (r.status != status || !strstr(r.body, word))
        fail_msg("%s, %.40s: no '%s' in %d %s", kinds[kind].path, prompt, word, r.status, r.body);
    reply_free(&r);
}

static void calls_and_thoughts(void **state)
{
    static const char openai[] = ",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}]";
    static const char anthropic[] = ",\"tools\":[{\"name\":\"f\",\"input_schema\":{}}]";
    char more[200];

    (void)state;
    for (int streams = 0; streams < 2; streams++) {
        snprintf(more, sizeof more, "%s%s", STREAM(streams), openai);
        assert_says(CHAT, "!call", more, 200, "\"finish_reason\":\"tool_calls\"");
        assert_says(CHAT, "!call", more, 200, "{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":\\\"b\\\"}\"}");
        assert_says(CHAT, "!plain", more, 200, "Hello");
        assert_says(OLLAMA_CHAT, "!call", more, 200, "{\"name\":\"f\",\"arguments\":{\"a\":\"b\"}}");
        snprintf(more, sizeof more, "%s,\"max_tokens\":3%s", STREAM(streams),
                 openai); /* the last has its end */
        assert_says(CHAT, "!call", more, 200, "\"finish_reason\":\"tool_calls\"");
        snprintf(more, sizeof more, "%s%s", STREAM(streams), anthropic);
        assert_says(MESSAGES, "!call", more, 200, "\"stop_reason\":\"tool_use\"");
        assert_says(MESSAGES, "!call", more, 200, "\"name\":\"f\",\"input\":{");
    }
    assert_says(CHAT, "!thought", STREAM(false), 200, "\"reasoning_content\":\"hm\ufffdm\"");
    assert_says(CHAT, "!thought", STREAM(true), 200, "{\"reasoning_content\":\"hm\"}");
    assert_says(TEXT, "!thought", STREAM(false), 200,
                "\"text\":\"yes\",\"reasoning_content\":\"hm\ufffdm\",");
    assert_says(TEXT, "!thought", STREAM(true), 200, "\"text\":\"\",\"reasoning_content\":\"hm\",");
    assert_says(TEXT, "!thought", ",\"logprobs\":0", 200, "\"text_offset\":[0]}");
    assert_says(MESSAGES, "!thought", STREAM(false), 200,
                "{\"type\":\"thinking\",\"thinking\":\"hm\ufffdm\"");
    assert_says(MESSAGES, "!thought", STREAM(true), 200, "{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}");
    assert_says(OLLAMA_CHAT, "!thought", STREAM(false), 200, "\"thinking\":\"hm\ufffdm\"");
    assert_says(OLLAMA_GENERATE, "!thought", STREAM(true), 200, "\"thinking\":\"hm\"");
}

/* Several answers, log-probabilities and receipts beside the text. */
static void with_more(void **state)
{
    static const char more[] = ",\"logprobs\":true,\"top_logprobs\":3,\"receipt\":true";
    static const int chats[] = {CHAT, OLLAMA_CHAT, OLLAMA_GENERATE};
    char *text;

    (void)state;
    for (size_t i = 0; i < CT_COUNT(chats); i++)
        for (int streams = 0; streams < 2; streams++) {
            text = answer(chats[i], "!bad", more, streams);
            assert_non_null(text);
            free(text);
        }
    assert_says(CHAT, "!plain", ",\"n\":3,\"receipt\":true", 200, "\"index\":2");
    const char *usage = ",\"n\":3,\"stream\":true,\"stream_options\":{\"include_usage\":true}";
    assert_says(CHAT, "!plain", usage, 200, "\"completion_tokens\":12,");
    assert_says(CHAT, "!plain", ",\"receipt\":true", 200, "\"receipt\":{\"answers\":1}");
    assert_says(MESSAGES, "!plain", ",\"receipt\":true,\"stream\":true", 200, "\"receipt\":{\"answers\":1}");
    for (int streams = 0; streams < 2; streams++) {
        text = answer(TEXT, "!bad", ",\"logprobs\":2,\"echo\":true,\"n\":2", streams);
        assert_non_null(text);
        free(text);
    }
    assert_says(TEXT, "!plain", ",\"max_tokens\":0,\"echo\":true,\"logprobs\":1", 200,
                "\"token_logprobs\":[null,-0.5,");
}

/* A stream whose last event is an error in the shape of the surface, after so many pieces of text. */
static void assert_fails(int kind, const char *prompt, const char *word, int pieces)
{
    static const char *const shapes[TOLD_KINDS] = {
        [CHAT] = "{\"error\":{\"message\":\"",
        [TEXT] = "{\"error\":{\"message\":\"",
        [MESSAGES] = "{\"type\":\"error\",\"error\":{\"type\":\"",
        [OLLAMA_CHAT] = "{\"error\":\"",
        [OLLAMA_GENERATE] = "{\"error\":\"",
        [LLAMA] = "{\"error\":{\"code\":500,\"message\":\"",
        [GEMINI_EVENTS] = "{\"error\":{\"code\":500,\"message\":\"",
        [GEMINI_LIST] = "{\"error\":{\"code\":500,\"message\":\"",
    };
    char *body = body_of(kind, prompt, stream_of(kind, true));
    const int fd = dial(&served);
    struct reply r;
    struct told t;

    send_request(fd, "POST", kinds[kind].path, "", body);
    take_reply(fd, true, &r);
    assert_int_equal(r.status, 200);
    assert_true(r.whole && read_told(kind, &r, true, &t));
    if (!t.error || !strstr(t.last, word) || strstr(t.last, shapes[kind]) != t.last || t.done ||
        t.pieces != pieces)
        fail_msg("%s, %s: %s", kinds[kind].path, prompt, r.body);
    assert_true(is_closed(fd));
    close(fd);
    told_free(&t);
    reply_free(&r);
    free(body);
}

/* An answer that fails says so in the surface's own shape: as a status before its first byte, else as the
 * last event, behind which the connection ends. The next one is as if nothing had been. */
static void failing(void **state)
{
    static const struct {
        const char *prompt, *word;
        int status, pieces;
    } rows[] = {
        {"!nan", "model_output_invalid", 500, 2},
        {"!nan_first", "model_output_invalid", 500, 0},
        {"!error", "the disk is gone", 500, 2},
    };

    (void)state;
    for (size_t i = 0; i < CT_COUNT(rows); i++)
        for (int kind = 0; kind < TOLD_KINDS; kind++) {
            if (kind_gives(kind, false))
                assert_says(kind, rows[i].prompt, stream_of(kind, false), rows[i].status, rows[i].word);
            if (kind_gives(kind, true))
                assert_fails(kind, rows[i].prompt, rows[i].word, rows[i].pieces);
            char *text = answer(kind, "!plain", "", !kind_gives(kind, false));
            assert_string_equal(text, "Hello, world!");
            free(text);
        }
}

/* Of a list whose second prompt fails, nothing is told of the first: the reply is the error alone. */
static void failing_second(void **state)
{
    static const char *const prompts[] = {"[\"x\",\"!nan\"]", "[\"x\",\"!error\"]"};
    static const char error[] = "{\"error\":";

    (void)state;
    for (size_t i = 0; i < CT_COUNT(prompts); i++) {
        char body[80];
        struct reply r;
        const int fd = dial(&served);
        snprintf(body, sizeof body, "{\"prompt\":%s,\"max_tokens\":9}", prompts[i]);
        send_request(fd, "POST", kinds[TEXT].path, "", body);
        take_reply(fd, true, &r);
        if (r.status != 500 || strncmp(r.body, error, sizeof error - 1) != 0)
            fail_msg("%s: %d, %s", prompts[i], r.status, r.body);
        reply_free(&r);
        close(fd);
    }
}

static bool in_pass(const struct served *s)
{
    return fake_passes(s->options.engine) > 0;
}

/* One that fails does so alone: a prompt that waits for its turn meanwhile is no other's business. */
static void failing_alone(void **state)
{
    enum { LONG = CONTEXT - 200 };
    carat_engine *engine = served.options.engine;
    char *prompt = malloc(LONG + 1), *body;
    struct reply r;
    int fd[3];

    (void)state;
    assert_non_null(prompt);
    memset(prompt, 'a', LONG);
    prompt[LONG] = 0;
    fake_hold(engine, 1);
    for (int i = 0; i < 3; i++) {
        fd[i] = dial(&served);
        body = body_of(CHAT, i == 0 ? "!error" : prompt, ",\"max_tokens\":9");
        send_request(fd[i], "POST", kinds[CHAT].path, "", body);
        free(body);
        assert_true(soon(in_pass, &served));
    }
    sleep_ms(200); /* until these are in the queue */
    fake_hold(engine, 0);
    for (int i = 0; i < 3; i++) {
        take_reply(fd[i], true, &r);
        if (!strstr(r.body, i == 0 ? "the disk is gone" : "Hello, world!"))
            fail_msg("%d: %s", i, r.body);
        reply_free(&r);
        close(fd[i]);
    }
    free(prompt);
}

/* A request is read once, and its conversation rendered once, whatever the surface. */
static void read_once(void **state)
{
    static const int conversations[] = {CHAT, MESSAGES, OLLAMA_CHAT, RESPONSES, GEMINI};

    (void)state;
    for (size_t i = 0; i < CT_COUNT(conversations); i++) {
        const int kind = conversations[i], reads = serve_reads(), renders = fake_renders();
        struct reply r;
        ask_kind(&served, kind, "!plain", stream_of(kind, false), &r);
        assert_int_equal(r.status, 200);
        reply_free(&r);
        if (serve_reads() != reads + 1 || fake_renders() != renders + 1)
            fail_msg("%s: read %d times, rendered %d times", kinds[kind].path, serve_reads() - reads,
                     fake_renders() - renders);
    }
}

/* Two that fail in one pass, whose result is the error of the first: each is told its own. */
static void failing_together(void **state)
{
    static const char *const prompts[] = {"!slow", "!nan", "!error"}, *const words[] = {"xyz", "NaN",
                                                                                        "the disk is gone"};
    carat_engine *engine = served.options.engine;
    struct reply r;
    int fd[3];

    (void)state;
    fake_hold(engine, 1);
    for (int i = 0; i < 3; i++) {
        char *body = body_of(CHAT, prompts[i], ",\"max_tokens\":9");
        fd[i] = dial(&served);
        send_request(fd[i], "POST", kinds[CHAT].path, "", body);
        free(body);
        assert_true(soon(in_pass, &served)); /* that of the first */
        sleep_ms(200);                       /* until the others are in the queue, in this order */
    }
    fake_hold(engine, 0);
    for (int i = 0; i < 3; i++) {
        take_reply(fd[i], true, &r);
        if (!strstr(r.body, words[i]))
            fail_msg("%s: %s", prompts[i], r.body);
        reply_free(&r);
        close(fd[i]);
    }
}

/* A prompt that fills the context, and one with a token more: of the latter both numbers are told. */
static void bounds_of_context(void **state)
{
    char *prompt = malloc(CONTEXT + 8), expected[120];

    (void)state;
    assert_non_null(prompt);
    for (int kind = 0; kind < KINDS; kind++) {
        const int around = kind == TEXT ? 1 : 2; /* <bos>, and the end of a message's line */
        memset(prompt, 'a', CONTEXT + 1);
        prompt[CONTEXT - around] = 0;
        assert_says(kind, prompt, STREAM(false), 200,
                    kind == MESSAGES ? "model_context_window_exceeded" : "length");
        prompt[CONTEXT - around] = 'a';
        prompt[CONTEXT - around + 1] = 0;
        snprintf(expected, sizeof expected, "the prompt has %d tokens, and the context %d positions",
                 CONTEXT + 1, CONTEXT);
        assert_says(kind, prompt, STREAM(true), 400, expected);
    }
    snprintf(expected, sizeof expected,
             "\"code\":\"context_length_exceeded\",\"n_prompt_tokens\":%d,\"n_ctx\":%d", CONTEXT + 1,
             CONTEXT);
    memset(prompt, 'a', CONTEXT);
    prompt[CONTEXT] = 0;
    assert_says(TEXT, prompt, "", 400, expected);
    free(prompt);
}

/* Memory for no answer of that length, however long it waits; and for one at a time. */
static void short_of_memory(void **state)
{
    struct served small = {
        .options.model = fake_model(), .options.engine = fake_engine(4, CONTEXT, 300), .options.parallel = 4};
    struct reply r;
    int fd[3];

    (void)state;
    serve_begin(&small);
    ask_kind(&small, CHAT, "!plain", ",\"max_tokens\":1000", &r);
    assert_int_equal(r.status, 400);
    assert_non_null(strstr(r.body, "positions may be needed, and there is memory for 256 in all"));
    reply_free(&r);
    for (int i = 0; i < 3; i++) {
        char *body = body_of(CHAT, "!slow", ",\"max_tokens\":150");
        fd[i] = dial(&small);
        send_request(fd[i], "POST", kinds[CHAT].path, "", body);
        free(body);
    }
    for (int i = 0; i < 3; i++) {
        take_reply(fd[i], true, &r);
        assert_int_equal(r.status, 200);
        assert_non_null(strstr(r.body, "\"content\":\"xyz\""));
        reply_free(&r);
        close(fd[i]);
    }
    assert_int_equal(serve_end(&small), SERVER_ENDED);
    fake_engine_free(small.options.engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(texts, begin, end),
        cmocka_unit_test_setup_teardown(calls_and_thoughts, begin, end),
        cmocka_unit_test_setup_teardown(with_more, begin, end),
        cmocka_unit_test_setup_teardown(failing, begin, end),
        cmocka_unit_test_setup_teardown(failing_second, begin, end),
        cmocka_unit_test_setup_teardown(failing_alone, begin, end),
        cmocka_unit_test_setup_teardown(failing_together, begin, end),
        cmocka_unit_test_setup_teardown(read_once, begin, end),
        cmocka_unit_test_setup_teardown(bounds_of_context, begin, end),
        cmocka_unit_test(short_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

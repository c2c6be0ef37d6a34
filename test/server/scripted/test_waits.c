/* SPDX-License-Identifier: Apache-2.0 */
/* test_waits.c: what a server does while it waits: for the rest of a request, for a place, for its model, for
 * the answers under way when it is told to end; and what comes on one connection one after another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/fake_carat.h"
#include "server/talk.h"

enum { PLACES = 2, CONTEXT = 30000 };

static struct served served;
static carat_engine *engine;

static int begin(void **state)
{
    (void)state;
    engine = fake_engine(PLACES, CONTEXT, PLACES * (CONTEXT + 256));
    served =
        (struct served){.options.model = fake_model(), .options.engine = engine, .options.parallel = PLACES};
    serve_begin(&served);
    return 0;
}

static int end(void **state)
{
    (void)state;
    if (serve_end(&served) != SERVER_ENDED)
        return -1;
    fake_engine_free(engine);
    return 0;
}

/* For tests that end the server themselves. */
static int leave(void **state)
{
    (void)state;
    fake_engine_free(engine);
    return 0;
}

static int begin_request(int kind, const char *prompt, const char *more)
{
    char *body = body_of(kind, prompt, more);
    const int fd = dial(&served);

    send_request(fd, "POST", kinds[kind].path, "", body);
    free(body);
    return fd;
}

static void assert_reply(int fd, int status, const char *word)
{
    struct reply r;

    take_reply(fd, true, &r);
    if (r.status != status || !r.whole || !strstr(r.body, word))
        fail_msg("no '%s' in %d %.300s", word, r.status, r.body);
    reply_free(&r);
}

static bool is_idle(const struct served *s)
{
    return fake_sessions(engine) == 0 && is_told(s, "/health", "\"running\":0,\"waiting\":0");
}

static bool all_taken(const struct served *s)
{
    (void)s;
    return fake_sessions(engine) == PLACES;
}

static bool in_pass(const struct served *s)
{
    (void)s;
    return fake_passes(engine) > 0;
}

/* ---- one connection ---- */

static const char live[] = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";

static void pipelined(void **state)
{
    static const int order[] = {CHAT, -1, TEXT, OLLAMA_CHAT, -1, MESSAGES, OLLAMA_GENERATE};
    const int fd = dial(&served);

    (void)state;
    for (int i = 0; i < 100; i++)
        send_text(fd, live);
    for (int i = 0; i < 100; i++)
        assert_reply(fd, 200, "\"ok\"");
    for (int streams = 0; streams < 2; streams++) {
        for (size_t i = 0; i < CT_COUNT(order); i++) {
            if (order[i] < 0) {
                send_text(fd, live);
                continue;
            }
            char *body = body_of(order[i], i % 2 ? "!slow" : "!plain",
                                 streams ? ",\"stream\":true" : ",\"stream\":false");
            send_request(fd, "POST", kinds[order[i]].path, "", body);
            free(body);
        }
        for (size_t i = 0; i < CT_COUNT(order); i++)
            assert_reply(fd, 200, order[i] < 0 ? "\"ok\"" : i % 2 ? "z" : "Hello");
    }
    close(fd);
}

/* More than is kept of requests that come too early waits outside. */
static void far_ahead(void **state)
{
    enum { REQUESTS = 40, LONG = 8000 };
    char *prompt = malloc(LONG + 1), *body;
    const int fd = dial(&served);

    (void)state;
    assert_non_null(prompt);
    memset(prompt, 'a', LONG);
    prompt[LONG] = 0;
    body = body_of(CHAT, "!slow", "");
    send_request(fd, "POST", kinds[CHAT].path, "", body);
    free(body);
    body = body_of(TEXT, prompt, "");
    for (int i = 0; i < REQUESTS; i++)
        send_request(fd, "POST", kinds[TEXT].path, "", body);
    assert_reply(fd, 200, "xyz");
    for (int i = 0; i < REQUESTS; i++)
        assert_reply(fd, 200, "Hello");
    free(body);
    free(prompt);
    close(fd);
}

static void in_single_bytes(void **state)
{
    char *body = body_of(MESSAGES, "!lines", ",\"stream\":true"), text[400];
    const int fd = dial(&served);
    const int n =
        snprintf(text, sizeof text, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n%s%s",
                 kinds[MESSAGES].path, strlen(body), body, live);

    (void)state;
    for (int i = 0; i < n; i++)
        send_bytes(fd, text + i, 1);
    assert_reply(fd, 200, "message_stop");
    assert_reply(fd, 200, "\"ok\"");
    free(body);
    close(fd);
}

static void old_client(void **state)
{
    char *body = body_of(CHAT, "!plain", ",\"stream\":true"), text[300];
    int fd;

    (void)state;
    snprintf(text, sizeof text, "POST %s HTTP/1.0\r\nContent-Length: %zu\r\n\r\n%s", kinds[CHAT].path,
             strlen(body), body);
    for (int i = 0; i < 100; i++) { /* the last bytes are out before the end is known, or with it */
        fd = dial(&served);
        send_text(fd, text);
        assert_reply(fd, 200, "data: [DONE]");
        close(fd);
    }
    fd = dial(&served);
    send_text(fd, "HEAD /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n");
    struct reply r;
    take_reply(fd, false, &r);
    assert_non_null(strstr(r.head, "\nContent-Length: "));
    reply_free(&r);
    send_text(fd, live);
    assert_reply(fd, 200, "\"ok\"");
    free(body);
    close(fd);
}

static void expectant(void **state)
{
    char *body = body_of(CHAT, "!plain", ""), text[300];
    struct reply r;
    int fd = dial(&served);

    (void)state;
    snprintf(text, sizeof text,
             "POST %s HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: %zu\r\n\r\n",
             kinds[CHAT].path, strlen(body));
    send_text(fd, text);
    take_reply(fd, true, &r);
    assert_int_equal(r.status, 100);
    reply_free(&r);
    send_text(fd, body);
    assert_reply(fd, 200, "Hello");
    close(fd);
    free(body);
    fd = dial(&served);
    snprintf(text, sizeof text,
             "POST %s HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n",
             kinds[CHAT].path, (8 << 20) + 1);
    send_text(fd, text);
    assert_reply(fd, 413, "error");
    assert_true(is_closed(fd));
    close(fd);
}

/* ---- time ---- */

/* The sweep after the next one. */
static void pass_time(int ms)
{
    sleep_ms(600);
    serve_skip(ms);
}

static void unfinished(void **state)
{
    static const struct {
        const char *bytes;
        int ms, too_few_ms, status;
    } rows[] = {
        {"POST /v1/chat/completions HTTP/1.1\r\nHost", 11000, 8000, 408},
        {"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{", 31000, 28000,
         408},
        {"", 61000, 58000, 0},
    };
    struct reply r;

    (void)state;
    for (size_t i = 0; i < CT_COUNT(rows); i++) {
        const int fd = dial(&served);
        char none;
        send_text(fd, rows[i].bytes);
        pass_time(rows[i].too_few_ms);
        sleep_ms(600);
        assert_true(recv(fd, &none, 1, MSG_DONTWAIT) < 0);
        serve_skip(rows[i].ms - rows[i].too_few_ms);
        take_reply(fd, true, &r);
        assert_int_equal(r.status, rows[i].status);
        assert_true(is_closed(fd));
        reply_free(&r);
        close(fd);
    }
}

/* While no token comes, each client hears in the form that it knows that the server is there. */
static void pings(void **state)
{
    static const char *const expected[TOLD_KINDS] = {
        [CHAT] = ": ping\n\n",
        [TEXT] = ": ping\n\n",
        [MESSAGES] = "event: ping\ndata: {\"type\":\"ping\"}\n\n",
        [OLLAMA_CHAT] = "\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":false}\n",
        [OLLAMA_GENERATE] = "\"response\":\"\",\"done\":false}\n",
        [LLAMA] = ": ping\n\n",
        [GEMINI_EVENTS] =
            "\ndata: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\"}],\"role\":\"model\"},",
        [GEMINI_LIST] = ",\n{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\"}],\"role\":\"model\"},",
    };
    struct reply r;
    struct told t;

    (void)state;
    for (int kind = 0; kind < TOLD_KINDS; kind++) {
        if (!kind_gives(kind, true))
            continue;
        fake_hold(engine, 1);
        const int fd = begin_request(kind, "!plain", stream_of(kind, true));
        for (int i = 0; i < 3; i++)
            pass_time(5100);
        sleep_ms(600);
        fake_hold(engine, 0);
        take_reply(fd, true, &r);
        assert_true(r.whole && read_told(kind, &r, true, &t));
        assert_string_equal(t.text, "Hello, world!");
        int n = 0;
        for (const char *at = r.body; (at = strstr(at, expected[kind])) != NULL; at++)
            n++;
        if (n < 3)
            fail_msg("%s: %d pings in %s", kinds[kind].path, n, r.body);
        told_free(&t);
        reply_free(&r);
        close(fd);
    }
}

/* ---- places ---- */

/* Behind those that are answered and those that may wait there is one too many: each surface has its status
 * for that. */
static void full_queue(void **state)
{
    enum { WAITING = 64 };
    static const int busy[KINDS] = {429, 429, 529, 503, 503};
    int fd[PLACES + WAITING];
    struct reply r;

    (void)state;
    for (int i = 0; i < PLACES + WAITING; i++) {
        fd[i] = begin_request(i % KINDS, i < PLACES ? "!endless" : "!plain", ",\"max_tokens\":9999");
        if (i == PLACES - 1)
            assert_true(soon(all_taken, &served));
    }
    for (int i = 0; i < 1000 && !is_told(&served, "/health", "\"waiting\":64"); i++)
        sleep_ms(10);
    for (int kind = 0; kind < KINDS; kind++) {
        ask_kind(&served, kind, "!plain", "", &r);
        if (r.status != busy[kind] || !strstr(r.head, "\nRetry-After: "))
            fail_msg("%s: %s%s", kinds[kind].path, r.head, r.body);
        reply_free(&r);
    }
    for (int i = 0; i < PLACES; i++)
        hang_up(fd[i], true);
    for (int i = PLACES; i < PLACES + WAITING; i++) {
        assert_reply(fd[i], 200, "Hello");
        close(fd[i]);
    }
    assert_true(soon(is_idle, &served));
}

/* Prompts go into passes together. One that finds no memory behind another is not refused for that: it may
 * find some when it has become the first; then it is refused. Nobody else is. */
static void prompts_together(void **state)
{
    static const struct {
        const char *prompt, *says;
        int status;
    } seconds[] = {
        {"!plain", "Hello", 200}, {"!cramped", "at last", 200}, {"!starved", "no block is free", 503}};
    char prompt[6100];

    (void)state;
    memset(prompt, 'a', sizeof prompt); /* more tokens than a pass has */
    strcpy(prompt + 6000, "\\n!plain");
    for (size_t i = 0; i < CT_COUNT(seconds); i++) {
        const int passes = fake_passes(engine);
        fake_hold(engine, 1);
        const int first = begin_request(CHAT, prompt, ",\"stream\":false");
        while (fake_passes(engine) == passes)
            sleep_ms(1);
        const int second = begin_request(CHAT, seconds[i].prompt, ",\"stream\":false");
        while (!is_told(&served, "/health", "\"running\":1,\"waiting\":1"))
            sleep_ms(1);
        fake_hold(engine, 0);
        assert_reply(second, seconds[i].status, seconds[i].says);
        assert_reply(first, 200, "Hello");
        close(first);
        close(second);
        assert_true(soon(is_idle, &served));
    }
}

/* A pass that takes long holds up no look at the server. */
static void looks_meanwhile(void **state)
{
    (void)state;
    fake_hold(engine, 1);
    const int fd = begin_request(CHAT, "!plain", "");
    assert_true(soon(in_pass, &served));
    assert_true(is_told(&served, "/health", "\"running\":1,\"waiting\":0"));
    assert_true(is_told(&served, "/slots", "\"is_processing\":true"));
    assert_true(is_told(&served, "/readyz", "\"ok\""));
    assert_true(is_told(&served, "/api/ps", "\"tiny\""));
    fake_hold(engine, 0);
    assert_reply(fd, 200, "Hello");
    close(fd);
}

/* When as many are connected as may be, the one that waited longest for nothing makes room. */
static void many_connections(void **state)
{
    enum { MOST = 1024 };
    struct rlimit limit;
    static int fd[MOST];

    (void)state;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max < 2 * MOST + 100)
        skip();
    limit.rlim_cur = 2 * MOST + 100;
    setrlimit(RLIMIT_NOFILE, &limit);
    for (int i = 0; i < MOST; i++) {
        fd[i] = dial(&served);
        send_text(fd[i], live);
        assert_reply(fd[i], 200, "\"ok\"");
    }
    const int late = dial(&served);
    send_text(late, live);
    assert_reply(late, 200, "\"ok\"");
    assert_true(is_closed(fd[0]));
    for (int i = 1; i < MOST; i += 100) {
        send_text(fd[i], live);
        assert_reply(fd[i], 200, "\"ok\"");
    }
    for (int i = 0; i < MOST; i++)
        close(fd[i]);
    close(late);
}

/* ---- the end ---- */

static void drains(void **state)
{
    struct reply r;
    struct told t;
    const int idle = dial(&served);
    int fd[PLACES + 1];

    (void)state;
    send_text(idle, live);
    assert_reply(idle, 200, "\"ok\"");
    fake_hold(engine, 1);
    for (int i = 0; i < PLACES + 1; i++)
        fd[i] = begin_request(CHAT, "!slow", ",\"stream\":true");
    assert_true(soon(in_pass, &served));
    kill(getpid(), SIGTERM);
    assert_true(is_closed(idle));
    close(idle);
    fake_hold(engine, 0);
    for (int i = 0; i < PLACES + 1; i++) {
        take_reply(fd[i], true, &r);
        assert_true(r.whole && read_told(CHAT, &r, true, &t) && t.done);
        assert_string_equal(t.text, "xyz");
        told_free(&t);
        reply_free(&r);
        assert_true(is_closed(fd[i]));
        close(fd[i]);
    }
    assert_int_equal(serve_wait(&served), SERVER_ENDED);
}

/* A second signal cuts what is under way, in a stream, in the queue, and in the middle of a head. */
static void cut(void **state)
{
    const int number = *(int *)*state;
    struct reply r;
    const int half = dial(&served);
    int fd[PLACES + 1];

    send_text(half, "GET /li");
    for (int i = 0; i < PLACES + 1; i++)
        fd[i] = begin_request(CHAT, "!endless", ",\"stream\":true,\"max_tokens\":20000");
    assert_true(soon(all_taken, &served));
    kill(getpid(), number);
    sleep_ms(300);
    kill(getpid(), number);
    assert_int_equal(serve_wait(&served), SERVER_CUT);
    assert_int_equal(served.signal, number);
    for (int i = 0; i < PLACES + 1; i++) {
        take_reply(fd[i], true, &r);
        assert_false(r.whole);
        reply_free(&r);
        close(fd[i]);
    }
    close(half);
}

static int begin_term(void **state)
{
    static int number = SIGTERM;

    begin(state);
    *state = &number;
    return 0;
}

static int begin_int(void **state)
{
    static int number = SIGINT;

    begin(state);
    *state = &number;
    return 0;
}

/* A client that does not close behind the last reply holds up the end for a moment alone. */
static void lingering(void **state)
{
    struct reply r;
    const int fd = dial(&served);

    (void)state;
    send_request(fd, "GET", "/livez", "Connection: close\r\n", "");
    take_reply(fd, true, &r);
    assert_true(r.whole && is_closed(fd));
    reply_free(&r);
    kill(getpid(), SIGTERM);
    pass_time(2100);
    assert_int_equal(serve_wait(&served), SERVER_ENDED);
    close(fd);
}

static void taken_port(void **state)
{
    struct served other = {.options = served.options};
    int signal = 0;
    char message[256] = "";

    (void)state;
    other.options.port = served.port;
    assert_int_equal(server_run(&other.options, &signal, message), SERVER_NO_BIND);
    assert_non_null(strstr(message, "address already in use"));
    assert_true(is_told(&served, "/livez", "ok"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pipelined, begin, end),
        cmocka_unit_test_setup_teardown(far_ahead, begin, end),
        cmocka_unit_test_setup_teardown(in_single_bytes, begin, end),
        cmocka_unit_test_setup_teardown(old_client, begin, end),
        cmocka_unit_test_setup_teardown(expectant, begin, end),
        cmocka_unit_test_setup_teardown(unfinished, begin, end),
        cmocka_unit_test_setup_teardown(pings, begin, end),
        cmocka_unit_test_setup_teardown(full_queue, begin, end),
        cmocka_unit_test_setup_teardown(prompts_together, begin, end),
        cmocka_unit_test_setup_teardown(looks_meanwhile, begin, end),
        cmocka_unit_test_setup_teardown(many_connections, begin, end),
        cmocka_unit_test_setup_teardown(drains, begin, leave),
        cmocka_unit_test_setup_teardown(cut, begin_term, leave),
        cmocka_unit_test_setup_teardown(cut, begin_int, leave),
        cmocka_unit_test_setup_teardown(lingering, begin, leave),
        cmocka_unit_test_setup_teardown(taken_port, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

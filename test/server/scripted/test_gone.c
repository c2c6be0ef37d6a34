/* SPDX-License-Identifier: Apache-2.0 */
/* test_gone.c: clients that close, reset or half close their connection in every phase of a request, and
 * those that read too slowly: what was theirs is given back, and the next request is answered as if they had
 * never been. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/fake_carat.h"
#include "server/talk.h"

enum { PLACES = 2, CONTEXT = 30000, MOST = 20000 /* ids of an answer */, SMALL = 64 << 10 };

static struct served served;
static carat_engine *engine;

static int begin_with(uint64_t bodies)
{
    engine = fake_engine(PLACES, CONTEXT, PLACES * (CONTEXT + 256));
    served = (struct served){.options.model = fake_model(),
                             .options.engine = engine,
                             .options.parallel = PLACES,
                             .options.most.bodies = bodies};
    serve_begin(&served);
    return 0;
}

static int begin(void **state)
{
    (void)state;
    return begin_with(0);
}

static int begin_small(void **state)
{
    (void)state;
    return begin_with(SMALL);
}

static int end(void **state)
{
    (void)state;
    if (serve_end(&served) != SERVER_ENDED)
        return -1;
    fake_engine_free(engine);
    return 0;
}

/* ---- what is waited for ---- */

static bool is_idle(const struct served *s)
{
    return fake_sessions(engine) == 0 && is_told(s, "/health", "\"running\":0,\"waiting\":0");
}

static bool one_waits(const struct served *s)
{
    return is_told(s, "/health", "\"waiting\":1");
}

static bool all_taken(const struct served *s)
{
    (void)s;
    return fake_sessions(engine) == PLACES;
}

static int passes_before;

static bool has_passed(const struct served *s)
{
    (void)s;
    return fake_passes(engine) > passes_before + 3;
}

static bool in_pass(const struct served *s)
{
    (void)s;
    return fake_passes(engine) > passes_before;
}

static void begin_request(int fd, int kind, const char *prompt, bool streams, int most)
{
    char members[120];

    members_of(kind, streams, most, members);
    char *body = body_of(kind, prompt, members);
    send_request(fd, "POST", kinds[kind].path, "", body);
    free(body);
}

static void assert_answered(int kind, bool streams)
{
    struct reply r;
    struct told t;

    ask_kind(&served, kind, "!plain", stream_of(kind, streams), &r);
    assert_int_equal(r.status, 200);
    assert_true(r.whole && read_told(kind, &r, streams, &t));
    assert_string_equal(t.text, "Hello, world!");
    told_free(&t);
    reply_free(&r);
}

/* ---- phases ---- */

enum leaving { CLOSES, RESETS, LEAVINGS };

static int holders[PLACES];

static void take_places(void)
{
    for (int i = 0; i < PLACES; i++)
        begin_request(holders[i] = dial(&served), i, "!endless", true, MOST);
    assert_true(soon(all_taken, &served));
}

static void give_places(void)
{
    for (int i = 0; i < PLACES; i++)
        hang_up(holders[i], true);
}

static int in_head(int kind, bool streams)
{
    char text[100];
    const int fd = dial(&served);

    snprintf(text, sizeof text, "POST %s HTTP/1.1\r\nHo", kinds[kind].path);
    send_text(fd, text + (streams ? 0 : 1));
    return fd;
}

static int in_body(int kind, bool streams)
{
    char text[160];
    const int fd = dial(&served);

    snprintf(text, sizeof text, "POST %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", kinds[kind].path,
             streams ? "Transfer-Encoding: chunked\r\n\r\n4\r\n{\"a\""
                     : "Content-Length: 100\r\n\r\n{\"a\":1");
    send_text(fd, text);
    return fd;
}

static int in_queue(int kind, bool streams)
{
    const int fd = dial(&served);

    take_places();
    begin_request(fd, kind, "!plain", streams, MOST);
    assert_true(soon(one_waits, &served));
    return fd;
}

static int in_prompt(int kind, bool streams)
{
    const int fd = dial(&served);

    fake_hold(engine, 1);
    begin_request(fd, kind, "!endless", streams, MOST);
    assert_true(soon(in_pass, &served));
    return fd;
}

static int in_stream(int kind, bool streams)
{
    const int fd = dial(&served);

    begin_request(fd, kind, "!endless", streams, MOST);
    assert_true(soon(has_passed, &served));
    return fd;
}

static int in_last_write(int kind, bool streams)
{
    const int fd = dial(&served);

    begin_request(fd, kind, "!plain", streams, MOST);
    return fd;
}

static int between_requests(int kind, bool streams)
{
    const int fd = in_last_write(kind, streams);
    struct reply r;

    take_reply(fd, true, &r);
    assert_true(r.whole);
    reply_free(&r);
    return fd;
}

static void leave_in_phases(void **state)
{
    static int (*const phases[])(int kind, bool streams) = {
        in_head, in_body, in_queue, in_prompt, in_stream, in_last_write, between_requests};

    (void)state;
    for (size_t i = 0; i < CT_COUNT(phases); i++)
        for (int leaving = 0; leaving < LEAVINGS; leaving++)
            for (int kind = 0; kind < TOLD_KINDS; kind++) {
                const bool streams = kind_streams(kind, (kind + leaving) % 2);
                passes_before = fake_passes(engine);
                const int fd = phases[i](kind, streams);
                hang_up(fd, leaving == RESETS);
                if (phases[i] == in_queue)
                    give_places();
                fake_hold(engine, 0);
                if (!soon(is_idle, &served))
                    fail_msg("phase %zu, leaving %d, kind %d, streams %d: nothing is given back", i, leaving,
                             kind, streams);
                assert_answered(kind, streams);
            }
}

static void half_close_in_stream(int kind)
{
    const int fd = dial(&served);
    struct reply r;
    struct told t;

    begin_request(fd, kind, "!slow", true, MOST);
    shutdown(fd, SHUT_WR);
    take_reply(fd, true, &r);
    assert_true(r.whole && read_told(kind, &r, true, &t));
    assert_string_equal(t.text, "xyz");
    assert_true(t.done && is_closed(fd));
    told_free(&t);
    reply_free(&r);
    close(fd);
}

static void half_close_before_whole(int kind)
{
    const int fd = dial(&served);

    begin_request(fd, kind, "!endless", false, MOST);
    shutdown(fd, SHUT_WR);
    assert_true(is_closed(fd) && soon(is_idle, &served));
    close(fd);
    assert_answered(kind, false);
}

/* A stream goes on to its end for a client that has nothing more to say; whoever waits for the whole of an
 * answer has left, unless it comes at once. */
static void half_close(void **state)
{
    struct reply r;

    (void)state;
    for (int kind = 0; kind < TOLD_KINDS; kind++) {
        if (kind_gives(kind, true))
            half_close_in_stream(kind);
        if (kind_gives(kind, false))
            half_close_before_whole(kind);
    }
    const int fd = dial(&served);
    send_text(fd, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\nGET /li");
    shutdown(fd, SHUT_WR);
    take_reply(fd, true, &r);
    assert_int_equal(r.status, 200);
    assert_true(is_closed(fd));
    reply_free(&r);
    close(fd);
}

/* ---- bodies that are held back ---- */

static const char asked[] = "{\"prompt\":\"!plain\"}";

/* A request that says how long its body is, and as many blanks of it. */
static int begin_body(size_t length, int blanks)
{
    static char text[SMALL + 200];
    const int fd = dial(&served);
    const int n = snprintf(text, sizeof text,
                           "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                           "Content-Length: %zu\r\n\r\n%*s",
                           length, blanks, "");

    send_bytes(fd, text, (size_t)n);
    sleep_ms(100); /* it is read, as far as it may */
    return fd;
}

/* Whoever leaves meanwhile makes room for the next one; who has only nothing more to say has not left. */
static void held(void **state)
{
    const int others = begin_body(SMALL, SMALL - 11);
    struct reply r;

    (void)state;
    for (int leaving = 0; leaving < LEAVINGS; leaving++) {
        const int first = begin_body(SMALL, 11), second = begin_body(10 + strlen(asked), 10);
        send_text(second, asked);
        shutdown(second, SHUT_WR);
        sleep_ms(600); /* the server has looked twice */
        hang_up(first, leaving == RESETS);
        take_reply(second, true, &r);
        if (r.status != 200 || !strstr(r.body, "Hello, world!"))
            fail_msg("leaving %d: %s%s", leaving, r.head, r.body);
        reply_free(&r);
        close(second);
    }
    /* of a body in pieces nobody knows what it lacks */
    const int first = begin_body(SMALL, 11), second = dial(&served);
    send_text(second,
              "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
    sleep_ms(100);
    shutdown(second, SHUT_WR);
    assert_true(is_closed(second));
    close(second);
    hang_up(first, true);
    hang_up(others, true);
    assert_answered(CHAT, false);
}

static void assert_refused(int fd, int status, const char *word)
{
    struct reply r;

    take_reply(fd, true, &r);
    if (r.status != status || !strstr(r.body, word) || strstr(r.head, "Retry-After"))
        fail_msg("no %d with '%s': %s%s", status, word, r.head, r.body);
    assert_true(is_closed(fd));
    reply_free(&r);
    close(fd);
}

/* A body that no other one's end makes room for is refused by its head alone, and one in pieces by the piece
 * that is too much. One that just has room is taken. */
static void too_long(void **state)
{
    static const char head[] = "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n";
    static char blanks[SMALL + 1];
    struct reply r;
    char text[200];

    (void)state;
    memset(blanks, ' ', sizeof blanks);
    assert_refused(begin_body((8 << 20) + 1, 0), 413, "at most 8388608 are taken");
    assert_refused(begin_body(SMALL + 1, 0), 503, "more than 65536 bytes");
    int fd = dial(&served);
    snprintf(text, sizeof text, "%sExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", head, SMALL + 1);
    send_text(fd, text);
    assert_refused(fd, 503, "more than 65536 bytes");
    for (int more = 0; more < 2; more++) {
        const size_t n = SMALL - strlen(asked);
        fd = dial(&served);
        snprintf(text, sizeof text, "%sTransfer-Encoding: chunked\r\n\r\n%zx\r\n", head, n + (size_t)more);
        send_text(fd, text);
        send_bytes(fd, blanks, n + (size_t)more);
        snprintf(text, sizeof text, "\r\n%zx\r\n%s\r\n", strlen(asked), asked);
        send_text(fd, text);
        sleep_ms(100); /* all but its end is read */
        if (more)
            break;
        send_text(fd, "0\r\n\r\n");
        take_reply(fd, true, &r);
        if (r.status != 200 || !strstr(r.body, "Hello, world!"))
            fail_msg("a body that has just room: %s%s", r.head, r.body);
        reply_free(&r);
        close(fd);
    }
    assert_refused(fd, 503, "more than 65536 bytes");
    assert_answered(CHAT, false);
}

/* ---- slow readers ---- */

enum { LONG = 8000 };

static bool stands(const struct served *s)
{
    const int before = fake_passes(engine);

    (void)s;
    sleep_ms(500);
    return fake_passes(engine) == before;
}

/* A client that does not read holds up nobody but itself: no more is drawn for it than it may owe, and after
 * half a minute it is cut. Others are answered meanwhile. */
static void stall(void **state)
{
    const int fd = dial_small(&served);

    (void)state;
    begin_request(fd, CHAT, "!flood", true, MOST);
    assert_true(soon(stands, &served));
    for (int kind = 0; kind < TOLD_KINDS; kind++)
        assert_answered(kind, kind_streams(kind, kind % 2));
    assert_int_equal(fake_sessions(engine), 1);
    sleep_ms(600); /* the server has looked twice */
    serve_skip(20000);
    sleep_ms(600);
    assert_int_equal(fake_sessions(engine), 1);
    serve_skip(11000);
    assert_true(soon(is_idle, &served));
    close(fd);
}

/* One that reads later gets every byte. */
static void late_reader(void **state)
{
    const int fd = dial_small(&served);
    struct reply r;
    struct told t;

    (void)state;
    begin_request(fd, MESSAGES, "!flood", true, LONG);
    assert_true(soon(stands, &served));
    take_reply(fd, true, &r);
    assert_true(r.whole && read_told(MESSAGES, &r, true, &t));
    assert_int_equal(t.n, LONG * FAKE_FLOOD);
    assert_true(t.done);
    told_free(&t);
    reply_free(&r);
    close(fd);
    assert_true(soon(is_idle, &served));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(leave_in_phases, begin, end),
        cmocka_unit_test_setup_teardown(half_close, begin, end),
        cmocka_unit_test_setup_teardown(held, begin_small, end),
        cmocka_unit_test_setup_teardown(too_long, begin_small, end),
        cmocka_unit_test_setup_teardown(stall, begin, end),
        cmocka_unit_test_setup_teardown(late_reader, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

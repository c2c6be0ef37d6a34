/* SPDX-License-Identifier: Apache-2.0 */
/* test_http1.c: what is read of requests, good and bad ones, whole, byte by byte, and cut at every place and
 * every two places: always the same events, down to the message of a refusal. Good ones also behind each
 * other. The limits exactly and by one more. Of other readers fuzz/fuzz_http1.c and tools/check_http1.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "http1.h"

enum { MOST = 1000 /* bytes of a body */ };

#define BYTES(literal)                                                                                       \
    {                                                                                                        \
        literal, sizeof(literal) - 1                                                                         \
    }

/* The events as a text; parts of a body that follow each other are one. */
struct heard {
    char *text;
    size_t n;
    bool in_body;
};

static void hear(struct heard *h, const char *s, size_t n)
{
    h->text = realloc(h->text, h->n + n + 1);
    assert_non_null(h->text);
    memcpy(h->text + h->n, s, n);
    h->n += n;
    h->text[h->n] = 0;
}

static void hear_text(struct heard *h, const char *before, struct text t)
{
    hear(h, before, strlen(before));
    hear(h, t.n ? t.s : "", t.n);
}

static void hear_head(struct heard *h, const struct http1_head *head)
{
    static const char *const names[HTTP1_KEPT] = {"host", "type",    "encoding",   "auth",   "key",
                                                  "goog", "version", "request-id", "origin", "agent"};
    char length[40];

    hear_text(h, http1_method_name(head->method), (struct text){" ", 1});
    hear_text(h, "", head->path);
    if (head->query.s)
        hear_text(h, "?", head->query);
    snprintf(length, sizeof length, " 1.%d%s%s", head->minor, head->keep_alive ? "" : " last",
             head->expects ? " expects" : "");
    hear(h, length, strlen(length));
    snprintf(length, sizeof length, head->chunked ? " chunked" : " %llu", (unsigned long long)head->length);
    hear(h, length, strlen(length));
    for (int i = 0; i < HTTP1_KEPT; i++)
        if (head->field[i].s) {
            hear_text(h, " ", (struct text){names[i], strlen(names[i])});
            hear_text(h, "=", head->field[i]);
        }
    hear(h, "\n", 1);
}

static void hear_event(struct heard *h, enum http1_event event, const struct http1 *r)
{
    char said[240];

    if (event == HTTP1_BODY) {
        assert_true(r->piece.n > 0);
        hear_text(h, h->in_body ? "" : "body ", r->piece);
        h->in_body = true;
        return;
    }
    if (h->in_body)
        hear(h, "\n", 1);
    h->in_body = false;
    if (event == HTTP1_HEAD)
        hear_head(h, &r->head);
    snprintf(said, sizeof said, event == HTTP1_BAD ? "bad %d %s\n" : "end\n", r->status, r->message);
    if (event != HTTP1_HEAD)
        hear(h, said, strlen(said));
}

/* Reads the bytes between begin and end from memory of their own, so that sanitizers see its ends. */
static bool read_part(struct http1 *r, struct heard *h, struct text bytes, size_t begin, size_t end)
{
    char *copy = malloc(end - begin ? end - begin : 1);
    struct text left = {copy, end - begin};
    enum http1_event event;

    assert_non_null(copy);
    memcpy(copy, bytes.s + begin, end - begin);
    while ((event = http1_read(r, &left)) != HTTP1_MORE) {
        hear_event(h, event, r);
        if (event == HTTP1_BAD)
            break;
    }
    assert_true(event == HTTP1_BAD || left.n == 0);
    free(copy);
    return event != HTTP1_BAD;
}

/* Cut before these places, 0 < first <= second <= bytes.n; the same text is what was heard. */
static char *read_cut(struct text bytes, size_t first, size_t second)
{
    struct heard h = {0};
    struct http1 *r = malloc(sizeof *r); /* whoever reads what was not written finds other bytes */

    assert_non_null(r);
    memset(r, 0xa5, sizeof *r);
    http1_init(r, MOST);
    if (read_part(r, &h, bytes, 0, first) && read_part(r, &h, bytes, first, second) &&
        read_part(r, &h, bytes, second, bytes.n) && http1_is_inside(r))
        hear(&h, h.in_body ? "\ninside\n" : "inside\n", h.in_body ? 8 : 7);
    struct text more = {"GET", 3};
    if (r->status)
        assert_int_equal(http1_read(r, &more), HTTP1_BAD);
    free(r);
    if (!h.text)
        hear(&h, "", 0);
    return h.text;
}

static char *read_in_pieces(struct text bytes, size_t of)
{
    struct heard h = {0};
    struct http1 r;
    bool good = true;

    http1_init(&r, MOST);
    for (size_t at = 0; good && at < bytes.n; at += of)
        good = read_part(&r, &h, bytes, at, bytes.n - at < of ? bytes.n : at + of);
    if (good && http1_is_inside(&r))
        hear(&h, h.in_body ? "\ninside\n" : "inside\n", h.in_body ? 8 : 7);
    if (!h.text)
        hear(&h, "", 0);
    return h.text;
}

static void expect(const char *name, struct text bytes, const char *told)
{
    char *heard = read_cut(bytes, bytes.n, bytes.n);

    if (strcmp(heard, told) != 0)
        fail_msg("%s: heard\n%s\ninstead of\n%s", name, heard, told);
    free(heard);
    for (size_t of = 1; of < 8; of++) {
        heard = read_in_pieces(bytes, of);
        if (strcmp(heard, told) != 0)
            fail_msg("%s: in pieces of %zu: heard\n%s\ninstead of\n%s", name, of, heard, told);
        free(heard);
    }
    for (size_t first = 0; first <= bytes.n && bytes.n < 2000; first++)
        for (size_t second = first; second <= bytes.n; second += bytes.n < 300 ? 1 : bytes.n / 5) {
            heard = read_cut(bytes, first, second);
            if (strcmp(heard, told) != 0)
                fail_msg("%s: cut at %zu and %zu: heard\n%s\ninstead of\n%s", name, first, second, heard,
                         told);
            free(heard);
        }
}

#define H       "Host: localhost\r\n"
#define POST(h) "POST / HTTP/1.1\r\n" H h "\r\n"
#define CHUNKED POST("Transfer-Encoding: chunked\r\n")

static const struct {
    const char *name;
    struct text bytes;
    const char *told;
} good[] = {
    {"GET", BYTES("GET / HTTP/1.1\r\n" H "\r\n"), "GET / 1.1 0 host=localhost\nend\n"},
    {"POST", BYTES(POST("Content-Length: 5\r\n") "hello"), "POST / 1.1 5 host=localhost\nbody hello\nend\n"},
    {"chunked", BYTES(CHUNKED "5\r\nhello\r\n0\r\n\r\n"),
     "POST / 1.1 chunked host=localhost\nbody hello\nend\n"},
    {"absolute-form", BYTES("GET http://localhost/ HTTP/1.1\r\n" H "\r\n"),
     "GET / 1.1 0 host=localhost\nend\n"},
    {"absolute without a path", BYTES("GET HTTP://LocalHost HTTP/1.1\r\n" H "\r\n"),
     "GET / 1.1 0 host=LocalHost\nend\n"},
    {"absolute with a query", BYTES("GET http://localhost?a HTTP/1.1\r\n" H "\r\n"),
     "GET /?a 1.1 0 host=localhost\nend\n"},
    {"absolute with a port", BYTES("GET http://a:80/b HTTP/1.1\r\nHost: A:80\r\n\r\n"),
     "GET /b 1.1 0 host=a:80\nend\n"},
    {"absolute in HTTP/1.0", BYTES("GET http://a/ HTTP/1.0\r\n\r\n"), "GET / 1.0 last 0 host=a\nend\n"},
    {"asterisk", BYTES("OPTIONS * HTTP/1.1\r\n" H "\r\n"), "OPTIONS * 1.1 0 host=localhost\nend\n"},
    {"OPTIONS of a path", BYTES("OPTIONS /v1 HTTP/1.1\r\n" H "\r\n"),
     "OPTIONS /v1 1.1 0 host=localhost\nend\n"},
    {"other methods",
     BYTES("HEAD / HTTP/1.1\r\n" H "\r\nPUT / HTTP/1.1\r\n" H "\r\nDELETE / HTTP/1.1\r\n" H
           "\r\nPATCH / HTTP/1.1\r\n" H "\r\nTRACE / HTTP/1.1\r\n" H "\r\n"),
     "HEAD / 1.1 0 host=localhost\nend\nPUT / 1.1 0 host=localhost\nend\nDELETE / 1.1 0 "
     "host=localhost\nend\nPATCH / 1.1 0 host=localhost\nend\nTRACE / 1.1 0 host=localhost\nend\n"},
    {"all that may stand in a target",
     BYTES("GET /aZ09-._~!$&'()*+,;=:@/%2e%2E?/?x=%00 HTTP/1.1\r\n" H "\r\n"),
     "GET /aZ09-._~!$&'()*+,;=:@/%2e%2E?/?x=%00 1.1 0 host=localhost\nend\n"},
    {"an empty query", BYTES("GET /? HTTP/1.1\r\n" H "\r\n"), "GET /? 1.1 0 host=localhost\nend\n"},
    {"names that climb", BYTES("GET /../etc/passwd HTTP/1.1\r\n" H "\r\n"),
     "GET /../etc/passwd 1.1 0 host=localhost\nend\n"},
    {"an empty line before", BYTES("\r\nGET / HTTP/1.1\r\n" H "\r\n"), "GET / 1.1 0 host=localhost\nend\n"},
    {"an empty line between", BYTES("GET / HTTP/1.1\r\n" H "\r\n\r\nGET / HTTP/1.1\r\n" H "\r\n"),
     "GET / 1.1 0 host=localhost\nend\nGET / 1.1 0 host=localhost\nend\n"},
    {"HTTP/1.0", BYTES("GET / HTTP/1.0\r\n\r\nGET / HTTP/1.0\r\n\r\n"), "GET / 1.0 last 0\nend\n"},
    {"HTTP/1.0 that stays", BYTES("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\nGET / HTTP/1.0\r\n\r\n"),
     "GET / 1.0 0\nend\nGET / 1.0 last 0\nend\n"},
    {"HTTP/1.0 that stays and closes", BYTES("GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n"),
     "GET / 1.0 last 0\nend\n"},
    {"close", BYTES("GET / HTTP/1.1\r\n" H "Connection: close\r\n\r\nGET / HTTP/1.1\r\n" H "\r\n"),
     "GET / 1.1 last 0 host=localhost\nend\n"},
    {"close with a body", BYTES(POST("connection: \tx ,, CLOSE\t\r\ncontent-length: 2\r\n") "ab\0\x7f"),
     "POST / 1.1 last 2 host=localhost\nbody ab\nend\n"},
    {"close in the second field",
     BYTES("GET / HTTP/1.1\r\n" H "Connection: keep-alive\r\nConnection: close\r\n\r\n"),
     "GET / 1.1 last 0 host=localhost\nend\n"},
    {"closely", BYTES("GET / HTTP/1.1\r\n" H "Connection: closely, clos, x close\r\n\r\n"),
     "GET / 1.1 0 host=localhost\nend\n"},
    {"expects", BYTES(POST("Expect: 100-Continue\r\nContent-Length: 1\r\n") "a"),
     "POST / 1.1 expects 1 host=localhost\nbody a\nend\n"},
    {"expects chunks",
     BYTES(POST("Expect: 100-continue\r\nTransfer-Encoding: CHUNKED\r\n") "1\r\na\r\n0\r\n\r\n"),
     "POST / 1.1 expects chunked host=localhost\nbody a\nend\n"},
    {"expects without a body", BYTES(POST("Expect: 100-continue\r\nContent-Length: 0\r\n")),
     "POST / 1.1 0 host=localhost\nend\n"},
    {"expects in HTTP/1.0", BYTES("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\na"),
     "POST / 1.0 last 1\nbody a\nend\n"},
    {"what is kept",
     BYTES(
         "GET / HTTP/1.1\r\nhOST:[::1]:8080\r\nContent-Type: \t a/b; c=\"d\" \t\r\nContent-Encoding: "
         "gzip\r\nAuthorization: Bearer x\r\nX-Api-Key: y\r\nx-goog-api-key: z\r\nanthropic-version: "
         "2023-06-01\r\nX-Request-Id: 7\r\nOrigin: null\r\nUser-Agent: \xc3\xa4\x80\r\nAccept: */*\r\n\r\n"),
     "GET / 1.1 0 host=[::1]:8080 type=a/b; c=\"d\" encoding=gzip auth=Bearer x key=y goog=z "
     "version=2023-06-01 request-id=7 origin=null agent=\xc3\xa4\x80\nend\n"},
    {"values that are empty",
     BYTES("GET / HTTP/1.1\r\n" H "Origin:\r\nX-A:\r\nX-B: \r\nAuthorization: \t\r\n\r\n"),
     "GET / 1.1 0 host=localhost auth= origin=\nend\n"},
    {"hosts", BYTES("GET / HTTP/1.1\r\nHost: a_b-c.d~!$&'()*+,;=:\r\n\r\n"),
     "GET / 1.1 0 host=a_b-c.d~!$&'()*+,;=:\nend\n"},
    {"names of all characters", BYTES("GET / HTTP/1.1\r\n" H "aZ09!#$%&'*+-.^_`|~: \x80\xff\t \x21\r\n\r\n"),
     "GET / 1.1 0 host=localhost\nend\n"},
    {"names that begin like one that matters",
     BYTES(
         "GET / HTTP/1.1\r\n" H
         "Hos: a\r\nHosts: b\r\nTransfer-Encodings-of-all-sorts-of-things: c\r\nContent-Lengthh: x\r\n\r\n"),
     "GET / 1.1 0 host=localhost\nend\n"},
    {"zeros before a length", BYTES(POST("Content-Length: 00000000000000000000000000005\r\n") "hello"),
     "POST / 1.1 5 host=localhost\nbody hello\nend\n"},
    {"chunks",
     BYTES(CHUNKED "1\r\na\r\n00A\r\nbcdefghijk\r\n0000000000000001\r\n\r\r\n0\r\n\r\nGET / HTTP/1.1\r\n" H
                   "\r\n"),
     "POST / 1.1 chunked host=localhost\nbody abcdefghijk\r\nend\nGET / 1.1 0 host=localhost\nend\n"},
    {"no chunks", BYTES(CHUNKED "0\r\n\r\n"), "POST / 1.1 chunked host=localhost\nend\n"},
    {"what is said with chunks",
     BYTES(CHUNKED
           "1;a\r\na\r\n1;a=b;c\r\nb\r\n1;a=\"\\\"\\\\;,=\t \x80\";d=e;f=\"\"\r\nc\r\n0;last\r\n\r\n"),
     "POST / 1.1 chunked host=localhost\nbody abc\nend\n"},
    {"fields behind a body",
     BYTES(CHUNKED "1\r\na\r\n0\r\nX-A: 1\r\nHost: other\r\nContent-Length: 7\r\n\r\n"),
     "POST / 1.1 chunked host=localhost\nbody a\nend\n"},
    {"nothing", BYTES(""), ""},
    {"half a line", BYTES("GET / HT"), "inside\n"},
    {"half a body", BYTES(POST("Content-Length: 5\r\n") "he"),
     "POST / 1.1 5 host=localhost\nbody he\ninside\n"},
    {"no end of chunks", BYTES(CHUNKED "5\r\nhello\r\n0\r\n"),
     "POST / 1.1 chunked host=localhost\nbody hello\ninside\n"},
};

static void good_ones(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        expect(good[i].name, good[i].bytes, good[i].told);
}

/* Those that stay open, each behind each: what is heard is what was heard of both. */
static void behind_each_other(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
            char bytes[2000], told[2000];
            if (strstr(good[i].told, " last ") || strstr(good[i].told, "inside"))
                continue;
            const size_t n = good[i].bytes.n + good[k].bytes.n;
            assert_true(n < sizeof bytes);
            memcpy(bytes, good[i].bytes.s, good[i].bytes.n);
            memcpy(bytes + good[i].bytes.n, good[k].bytes.s, good[k].bytes.n);
            snprintf(told, sizeof told, "%s%s", good[i].told, good[k].told);
            char *heard = read_cut((struct text){bytes, n}, n, n),
                 *pieces = read_in_pieces((struct text){bytes, n}, 1);
            assert_string_equal(heard, told);
            assert_string_equal(pieces, told);
            free(heard);
            free(pieces);
        }
}

/* A message is before, times the repeated part, and after. */
struct long_one {
    const char *name;
    struct text before;
    const char *repeated;
    int times;
    struct text after;
    const char *told;
};

static void expect_long(const struct long_one *l)
{
    const size_t step = l->repeated ? strlen(l->repeated) : 0;
    const size_t n = l->before.n + step * (size_t)l->times + l->after.n;
    char *bytes = malloc(n + 1), *at = bytes;

    assert_non_null(bytes);
    memcpy(at, l->before.s, l->before.n);
    at += l->before.n;
    for (int i = 0; i < l->times; i++, at += step)
        memcpy(at, l->repeated, step);
    if (l->after.n)
        memcpy(at, l->after.s, l->after.n);
    expect(l->name, (struct text){bytes, n}, l->told);
    free(bytes);
}

#define GET_LINE              "GET / HTTP/1.1\r\n"
#define X10                   "aaaaaaaaaa"
#define X50                   X10 X10 X10 X10 X10
#define X1000                 X50 X50 X50 X50 X50 X50 X50 X50 X50 X50 X50 X50 X50 X50 X50 X50 X50 X50 X50 X50
#define TOLD                  "POST / 1.1 chunked host=localhost\n"
#define BAD(status, at, said) "bad " #status " at byte " #at " of the request: " said "\n"

/* The 36 of ../shared/spec/framings.py, by their names there. */
static const struct long_one framings[] = {
    {"H1 target of 8 KiB+1", BYTES("GET /"), "a", 8192, BYTES(" HTTP/1.1\r\n" H "\r\n"),
     BAD(414, 8192, "the request line has more than 8192 bytes")},
    {"H1 NUL in target",
     BYTES("GET /a\0b HTTP/1.1\r\n" H "\r\n"),
     NULL,
     0,
     {0},
     BAD(400, 6, "the byte 0x00 may not stand in the request line")},
    {"H1 bare CR in target",
     BYTES("GET /a\rb HTTP/1.1\r\n" H "\r\n"),
     NULL,
     0,
     {0},
     BAD(400, 7, "a CR has no LF behind it")},
    {"H1 two spaces",
     BYTES("GET  / HTTP/1.1\r\n" H "\r\n"),
     NULL,
     0,
     {0},
     BAD(400, 16, "the request line is not a method, a target and a version")},
    {"H1 HTTP/1.2",
     BYTES("GET / HTTP/1.2\r\n" H "\r\n"),
     NULL,
     0,
     {0},
     BAD(505, 6, "HTTP/1.2 is not served, HTTP/1.1 and HTTP/1.0 are")},
    {"H1 HTTP/0.9",
     BYTES("GET /\r\n\r\n"),
     NULL,
     0,
     {0},
     BAD(400, 6, "the request line is not a method, a target and a version")},
    {"H1 PRI preface",
     BYTES("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
     NULL,
     0,
     {0},
     BAD(505, 6, "HTTP/2.0 is not served, HTTP/1.1 and HTTP/1.0 are")},
    {"H1 bare LF line ends",
     BYTES("GET / HTTP/1.1\nHost: localhost\n\n"),
     NULL,
     0,
     {0},
     BAD(400, 14, "the byte 0x0a may not stand in the request line")},
    {"H2 101 fields", BYTES(GET_LINE H), "X-1: 1\r\n", 100, BYTES("\r\n"),
     BAD(431, 825, "the fields have more than 100 lines")},
    {"H2 fields of 32 KiB+1", BYTES(GET_LINE H), "X-1: " X1000 X10 "\r\n", 33, BYTES("\r\n"),
     BAD(431, 32784, "the fields have more than 32768 bytes")},
    {"H2 obs-fold",
     BYTES(GET_LINE H "X-A: 1\r\n 2\r\n\r\n"),
     NULL,
     0,
     {0},
     BAD(400, 41, "a line of the head begins with white space")},
    {"H2 empty name",
     BYTES(GET_LINE H ": 1\r\n\r\n"),
     NULL,
     0,
     {0},
     BAD(400, 33, "the byte 0x3a may not stand in the name of a field")},
    {"H2 space before colon",
     BYTES(GET_LINE H "X-A : 1\r\n\r\n"),
     NULL,
     0,
     {0},
     BAD(400, 36, "the byte 0x20 may not stand in the name of a field")},
    {"H2 no Host",
     BYTES(GET_LINE "X-A: 1\r\n\r\n"),
     NULL,
     0,
     {0},
     BAD(400, 25, "the head has no field Host")},
    {"H2 two Hosts",
     BYTES(GET_LINE H "Host: evil\r\n\r\n"),
     NULL,
     0,
     {0},
     BAD(400, 44, "the field host is there twice")},
    {"H2 NUL in value",
     BYTES(GET_LINE H "X-A: a\0b\r\n\r\n"),
     NULL,
     0,
     {0},
     BAD(400, 39, "the byte 0x00 may not stand in the value of a field")},
    {"H2 bare CR in value",
     BYTES(GET_LINE H "X-A: a\rb\r\n\r\n"),
     NULL,
     0,
     {0},
     BAD(400, 40, "a CR has no LF behind it")},
    {"H3 Content-Length -1",
     BYTES(POST("Content-Length: -1\r\n")),
     NULL,
     0,
     {0},
     BAD(400, 53, "the field Content-Length is not one number of bytes")},
    {"H3 Content-Length +5",
     BYTES(POST("Content-Length: +5\r\n") "hello"),
     NULL,
     0,
     {0},
     BAD(400, 53, "the field Content-Length is not one number of bytes")},
    {"H3 Content-Length 0x10",
     BYTES(POST("Content-Length: 0x10\r\n") "0123456789abcdef"),
     NULL,
     0,
     {0},
     BAD(400, 55, "the field Content-Length is not one number of bytes")},
    {"H3 Content-Length 5 5",
     BYTES(POST("Content-Length: 5 5\r\n") "hello"),
     NULL,
     0,
     {0},
     BAD(400, 54, "the field Content-Length is not one number of bytes")},
    {"H3 Content-Length 2^64",
     BYTES(POST("Content-Length: 18446744073709551616\r\n") "hello"),
     NULL,
     0,
     {0},
     BAD(400, 71, "the field Content-Length is not one number of bytes")},
    {"H3 two Content-Lengths differing",
     BYTES(POST("Content-Length: 5\r\nContent-Length: 6\r\n") "hello!"),
     NULL,
     0,
     {0},
     BAD(400, 71, "the field content-length is there twice")},
    {"H3 two Content-Lengths equal",
     BYTES(POST("Content-Length: 5\r\nContent-Length: 5\r\n") "hello"),
     NULL,
     0,
     {0},
     BAD(400, 71, "the field content-length is there twice")},
    {"H3 Content-Length 5, 5",
     BYTES(POST("Content-Length: 5, 5\r\n") "hello"),
     NULL,
     0,
     {0},
     BAD(400, 55, "the field Content-Length is not one number of bytes")},
    {"H3 Content-Length with chunked",
     BYTES(POST("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n") "5\r\nhello\r\n0\r\n\r\n"),
     NULL,
     0,
     {0},
     BAD(400, 82, "the field Transfer-Encoding may not stand here: Content-Length is there too")},
    {"H3 chunked not last",
     BYTES(POST("Transfer-Encoding: chunked, identity\r\n") "5\r\nhello\r\n0\r\n\r\n"),
     NULL,
     0,
     {0},
     BAD(400, 71, "the field transfer-encoding is not chunked")},
    {"H3 unknown coding",
     BYTES(POST("Transfer-Encoding: xchunked\r\n") "5\r\nhello\r\n0\r\n\r\n"),
     NULL,
     0,
     {0},
     BAD(400, 62, "the field transfer-encoding is not chunked")},
    {"H3 chunked in HTTP/1.0",
     BYTES("POST / HTTP/1.0\r\n" H "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
     NULL,
     0,
     {0},
     BAD(400, 63, "the field Transfer-Encoding may not stand here: HTTP/1.0 does not know it")},
    {"H4 chunk size -2",
     BYTES(CHUNKED "-2\r\nhello\r\n0\r\n\r\n"),
     NULL,
     0,
     {0},
     TOLD BAD(400, 64, "the byte 0x2d may not stand in the size of a chunk")},
    {"H4 chunk size 17 digits",
     BYTES(CHUNKED "00000000000000005\r\nhello\r\n0\r\n\r\n"),
     NULL,
     0,
     {0},
     TOLD BAD(400, 80, "the size of a chunk has more than 16 digits")},
    {"H4 chunk size 0x5",
     BYTES(CHUNKED "0x5\r\nhello\r\n0\r\n\r\n"),
     NULL,
     0,
     {0},
     TOLD BAD(400, 65, "the byte 0x78 may not stand in the size of a chunk")},
    {"H4 chunk without CRLF",
     BYTES(CHUNKED "5\r\nhelloX\r\n0\r\n\r\n"),
     NULL,
     0,
     {0},
     TOLD "body hello\n" BAD(400, 72, "a chunk does not end where its size says")},
    {"H4 chunk lines end in LF",
     BYTES(CHUNKED "5\nhello\n0\n\n"),
     NULL,
     0,
     {0},
     TOLD BAD(400, 65, "the byte 0x0a may not stand in the size of a chunk")},
    {"H4 chunk extension of 1 MiB", BYTES(CHUNKED "5;"), "a", 1 << 20, BYTES("\r\nhello\r\n0\r\n\r\n"),
     TOLD BAD(413, 32789, "the fields have more than 32768 bytes")},
    {"H4 trailers of 1 MiB", BYTES(CHUNKED "5\r\nhello\r\n0\r\n"), "X-1: " X1000 "\r\n", 1030, BYTES("\r\n"),
     TOLD "body hello\n" BAD(413, 32800, "the fields have more than 32768 bytes")},
};

static void framings_of_the_issue(void **state)
{
    (void)state;
    assert_int_equal(sizeof framings / sizeof *framings, 36);
    for (size_t i = 0; i < sizeof framings / sizeof *framings; i++)
        expect_long(&framings[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_ones),
        cmocka_unit_test(behind_each_other),
        cmocka_unit_test(framings_of_the_issue),
    };
    return cmocka_run_group_tests_name("server/http1", tests, NULL, NULL);
}

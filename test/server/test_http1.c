/* SPDX-License-Identifier: Apache-2.0 */
/* test_http1.c: what is read of requests, good and bad ones, whole, byte by byte, and cut at every place and
 * every two places: always the same events, down to the message of a refusal. Good ones also behind each
 * other. The limits exactly and by one more. tools/check_http1.py compares them with those of llhttp. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/heard.h"

#define BYTES(literal)                                                                                       \
    {                                                                                                        \
        literal, sizeof(literal) - 1                                                                         \
    }

/* Cut before these places, 0 < first <= second <= bytes.n; the same text is what was heard. */
static char *read_cut(struct text bytes, size_t first, size_t second)
{
    struct heard h = {0};
    struct http1 *r = malloc(sizeof *r); /* whoever reads what was not written finds other bytes */

    assert_non_null(r);
    memset(r, 0xa5, sizeof *r);
    http1_init(r, HEARD_BODY);
    const bool good = read_part(r, &h, bytes, 0, first) && read_part(r, &h, bytes, first, second) &&
                      read_part(r, &h, bytes, second, bytes.n);
    hear_end(&h, r, good);
    struct text more = {"GET", 3};
    if (!good) {
        assert_int_equal(http1_read(r, &more), HTTP1_BAD);
        assert_false(http1_is_inside(r));
    }
    free(r);
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

/* clang-format off */
static const struct {
    const char *name;
    struct text bytes;
    const char *told;
} taken[] = {
    {"GET", BYTES("GET / HTTP/1.1\r\n" H "\r\n"), "GET / 1.1 0 host=localhost\nend\n"},
    {"POST", BYTES(POST("Content-Length: 5\r\n") "hello"), "POST / 1.1 5 host=localhost\nbody hello\nend\n"},
    {"chunked", BYTES(CHUNKED "5\r\nhello\r\n0\r\n\r\n"), "POST / 1.1 chunked host=localhost\nbody hello\nend\n"},
    {"absolute-form", BYTES("GET http://localhost/ HTTP/1.1\r\n" H "\r\n"), "GET / 1.1 0 host=localhost\nend\n"},
    {"absolute without a path", BYTES("GET HTTP://LocalHost HTTP/1.1\r\n" H "\r\n"), "GET / 1.1 0 host=LocalHost\nend\n"},
    {"absolute with a query", BYTES("GET http://localhost?a HTTP/1.1\r\n" H "\r\n"), "GET /?a 1.1 0 host=localhost\nend\n"},
    {"absolute with a port", BYTES("GET http://a:80/b HTTP/1.1\r\nHost: A:80\r\n\r\n"), "GET /b 1.1 0 host=a:80\nend\n"},
    {"absolute in HTTP/1.0", BYTES("GET http://a/ HTTP/1.0\r\n\r\n"), "GET / 1.0 last 0 host=a\nend\n"},
    {"asterisk", BYTES("OPTIONS * HTTP/1.1\r\n" H "\r\n"), "OPTIONS * 1.1 0 host=localhost\nend\n"},
    {"OPTIONS of a path", BYTES("OPTIONS /v1 HTTP/1.1\r\n" H "\r\n"), "OPTIONS /v1 1.1 0 host=localhost\nend\n"},
    {"other methods", BYTES("HEAD / HTTP/1.1\r\n" H "\r\nPUT / HTTP/1.1\r\n" H "\r\nDELETE / HTTP/1.1\r\n" H "\r\nPATCH / HTTP/1.1\r\n" H "\r\nTRACE / HTTP/1.1\r\n" H "\r\n"), "HEAD / 1.1 0 host=localhost\nend\nPUT / 1.1 0 host=localhost\nend\nDELETE / 1.1 0 " "host=localhost\nend\nPATCH / 1.1 0 host=localhost\nend\nTRACE / 1.1 0 host=localhost\nend\n"},
    {"all that may stand in a target", BYTES("GET /aZ09-._~!$&'()*+,;=:@/%2e%2E?/?x=%00 HTTP/1.1\r\n" H "\r\n"), "GET /aZ09-._~!$&'()*+,;=:@/%2e%2E?/?x=%00 1.1 0 host=localhost\nend\n"},
    {"an empty query", BYTES("GET /? HTTP/1.1\r\n" H "\r\n"), "GET /? 1.1 0 host=localhost\nend\n"},
    {"names that climb", BYTES("GET /../etc/passwd HTTP/1.1\r\n" H "\r\n"), "GET /../etc/passwd 1.1 0 host=localhost\nend\n"},
    {"an empty line before", BYTES("\r\nGET / HTTP/1.1\r\n" H "\r\n"), "GET / 1.1 0 host=localhost\nend\n"},
    {"an empty line between", BYTES("GET / HTTP/1.1\r\n" H "\r\n\r\nGET / HTTP/1.1\r\n" H "\r\n"), "GET / 1.1 0 host=localhost\nend\nGET / 1.1 0 host=localhost\nend\n"},
    {"HTTP/1.0", BYTES("GET / HTTP/1.0\r\n\r\nGET / HTTP/1.0\r\n\r\n"), "GET / 1.0 last 0\nend\n"},
    {"HTTP/1.0 that stays", BYTES("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\nGET / HTTP/1.0\r\n\r\n"), "GET / 1.0 0\nend\nGET / 1.0 last 0\nend\n"},
    {"HTTP/1.0 that stays and closes", BYTES("GET / HTTP/1.0\r\nConnection: keep-alive, close, x\r\n\r\n"), "GET / 1.0 last 0\nend\n"},
    {"HTTP/1.0 that stays by its first field", BYTES("GET / HTTP/1.0\r\nConnection: keep-alive\r\nConnection: x\r\n\r\n"), "GET / 1.0 0\nend\n"},
    {"close", BYTES("GET / HTTP/1.1\r\n" H "Connection: close\r\n\r\nGET / HTTP/1.1\r\n" H "\r\n"), "GET / 1.1 last 0 host=localhost\nend\n"},
    {"close with a body", BYTES(POST("connection: \tx ,, CLOSE\t\r\ncontent-length: 2\r\n") "ab\0\x7f"), "POST / 1.1 last 2 host=localhost\nbody ab\nend\n"},
    {"close in the second field", BYTES("GET / HTTP/1.1\r\n" H "Connection: keep-alive\r\nConnection: close\r\n\r\n"), "GET / 1.1 last 0 host=localhost\nend\n"},
    {"closely", BYTES("GET / HTTP/1.1\r\n" H "Connection: closely, clos, x close\r\n\r\n"), "GET / 1.1 0 host=localhost\nend\n"},
    {"expects", BYTES(POST("Expect: 100-Continue\r\nContent-Length: 1\r\n") "a"), "POST / 1.1 expects 1 host=localhost\nbody a\nend\n"},
    {"expects chunks", BYTES(POST("Expect: 100-continue\r\nTransfer-Encoding: CHUNKED\r\n") "1\r\na\r\n0\r\n\r\n"), "POST / 1.1 expects chunked host=localhost\nbody a\nend\n"},
    {"expects without a body", BYTES(POST("Expect: 100-continue\r\nContent-Length: 0\r\n")), "POST / 1.1 0 host=localhost\nend\n"},
    {"expects in HTTP/1.0", BYTES("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\na"), "POST / 1.0 last 1\nbody a\nend\n"},
    {"what is kept", BYTES( "GET / HTTP/1.1\r\nhOST:[::1]:8080\r\nContent-Type: \t a/b; c=\"d\" \t\r\nContent-Encoding: " "gzip\r\nAuthorization: Bearer x\r\nX-Api-Key: y\r\nx-goog-api-key: z\r\nanthropic-version: " "2023-06-01\r\nX-Request-Id: 7\r\nOrigin: null\r\nUser-Agent: \xc3\xa4\x80\r\nAccept: */*\r\n\r\n"), "GET / 1.1 0 host=[::1]:8080 type=a/b; c=\"d\" encoding=gzip auth=Bearer x key=y goog=z " "version=2023-06-01 request-id=7 origin=null agent=\xc3\xa4\x80\nend\n"},
    {"values that are empty", BYTES("GET / HTTP/1.1\r\n" H "Origin:\r\nX-A:\r\nX-B: \r\nAuthorization: \t\r\n\r\n"), "GET / 1.1 0 host=localhost auth= origin=\nend\n"},
    {"an address of IPv6 that ends like one of IPv4", BYTES("GET / HTTP/1.1\r\nHost: [::ffff:1.2.3.4]\r\n\r\n"), "GET / 1.1 0 host=[::ffff:1.2.3.4]\nend\n"},
    {"hosts", BYTES("GET / HTTP/1.1\r\nHost: a_b-c.d~!$&'()*+,;=:\r\n\r\n"), "GET / 1.1 0 host=a_b-c.d~!$&'()*+,;=:\nend\n"},
    {"names of all characters", BYTES("GET / HTTP/1.1\r\n" H "aZ09!#$%&'*+-.^_`|~: \x80\xff\t \x21\r\n\r\n"), "GET / 1.1 0 host=localhost\nend\n"},
    {"names that begin like one that matters", BYTES( "GET / HTTP/1.1\r\n" H "Hos: a\r\nHosts: b\r\nTransfer-Encodings-of-all-sorts-of-things: c\r\nContent-Lengthh: x\r\n\r\n"), "GET / 1.1 0 host=localhost\nend\n"},
    {"zeros before a length", BYTES(POST("Content-Length: 00000000000000000000000000005\r\n") "hello"), "POST / 1.1 5 host=localhost\nbody hello\nend\n"},
    {"chunks", BYTES(CHUNKED "1\r\na\r\n00A\r\nbcdefghijk\r\n0000000000000001\r\n\r\r\n0\r\n\r\nGET / HTTP/1.1\r\n" H "\r\n"), "POST / 1.1 chunked host=localhost\nbody abcdefghijk\r\nend\nGET / 1.1 0 host=localhost\nend\n"},
    {"no chunks", BYTES(CHUNKED "0\r\n\r\n"), "POST / 1.1 chunked host=localhost\nend\n"},
    {"what is said with chunks", BYTES(CHUNKED "1;a\r\na\r\n1;a=b;c\r\nb\r\n1;a=\"\\\"\\\\;,=\t \x80\";d=e;f=\"\"\r\nc\r\n0;last\r\n\r\n"), "POST / 1.1 chunked host=localhost\nbody abc\nend\n"},
    {"fields behind a body", BYTES(CHUNKED "1\r\na\r\n0\r\nX-A: 1\r\nHosts: other\r\n\r\n"), "POST / 1.1 chunked host=localhost\nbody a\nend\n"},
    {"a body of any bytes", BYTES(POST("Content-Length: 4\r\n") "\0\n\r\xff"), "POST / 1.1 4 host=localhost\nbody \\0\n\r\xff\nend\n"},
    {"nothing", BYTES(""), ""},
    {"half a line", BYTES("GET / HT"), "inside\n"},
    {"half a body", BYTES(POST("Content-Length: 5\r\n") "he"), "POST / 1.1 5 host=localhost\nbody he\ninside\n"},
    {"no end of chunks", BYTES(CHUNKED "5\r\nhello\r\n0\r\n"), "POST / 1.1 chunked host=localhost\nbody hello\ninside\n"},
};
/* clang-format on */

static void good_ones(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        expect(taken[i].name, taken[i].bytes, taken[i].told);
}

/* Those that stay open, each behind each: what is heard is what was heard of both. */
static void behind_each_other(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        for (size_t k = 0; k < sizeof taken / sizeof *taken; k++) {
            char bytes[2000], told[2000];
            if (strstr(taken[i].told, " last ") || strstr(taken[i].told, "inside"))
                continue;
            const size_t n = taken[i].bytes.n + taken[k].bytes.n;
            assert_true(n < sizeof bytes);
            memcpy(bytes, taken[i].bytes.s, taken[i].bytes.n);
            memcpy(bytes + taken[i].bytes.n, taken[k].bytes.s, taken[k].bytes.n);
            snprintf(told, sizeof told, "%s%s", taken[i].told, taken[k].told);
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

/* clang-format off */
#define ONE(literal) BYTES(literal), NULL, 0, {NULL, 0}
/* clang-format on */
#define GET_LINE              "GET / HTTP/1.1\r\n"
#define X10                   "aaaaaaaaaa"
#define X50                   X10 X10 X10 X10 X10
#define X1000                 X50 X50 X50 X50 X50 X50 X50 X50 X50 X50 X50 X50 X50 X50 X50 X50 X50 X50 X50 X50
#define TOLD                  "POST / 1.1 chunked host=localhost\n"
#define BAD(status, at, said) "bad " #status " at byte " #at " of the request: " said "\n"

/* The 36 of ../shared/spec/framings.py, by their names there. */
/* clang-format off */
static const struct long_one framings[] = {
    {"H1 target of 8 KiB+1", BYTES("GET /"), "a", 8192, BYTES(" HTTP/1.1\r\n" H "\r\n"), BAD(414, 8192, "the request line has more than 8192 bytes")},
    {"H1 NUL in target", ONE("GET /a\0b HTTP/1.1\r\n" H "\r\n"), BAD(400, 6, "the byte 0x00 may not stand in the request line")},
    {"H1 bare CR in target", ONE("GET /a\rb HTTP/1.1\r\n" H "\r\n"), BAD(400, 7, "a CR has no LF behind it")},
    {"H1 two spaces", ONE("GET  / HTTP/1.1\r\n" H "\r\n"), BAD(400, 16, "the request line is not a method, a target and a version")},
    {"H1 HTTP/1.2", ONE("GET / HTTP/1.2\r\n" H "\r\n"), BAD(505, 6, "HTTP/1.2 is not served, HTTP/1.1 and HTTP/1.0 are")},
    {"H1 HTTP/0.9", ONE("GET /\r\n\r\n"), BAD(400, 6, "the request line is not a method, a target and a version")},
    {"H1 PRI preface", ONE("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), BAD(505, 6, "HTTP/2.0 is not served, HTTP/1.1 and HTTP/1.0 are")},
    {"H1 bare LF line ends", ONE("GET / HTTP/1.1\nHost: localhost\n\n"), BAD(400, 14, "the byte 0x0a may not stand in the request line")},
    {"H2 101 fields", BYTES(GET_LINE H), "X-1: 1\r\n", 100, BYTES("\r\n"), BAD(431, 825, "the fields have more than 100 lines")},
    {"H2 fields of 32 KiB+1", BYTES(GET_LINE H), "X-1: " X1000 X10 "\r\n", 33, BYTES("\r\n"), BAD(431, 32784, "the fields have more than 32768 bytes")},
    {"H2 obs-fold", ONE(GET_LINE H "X-A: 1\r\n 2\r\n\r\n"), BAD(400, 41, "a line of the head begins with white space")},
    {"H2 empty name", ONE(GET_LINE H ": 1\r\n\r\n"), BAD(400, 33, "the byte 0x3a may not stand in the name of a field")},
    {"H2 space before colon", ONE(GET_LINE H "X-A : 1\r\n\r\n"), BAD(400, 36, "the byte 0x20 may not stand in the name of a field")},
    {"H2 no Host", ONE(GET_LINE "X-A: 1\r\n\r\n"), BAD(400, 25, "the head has no field Host")},
    {"H2 two Hosts", ONE(GET_LINE H "Host: evil\r\n\r\n"), BAD(400, 33, "the field Host is there twice")},
    {"H2 NUL in value", ONE(GET_LINE H "X-A: a\0b\r\n\r\n"), BAD(400, 39, "the byte 0x00 may not stand in the value of a field")},
    {"H2 bare CR in value", ONE(GET_LINE H "X-A: a\rb\r\n\r\n"), BAD(400, 40, "a CR has no LF behind it")},
    {"H3 Content-Length -1", ONE(POST("Content-Length: -1\r\n")), BAD(400, 34, "the field Content-Length is not one number of bytes")},
    {"H3 Content-Length +5", ONE(POST("Content-Length: +5\r\n") "hello"), BAD(400, 34, "the field Content-Length is not one number of bytes")},
    {"H3 Content-Length 0x10", ONE(POST("Content-Length: 0x10\r\n") "0123456789abcdef"), BAD(400, 34, "the field Content-Length is not one number of bytes")},
    {"H3 Content-Length 5 5", ONE(POST("Content-Length: 5 5\r\n") "hello"), BAD(400, 34, "the field Content-Length is not one number of bytes")},
    {"H3 Content-Length 2^64", ONE(POST("Content-Length: 18446744073709551616\r\n") "hello"), BAD(400, 34, "the field Content-Length is not one number of bytes")},
    {"H3 two Content-Lengths differing", ONE(POST("Content-Length: 5\r\nContent-Length: 6\r\n") "hello!"), BAD(400, 53, "the field Content-Length is there twice")},
    {"H3 two Content-Lengths equal", ONE(POST("Content-Length: 5\r\nContent-Length: 5\r\n") "hello"), BAD(400, 53, "the field Content-Length is there twice")},
    {"H3 Content-Length 5, 5", ONE(POST("Content-Length: 5, 5\r\n") "hello"), BAD(400, 34, "the field Content-Length is not one number of bytes")},
    {"H3 Content-Length with chunked", ONE(POST("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n") "5\r\nhello\r\n0\r\n\r\n"), BAD(400, 82, "the field Transfer-Encoding may not stand here: Content-Length is there too")},
    {"H3 chunked not last", ONE(POST("Transfer-Encoding: chunked, identity\r\n") "5\r\nhello\r\n0\r\n\r\n"), BAD(400, 34, "the field Transfer-Encoding is not chunked")},
    {"H3 unknown coding", ONE(POST("Transfer-Encoding: xchunked\r\n") "5\r\nhello\r\n0\r\n\r\n"), BAD(400, 34, "the field Transfer-Encoding is not chunked")},
    {"H3 chunked in HTTP/1.0", ONE("POST / HTTP/1.0\r\n" H "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"), BAD(400, 63, "the field Transfer-Encoding may not stand here: HTTP/1.0 does not know it")},
    {"H4 chunk size -2", ONE(CHUNKED "-2\r\nhello\r\n0\r\n\r\n"), TOLD BAD(400, 64, "the byte 0x2d may not stand in the size of a chunk")},
    {"H4 chunk size 17 digits", ONE(CHUNKED "00000000000000005\r\nhello\r\n0\r\n\r\n"), TOLD BAD(400, 80, "the size of a chunk has more than 16 digits")},
    {"H4 chunk size 0x5", ONE(CHUNKED "0x5\r\nhello\r\n0\r\n\r\n"), TOLD BAD(400, 65, "the byte 0x78 may not stand in the size of a chunk")},
    {"H4 chunk without CRLF", ONE(CHUNKED "5\r\nhelloX\r\n0\r\n\r\n"), TOLD "body hello\n" BAD(400, 72, "a chunk does not end where its size says")},
    {"H4 chunk lines end in LF", ONE(CHUNKED "5\nhello\n0\n\n"), TOLD BAD(400, 65, "the byte 0x0a may not stand in the size of a chunk")},
    {"H4 chunk extension of 1 MiB", BYTES(CHUNKED "5;"), "a", 1 << 20, BYTES("\r\nhello\r\n0\r\n\r\n"), TOLD BAD(413, 32789, "the fields have more than 32768 bytes")},
    {"H4 trailers of 1 MiB", BYTES(CHUNKED "5\r\nhello\r\n0\r\n"), "X-1: " X1000 "\r\n", 1030, BYTES("\r\n"), TOLD "body hello\n" BAD(413, 32800, "the fields have more than 32768 bytes")},
};
/* clang-format on */

static void framings_of_the_issue(void **state)
{
    (void)state;
    assert_int_equal(sizeof framings / sizeof *framings, 36);
    for (size_t i = 0; i < sizeof framings / sizeof *framings; i++)
        expect_long(&framings[i]);
}

/* Others, at the limits and one beyond. */
/* clang-format off */
static const struct long_one others[] = {
    {"an empty line", ONE("\r\n\r\n"), BAD(400, 3, "the request line is not a method, a target and a version")},
    {"no LF in an empty line", ONE("\rG"), BAD(400, 1, "a CR has no LF behind it")},
    {"TLS", ONE("\x16\x03\x01\x02"), BAD(400, 0, "these bytes begin TLS; plain HTTP is served here")},
    {"a control character that is no TLS", ONE("G\x16"), BAD(400, 1, "the byte 0x16 may not stand in the request line")},
    {"a byte of UTF-8 in the line", ONE("GET /\xc3\xa4 HTTP/1.1\r\n"), BAD(400, 5, "the byte 0xc3 may not stand in the request line")},
    {"DEL in the line", ONE("GET /\x7f HTTP/1.1\r\n"), BAD(400, 5, "the byte 0x7f may not stand in the request line")},
    {"a space first", ONE(" GET / HTTP/1.1\r\n"), BAD(400, 16, "the request line is not a method, a target and a version")},
    {"a word", ONE("GET\r\n"), BAD(400, 4, "the request line is not a method, a target and a version")},
    {"a space last", ONE("GET / HTTP/1.1 \r\n"), BAD(400, 6, "the request line does not end in a version such as HTTP/1.1")},
    {"two spaces before the version", ONE("GET /  HTTP/1.1\r\n"), BAD(400, 6, "the request line does not end in a version such as HTTP/1.1")},
    {"http", ONE("GET / http/1.1\r\n"), BAD(400, 6, "the request line does not end in a version such as HTTP/1.1")},
    {"no digit", ONE("GET / HTTP/x.1\r\n"), BAD(400, 6, "the request line does not end in a version such as HTTP/1.1")},
    {"no point", ONE("GET / HTTP/1,1\r\n"), BAD(400, 6, "the request line does not end in a version such as HTTP/1.1")},
    {"no second digit", ONE("GET / HTTP/1.x\r\n"), BAD(400, 6, "the request line does not end in a version such as HTTP/1.1")},
    {"two digits", ONE("GET / HTTP/1.10\r\n"), BAD(400, 6, "the request line does not end in a version such as HTTP/1.1")},
    {"HTTP/0.9 by name", ONE("GET / HTTP/0.9\r\n"), BAD(505, 6, "HTTP/0.9 is not served, HTTP/1.1 and HTTP/1.0 are")},
    {"HTTP/0.1", ONE("GET / HTTP/0.1\r\n"), BAD(505, 6, "HTTP/0.1 is not served, HTTP/1.1 and HTTP/1.0 are")},
    {"CONNECT", ONE("CONNECT a:1 HTTP/1.1\r\n"), BAD(501, 0, "the method CONNECT is not served")},
    {"small letters", ONE("get / HTTP/1.1\r\n"), BAD(501, 0, "the method get is not served")},
    {"a method that is one and more", ONE("GETS / HTTP/1.1\r\n"), BAD(501, 0, "the method GETS is not served")},
    {"a long method", BYTES(""), "M", 8000, BYTES(" / HTTP/1.1\r\n"), BAD(501, 0, "the method MMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMM is not served")},
    {"a target of another scheme", ONE("GET https://localhost/ HTTP/1.1\r\n" H "\r\n"), BAD(400, 4, "the target does not begin with '/' or http://")},
    {"a target without /", ONE("GET a HTTP/1.1\r\n" H "\r\n"), BAD(400, 4, "the target does not begin with '/' or http://")},
    {"an asterisk for GET", ONE("GET * HTTP/1.1\r\n" H "\r\n"), BAD(400, 4, "the target does not begin with '/' or http://")},
    {"two asterisks", ONE("OPTIONS ** HTTP/1.1\r\n" H "\r\n"), BAD(400, 8, "the target does not begin with '/' or http://")},
    {"a target that is a scheme", ONE("GET http:// HTTP/1.1\r\n" H "\r\n"), BAD(400, 4, "the target does not begin with '/' or http://")},
    {"a target without a host", ONE("GET http:///a HTTP/1.1\r\n" H "\r\n"), BAD(400, 11, "the target names no host")},
    {"a target with a user", ONE("GET http://me@localhost/a HTTP/1.1\r\n" H "\r\n"), BAD(400, 11, "the target names no host")},
    {"a target of a foreign host", ONE("GET http://evil/ HTTP/1.1\r\n" H "\r\n"), BAD(400, 27, "the field Host is not the host of the target")},
    {"a target of a host that begins so", ONE("GET http://localhos/ HTTP/1.1\r\n" H "\r\n"), BAD(400, 31, "the field Host is not the host of the target")},
    {"a fragment", ONE("GET /#a HTTP/1.1\r\n" H "\r\n"), BAD(400, 5, "the target has the character '#'")},
    {"a backslash", ONE("GET /a?\\ HTTP/1.1\r\n" H "\r\n"), BAD(400, 7, "the target has the character '\\'")},
    {"an escape without its digits", ONE("GET /a% HTTP/1.1\r\n" H "\r\n"), BAD(400, 6, "the target has a % without two hexadecimal digits behind it")},
    {"an escape of one digit", ONE("GET /%a HTTP/1.1\r\n" H "\r\n"), BAD(400, 5, "the target has a % without two hexadecimal digits behind it")},
    {"an escape of other letters", ONE("GET /%ga HTTP/1.1\r\n" H "\r\n"), BAD(400, 5, "the target has a % without two hexadecimal digits behind it")},
    {"an escape of another letter", ONE("GET /%ag HTTP/1.1\r\n" H "\r\n"), BAD(400, 5, "the target has a % without two hexadecimal digits behind it")},
    {"an empty Host", ONE(GET_LINE "Host:\r\n\r\n"), BAD(400, 16, "the field Host names no host")},
    {"a Host of two words", ONE(GET_LINE "Host: a b\r\n\r\n"), BAD(400, 16, "the field Host names no host")},
    {"a port of letters", ONE(GET_LINE "Host: a:b\r\n\r\n"), BAD(400, 16, "the field Host names no host")},
    {"a Host in half a bracket", ONE(GET_LINE "Host: [::1\r\n\r\n"), BAD(400, 16, "the field Host names no host")},
    {"a Host in the wrong bracket", ONE(GET_LINE "Host: [::1)\r\n\r\n"), BAD(400, 16, "the field Host names no host")},
    {"a Host of brackets", ONE(GET_LINE "Host: []\r\n\r\n"), BAD(400, 16, "the field Host names no host")},
    {"a port behind a bracket without its colon", ONE(GET_LINE "Host: [::1]80\r\n\r\n"), BAD(400, 16, "the field Host names no host")},
    {"two hosts in one field", ONE(GET_LINE "Host: a:1,b:2\r\n\r\n"), BAD(400, 16, "the field Host names no host")},
    {"white space before the first field", ONE(GET_LINE " Host: a\r\n\r\n"), BAD(400, 16, "a line of the head begins with white space")},
    {"TAB before the first field", ONE(GET_LINE "\tHost: a\r\n\r\n"), BAD(400, 16, "a line of the head begins with white space")},
    {"a field without a colon", ONE(GET_LINE "Host\r\n\r\n"), BAD(400, 20, "the byte 0x0d may not stand in the name of a field")},
    {"a field that ends in LF", ONE(GET_LINE "Host: a\n\r\n"), BAD(400, 23, "the byte 0x0a may not stand in the value of a field")},
    {"a head that ends in LF", ONE(GET_LINE "Host: a\r\n\n"), BAD(400, 25, "the byte 0x0a may not stand in the name of a field")},
    {"a head that ends in CR", ONE(GET_LINE "Host: a\r\n\rX"), BAD(400, 26, "a CR has no LF behind it")},
    {"DEL in a value", ONE(GET_LINE "Host: a\x7f\r\n\r\n"), BAD(400, 23, "the byte 0x7f may not stand in the value of a field")},
    {"two keys", ONE(GET_LINE H "Authorization: a\r\nauthorization: b\r\n\r\n"), BAD(400, 51, "the field Authorization is there twice")},
    {"two codings", ONE(POST("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n")), BAD(400, 62, "the field Transfer-Encoding is there twice")},
    {"another expectation", ONE(POST("Expect: 200-ok\r\n")), BAD(417, 34, "the field Expect is not 100-continue")},
    {"an empty coding", ONE(POST("Transfer-Encoding:\r\n")), BAD(400, 34, "the field Transfer-Encoding is not chunked")},
    {"TAB behind a coding", ONE(POST("Transfer-Encoding: chunked\t\r\n")), BAD(400, 60, "the byte 0x09 may not stand in the value of a field")},
    {"an empty length", ONE(POST("Content-Length:\r\n")), BAD(400, 34, "the field Content-Length is not one number of bytes")},
    {"a length of twenty nines", ONE(POST("Content-Length: 99999999999999999999\r\n")), BAD(400, 34, "the field Content-Length is not one number of bytes")},
    {"a length of 2^64 - 1", ONE(POST("Content-Length: 18446744073709551615\r\n") "a"), BAD(413, 73, "the body has 18446744073709551615 bytes, at most 1000 are taken")},
    {"a body at the limit", BYTES(POST("Content-Length: 1000\r\n")), "a", 1000, {0}, "POST / 1.1 1000 host=localhost\nbody " X1000 "\nend\n"},
    {"a body beyond it", BYTES(POST("Expect: 100-continue\r\nContent-Length: 1001\r\n")), "a", 1001, {0}, BAD(413, 79, "the body has 1001 bytes, at most 1000 are taken")},
    {"chunks at the limit", BYTES(CHUNKED "3e7\r\n"), "a", 999, BYTES("\r\n1\r\na\r\n0\r\n\r\n"), TOLD "body " X1000 "\nend\n"},
    {"chunks beyond it", BYTES(CHUNKED "3e8\r\n"), "a", 1000, BYTES("\r\n1\r\na\r\n0\r\n\r\n"), TOLD "body " X1000 "\n" BAD(413, 1073, "the body has more than 1000 bytes")},
    {"many chunks beyond it", BYTES(CHUNKED), "1\r\na\r\n", 1001, {0}, TOLD "body " X1000 "\n" BAD(413, 6066, "the body has more than 1000 bytes")},
    {"a chunk of 2^64 - 1", ONE(CHUNKED "1\r\na\r\nffffffffffffffff\r\na"), TOLD "body a\n" BAD(413, 87, "the body has more than 1000 bytes")},
    {"a chunk of no digits", ONE(CHUNKED "\r\na\r\n"), TOLD BAD(400, 64, "the byte 0x0d may not stand in the size of a chunk")},
    {"a space behind a size", ONE(CHUNKED "1 \r\na\r\n"), TOLD BAD(400, 65, "the byte 0x20 may not stand in the size of a chunk")},
    {"no LF behind a size", ONE(CHUNKED "1\ra\r\n"), TOLD BAD(400, 66, "a CR has no LF behind it")},
    {"no LF behind a chunk", ONE(CHUNKED "1\r\na\r1"), TOLD "body a\n" BAD(400, 69, "a CR has no LF behind it")},
    {"a shorter chunk", ONE(CHUNKED "2\r\na\r\n0\r\n\r\n"), TOLD "body a\r\n" BAD(400, 69, "a chunk does not end where its size says")},
    {"nothing behind ;", ONE(CHUNKED "1;\r\n"), TOLD BAD(400, 66, "the byte 0x0d may not stand in the line before a chunk")},
    {"nothing between ;", ONE(CHUNKED "1;a;;b\r\n"), TOLD BAD(400, 68, "the byte 0x3b may not stand in the line before a chunk")},
    {"a space behind ;", ONE(CHUNKED "1; a\r\n"), TOLD BAD(400, 66, "the byte 0x20 may not stand in the line before a chunk")},
    {"nothing behind =", ONE(CHUNKED "1;a=\r\n"), TOLD BAD(400, 68, "the byte 0x0d may not stand in the line before a chunk")},
    {"a quote that begins late", ONE(CHUNKED "1;a=b\"c\"\r\n"), TOLD BAD(400, 69, "the byte 0x22 may not stand in the line before a chunk")},
    {"more behind a quote", ONE(CHUNKED "1;a=\"b\"c\r\n"), TOLD BAD(400, 71, "the byte 0x63 may not stand in the line before a chunk")},
    {"a quote without its end", ONE(CHUNKED "1;a=\"b\r\n"), TOLD BAD(400, 70, "the byte 0x0d may not stand in the line before a chunk")},
    {"an escape at its end", ONE(CHUNKED "1;a=\"b\\\r\n"), TOLD BAD(400, 71, "the byte 0x0d may not stand in the line before a chunk")},
    {"NUL behind a size", ONE(CHUNKED "1;a\0\r\n"), TOLD BAD(400, 67, "the byte 0x00 may not stand in the line before a chunk")},
    {"LF behind a size", ONE(CHUNKED "1;a\n"), TOLD BAD(400, 67, "the byte 0x0a may not stand in the line before a chunk")},
    {"a length behind a body", ONE(CHUNKED "0\r\nX: 1\r\ncontent-length: 1\r\n\r\n"), TOLD BAD(400, 73, "the field Content-Length stands behind a body")},
    {"a fold behind a body", ONE(CHUNKED "0\r\nA: b\r\n c\r\n\r\n"), TOLD BAD(400, 73, "a line of the head begins with white space")},
    {"no name behind a body", ONE(CHUNKED "0\r\n: b\r\n\r\n"), TOLD BAD(400, 67, "the byte 0x3a may not stand in the name of a field")},
    {"a line at the limit", BYTES("GET /"), "a", 8178, BYTES(" HTTP/1.1\r\nHost"), "inside\n"},
    {"a line beyond it", BYTES("GET /"), "a", 8179, BYTES(" HTTP/1.1\r\nHost"), BAD(414, 8192, "the request line has more than 8192 bytes")},
    {"a line without an end", BYTES(""), "a", 1 << 20, {0}, BAD(414, 8192, "the request line has more than 8192 bytes")},
    {"a field without an end", BYTES(GET_LINE "X: "), "a", 1 << 20, {0}, BAD(431, 32784, "the fields have more than 32768 bytes")},
    {"a name without an end", BYTES(GET_LINE), "a", 1 << 20, {0}, BAD(431, 32784, "the fields have more than 32768 bytes")},
    {"a key without an end", BYTES(GET_LINE "X-Api-Key: "), "a", 1 << 20, {0}, BAD(431, 8219, "the fields that matter have more than 8192 bytes")},
    {"fields at the limit", BYTES(GET_LINE H "X: "), "a", 32768 - 17 - 5, BYTES("\r\n\r\n"), "GET / 1.1 0 host=localhost\nend\n"},
    {"fields beyond it", BYTES(GET_LINE H "X: "), "a", 32768 - 17 - 4, BYTES("\r\n\r\n"), BAD(431, 32784, "the fields have more than 32768 bytes")},
    {"100 fields", BYTES(GET_LINE H), "X: 1\r\n", 99, BYTES("\r\n"), "GET / 1.1 0 host=localhost\nend\n"},
    {"100 fields, some behind the body", BYTES(CHUNKED "0\r\n"), "X: 1\r\n", 98, BYTES("\r\n"), TOLD "end\n"},
    {"101 fields, some behind the body", BYTES(CHUNKED "0\r\n"), "X: 1\r\n", 99, BYTES("\r\n"), TOLD BAD(413, 655, "the fields have more than 100 lines")},
    {"kept values at the limit", BYTES(GET_LINE H "Content-Length: 0\r\nX-Api-Key: "), "a", 8192 - 9, BYTES("\r\nConnection:\r\nOrigin:\r\n"), "inside\n"},
    {"kept values beyond it", BYTES(GET_LINE H "X-Api-Key: "), "a", 8192 - 8, BYTES("\r\n\r\n"), BAD(431, 8227, "the fields that matter have more than 8192 bytes")},
    {"a connection beyond it", BYTES(GET_LINE H "Connection: "), "a,", 4092, BYTES("\r\n\r\n"), BAD(431, 8228, "the fields that matter have more than 8192 bytes")},
};
/* clang-format on */

static void other_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        expect_long(&others[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_ones),
        cmocka_unit_test(behind_each_other),
        cmocka_unit_test(framings_of_the_issue),
        cmocka_unit_test(other_refusals),
    };
    return cmocka_run_group_tests_name("server/http1", tests, NULL, NULL);
}

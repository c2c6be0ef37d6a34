/* SPDX-License-Identifier: Apache-2.0 */
/* test_json_write.c: what patterns write: every character of a string read back by the reader of JSON, bad
 * UTF-8, numbers, and buffers that are full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/utf8.h"
#include "json_write.h"

static void patterns(void **state)
{
    struct buffer b = {0};

    (void)state;
    json_put(&b, "{'a':%s,'b':%t,'c':%r,'d':%d,'e':%l,'f':%u,'g':%b,'h':%s}", "x\"y", "abc", (size_t)2, "[1]",
             -7, INT64_MIN, UINT64_MAX, 1, NULL);
    assert_string_equal(buffer_terminate(&b), "{\"a\":\"x\\\"y\",\"b\":\"ab\",\"c\":[1],\"d\":-7,"
                                              "\"e\":-9223372036854775808,\"f\":18446744073709551615,"
                                              "\"g\":true,\"h\":null}");
    b.n = 0;
    json_put(&b, "[%f,%f,%f,%f]", 0.5, -1e300, (double)NAN, (double)INFINITY);
    assert_string_equal(buffer_terminate(&b), "[0.5,-1e+300,null,null]");
    buffer_free(&b);
}

/* A float comes back as it was. */
static void floats(void **state)
{
    struct buffer b = {0};

    (void)state;
    for (uint32_t i = 1; i < 200000; i += 37) {
        const float f = -ct_f32_from_bits(0x3a000000u + i * 977);
        b.n = 0;
        json_put(&b, "%f", (double)f);
        assert_true(strtof(buffer_terminate(&b), NULL) == f);
    }
    buffer_free(&b);
}

/* What is written, as the reader of the house reads it. */
static struct ct_str read_back(struct ct_json *j, const struct buffer *b)
{
    for (size_t i = 0; i < b->n; i++)
        assert_true((unsigned char)b->data[i] >= 0x20);
    ct_json_init(j, "test", (struct ct_bytes){(const uint8_t *)b->data, b->n});
    assert_int_equal(ct_json_next(j), CT_JSON_STRING);
    return j->string;
}

static void every_character(void **state)
{
    struct buffer b = {0};
    struct ct_json j;
    char text[8];

    (void)state;
    for (uint32_t c = 0; c < 0x110000; c += c < 0x3000 ? 1 : 251) {
        if (c >= 0xd800 && c < 0xe000)
            continue;
        const size_t n = ct_utf8_encode(c, text);
        b.n = 0;
        json_put_string(&b, text, n);
        const struct ct_str s = read_back(&j, &b);
        assert_int_equal(s.n, n);
        assert_memory_equal(s.s, text, n);
        ct_json_free(&j);
    }
    buffer_free(&b);
}

static void bad_bytes(void **state)
{
    static const struct {
        const char *bytes, *wanted;
    } rows[] = {
        {"\xff", "\"\xef\xbf\xbd\""},       {"a\xc3", "\"a\xef\xbf\xbd\""},
        {"\xe2\x96z", "\"\xef\xbf\xbdz\""}, {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {"data: \n\n", "\"data: \\n\\n\""}, {"\x01\x7f", "\"\\u0001\\u007f\""},
    };
    struct buffer b = {0};

    (void)state;
    for (size_t i = 0; i < CT_COUNT(rows); i++) {
        b.n = 0;
        json_put_string(&b, rows[i].bytes, strlen(rows[i].bytes));
        assert_string_equal(buffer_terminate(&b), rows[i].wanted);
    }
    buffer_free(&b);
}

static void full(void **state)
{
    struct buffer b = {.most = 10};

    (void)state;
    buffer_text(&b, "0123456789");
    assert_false(b.failed);
    assert_int_equal(b.n, 10);
    b.most = 11;
    assert_non_null(buffer_terminate(&b));
    assert_int_equal(b.n, 10);
    b.most = 10;
    buffer_text(&b, "x");
    assert_true(b.failed);
    assert_int_equal(b.n, 10);
    assert_null(buffer_terminate(&b));
    buffer_free(&b);
    assert_null(b.data);
}

static void compact(void **state)
{
    static const char *const cases[][2] = {
        {"", ""},
        {" [ 1 ,\n\t2 ]\r\n", "[1,2]"},
        {"{\"a b\" : \" c  d \"}", "{\"a b\":\" c  d \"}"},
        {"[\"\\\" \", \"\\\\\", \" \"]", "[\"\\\" \",\"\\\\\",\" \"]"},
    };
    struct buffer b = {0};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        b.n = 0;
        json_put_compact(&b, cases[i][0], strlen(cases[i][0]));
        assert_string_equal(buffer_terminate(&b), cases[i][1]);
    }
    buffer_free(&b);
}

static void numbers(void **state)
{
    static const struct {
        float value;
        const char *text;
    } cases[] = {{0.95f, "0.95"},        {1, "1"},
                 {0.1f + 0.2f, "0.3"},   {1e-6f, "1e-06"},
                 {16777216, "16777216"}, {1.0f / 3, "0.33333334"},
                 {-0.0f, "-0"}};
    const int32_t ids[] = {0, 262143, -1};
    struct buffer b = {0};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        b.n = 0;
        json_put(&b, "%f", json_short(cases[i].value));
        assert_string_equal(buffer_terminate(&b), cases[i].text);
    }
    b.n = 0;
    json_put_ids(&b, ids, 3);
    json_put_ids(&b, ids, 1);
    json_put_ids(&b, NULL, 0);
    assert_string_equal(buffer_terminate(&b), "[0,262143,-1][0][]");
    buffer_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns),  cmocka_unit_test(floats), cmocka_unit_test(every_character),
        cmocka_unit_test(bad_bytes), cmocka_unit_test(full),   cmocka_unit_test(numbers),
        cmocka_unit_test(compact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

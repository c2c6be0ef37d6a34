/* SPDX-License-Identifier: Apache-2.0 */
/* test_fields.c: bodies that are no JSON object, and fields of every kind at their bounds and beyond: what is
 * taken, passed over, or refused, and by which name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "fields.h"

struct values {
    const struct ct_json_value *list;
    bool flag;
    int64_t whole;
    double real;
};

/* clang-format off */
static const struct field fields[] = {
    {"messages", FIELD_VALUE, offsetof(struct values, list), IS_LIST, 0, NULL, NULL},
    {"stream", FIELD_FLAG, offsetof(struct values, flag), 0, 0, NULL, NULL},
    {"n", FIELD_WHOLE, offsetof(struct values, whole), 1, 8, NULL, NULL},
    {"temperature", FIELD_REAL, offsetof(struct values, real), 0, 100, NULL, NULL},
    {"user", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"store", FIELD_REFUSED, 0, 0, 0, "nothing is stored", " false off "},
};
/* clang-format on */

/* Reads a body into *v. Returns the status: 0 when it is taken. */
static int take(const char *body, bool strict, struct values *v, struct refusal *r, char ignored[64])
{
    struct document d = {.r = r, .strict = strict};

    *v = (struct values){0};
    *r = (struct refusal){0};
    if (document_read(&d, (struct ct_bytes){(const uint8_t *)body, strlen(body)}))
        fields_take(&d, &d.tree.value[0], "", fields, CT_COUNT(fields), v);
    if (ignored)
        snprintf(ignored, 64, "%.*s", (int)d.ignored.n, d.ignored.n ? d.ignored.data : "");
    document_free(&d);
    return r->status;
}

static void taken(void **state)
{
    static const char *const bodies[] = {
        "{}",
        "{\"n\":1}",
        "{\"n\":8}",
        "{\"n\":8.0}",
        "{\"n\":80e-1}",
        "{\"n\":null,\"messages\":null}",
        "{\"temperature\":0}",
        "{\"temperature\":-0.0}",
        "{\"temperature\":1e2}",
        "{\"store\":false}",
        "{\"store\":\"off\"}",
        "{\"user\":[{}]}",
        " { \"stream\" : true } ",
    };
    struct values v;
    struct refusal r;

    (void)state;
    for (size_t i = 0; i < CT_COUNT(bodies); i++)
        if (take(bodies[i], true, &v, &r, NULL) != 0)
            fail_msg("%s: %s", bodies[i], r.message);
    take("{\"stream\":true,\"n\":7,\"temperature\":0.25}", true, &v, &r, NULL);
    assert_true(v.flag && v.whole == 7 && v.real == 0.25);
}

static void refused(void **state)
{
    static const struct {
        const char *body, *param, *says;
    } rows[] = {
        {"", "", "end of the text"},
        {"[]", "", "expected a JSON object"},
        {"null", "", "expected a JSON object"},
        {"{\"n\":1,}", "", "at byte 7"},
        {"{\"n\":1}x", "", "at byte 7"},
        {"{\"n\":NaN}", "", "at byte 5"},
        {"{\"n\":1,\"n\":2}", "", "duplicate key n"},
        {"{\"user\":\"\\ud800\"}", "", "surrogate"},
        {"{\"user\":\"\xd6\xd0\"}", "", "at byte"},
        {"{\"n\":0}", "n", "n at byte 5 is 0, expected a whole number from 1 to 8"},
        {"{\"n\":9}", "n", "is 9"},
        {"{\"n\":1.5}", "n", "whole number"},
        {"{\"n\":9.0}", "n", "is 9.0, expected a whole number from 1 to 8"},
        {"{\"n\":9007199254740993000000}", "n", "whole number"},
        {"{\"n\":\"1\"}", "n", "whole number"},
        {"{\"n\":true}", "n", "whole number"},
        {"{\"temperature\":-1}", "temperature", "from 0 to 100"},
        {"{\"temperature\":1e308}", "temperature", "from 0 to 100"},
        {"{\"temperature\":1e999}", "", "beyond the range"},
        {"{\"temperature\":\"hot\"}", "temperature", "\"hot\""},
        {"{\"stream\":\"yes\"}", "stream", "expected true or false"},
        {"{\"stream\":1}", "stream", "expected true or false"},
        {"{\"messages\":{}}", "messages", "expected a list"},
        {"{\"store\":true}", "store", "nothing is stored"},
        {"{\"temprature\":1}", "temprature", "did you mean temperature?"},
        {"{\"Temperature\":1}", "Temperature", "did you mean temperature?"},
        {"{\"mesages\":[]}", "mesages", "did you mean messages?"},
        {"{\"temperatrue\":1}", "temperatrue", "did you mean temperature?"},
    };
    struct values v;
    struct refusal r;

    (void)state;
    for (size_t i = 0; i < CT_COUNT(rows); i++) {
        if (take(rows[i].body, false, &v, &r, NULL) != 400 || strcmp(r.param, rows[i].param) != 0 ||
            !strstr(r.message, rows[i].says))
            fail_msg("%s: %d, param '%s', %s", rows[i].body, r.status, r.param, r.message);
    }
}

static void unknown(void **state)
{
    struct values v;
    struct refusal r;
    char ignored[64];

    (void)state;
    assert_int_equal(take("{\"top_a\":1,\"a,\\nb\":2,\"xy\":0}", false, &v, &r, ignored), 0);
    assert_string_equal(ignored, "top_a, a??b, xy");
    assert_int_equal(take("{\"xy\":0}", true, &v, &r, NULL), 400);
    assert_string_equal(r.param, "xy");
}

/* As deep and as many as may be, and one more. */
static void bounds(void **state)
{
    enum { MOST = 100000 };
    char *body = malloc(4 * MOST), *at;
    struct values v;
    struct refusal r;

    (void)state;
    assert_non_null(body);
    for (int more = 0; more < 2; more++) {
        const int depth = 62 + more;
        at = body + sprintf(body, "{\"user\":");
        for (int i = 0; i < depth; i++)
            *at++ = '[';
        for (int i = 0; i < depth; i++)
            *at++ = ']';
        strcpy(at, "}");
        assert_int_equal(take(body, false, &v, &r, NULL), 0);
        at = body + sprintf(body, "{\"user\":[0");
        for (int i = 0; i < MOST - 4 + more; i++)
            at += sprintf(at, ",0");
        strcpy(at, "]}");
        assert_int_equal(take(body, false, &v, &r, NULL), more ? 400 : 0);
    }
    memset(body, '[', 200);
    memcpy(body, "{\"user\":", 8);
    body[200] = 0;
    assert_int_equal(take(body, false, &v, &r, NULL), 400);
    free(body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(taken), cmocka_unit_test(refused),
                                       cmocka_unit_test(unknown), cmocka_unit_test(bounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

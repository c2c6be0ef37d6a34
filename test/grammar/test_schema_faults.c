/* SPDX-License-Identifier: Apache-2.0 */
/* test_schema_faults.c: what every fault of a JSON Schema is called and where; limits, and one more than
 * them; and what a refused allocation leaves behind. */
#define _POSIX_C_SOURCE 200809L
#include "refusable.h"
#include "schema_reader.h"

/* ---- faults ---- */

struct fault {
    const char *schema, *message;
};

static void assert_faults(const struct fault *rows, size_t n, carat_status expected)
{
    struct reader r;
    int wrong = 0;

    for (size_t i = 0; i < n; i++) {
        const carat_status status = reader_open(&r, rows[i].schema, &in_order);
        if (status != expected && ++wrong)
            print_error("%s\n  gives %s\n", rows[i].schema, carat_status_name(status));
        else if (rows[i].message && strcmp(r.err.message, rows[i].message) != 0 && ++wrong)
            print_error("%s\n  gives    %s\n  expected %s\n", rows[i].schema, r.err.message, rows[i].message);
        reader_close(&r);
    }
    assert_int_equal(wrong, 0);
}

/* What is sound, and only not understood here, which others that need not keep to it may take. */
static void not_understood(void **state)
{
    static const struct fault rows[] = {
        {"{\"properties\":{\"room\":{\"uniqueItems\":true}}}",
         "properties.room.uniqueItems: this keyword is not supported"},
        {"{\"items\":[{},{\"not\":{}}]}", "items[1].not: this keyword is not supported"},
        {"{\"if\":{}}", "if: this keyword is not supported"},
        {"{\"x-own\":1}", "x-own: this keyword is not supported"},
        {"{\"format\":\"hostname\"}", "format: \"hostname\" is not supported, expected date, time, "
                                      "date-time, uuid, email, ipv4, ipv6 or uri"},
        {"{\"multipleOf\":0.5}", "multipleOf: 0.5, expected a whole number from 1 to 10000"},
        {"{\"allOf\":[{\"multipleOf\":9999},{\"multipleOf\":9998}]}",
         "allOf[1].multipleOf: 99970002 together with others, expected at most 10000"},
        {"{\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"number\"}]}",
         "oneOf: a value may fit both [0] and [1], expected branches that exclude each other"},
        {"{\"oneOf\":[{\"type\":\"null\"},{\"required\":[\"a\"]},{\"required\":[\"b\"],\"type\":\"object\"}]"
         "}",
         "oneOf: a value may fit both [0] and [1], expected branches that exclude each other"},
        {"{\"minProperties\":3,\"type\":\"object\"}",
         "minProperties: 3, expected at most one more than the 0 required keys where other keys are allowed"},
    };

    (void)state;
    assert_faults(rows, CT_COUNT(rows), CARAT_E_UNSUPPORTED);
}

static void faults(void **state)
{
    static const struct fault rows[] = {
        {"{\"type\":\"hiccup\"}",
         "type: \"hiccup\" is no type, expected array, boolean, integer, null, number, object or string"},
        {"{\"type\":[]}", "type: expected the name of a type, or a list of some"},
        {"{\"uniqueItems\":1}", "uniqueItems: expected true or false"},
        {"{\"enum\":[]}", "enum: the list is empty, so that nothing fits"},
        {"{\"enum\":3}", "enum: expected a list of values"},
        {"{\"items\":3}", "items: expected a schema or a list of schemas"},
        {"{\"anyOf\":[]}", "anyOf: expected a list of schemas that is not empty"},
        {"{\"properties\":{\"a\":1}}", "properties: expected an object of schemas"},
        {"{\"additionalProperties\":\"no\"}",
         "additionalProperties: expected a schema: an object, true or false"},
        {"{\"minLength\":-1}", "minLength: expected a whole number from 0"},
        {"{\"maxItems\":1.5}", "maxItems: expected a whole number from 0"},
        {"{\"minimum\":\"1\"}", "minimum: expected a number"},
        {"{\"required\":[1]}", "required: expected a list of texts"},
        {"{\"pattern\":1}", "pattern: expected a text"},
        {"{\"pattern\":\"*\"}",
         "pattern: byte 0: found *, expected something before it that it could repeat"},
        {"{\"patternProperties\":{\"(\":{}}}", NULL},
        {"{\"multipleOf\":0}", "multipleOf: 0, expected a whole number from 1 to 10000"},
        {"{\"minimum\":1e999}", NULL}, /* the reader's */
        {"{\"$ref\":\"file:///x\"}",
         "$ref: \"file:///x\" is not in this schema, expected \"#/…\"; nothing is fetched"},
        {"{\"$ref\":\"#/nope\"}", "$ref: nothing is at \"#/nope\""},
        {"{\"$ref\":\"#/%2\"}", "$ref: nothing is at \"#/%2\""},
        {"{\"$ref\":\"#/title\",\"title\":\"t\"}", "title: expected a schema: an object, true or false"},
        {"{\"$ref\":\"#\"}", "the schema: it refers to itself before it says anything"},
        {"{\"anyOf\":[{\"type\":\"null\"},{\"$ref\":\"#\"}]}",
         "the schema: it refers to itself before it says anything"},
        /* what no JSON fits */
        {"false", "the schema: no JSON fits false"},
        {"{\"type\":\"integer\",\"minimum\":5,\"maximum\":3}",
         "the schema: no number is between its limits: no JSON fits"},
        {"{\"type\":\"array\",\"minItems\":1,\"items\":{\"type\":\"string\",\"minLength\":3,\"maxLength\":2}"
         "}",
         "items.minLength: 3 is above maxLength, 2: no JSON fits"},
        {"{\"type\":\"array\",\"minItems\":2,\"maxItems\":1}",
         "the schema: at least 2 and at most 1 elements: no JSON fits"},
        {"{\"type\":\"object\",\"required\":[\"a\"],\"properties\":{\"a\":false}}",
         "the schema: the key \"a\" is required, and no value fits it: no JSON fits"},
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#\"}},\"required\":[\"a\"]}",
         "the schema: every value would have to hold others without end: no JSON fits"},
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"pattern\":\"a$b\",\"type\":\"string\"}},\"required\":"
         "[\"a\"]}",
         "properties.a.pattern: no string fits: no JSON fits"},
        {"{\"type\": \"string\", \"format\": \"uuid\", \"maxLength\": 3}",
         "the schema: no string fits: no JSON fits"},
        {"{\"enum\":[1,\"a\"],\"type\":\"null\"}", "the schema: no type is left that fits all: no JSON fits"},
        {"{\"enum\":[1,2],\"minimum\":3}", NULL},
        {"{\"const\":\"c\",\"enum\":[\"a\"]}", "the schema: no value that is listed fits all: no JSON fits"},
        {"{\"type\":\"string\",\"pattern\":\"^a$\",\"minLength\":2}", NULL},
        /* no JSON, or no schema */
        {"", "the schema: at byte 0: expected a value, found the end of the text"},
        {"3", NULL},
        {"[1]", "the schema: expected a schema: an object, true or false"},
        {"{\"a\":\"\\ud800\"}", NULL},
        {"{\"pattern\":\"\\u0000\"}", NULL},
    };

    (void)state;
    assert_faults(rows, CT_COUNT(rows), CARAT_E_ARGUMENT);
}

/* A message begins with where the schema stands. */
static void prefixes(void **state)
{
    const struct ct_schema_options o = {.prefix = "tools[0].function.parameters",
                                        .argument = true,
                                        .calls = true,
                                        .quote = 52,
                                        .space = CT_SPACE_NONE};
    static const char *const rows[][2] = {
        {"{\"properties\":{\"room\":{\"pattern\":\"a{2,1}\"}}}",
         "tools[0].function.parameters.properties.room.pattern: "},
        {"{\"type\":\"x\"}", "tools[0].function.parameters.type: "},
        {"{\"properties\":{\"a:b\":{}}}",
         "tools[0].function.parameters.properties: the key \"a:b\" cannot be read back"},
        {"{\"type\":\"object\",\"minProperties\":500}",
         "tools[0].function.parameters: at least 500 keys, and there are at most 243 kinds: no JSON fits"},
        {"{", "tools[0].function.parameters: at byte 1: "},
    };
    struct reader r;
    (void)state;

    for (size_t i = 0; i < CT_COUNT(rows); i++) {
        assert_int_equal(reader_open(&r, rows[i][0], &o), CARAT_E_ARGUMENT);
        if (strncmp(r.err.message, rows[i][1], strlen(rows[i][1])) != 0)
            fail_msg("%s\n  expected %s", r.err.message, rows[i][1]);
        reader_close(&r);
    }
}

/* ---- limits ---- */

/* `before` n times, then `middle`, then `after` n times. */
static char *nested(const char *before, const char *middle, const char *after, size_t n)
{
    const size_t a = strlen(before), b = strlen(after), m = strlen(middle);
    char *text = malloc(n * (a + b) + m + 1), *to = text;

    assert_non_null(text);
    for (size_t i = 0; i < n; i++, to += a)
        memcpy(to, before, a);
    memcpy(to, middle, m);
    to += m;
    for (size_t i = 0; i < n; i++, to += b)
        memcpy(to, after, b);
    *to = 0;
    return text;
}

static void check_limit(char *schema, const char *message)
{
    struct reader r;
    const carat_status status = reader_open(&r, schema, &in_order);

    if (message ? status != CARAT_E_ARGUMENT || !strstr(r.err.message, message) : status != CARAT_OK)
        fail_msg("%.60s...\n  gives    %s\n  expected %s", schema, r.err.message,
                 message ? message : "success");
    reader_close(&r);
    free(schema);
}

/* A list of n items in a template that has one %s. */
static char *listed(const char *before, const char *format, int n, const char *after)
{
    char *text = malloc((size_t)n * 64 + strlen(before) + strlen(after) + 1), *to = text;

    assert_non_null(text);
    to += sprintf(to, "%s", before);
    for (int i = 0; i < n; i++)
        to += sprintf(to, format, i ? "," : "", i, i);
    strcpy(to, after);
    return text;
}

static void limits(void **state)
{
    (void)state;
    check_limit(nested("{\"items\":", "{}", "}", 31), NULL);
    check_limit(nested("{\"items\":", "{\"type\":\"null\"}", "}", 32),
                "more than 32 schemas lie in each other");
    check_limit(nested("[", "", "]", 60000), "nested deeper than 64 levels");
    check_limit(nested(" ", "{}", "", CT_SCHEMA_BYTES - 2), NULL);
    check_limit(nested(" ", "{}", "", CT_SCHEMA_BYTES - 1),
                "the schema has 262145 bytes, expected at most 262144");
    check_limit(listed("{\"properties\":{", "%s\"k%d\":{\"type\":\"string\"}", 6000, "}}"), NULL);
    check_limit(listed("{\"properties\":{", "%s\"k%d\":{\"const\":%d}", 9990, "}}"),
                "more than 10000 rules are needed");
    check_limit(listed("{\"enum\":[", "%s\"value %d\"", 5000, "]}"), NULL);
    check_limit(listed("{\"anyOf\":[", "%s{\"const\":\"%d\"}", 1024, "]}"), NULL);
    check_limit(listed("{\"anyOf\":[", "%s{\"const\":\"%d\"}", 1025, "]}"), "more than 1024 combinations");
    check_limit(listed("{\"type\":\"string\",\"allOf\":[", "%s{\"minLength\":%d}", 46, "]}"), NULL);
    check_limit(listed("{\"type\":\"string\",\"allOf\":[", "%s{\"minLength\":%d}", 48, "]}"),
                "more than 48 schemas must fit");
    check_limit(strdup("{\"type\":\"string\",\"maxLength\":67108864}"), NULL);
    check_limit(strdup("{\"type\":\"string\",\"maxLength\":2147483647}"), NULL);
    check_limit(strdup("{\"type\":\"string\",\"minLength\":67108865}"),
                "minLength: 67108865, expected at most 67108864");
    check_limit(strdup("{\"type\":\"array\",\"minItems\":1000000,\"maxItems\":2000000}"), NULL);
    check_limit(strdup("{\"type\":\"string\",\"pattern\":\"(a+)+$\"}"), NULL);
    check_limit(strdup("{\"type\":\"string\",\"pattern\":\"(a|b)*a(a|b){40}$\"}"),
                "more than 100000 states are needed");
    check_limit(strdup("{\"type\":\"string\",\"pattern\":\"^[a-z]*$\",\"maxLength\":200000}"),
                "more than 100000 states");
    check_limit(listed("{\"properties\":{", "%s\"k%d\":{\"pattern\":\"(a|b)*a(a|b){12}%d$\",\"maxLength\":0}",
                       40, "}}"),
                "together need more than 200000 states");
    check_limit(strdup("{\"type\":\"string\",\"pattern\":\"a{1,1000000000}\"}"), "pattern: byte 1: ");
}

/* Counts that are cut into blocks: at each bound, one less and one more. */
static void blocks(void **state)
{
    static const struct {
        int min, max;
    } rows[] = {{1023, 1025}, {1, 5000}, {2000, 2000}, {3000, 6001}, {4096, -1}};
    struct reader r;
    (void)state;

    for (size_t i = 0; i < CT_COUNT(rows); i++) {
        char schema[120], *text;
        int n = snprintf(schema, sizeof schema, "{\"type\":\"string\",\"minLength\":%d", rows[i].min);
        snprintf(schema + n, sizeof schema - (size_t)n, rows[i].max < 0 ? "}" : ",\"maxLength\":%d}",
                 rows[i].max);
        assert_int_equal(reader_open(&r, schema, &in_order), CARAT_OK);
        const int lengths[] = {rows[i].min - 1, rows[i].min, (rows[i].min + rows[i].max) / 2, rows[i].max,
                               rows[i].max + 1};
        for (size_t k = 0; k < CT_COUNT(lengths); k++) {
            if (rows[i].max < 0 && k > 1)
                continue;
            text = malloc((size_t)lengths[k] + 3);
            memset(text, 'x', (size_t)lengths[k] + 2);
            text[0] = text[lengths[k] + 1] = '"';
            text[lengths[k] + 2] = 0;
            assert_int_equal(reader_takes(&r, text, false),
                             lengths[k] >= rows[i].min && (rows[i].max < 0 || lengths[k] <= rows[i].max));
            free(text);
        }
        reader_close(&r);
    }
}

/* The same grammar takes several schemas, which share their rules. */
static void sharing(void **state)
{
    struct ct_schema_shared shared = {0};
    struct ct_schema_options o = {.space = CT_SPACE_JSON, .shared = &shared};
    struct ct_grammar g;
    carat_error err;
    int32_t rule[2], nodes = 0;
    (void)state;

    ct_grammar_init(&g);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ct_schema_text(&g, ct_str_of("{\"type\":\"array\"}"), &o, &rule[i], &err), CARAT_OK);
        assert_true(i == 0 || g.n_nodes - nodes < nodes / 2);
        nodes = g.n_nodes;
    }
    assert_int_equal(ct_grammar_finish(&g, rule[1], &err), CARAT_OK);
    ct_grammar_free(&g);
    ct_schema_shared_free(&shared);
}

/* Whatever allocation is refused, the error says so, and nothing is left behind. */
static void refusals(void **state)
{
    static const char *const schemas[] = {
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"pattern\":\"^x\",\"maxLength\":3},"
        "\"b\":{\"enum\":[1,\"z\",{\"q\":[2]}]}},\"patternProperties\":{\"^p\":{\"minimum\":1}},\"required\":"
        "[\"b\"],"
        "\"maxProperties\":3}",
        "{\"oneOf\":[{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"null\"}},\"required\":[\"a\"]},"
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"format\":\"date\"}},\"required\":["
        "\"a\"]}]}",
        "{\"type\":\"array\",\"items\":{\"$ref\":\"#\"},\"minItems\":2000}",
    };
    (void)state;

    for (size_t i = 0; i < CT_COUNT(schemas); i++) {
        carat_status status = CARAT_E_MEMORY;
        for (long n = 0; status != CARAT_OK && i != 2; n++) {
            struct reader r;
            const long before = live;
            requests = 0;
            refuse_at = n;
            status = reader_open(&r, schemas[i], &in_order);
            refuse_at = NEVER;
            if (status != CARAT_OK && (status != CARAT_E_MEMORY || !strstr(r.err.message, "memory")))
                fail_msg("request %ld refused: %s", n, r.err.message);
            reader_close(&r);
            assert_int_equal(live, before);
            if (status == CARAT_OK)
                assert_true(n >= requests);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(not_understood), cmocka_unit_test(faults), cmocka_unit_test(prefixes),
        cmocka_unit_test(limits),         cmocka_unit_test(blocks), cmocka_unit_test(sharing),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

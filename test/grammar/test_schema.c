/* SPDX-License-Identifier: Apache-2.0 */
/* test_schema.c: JSON Schema as productions: for each keyword texts that fit and texts that do not, read by
 * the automaton. What is refused is test_schema_faults.c's. */
#include "schema_reader.h"

/* Texts that fit, then texts that do not, each list ended by NULL. */
struct row {
    const char *schema;
    const char *fits[10], *others[10];
};

static void check_rows(const struct row *rows, size_t n, const struct ct_schema_options *o)
{
    struct reader r;
    int wrong = 0;

    for (size_t i = 0; i < n; i++) {
        if (reader_open(&r, rows[i].schema, o))
            fail_msg("%s\n  %s", rows[i].schema, r.err.message);
        for (int other = 0; other < 2; other++)
            for (const char *const *t = other ? rows[i].others : rows[i].fits; *t; t++)
                if (reader_takes(&r, *t, o->calls) == other && ++wrong)
                    print_error("%s\n  %s %s\n", rows[i].schema, other ? "takes" : "does not take", *t);
        reader_close(&r);
    }
    assert_int_equal(wrong, 0);
}

static const struct ct_schema_options dumps = {.space = CT_SPACE_DUMPS},
                                      any_order = {.space = CT_SPACE_JSON, .any_order = true},
                                      calls = {.space = CT_SPACE_NONE,
                                               .argument = true,
                                               .calls = true,
                                               .quote = 52};

static void scalars(void **state)
{
    static const struct row rows[] = {
        {"{\"type\":\"null\"}",
         {"null", " null", "\n\tnull\r\n", NULL},
         {"nul", "true", "0", "nullx", "", NULL}},
        {"{\"type\":\"boolean\"}", {"true", "false", NULL}, {"null", "True", NULL}},
        {"{\"type\":\"integer\"}",
         {"0", "-1", "123456789012345678901234567890", "-0", NULL},
         {"01", "1.0", "1e5", "--1", "+1", "-", "", NULL}},
        {"{\"type\":\"number\"}",
         {"0", "-1.25", "1e-07", "1.5e+300", "-0.0", "1e+16", "12E5", "1.7976931348623157e+308", "5e-324",
          NULL},
         {"01", "1.", ".5", "1e", "1.8e308", "2e308", "1e309", "1e1000", "NaN", NULL}},
        {"{\"type\":\"string\"}",
         {"\"\"", "\"a\\n\\u00e9\\/\"", "\"\xc3\xa9\"", "\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\"", NULL},
         {"\"a", "\"\n\"", "\"\\x\"", "\"\\ud83d\"", "\"\\ude00\"", "\"\xc3\"", "\"\\u0061\"", "'a'", NULL}},
        {"{\"type\":[\"null\",\"integer\"]}", {"null", "7", NULL}, {"true", "7.5", NULL}},
        {"true", {"null", "[1,{\"a\":[]}]", "{\"\":{}}", "-1.5e3", NULL}, {"", "[", "{1:2}", "[1,]", NULL}},
        {"{}", {"\"x\"", NULL}, {"x", NULL}},
        {"{\"title\":\"t\",\"description\":\"d\",\"default\":1,\"examples\":[2],\"$comment\":\"c\",\"type\":"
         "\"null\"}",
         {"null", NULL},
         {"1", NULL}},
    };
    (void)state;
    check_rows(rows, CT_COUNT(rows), &in_order);
}

static void strings(void **state)
{
    static const struct row rows[] = {
        {"{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}",
         {"\"ab\"", "\"\\n\\\"\"", "\"\xc3\xa9\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\xf0\x9f\x98\x80z\"",
          NULL},
         {"\"a\"", "\"abcd\"", "\"\xf0\x9f\x98\x80\"", NULL}},
        {"{\"type\":\"string\",\"minLength\":1}",
         {"\"a\"", "\"aaaaaaaaaaaaaaaaaaaaaa\"", NULL},
         {"\"\"", NULL}},
        {"{\"type\":\"string\",\"maxLength\":0}", {"\"\"", NULL}, {"\"a\"", NULL}},
        {"{\"type\":\"string\",\"pattern\":\"^a+b\"}",
         {"\"ab\"", "\"aabc\"", NULL},
         {"\"b\"", "\"xab\"", NULL}},
        {"{\"type\":\"string\",\"pattern\":\"[0-9]{2}\",\"maxLength\":4}",
         {"\"12\"", "\"a12b\"", NULL},
         {"\"1\"", "\"1a2\"", "\"a12bc\"", NULL}},
        {"{\"allOf\":[{\"type\":\"string\",\"pattern\":\"^a\"},{\"pattern\":\"z$\"}]}",
         {"\"az\"", "\"abz\"", NULL},
         {"\"a\"", "\"z\"", NULL}},
        {"{\"type\":\"string\",\"enum\":[\"ab\",\"\xc3\xa9/\",3]}",
         {"\"ab\"", "\"\\u00e9\\/\"", "\"\xc3\xa9/\"", NULL},
         {"\"a\"", "3", "\"abc\"", NULL}},
        {"{\"allOf\":[{\"type\":\"string\",\"minLength\":2,\"maxLength\":3},{\"minLength\":1,\"maxLength\":5}"
         "]}",
         {"\"ab\"", "\"abc\"", NULL},
         {"\"a\"", "\"abcd\"", NULL}},
        {"{\"type\":\"string\",\"pattern\":\"^.$\"}",
         {"\"\xee\x80\x80\"", "\"\xed\x9f\xbf\"", "\"\\ue000\"", NULL},
         {"\"\xed\xa0\x80\"", "\"\\ud800\"", NULL}},
        {"{\"enum\":[\"ab\",\"abc\"],\"minLength\":3}", {"\"abc\"", NULL}, {"\"ab\"", NULL}},
        {"{\"const\":\"x\",\"enum\":[\"x\",\"y\"]}", {"\"x\"", NULL}, {"\"y\"", NULL}},
    };
    (void)state;
    check_rows(rows, CT_COUNT(rows), &in_order);
}

static void formats(void **state)
{
    static const struct row rows[] = {
        {"{\"type\":\"string\",\"format\":\"date\"}",
         {"\"2024-02-29\"", "\"2000-02-29\"", "\"0001-01-31\"", "\"9999-12-31\"", NULL},
         {"\"2023-02-29\"", "\"1900-02-29\"", "\"0000-01-01\"", "\"2024-04-31\"", "\"2024-13-01\"",
          "\"2024-1-1\"", NULL}},
        {"{\"type\":\"string\",\"format\":\"time\"}",
         {"\"23:59:59Z\"", "\"00:00:00.5+14:00\"", NULL},
         {"\"24:00:00Z\"", "\"12:60:00Z\"", "\"12:00:00\"", "\"12:00Z\"", NULL}},
        {"{\"type\":\"string\",\"format\":\"date-time\"}",
         {"\"2024-02-29T12:00:00Z\"", NULL},
         {"\"2023-02-29T12:00:00Z\"", "\"2024-02-29 12:00:00Z\"", NULL}},
        {"{\"type\":\"string\",\"format\":\"uuid\"}",
         {"\"123e4567-E89b-12d3-a456-426614174000\"", NULL},
         {"\"123e4567e89b12d3a456426614174000\"", "\"g23e4567-e89b-12d3-a456-426614174000\"", NULL}},
        {"{\"type\":\"string\",\"format\":\"email\"}",
         {"\"a.b+c@x-y.org\"", "\"a@b\"", NULL},
         {"\"a\"", "\"a@\"", "\".a@b\"", "\"a..b@c\"", "\"a@-b\"", NULL}},
        {"{\"type\":\"string\",\"format\":\"ipv4\"}",
         {"\"0.0.0.0\"", "\"255.249.199.10\"", NULL},
         {"\"256.0.0.0\"", "\"1.2.3\"", "\"01.2.3.4\"", NULL}},
        {"{\"type\":\"string\",\"format\":\"ipv6\"}",
         {"\"::\"", "\"::1\"", "\"1:2:3:4:5:6:7:8\"", "\"1::8\"", "\"::ffff:1.2.3.4\"", "\"1:2:3:4:5:6:7::\"",
          NULL},
         {"\":1\"", "\"1::2::3\"", "\"1:2:3:4:5:6:7\"", "\"12345::\"", "\"1:2:3:4:5:6:7:8::\"", NULL}},
        {"{\"type\":\"string\",\"format\":\"uri\"}",
         {"\"https://u:p@x.org:80/a/b?q=%20#f\"", "\"urn:a:b\"", "\"http://[::1]/\"", "\"a:\"", NULL},
         {"\"x.org\"", "\"http://a b\"", "\"http://[::1\"", "\"http:%2\"", "\"1a:b\"", NULL}},
        {"{\"type\":\"string\",\"format\":\"uri\",\"maxLength\":2083}",
         {"\"https://x.org/?a\"", NULL},
         {"\"http://[::1]/\"", NULL}},
        {"{\"type\":\"integer\",\"format\":\"int64\"}", {"1", NULL}, {"\"1\"", NULL}},
    };
    (void)state;
    check_rows(rows, CT_COUNT(rows), &in_order);
}

static void numbers(void **state)
{
    static const struct row rows[] = {
        {"{\"type\":\"integer\",\"minimum\":-12,\"maximum\":305}",
         {"-12", "-9", "-0", "0", "99", "100", "305", NULL},
         {"-13", "-20", "306", "310", "1000", "5.0", NULL}},
        {"{\"type\":\"integer\",\"exclusiveMinimum\":0,\"exclusiveMaximum\":10}",
         {"1", "9", NULL},
         {"0", "-0", "10", "-1", NULL}},
        {"{\"type\":\"integer\",\"minimum\":0.5,\"maximum\":99.5}", {"1", "99", NULL}, {"0", "100", NULL}},
        {"{\"type\":\"integer\",\"minimum\":-2.5,\"maximum\":-0.5}", {"-2", "-1", NULL}, {"-3", "0", NULL}},
        {"{\"type\":\"integer\",\"exclusiveMinimum\":99,\"maximum\":1e3}",
         {"100", "1000", NULL},
         {"99", "1001", NULL}},
        {"{\"type\":\"integer\",\"exclusiveMinimum\":-100}",
         {"-99", "5", NULL},
         {"-100", "-101", "-1000", NULL}},
        {"{\"type\":\"integer\",\"minimum\":18446744073709551616}",
         {"18446744073709551616", "99446744073709551616", NULL},
         {"18446744073709551615", "8", "-18446744073709551617", NULL}},
        {"{\"type\":\"integer\",\"minimum\":3,\"exclusiveMinimum\":true}", {"4", NULL}, {"3", NULL}},
        {"{\"type\":\"integer\",\"maximum\":3,\"exclusiveMaximum\":false}", {"3", NULL}, {"4", NULL}},
        {"{\"type\":\"integer\",\"multipleOf\":7,\"minimum\":0,\"maximum\":100}",
         {"0", "7", "98", NULL},
         {"1", "105", "-7", NULL}},
        {"{\"allOf\":[{\"type\":\"integer\",\"multipleOf\":4},{\"multipleOf\":6}]}",
         {"12", "-24", "0", NULL},
         {"4", "6", "8", NULL}},
        {"{\"type\":\"number\",\"multipleOf\":5.0}", {"10", NULL}, {"11", "10.5", NULL}},
        {"{\"type\":\"number\",\"minimum\":0.5,\"maximum\":2.25}",
         {"0.5", "0.50", "1", "2.25", "2.2499", "5e-1", "2.25e0", "1e+00", "2.250", NULL},
         {"0.4", "0.49999", "2.26", "2.3", "4e-1", "2.251", "2.26e0", "1e1", "-1", NULL}},
        {"{\"type\":\"number\",\"exclusiveMinimum\":0}",
         {"0.1", "1e-07", "5e-324", "100", "1e300", NULL},
         {"0", "0.0", "-0.0", "-1", "1e-400", "0e5", NULL}},
        {"{\"type\":\"number\",\"exclusiveMaximum\":0.3}",
         {"0.29999999999999993", "0.29", "-7", "2e-1", NULL},
         {"0.3", "0.29999999999999999", "3e-1", "1", NULL}},
        {"{\"type\":\"number\",\"maximum\":-1e-7}",
         {"-1e-07", "-1", "-2e-7", "-0.0000001", "-5e300", NULL},
         {"0", "-1e-08", "1", "-0.00000001", "-0", NULL}},
        {"{\"type\":\"number\",\"minimum\":123,\"maximum\":123}",
         {"123", "123.0", "1.23e2", NULL},
         {"123.01", "122", NULL}},
        {"{\"type\":\"integer\",\"allOf\":[{\"minimum\":3,\"maximum\":9},{\"minimum\":5,\"maximum\":7},{"
         "\"minimum\":4,\"maximum\":8}]}",
         {"5", "7", NULL},
         {"4", "3", "8", "9", NULL}},
        {"{\"type\":\"number\",\"minimum\":0,\"maximum\":1e-3}",
         {"1e-05", "0", "0.001", "-0.0", NULL},
         {"1e-02", "-1e-05", NULL}},
        {"{\"const\":0}", {"0", "0.0", "-0.0", NULL}, {"1", "0.1", NULL}},
        {"{\"enum\":[1.5,1e20,-100000,2e-7]}",
         {"1.5", "1e+20", "100000000000000000000", "-100000", "-100000.0", "2e-07", NULL},
         {"1.50001", "1e5", "100000", "1", NULL}},
        {"{\"enum\":[1,2,3],\"maximum\":2,\"type\":\"integer\"}", {"1", "2", NULL}, {"3", "1.0", NULL}},
    };
    (void)state;
    check_rows(rows, CT_COUNT(rows), &in_order);
}

static void arrays(void **state)
{
    static const struct row rows[] = {
        {"{\"type\":\"array\",\"items\":{\"type\":\"integer\"},\"minItems\":1,\"maxItems\":3}",
         {"[1]", "[1,2]", "[ 1 ,\n 2,3 ]", NULL},
         {"[]", "[1,2,3,4]", "[1,]", "[,1]", "[1 2]", "[\"\"]", NULL}},
        {"{\"type\":\"array\",\"items\":{\"type\":\"null\"},\"minItems\":2}",
         {"[null,null]", "[null,null,null]", NULL},
         {"[null]", "[]", NULL}},
        {"{\"type\":\"array\",\"maxItems\":0}", {"[]", "[ ]", NULL}, {"[1]", NULL}},
        {"{\"type\":\"array\",\"prefixItems\":[{\"type\":\"integer\"},{\"type\":\"string\"}],\"items\":"
         "false}",
         {"[]", "[1]", "[1,\"a\"]", NULL},
         {"[1,\"a\",2]", "[\"a\"]", NULL}},
        {"{\"type\":\"array\",\"prefixItems\":[{\"type\":\"integer\"}],\"items\":{\"type\":\"null\"},"
         "\"minItems\":2,\"maxItems\":3}",
         {"[1,null]", "[1,null,null]", NULL},
         {"[1]", "[1,1]", "[1,null,null,null]", NULL}},
        {"{\"type\":\"array\",\"items\":[{\"type\":\"integer\"}],\"additionalItems\":{\"type\":\"null\"}}",
         {"[]", "[1]", "[1,null,null]", NULL},
         {"[null]", "[1,1]", NULL}},
        {"{\"allOf\":[{\"type\":\"array\",\"prefixItems\":[{\"type\":\"integer\"},{}]},"
         "{\"items\":{\"enum\":[1,\"a\"]},\"maxItems\":2}]}",
         {"[1]", "[1,\"a\"]", NULL},
         {"[\"a\"]", "[1,2]", "[1,1,1]", NULL}},
        {"{\"const\":[1,[2,{\"a\":null}]]}",
         {"[1,[2,{\"a\":null}]]", NULL},
         {"[1]", "[1,[2,{}]]", "[1,[2],3]", NULL}},
        {"{\"enum\":[[1],[2,2]],\"maxItems\":1}", {"[1]", NULL}, {"[2,2]", "[2]", "[]", NULL}},
        {"{\"type\":\"array\",\"uniqueItems\":false,\"items\":{\"const\":1}}",
         {"[1,1]", NULL},
         {"[2]", NULL}},
    };
    (void)state;
    check_rows(rows, CT_COUNT(rows), &in_order);
}

static void objects(void **state)
{
    static const struct row rows[] = {
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{\"type\":\"string\"}},"
         "\"required\":[\"b\"],\"additionalProperties\":false}",
         {"{\"a\":1,\"b\":\"\"}", "{\"b\":\"x\"}", "{\n  \"a\": 1,\n  \"b\": \"x\"\n}", "{ \"b\" : \"\" }",
          NULL},
         {"{\"a\":1}", "{}", "{\"b\":\"\",\"a\":1}", "{\"b\":\"\",\"b\":\"\"}", "{\"c\":1,\"b\":\"\"}",
          "{\"a\":1,}", "{\"b\":\"\",}", NULL}},
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}}}",
         {"{}", "{\"a\":1}", "{\"a\":1,\"ab\":null}", "{\"b\":[1,{}]}", "{\"\":0,\"\\\"\":0}", NULL},
         {"{\"a\":\"x\"}", "{\"b\":1,\"a\":\"x\"}", "{\"b\":1,\"a\":1}", "{\"b\"}", NULL}},
        {"{\"type\":\"object\",\"patternProperties\":{\"^x\":{\"type\":\"integer\"}},"
         "\"additionalProperties\":{\"type\":\"string\"}}",
         {"{\"x\":1,\"y\":\"\"}", "{\"yx\":\"a\"}", "{\"x\":1,\"x1\":2}", NULL},
         {"{\"x\":\"\"}", "{\"y\":1}", NULL}},
        {"{\"type\":\"object\",\"patternProperties\":{\"^x\":{\"minimum\":3},\"y$\":{\"type\":\"integer\"}},"
         "\"additionalProperties\":false,\"properties\":{\"xy\":{\"maximum\":5}}}",
         {"{\"xy\":4}", "{\"xay\":9}", "{\"ay\":1}", "{\"xa\":\"s\"}", NULL},
         {"{\"xy\":6}", "{\"xy\":2}", "{\"xy\":4.5}", "{\"xay\":2}", "{\"z\":1}", "{\"xa\":2}", NULL}},
        {"{\"type\":\"object\",\"required\":[\"a\"]}",
         {"{\"a\":null}", "{\"a\":1,\"b\":2}", NULL},
         {"{}", "{\"b\":1}", NULL}},
        {"{\"type\":\"object\",\"minProperties\":1,\"maxProperties\":2}",
         {"{\"a\":1}", "{\"a\":1,\"b\":2}", NULL},
         {"{}", "{\"a\":1,\"b\":2,\"c\":3}", NULL}},
        {"{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{}},\"minProperties\":2,"
         "\"additionalProperties\":false}",
         {"{\"a\":1,\"b\":2}", NULL},
         {"{\"a\":1}", "{\"b\":1}", "{}", NULL}},
        {"{\"type\":\"object\",\"properties\":{\"\":{\"type\":\"null\"}}}",
         {"{\"\":null,\"a\":1}", NULL},
         {"{\"\":1}", NULL}},
        {"{\"type\":\"object\",\"maxProperties\":0}", {"{}", "{ }", NULL}, {"{\"a\":1}", NULL}},
        {"{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{},\"c\":{}},\"required\":[\"b\"],"
         "\"maxProperties\":2,"
         "\"minProperties\":2,\"additionalProperties\":false}",
         {"{\"a\":1,\"b\":2}", "{\"b\":2,\"c\":3}", NULL},
         {"{\"b\":1}", "{\"a\":1,\"c\":3}", "{\"a\":1,\"b\":2,\"c\":3}", NULL}},
        {"{\"type\":\"object\",\"properties\":{\"a\":false,\"b\":true},\"additionalProperties\":false}",
         {"{}", "{\"b\":1}", NULL},
         {"{\"a\":1}", NULL}},
        {"{\"const\":{\"b\":1,\"a\":[]}}",
         {"{\"b\":1,\"a\":[]}", NULL},
         {"{\"b\":1}", "{}", "{\"b\":1,\"a\":[],\"c\":1}", NULL}},
        {"{\"enum\":[{\"a\":1},{\"a\":2},7],\"properties\":{\"a\":{\"minimum\":2}}}",
         {"{\"a\":2}", "7", NULL},
         {"{\"a\":1}", "{}", NULL}},
        {"{\"type\":\"object\",\"properties\":{\"\xc3\xa9/\":{}},\"additionalProperties\":false}",
         {"{\"\xc3\xa9/\":1}", "{\"\\u00e9\\/\":1}", "{\"\\u00E9/\":1}", NULL},
         {"{\"e/\":1}", NULL}},
    };
    (void)state;
    check_rows(rows, CT_COUNT(rows), &in_order);
}

static void several(void **state)
{
    static const struct row rows[] = {
        {"{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"null\"}]}", {"1", "null", NULL}, {"true", NULL}},
        {"{\"type\":\"integer\",\"anyOf\":[{\"minimum\":10},{\"maximum\":-10}]}",
         {"10", "-10", NULL},
         {"0", "10.5", NULL}},
        {"{\"allOf\":[{\"anyOf\":[{\"const\":1},{\"const\":2}]},{\"anyOf\":[{\"const\":2},{\"const\":3}]}]}",
         {"2", NULL},
         {"1", "3", NULL}},
        {"{\"allOf\":[{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}},\"required\":[\"a\"]"
         "},"
         "{\"properties\":{\"b\":{\"type\":\"string\"},\"a\":{\"minimum\":3}}}]}",
         {"{\"a\":3,\"b\":\"\"}", "{\"a\":3,\"c\":1}", NULL},
         {"{\"b\":\"\"}", "{\"a\":2}", "{\"a\":3,\"b\":2}", NULL}},
        {"{\"allOf\":[{\"properties\":{\"a\":{}},\"additionalProperties\":false},{\"type\":\"object\","
         "\"properties\":{\"b\":{}}}]}",
         {"{}", "{\"a\":1}", NULL},
         {"{\"b\":1}", "{\"a\":1,\"b\":1}", NULL}},
        {"{\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}]}", {"1", "\"a\"", NULL}, {"null", NULL}},
        {"{\"oneOf\":[{\"const\":\"a\"},{\"enum\":[\"b\",\"c\"]},{\"minimum\":5,\"type\":\"number\"},"
         "{\"maximum\":4,\"type\":\"integer\"}]}",
         {"\"a\"", "\"c\"", "5", "4", NULL},
         {"\"d\"", "4.5", NULL}},
        {"{\"oneOf\":[{\"type\":\"object\",\"properties\":{\"k\":{\"const\":\"a\"},\"x\":{}},\"required\":["
         "\"k\",\"x\"]},"
         "{\"type\":\"object\",\"properties\":{\"k\":{\"const\":\"b\"}},\"required\":[\"k\"]}]}",
         {"{\"k\":\"a\",\"x\":1}", "{\"k\":\"b\"}", NULL},
         {"{\"k\":\"a\"}", "{\"k\":\"c\"}", "{}", NULL}},
        {"{\"oneOf\":[{\"type\":\"object\",\"properties\":{\"a\":{}},\"required\":[\"a\"],"
         "\"additionalProperties\":false},"
         "{\"type\":\"object\",\"properties\":{\"b\":{}},\"required\":[\"b\"],\"additionalProperties\":false}"
         "]}",
         {"{\"a\":1}", "{\"b\":1}", NULL},
         {"{}", "{\"a\":1,\"b\":1}", NULL}},
        {"{\"oneOf\":[{\"const\":\"a\",\"maxLength\":4},{\"enum\":[\"b\",\"c\"]}]}",
         {"\"a\"", "\"c\"", NULL},
         {"\"d\"", NULL}},
        {"{\"$defs\":{\"n\":{\"type\":\"object\",\"properties\":{\"next\":{\"$ref\":\"#/$defs/n\"}},"
         "\"additionalProperties\":false}},\"$ref\":\"#/$defs/n\"}",
         {"{}", "{\"next\":{\"next\":{}}}", NULL},
         {"{\"next\":1}", NULL}},
        {"{\"definitions\":{\"a "
         "b/~\":{\"type\":\"null\"}},\"items\":{\"$ref\":\"#/definitions/a%20b~1~0\"},\"type\":\"array\"}",
         {"[null]", NULL},
         {"[1]", NULL}},
        {"{\"$id\":\"https://x.org/s\",\"$defs\":{\"a\":{\"$anchor\":\"here\",\"type\":\"null\"}},\"anyOf\":"
         "[{\"$ref\":\"#here\"},{\"$ref\":\"https://x.org/s#/$defs/a\"}]}",
         {"null", NULL},
         {"1", NULL}},
        {"{\"$ref\":\"#/$defs/e\",\"$defs\":{\"t\":{\"type\":\"integer\"},\"e\":{\"$id\":\"https://x.org/e\","
         "\"$ref\":\"#/$defs/t\",\"$defs\":{\"t\":{\"type\":\"null\"}}}}}",
         {"null", NULL},
         {"1", NULL}},
        {"{\"$ref\":\"#/$defs/a\",\"maximum\":3,\"$defs\":{\"a\":{\"type\":\"integer\"}}}",
         {"3", NULL},
         {"4", NULL}},
        {"{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"$ref\":\"#/definitions/"
         "a\",\"maximum\":3,"
         "\"definitions\":{\"a\":{\"type\":\"integer\"}}}",
         {"3", "4", NULL},
         {"4.5", NULL}},
        {"{\"type\":\"array\",\"items\":{\"anyOf\":[{\"$ref\":\"#\"},{\"type\":\"null\"}]}}",
         {"[[null,[]],null]", NULL},
         {"[1]", NULL}},
        {"{\"anyOf\":[false,{\"type\":\"null\"},{\"type\":\"integer\",\"minimum\":2,\"maximum\":1}]}",
         {"null", NULL},
         {"1", NULL}},
    };
    (void)state;
    check_rows(rows, CT_COUNT(rows), &in_order);
}

/* White space and the order of keys. */
static void syntaxes(void **state)
{
    static const char schema[] = "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"array\"},\"b\":{}},"
                                 "\"required\":[\"a\"],\"additionalProperties\":false}";
    static const struct row free_space[] = {
        {schema,
         {"{\"a\":[1,2],\"b\":0}", "{\n                    \"a\": []}", "{\"a\"\r\n:[\t]\n}\n",
          "  {\"a\":[]}  ", "{\"a\":[          \n          ]}", NULL},
         {"{\n                     \"a\":[]}", "{\n\n\"a\":[]}", "{\"a\":[           \n          ]}",
          "\n\n{\"a\":[]}", "{\"a\":[]}\r", NULL}},
    };
    static const struct row as_dumps[] = {
        {schema,
         {"{\"a\": [1, 2], \"b\": {\"x\": 1}}", "{\"a\": []}", NULL},
         {"{\"a\":[]}", "{\"a\": [1,2]}", "{\"a\": [], \"b\" : 1}", " {\"a\": []}", "{\"a\": [ ]}",
          "{\"a\": []} ", NULL}},
    };
    static const struct row bags[] = {
        {schema,
         {"{\"a\":[],\"b\":0}", "{ \"b\" : 0 , \"a\" : [] }", "{\"a\":[]}", NULL},
         {"{\"b\":0}", "{}", "{\"a\":[],\"a\":[]}", "{\"a\":[],\"b\":0,\"b\":0}", NULL}},
        {"{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{}},\"additionalProperties\":false,"
         "\"minProperties\":1}",
         {"{\"b\":1}", "{\"b\":1,\"a\":1}", "{\"a\":1}", NULL},
         {"{}", "{\"c\":1}", NULL}},
        {"{\"type\":\"object\",\"properties\":{\"a\":{}},\"additionalProperties\":{\"type\":\"null\"}}",
         {"{}", "{\"x\":null,\"a\":1,\"y\":null}", NULL},
         {"{\"x\":1}", "{\"x\":null,\"\\u0078\":null}", NULL}},
    };
    (void)state;
    check_rows(free_space, CT_COUNT(free_space), &in_order);
    check_rows(as_dumps, CT_COUNT(as_dumps), &dumps);
    check_rows(bags, CT_COUNT(bags), &any_order);
}

/* A byte 1 stands for the token around strings. */
static void calls_syntax(void **state)
{
    static const struct row rows[] = {
        {"{\"type\":\"object\",\"properties\":{\"a "
         "b\":{\"type\":\"string\",\"maxLength\":2},\"n\":{\"type\":\"number\"},"
         "\"o\":{\"type\":\"object\",\"properties\":{\"x\":{\"enum\":[\"p\",null,[1,\"q\"]]}}}},\"required\":"
         "[\"n\"]}",
         {"{n:1.5}", "{a b:\1\"\\\1,n:0}", "{n:-1,a b:\1\xc3\xa9\1,o:{x:\1p\1}}", "{n:1,o:{x:[1,\1q\1]}}",
          "{n:1,o:{}}", "{a b:\1\1,n:1}", NULL},
         {"{a b:\1\1}", "{n:1,n:1}", "{n:1,c:1}", "{n: 1}", "{\"n\":1}", "{n:1,a b:\1abc\1}", "{n:1,o:{y:1}}",
          "{n:1,a b:\"\"}", NULL}},
        {"{\"type\":\"object\"}", {"{}", "{k:{z:[true,\1x\1]}}", NULL}, {"{k}", "{a,b:1}", "{a}b:1}", NULL}},
        {"{\"type\":\"object\",\"properties\":{\"a\":{}},\"additionalProperties\":{\"type\":\"integer\"}}",
         {"{a:[],b:1}", "{bc:1}", "{c:2,ab:1,a:1}", NULL},
         {"{b:[]}", "{b:1,b:1}", "{a:1,ab:1,a:2}", NULL}},
        {"{\"type\":\"string\",\"pattern\":\"^[^a]*$\"}", {"\1\"\n\1", NULL}, {"\1a\1", NULL}},
    };
    /* NUL is in no string and no key: whoever reads calls ends there */
    static const struct {
        const char *schema, *text;
        size_t n;
    } with_nul[] = {
        {"{\"type\":\"string\"}", "\1\0\1", 3},
        {"{\"type\":\"string\",\"pattern\":\"^[^a]*$\"}", "\1\0\1", 3},
        {"{\"type\":\"object\"}", "{\0:1}", 5},
    };
    struct reader r;
    (void)state;

    check_rows(rows, CT_COUNT(rows), &calls);
    for (size_t i = 0; i < CT_COUNT(with_nul); i++) {
        assert_int_equal(reader_open(&r, with_nul[i].schema, &calls), CARAT_OK);
        int32_t at = r.a.start;
        for (size_t k = 0; k < with_nul[i].n; k++)
            at = with_nul[i].text[k] == 1 ? ct_automaton_token(&r.a, at, 52)
                                          : ct_automaton_byte(&r.a, at, (uint8_t)with_nul[i].text[k]);
        assert_int_equal(at, CT_DEAD);
        reader_close(&r);
    }
}

/* Characters beyond U+FFFF are two escapes: the ranges of both are cut where the first one changes. */
static void pairs_of_escapes(void **state)
{
    static const struct {
        const char *pattern, *takes[3], *refuses[4];
    } rows[] = {
        {"[\\\\u{10480}-\\\\u{104ff}]",
         {"\"\\ud801\\udc80\"", "\"\\ud801\\udcff\""},
         {"\"\\ud800\\udc00\"", "\"\\ud801\\udc7f\"", "\"\\ud801\\udd00\""}},
        {"[\\\\u{10400}-\\\\u{10480}]",
         {"\"\\ud801\\udc00\"", "\"\\ud801\\udc80\""},
         {"\"\\ud801\\udc81\"", "\"\\ud800\\udfff\""}},
    };

    (void)state;
    for (size_t i = 0; i < CT_COUNT(rows); i++) {
        struct reader r;
        char schema[96];
        snprintf(schema, sizeof schema, "{\"type\": \"string\", \"pattern\": \"^%s$\"}", rows[i].pattern);
        assert_int_equal(reader_open(&r, schema, &in_order), CARAT_OK);
        for (int k = 0; k < 3 && rows[i].takes[k]; k++)
            assert_true(reader_takes(&r, rows[i].takes[k], false));
        for (int k = 0; k < 4 && rows[i].refuses[k]; k++)
            assert_false(reader_takes(&r, rows[i].refuses[k], false));
        reader_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_of_escapes), cmocka_unit_test(scalars), cmocka_unit_test(strings),
        cmocka_unit_test(formats),          cmocka_unit_test(numbers), cmocka_unit_test(arrays),
        cmocka_unit_test(objects),          cmocka_unit_test(several), cmocka_unit_test(syntaxes),
        cmocka_unit_test(calls_syntax),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

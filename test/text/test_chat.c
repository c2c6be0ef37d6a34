/* SPDX-License-Identifier: Apache-2.0 */
/* test_chat.c: rendering: every case of the reference's template vectors byte for byte, what must be
 * refused, and what the vectors leave out. Gemma 4's is test_chat_gemma4.c, ids are test_chat_ids.c, which
 * template a checkpoint asks for is test_chat_detect.c. */
#define _POSIX_C_SOURCE 200809L
#include "chat_golden.h"

static void check_family(const char *family, int expect_strings, int expect_errors)
{
    enum ct_chat chat;
    assert_true(ct_chat_from_name(family, &chat));
    assert_string_equal(ct_chat_name(chat), family);
    json_t *cases = load(family);
    int strings = 0, errors = 0;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *test = json_array_get(cases, i), *expected = json_object_get(test, "expected");
        struct ct_prompt p;
        carat_error err = {0};
        carat_status status = render_case(chat, test, &p, &err);
        if (expected) {
            if (status != CARAT_OK)
                fail_msg("%s case %zu: %s", family, i, err.message);
            assert_string_equal(p.text, json_string_value(expected));
            check_segments(&p);
            strings++;
        } else {
            assert_int_equal(status, CARAT_E_ARGUMENT);
            assert_int_equal(err.code, CARAT_E_ARGUMENT);
            assert_non_null(strstr(err.message, "messages["));
            assert_null(p.text);
            errors++;
        }
        ct_prompt_free(&p);
    }
    json_decref(cases);
    assert_int_equal(strings, expect_strings);
    assert_int_equal(errors, expect_errors);
}

static void gemma_vectors(void **state)
{
    (void)state;
    check_family("gemma", 13, 4);
}

static void gemma3_vectors(void **state)
{
    (void)state;
    check_family("gemma3", 20, 6);
}

static void functiongemma_vectors(void **state)
{
    (void)state;
    check_family("functiongemma", 10, 0);
}

static void check(enum ct_chat chat, const char *messages, const char *tools, const char *expected)
{
    struct ct_prompt p;
    carat_error err = {0};
    if (render(chat, messages, tools, &p, &err) != CARAT_OK)
        fail_msg("%s: %s", messages, err.message);
    assert_string_equal(p.text, expected);
    check_segments(&p);
    ct_prompt_free(&p);
}

static void refuse(enum ct_chat chat, const char *messages, const char *tools, const char *word)
{
    struct ct_prompt p;
    carat_error err = {0};
    assert_int_equal(render(chat, messages, tools, &p, &err), CARAT_E_ARGUMENT);
    assert_null(p.text);
    if (!strstr(err.message, word))
        fail_msg("\"%s\" does not name %s", err.message, word);
}

/* ---- beyond the vectors ---- */

static void lists_and_developer(void **state)
{
    (void)state;
    check(CT_CHAT_GEMMA,
          "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\" a "
          "\"},{\"type\":\"text\",\"text\":\"b\"}]}]",
          NULL, "<bos><start_of_turn>user\nab<end_of_turn>\n<start_of_turn>model\n");
    check(CT_CHAT_GEMMA3,
          "[{\"role\":\"developer\",\"content\":\"d\"},{\"role\":\"user\",\"content\":\"u\"}]", "[]",
          "<bos><start_of_turn>user\nd\n\nu<end_of_turn>\n<start_of_turn>model\n");
    /* every kind of white space that Python strips, and two that it does not */
    check(CT_CHAT_GEMMA3,
          "[{\"role\":\"user\",\"content\":"
          "\"\\u0009\\u000b\\u001c\\u001f\\u0085\\u00a0\\u1680\\u2000\\u200a\\u2028\\u2029"
          "\\u202f\\u205f\\u3000\\u200bx\\ufeff\\u3000\\u205f\\u202f\\u2029\\u2028\\u200a\\u2000\\u1680\\u00a"
          "0\\u0085\\u001f\"}]",
          NULL, "<bos><start_of_turn>user\n\xe2\x80\x8bx\xef\xbb\xbf<end_of_turn>\n<start_of_turn>model\n");
    check(CT_CHAT_GEMMA3, "[{\"role\":\"user\",\"content\":\"\\u3000\\u00a0 \"}]", NULL,
          "<bos><start_of_turn>user\n<end_of_turn>\n<start_of_turn>model\n");
    check(CT_CHAT_GEMMA3, "[{\"role\":\"user\",\"content\":\"\\ud83d\\ude42\"}]", NULL,
          "<bos><start_of_turn>user\n\xf0\x9f\x99\x82<end_of_turn>\n<start_of_turn>model\n");
}

static void bad_messages(void **state)
{
    (void)state;
    static const enum ct_chat chats[] = {CT_CHAT_GEMMA, CT_CHAT_GEMMA3, CT_CHAT_FUNCTIONGEMMA};
    for (size_t i = 0; i < 3; i++) {
        enum ct_chat c = chats[i];
        refuse(c, "", NULL, "messages");
        refuse(c, "[", NULL, "messages: at byte 1");
        refuse(c, "{}", NULL, "messages");
        refuse(c, "[]", NULL, "at least one");
        refuse(c, "[1]", NULL, "messages[0]");
        refuse(c, "[{\"content\":\"x\"}]", NULL, "messages[0].role");
        refuse(c, "[{\"role\":7,\"content\":\"x\"}]", NULL, "messages[0].role");
        refuse(c, "[{\"role\":\"wizard\",\"content\":\"x\"}]", NULL, "wizard");
        refuse(c, "[{\"role\":\"user\"}]", NULL, "messages[0].content");
        refuse(c, "[{\"role\":\"user\",\"content\":null}]", NULL, "messages[0].content");
        refuse(c, "[{\"role\":\"user\",\"content\":[\"x\"]}]", NULL, "messages[0].content[0]");
        refuse(c, "[{\"role\":\"user\",\"content\":[{\"type\":\"text\"}]}]", NULL,
               "messages[0].content[0].text");
        refuse(c, "[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\",\"image_url\":{}}]}]", NULL,
               "image_url");
        refuse(c, "[{\"role\":\"user\",\"role\":\"user\",\"content\":\"x\"}]", NULL, "uplicate");
        refuse(c, "[{\"role\":\"user\",\"content\":\"a\\u0000b\"}]", NULL, "messages");
        refuse(c, "[{\"role\":\"user\",\"content\":\"\xff\"}]", NULL, "messages");
        refuse(c, "[{\"role\":\"user\",\"content\":\"\\ud800\"}]", NULL, "messages");
        refuse(c, "[{\"role\":\"system\",\"content\":\"a\"},{\"role\":\"system\",\"content\":\"b\"}]", NULL,
               "role");
        refuse(c, "[{\"role\":\"user\",\"content\":\"a\"}]", "{}", "tools");
        refuse(c, "[{\"role\":\"user\",\"content\":\"a\"}]", "[{\"type\":\"function\"",
               "tools[0].type: at byte");
        char deep[20100];
        memset(deep, '[', 20000);
        deep[20000] = 0;
        refuse(c, deep, NULL, "nested deeper");
    }
    refuse(CT_CHAT_GEMMA, "[{\"role\":\"user\",\"content\":[{\"type\":\"image\"}]}]", NULL, "image");
    refuse(CT_CHAT_GEMMA3,
           "[{\"role\":\"user\",\"content\":\"a\",\"tool_calls\":[{\"function\":{\"name\":\"f\"}}]}]", NULL,
           "messages[0].tool_calls: only messages of the model have calls, found role user");
    struct ct_prompt p;
    assert_int_equal(render(CT_CHAT_NONE, "[]", NULL, &p, NULL), CARAT_E_NOT_FOUND);
}

#define HEAD                                                                                                 \
    "<bos><start_of_turn>developer\nYou are a model that can do function calling with the following "        \
    "functions"
#define ESC(s) "<escape>" s "<escape>"
#define ASK    "<end_of_turn>\n<start_of_turn>user\nu<end_of_turn>\n<start_of_turn>model\n"

static void declarations(void **state)
{
    (void)state;
    enum ct_chat c = CT_CHAT_FUNCTIONGEMMA;
    /* Without a developer message the activating sentence stands by itself; the wrapper may be missing. */
    check(c, USER, "[{\"name\":\"f\"}]",
          HEAD
          "<start_function_declaration>declaration:f{description:" ESC("") "}<end_function_declaration>" ASK);
    check(c, USER,
          "[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"description\":\"d\",\"parameters\":{"
          "\"type\":\"object\",\"properties\":{}}}}]",
          HEAD "<start_function_declaration>declaration:f{description:" ESC("d") ",parameters:{type:" ESC(
              "OBJECT") "}}<end_function_declaration>" ASK);
    /* sorted without regard to case; a missing description is empty; null among types; skipped names;
     * items */
    check(
        c, USER,
        "[{\"name\":\"f\",\"parameters\":{\"properties\":{\"b\":{\"type\":\"integer\"},\"C\":{\"type\":["
        "\"null\",\"string\"],\"enum\":[\"x\"]},"
        "\"A\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"q\"],\"properties\":{\"q\":"
        "{\"type\":\"string\"}},\"description\":\"i\"}},"
        "\"type\":{\"type\":\"string\"},\"d\":{\"type\":\"number\",\"enum\":[1]},\"o\":{\"type\":\"object\"}}"
        ",\"required\":[]}}]",
        HEAD "<start_function_declaration>declaration:f{description:" ESC(
            "") ",parameters:{properties:{"
                "A:{description:" ESC("") ",items:{description:" ESC("i") ",properties:{q:{description:" ESC("") ",type:" ESC(
                    "STRING") "}},"
                              "required:[" ESC("q") "],type:" ESC("OBJECT") "},type:" ESC(
                                  "ARRAY") "},"
                                           "b:{description:" ESC("") ",type:" ESC(
                                               "INTEGER") "},"
                                                          "C:{description:" ESC("") ",enum:[" ESC(
                                                              "x") "],type:" ESC("STRING") "},"
                                                                                           "d:{"
                                                                                           "description:" ESC("") ",type:" ESC(
                                                                                               "NUMBER") "},"
                                                                                                         "o:{"
                                                                                                         "des"
                                                                                                         "cri"
                                                                                                         "pti"
                                                                                                         "on"
                                                                                                         ":" ESC("") ",properties:{},type:" ESC(
                                                                                                             "OBJECT") "}},type:" ESC("OBJECT") "}}<end_function_declaration>" ASK);
    /* A developer text replaces the sentence, an empty one does not. */
    check(c, "[{\"role\":\"system\",\"content\":\" T \"},{\"role\":\"user\",\"content\":\"u\"}]",
          "[{\"name\":\"f\"}]",
          "<bos><start_of_turn>developer\nT<start_function_declaration>declaration:f{description:" ESC(
              "") "}<end_function_declaration>" ASK);
    check(c, "[{\"role\":\"developer\",\"content\":\" \"},{\"role\":\"user\",\"content\":\"u\"}]",
          "[{\"name\":\"f\"}]",
          HEAD
          "<start_function_declaration>declaration:f{description:" ESC("") "}<end_function_declaration>" ASK);
    check(c,
          "[{\"role\":\"developer\",\"content\":[{\"type\":\"text\",\"text\":\" "
          "\"}]},{\"role\":\"user\",\"content\":\"u\"}]",
          NULL, "<bos><start_of_turn>user\nu<end_of_turn>\n<start_of_turn>model\n");

    refuse(c, USER, "[1]", "tools[0]");
    refuse(c, USER, "[{\"name\":\"\"}]", "name");
    refuse(c, USER, "[{\"name\":\"f\"},{\"type\":\"search\",\"function\":{\"name\":\"f\"}}]", "tools[1]");
    refuse(c, USER, "[{\"name\":\"f\",\"description\":3}]", "description");
    refuse(c, USER, "[{\"name\":\"f\",\"parameters\":[]}]", "parameters");
    refuse(c, USER, "[{\"name\":\"f\",\"parameters\":{\"properties\":[]}}]", "properties");
    refuse(c, USER, "[{\"name\":\"f\",\"parameters\":{\"properties\":{\"a\":true}}}]", ".properties.");
    refuse(c, USER, "[{\"name\":\"f\",\"parameters\":{\"properties\":{\"a\":{\"type\":7}}}}]", "type");
    refuse(c, USER,
           "[{\"name\":\"f\",\"parameters\":{\"properties\":{\"a\":{\"type\":\"string\",\"enum\":7}}}}]",
           "enum");
    refuse(c, USER,
           "[{\"name\":\"f\",\"parameters\":{\"properties\":{\"a\":{\"type\":\"object\",\"properties\":{"
           "\"b\":3}}}}}]",
           ".properties.");
    refuse(c, USER, "[{\"name\":\"f\",\"parameters\":{\"required\":[1]}}]", "required");
}

#define CALLED                                                                                               \
    "<bos><start_of_turn>user\nu<end_of_turn>\n<start_of_turn>model\n<start_function_call>call:f{a:[1,null," \
    "true]}"                                                                                                 \
    "<end_function_call><start_function_call>call:g{}<end_function_call>"
#define ANSWER(name, value) "<start_function_response>response:" name "{" value "}<end_function_response>"

static void calls(void **state)
{
    (void)state;
    enum ct_chat c = CT_CHAT_FUNCTIONGEMMA;
    check(c, "[" CALL "]", NULL, CALLED "<start_function_response>");
    /* OpenAI's form: the name comes from the id, in any order, or from the order */
    check(c,
          "[" CALL ",{\"role\":\"tool\",\"tool_call_id\":\"2\",\"content\":\"sunny\"},{\"role\":\"tool\","
          "\"tool_call_id\":\"1\",\"content\":\" {\\\"t\\\":15}\"}]",
          NULL, CALLED ANSWER("g", "value:" ESC("sunny")) ANSWER("f", "t:15"));
    check(c,
          "[" CALL ",{\"role\":\"tool\",\"content\":{\"t\":1}},{\"role\":\"tool\",\"content\":[{\"type\":"
          "\"text\",\"text\":\"{a\"},{\"type\":\"text\",\"text\":\" b\"}]},"
          "{\"role\":\"assistant\",\"content\":\"done\"},{\"role\":\"user\",\"content\":\"v\"}]",
          NULL,
          CALLED ANSWER("f", "t:1") ANSWER(
              "g",
              "value:" ESC(
                  "{a b")) "done<end_of_turn>\n<start_of_turn>user\nv<end_of_turn>\n<start_of_turn>model\n");
    check(c,
          "[" CALL ",{\"role\":\"tool\",\"name\":\"h\",\"content\":{\"name\":\"x\"}},{\"role\":\"user\","
          "\"content\":\"v\"}]",
          NULL,
          CALLED ANSWER(
              "h",
              "name:" ESC("x")) "<end_of_turn>\n<start_of_turn>user\nv<end_of_turn>\n<start_of_turn>model\n");
    /* a second round of calls goes on in the same turn; text stands before calls */
    check(c,
          "[" CALL ",{\"role\":\"tool\",\"content\":\"r\"},{\"role\":\"assistant\",\"content\":\"now\","
          "\"tool_calls\":[{\"name\":\"k\",\"arguments\":{}}]},"
          "{\"role\":\"tool\",\"content\":{\"name\":\"k\",\"response\":2.50}}]",
          NULL,
          CALLED ANSWER("f", "value:" ESC("r")) "now<start_function_call>call:k{}<end_function_call>" ANSWER(
              "k", "value:2.5"));
    /* floats as Python prints them */
    check(c,
          "[{\"role\":\"user\",\"content\":\"u\"},{\"role\":\"assistant\",\"tool_calls\":[{\"name\":\"f\","
          "\"arguments\":{\"a\":[1.0,-0.0,0.1,1e22,1e16,"
          "1234567890123456.0,0.0001,0.00001,1.5e-7,5e-324,1.7976931348623157e308,100.0,-12.5,"
          "9007199254740993]}}]}]",
          NULL,
          "<bos><start_of_turn>user\nu<end_of_turn>\n<start_of_turn>model\n<start_function_call>call:f{a:[1."
          "0,-0.0,0.1,1e+22,1e+16,"
          "1234567890123456.0,0.0001,1e-05,1.5e-07,5e-324,1.7976931348623157e+308,100.0,-12.5,"
          "9007199254740993]}<end_function_call><start_function_response>");

    refuse(c, "[{\"role\":\"tool\",\"content\":\"x\"}]", NULL, "messages[0].role");
    refuse(c, "[{\"role\":\"user\",\"content\":\"u\"},{\"role\":\"tool\",\"content\":\"x\"}]", NULL,
           "without a call");
    refuse(c, "[" CALL ",{\"role\":\"user\",\"content\":\"x\"}]", NULL, "messages[2].role");
    refuse(c, "[" CALL ",{\"role\":\"tool\",\"tool_call_id\":\"3\",\"content\":\"x\"}]", NULL,
           "messages[2].tool_call_id");
    refuse(c, "[" CALL ",{\"role\":\"tool\",\"content\":null}]", NULL, "messages[2].content");
    refuse(c, "[" CALL ",{\"role\":\"tool\",\"content\":[{\"name\":\"f\"}]}]", NULL,
           "messages[2].content[0]");
    refuse(c,
           "[" CALL ",{\"role\":\"tool\",\"content\":\"a\"},{\"role\":\"tool\",\"content\":\"b\"},{\"role\":"
           "\"tool\",\"content\":\"c\"}]",
           NULL, "more results");
    refuse(c, "[{\"role\":\"assistant\",\"tool_calls\":{}}]", NULL, "tool_calls");
    refuse(c, "[{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{}}]}]", NULL,
           "messages[0].tool_calls[0]");
    refuse(c, "[{\"role\":\"assistant\",\"tool_calls\":[{\"name\":\"f\",\"arguments\":\"{oops\"}]}]", NULL,
           "messages[0].tool_calls[0].arguments");
    refuse(c, "[{\"role\":\"assistant\",\"tool_calls\":[{\"name\":\"f\",\"arguments\":\"[1]\"}]}]", NULL,
           "arguments");
    refuse(c, "[{\"role\":\"assistant\",\"tool_calls\":[{\"name\":\"f\",\"arguments\":[]}]}]", NULL,
           "arguments");
    refuse(c, "[{\"role\":\"assistant\",\"content\":null}]", NULL, "messages[0].content");
    refuse(c, "[{\"role\":\"user\",\"content\":\"u\"},{\"role\":\"developer\",\"content\":\"late\"}]", NULL,
           "messages[1].role");
}

static void count_line(void *user, const char *line)
{
    assert_non_null(strstr(line, "tools[0]: "));
    ++*(int *)user;
}

/* What the template leaves out of a schema is told: a type that is not there, and a name that it skips. */
static void told(void **state)
{
    (void)state;
    static const struct {
        const char *parameters;
        int lines;
    } cases[] = {
        {"{}", 0},
        {"{\"properties\":{\"a\":{\"type\":\"string\"}}}", 0},
        {"{\"properties\":{\"a\":{\"anyOf\":[{\"type\":\"string\"}]},\"b\":{\"$ref\":\"#\"},\"c\":{}}}", 3},
        {"{\"properties\":{\"o\":{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#\"}}}}}", 1},
        {"{\"properties\":{\"type\":{\"type\":\"string\"}}}", 1},
        {"{\"$ref\":\"#\"}", 1},
    };
    for (size_t i = 0; i < CT_COUNT(cases); i++) {
        struct ct_prompt p;
        char tools[512];
        int lines = 0;
        snprintf(tools, sizeof tools, "[{\"name\":\"f\",\"parameters\":%s}]", cases[i].parameters);
        assert_int_equal(ct_chat_render(&(struct ct_chat_options){.chat = CT_CHAT_FUNCTIONGEMMA,
                                                                  .tools = tools,
                                                                  .generation_prompt = true,
                                                                  .log = count_line,
                                                                  .user = &lines},
                                        USER, &p, NULL),
                         CARAT_OK);
        assert_int_equal(lines, cases[i].lines);
        ct_prompt_free(&p);
    }
}

/* Tools of the templates that have none of their own. */
#define TOLD                                                                                                 \
    "You can call functions. To call one, answer with nothing but JSON in the form\n"                        \
    "{\"name\": function name, \"parameters\": dictionary of argument name and its value}\n"                 \
    "or with a list of such objects for several calls. The functions are\n[\n"                               \
    "{\"name\": \"f\", \"description\": \"Does \\\"f\\\"\", \"parameters\": {\"type\": \"object\", \"x\": "  \
    "[1.50, null]}},\n"                                                                                      \
    "{\"name\": \"<bos>\"}\n]\n\n"
#define TURN(who, text)     "<start_of_turn>" who "\n" text "<end_of_turn>\n"
#define MODEL               "<start_of_turn>model\n"
#define RESULT(name, value) "```tool_output\n{\"name\": \"" name "\", \"response\": " value "}\n```\n"

static void json_tools(void **state)
{
    (void)state;
    static const char tools[] =
        "[{\"type\":\"function\",\"function\":{\"strict\":true,\"name\":\"f\",\"description\":\"Does "
        "\\u0022f\\\"\","
        "\"parameters\":{\"type\":\"object\",\"x\":[1.50,null]}}},{\"name\":\"<bos>\",\"parameters\":null}]";
#define ASKED "{\"role\":\"user\",\"content\":\" u \"}"
#define ONE                                                                                                  \
    "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"1\",\"function\":{\"name\":\"f\","   \
    "\"arguments\":\"{\\\"a\\\":[1e0,{}]}\"}}]}"
#define TWO                                                                                                  \
    "{\"role\":\"assistant\",\"content\":\" so "                                                             \
    "\",\"tool_calls\":[{\"id\":\"1\",\"name\":\"f\",\"arguments\":{"                                        \
    "\"a\":\"\\n\"}},{\"id\":\"2\",\"name\":\"g\"}]}"
    for (enum ct_chat c = CT_CHAT_GEMMA; c <= CT_CHAT_GEMMA3; c++) {
        check(c, "[" ASKED "]", tools, "<bos>" TURN("user", TOLD "u") MODEL);
        check(c, "[" ASKED "]", "[]", "<bos>" TURN("user", "u") MODEL);
        check(c, "[" ASKED "," ONE "]", NULL,
              "<bos>" TURN("user", "u") TURN("model", "{\"name\": \"f\", \"parameters\": {\"a\": [1e0, {}]}}")
                  MODEL);
        /* a result is what the user says next; text that is an object is one */
        check(c, "[" ASKED "," ONE ",{\"role\":\"tool\",\"content\":\" {\\\"t\\\":15}\"}]", NULL,
              "<bos>" TURN("user", "u") TURN("model", "{\"name\": \"f\", \"parameters\": {\"a\": [1e0, {}]}}")
                  TURN("user", RESULT("f", "{\"t\": 15}")) MODEL);
        /* several, by their ids, and what the user says besides; then the model */
        check(c,
              "[" ASKED "," TWO
              ",{\"role\":\"tool\",\"tool_call_id\":\"2\",\"name\":\"g\",\"content\":\"```\\n\"},"
              "{\"role\":\"tool\",\"content\":[{\"name\":\"h\",\"response\":[1]}]},"
              "{\"role\":\"user\",\"content\":\"v\"},{\"role\":\"assistant\",\"content\":\"w\"}]",
              tools,
              "<bos>" TURN("user", TOLD "u")
                  TURN("model", "so\n[{\"name\": \"f\", \"parameters\": {\"a\": \"\\n\"}}, {\"name\": \"g\", "
                                "\"parameters\": {}}]")
                      TURN("user", RESULT("g", "\"```\\n\"") RESULT("h", "[1]") "\nv") TURN("model", "w")
                          MODEL);
        /* the model has results, and calls again */
        check(c,
              "[" ASKED "," ONE ",{\"role\":\"tool\",\"content\":\"\"}," ONE
              ",{\"role\":\"tool\",\"content\":{}},{\"role\":\"assistant\",\"content\":\"w\"}]",
              NULL,
              "<bos>" TURN("user", "u") TURN("model", "{\"name\": \"f\", \"parameters\": {\"a\": [1e0, {}]}}")
                  TURN("user", RESULT("f", "\"\""))
                      TURN("model", "{\"name\": \"f\", \"parameters\": {\"a\": [1e0, {}]}}")
                          TURN("user", RESULT("f", "{}")) TURN("model", "w") MODEL);
        refuse(c,
               "[" ASKED "," ONE
               ",{\"role\":\"tool\",\"content\":\"\"},{\"role\":\"tool\",\"content\":\"\"}]",
               NULL, "messages[3]: more results than calls");
        refuse(c,
               "[" ASKED ",{\"role\":\"assistant\",\"content\":\"w\"},{\"role\":\"tool\",\"content\":\"\"}]",
               NULL, "messages[2].role: ");
        refuse(c, "[" ASKED "," ONE ",{\"role\":\"assistant\",\"content\":\"w\"}]", NULL,
               "messages[2].role: ");
        refuse(c, "[" ASKED ",{\"role\":\"assistant\",\"tool_calls\":[{}]}]", NULL,
               "messages[1].tool_calls[0].name: a call needs the name of its function");
        refuse(c, "[" ASKED "]", "[{\"name\":\"\"}]", "tools[0].name: a function needs a name");
        refuse(c, "[" ASKED "]", "[{\"name\":\"f\"},{\"name\":\"g\",\"parameters\":[]}]",
               "tools[1].parameters: expected an object");
        refuse(c, "[" ASKED "]", "[{\"name\":\"f\",\"description\":1}]",
               "tools[0].description: expected a string");
    }
    check(CT_CHAT_GEMMA3, "[{\"role\":\"system\",\"content\":\"Be brief.\"}," ASKED "]", tools,
          "<bos>" TURN("user", "Be brief.\n\n" TOLD "u") MODEL);
    refuse(CT_CHAT_GEMMA3, "[{\"role\":\"system\",\"content\":\"Be brief.\"}]", tools,
           "tools: the gemma3 template tells them before the first user message");
    /* a vocabulary with tokens for calls, whose answers are read by these */
    struct ct_prompt p;
    carat_error err;
    struct ct_chat_options o = {.chat = CT_CHAT_GEMMA3, .tools = tools, .call_tokens = true};
    assert_int_equal(ct_chat_render(&o, "[" ASKED "]", &p, &err), CARAT_E_ARGUMENT);
    assert_non_null(strstr(err.message, "tools: the gemma3 template has calls as JSON"));
    o.tools = "[]";
    assert_int_equal(ct_chat_render(&o, "[" ASKED "]", &p, &err), CARAT_OK);
    ct_prompt_free(&p);
}

/* Messages that are structs are rendered as the same messages in JSON. */
static void structs(void **state)
{
    (void)state;
    static const carat_message messages[] = {
        {.role = "developer", .content = "Be \"brief\"\n\\"},
        {.role = "user", .content = " \xc3\xa9 <escape>\t"},
        {.json = "{\"role\":\"assistant\",\"tool_calls\":[{\"name\":\"f\",\"arguments\":{\"a\":\"\\n\"}}]}"},
        {.role = "tool", .content = "{\"b\":1}"},
        {.json = " {\"content\":[{\"type\":\"text\",\"text\":\"\\u00e9\"}],\"role\":\"user\"} "}};
    static const char json[] =
        "[{\"role\":\"developer\",\"content\":\"Be \\\"brief\\\"\\n\\\\\"},"
        "{\"role\":\"user\",\"content\":\" \xc3\xa9 <escape>\\t\"},"
        "{\"role\":\"assistant\",\"tool_calls\":[{\"name\":\"f\",\"arguments\":{\"a\":\"\\n\"}}]},"
        "{\"role\":\"tool\",\"content\":\"{\\\"b\\\":1}\"},"
        "{\"content\":[{\"type\":\"text\",\"text\":\"\\u00e9\"}],\"role\":\"user\"}]";
    struct ct_json_tree list = {0};
    struct ct_prompt p;
    carat_error err;
    if (ct_chat_list(&list, messages, 5, &err) != CARAT_OK ||
        ct_chat_render_list(&(struct ct_chat_options){.chat = CT_CHAT_FUNCTIONGEMMA}, list.value, &p, &err) !=
            CARAT_OK)
        fail_msg("%s", err.message);
    struct ct_prompt same;
    assert_int_equal(
        ct_chat_render(&(struct ct_chat_options){.chat = CT_CHAT_FUNCTIONGEMMA}, json, &same, NULL),
        CARAT_OK);
    assert_string_equal(p.text, same.text);
    check_segments(&p);
    ct_prompt_free(&same);
    ct_prompt_free(&p);
    ct_json_tree_free(&list);
}

static void bad_structs(void **state)
{
    (void)state;
    char *large = malloc(CT_JSON_STRING_MAX + 2);
    assert_non_null(large);
    memset(large, 'a', CT_JSON_STRING_MAX + 1);
    large[CT_JSON_STRING_MAX + 1] = 0;
    const struct {
        carat_message message;
        const char *says;
    } rows[] = {
        {{.content = "c"}, "message 1: it has no role"},
        {{.role = "user"}, "message 1: it has no content"},
        {{.role = "us\xff", .content = "c"}, "message 1: its role is not UTF-8"},
        {{.role = "user", .content = "\xc3"}, "message 1: its content is not UTF-8"},
        {{.role = "user", .content = large},
         "message 1: its content has 16777217 bytes, expected at most 16777216"},
        {{.json = "{\"role\":}"}, "message 1: at byte 8: expected a value"},
        {{.json = "[]"}, "message 1: a list, expected an object"},
        {{.json = "{\"a\":1,\"a\":1}"}, "message 1: at byte 11: duplicate key"},
    };
    for (size_t i = 0; i < CT_COUNT(rows); i++) {
        const carat_message messages[] = {{.role = "user", .content = "c"}, rows[i].message};
        struct ct_json_tree list = {0};
        carat_error err = {0};
        assert_int_equal(ct_chat_list(&list, messages, 2, &err), CARAT_E_ARGUMENT);
        if (strncmp(err.message, rows[i].says, strlen(rows[i].says)) != 0)
            fail_msg("\"%s\" is not \"%s\"", err.message, rows[i].says);
        ct_json_tree_free(&list);
    }
    free(large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(told),
                                       cmocka_unit_test(json_tools),
                                       cmocka_unit_test(structs),
                                       cmocka_unit_test(bad_structs),
                                       cmocka_unit_test(gemma_vectors),
                                       cmocka_unit_test(gemma3_vectors),
                                       cmocka_unit_test(functiongemma_vectors),
                                       cmocka_unit_test(lists_and_developer),
                                       cmocka_unit_test(bad_messages),
                                       cmocka_unit_test(declarations),
                                       cmocka_unit_test(calls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

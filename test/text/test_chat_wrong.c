/* SPDX-License-Identifier: Apache-2.0 */
/* test_chat_wrong.c: what is wrong in a conversation or its tools is said with its place first: all that
 * stands before ": ", which a server gives its client as the parameter. Every message of the renderer is in
 * the list here: the test reads the sources for those that are not. */
#define _POSIX_C_SOURCE 200809L
#include "chat_golden.h"

#include "base/json_tree.h"
#include "text/chat/call.h"

enum { MOST_SAID = 1024 };
static char *said[MOST_SAID];
static int n_said;

/* The place of a message, which is kept. */
static void check_place(const carat_error *err, const char *place)
{
    const char *end = strstr(err->message, ": ");
    assert_non_null(end);
    if ((size_t)(end - err->message) != strlen(place) || strncmp(err->message, place, strlen(place)) != 0)
        fail_msg("\"%s\" is not at %s", err->message, place);
    assert_true(n_said < MOST_SAID);
    assert_non_null(said[n_said++] = strdup(err->message));
}

/* ---- JSON ---- */

#define ASKS(more)  "[{\"role\":\"user\",\"content\":\"u\"}" more "]"
#define SAYS(more)  ASKS(",{\"role\":\"assistant\"," more "}")
#define CALLS(more) SAYS("\"tool_calls\":[" more "]")
#define RESULT(more)                                                                                         \
    ASKS(",{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"1\",\"name\":\"f\"}]},{\"role\":\"tool\"," more \
         "}")
#define TEXT(role) "{\"role\":\"" role "\",\"content\":\"x\"}"
#define F(more)    "[{\"name\":\"f\"" more "}]"
#define W(more)    "[{\"name\":\"e\"},{\"type\":\"function\",\"function\":{\"name\":\"f\"" more "}}]"
#define P(more)    W(",\"parameters\":{\"properties\":{\"a\":" more "}}")
#define A          "tools[1].function.parameters.properties.a"
#define LONG                                                                                                 \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

enum { G = 1, G3 = 2, FG = 4, G4 = 8, ALL = 15, OLD = G | G3, TOOLS = FG | G4 }; /* templates */
enum { THINKS = 1, CONTINUES = 2, TOKENS = 4, APRIL = 8 };

static const struct {
    const char *messages, *tools; /* tools NULL: the messages are to blame */
    const char *place;
    int of, how;
} rows[] = {
    {"", NULL, "messages", ALL, 0},
    {"[", NULL, "messages", ALL, 0},
    {"{}", NULL, "messages", ALL, 0},
    {"[]", NULL, "messages", ALL, 0},
    {ASKS(",{\"role\":\"user\",\"content\":\"\xff\"}"), NULL, "messages[1].content", ALL, 0},
    {ASKS(",{\"role\":\"user\",\"a b\":{\"c: d\":\"\\ud800\"}}"), NULL, "messages[1].a?b", ALL, 0},
    {ASKS(",7"), NULL, "messages[1]", ALL, 0},
    {ASKS(",{}"), NULL, "messages[1].role", ALL, 0},
    {ASKS(",{\"role\":7}"), NULL, "messages[1].role", ALL, 0},
    {ASKS(",{\"role\":\"wizard: x\"}"), NULL, "messages[1].role", ALL, 0},
    {"[{\"role\":\"user\"}]", NULL, "messages[0].content", ALL, 0},
    {SAYS("\"content\":7"), NULL, "messages[1].content", ALL, 0},
    {SAYS("\"content\":[7]"), NULL, "messages[1].content[0]", ALL, 0},
    {SAYS("\"content\":[{\"type\":\"text\",\"text\":\"\"},{\"type\":\"text\"}]"), NULL,
     "messages[1].content[1].text", ALL, 0},
    {SAYS("\"content\":[{\"type\":\"file\"}]"), NULL, "messages[1].content[0].type", ALL, 0},
    /* continued */
    {USER, NULL, "messages[0].role", ALL, CONTINUES},
    {CALLS("{\"name\":\"f\"}"), NULL, "messages[1].tool_calls", ALL, CONTINUES},
    {SAYS("\"content\":null"), NULL, "messages[1].content", ALL, CONTINUES},
    /* who may say what */
    {"[" TEXT("system") "]", NULL, "messages[0].role", G, 0},
    {"[{\"role\":\"system\"}]", NULL, "messages[0].content", G3, 0},
    {"[{\"role\":\"system\",\"content\":[{\"text\":\"a\"},{\"text\":\"b\"}]}]", NULL, "messages[0].content",
     G3, 0},
    {ASKS(",{\"role\":\"user\",\"content\":\"u\"}"), NULL, "messages[1].role", OLD, 0},
    {"[{\"role\":\"user\",\"content\":\"u\",\"tool_calls\":[{\"name\":\"f\"}]}]", NULL,
     "messages[0].tool_calls", OLD, 0},
    {"[" TEXT("system") "]", F(""), "tools", G3, 0},
    {ASKS("," TEXT("system")), NULL, "messages[1].role", FG, 0},
    {ASKS("," TEXT("tool")), NULL, "messages[1].role", TOOLS, 0},
    {ASKS(",{\"role\":\"assistant\",\"tool_calls\":[{\"name\":\"f\"}]}," TEXT("user")), NULL,
     "messages[2].role", TOOLS, 0},
    {"[{\"role\":\"system\",\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}]", NULL, "messages[0].content",
     G4, APRIL},
    {"[{\"role\":\"system\",\"content\":[{\"text\":\"x\"},{}]}]", NULL, "messages[0].content[1].text", G4, 0},
    {SAYS("\"content\":\"\",\"reasoning\":7"), NULL, "messages[1].reasoning", G4, 0},
    {SAYS("\"content\":\"\",\"reasoning_content\":7"), NULL, "messages[1].reasoning_content", G4, 0},
    {SAYS("\"content\":\"\",\"tool_responses\":7"), NULL, "messages[1].tool_responses", G4, 0},
    {SAYS("\"content\":\"\",\"tool_responses\":[{\"name\":\"f\"}]"), NULL, "messages[1].tool_responses[0]",
     G4, 0},
    /* calls and results */
    {SAYS("\"tool_calls\":7"), NULL, "messages[1].tool_calls", TOOLS, 0},
    {CALLS("7"), NULL, "messages[1].tool_calls[0]", ALL, 0},
    {CALLS("{\"name\":\"f\"},{\"function\":7}"), NULL, "messages[1].tool_calls[1].function", ALL, 0},
    {CALLS("{}"), NULL, "messages[1].tool_calls[0].name", ALL, 0},
    {CALLS("{\"function\":{\"name\":7}}"), NULL, "messages[1].tool_calls[0].function.name", ALL, 0},
    {CALLS("{\"name\":\"f\",\"arguments\":[]}"), NULL, "messages[1].tool_calls[0].arguments", ALL, 0},
    {CALLS("{\"function\":{\"name\":\"f\",\"arguments\":7}}"), NULL,
     "messages[1].tool_calls[0].function.arguments", ALL, 0},
    {CALLS("{\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}"), NULL,
     "messages[1].tool_calls[0].function.arguments", ALL, 0},
    {CALLS("{\"function\":{\"name\":\"f\",\"arguments\":\"[{\\\"a\\\":}]\"}}"), NULL,
     "messages[1].tool_calls[0].function.arguments[0].a", ALL, 0},
    {RESULT("\"content\":7"), NULL, "messages[2].content", ALL, 0},
    {RESULT("\"content\":[7]"), NULL, "messages[2].content[0]", ALL, 0},
    {RESULT("\"content\":\"\"},{\"role\":\"tool\",\"content\":\"\""), NULL, "messages[3]", ALL, 0},
    {RESULT("\"tool_call_id\":\"2\",\"content\":\"\""), NULL, "messages[2].tool_call_id", ALL, 0},
    /* tools */
    {USER, "[", "tools", ALL, 0},
    {USER, "{}", "tools", ALL, 0},
    {USER, "[{\"name\":\"f\"},{\"function\":{\"x\":\"\\u0000\"}}]", "tools[1].function", ALL, 0},
    {USER, F(""), "tools", OLD, TOKENS},
    {USER, NULL, "thinking", G | G3 | FG, THINKS},
    {USER, "[7]", "tools[0]", ALL, 0},
    {USER, "[{\"name\":\"e\"},{\"function\":null}]", "tools[1].function", ALL, 0},
    {USER, "[{\"type\":\"x\",\"function\":{\"name\":\"f\"}}]", "tools[0].type", ALL, 0},
    {USER, "[{}]", "tools[0].name", ALL, 0},
    {USER, "[{\"name\":\"e\"},{\"function\":{\"name\":7}}]", "tools[1].function.name", ALL, 0},
    {USER, F(",\"description\":7"), "tools[0].description", ALL, 0},
    {USER, W(",\"description\":7"), "tools[1].function.description", ALL, 0},
    {USER, W(",\"parameters\":7"), "tools[1].function.parameters", ALL, 0},
    {USER, F(",\"parameters\":[]"), "tools[0].parameters", ALL, 0},
    {USER, W(",\"parameters\":{\"type\":7}"), "tools[1].function.parameters.type", TOOLS, 0},
    {USER, W(",\"parameters\":{\"properties\":7}"), "tools[1].function.parameters.properties", TOOLS, 0},
    {USER, W(",\"parameters\":{\"required\":[7]}"), "tools[1].function.parameters.required", TOOLS, 0},
    {USER, P("7"), A, TOOLS, 0},
    {USER, P("{\"type\":7}"), A ".type", TOOLS, 0},
    {USER, P("{\"type\":[\"null\",7]}"), A ".type", TOOLS, 0},
    {USER, P("{\"type\":\"string\",\"description\":7}"), A ".description", TOOLS, 0},
    {USER, P("{\"type\":\"string\",\"enum\":7}"), A ".enum", TOOLS, 0},
    {USER, P("{\"type\":\"object\",\"properties\":{\"b\":{\"type\":\"string\"},\"c\":7}}"), A ".properties.c",
     TOOLS, 0},
    {USER, P("{\"type\":\"object\",\"properties\":{\"b\":{\"type\":\"string\"}},\"required\":7}"),
     A ".required", TOOLS, 0},
    {USER, P("{\"type\":\"object\",\"b\":{\"type\":7}}"), A ".b.type", G4, 0},
    {USER, P("{\"type\":\"array\",\"items\":{\"type\":[7]}}"), A ".items.type", TOOLS, 0},
    {USER, P("{\"type\":\"array\",\"items\":{\"required\":[7]}}"), A ".items.required", TOOLS, 0},
    {USER, P("{\"type\":\"array\",\"items\":{\"properties\":7}}"), A ".items.properties", TOOLS, 0},
    {USER, P("{\"type\":\"array\",\"items\":{\"properties\":{\"b\":{\"type\":7}}}}"),
     A ".items.properties.b.type", TOOLS, 0},
    {USER, P("{\"type\":\"array\",\"items\":{\"items\":{\"type\":7}}}"), A ".items.items.type", FG, 0},
    {USER, P("{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"b\":7"),
     "tools[1].function.parameters.properties.b", TOOLS, 0},
    {USER, P("{\"type\":\"object\",\"properties\":{}},\"b: \xc3\xa9\":7"),
     "tools[1].function.parameters.properties.b:???", TOOLS, 0},
    {USER,
     P("{\"type\":\"object\",\"properties\":{\"" LONG "\":{\"type\":\"object\",\"properties\":{\"" LONG
       "\":{\"type\":7}}}}}"),
     A ".properties." LONG ".properties", TOOLS, 0},
    {USER, W(",\"parameters\":{\"type\":\"object\"},\"response\":{\"type\":7}"),
     "tools[1].function.response.type", G4, 0},
    {USER, P("{\"type\":\"array\",\"items\":{\"items\":{\"type\":\"string\"},\"type\":7}}"), A ".items.type",
     FG, 0},
    {USER, W(",\"response\":{\"type\":7}"), "tools[1].function.response.type", G4, 0},
    {USER, W(",\"response\":{\"type\":\"object\",\"description\":7}"),
     "tools[1].function.response.description", G4, 0},
};

static void lists_all(void **state)
{
    static const enum ct_chat chats[] = {CT_CHAT_GEMMA, CT_CHAT_GEMMA3, CT_CHAT_FUNCTIONGEMMA,
                                         CT_CHAT_GEMMA4};
    (void)state;
    for (size_t i = 0; i < CT_COUNT(rows); i++)
        for (size_t c = 0; c < CT_COUNT(chats); c++) {
            struct ct_chat_options o = {.chat = chats[c],
                                        .tools = rows[i].tools,
                                        .generation_prompt = true,
                                        .thinking = rows[i].how & THINKS,
                                        .continues = rows[i].how & CONTINUES,
                                        .call_tokens = rows[i].how & TOKENS,
                                        .state = rows[i].how & APRIL ? CT_GEMMA4_APRIL_10 : CT_GEMMA4_JULY_9};
            struct ct_prompt p;
            carat_error err = {0};
            if (!(rows[i].of & 1 << c))
                continue;
            if (ct_chat_render(&o, rows[i].messages, &p, &err) != CARAT_E_ARGUMENT)
                fail_msg("row %zu is not refused: %s %s", i, rows[i].messages,
                         rows[i].tools ? rows[i].tools : "");
            assert_null(p.text);
            check_place(&err, rows[i].place);
        }
}

/* Those that take more than a row. */
static void and_others(void **state)
{
    struct ct_chat_options o = {.chat = CT_CHAT_NONE};
    struct ct_prompt p;
    carat_error err;
    (void)state;
    assert_int_equal(ct_chat_render(&o, USER, &p, &err), CARAT_E_NOT_FOUND);
    check_place(&err, "chat_template");
    char *tools = malloc(1025 * 16), *end = tools;
    for (int i = 0; i <= CT_CHAT_TOOLS_MAX; i++)
        end += sprintf(end, "%c{\"name\":\"f\"}", i ? ',' : '[');
    strcpy(end, "]");
    o = (struct ct_chat_options){.chat = CT_CHAT_GEMMA4, .tools = tools};
    assert_int_equal(ct_chat_render(&o, USER, &p, &err), CARAT_E_ARGUMENT);
    check_place(&err, "tools[1024]");
    free(tools);
    /* a tokenizer without the tokens of the template, and a prompt that is too long for any */
    struct ct_tokenizer *t = open_tokenizer(read_data("tokenizer.json"));
    carat_tokens ids = {0};
    o = (struct ct_chat_options){.chat = CT_CHAT_GEMMA4};
    assert_int_equal(ct_chat_render(&o, USER, &p, &err), CARAT_OK);
    assert_int_equal(ct_chat_encode(t, &p, false, NULL, &ids, &err), CARAT_E_ARGUMENT);
    check_place(&err, "chat_template");
    p.n = CT_TEXT_MAX + 1;
    assert_int_equal(ct_chat_encode(t, &p, false, NULL, &ids, &err), CARAT_E_ARGUMENT);
    check_place(&err, "messages");
    ct_prompt_free(&p);
    carat_tokens_free(&ids);
    /* what the calls of an answer are compared with */
    carat_calls calls = {.size = sizeof(carat_part)};
    assert_int_equal(ct_calls_parse(t, NULL, 0, "[{\"name\":}]", &calls, &err), CARAT_E_ARGUMENT);
    check_place(&err, "tools[0].name");
    assert_int_equal(ct_calls_parse(t, NULL, 0, "{}", &calls, &err), CARAT_E_ARGUMENT);
    check_place(&err, "tools");
    ct_tokenizer_free(t);
}

/* ---- structs ---- */

static void structs(void **state)
{
    char *large = malloc(CT_JSON_STRING_MAX + 2);
    (void)state;
    assert_non_null(large);
    memset(large, 'a', CT_JSON_STRING_MAX + 1);
    large[CT_JSON_STRING_MAX + 1] = 0;
    const carat_message bad[] = {
        {.content = "c"},
        {.role = "user"},
        {.role = "us\xff", .content = "c"},
        {.role = "user", .content = "\xc3"},
        {.role = "user", .content = large},
        {.json = "{\"role\":}"},
        {.json = "[]"},
    };
    for (size_t i = 0; i < CT_COUNT(bad); i++) {
        const carat_message messages[] = {{.role = "user", .content = "c"}, bad[i]};
        struct ct_json_tree list = {0};
        carat_error err = {0};
        assert_int_equal(ct_chat_list(&list, messages, 2, &err), CARAT_E_ARGUMENT);
        check_place(&err, "message 1");
        ct_json_tree_free(&list);
    }
    struct ct_json_tree list = {0};
    carat_error err;
    assert_int_equal(ct_chat_list(&list, bad, CT_JSON_TREE_MAX / 2 + 1, &err), CARAT_E_ARGUMENT);
    check_place(&err, "messages");
    ct_json_tree_free(&list);
    free(large);
}

/* ---- nothing is missing in this list ---- */

/* The literals of a call of a function that makes messages, between at and end: the format, or the key and
 * what is wrong with it, as the message has them. */
static void take_format(const char *at, const char *end, bool of_schema, char out[512])
{
    size_t n = 0;
    bool before = false; /* a literal, and nothing else since but blanks */
    int runs = 0;
    *out = 0;
    for (; at < end; at++) {
        if (*at != '"') {
            before = before && strchr(" \t\n", *at);
            continue;
        }
        if (!before && runs++ == (of_schema ? 2 : 1))
            return;
        if (!before && runs == 2)
            n += (size_t)sprintf(out + n, ": ");
        for (at++; *at != '"'; at++) {
            at += *at == '\\';
            assert_true(n < 500);
            out[n++] = *at;
        }
        out[n] = 0;
        before = true;
    }
}

/* The end of a call whose bracket has been opened before s. */
static const char *call_end(const char *s)
{
    for (int open = 1; open; s++) {
        if (*s == '"')
            for (s++; *s != '"'; s++)
                s += *s == '\\';
        open += (*s == '(') - (*s == ')');
    }
    return s;
}

/* A message that a format can have made, or that ends so. */
static bool fits(const char *message, const char *format)
{
    const char *at = message;
    for (const char *f = format; *f;) {
        if (*f == '%') {
            f += strcspn(f, "sdu") + 1;
            continue;
        }
        const size_t n = strcspn(f, "%");
        char piece[512];
        snprintf(piece, sizeof piece, "%.*s", (int)n, f);
        if (!(at = strstr(at, piece)))
            return false;
        at += n;
        f += n;
    }
    return true;
}

static void is_complete(void **state)
{
    static const char *const files[] = {
        "chat.c",         "chat_write.c",          "chat_gemma.c",
        "chat_gemma4.c",  "chat_functiongemma.c",  "chat_calls.c",
        "chat_declare.c", "chat_gemma4_declare.c", "chat_functiongemma_declare.c",
        "chat_encode.c",  "chat_value.c"};
    int n = 0;
    (void)state;
    for (size_t i = 0; i < CT_COUNT(files); i++) {
        char path[1024], format[512];
        snprintf(path, sizeof path, "%s/../../src/text/chat/%s", CT_TEST_DATA, files[i]);
        struct ct_bytes file = read_file(path);
        char *text = (char *)file.data;
        text[file.size] = 0;
        for (const char *s = text; (s = strchr(s, 'c')); s++) {
            const bool fails = strncmp(s, "ct_fail(", 8) == 0,
                       schema = strncmp(s, "ct_schema_wrong(", 16) == 0;
            if (!fails && !schema)
                continue;
            const char *end = call_end(s + (fails ? 8 : 16)), *memory = strstr(s, "CARAT_E_MEMORY");
            take_format(s, end, schema, format);
            if (!*format || (memory && memory < end))
                continue;
            int k = 0;
            while (k < n_said && !fits(said[k], format))
                k++;
            if (k == n_said)
                fail_msg("%s: no row makes \"%s\"", files[i], format);
            n++;
        }
        free(text);
    }
    assert_true(n > 55);
    while (n_said)
        free(said[--n_said]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(and_others),
        cmocka_unit_test(structs),
        cmocka_unit_test(lists_all),
        cmocka_unit_test(is_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

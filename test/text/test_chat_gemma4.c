/* SPDX-License-Identifier: Apache-2.0 */
/* test_chat_gemma4.c: Gemma 4's templates: what the reference renders byte for byte, and what is refused. */
#define _POSIX_C_SOURCE 200809L
#include "chat_golden.h"

#define TURN(role, text) "<|turn>" role "\n" text "<turn|>\n"
#define MODEL            "<|turn>model\n"
#define EMPTY            "<|channel>thought\n<channel|>"

#define LARGE CT_CHAT_GEMMA4
#define SMALL CT_CHAT_GEMMA4_SMALL

static void check(struct ct_chat_options o, const char *messages, const char *expected)
{
    struct ct_prompt p;
    carat_error err = {0};
    if (ct_chat_render(&o, messages, &p, &err) != CARAT_OK)
        fail_msg("%s: %s", messages, err.message);
    assert_string_equal(p.text, expected);
    check_segments(&p);
    ct_prompt_free(&p);
}

/* ---- what the reference renders ---- */

/* Renders with and without the generation prompt, which comes last. */
static void check_vector(struct ct_chat_options o, const char *messages, const char *expected, size_t row,
                         const char *name)
{
    struct ct_prompt p, without;
    carat_error err = {0};
    o.generation_prompt = true;
    if (ct_chat_render(&o, messages, &p, &err) != CARAT_OK)
        fail_msg("row %zu, %s: %s", row, name, err.message);
    if (strcmp(p.text, expected) != 0)
        fail_msg("row %zu, %s, thinking %d:\n%s\nexpected\n%s", row, name, o.thinking, p.text, expected);
    check_segments(&p);
    o.generation_prompt = false;
    assert_int_equal(ct_chat_render(&o, messages, &without, &err), CARAT_OK);
    assert_true(without.n <= p.n && memcmp(without.text, p.text, without.n) == 0);
    ct_prompt_free(&without);
    ct_prompt_free(&p);
}

/* Every published state, as Jinja renders it. */
static void vectors(void **state)
{
    (void)state;
    json_t *rows = load("gemma4");
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i), *expected = json_object_get(row, "expected");
        json_t *tools = json_object_get(row, "tools");
        char *messages = json_dumps(json_object_get(row, "messages"), 0),
             *tool_text = tools ? json_dumps(tools, 0) : NULL;
        for (size_t k = 0; k < json_array_size(expected); k++) {
            const json_t *one = json_array_get(expected, k), *names = json_object_get(one, "of");
            struct ct_chat_options o = {.tools = tool_text,
                                        .thinking = json_is_true(json_object_get(one, "thinking"))};
            for (size_t j = 0; j < json_array_size(names); j++) {
                const char *name = json_string_value(json_array_get(names, j));
                choose(&o, name);
                check_vector(o, messages, json_string_value(json_object_get(one, "text")), i, name);
                n++;
            }
        }
        free(messages);
        free(tool_text);
    }
    json_decref(rows);
    assert_true(n > 800);
}

/* ---- the frame ---- */

static void frame(void **state)
{
    (void)state;
    struct ct_chat_options large = {.chat = LARGE, .generation_prompt = true},
                           small = {.chat = SMALL, .generation_prompt = true};
    check(large, USER, "<bos>" TURN("user", "u") MODEL EMPTY);
    check(small, USER, "<bos>" TURN("user", "u") MODEL);
    large.thinking = small.thinking = true;
    check(large, USER, "<bos>" TURN("system", "<|think|>\n") TURN("user", "u") MODEL);
    check(small, USER, "<bos>" TURN("system", "<|think|>\n") TURN("user", "u") MODEL);
    large.generation_prompt = false;
    check(large, USER, "<bos>" TURN("system", "<|think|>\n") TURN("user", "u"));
    large.thinking = false;
    check(large, USER, "<bos>" TURN("user", "u"));
    /* developer is system in the first place alone; nothing else has a place of its own */
    check(
        large,
        "[{\"role\":\"developer\",\"content\":\" d\\n\"},{\"role\":\"user\",\"content\":\" u \"},"
        "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\" v \"},{\"type\":\"text\","
        "\"text\":\"w\"}]},{\"role\":\"model\",\"content\":\" m \"},{\"role\":\"system\",\"content\":\"s\"}]",
        "<bos>" TURN("system", "d") TURN("user", "u") TURN("user", "vw") TURN("model", "m")
            TURN("system", "s"));
    large.thinking = true;
    check(large,
          "[{\"role\":\"system\",\"content\":[{\"type\":\"text\",\"text\":\" a \"},{\"text\":\"b\"}]}]",
          "<bos>" TURN("system", "<|think|>\na b "));
    check(small, "[{\"role\":\"system\",\"content\":\"\"}]", "<bos>" TURN("system", "<|think|>\n") MODEL);
    check(large,
          "[{\"role\":\"user\",\"content\":[{\"type\":\"image\"},{\"type\":\"text\",\"text\":\" a\"},"
          "{\"type\":\"audio\"},{\"type\":\"video\"},{\"type\":\"smell\"}]}]",
          "<bos>" TURN("system", "<|think|>\n") TURN("user", "<|image|>a<|audio|><|video|>"));
}

/* What is spelled as a channel in a past answer is no part of it, wherever it ends; a user may write one. */
static void thoughts(void **state)
{
    (void)state;
    static const struct {
        const char *said, *kept;
    } cases[] = {
        {"<|channel>thought\\nhm<channel|> yes ", "yes"},
        {" a <|channel>x<channel|> b <|channel>y<channel|>", "a  b"},
        {"a<|channel>never ends", "a"},
        {"a<channel|>b<channel|>", "ab"},
        {"<|channel>x<|channel>y<channel|>b", "b"},
        {"<|channel>thought\\n<channel|>", ""},
        {"<|channel", "<|channel"},
        {"", ""},
        {"a<|channel>x<channel|", "a"},
    };
    for (size_t i = 0; i < CT_COUNT(cases); i++) {
        char messages[512], expected[512];
        snprintf(messages, sizeof messages, "[{\"role\":\"model\",\"content\":\"%s\"}]", cases[i].said);
        snprintf(expected, sizeof expected, "<bos>" TURN("model", "%s"), cases[i].kept);
        check((struct ct_chat_options){.chat = LARGE}, messages, expected);
        snprintf(messages, sizeof messages,
                 "[{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"x\"},{\"type\":"
                 "\"text\",\"text\":\"%s\"}]}]",
                 cases[i].said);
        snprintf(expected, sizeof expected, "<bos>" TURN("model", "x%s"), cases[i].kept);
        check((struct ct_chat_options){.chat = SMALL}, messages, expected);
    }
    check((struct ct_chat_options){.chat = LARGE},
          "[{\"role\":\"user\",\"content\":\"<|channel>x<channel|>\"}]",
          "<bos>" TURN("user", "<|channel>x<channel|>"));
}

static void refusals(void **state)
{
    (void)state;
    static const struct {
        const char *messages, *says;
    } cases[] = {
        {"[]", "at least one"},
        {"[{\"role\":\"wizard\",\"content\":\"x\"}]", "wizard"},
        {"[{\"role\":\"user\"}]", "messages[0].content: "},
        {"[{\"role\":\"user\",\"content\":null}]", "messages[0].content: "},
        {"[{\"role\":\"user\",\"content\":{}}]", "messages[0].content: "},
        {"[{\"role\":\"system\",\"content\":null}]", "messages[0].content: "},
        {"[{\"role\":\"system\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"image\"}]}]",
         "messages[0].content[1].text: expected a string"},
        {"[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\"}]}]", "image_url"},
        {"[{\"role\":\"model\",\"content\":[{\"type\":\"image\"}]}]", "\"image\" cannot be rendered"},
    };
    for (size_t i = 0; i < CT_COUNT(cases); i++)
        for (int chat = LARGE; chat <= (int)SMALL; chat++) {
            struct ct_prompt p;
            carat_error err = {0};
            assert_int_equal(render((enum ct_chat)chat, cases[i].messages, NULL, &p, &err), CARAT_E_ARGUMENT);
            assert_null(p.text);
            if (!strstr(err.message, cases[i].says))
                fail_msg("\"%s\" does not say %s", err.message, cases[i].says);
        }
    for (int chat = CT_CHAT_GEMMA; chat < CT_CHATS; chat++) {
        struct ct_chat_options o = {.chat = (enum ct_chat)chat, .thinking = true};
        struct ct_prompt p;
        carat_error err;
        bool thinks = chat >= (int)LARGE;
        assert_int_equal(ct_chat_can_think(o.chat), thinks);
        assert_int_equal(ct_chat_render(&o, USER, &p, &err), thinks ? CARAT_OK : CARAT_E_ARGUMENT);
        if (!thinks)
            assert_non_null(strstr(err.message, "template has no thoughts"));
        ct_prompt_free(&p);
    }
}

/* Calls and results that the template would drop or garble, and tools that are none. */
static void bad_calls(void **state)
{
    (void)state;
    static const struct {
        const char *messages, *says;
    } cases[] = {
        {"{\"role\":\"tool\",\"content\":\"x\"}",
         "messages[0].role: a tool message without a call before it"},
        {"{\"role\":\"model\",\"content\":\"x\"},{\"role\":\"tool\",\"content\":\"x\"}",
         "messages[1].role: "},
        {CALL ",{\"role\":\"user\",\"content\":\"x\"}",
         "messages[2].role: the results of the tool calls must come next, found user"},
        {CALL "," CALL, "messages[2].role: "},
        {CALL ",{\"role\":\"tool\",\"content\":null}", "messages[2].content: "},
        {CALL ",{\"role\":\"tool\",\"content\":[{\"type\":\"image\"}]}", "messages[2].content[0]: "},
        {CALL ",{\"role\":\"tool\",\"content\":\"x\",\"tool_call_id\":\"9\"}", "\"9\" is none of the calls"},
        {CALL
         ",{\"role\":\"tool\",\"content\":\"1\"},{\"role\":\"tool\",\"content\":\"2\"},{\"role\":\"tool\","
         "\"content\":\"3\"}",
         "messages[4]: more results than calls: the model asked for 2"},
        {CALL ",{\"role\":\"wizard\",\"content\":\"x\"}", "wizard"},
        {CALL ",{\"role\":\"tool\",\"content\":\"1\"},7", "messages[3]: expected an object"},
        {"{\"role\":\"model\",\"tool_calls\":{}}", "messages[0].tool_calls: expected a list"},
        {"{\"role\":\"model\",\"tool_calls\":[]}", "messages[0].content: "},
        {"{\"role\":\"model\",\"tool_calls\":[{}]}",
         "messages[0].tool_calls[0].name: a call needs the name of its function"},
        {"{\"role\":\"model\",\"tool_calls\":[{\"name\":\"f\",\"arguments\":\"{oops\"}]}",
         "messages[0].tool_calls[0].arguments: "},
        {"{\"role\":\"model\",\"tool_calls\":[{\"name\":\"f\",\"arguments\":[]}]}", "expected a JSON object"},
        {"{\"role\":\"model\",\"tool_responses\":{}}", "messages[0].tool_responses: expected a list"},
        {"{\"role\":\"model\",\"tool_responses\":[{\"name\":\"f\"}]}",
         "messages[0].tool_responses[0]: expected an object with name and response"},
        {"{\"role\":\"model\",\"content\":\"x\",\"reasoning\":7}",
         "messages[0].reasoning: expected a string"},
    };
    struct ct_prompt p;
    carat_error err;
    for (size_t i = 0; i < CT_COUNT(cases); i++) {
        char messages[2048];
        snprintf(messages, sizeof messages, "[%s]", cases[i].messages);
        assert_int_equal(render(LARGE, messages, NULL, &p, &err), CARAT_E_ARGUMENT);
        assert_null(p.text);
        if (!strstr(err.message, cases[i].says))
            fail_msg("\"%s\" does not say %s", err.message, cases[i].says);
    }
    static const struct {
        const char *tools, *says;
    } bad[] = {
        {"[1]", "tools[0]: expected an object"},
        {"[{\"name\":\"f\",\"description\":3}]", "tools[0].description: expected a string"},
        {"[{\"name\":\"f\",\"parameters\":{\"properties\":[]}}]", "properties"},
        {"[{\"name\":\"f\",\"parameters\":{\"properties\":{\"a\":true}}}]",
         "tools[0].parameters.properties.a: expected an object"},
        {"[{\"name\":\"f\",\"parameters\":{\"properties\":{\"a\":{\"type\":\"string\",\"enum\":7}}}}]",
         "enum"},
        {"[{\"name\":\"f\",\"parameters\":{\"properties\":{\"a\":{\"type\":\"array\",\"items\":{\"type\":["
         "7]}}}}}]",
         "tools[0].parameters.properties.a.items.type: expected a type of JSON Schema"},
        {"[{\"name\":\"f\",\"parameters\":{\"properties\":{\"a\":{\"type\":\"object\",\"required\":[1]}}}}]",
         "required"},
        {"[{\"name\":\"f\"},{\"name\":\"g\",\"parameters\":{\"properties\":{\"a\":{}}},\"response\":{"
         "\"type\":7}}]",
         "tools[1].response.type: expected a type"},
    };
    for (size_t i = 0; i < CT_COUNT(bad); i++) {
        assert_int_equal(render(SMALL, USER, bad[i].tools, &p, &err), CARAT_E_ARGUMENT);
        if (!strstr(err.message, bad[i].says))
            fail_msg("\"%s\" does not say %s", err.message, bad[i].says);
    }
    /* a state that has no list for the system, and one in which a result is a turn of its own */
    struct ct_chat_options o = {.chat = LARGE, .state = CT_GEMMA4_APRIL_10};
    assert_int_equal(
        ct_chat_render(&o, "[{\"role\":\"system\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}]", &p,
                       &err),
        CARAT_E_ARGUMENT);
    assert_non_null(strstr(err.message, "takes a string, found a list"));
}

/* Beyond the reference: arguments as OpenAI's clients send them, objects as results, names by their order,
 * the role "model", and types with null. */
static void as_others_send(void **state)
{
    (void)state;
    struct ct_chat_options o = {.chat = LARGE};
    check(o,
          "[" CALL
          ",{\"role\":\"tool\",\"content\":{\"t\":{\"b\":1,\"a\":null}}},{\"role\":\"tool\",\"content\":"
          "\"x\"},{\"role\":\"model\",\"content\":\"m\"}]",
          "<bos>" TURN("user", "u") MODEL
          "<|tool_call>call:f{a:[1,null,true]}<tool_call|>"
          "<|tool_call>call:g{}<tool_call|><|tool_response>response:f{t:{a:null,b:1}}<tool_response|>"
          "<|tool_response>response:g{value:<|\"|>x<|\"|>}<tool_response|>m<turn|>\n");
    check(o,
          "[" CALL ",{\"role\":\"tool\",\"content\":[{\"name\":\"h\",\"response\":1},{\"name\":\"i\","
          "\"response\":{}}]}]",
          "<bos>" TURN("user", "u") MODEL
          "<|tool_call>call:f{a:[1,null,true]}<tool_call|>"
          "<|tool_call>call:g{}<tool_call|><|tool_response>response:h{value:1}<tool_response|>"
          "<|tool_response>response:i{}<tool_response|>");
    o.tools = "[{\"name\":\"f\",\"description\":\"d\",\"parameters\":{\"properties\":{\"a\":{\"type\":["
              "\"null\",\"string\"],"
              "\"enum\":[]}}}}]";
    check(o, USER,
          "<bos>" TURN("system", "<|tool>declaration:f{description:<|\"|>d<|\"|>,parameters:{properties:{a:{"
                                 "nullable:true,type:<|\"|>STRING<|\"|>}},type:<|\"|>OBJECT<|\"|>}}<tool|>")
              TURN("user", "u"));
}

static void count_line(void *user, const char *line)
{
    assert_non_null(strstr(line, "tools[0]: "));
    ++*(int *)user;
}

/* What the model does not get to see is told. */
static void told(void **state)
{
    (void)state;
    static const struct {
        const char *members;
        enum ct_gemma4 state;
        int lines;
    } cases[] = {
        {"\"parameters\":{\"properties\":{\"type\":{\"type\":\"string\"}}}", CT_GEMMA4_JULY_9, 0},
        {"\"parameters\":{\"properties\":{\"type\":{\"type\":\"string\"}}}", CT_GEMMA4_APRIL_10, 1},
        {"\"parameters\":{\"properties\":{\"a\":{\"anyOf\":[]},\"b\":{}}}", CT_GEMMA4_JULY_9, 2},
        {"\"parameters\":{\"properties\":{\"a\":{\"type\":\"object\",\"title\":\"t\"}}}", CT_GEMMA4_JULY_9,
         0},
        {"\"parameters\":{\"$ref\":\"x\"}", CT_GEMMA4_JULY_9, 1},
        {"\"response\":{\"type\":\"string\"}", CT_GEMMA4_JULY_9, 1},
        {"\"response\":{\"type\":\"object\"}", CT_GEMMA4_JULY_9, 0},
    };
    for (size_t i = 0; i < CT_COUNT(cases); i++) {
        int lines = 0;
        char tools[512];
        struct ct_chat_options o = {
            .chat = SMALL, .state = cases[i].state, .tools = tools, .log = count_line, .user = &lines};
        struct ct_prompt p;
        snprintf(tools, sizeof tools, "[{\"name\":\"f\",%s}]", cases[i].members);
        assert_int_equal(ct_chat_render(&o, USER, &p, NULL), CARAT_OK);
        assert_int_equal(lines, cases[i].lines);
        ct_prompt_free(&p);
    }
}

/* ---- ids ---- */

static int count(const carat_tokens *ids, int32_t id)
{
    int n = 0;
    for (int i = 0; i < ids->n; i++)
        n += ids->ids[i] == id;
    return n;
}

/* shape with every % replaced, as text and ids. */
static void render_with(const struct ct_tokenizer *t, const char *word, bool special, carat_tokens *ids)
{
    static const char *const shape[] = {
        "[{\"role\":\"system\",\"content\":\"%\"},{\"role\":\"user\",\"content\":[{\"type\":\"text\","
        "\"text\":\"%\"}]},"
        "{\"role\":\"assistant\",\"reasoning\":\"%\",\"content\":\"c%\",\"tool_calls\":[{\"name\":\"f%\","
        "\"arguments\":"
        "{\"k%\":\"v%\",\"l\":{\"m%\":[\"%\"]}}}]},{\"role\":\"tool\",\"name\":\"n%\",\"content\":\"%\"}]",
        "[{\"name\":\"f%\",\"description\":\"d%\",\"parameters\":{\"properties\":{\"p%\":{\"type\":"
        "\"string\","
        "\"description\":\"%\",\"enum\":[\"%\"]},\"a\":{\"type\":\"array\",\"items\":{\"x%\":{\"y%\":\"%\"}}}"
        "},"
        "\"required\":[\"%\"]},\"response\":{\"type\":\"object\",\"description\":\"%\"}}]"};
    char text[2][4096];
    for (int k = 0; k < 2; k++) {
        size_t n = 0;
        for (const char *s = shape[k]; *s; s++)
            n += (size_t)(*s == '%' ? sprintf(text[k] + n, "%s", word) : sprintf(text[k] + n, "%c", *s));
    }
    struct ct_chat_options o = {.chat = LARGE, .tools = text[1], .thinking = true, .generation_prompt = true};
    struct ct_prompt p;
    carat_error err;
    if (ct_chat_render(&o, text[0], &p, &err) != CARAT_OK ||
        ct_chat_encode(t, &p, special, NULL, ids, &err) != CARAT_OK)
        fail_msg("%s", err.message);
    check_segments(&p);
    ct_prompt_free(&p);
}

/* A control token spelled by the caller anywhere stays text, and is one only when that was asked for; what is
 * spelled as a channel in an answer is gone. */
static void forged(void **state)
{
    (void)state;
    struct ct_tokenizer *t =
        open_tokenizer(with_names(read_data("tokenizer.json"), gemma4_names, (int)CT_COUNT(gemma4_names)));
    for (size_t i = 0; i < CT_COUNT(gemma4_names); i++) {
        carat_tokens ids[3] = {{0}, {0}, {0}};
        char *name = without(gemma4_names[i], "\\");
        int32_t id = ct_tokenizer_id(t, name);
        bool channel = strstr(name, "channel") != NULL;
        assert_true(id >= 0);
        render_with(t, "X", false, &ids[0]);
        render_with(t, gemma4_names[i], false, &ids[1]);
        render_with(t, gemma4_names[i], true, &ids[2]);
        for (size_t k = 0; k < CT_COUNT(gemma4_names); k++) {
            char *other = without(gemma4_names[k], "\\");
            int32_t control = ct_tokenizer_id(t, other);
            assert_int_equal(count(&ids[1], control), count(&ids[0], control));
            free(other);
        }
        assert_int_equal(count(&ids[2], id), count(&ids[0], id) + (channel ? 20 : 21));
        for (int k = 0; k < 3; k++)
            free(ids[k].ids);
        free(name);
    }
    ct_tokenizer_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors),  cmocka_unit_test(frame),     cmocka_unit_test(thoughts),
        cmocka_unit_test(refusals), cmocka_unit_test(bad_calls), cmocka_unit_test(as_others_send),
        cmocka_unit_test(told),     cmocka_unit_test(forged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

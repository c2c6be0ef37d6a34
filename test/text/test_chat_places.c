/* SPDX-License-Identifier: Apache-2.0 */
/* test_chat_places.c: where the messages of a conversation begin in its prompt, and prompts that end within
 * an answer, which are the reference's byte for byte. Where something is wrong is test_chat_wrong.c's. */
#define _POSIX_C_SOURCE 200809L
#include "chat_golden.h"

/* ---- answers that go on ---- */

/* "gemma3", or a state of Gemma 4's template. */
static void choose_any(struct ct_chat_options *o, const char *name)
{
    if (!ct_chat_from_name(name, &o->chat))
        choose(o, name);
}

static void goes_on(void **state)
{
    (void)state;
    json_t *rows = load("continued");
    const size_t n = json_array_size(rows);
    int of[CT_CHATS] = {0};
    for (size_t i = 0; i < n; i++) {
        const json_t *row = json_array_get(rows, i);
        const char *expected = json_string_value(json_object_get(row, "expected"));
        struct ct_chat_options o = {.generation_prompt = i % 2, /* which changes nothing */
                                    .thinking = json_is_true(json_object_get(row, "thinking")),
                                    .continues = true};
        choose_any(&o, json_string_value(json_object_get(row, "of")));
        of[o.chat]++;
        /* a size without the empty thought differs in nothing that a finished turn has */
        for (int size = 0, sizes = 1 + ct_chat_can_think(o.chat); size < sizes; size++) {
            struct ct_prompt p;
            carat_error err = {0};
            if (render_json(&o, row, &p, &err) != CARAT_OK)
                fail_msg("row %zu: %s", i, err.message);
            if (strcmp(p.text, expected) != 0)
                fail_msg("row %zu: %s\nexpected\n%s", i, p.text, expected);
            check_segments(&p);
            ct_prompt_free(&p);
            o.chat = CT_CHAT_GEMMA4_SMALL;
        }
    }
    json_decref(rows);
    assert_int_equal(of[CT_CHAT_GEMMA], 4);
    assert_int_equal(of[CT_CHAT_GEMMA3], 6);
    assert_int_equal(of[CT_CHAT_FUNCTIONGEMMA], 7);
    assert_int_equal(of[CT_CHAT_GEMMA4], 4 * 20);
}

#define BEGUN(content) "[{\"role\":\"user\",\"content\":\"u\"},{\"role\":\"assistant\"" content "}]"

static void goes_on_or_not(void **state)
{
    (void)state;
    static const struct {
        const char *messages, *wrong;
    } cases[] = {
        {USER, "messages[0].role: only an answer of the assistant can be continued, found user"},
        {BEGUN(",\"content\":\"\",\"tool_calls\":[{\"name\":\"f\"}]"),
         "messages[1].tool_calls: an answer with calls cannot be continued"},
        {BEGUN(""), "messages[1].content: an answer without text cannot be continued"},
        {BEGUN(",\"content\":null"), "messages[1].content: an answer without text cannot be continued"},
        {BEGUN(",\"content\":7"), "messages[1].content: expected a string or a list of text items"},
        {"[{\"role\":\"user\",\"content\":\"u\"},7]", "messages[1]: expected an object"},
        {"[]", "messages: expected a list of at least one message"},
    };
    for (enum ct_chat chat = CT_CHAT_GEMMA; chat < CT_CHATS; chat++) {
        struct ct_chat_options o = {.chat = chat, .generation_prompt = true, .continues = true};
        struct ct_prompt p, asked;
        carat_error err;
        for (size_t i = 0; i < CT_COUNT(cases); i++) {
            assert_int_equal(ct_chat_render(&o, cases[i].messages, &p, &err), CARAT_E_ARGUMENT);
            assert_string_equal(err.message, cases[i].wrong);
            assert_null(p.text);
        }
        /* nothing yet, or only blanks: the prompt ends where the answer's text begins */
        static const char *const blank[] = {BEGUN(",\"content\":\"\""), BEGUN(",\"content\":\" \\n\""),
                                            BEGUN(",\"content\":[],\"tool_calls\":null")};
        for (size_t i = 0; i < CT_COUNT(blank); i++) {
            assert_int_equal(ct_chat_render(&o, blank[i], &p, &err), CARAT_OK);
            assert_int_equal(
                render(chat == CT_CHAT_GEMMA4 ? CT_CHAT_GEMMA4_SMALL : chat, USER, NULL, &asked, &err),
                CARAT_OK);
            assert_string_equal(p.text, asked.text);
            check_segments(&p);
            ct_prompt_free(&asked);
            ct_prompt_free(&p);
        }
    }
}

/* ---- where messages begin ---- */

/* A prompt with a mark | in front of each message. */
static void check_marks(const struct ct_chat_options *o, const char *messages, const char *expected)
{
    struct ct_prompt p;
    carat_error err;
    char text[1024];
    size_t n = 0, from = 0;
    if (ct_chat_render(o, messages, &p, &err) != CARAT_OK)
        fail_msg("%s: %s", messages, err.message);
    for (int i = 0; i <= p.n_message; i++) {
        size_t to = i < p.n_message ? p.message[i] : p.n;
        assert_true(from <= to && n + to - from + 2 < sizeof text);
        memcpy(text + n, p.text + from, to - from);
        n += to - from;
        text[n++] = '|';
        from = to;
    }
    text[n - 1] = 0;
    assert_string_equal(text, expected);
    ct_prompt_free(&p);
}

#define M(role, content) "{\"role\":\"" role "\",\"content\":\"" content "\"}"
#define GOES(who, text)  "<start_of_turn>" who "\n" text "<end_of_turn>\n"
#define SAYS(who, text)  "<|turn>" who "\n" text "<turn|>\n"
#define CALLS            "{\"role\":\"assistant\",\"tool_calls\":[{\"name\":\"f\"},{\"name\":\"g\"}]}"
#define TOOL             "[{\"name\":\"f\"}]"
#define CALLED(name)     "<|tool_call>call:" name "{}<tool_call|>"
#define GAVE(name)       "<|tool_response>response:" name "{value:<|\"|>r<|\"|>}<tool_response|>"
#define OLD_CALLED(name) "<start_function_call>call:" name "{}<end_function_call>"
#define OLD_GAVE(name)                                                                                       \
    "<start_function_response>response:" name "{value:<escape>r<escape>}<end_function_response>"
#define JSON_GAVE(name) "```tool_output\n{\"name\": \"" name "\", \"response\": \"r\"}\n```\n"
#define JSON_CALLED     "[{\"name\": \"f\", \"parameters\": {}}, {\"name\": \"g\", \"parameters\": {}}]"

static void marks(void **state)
{
    (void)state;
    static const char talk[] =
        "[" M("system", "s") "," M("user", "a") "," M("assistant", "b") "," M("user", "c") "]",
                      results[] = "[" M("user", "a") "," CALLS "," M("tool", "r") "," M("tool", "r") "," M(
                          "assistant", "b") "," M("user", "c") "]",
                      asks[] =
                          "[" M("user", "a") "," CALLS
                                             "," M("tool", "r") "," M("tool", "r") "," M("user", "c") "]";
    struct ct_chat_options o = {.chat = CT_CHAT_GEMMA};
    check_marks(&o, "[" M("user", "a") "," M("assistant", "b") "]",
                "<bos>|" GOES("user", "a") "|" GOES("model", "b"));
    o.chat = CT_CHAT_GEMMA3;
    check_marks(
        &o, talk,
        "<bos>|<start_of_turn>user\ns\n\n|a<end_of_turn>\n|" GOES("model", "b") "|" GOES("user", "c"));
    check_marks(&o, "[" M("system", "s") "]", "<bos>|");
    check_marks(&o, results,
                "<bos>|" GOES("user", "a") "|" GOES("model", JSON_CALLED) "|<start_of_turn>user\n" JSON_GAVE(
                    "f") "|" JSON_GAVE("g") "<end_of_turn>\n|" GOES("model", "b") "|" GOES("user", "c"));
    check_marks(&o, asks,
                "<bos>|" GOES("user", "a") "|" GOES("model", JSON_CALLED) "|<start_of_turn>user\n" JSON_GAVE(
                    "f") "|" JSON_GAVE("g") "|\nc<end_of_turn>\n");
    o.chat = CT_CHAT_FUNCTIONGEMMA;
    check_marks(
        &o, talk,
        "<bos>|" GOES("developer", "s") "|" GOES("user", "a") "|" GOES("model", "b") "|" GOES("user", "c"));
    check_marks(&o, "[" M("system", " ") "," M("user", "a") "]", "<bos>||" GOES("user", "a"));
    check_marks(&o, results,
                "<bos>|" GOES("user", "a") "|<start_of_turn>model\n" OLD_CALLED("f") OLD_CALLED(
                    "g") "|" OLD_GAVE("f") "|" OLD_GAVE("g") "|b<end_of_turn>\n|" GOES("user", "c"));
    check_marks(&o, asks,
                "<bos>|" GOES("user", "a") "|<start_of_turn>model\n" OLD_CALLED("f")
                    OLD_CALLED("g") "|" OLD_GAVE("f") "|" OLD_GAVE("g") "<end_of_turn>\n|" GOES("user", "c"));
    o.tools = TOOL; /* without a message of its own the head belongs to nobody */
    check_marks(
        &o, "[" M("user", "a") "]",
        "<bos><start_of_turn>developer\nYou are a model that can do function calling with the following "
        "functions<start_function_declaration>declaration:f{description:<escape><escape>}"
        "<end_function_declaration><end_of_turn>\n|" GOES("user", "a"));
    o = (struct ct_chat_options){.chat = CT_CHAT_GEMMA4_SMALL};
    check_marks(
        &o, talk,
        "<bos>|" SAYS("system", "s") "|" SAYS("user", "a") "|" SAYS("model", "b") "|" SAYS("user", "c"));
    check_marks(&o, results,
                "<bos>|" SAYS("user", "a") "|<|turn>model\n" CALLED("f")
                    CALLED("g") "|" GAVE("f") "|" GAVE("g") "|b<turn|>\n|" SAYS("user", "c"));
    check_marks(&o, asks,
                "<bos>|" SAYS("user", "a") "|<|turn>model\n" CALLED("f")
                    CALLED("g") "|" GAVE("f") "|" GAVE("g") "<turn|>\n|" SAYS("user", "c"));
    check_marks(&o, "[" M("user", "a") "," M("assistant", "b") "," M("assistant", "c") "]",
                "<bos>|" SAYS("user", "a") "|<|turn>model\nb|c<turn|>\n");
    o.thinking = true;
    check_marks(&o, "[" M("user", "a") "]", "<bos>" SAYS("system", "<|think|>\n") "|" SAYS("user", "a"));
}

/* The index of the first id whose text reaches behind a byte, by the texts of ids alone. */
static int reaching(const struct ct_tokenizer *t, const struct ct_prompt *p, const carat_tokens *ids,
                    size_t byte)
{
    size_t at = 0;
    for (int i = 0; i < ids->n; i++) {
        struct ct_str piece = ct_tokenizer_piece(t, ids->ids[i]);
        char text[CT_TOKEN_BYTES];
        size_t n = ct_tokenizer_bytes(t, ids->ids[i], text);
        at += ct_tokenizer_is_control(t, ids->ids[i]) ? piece.n : n;
        if (at > byte)
            return i;
    }
    assert_int_equal(at, p->n);
    return ids->n;
}

static void check_begins(const struct ct_tokenizer *t, const struct ct_chat_options *o, const char *messages)
{
    for (int special = 0; special < 2; special++) {
        carat_tokens ids = {0}, begins = {0};
        struct ct_prompt p;
        carat_error err;
        assert_int_equal(ct_chat_render(o, messages, &p, &err), CARAT_OK);
        for (int before = 0; before < 3; before += 2) { /* behind other ids, and other begins */
            ids.n = begins.n = 0;
            for (int i = 0; i < before; i++) {
                assert_int_equal(ct_tokens_push(&ids, 7, &err), CARAT_OK);
                assert_int_equal(ct_tokens_push(&begins, 9, &err), CARAT_OK);
            }
            assert_int_equal(ct_chat_encode(t, &p, special, NULL, &ids, &err), CARAT_OK);
            assert_int_equal(ct_chat_begins(t, &p, &ids, before, &begins, &err), CARAT_OK);
            assert_int_equal(begins.n, before + p.n_message);
            const carat_tokens own = {ids.ids + before, ids.n - before, 0};
            for (int i = 0; i < p.n_message; i++)
                assert_int_equal(begins.ids[before + i], before + reaching(t, &p, &own, p.message[i]));
            assert_true(!before || (begins.ids[0] == 9 && begins.ids[1] == 9));
        }
        free(ids.ids);
        free(begins.ids);
        ct_prompt_free(&p);
    }
}

static void begins(void **state)
{
    (void)state;
    struct ct_tokenizer *t = open_tokenizer(with_function_names(read_data("tokenizer.json"), true));
    /* the user goes on with the word that the system message ends with, in no way where there is nothing */
    static const char *const talks[] = {
        "[" M("system", "the") "," M("user", "the") "," M("assistant", "b") "," M("user", "") "]",
        "[" M("system", "") "," M("user", "\\u4e00\\ud83d\\ude42 <start_of_turn>") "," M("assistant",
                                                                                         "  ") "]",
        "[" M("user", " a  b\\n\\n ") "," CALLS
                                      "," M("tool", "r") "," M("tool", "r  x") "," M("user", "c") "]",
        "[" M("system", "s") "]",
    };
    for (size_t i = 0; i < CT_COUNT(talks); i++) {
        struct ct_chat_options o = {.chat = CT_CHAT_GEMMA3, .generation_prompt = i % 2};
        check_begins(t, &o, talks[i]);
        o.continues = i == 1;
        check_begins(t, &o, talks[i]);
        o = (struct ct_chat_options){.chat = CT_CHAT_FUNCTIONGEMMA, .tools = i % 2 ? TOOL : NULL};
        check_begins(t, &o, talks[i]);
    }
    ct_tokenizer_free(t);
    t = open_tokenizer(with_names(read_data("tokenizer.json"), gemma4_names, (int)CT_COUNT(gemma4_names)));
    const struct ct_chat_options o = {.chat = CT_CHAT_GEMMA4, .generation_prompt = true};
    for (size_t i = 0; i < CT_COUNT(talks); i++)
        check_begins(t, &o, talks[i]);
    check_begins(t, &o,
                 "[" M("user", "a") "," M("assistant", "th") "," M("assistant", "e") "," M("user", "b") "]");
    ct_tokenizer_free(t);
}

/* Which bytes an id stands for, where a text has characters that the vocabulary writes for others. */
static void covers(void **state)
{
    (void)state;
    static const char *const texts[] = {"\xe2\x96\x81", " \xe2\x96\x81 a\xe2\x96\x81",
                                        "  \n\n\n <0x0A> <unk>", "\xc3\xa9\xf0\x9f\x99\x82 the", ""};
    struct ct_tokenizer *t = open_tokenizer(read_data("tokenizer.json"));
    for (size_t i = 0; i < CT_COUNT(texts); i++)
        for (int flags = 0; flags <= CARAT_SPECIAL; flags += CARAT_SPECIAL) {
            carat_tokens ids = {0};
            assert_int_equal(ct_tokenizer_encode(t, texts[i], strlen(texts[i]), flags, NULL, &ids, NULL),
                             CARAT_OK);
            check_covers(t, (int)i, texts[i], strlen(texts[i]), &ids, 0);
            free(ids.ids);
        }
    ct_tokenizer_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goes_on), cmocka_unit_test(goes_on_or_not), cmocka_unit_test(marks),
        cmocka_unit_test(begins),  cmocka_unit_test(covers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

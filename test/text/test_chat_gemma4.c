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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frame),
        cmocka_unit_test(thoughts),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_talk.c: a conversation that is built member by member has the prompt of the same one in JSON, whatever
 * the order of calls, and goes on after it was rendered; mistakes change nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "carat.h"

static carat_model *model;
static carat_error error, *const err = &error;

#define OK(call)                                                                                             \
    do {                                                                                                     \
        if ((call) != CARAT_OK)                                                                              \
            fail_msg("%s", error.message);                                                                   \
    } while (0)

static int begin(void **state)
{
    (void)state;
    return carat_model_open(&model, CT_TEST_DATA "/../fixtures/tiny4", NULL, err);
}

static int end(void **state)
{
    (void)state;
    carat_model_close(model);
    return 0;
}

/* The ids and the text of both are equal. */
static void assert_same(carat_talk *talk, const char *json)
{
    carat_tokens a = {0}, b = {0}, begins_a = {0}, begins_b = {0};
    carat_render_options o;
    char *one = NULL, *other = NULL;

    carat_render_options_default(&o);
    o.begins = &begins_a;
    OK(carat_talk_render(model, talk, &o, &a, &one, err));
    o.begins = &begins_b;
    OK(carat_render_json(model, json, &o, &b, &other, err));
    assert_string_equal(one, other);
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.ids, b.ids, (size_t)a.n * sizeof *a.ids);
    assert_int_equal(begins_a.n, begins_b.n);
    assert_memory_equal(begins_a.ids, begins_b.ids, (size_t)begins_a.n * sizeof *begins_a.ids);
    carat_free(one);
    carat_free(other);
    carat_tokens_free(&a);
    carat_tokens_free(&b);
    carat_tokens_free(&begins_a);
    carat_tokens_free(&begins_b);
}

#define ASKED "{\"role\":\"system\",\"content\":\"Be brief.\"},{\"role\":\"user\",\"content\":\"Lights on\"}"
#define CALLED                                                                                               \
    ",{\"role\":\"assistant\",\"content\":[],\"reasoning_content\":\"hm, "                                   \
    "yes\",\"tool_calls\":[{\"id\":\"c1\","                                                                  \
    "\"type\":\"function\",\"function\":{\"name\":\"set_lights\",\"arguments\":{\"room\":\"kitchen\"}}}]},"  \
    "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"done\"}"
#define WENT_ON                                                                                              \
    ",{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"and "                                    \
    "\"},{\"type\":\"text\",\"text\":\"off\"}]}"

static void members(void **state)
{
    carat_talk *t = NULL;
    char *text = NULL;

    (void)state;
    OK(carat_talk_create(&t, err));
    OK(carat_talk_message(t, "system", err));
    OK(carat_talk_text(t, "Be brief.", 9, err));
    OK(carat_talk_message(t, "user", err));
    OK(carat_talk_text(t, "Lights on", 9, err));
    assert_same(t, "[" ASKED "]");
    assert_same(t, "[" ASKED "]");
    OK(carat_talk_message(t, "assistant", err));
    OK(carat_talk_call(t, "c1", "set_lights", "{\"room\":\"kitchen\"}", err));
    OK(carat_talk_thought(t, "hm, ", 4, err));
    OK(carat_talk_thought(t, "yes", 3, err));
    OK(carat_talk_result(t, "c1", NULL, err));
    OK(carat_talk_text(t, "done", 4, err));
    assert_same(t, "[" ASKED CALLED "]");
    OK(carat_talk_message(t, "user", err));
    OK(carat_talk_text(t, "and ", 4, err));
    OK(carat_talk_text(t, "off", 3, err));
    assert_int_equal(carat_talk_count(t), 5);
    assert_same(t, "[" ASKED CALLED WENT_ON "]");
    OK(carat_talk_get(t, 2, CARAT_TALK_THOUGHT, &text, err));
    assert_string_equal(text, "hm, yes");
    carat_free(text);
    OK(carat_talk_get(t, 4, CARAT_TALK_TEXT, &text, err));
    assert_string_equal(text, "and off");
    carat_free(text);
    OK(carat_talk_get(t, 3, CARAT_TALK_ROLE, &text, err));
    assert_string_equal(text, "tool");
    carat_free(text);
    assert_int_equal(carat_talk_get(t, 0, CARAT_TALK_THOUGHT, &text, err), CARAT_E_NOT_FOUND);
    assert_int_equal(carat_talk_get(t, 5, CARAT_TALK_ROLE, &text, err), CARAT_E_ARGUMENT);
    carat_talk_close(t);
}

/* What came in JSON, and what is wrong, beside members. */
static void from_json(void **state)
{
    static const char system[] = "{\"role\":\"system\",\"content\":\"Be brief.\"}",
                      user[] = "{\"role\":\"user\",\"content\":\"Lights \\u006fn\"}",
                      *const bad[] = {"", "[]", "{", "{\"role\":\"user\",\"role\":\"user\"}", "{} {}", "1"};
    carat_talk *t = NULL;

    (void)state;
    OK(carat_talk_create(&t, err));
    OK(carat_talk_json(t, system, strlen(system), err));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(carat_talk_json(t, bad[i], strlen(bad[i]), err), CARAT_E_ARGUMENT);
        assert_non_null(strstr(error.message, "messages[1]"));
    }
    OK(carat_talk_json(t, user, strlen(user), err));
    assert_int_equal(carat_talk_count(t), 2);
    assert_same(t, "[" ASKED "]");
    carat_talk_close(t);
}

static void mistakes(void **state)
{
    carat_talk *t = NULL;
    carat_render_options o;
    carat_tokens ids = {0};
    char *text = NULL;

    (void)state;
    carat_talk_close(NULL);
    assert_int_equal(carat_talk_create(NULL, err), CARAT_E_ARGUMENT);
    OK(carat_talk_create(&t, err));
    assert_int_equal(carat_talk_text(t, "x", 1, err), CARAT_E_ARGUMENT);
    assert_int_equal(carat_talk_call(t, NULL, "f", NULL, err), CARAT_E_ARGUMENT);
    assert_int_equal(carat_talk_result(t, NULL, NULL, err), CARAT_E_ARGUMENT);
    assert_int_equal(carat_talk_message(t, NULL, err), CARAT_E_ARGUMENT);
    assert_int_equal(carat_talk_render(model, t, NULL, &ids, NULL, err), CARAT_E_ARGUMENT);
    OK(carat_talk_message(t, "user", err));
    assert_int_equal(carat_talk_text(t, "\xff", 1, err), CARAT_E_ARGUMENT);
    assert_int_equal(carat_talk_text(t, NULL, 1, err), CARAT_E_ARGUMENT);
    assert_int_equal(carat_talk_call(t, NULL, "f", "[1]", err), CARAT_E_ARGUMENT);
    OK(carat_talk_text(t, "", 0, err));
    OK(carat_talk_text(t, "Lights on", 9, err));
    carat_render_options_default(&o);
    o.most_text = 20; /* bytes, and no id was made */
    assert_int_equal(carat_talk_render(model, t, &o, &ids, &text, err), CARAT_E_CONTEXT);
    assert_true(ids.n == 0 && strlen(text) > 20);
    o.most_text = strlen(text);
    carat_free(text);
    OK(carat_talk_render(model, t, &o, &ids, NULL, err));
    assert_true(ids.n > 0);
    carat_tokens_free(&ids);
    carat_talk_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(members), cmocka_unit_test(from_json),
                                       cmocka_unit_test(mistakes)};
    return cmocka_run_group_tests_name("text: conversations", tests, begin, end);
}

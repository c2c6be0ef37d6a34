/* SPDX-License-Identifier: Apache-2.0 */
/* chat_golden.h: what the tests of the chat templates share: the reference's cases and the shape of a
 * prompt. */
#ifndef CHAT_GOLDEN_H
#define CHAT_GOLDEN_H

#include "text_golden.h"

#include "text/chat/chat.h"

#define USER "[{\"role\":\"user\",\"content\":\"u\"}]"
/* a question, and two calls in answer */
#define CALL                                                                                                 \
    "{\"role\":\"user\",\"content\":\"u\"},{\"role\":\"assistant\",\"content\":null,\"tool_calls\":["        \
    "{\"id\":\"1\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":[1,null,"   \
    "true]}\"}},"                                                                                            \
    "{\"id\":\"2\",\"type\":\"function\",\"function\":{\"name\":\"g\",\"arguments\":\"\"}}]}"

static inline json_t *load(const char *family)
{
    char path[1024];
    json_error_t why;
    snprintf(path, sizeof path, "%s/text/templates/%s.json", CT_TEST_DATA, family);
    json_t *cases = json_load_file(path, 0, &why);
    if (!cases)
        fail_msg("%s: %s", path, why.text);
    return cases;
}

/* With the generation prompt. */
static inline carat_status render(enum ct_chat chat, const char *messages, const char *tools,
                                  struct ct_prompt *p, carat_error *err)
{
    struct ct_chat_options o = {.chat = chat, .tools = tools, .generation_prompt = true};
    return ct_chat_render(&o, messages, p, err);
}

static inline carat_status render_case(enum ct_chat chat, const json_t *test, struct ct_prompt *p,
                                       carat_error *err)
{
    char *messages = json_dumps(json_object_get(test, "messages"), 0);
    json_t *tools = json_object_get(test, "tools");
    char *tool_text = tools ? json_dumps(tools, 0) : NULL;
    struct ct_chat_options o = {.chat = chat,
                                .tools = tool_text,
                                .generation_prompt =
                                    json_is_true(json_object_get(test, "add_generation_prompt"))};
    carat_status status = ct_chat_render(&o, messages, p, err);
    free(messages);
    free(tool_text);
    return status;
}

/* Unused tokens under the names that FunctionGemma's vocabulary gives them, and where the vocabulary is
 * too small to have it, the image marker; takes text over. */
static inline struct ct_bytes with_function_names(struct ct_bytes text, bool image)
{
    static const char *const to[] = {"<start_function_declaration>",
                                     "<end_function_declaration>",
                                     "<start_function_call>",
                                     "<end_function_call>",
                                     "<start_function_response>",
                                     "<end_function_response>",
                                     "<escape>",
                                     "<start_of_image>"};
    char last = image ? '7' : '6';
    size_t n = 0;
    uint8_t *out = malloc(text.size + 1024);
    assert_non_null(out);
    for (size_t i = 0; i < text.size;) {
        const char *s = (const char *)text.data + i;
        if (text.size - i > 12 && memcmp(s, "\"<unused4", 9) == 0 && s[9] >= '0' && s[9] <= last &&
            s[10] == '>') {
            n += (size_t)sprintf((char *)out + n, "\"%s\"", to[s[9] - '0']);
            i += 12;
        } else {
            out[n++] = text.data[i++];
        }
    }
    free((void *)text.data);
    return (struct ct_bytes){out, n};
}

static inline struct ct_tokenizer *open_tokenizer(struct ct_bytes json)
{
    struct ct_tokenizer *t = NULL;
    carat_error err;
    if (ct_tokenizer_from_json(&t, "tokenizer.json", json, NULL, &err) != CARAT_OK)
        fail_msg("%s", err.message);
    free((void *)json.data);
    return t;
}

/* Segments are in order, leave no gap, and are of another kind than the one before or a control token. */
static inline void check_segments(const struct ct_prompt *p)
{
    size_t at = 0;
    assert_true(p->n_segment > 0);
    for (int i = 0; i < p->n_segment; i++) {
        assert_int_equal(p->segment[i].begin, at);
        assert_true(p->segment[i].end > at);
        assert_true(i == 0 || p->segment[i].content != p->segment[i - 1].content ||
                    p->segment[i].control >= 0 || p->segment[i - 1].control >= 0);
        at = p->segment[i].end;
    }
    assert_int_equal(at, p->n);
    assert_int_equal(strlen(p->text), p->n);
}

#endif

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

/* States of Gemma 4's template, as the vectors name them. */
static const char *const state_names[CT_GEMMA4_STATES] = {[CT_GEMMA4_JULY_9] = "july-9",
                                                          [CT_GEMMA4_APRIL_29] = "april-29",
                                                          [CT_GEMMA4_APRIL_10] = "april-10",
                                                          [CT_GEMMA4_INTERLEAVED] = "interleaved",
                                                          [CT_GEMMA4_APRIL_2] = "april-2"};

/* "april-29-small" and the like. */
static inline void choose(struct ct_chat_options *o, const char *name)
{
    const char *small = strstr(name, "-small");
    size_t n = small ? (size_t)(small - name) : strlen(name), state = 0;
    while (state < CT_GEMMA4_STATES &&
           (strlen(state_names[state]) != n || strncmp(state_names[state], name, n) != 0))
        state++;
    assert_true(state < CT_GEMMA4_STATES);
    o->chat = small ? CT_CHAT_GEMMA4_SMALL : CT_CHAT_GEMMA4;
    o->state = (enum ct_gemma4)state;
}

/* With the generation prompt. */
static inline carat_status render(enum ct_chat chat, const char *messages, const char *tools,
                                  struct ct_prompt *p, carat_error *err)
{
    struct ct_chat_options o = {.chat = chat, .tools = tools, .generation_prompt = true};
    return ct_chat_render(&o, messages, p, err);
}

/* The messages and tools of a case; the options take its tools meanwhile. */
static inline carat_status render_json(struct ct_chat_options *o, const json_t *test, struct ct_prompt *p,
                                       carat_error *err)
{
    char *messages = json_dumps(json_object_get(test, "messages"), 0);
    json_t *tools = json_object_get(test, "tools");
    char *tool_text = tools ? json_dumps(tools, 0) : NULL;
    o->tools = tool_text;
    carat_status status = ct_chat_render(o, messages, p, err);
    o->tools = NULL;
    free(messages);
    free(tool_text);
    return status;
}

static inline carat_status render_case(enum ct_chat chat, const json_t *test, struct ct_prompt *p,
                                       carat_error *err)
{
    struct ct_chat_options o = {
        .chat = chat, .generation_prompt = json_is_true(json_object_get(test, "add_generation_prompt"))};
    return render_json(&o, test, p, err);
}

/* The unused tokens from 40 on under these names, as JSON spells them; takes text over. */
static inline struct ct_bytes with_names(struct ct_bytes text, const char *const *name, int n_name)
{
    const char *const old = "\"<unused";
    const size_t n_old = strlen(old);
    size_t n = 0;
    uint8_t *out = malloc(text.size + 1024);
    assert_non_null(out);
    for (size_t i = 0; i < text.size;) {
        const char *s = (const char *)text.data + i;
        int k = n_name;
        if (text.size - i > n_old + 4 && memcmp(s, old, n_old) == 0 && s[n_old + 2] == '>')
            k = (s[n_old] - '4') * 10 + s[n_old + 1] - '0';
        if (k >= 0 && k < n_name) {
            n += (size_t)sprintf((char *)out + n, "\"%s\"", name[k]);
            i += n_old + 4;
        } else {
            out[n++] = text.data[i++];
        }
    }
    free((void *)text.data);
    return (struct ct_bytes){out, n};
}

/* The names that FunctionGemma's vocabulary gives them, and where the vocabulary is too small to have it, the
 * image marker. */
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
    return with_names(text, to, image ? 8 : 7);
}

/* Gemma 4's, as JSON spells them. */
static const char *const gemma4_names[] = {
    "<|tool>",          "<tool|>",    "<|tool_call>", "<tool_call|>", "<|tool_response>",
    "<tool_response|>", "<|\\\"|>",   "<|turn>",      "<turn|>",      "<|think|>",
    "<|channel>",       "<channel|>", "<|image|>",    "<|audio|>",    "<|video|>"};

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

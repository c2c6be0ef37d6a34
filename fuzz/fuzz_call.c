/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_call.c: any ids through the reader of calls, in FunctionGemma's syntax, in Gemma 4's and as JSON, and
 * through what divides thoughts from answers. A byte from 1 on of the input is a control token of the tables
 * below, every other a byte token, so that a call can be read in the input. Checked besides memory: parts are
 * in order and overlap nowhere, but for an id that two calls as JSON share, every one has its text, a call
 * without an error has a name and arguments, a place lies inside its part, calls as JSON are where they are
 * said to begin, and arguments that were read, rendered and read again are the same, but for the order of
 * keys, which Gemma 4's template sorts. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "text/chat/call.h"
#include "text/chat/chat.h"
#include "text/chat/thought.h"
#include "text/tokenizer/tokenizer_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const function_control[] = {"<unk>",
                                               "<start_function_call>",
                                               "<end_function_call>",
                                               "<escape>",
                                               "<start_function_response>",
                                               "<end_function_response>",
                                               "<start_of_turn>",
                                               "<end_of_turn>",
                                               "<bos>"};
static const char *const gemma4_control[] = {
    "<unk>",   "<|tool_call>", "<tool_call|>", "<|\"|>",     "<|tool_response>", "<tool_response|>",
    "<|turn>", "<turn|>",      "<bos>",        "<|channel>", "<channel|>"};

static const char *const json_control[] = {"<unk>", "<start_of_turn>", "<end_of_turn>", "<bos>"};

/* A template that writes calls, with a vocabulary for it. */
struct syntax {
    enum ct_chat chat;
    const char *const *control;
    int n_control;
    bool sorts, json;
    int behind; /* parts behind the calls that it renders */
    struct ct_tokenizer *t;
};

#define SPACE "\xe2\x96\x81" /* as vocabularies spell it */

static const char tools[] =
    "[{\"name\":\"f\",\"parameters\":{\"properties\":{\"a\":{},\"o\":{\"properties\":{\"b\":{}"
    "}},\"l\":{\"items\":{\"properties\":{\"c\":{}}}}}}}]";

static void require(bool condition)
{
    if (!condition)
        abort();
}

/* The control tokens, then all bytes: id = byte + number of control tokens; then the space, as every
 * vocabulary spells it: without that piece a space is encoded as the bytes of its spelling, which are read
 * back as they are. */
static struct ct_tokenizer *vocabulary(const char *const *control, int n_control)
{
    struct ct_tokenizer *t = NULL;
    char s[8];
    require(ct_tokenizer_create(&t, CT_SOURCE_JSON, NULL, NULL) == CARAT_OK);
    t->seed = 1;
    for (int i = 0; i < n_control; i++)
        require(ct_tokenizer_add(t, "fuzz", i, (struct ct_str){control[i], strlen(control[i])},
                                 i ? CT_PIECE_CONTROL : CT_PIECE_UNKNOWN, false, NULL) == CARAT_OK);
    for (int b = 0; b < 256; b++) {
        snprintf(s, sizeof s, "<0x%02X>", (unsigned)b);
        require(ct_tokenizer_add(t, "fuzz", t->n, (struct ct_str){s, 6}, CT_PIECE_BYTE, false, NULL) ==
                CARAT_OK);
    }
    require(ct_tokenizer_add(t, "fuzz", t->n, (struct ct_str){SPACE, 3}, CT_PIECE_NORMAL, false, NULL) ==
            CARAT_OK);
    t->byte_fallback = true;
    ct_tokenizer_name_controls(t);
    require(ct_tokenizer_merges(t, NULL, 0, NULL) == CARAT_OK &&
            ct_tokenizer_finish(t, "fuzz", NULL) == CARAT_OK);
    return t;
}

static void check_parts(const struct syntax *x, const carat_calls *c, int n)
{
    int at = 0;
    for (int i = 0; i < c->n; i++) {
        const carat_part *p = &c->part[i];
        require(p->first >= at - x->json && p->n > 0 && p->first + p->n <= n);
        at = p->first + p->n;
        require(p->n_text > 0 && p->text[p->n_text] == 0);
        require(p->is_call || (!p->name && !p->arguments && !p->error));
        require(!p->is_call || p->error || (p->name && p->arguments));
        require(!p->error || (p->error_id >= p->first && p->error_id < at && p->error_byte <= p->n_text));
    }
}

static struct ct_bytes bytes_of(const char *text)
{
    return (struct ct_bytes){(const uint8_t *)text, strlen(text)};
}

/* Trees are equal when their values, one after another, are. Numbers may be spelled otherwise. */
static void require_equal(const struct ct_json_tree *a, const struct ct_json_tree *b)
{
    const struct ct_json_value *x = a->value, *y = b->value, *end = x + x->span;
    while (x < end) {
        struct ct_str s = ct_json_str(x), t = ct_json_str(y);
        require(x->kind == y->kind && ct_json_count(x) == ct_json_count(y));
        require(s.n == t.n && memcmp(s.s, t.s, s.n) == 0 && ct_json_double(x) == ct_json_double(y));
        x += x->escaped ? 2 : 1;
        y += y->escaped ? 2 : 1;
    }
    require(y == b->value + b->value->span);
}

/* Leaves of a prompt what the model says, which is its last turn but the one that begins behind it. */
static void keep_answer(const struct syntax *x, carat_tokens *ids)
{
    const int32_t turn = ct_tokenizer_control(x->t, CT_CONTROL_START_OF_TURN),
                  end = ct_tokenizer_control(x->t, CT_CONTROL_END_OF_TURN);
    int from = ids->n, n = 0;
    for (int turns = 0; turns < 2; turns += ids->ids[from] == turn)
        from--;
    from += 1 + (int)strlen("model\n"); /* an id is a byte */
    while (ids->ids[from + n] != end)
        n++;
    memmove(ids->ids, ids->ids + from, (size_t)n * sizeof *ids->ids);
    ids->n = n;
}

/* The arguments of a call that was rendered and read again, malloc'd; NULL: the renderer refuses it. */
static char *there_and_back(const struct syntax *x, const char *name, const char *arguments)
{
    struct ct_prompt prompt;
    carat_tokens ids = {0};
    carat_calls calls;
    char *result = NULL;
    const struct ct_chat_options o = {.chat = x->chat, .generation_prompt = true};
    json_t *messages = json_pack("[{s:s, s:s}, {s:s, s:[{s:s, s:s}]}]", "role", "user", "content", "u",
                                 "role", "model", "tool_calls", "name", name, "arguments", arguments);
    char *text = json_dumps(messages, 0);
    json_decref(messages);
    if (text && ct_chat_render(&o, text, &prompt, NULL) == CARAT_OK) {
        require(ct_chat_encode(x->t, &prompt, false, NULL, &ids, NULL) == CARAT_OK);
        if (x->json)
            keep_answer(x, &ids);
        require(ct_calls_parse(x->t, ids.ids, ids.n, NULL, &calls, NULL) == CARAT_OK && calls.n > x->behind);
        const carat_part *back = &calls.part[calls.n - 1 - x->behind];
        require(back->is_call && !back->error && strcmp(back->name, name) == 0);
        result = strdup(back->arguments);
        carat_calls_free(&calls);
        ct_prompt_free(&prompt);
        free(ids.ids);
    }
    free(text);
    return result;
}

static void require_same(const char *a, const char *b)
{
    struct ct_json_tree first = {0}, second = {0};
    require(ct_json_tree_read(&first, CARAT_E_ARGUMENT, "arguments", bytes_of(a), NULL) == CARAT_OK &&
            ct_json_tree_read(&second, CARAT_E_ARGUMENT, "arguments", bytes_of(b), NULL) == CARAT_OK);
    require_equal(&first, &second);
    ct_json_tree_free(&first);
    ct_json_tree_free(&second);
}

/* Renders a call that was read and reads it again. What the renderer refuses (a NUL character) is let
 * pass, and so is the character that spells a space, which is read back as one. */
static void again(const struct syntax *x, const carat_part *p)
{
    if (strstr(p->arguments, SPACE) || strstr(p->name, SPACE))
        return;
    char *once = there_and_back(x, p->name, p->arguments), *twice = NULL;
    if (once && x->sorts) {
        require(strlen(once) > 0 && (twice = there_and_back(x, p->name, once)) != NULL);
        require_same(once, twice);
    } else if (once) {
        require_same(p->arguments, once);
    }
    free(once);
    free(twice);
}

static void read_calls(const struct syntax *x, const uint8_t *data, size_t size, int32_t *ids)
{
    carat_calls calls;
    for (size_t i = 0; i < size; i++)
        ids[i] = data[i] && data[i] < x->n_control ? data[i] : data[i] + x->n_control;
    require(ct_calls_parse(x->t, ids, (int)size, tools, &calls, NULL) == CARAT_OK);
    check_parts(x, &calls, (int)size);
    carat_calls_free(&calls);
    require(ct_calls_parse(x->t, ids, (int)size, NULL, &calls, NULL) == CARAT_OK);
    check_parts(x, &calls, (int)size);
    for (int i = 0; i < calls.n; i++)
        if (calls.part[i].is_call && !calls.part[i].error)
            again(x, &calls.part[i]);
    if (x->json && calls.n)
        require(calls.part[0].is_call || ct_calls_begin(ct_str_of(calls.part[0].text)) <= 0);
    carat_calls_free(&calls);
}

/* Thoughts and answer have all that was written between them, and no token around a thought. */
static void divide(const struct syntax *x, const int32_t *ids, int n, bool inside)
{
    struct ct_thought_marks marks = ct_thought_marks(x->t);
    carat_tokens answer = {0};
    char *text = NULL;
    size_t n_text;
    require(ct_thoughts_split(x->t, ids, n, inside, &answer, &text, &n_text, NULL) == CARAT_OK);
    require(answer.n <= n && n_text <= CT_PIECE_MAX * (size_t)n && text[n_text] == 0);
    require(marks.begin >= 0 || (answer.n == n && n_text == 0));
    for (int i = 0; i < answer.n; i++)
        require(marks.begin < 0 || (answer.ids[i] != marks.begin && answer.ids[i] != marks.end));
    require(ct_thought_turn(&marks, ids, n) <= n);
    free(text);
    carat_tokens_free(&answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct syntax syntaxes[] = {
        {CT_CHAT_FUNCTIONGEMMA, function_control, (int)CT_COUNT(function_control), false, false, 1, NULL},
        {CT_CHAT_GEMMA4, gemma4_control, (int)CT_COUNT(gemma4_control), true, false, 0, NULL},
        {CT_CHAT_GEMMA3, json_control, (int)CT_COUNT(json_control), false, true, 0, NULL},
    };
    int32_t *ids = malloc((size + 1) * sizeof *ids);
    if (!ids)
        return 0;
    for (size_t i = 0; i < CT_COUNT(syntaxes); i++) {
        struct syntax *x = &syntaxes[i];
        if (!x->t)
            x->t = vocabulary(x->control, x->n_control);
        read_calls(x, data, size, ids);
        divide(x, ids, (int)size, false);
        divide(x, ids, (int)size, true);
    }
    free(ids);
    return 0;
}

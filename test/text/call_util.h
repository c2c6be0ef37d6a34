/* SPDX-License-Identifier: Apache-2.0 */
/* call_util.h: texts that a model wrote, read as calls, and random calls that are rendered. */
#ifndef CALL_UTIL_H
#define CALL_UTIL_H

#define _POSIX_C_SOURCE 200809L
#include "chat_golden.h"

#include "text/chat/call.h"

#define S "<start_function_call>"
#define E "<end_function_call>"
#define Q "<escape>"

static void encode(const struct ct_tokenizer *t, const char *text, int flags, carat_tokens *ids)
{
    assert_int_equal(ct_tokenizer_encode(t, text, strlen(text), flags, NULL, ids, NULL), CARAT_OK);
}

static void parse(const struct ct_tokenizer *t, const carat_tokens *ids, const char *tools,
                  carat_calls *calls)
{
    struct ct_call_marks marks;
    carat_error err;
    if (ct_calls_parse(t, ids->ids, ids->n, tools, calls, &err) != CARAT_OK)
        fail_msg("%s", err.message);
    int at = 0;
    for (int i = 0; i < calls->n; i++) {
        const carat_part *p = &calls->part[i];
        /* as JSON, a part may end in the id that the next one begins in */
        assert_true(p->first >= at - !ct_call_marks(t, &marks) && p->n > 0 && p->first + p->n <= ids->n);
        assert_int_equal(strlen(p->text), p->n_text);
        assert_true(p->n_text > 0);
        at = p->first + p->n;
        if (p->error) {
            assert_true(p->error_id >= p->first && p->error_id < at && p->error_byte <= p->n_text);
            char place[32];
            snprintf(place, sizeof place, "at byte %zu: ", p->error_byte);
            assert_int_equal(strncmp(p->error, place, strlen(place)), 0);
        } else if (p->is_call) {
            assert_non_null(p->name);
            assert_non_null(p->arguments);
        }
    }
}

/* What the text, with its control tokens meant, is taken apart into: text as it is, calls as NAME
 * ARGUMENTS, behind a ! what is wrong and where, all with | between. */
static void check(const struct ct_tokenizer *t, const char *text, const char *tools, const char *wanted)
{
    carat_tokens ids = {0};
    carat_calls calls = {.size = sizeof *calls.part};
    char found[2048] = "";
    encode(t, text, CARAT_SPECIAL, &ids);
    parse(t, &ids, tools, &calls);
    for (int i = 0; i < calls.n; i++) {
        const carat_part *p = &calls.part[i];
        size_t n = strlen(found);
        if (!p->is_call)
            n += (size_t)snprintf(found + n, sizeof found - n, "%s%s", i ? "|" : "", p->text);
        else
            n += (size_t)snprintf(found + n, sizeof found - n, "%s%s %s", i ? "|" : "",
                                  p->name ? p->name : "-", p->arguments ? p->arguments : "-");
        if (p->error)
            snprintf(found + n, sizeof found - n, "!%s", p->error);
    }
    if (strcmp(found, wanted) != 0)
        fail_msg("%s\n  gives    %s\n  expected %s", text, found, wanted);
    carat_calls_free(&calls);
    free(ids.ids);
}

/* ---- random calls ---- */

static uint64_t random_state = 1;
static unsigned draw(unsigned n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % n;
}

/* Up to six pieces, of a string also what the syntax is made of. */
static void draw_text(char *out, bool string)
{
    static const char *const words[] = {"a",
                                        "key",
                                        "Zebra",
                                        "get_weather",
                                        "x1",
                                        " ",
                                        "-",
                                        ".",
                                        "0",
                                        "\xc3\xa9",
                                        "\xe6\x97\xa5",
                                        "\xf0\x9f\x99\x82",
                                        "\xc2\xa0",
                                        "\"",
                                        "\\",
                                        "'",
                                        "true",
                                        "\n",
                                        "\t",
                                        "\x01",
                                        S,
                                        E,
                                        Q,
                                        "<bos>",
                                        "<end_of_turn>",
                                        "<|tool_call>",
                                        "<tool_call|>",
                                        "<|\"|>",
                                        "{",
                                        "}",
                                        "[",
                                        "]",
                                        ",",
                                        ":",
                                        "call:",
                                        "\xed\x9f\xbf",
                                        "\xef\xbf\xbf"};
    *out = 0;
    for (unsigned i = draw(7); i > 0; i--)
        strcat(out, words[draw(string ? (unsigned)CT_COUNT(words) : 28)]);
}

static json_t *draw_number(void)
{
    double real;
    uint64_t bits = (uint64_t)draw(1u << 31) << 33 ^ (uint64_t)draw(1u << 31) << 2 ^ draw(4);
    switch (draw(4)) {
    case 0:
        return json_integer((json_int_t)draw(2000) - 1000);
    case 1:
        return json_integer((json_int_t)bits);
    case 2:
        return json_real((double)(int)(draw(20000) - 10000) / 100);
    default:
        memcpy(&real, &bits, sizeof real);
        return json_real(real - real == 0 ? real : 0.1);
    }
}

static json_t *draw_value(int levels);

static json_t *draw_object(int levels)
{
    json_t *object = json_object();
    char key[256];
    for (unsigned i = draw(5); i > 0; i--) {
        draw_text(key, false);
        json_object_set_new(object, key, draw_value(levels));
    }
    return object;
}

static json_t *draw_value(int levels)
{
    char text[256];
    unsigned kind = draw(levels > 0 ? 8 : 6);
    json_t *value;
    switch (kind) {
    case 0:
    case 1:
        draw_text(text, true);
        return json_string(text);
    case 2:
    case 3:
        return draw_number();
    case 4:
        return json_boolean(draw(2));
    case 5:
        return json_null();
    case 6:
        return draw_object(levels - 1);
    default:
        value = json_array();
        for (unsigned i = draw(4); i > 0; i--)
            json_array_append_new(value, draw_value(levels - 1));
        return value;
    }
}

/* Lists and objects, one in another, `levels` of them. */
static json_t *draw_tower(int levels)
{
    json_t *value = draw_object(1), *outer;
    for (; levels > 2; levels--) {
        outer = levels > 3 && draw(2) ? json_array() : json_object();
        if (json_is_array(outer))
            json_array_append_new(outer, value);
        else
            json_object_set_new(outer, "k", value);
        value = outer;
    }
    return value;
}

/* One conversation with as many calls as there are trees, as ids of what the model wrote; the rest is cut
 * off. */
static void render_calls(const struct ct_tokenizer *t, enum ct_chat chat, const char *before,
                         json_t *const *tree, char (*name)[256], int n, carat_tokens *ids)
{
    json_t *calls = json_array();
    for (int i = 0; i < n; i++) {
        char *arguments = json_dumps(tree[i], JSON_REAL_PRECISION(17));
        assert_non_null(arguments);
        json_array_append_new(
            calls, json_pack("{s:{s:s, s:s}}", "function", "name", name[i], "arguments", arguments));
        free(arguments);
    }
    json_t *messages = json_pack("[{s:s, s:s}, {s:s, s:s?, s:o}]", "role", "user", "content", "u", "role",
                                 "assistant", "content", before, "tool_calls", calls);
    char *text = json_dumps(messages, 0);
    struct ct_prompt p;
    carat_error err;
    if (render(chat, text, NULL, &p, &err) != CARAT_OK ||
        ct_chat_encode(t, &p, false, NULL, ids, &err) != CARAT_OK)
        fail_msg("%s: %s", err.message, text);
    ct_prompt_free(&p);
    free(text);
    json_decref(messages);
}

/* A text whose last part is a call that breaks off, of which so much is known; NULL: it is none, or has no
 * name. */
static void breaks_off(const struct ct_tokenizer *t, const char *text, const char *begun)
{
    carat_tokens ids = {0};
    carat_calls calls = {.size = sizeof *calls.part};

    encode(t, text, CARAT_SPECIAL, &ids);
    parse(t, &ids, NULL, &calls);
    const carat_part *p = &calls.part[calls.n - 1];
    if (!begun ? p->begun != NULL : !p->begun || strcmp(p->begun, begun) != 0)
        fail_msg("%s: '%s', expected '%s'", text, p->begun, begun);
    assert_true(!p->begun || (p->name && p->error));
    carat_calls_free(&calls);
    free(ids.ids);
}

#endif

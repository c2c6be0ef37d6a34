/* SPDX-License-Identifier: Apache-2.0 */
/* chat_write.c: what the templates stand on: the writer that builds a prompt segment by segment, and the
 * reading of one message. */
#include "text/chat/chat_parts.h"

#include <limits.h>
#include <stdlib.h>

#include "base/array.h"

/* ---- the writer ---- */

const struct ct_chat_syntax ct_chat_gemma3_syntax = {
    .turn = CT_CONTROL_START_OF_TURN,
    .turn_end = CT_CONTROL_END_OF_TURN,
    .image = CT_CONTROL_START_OF_IMAGE,
    .declaration = CT_CONTROL_START_DECLARATION,
    .declaration_end = CT_CONTROL_END_DECLARATION,
    .call = CT_CONTROL_START_CALL,
    .call_end = CT_CONTROL_END_CALL,
    .response = CT_CONTROL_START_RESPONSE,
    .response_end = CT_CONTROL_END_RESPONSE,
    .quote = CT_CONTROL_ESCAPE,
    .reads_json = true,
};
const struct ct_chat_syntax ct_chat_gemma4_syntax = {
    .turn = CT_CONTROL_TURN,
    .turn_end = CT_CONTROL_TURN_END,
    .image = CT_CONTROL_PICTURE,
    .audio = CT_CONTROL_SOUND,
    .video = CT_CONTROL_VIDEO,
    .declaration = CT_CONTROL_TOOL,
    .declaration_end = CT_CONTROL_TOOL_END,
    .call = CT_CONTROL_TOOL_CALL,
    .call_end = CT_CONTROL_TOOL_CALL_END,
    .response = CT_CONTROL_TOOL_RESPONSE,
    .response_end = CT_CONTROL_TOOL_RESPONSE_END,
    .quote = CT_CONTROL_QUOTE,
    .null_too = "None",
    .sorts = true,
    .id_first = true,
};
const struct ct_chat_syntax ct_chat_json_syntax = {
    .turn = CT_CONTROL_START_OF_TURN,
    .turn_end = CT_CONTROL_END_OF_TURN,
    .image = CT_CONTROL_START_OF_IMAGE,
    .reads_json = true,
    .json = true,
};

void ct_prompt_free(struct ct_prompt *p)
{
    if (!p)
        return;
    free(p->text);
    free(p->segment);
    free(p->message);
    *p = (struct ct_prompt){0};
}

void ct_prompt_cut(struct ct_prompt *p, size_t n)
{
    while (p->n_segment && p->segment[p->n_segment - 1].begin >= n)
        p->n_segment--;
    assert(p->n_segment && p->segment[p->n_segment - 1].end == n);
    p->n = n;
    p->text[n] = 0;
}

static bool extend_segment(struct ct_prompt *p, bool content, int control, size_t n)
{
    struct ct_segment *last = p->n_segment ? &p->segment[p->n_segment - 1] : NULL;
    if (last && last->content == content && last->control < 0 && control < 0) {
        last->end += n;
        return true;
    }
    if (!ct_array_grow(&p->segment, &p->segment_capacity, (size_t)p->n_segment + 1, sizeof *p->segment))
        return false;
    p->segment[p->n_segment++] = (struct ct_segment){p->n, p->n + n, content, control};
    return true;
}

static void writer_append(struct ct_chat_writer *w, bool content, int control, struct ct_str text)
{
    struct ct_prompt *p = w->prompt;
    if (text.n == 0 || w->failed)
        return;
    if (p->n_segment == INT_MAX || !ct_array_grow(&p->text, &p->capacity, p->n + text.n + 1, 1) ||
        !extend_segment(p, content, control, text.n)) {
        w->failed = true;
        return;
    }
    memcpy(p->text + p->n, text.s, text.n);
    p->n += text.n;
    p->text[p->n] = 0;
}

void ct_chat_mark(struct ct_chat_writer *w)
{
    struct ct_prompt *p = w->prompt;
    if (p->n_message == INT_MAX ||
        !ct_array_grow(&p->message, &p->message_capacity, (size_t)p->n_message + 1, sizeof *p->message))
        w->failed = true;
    else
        p->message[p->n_message++] = p->n;
}

void ct_chat_literal(struct ct_chat_writer *w, const char *text)
{
    writer_append(w, false, -1, ct_str_of(text));
}

void ct_chat_control(struct ct_chat_writer *w, enum ct_control c)
{
    writer_append(w, false, (int)c, ct_str_of(ct_controls[c].text));
}

void ct_chat_begin_turn(struct ct_chat_writer *w, const char *role)
{
    ct_chat_control(w, w->syntax->turn);
    ct_chat_literal(w, role);
    ct_chat_literal(w, "\n");
}

void ct_chat_end_turn(struct ct_chat_writer *w)
{
    ct_chat_control(w, w->syntax->turn_end);
    ct_chat_literal(w, "\n");
}

void ct_chat_content(struct ct_chat_writer *w, struct ct_str text)
{
    writer_append(w, true, -1, text);
}

/* ---- one message ---- */

static const char *const role_names[] = {[CT_ROLE_SYSTEM] = "system",
                                         [CT_ROLE_DEVELOPER] = "developer",
                                         [CT_ROLE_USER] = "user",
                                         [CT_ROLE_MODEL] = "model",
                                         [CT_ROLE_TOOL] = "tool"};

const char *ct_role_name(enum ct_role role)
{
    return role_names[role];
}

carat_status ct_chat_role(const struct ct_json_value *message, size_t i, enum ct_role *role, carat_error *err)
{
    const struct ct_json_value *name = ct_json_get(message, "role");
    if (!ct_json_is(message, CT_JSON_OBJECT))
        return ct_fail(err, CARAT_E_ARGUMENT, "messages[%zu]: expected an object", i);
    if (!ct_json_is(name, CT_JSON_STRING))
        return ct_fail(err, CARAT_E_ARGUMENT, "messages[%zu].role: expected a string", i);
    for (int k = 0; k < (int)CT_COUNT(role_names); k++)
        if (ct_json_is_text(name, role_names[k])) {
            *role = (enum ct_role)k;
            return CARAT_OK;
        }
    if (ct_json_is_text(name, "assistant")) {
        *role = CT_ROLE_MODEL;
        return CARAT_OK;
    }
    return ct_fail(err, CARAT_E_ARGUMENT,
                   "messages[%zu].role: unknown role \"%.*s\"; known are system, developer, user, "
                   "assistant, model and tool",
                   i, CT_BRIEF(ct_json_str(name)));
}

static bool is_python_space(uint32_t c)
{
    return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
           c == 0x3000;
}

/* The bytes of the white space that s begins with; 0: none. */
static size_t leading_blank(struct ct_str s)
{
    const uint8_t *p = (const uint8_t *)s.s;
    size_t n = s.n ? ct_utf8_length(p, s.n) : 0;
    return n && is_python_space(ct_utf8_decode(p, n)) ? n : 0;
}

struct ct_str ct_chat_trim(struct ct_str s)
{
    for (size_t n; (n = leading_blank(s)) > 0; s.n -= n)
        s.s += n;
    while (s.n) {
        size_t begin = s.n - 1;
        while (begin && ((uint8_t)s.s[begin] & 0xc0) == 0x80)
            begin--;
        if (!leading_blank((struct ct_str){s.s + begin, s.n - begin}))
            break;
        s.n = begin;
    }
    return s;
}

/* Where a spelled token begins in s, or its end. */
static size_t find_spelled(struct ct_str s, enum ct_control c)
{
    const char *token = ct_controls[c].text;
    size_t n = strlen(token), at = 0;
    while (at + n <= s.n && memcmp(s.s + at, token, n) != 0)
        at++;
    return at + n <= s.n ? at : s.n;
}

/* A text without its thoughts: what stands between the spelled tokens of a channel, and the tokens. */
static void write_answer(struct ct_chat_writer *w, struct ct_str text)
{
    const size_t n_end = strlen(ct_controls[CT_CONTROL_CHANNEL_END].text);
    char *kept = malloc(text.n + 1);
    size_t n = 0;
    if (!kept) {
        w->failed = true;
        return;
    }
    while (text.n) {
        struct ct_str part = {text.s, find_spelled(text, CT_CONTROL_CHANNEL_END)};
        size_t n_kept = find_spelled(part, CT_CONTROL_CHANNEL), n_part = CT_MIN(part.n + n_end, text.n);
        memcpy(kept + n, part.s, n_kept);
        n += n_kept;
        text.s += n_part;
        text.n -= n_part;
    }
    ct_chat_content(w, ct_chat_trim((struct ct_str){kept, n}));
    free(kept);
}

static void write_text(struct ct_chat_writer *w, struct ct_str text, int how)
{
    if (how & CT_CONTENT_ANSWER)
        write_answer(w, text);
    else
        ct_chat_content(w, ct_chat_trim(text));
}

static carat_status write_content_item(struct ct_chat_writer *w, const struct ct_json_value *item, int how,
                                       size_t i, size_t k, carat_error *err)
{
    const struct ct_json_value *type = ct_json_get(item, "type"), *text = ct_json_get(item, "text");
    if (!ct_json_is(type, CT_JSON_STRING))
        return ct_fail(err, CARAT_E_ARGUMENT, "messages[%zu].content[%zu]: expected an object with a type", i,
                       k);
    if (ct_json_is_text(type, "text")) {
        if (!ct_json_is(text, CT_JSON_STRING))
            return ct_fail(err, CARAT_E_ARGUMENT, "messages[%zu].content[%zu].text: expected a string", i, k);
        write_text(w, ct_json_str(text), how);
        return CARAT_OK;
    }
    /* OpenAI's items for pictures, sound and documents: without them the question is another one. */
    bool carrier = ct_json_is_text(type, "image_url") || ct_json_is_text(type, "input_audio") ||
                   ct_json_is_text(type, "file");
    if (!(how & CT_CONTENT_MEDIA) || carrier)
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "messages[%zu].content[%zu].type: \"%.*s\" cannot be rendered, only text", i, k,
                       CT_BRIEF(ct_json_str(type)));
    enum ct_control medium = ct_json_is_text(type, "image")   ? w->syntax->image
                             : ct_json_is_text(type, "audio") ? w->syntax->audio
                             : ct_json_is_text(type, "video") ? w->syntax->video
                                                              : CT_CONTROL_UNK;
    const char *around = medium == w->syntax->audio ? "" : w->media_break;
    if (medium == CT_CONTROL_UNK)
        return CARAT_OK;
    ct_chat_literal(w, around);
    ct_chat_control(w, medium);
    ct_chat_literal(w, around);
    return CARAT_OK;
}

carat_status ct_chat_write_content(struct ct_chat_writer *w, const struct ct_json_value *content, int how,
                                   size_t i, carat_error *err)
{
    size_t k = 0;
    if (ct_json_is(content, CT_JSON_STRING)) {
        write_text(w, ct_json_str(content), how);
    } else if (ct_json_is(content, CT_JSON_ARRAY)) {
        CT_JSON_EACH(item, content)
        CT_TRY(write_content_item(w, item, how, i, k++, err));
    } else {
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "messages[%zu].content: expected a string or a list of text items", i);
    }
    w->content_end = w->prompt->n;
    return CARAT_OK;
}

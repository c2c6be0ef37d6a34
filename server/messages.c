/* SPDX-License-Identifier: Apache-2.0 */
/* messages.c: messages that follow each other in one role are joined, since templates want turns. Everything
 * else about a message is the library's to judge. */
#include "messages.h"

#include "json_write.h"

/* Whether a message is nothing but the text of a user or an assistant. */
static bool is_plain(const struct ct_json_value *message)
{
    const struct ct_json_value *role = ct_json_get(message, "role"),
                               *content = ct_json_get(message, "content");

    if (!ct_json_is_text(role, "user") && !ct_json_is_text(role, "assistant"))
        return false;
    CT_JSON_EACH(part, content)
    if (!ct_json_is_text(ct_json_get(part, "type"), "text") ||
        !ct_json_is(ct_json_get(part, "text"), CT_JSON_STRING))
        return false;
    return (ct_json_is(content, CT_JSON_STRING) || ct_json_is(content, CT_JSON_ARRAY)) &&
           ct_json_count(ct_json_given(message, "tool_calls")) == 0 &&
           !ct_json_given(message, "reasoning_content");
}

static bool goes_on(const struct ct_json_value *before, const struct ct_json_value *message)
{
    return is_plain(before) && is_plain(message) &&
           ct_str_same(ct_json_str(ct_json_get(before, "role")), ct_json_str(ct_json_get(message, "role")));
}

static void add_text(struct buffer *text, const struct ct_json_value *content)
{
    const struct ct_str whole = ct_json_str(content);

    buffer_put(text, whole.s, whole.n);
    CT_JSON_EACH(part, content)
    {
        const struct ct_str s = ct_json_str(ct_json_get(part, "text"));
        buffer_put(text, s.s, s.n);
    }
}

/* The messages from this one on that are one turn. *n counts them; returns the last of them. */
static const struct ct_json_value *put_turn(struct document *d, const struct ct_json_value *message,
                                            bool joins, struct buffer *out, int *n)
{
    const struct ct_json_value *next = ct_json_after(message);
    const struct ct_str role = ct_json_str(ct_json_get(message, "role"));
    struct buffer text = {0};

    *n = 1;
    if (!joins || !next || !goes_on(message, next)) {
        const struct ct_str as_it_is = value_text(d, message);
        buffer_put(out, as_it_is.s, as_it_is.n);
        return message;
    }
    add_text(&text, ct_json_get(message, "content"));
    for (; next && goes_on(message, next); next = ct_json_after(message), ++*n) {
        message = next;
        buffer_text(&text, "\n\n");
        add_text(&text, ct_json_get(message, "content"));
    }
    json_put(out, "{'role':%t,'content':%t}", role.s, role.n, text.data ? text.data : "", text.n);
    out->failed = out->failed || text.failed;
    buffer_free(&text);
    return message;
}

bool messages_join(struct document *d, const struct ct_json_value *messages, bool joins, struct buffer *out,
                   struct buffer *sent)
{
    const struct ct_json_value *message = ct_json_first(messages);
    int n;

    buffer_put(out, "[", 1);
    for (int i = 0; message; message = ct_json_after(message), i += n) {
        if (i)
            buffer_put(out, ",", 1);
        buffer_put(sent, &i, sizeof i);
        message = put_turn(d, message, joins, out, &n);
    }
    buffer_put(out, "]", 1);
    return (buffer_terminate(out) && !sent->failed) ||
           refuse(d->r, 503, NULL, NULL, "there is no memory for the messages");
}

void messages_end_answer(struct buffer *out, const struct buffer *thought, const struct buffer *calls)
{
    if (thought->n)
        json_put(out, ",'reasoning_content':%t", thought->data, thought->n);
    if (calls->n) {
        json_put(out, ",'tool_calls':[");
        buffer_put(out, calls->data, calls->n);
        buffer_text(out, "]");
    }
    buffer_text(out, "}");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* messages.c: messages as templates want them: what an assistant refused is its text, and for templates that
 * take nothing but turns, messages that follow each other in one role are joined. Everything else about a
 * message is the library's to judge. */
#include "messages.h"

#include <stdio.h>

#include "json_write.h"
#include "text/chat/talk.h"

/* ---- one message ---- */

static bool has_role(const struct ct_json_value *message, const char *role)
{
    return ct_json_is_text(ct_json_get(message, "role"), role);
}

static bool is_of_system(const struct ct_json_value *message)
{
    return has_role(message, "system") || has_role(message, "developer");
}

/* The text of a part of a content; NULL: it is of another kind. */
static const struct ct_json_value *text_of_part(const struct ct_json_value *message,
                                                const struct ct_json_value *part)
{
    const struct ct_json_value *type = ct_json_get(part, "type"), *text = NULL;

    if (ct_json_is_text(type, "text"))
        text = ct_json_get(part, "text");
    else if (ct_json_is_text(type, "refusal") && has_role(message, "assistant"))
        text = ct_json_get(part, "refusal");
    return ct_json_is(text, CT_JSON_STRING) ? text : NULL;
}

/* What stands for the content of an assistant that refused to say something; NULL: nothing does. */
static const struct ct_json_value *refused(const struct ct_json_value *message)
{
    const struct ct_json_value *refusal = ct_json_get(message, "refusal");

    return ct_json_is(refusal, CT_JSON_STRING) && has_role(message, "assistant") &&
                   !ct_json_given(message, "content") &&
                   ct_json_count(ct_json_given(message, "tool_calls")) == 0
               ? refusal
               : NULL;
}

static bool has_refused_part(const struct ct_json_value *message)
{
    CT_JSON_EACH(part, ct_json_get(message, "content"))
    if (ct_json_is_text(ct_json_get(part, "type"), "refusal") && text_of_part(message, part))
        return true;
    return false;
}

/* A message with what was refused in it as its text. */
static void add_refused(carat_talk *out, const struct ct_json_value *message)
{
    const struct ct_json_value *whole = refused(message);
    struct ct_json_tree *t = ct_talk_open(out);

    ct_json_tree_string(t, CT_JSON_KEY, ct_str_of("content"));
    if (whole) {
        ct_json_tree_copy(t, whole);
    } else {
        ct_json_tree_open(t, CT_JSON_ARRAY, NULL);
        CT_JSON_EACH(part, ct_json_get(message, "content"))
        {
            const struct ct_json_value *text = text_of_part(message, part);
            if (text)
                ct_talk_put_text(t, ct_json_str(text));
            else
                ct_json_tree_copy(t, part);
        }
        ct_json_tree_close(t);
    }
    CT_JSON_EACH(key, message)
    {
        const struct ct_str name = ct_json_str(key);
        if (ct_str_is(name, "content") || ct_str_is(name, "refusal"))
            continue;
        ct_json_tree_string(t, CT_JSON_KEY, name);
        ct_json_tree_copy(t, ct_json_of_key(key));
    }
    ct_json_tree_close(t);
}

/* A message by itself: as it is, but for what was refused. */
static void add_message(carat_talk *out, const struct ct_json_value *message)
{
    if (refused(message) || has_refused_part(message))
        add_refused(out, message);
    else
        (void)ct_talk_message(out, message, NULL); /* for want of memory it has no list then */
}

/* ---- turns ---- */

/* Whether a message is nothing but a text of this role. */
static bool is_plain(const struct ct_json_value *message)
{
    const struct ct_json_value *content = ct_json_get(message, "content");

    if (!has_role(message, "user") && !has_role(message, "assistant") && !is_of_system(message))
        return false;
    if (ct_json_count(ct_json_given(message, "tool_calls")) || ct_json_given(message, "reasoning_content"))
        return false;
    CT_JSON_EACH(part, content)
    if (!text_of_part(message, part))
        return false;
    return ct_json_is(content, CT_JSON_STRING) || ct_json_is(content, CT_JSON_ARRAY) || refused(message);
}

static void add_text(struct buffer *text, const struct ct_json_value *message)
{
    const struct ct_json_value *content = refused(message);
    const struct ct_str whole = ct_json_str(content ? content : ct_json_get(message, "content"));

    buffer_put(text, whole.s, whole.n);
    if (content)
        return;
    CT_JSON_EACH(part, ct_json_get(message, "content"))
    {
        const struct ct_str s = ct_json_str(text_of_part(message, part));
        buffer_put(text, s.s, s.n);
    }
}

struct turn {
    struct ct_str role;
    struct buffer text;
    int n;
};

/* The messages from this one, number i, on that are one turn. Returns the last of them. */
static const struct ct_json_value *add_turn(const struct ct_json_value *message, int i, bool leads,
                                            struct turn *turn, carat_talk *out, struct buffer *changed)
{
    const struct ct_json_value *next = message;

    turn->n = 0;
    turn->text.n = 0;
    for (; next && is_plain(next); next = ct_json_after(next)) {
        const bool of_user = is_of_system(next) && !leads;
        const struct ct_str role = of_user ? ct_str_of("user") : ct_json_str(ct_json_get(next, "role"));
        const int change = of_user ? -1 - (i + turn->n) : i + turn->n;
        if (turn->n && !ct_str_same(role, turn->role) && !(leads && is_of_system(next)))
            break;
        if (turn->n || of_user)
            buffer_put(changed, &change, sizeof change);
        turn->role = turn->n ? turn->role : role;
        buffer_text(&turn->text, turn->n++ ? "\n\n" : "");
        add_text(&turn->text, next);
        message = next;
    }
    if (turn->n == 0) {
        add_message(out, message);
        turn->n = 1;
    } else {
        char role[16]; /* is_plain knows which there are */
        snprintf(role, sizeof role, "%.*s", (int)turn->role.n, turn->role.s);
        (void)carat_talk_message(out, role, NULL);
        (void)carat_talk_text(out, turn->text.data, turn->text.n, NULL);
    }
    return message;
}

static bool refuse_memory(struct document *d)
{
    return server_refuse(d->r, 503, NULL, NULL, "there is no memory for the messages");
}

carat_talk *messages_talk(struct document *d, const struct ct_json_value *messages, enum messages_how how,
                          struct buffer *sent, struct buffer *changed)
{
    const struct ct_json_value *message = ct_json_first(messages);
    struct turn turn = {.n = 1};
    carat_talk *out = NULL;

    sent->n = 0;
    if (carat_talk_create(&out, NULL) != CARAT_OK)
        message = NULL;
    for (int i = 0; message; message = ct_json_after(message), i += turn.n) {
        buffer_put(sent, &i, sizeof i);
        if (how == MESSAGES_AS_THEY_ARE)
            add_message(out, message);
        else
            message = add_turn(message, i, i == 0 && how == MESSAGES_TURNS && is_of_system(message), &turn,
                               out, changed);
    }
    const bool good = out && !turn.text.failed && !sent->failed && !changed->failed && ct_talk_list(out);
    buffer_free(&turn.text);
    if (good)
        return out;
    carat_talk_close(out);
    refuse_memory(d);
    return NULL;
}

/* ---- of other surfaces ---- */

bool said_begin(struct said *c, struct document *d)
{
    *c = (struct said){.talk = NULL};
    return carat_talk_create(&c->talk, NULL) == CARAT_OK || refuse_memory(d);
}

void said_message(struct said *c, const char *role, int sent)
{
    buffer_put(&c->sent, &sent, sizeof sent);
    (void)carat_talk_message(c->talk, role, NULL);
}

void said_result(struct said *c, struct ct_str call, struct ct_str name, int sent)
{
    buffer_put(&c->sent, &sent, sizeof sent);
    (void)ct_talk_result(c->talk, call, name, NULL);
}

bool said_end(struct said *c, struct document *d)
{
    return (ct_talk_list(c->talk) && !c->sent.failed) || refuse_memory(d);
}

void said_free(struct said *c)
{
    carat_talk_close(c->talk);
    buffer_free(&c->sent);
}

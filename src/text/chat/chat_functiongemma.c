/* SPDX-License-Identifier: Apache-2.0 */
/* chat_functiongemma.c: FunctionGemma's template: the turns; declarations are chat_declare.c, calls and
 * results chat_calls.c.
 *
 * What the published description leaves open is decided here and there: arguments and results keep the order
 * they were given in, text of a model turn stands before its calls, and a result that is no object becomes
 * {value:...}. */
#include "text/chat/chat_calls.h"

#define ACTIVATION "You are a model that can do function calling with the following functions"

struct turns {
    struct ct_chat_writer *w;
    const struct ct_json_value *messages;
    carat_error *err;
    bool open;                  /* a model turn waits for more: a result, or what the model says to it */
    bool pending;               /* ... and the last thing in it is a call */
    struct ct_chat_calls calls; /* the latest */
};

static carat_status write_model(struct turns *c, const struct ct_json_value *message, size_t i)
{
    const struct ct_json_value *content = ct_json_get(message, "content"),
                               *calls = ct_json_get(message, "tool_calls");
    CT_TRY(ct_chat_calls_check(calls, i, c->err));
    ct_chat_mark(c->w);
    if (!c->open)
        ct_chat_begin_turn(c->w, "model");
    if (!ct_json_count(calls) || (content && !ct_json_is(content, CT_JSON_NULL)))
        CT_TRY(ct_chat_write_content(c->w, content, 0, i, c->err));
    c->open = c->pending = ct_json_count(calls) > 0;
    if (!c->open) {
        ct_chat_end_turn(c->w);
        return CARAT_OK;
    }
    return ct_chat_write_calls(c->w, &c->calls, calls, i, c->err);
}

static carat_status write_tool(struct turns *c, const struct ct_json_value *message, size_t i)
{
    if (!c->open)
        return ct_fail(c->err, CARAT_E_ARGUMENT,
                       "messages[%zu].role: a tool message without a call before it", i);
    c->pending = false;
    ct_chat_mark(c->w);
    return ct_chat_write_result(c->w, &c->calls, message, i, c->err);
}

/* Content that is legal and has no text. */
static bool content_is_blank(const struct ct_json_value *content)
{
    if (ct_json_is(content, CT_JSON_STRING))
        return !ct_chat_trim(ct_json_str(content)).n;
    if (!ct_json_is(content, CT_JSON_ARRAY))
        return false;
    CT_JSON_EACH(item, content)
    {
        const struct ct_json_value *text = ct_json_get(item, "text");
        if (!ct_json_is(text, CT_JSON_STRING) || ct_chat_trim(ct_json_str(text)).n)
            return false;
    }
    return true;
}

/* The developer turn: its text switches tools on, the declarations follow directly. Without tools and
 * without text there is none. has_text: the first message is one for this turn. */
static carat_status write_head(struct turns *c, const struct ct_json_value *tools, bool has_text)
{
    struct ct_chat_writer *w = c->w;
    const struct ct_json_value *text = ct_json_get(ct_json_first(c->messages), "content");
    size_t i = 0;
    if (has_text)
        ct_chat_mark(w);
    has_text = has_text && !content_is_blank(text);
    if (!has_text && !ct_json_count(tools))
        return CARAT_OK;
    ct_chat_begin_turn(w, "developer");
    if (has_text)
        CT_TRY(ct_chat_write_content(w, text, 0, 0, c->err));
    else
        ct_chat_literal(w, ACTIVATION);
    CT_JSON_EACH(tool, tools)
    CT_TRY(ct_chat_declaration(w, tool, i++, c->err));
    ct_chat_end_turn(w);
    return CARAT_OK;
}

static carat_status write_message(struct turns *c, const struct ct_json_value *message, size_t i)
{
    enum ct_role role;
    CT_TRY(ct_chat_role(message, i, &role, c->err));
    if (role == CT_ROLE_TOOL)
        return write_tool(c, message, i);
    if (c->pending)
        return ct_fail(c->err, CARAT_E_ARGUMENT,
                       "messages[%zu].role: the results of the tool calls must come next, found %s", i,
                       ct_role_name(role));
    if (role == CT_ROLE_MODEL)
        return write_model(c, message, i);
    if (role != CT_ROLE_USER)
        return ct_fail(c->err, CARAT_E_ARGUMENT,
                       "messages[%zu].role: only the first message may be of role %s", i, ct_role_name(role));
    if (c->open) /* the model said nothing to its results */
        ct_chat_end_turn(c->w);
    c->open = false;
    ct_chat_mark(c->w);
    ct_chat_begin_turn(c->w, "user");
    CT_TRY(ct_chat_write_content(c->w, ct_json_get(message, "content"), 0, i, c->err));
    ct_chat_end_turn(c->w);
    return CARAT_OK;
}

static carat_status write_turns(struct turns *c, const struct ct_json_value *tools)
{
    enum ct_role role;
    size_t i = 0;
    CT_TRY(ct_chat_role(ct_json_first(c->messages), 0, &role, c->err));
    bool has_head = role == CT_ROLE_SYSTEM || role == CT_ROLE_DEVELOPER;
    CT_TRY(write_head(c, tools, has_head));
    CT_JSON_EACH(message, c->messages)
    {
        if (i > 0 || !has_head)
            CT_TRY(write_message(c, message, i));
        i++;
    }
    return CARAT_OK;
}

carat_status ct_chat_render_function(struct ct_chat_writer *w, const struct ct_json_value *messages,
                                     const struct ct_json_value *tools, bool generation_prompt,
                                     carat_error *err)
{
    struct turns c = {.w = w, .messages = messages, .err = err};
    carat_status status = write_turns(&c, tools);
    ct_chat_calls_free(&c.calls);
    if (c.pending) /* the results come next, not the model */
        ct_chat_control(w, CT_CONTROL_START_RESPONSE);
    else if (generation_prompt && !c.open)
        ct_chat_begin_turn(w, "model");
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* chat_gemma.c: the templates of Gemma 1 and 2 and of Gemma 3: one frame, turns that alternate. They agree
 * byte for byte with the Jinja templates of the released checkpoints wherever those give a prompt; where a
 * Jinja template would drop or garble what it was given (tool calls, a picture's address, null), this is
 * an error. */
#include "text/chat/chat_parts.h"

/* What a leading system message says. Only the first item of a list counts and nothing is trimmed: so does
 * the reference. */
static carat_status system_content(const struct ct_json_value *message, bool gemma3, enum ct_role role,
                                   struct ct_str *text, carat_error *err)
{
    if (!gemma3)
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "messages[0].role: the gemma template has no %s role; put the text "
                       "into the first user message",
                       ct_role_name(role));
    const struct ct_json_value *content = ct_json_get(message, "content"), *first = content;
    if (ct_json_is(content, CT_JSON_ARRAY))
        first = ct_json_get(ct_json_first(content), "text");
    if (!ct_json_is(first, CT_JSON_STRING))
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "messages[0].content: a %s message needs a string or a list that "
                       "begins with a text item",
                       ct_role_name(role));
    if (ct_json_count(content) > 1)
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "messages[0].content: the gemma3 template takes one text item in a "
                       "%s message, found %zu",
                       ct_role_name(role), ct_json_count(content));
    *text = ct_json_str(first);
    return CARAT_OK;
}

/* Message i, a turn of the user or not. before: what the system says, in front of the first turn; else
 * NULL. */
static carat_status gemma_turn(struct ct_chat_writer *w, const struct ct_json_value *message, bool gemma3,
                               size_t i, bool users, const struct ct_str *before, carat_error *err)
{
    const char *name = gemma3 ? "gemma3" : "gemma";
    enum ct_role role;
    CT_TRY(ct_chat_role(message, i, &role, err));
    /* The templates ask no more than this; a tool or system message in a model's place passes under its
     * name. */
    if ((role == CT_ROLE_USER) != users)
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "messages[%zu].role: the %s template wants user and assistant in "
                       "turn, beginning with user; found %s",
                       i, name, ct_role_name(role));
    const struct ct_json_value *calls = ct_json_get(message, "tool_calls");
    if (ct_json_is(calls, CT_JSON_ARRAY) && ct_json_count(calls))
        return ct_fail(err, CARAT_E_ARGUMENT, "messages[%zu].tool_calls: the %s template has no tool calls",
                       i, name);
    ct_chat_begin_turn(w, ct_role_name(role));
    if (before) {
        ct_chat_content(w, *before);
        ct_chat_literal(w, "\n\n");
    }
    const struct ct_json_value *content = ct_json_get(message, "content");
    if (!(gemma3 &&
          ct_json_is(content, CT_JSON_OBJECT))) /* the reference walks a mapping's keys and prints none */
        CT_TRY(ct_chat_write_content(w, content, gemma3 ? CT_CONTENT_MEDIA : 0, i, err));
    ct_chat_end_turn(w);
    return CARAT_OK;
}

carat_status ct_chat_render_gemma(struct ct_chat_writer *w, bool gemma3, const struct ct_json_value *messages,
                                  carat_error *err)
{
    const struct ct_json_value *message = ct_json_first(messages);
    struct ct_str text;
    enum ct_role role;
    CT_TRY(ct_chat_role(message, 0, &role, err));
    bool system = role == CT_ROLE_SYSTEM || role == CT_ROLE_DEVELOPER;
    if (system) {
        CT_TRY(system_content(message, gemma3, role, &text, err));
        message = ct_json_after(message);
    }
    for (size_t turn = 0; message; turn++, message = ct_json_after(message))
        CT_TRY(gemma_turn(w, message, gemma3, turn + system, turn % 2 == 0,
                          system && turn == 0 ? &text : NULL, err));
    return CARAT_OK;
}

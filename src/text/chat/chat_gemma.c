/* SPDX-License-Identifier: Apache-2.0 */
/* chat_gemma.c: the templates of Gemma 1 and 2 and of Gemma 3: one frame, turns that alternate. They agree byte for
 * byte with the Jinja templates of the released checkpoints wherever those give a prompt; where a Jinja template
 * would drop or garble what it was given (tool calls, a picture's address, null), this is an error. */
#include "text/chat/chat_parts.h"

carat_status ct_chat_render_gemma(struct ct_chat_writer *w, bool gemma3, const json_t *messages,
                                  carat_error *err)
{
    const char *name = gemma3 ? "gemma3" : "gemma";
    const json_t *system = NULL; /* content of a leading system message */
    struct ct_str system_text = {"", 0};
    size_t first = 0, n = json_array_size(messages);
    enum ct_role role;

    CT_TRY(ct_chat_role(messages, 0, &role, err));
    if (role == CT_ROLE_SYSTEM || role == CT_ROLE_DEVELOPER) {
        if (!gemma3)
            return ct_fail(err, CARAT_E_ARGUMENT,
                           "messages[0].role: the gemma template has no %s role; put the text "
                           "into the first user message",
                           ct_role_name(role));
        system = json_object_get(json_array_get(messages, 0), "content");
        /* Only the first item of a list is used and nothing is trimmed: so does the reference. */
        const json_t *text = system;
        if (json_is_array(system))
            text = json_object_get(json_array_get(system, 0), "text");
        if (!json_is_string(text))
            return ct_fail(err, CARAT_E_ARGUMENT,
                           "messages[0].content: a %s message needs a string or a list that "
                           "begins with a text item",
                           ct_role_name(role));
        if (json_is_array(system) && json_array_size(system) > 1)
            return ct_fail(err, CARAT_E_ARGUMENT,
                           "messages[0].content: the gemma3 template takes one text item in a "
                           "%s message, found %zu",
                           ct_role_name(role), json_array_size(system));
        system_text = ct_json_str(text);
        first = 1;
    }
    for (size_t i = first; i < n; i++) {
        const json_t *message = json_array_get(messages, i);
        CT_TRY(ct_chat_role(messages, i, &role, err));
        /* The templates ask no more than this; a tool or system message in a model's place passes under its name. */
        if ((role == CT_ROLE_USER) != ((i - first) % 2 == 0))
            return ct_fail(err, CARAT_E_ARGUMENT,
                           "messages[%zu].role: the %s template wants user and assistant in "
                           "turn, beginning with user; found %s",
                           i, name, ct_role_name(role));
        if (json_array_size(json_object_get(message, "tool_calls")))
            return ct_fail(err, CARAT_E_ARGUMENT,
                           "messages[%zu].tool_calls: the %s template has no tool calls", i, name);
        ct_chat_literal(w, "<start_of_turn>");
        ct_chat_literal(w, ct_role_name(role));
        ct_chat_literal(w, "\n");
        if (system && i == first) {
            ct_chat_content(w, system_text);
            ct_chat_literal(w, "\n\n");
        }
        const json_t *content = json_object_get(message, "content");
        if (!(gemma3 && json_is_object(content))) /* the reference walks a mapping's keys and prints none */
            CT_TRY(ct_chat_write_content(w, content, gemma3, i, err));
        ct_chat_literal(w, "<end_of_turn>\n");
    }
    return CARAT_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* chat.c: the public side of the chat templates: their names, and rendering. Which one a checkpoint asks for
 * is chat_detect.c's; the templates are chat_gemma.c, chat_functiongemma.c and chat_gemma4.c, which stand on
 * chat_write.c; chat_encode.c turns what was rendered into ids. */
#include "text/chat/chat_parts.h"

static const char *const chat_names[CT_CHATS] = {
    [CT_CHAT_NONE] = "",         [CT_CHAT_GEMMA] = "gemma",
    [CT_CHAT_GEMMA3] = "gemma3", [CT_CHAT_FUNCTIONGEMMA] = "functiongemma",
    [CT_CHAT_GEMMA4] = "gemma4", [CT_CHAT_GEMMA4_SMALL] = "gemma4-small"};

const char *ct_chat_name(enum ct_chat chat)
{
    return chat_names[chat];
}

bool ct_chat_from_name(const char *name, enum ct_chat *chat)
{
    for (int i = CT_CHAT_GEMMA; i < CT_CHATS; i++)
        if (strcmp(name, chat_names[i]) == 0) {
            *chat = (enum ct_chat)i;
            return true;
        }
    return false;
}

bool ct_chat_can_think(enum ct_chat chat)
{
    return chat == CT_CHAT_GEMMA4 || chat == CT_CHAT_GEMMA4_SMALL;
}

/* ---- rendering ---- */

/* The last message can go on: it is the model's and has text alone, which so ends the prompt. */
static carat_status check_continued(const struct ct_json_value *messages, carat_error *err)
{
    const struct ct_json_value *last = NULL;
    enum ct_role role;
    size_t i = ct_json_count(messages) - 1;
    CT_JSON_EACH(message, messages)
    last = message;
    CT_TRY(ct_chat_role(last, i, &role, err));
    if (role != CT_ROLE_MODEL)
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "messages[%zu].role: only an answer of the assistant can be continued, found %s", i,
                       ct_role_name(role));
    if (ct_json_count(ct_json_get(last, "tool_calls")))
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "messages[%zu].tool_calls: an answer with calls cannot be continued", i);
    if (!ct_json_given(last, "content"))
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "messages[%zu].content: an answer without text cannot be continued", i);
    return CARAT_OK;
}

static carat_status render_list(struct ct_chat_writer *w, const struct ct_chat_options *o,
                                const struct ct_json_value *messages, const struct ct_json_value *tools,
                                carat_error *err)
{
    enum ct_chat chat = o->chat;
    size_t n_tool = ct_json_count(tools);
    if (!ct_json_is(messages, CT_JSON_ARRAY) || ct_json_count(messages) == 0)
        return ct_fail(err, CARAT_E_ARGUMENT, "messages: expected a list of at least one message");
    if (o->continues)
        CT_TRY(check_continued(messages, err));
    if (tools && !ct_json_is(tools, CT_JSON_ARRAY))
        return ct_fail(err, CARAT_E_ARGUMENT, "tools: expected a list");
    if (n_tool > CT_CHAT_TOOLS_MAX)
        return ct_fail(err, CARAT_E_ARGUMENT, "tools[%d]: %zu tools found, expected at most %d",
                       CT_CHAT_TOOLS_MAX, n_tool, CT_CHAT_TOOLS_MAX);
    if (o->thinking && !ct_chat_can_think(chat))
        return ct_fail(err, CARAT_E_ARGUMENT, "thinking: the %s template has no thoughts",
                       ct_chat_name(chat));
    ct_chat_control(w, CT_CONTROL_BOS);
    if (chat == CT_CHAT_FUNCTIONGEMMA)
        return ct_chat_render_function(w, messages, tools, o->generation_prompt, err);
    if (ct_chat_can_think(chat))
        return ct_chat_render_gemma4(w, o, messages, tools, err);
    if (n_tool && o->call_tokens)
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "tools: the %s template has calls as JSON, and this vocabulary has tokens for them: "
                       "functiongemma and the templates of Gemma 4 write these",
                       ct_chat_name(chat));
    CT_TRY(ct_chat_render_gemma(w, chat == CT_CHAT_GEMMA3, messages, n_tool ? tools : NULL, err));
    if (o->generation_prompt)
        ct_chat_begin_turn(w, ct_role_name(CT_ROLE_MODEL));
    return CARAT_OK;
}

carat_status ct_chat_render_list(const struct ct_chat_options *o, const struct ct_json_value *messages,
                                 struct ct_prompt *out, carat_error *err)
{
    struct ct_json_tree tool_tree = {0};
    struct ct_chat_writer w = {.prompt = out,
                               .syntax = ct_chat_can_think(o->chat)         ? &ct_chat_gemma4_syntax
                                         : o->chat == CT_CHAT_FUNCTIONGEMMA ? &ct_chat_gemma3_syntax
                                                                            : &ct_chat_json_syntax,
                               .none = "null",
                               .media_break = "",
                               .log = o->log,
                               .user = o->user};
    *out = (struct ct_prompt){0};
    if (o->chat == CT_CHAT_NONE)
        return ct_fail(err, CARAT_E_NOT_FOUND, "chat_template: there is none; known are " CT_CHAT_NAMES);
    carat_status status = CARAT_OK;
    if (o->tools)
        status =
            ct_json_tree_read(&tool_tree, CARAT_E_ARGUMENT, "tools", ct_str_bytes(ct_str_of(o->tools)), err);
    if (status == CARAT_OK)
        status = render_list(&w, o, messages, tool_tree.value, err);
    if (status == CARAT_OK && o->continues && !w.failed)
        ct_prompt_cut(out, w.content_end);
    if (status == CARAT_OK && w.failed)
        status =
            ct_fail(err, CARAT_E_MEMORY, "out of memory after %zu bytes of a rendered conversation", out->n);
    ct_json_tree_free(&tool_tree);
    if (status != CARAT_OK)
        ct_prompt_free(out);
    return status;
}

carat_status ct_chat_render(const struct ct_chat_options *o, const char *messages, struct ct_prompt *out,
                            carat_error *err)
{
    struct ct_json_tree list = {0};
    *out = (struct ct_prompt){0};
    carat_status status =
        ct_json_tree_read(&list, CARAT_E_ARGUMENT, "messages", ct_str_bytes(ct_str_of(messages)), err);
    if (status == CARAT_OK)
        status = ct_chat_render_list(o, list.value, out, err);
    ct_json_tree_free(&list);
    return status;
}

/* ---- messages that are not JSON ---- */

static carat_status add_message(struct ct_json_tree *list, const carat_message *m, const char *name,
                                carat_error *err)
{
    if (m->json) {
        size_t at = list->n;
        CT_TRY(ct_json_tree_read(list, CARAT_E_ARGUMENT, name, ct_str_bytes(ct_str_of(m->json)), err));
        return ct_json_is(&list->value[at], CT_JSON_OBJECT)
                   ? CARAT_OK
                   : ct_fail(err, CARAT_E_ARGUMENT, "%s: a list, expected an object", name);
    }
    if (!m->role || !m->content)
        return ct_fail(err, CARAT_E_ARGUMENT, "%s: it has no %s", name, m->role ? "content" : "role");
    const char *const texts[] = {"role", m->role, "content", m->content};
    ct_json_tree_open(list, CT_JSON_OBJECT, NULL);
    for (size_t i = 0; i < CT_COUNT(texts); i += 2) {
        struct ct_str text = ct_str_of(texts[i + 1]);
        if (!ct_utf8_valid(text.s, text.n))
            return ct_fail(err, CARAT_E_ARGUMENT, "%s: its %s is not UTF-8", name, texts[i]);
        if (text.n > CT_JSON_STRING_MAX)
            return ct_fail(err, CARAT_E_ARGUMENT, "%s: its %s has %zu bytes, expected at most %d", name,
                           texts[i], text.n, CT_JSON_STRING_MAX);
        ct_json_tree_string(list, CT_JSON_KEY, ct_str_of(texts[i]));
        ct_json_tree_string(list, CT_JSON_STRING, text);
    }
    ct_json_tree_close(list);
    return CARAT_OK;
}

carat_status ct_chat_list(struct ct_json_tree *list, const carat_message *messages, int n, carat_error *err)
{
    if (n > CT_JSON_TREE_MAX / 2)
        return ct_fail(err, CARAT_E_ARGUMENT, "messages: %d found, expected at most %d", n,
                       CT_JSON_TREE_MAX / 2);
    ct_json_tree_open(list, CT_JSON_ARRAY, NULL);
    for (int i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "message %d", i);
        CT_TRY(add_message(list, &messages[i], name, err));
    }
    ct_json_tree_close(list);
    return list->failed ? ct_fail(err, CARAT_E_MEMORY, "out of memory for %d messages", n) : CARAT_OK;
}

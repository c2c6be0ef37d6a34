/* SPDX-License-Identifier: Apache-2.0 */
/* chat_gemma.c: the templates of Gemma 1 and 2 and of Gemma 3: one frame, turns that alternate. They agree
 * byte for byte with the Jinja templates of the released checkpoints wherever those give a prompt; where a
 * Jinja template would drop or garble what it was given (a picture's address, null), this is an error.
 *
 * Those templates know no tools. Here they are told in front of the first message of the user, and calls are
 * JSON, {"name": ..., "parameters": {...}}, as Google's guide to calls of functions with Gemma 3 has it;
 * several are a list. Results are what the user says next, each in a block of its own (MODEL.md). */
#include "text/chat/chat_calls.h"
#include "text/chat/chat_declare.h"

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

struct turns {
    struct ct_chat_writer *w;
    bool gemma3;
    const char *name; /* of the template */
    carat_error *err;
    bool users;                 /* the next turn is the user's */
    bool open;                  /* that turn has begun, with results */
    struct ct_chat_calls calls; /* of the newest message of the model */
};

/* ---- tools ---- */

static carat_status write_tool(struct ct_chat_writer *w, const struct ct_json_value *tool, size_t i,
                               carat_error *err)
{
    static const char *const keys[] = {"description", "parameters"};
    const struct ct_json_value *function = ct_chat_function(tool);
    struct ct_declaration d = {.w = w, .tool = i, .err = err};
    struct ct_str description;
    CT_TRY(ct_declare_check(&d, tool, &description));
    ct_chat_literal(w, i ? ",\n{\"name\": " : "{\"name\": ");
    ct_chat_value(w, ct_json_get(function, "name"));
    for (size_t k = 0; k < CT_COUNT(keys); k++) {
        const struct ct_json_value *value = ct_json_given(function, keys[k]);
        if (!value)
            continue;
        ct_chat_literal(w, ", \"");
        ct_chat_literal(w, keys[k]);
        ct_chat_literal(w, "\": ");
        ct_chat_value(w, value);
    }
    ct_chat_literal(w, "}");
    return CARAT_OK;
}

/* What the model is told of its tools; the form of a call is the guide's. */
static carat_status write_tools(struct ct_chat_writer *w, const struct ct_json_value *tools, carat_error *err)
{
    size_t i = 0;
    ct_chat_literal(w,
                    "You can call functions. To call one, answer with nothing but JSON in the form\n"
                    "{\"name\": function name, \"parameters\": dictionary of argument name and its value}\n"
                    "or with a list of such objects for several calls. The functions are\n[\n");
    CT_JSON_EACH(tool, tools)
    CT_TRY(write_tool(w, tool, i++, err));
    ct_chat_literal(w, "\n]\n\n");
    return CARAT_OK;
}

/* ---- turns ---- */

/* The content of message i, and behind it the calls. */
static carat_status write_said(struct turns *t, const struct ct_json_value *message, size_t i)
{
    const struct ct_json_value *content = ct_json_get(message, "content"),
                               *calls = ct_json_get(message, "tool_calls");
    const bool has_calls = ct_json_is(calls, CT_JSON_ARRAY) && ct_json_count(calls);
    const size_t before = t->w->prompt->n;
    /* the reference walks a mapping's keys and prints none */
    const bool none = (t->gemma3 && ct_json_is(content, CT_JSON_OBJECT)) ||
                      (has_calls && (!content || ct_json_is(content, CT_JSON_NULL)));
    if (!none)
        CT_TRY(ct_chat_write_content(t->w, content, t->gemma3 ? CT_CONTENT_MEDIA : 0, i, t->err));
    ct_chat_calls_free(&t->calls);
    if (!has_calls)
        return CARAT_OK;
    ct_chat_literal(t->w, t->w->prompt->n > before ? "\n" : "");
    return ct_chat_write_calls(t->w, &t->calls, calls, i, t->err);
}

/* Message i of the user or the model. */
static carat_status write_turn(struct turns *t, const struct ct_json_value *message, size_t i,
                               enum ct_role role, const struct ct_str *system,
                               const struct ct_json_value *tools)
{
    const struct ct_json_value *calls = ct_json_get(message, "tool_calls");
    if (role != CT_ROLE_MODEL && ct_json_is(calls, CT_JSON_ARRAY) && ct_json_count(calls))
        return ct_fail(t->err, CARAT_E_ARGUMENT,
                       "messages[%zu].tool_calls: only messages of the model have calls, found role %s", i,
                       ct_role_name(role));
    if (!system)
        ct_chat_mark(t->w);
    if (!t->open)
        ct_chat_begin_turn(t->w, ct_role_name(role));
    else
        ct_chat_literal(t->w, "\n");
    t->open = false;
    if (system) {
        ct_chat_content(t->w, *system);
        ct_chat_literal(t->w, "\n\n");
        ct_chat_mark(t->w);
    }
    if (tools)
        CT_TRY(write_tools(t->w, tools, t->err));
    CT_TRY(write_said(t, message, i));
    ct_chat_end_turn(t->w);
    t->users = !t->users;
    return CARAT_OK;
}

/* Message i, a result, which the user says. */
static carat_status write_result(struct turns *t, const struct ct_json_value *message, size_t i)
{
    ct_chat_mark(t->w);
    if (!t->open)
        ct_chat_begin_turn(t->w, ct_role_name(CT_ROLE_USER));
    t->open = true;
    return ct_chat_write_result(t->w, &t->calls, message, i, t->err);
}

static void end_results(struct turns *t)
{
    if (!t->open)
        return;
    ct_chat_end_turn(t->w);
    t->open = false;
    t->users = false;
}

/* Message i; system and tools: what stands before it, or NULL. The templates ask no more of roles than that
 * users come in turn; a tool or system message in a model's place passes under its name. */
static carat_status gemma_message(struct turns *t, const struct ct_json_value *message, size_t i,
                                  const struct ct_str *system, const struct ct_json_value *tools)
{
    enum ct_role role;
    CT_TRY(ct_chat_role(message, i, &role, t->err));
    if (role == CT_ROLE_TOOL && t->users && t->calls.calls)
        return write_result(t, message, i);
    if (role != CT_ROLE_USER)
        end_results(t);
    if ((role == CT_ROLE_USER) != t->users)
        return ct_fail(t->err, CARAT_E_ARGUMENT,
                       "messages[%zu].role: the %s template wants user and assistant in "
                       "turn, beginning with user; found %s",
                       i, t->name, ct_role_name(role));
    return write_turn(t, message, i, role, system, tools);
}

static carat_status gemma_turns(struct turns *t, const struct ct_json_value *messages,
                                const struct ct_json_value *tools)
{
    const struct ct_json_value *message = ct_json_first(messages);
    struct ct_str text;
    enum ct_role role;
    CT_TRY(ct_chat_role(message, 0, &role, t->err));
    bool system = role == CT_ROLE_SYSTEM || role == CT_ROLE_DEVELOPER;
    if (system) {
        CT_TRY(system_content(message, t->gemma3, role, &text, t->err));
        ct_chat_mark(t->w);
        message = ct_json_after(message);
    }
    if (tools && !message)
        return ct_fail(t->err, CARAT_E_ARGUMENT,
                       "tools: the %s template tells them before the first user message, and there is none",
                       t->name);
    for (size_t i = system; message; i++, message = ct_json_after(message)) {
        const bool first = i == (size_t)system;
        CT_TRY(gemma_message(t, message, i, system && first ? &text : NULL, first ? tools : NULL));
    }
    end_results(t);
    return CARAT_OK;
}

carat_status ct_chat_render_gemma(struct ct_chat_writer *w, bool gemma3, const struct ct_json_value *messages,
                                  const struct ct_json_value *tools, carat_error *err)
{
    struct turns t = {
        .w = w, .gemma3 = gemma3, .name = gemma3 ? "gemma3" : "gemma", .err = err, .users = true};
    const carat_status status = gemma_turns(&t, messages, tools);
    ct_chat_calls_free(&t.calls);
    return status;
}

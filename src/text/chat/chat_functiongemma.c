/* SPDX-License-Identifier: Apache-2.0 */
/* chat_functiongemma.c: FunctionGemma's template: the turns, the calls and their results; declarations are chat_declare.c.
 * Control tokens are the template's; every name, argument and result is content, so that a spelled <escape> or
 * <end_of_turn> in one of them stays text.
 *
 * What the published description leaves open is decided here: arguments and results keep the order they were given
 * in, text of a model turn stands before its calls, and a result that is no object becomes {value:...}. Trees are
 * at most CT_TREE_DEPTH deep, which bounds the recursion. */
#include "text/chat/chat_parts.h"

#include <stdio.h>
#include <stdlib.h>

#define ACTIVATION "You are a model that can do function calling with the following functions"

/* ---- values ---- */

void ct_chat_escaped(struct ct_chat_writer *w, struct ct_str s)
{
    ct_chat_literal(w, "<escape>");
    ct_chat_content(w, s);
    ct_chat_literal(w, "<escape>");
}

/* As Python prints a float: the fewest digits that read back the same, always with a point or an exponent. The
 * digits are taken from between whatever decimal point the locale has. */
static void write_real(struct ct_chat_writer *w, double v)
{
    char text[40], digit[20], out[48];
    int n_digit = 0, n = 0;
    for (int precision = 0; precision <= 16; precision++) {
        snprintf(text, sizeof text, "%.*e", precision, v);
        if (strtod(text, NULL) == v)
            break;
    }
    const char *e = strchr(text, 'e');
    int exponent = atoi(e + 1);
    for (const char *s = text; s < e; s++)
        if (*s >= '0' && *s <= '9')
            digit[n_digit++] = *s;
    while (n_digit > 1 && digit[n_digit - 1] == '0')
        n_digit--;
    if (text[0] == '-')
        out[n++] = '-';
    if (exponent < -4 || exponent >= 16) {
        out[n++] = digit[0];
        if (n_digit > 1)
            out[n++] = '.';
        for (int i = 1; i < n_digit; i++)
            out[n++] = digit[i];
        n += snprintf(out + n, sizeof out - (size_t)n, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
    } else {
        int first = CT_MIN(exponent, 0),
            last = CT_MAX(n_digit - 1, exponent + 1); /* places around the point */
        for (int i = first; i <= last; i++) {
            out[n++] = i >= 0 && i < n_digit ? digit[i] : '0';
            if (i == exponent)
                out[n++] = '.';
        }
    }
    ct_chat_content(w, (struct ct_str){out, (size_t)n});
}

static void write_members(struct ct_chat_writer *w, const json_t *object)
{
    const char *key, *comma = "";
    json_t *value;
    ct_chat_literal(w, "{");
    json_object_foreach((json_t *)object, key, value)
    {
        ct_chat_literal(w, comma);
        ct_chat_content(w, (struct ct_str){key, strlen(key)});
        ct_chat_literal(w, ":");
        ct_chat_value(w, value);
        comma = ",";
    }
    ct_chat_literal(w, "}");
}

static void write_list(struct ct_chat_writer *w, const json_t *list)
{
    ct_chat_literal(w, "[");
    for (size_t i = 0; i < json_array_size(list); i++) {
        ct_chat_literal(w, i ? "," : "");
        ct_chat_value(w, json_array_get(list, i));
    }
    ct_chat_literal(w, "]");
}

void ct_chat_value(struct ct_chat_writer *w, const json_t *v)
{
    char number[32];
    switch (json_typeof(v)) {
    case JSON_STRING:
        ct_chat_escaped(w, ct_json_str(v));
        break;
    case JSON_OBJECT:
        write_members(w, v);
        break;
    case JSON_ARRAY:
        write_list(w, v);
        break;
    case JSON_INTEGER:
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
        ct_chat_content(w, (struct ct_str){number, strlen(number)});
        break;
    case JSON_REAL:
        write_real(w, json_real_value(v));
        break;
    case JSON_TRUE:
        ct_chat_literal(w, "true");
        break;
    case JSON_FALSE:
        ct_chat_literal(w, "false");
        break;
    case JSON_NULL:
        ct_chat_literal(w, "null");
        break;
    }
}

/* ---- calls ---- */

struct turns {
    struct ct_chat_writer *w;
    const json_t *messages;
    carat_error *err;
    bool open;           /* a model turn waits for more: a result, or what the model says to it */
    bool pending;        /* ... and the last thing in it is a call */
    const json_t *calls; /* the latest tool_calls */
    size_t answered;     /* how many of them have results */
    json_t *by_id;       /* owned: the id of a call -> its index; results may be as many as calls */
};

/* The function of call k: {"function": {...}} or the bare object. */
static const json_t *function_of(const json_t *calls, size_t k)
{
    const json_t *call = json_array_get(calls, k), *function = json_object_get(call, "function");
    return function ? function : call;
}

/* Makes the index from ids to the latest calls; of equal ids the first counts. */
static carat_status index_calls(struct turns *c)
{
    json_decref(c->by_id);
    c->by_id = json_object();
    bool failed = !c->by_id;
    for (size_t k = 0; !failed && k < json_array_size(c->calls); k++) {
        const json_t *id = json_object_get(json_array_get(c->calls, k), "id");
        if (json_is_string(id) && !json_object_get(c->by_id, json_string_value(id)))
            failed = json_object_set_new_nocheck(c->by_id, json_string_value(id),
                                                 json_integer((json_int_t)k)) != 0;
    }
    return failed ? ct_fail(c->err, CARAT_E_MEMORY, "out of memory for %zu tool calls",
                            json_array_size(c->calls))
                  : CARAT_OK;
}

static carat_status write_call(struct turns *c, size_t i, size_t k)
{
    const json_t *function = function_of(c->calls, k);
    const json_t *name = json_object_get(function, "name"),
                 *arguments = json_object_get(function, "arguments");
    json_t *parsed = NULL;
    char where[96];
    snprintf(where, sizeof where, "messages[%zu].tool_calls[%zu]", i, k);
    if (!json_is_string(name) || !json_string_length(name))
        return ct_fail(c->err, CARAT_E_ARGUMENT, "%s: a call needs a function name", where);
    snprintf(where, sizeof where, "messages[%zu].tool_calls[%zu].arguments", i, k);
    if (json_string_length(arguments)) {
        struct ct_str text = ct_json_str(arguments);
        CT_TRY(ct_tree_parse(&parsed, CARAT_E_ARGUMENT, where, text.s, text.n, c->err));
        arguments = parsed;
    }
    bool none = !arguments || json_is_null(arguments) || json_is_string(arguments);
    if (!none && !json_is_object(arguments)) {
        json_decref(parsed);
        return ct_fail(c->err, CARAT_E_ARGUMENT, "%s: expected a JSON object", where);
    }
    ct_chat_literal(c->w, "<start_function_call>call:");
    ct_chat_content(c->w, ct_json_str(name));
    if (none)
        ct_chat_literal(c->w, "{}");
    else
        write_members(c->w, arguments);
    ct_chat_literal(c->w, "<end_function_call>");
    json_decref(parsed);
    return CARAT_OK;
}

static carat_status write_model(struct turns *c, size_t i)
{
    const json_t *message = json_array_get(c->messages, i);
    const json_t *content = json_object_get(message, "content"),
                 *calls = json_object_get(message, "tool_calls");
    if (calls && !json_is_null(calls) && !json_is_array(calls))
        return ct_fail(c->err, CARAT_E_ARGUMENT, "messages[%zu].tool_calls: expected a list", i);
    if (!c->open)
        ct_chat_literal(c->w, "<start_of_turn>model\n");
    if (!json_array_size(calls) || (content && !json_is_null(content)))
        CT_TRY(ct_chat_write_content(c->w, content, false, i, c->err));
    c->open = c->pending = json_array_size(calls) > 0;
    if (!c->open) {
        ct_chat_literal(c->w, "<end_of_turn>\n");
        return CARAT_OK;
    }
    c->calls = calls;
    c->answered = 0;
    CT_TRY(index_calls(c));
    for (size_t k = 0; k < json_array_size(calls); k++)
        CT_TRY(write_call(c, i, k));
    return CARAT_OK;
}

/* ---- results ---- */

static void write_response(struct turns *c, struct ct_str name, const json_t *value)
{
    ct_chat_literal(c->w, "<start_function_response>response:");
    ct_chat_content(c->w, name);
    if (json_is_object(value)) {
        write_members(c->w, value);
    } else {
        ct_chat_literal(c->w, "{value:");
        ct_chat_value(c->w, value);
        ct_chat_literal(c->w, "}");
    }
    ct_chat_literal(c->w, "<end_function_response>");
}

/* {"name": ..., "response": ...}: a result that names its function itself. */
static bool names_itself(const json_t *result)
{
    return json_is_string(json_object_get(result, "name")) && json_object_get(result, "response");
}

/* Which function message i is the result of: its name, or the call that tool_call_id points at, or the next call
 * without a result. */
static carat_status result_name(struct turns *c, size_t i, struct ct_str *name)
{
    const json_t *message = json_array_get(c->messages, i), *given = json_object_get(message, "name");
    const json_t *id = json_object_get(message, "tool_call_id");
    size_t k = c->answered;
    if (json_is_string(given) && json_string_length(given)) {
        *name = ct_json_str(given);
        return CARAT_OK;
    }
    if (json_is_string(id)) {
        const json_t *index = json_object_get(c->by_id, json_string_value(id));
        if (!index)
            return ct_fail(c->err, CARAT_E_ARGUMENT,
                           "messages[%zu].tool_call_id: \"%.*s\" is none of the calls before "
                           "it",
                           i, CT_JSON_QUOTE(id));
        k = (size_t)json_integer_value(index);
    }
    *name = ct_json_str(json_object_get(function_of(c->calls, k), "name"));
    return CARAT_OK;
}

/* The texts of a list of {"type":"text"} items, joined untouched; NULL without memory. */
static json_t *joined_text(const json_t *list)
{
    size_t size = 0, at = 0;
    for (size_t k = 0; k < json_array_size(list); k++)
        size += json_string_length(json_object_get(json_array_get(list, k), "text"));
    char *text = malloc(size + 1);
    for (size_t k = 0; text && k < json_array_size(list); k++) {
        const json_t *item = json_object_get(json_array_get(list, k), "text");
        if (json_string_length(item))
            memcpy(text + at, json_string_value(item), json_string_length(item));
        at += json_string_length(item);
    }
    json_t *joined = text ? json_stringn_nocheck(text, size) : NULL;
    free(text);
    return joined;
}

/* One result. Text that is a JSON object is printed as that object, the form the model was trained on: OpenAI's
 * clients can only send text. */
static carat_status write_result(struct turns *c, size_t i, const json_t *content)
{
    struct ct_str name;
    if (c->answered == json_array_size(c->calls))
        return ct_fail(c->err, CARAT_E_ARGUMENT,
                       "messages[%zu]: more results than calls: the model asked for %zu", i,
                       json_array_size(c->calls));
    if (names_itself(content)) {
        c->answered++;
        write_response(c, ct_json_str(json_object_get(content, "name")),
                       json_object_get(content, "response"));
        return CARAT_OK;
    }
    CT_TRY(result_name(c, i, &name));
    c->answered++;
    json_t *parsed = NULL;
    if (json_is_string(content)) {
        struct ct_str text = ct_chat_trim(ct_json_str(content));
        if (text.n && text.s[0] == '{' &&
            ct_tree_parse(&parsed, CARAT_E_ARGUMENT, "content", text.s, text.n, NULL) == CARAT_E_MEMORY)
            return ct_fail(c->err, CARAT_E_MEMORY, "messages[%zu].content: out of memory", i);
    }
    write_response(c, name, parsed ? parsed : content);
    json_decref(parsed);
    return CARAT_OK;
}

static bool all_text_items(const json_t *list)
{
    for (size_t k = 0; k < json_array_size(list); k++) {
        const json_t *item = json_array_get(list, k), *type = json_object_get(item, "type");
        if (!json_is_string(type) || strcmp(json_string_value(type), "text") != 0 ||
            !json_is_string(json_object_get(item, "text")))
            return false;
    }
    return true;
}

static carat_status write_tool(struct turns *c, size_t i)
{
    const json_t *content = json_object_get(json_array_get(c->messages, i), "content");
    if (!c->open)
        return ct_fail(c->err, CARAT_E_ARGUMENT,
                       "messages[%zu].role: a tool message without a call before it", i);
    if (json_is_array(content) && all_text_items(content)) {
        json_t *text = joined_text(content);
        if (!text)
            return ct_fail(c->err, CARAT_E_MEMORY, "messages[%zu].content: out of memory", i);
        carat_status status = write_result(c, i, text);
        json_decref(text);
        CT_TRY(status);
    } else if (json_is_array(content)) {
        for (size_t k = 0; k < json_array_size(content); k++) {
            if (!names_itself(json_array_get(content, k)))
                return ct_fail(c->err, CARAT_E_ARGUMENT,
                               "messages[%zu].content[%zu]: expected text items, or objects "
                               "with name and response",
                               i, k);
            CT_TRY(write_result(c, i, json_array_get(content, k)));
        }
    } else if (json_is_string(content) || json_is_object(content)) {
        CT_TRY(write_result(c, i, content));
    } else {
        return ct_fail(c->err, CARAT_E_ARGUMENT,
                       "messages[%zu].content: expected a string, a list or an object", i);
    }
    c->pending = false;
    return CARAT_OK;
}

/* ---- the conversation ---- */

/* Content that is legal and has no text. */
static bool is_blank(const json_t *content)
{
    for (size_t k = 0; k < json_array_size(content); k++) {
        const json_t *text = json_object_get(json_array_get(content, k), "text");
        if (!json_is_string(text) || ct_chat_trim(ct_json_str(text)).n)
            return false;
    }
    return json_is_array(content) || (json_is_string(content) && !ct_chat_trim(ct_json_str(content)).n);
}

/* The developer turn: its text switches tools on, the declarations follow directly. Without tools and without text
 * there is none. */
static carat_status write_head(struct turns *c, const json_t *tools, bool has_text)
{
    struct ct_chat_writer *w = c->w;
    size_t n = json_array_size(tools);
    const json_t *text = json_object_get(json_array_get(c->messages, 0), "content");
    has_text = has_text && !is_blank(text);
    if (!has_text && !n)
        return CARAT_OK;
    ct_chat_literal(w, "<start_of_turn>developer\n");
    if (has_text)
        CT_TRY(ct_chat_write_content(w, text, false, 0, c->err));
    else
        ct_chat_literal(w, ACTIVATION);
    for (size_t i = 0; i < n; i++)
        CT_TRY(ct_chat_declaration(w, tools, i, c->err));
    ct_chat_literal(w, "<end_of_turn>\n");
    return CARAT_OK;
}

static carat_status write_message(struct turns *c, size_t i)
{
    enum ct_role role;
    CT_TRY(ct_chat_role(c->messages, i, &role, c->err));
    if (role == CT_ROLE_TOOL)
        return write_tool(c, i);
    if (c->pending)
        return ct_fail(c->err, CARAT_E_ARGUMENT,
                       "messages[%zu].role: the results of the tool calls must come next, found %s", i,
                       ct_role_name(role));
    if (role == CT_ROLE_MODEL)
        return write_model(c, i);
    if (role != CT_ROLE_USER)
        return ct_fail(c->err, CARAT_E_ARGUMENT,
                       "messages[%zu].role: only the first message may be of role %s", i, ct_role_name(role));
    if (c->open) /* the model said nothing to its results */
        ct_chat_literal(c->w, "<end_of_turn>\n");
    c->open = false;
    ct_chat_literal(c->w, "<start_of_turn>user\n");
    CT_TRY(ct_chat_write_content(c->w, json_object_get(json_array_get(c->messages, i), "content"), false, i,
                                 c->err));
    ct_chat_literal(c->w, "<end_of_turn>\n");
    return CARAT_OK;
}

static carat_status write_turns(struct turns *c, const json_t *tools)
{
    enum ct_role role;
    CT_TRY(ct_chat_role(c->messages, 0, &role, c->err));
    bool has_text = role == CT_ROLE_SYSTEM || role == CT_ROLE_DEVELOPER;
    CT_TRY(write_head(c, tools, has_text));
    for (size_t i = has_text; i < json_array_size(c->messages); i++)
        CT_TRY(write_message(c, i));
    return CARAT_OK;
}

carat_status ct_chat_render_function(struct ct_chat_writer *w, const json_t *messages, const json_t *tools,
                                     bool generation_prompt, carat_error *err)
{
    struct turns c = {.w = w, .messages = messages, .err = err};
    carat_status status = write_turns(&c, tools);
    json_decref(c.by_id);
    if (c.pending) /* the results come next, not the model */
        ct_chat_literal(w, "<start_function_response>");
    else if (generation_prompt && !c.open)
        ct_chat_literal(w, "<start_of_turn>model\n");
    return status;
}

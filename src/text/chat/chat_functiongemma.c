/* SPDX-License-Identifier: Apache-2.0 */
/* chat_functiongemma.c: FunctionGemma's template: the turns, the calls and their results; declarations are
 * chat_declare.c. Control tokens are the template's; every name, argument and result is content, so that a
 * spelled <escape> or <end_of_turn> in one of them stays text.
 *
 * What the published description leaves open is decided here: arguments and results keep the order they
 * were given in, text of a model turn stands before its calls, and a result that is no object becomes
 * {value:...}. Trees are at most CT_JSON_DEPTH deep, which bounds the recursion. */
#include "text/chat/chat_parts.h"

#include <stdlib.h>

#define ACTIVATION "You are a model that can do function calling with the following functions"

/* ---- calls ---- */

/* A call with an id, for the results that name it. */
struct known_call {
    struct ct_str id;
    const struct ct_json_value *call;
};

struct turns {
    struct ct_chat_writer *w;
    const struct ct_json_value *messages;
    carat_error *err;
    bool open;    /* a model turn waits for more: a result, or what the model says to it */
    bool pending; /* ... and the last thing in it is a call */
    const struct ct_json_value *calls; /* the latest tool_calls */
    const struct ct_json_value *next;  /* the first of them without one */
    struct known_call *known;          /* owned: those with an id, sorted; results may be as many as calls */
    size_t n_known;
};

static int by_id(const void *a, const void *b)
{
    const struct known_call *x = a, *y = b;
    if (x->id.n != y->id.n)
        return x->id.n < y->id.n ? -1 : 1;
    int order = memcmp(x->id.s, y->id.s, x->id.n);
    return order ? order : (x->call > y->call) - (x->call < y->call);
}

/* Sorts the latest calls by their ids. */
static carat_status index_calls(struct turns *c)
{
    size_t n = ct_json_count(c->calls);
    free(c->known);
    c->n_known = 0;
    c->known = malloc(n * sizeof *c->known);
    if (!c->known)
        return ct_fail(c->err, CARAT_E_MEMORY, "out of memory for %zu tool calls", n);
    CT_JSON_EACH(call, c->calls)
    {
        const struct ct_json_value *id = ct_json_get(call, "id");
        if (ct_json_is(id, CT_JSON_STRING))
            c->known[c->n_known++] = (struct known_call){ct_json_str(id), call};
    }
    qsort(c->known, c->n_known, sizeof *c->known, by_id);
    return CARAT_OK;
}

/* The first of the latest calls with that id; NULL: none. */
static const struct ct_json_value *find_call(const struct turns *c, struct ct_str id)
{
    size_t lo = 0, hi = c->n_known;
    const struct known_call wanted = {id, NULL};
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (by_id(&c->known[mid], &wanted) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < c->n_known && ct_str_same(c->known[lo].id, id) ? c->known[lo].call : NULL;
}

static void write_named_call(struct ct_chat_writer *w, struct ct_str name,
                             const struct ct_json_value *arguments)
{
    ct_chat_control(w, CT_CONTROL_START_CALL);
    ct_chat_literal(w, "call:");
    ct_chat_content(w, name);
    ct_chat_members(w, arguments);
    ct_chat_control(w, CT_CONTROL_END_CALL);
}

/* Call k of message i. Arguments may be an object or, as OpenAI sends them, the text of one. */
static carat_status write_call(struct turns *c, const struct ct_json_value *call, size_t i, size_t k)
{
    const struct ct_json_value *function = ct_chat_function(call),
                               *arguments = ct_json_get(function, "arguments");
    struct ct_str name = ct_json_str(ct_json_get(function, "name")), text = ct_json_str(arguments);
    struct ct_json_tree parsed = {0};
    carat_status status = CARAT_OK;
    char where[96];
    if (name.n == 0)
        return ct_fail(c->err, CARAT_E_ARGUMENT,
                       "messages[%zu].tool_calls[%zu]: a call needs a function name", i, k);
    snprintf(where, sizeof where, "messages[%zu].tool_calls[%zu].arguments", i, k);
    if (text.n) {
        status = ct_json_tree_read(&parsed, CARAT_E_ARGUMENT, where, ct_str_bytes(text), c->err);
        arguments = parsed.value;
    } else if (ct_json_is(arguments, CT_JSON_STRING) || ct_json_is(arguments, CT_JSON_NULL)) {
        arguments = NULL;
    }
    if (!status && arguments && !ct_json_is(arguments, CT_JSON_OBJECT))
        status = ct_fail(c->err, CARAT_E_ARGUMENT, "%s: expected a JSON object", where);
    if (!status)
        write_named_call(c->w, name, arguments);
    ct_json_tree_free(&parsed);
    return status;
}

static carat_status write_model(struct turns *c, const struct ct_json_value *message, size_t i)
{
    const struct ct_json_value *content = ct_json_get(message, "content"),
                               *calls = ct_json_get(message, "tool_calls");
    size_t k = 0;
    if (calls && !ct_json_is(calls, CT_JSON_NULL) && !ct_json_is(calls, CT_JSON_ARRAY))
        return ct_fail(c->err, CARAT_E_ARGUMENT, "messages[%zu].tool_calls: expected a list", i);
    if (!c->open)
        ct_chat_begin_turn(c->w, "model");
    if (!ct_json_count(calls) || (content && !ct_json_is(content, CT_JSON_NULL)))
        CT_TRY(ct_chat_write_content(c->w, content, 0, i, c->err));
    c->open = c->pending = ct_json_count(calls) > 0;
    if (!c->open) {
        ct_chat_end_turn(c->w);
        return CARAT_OK;
    }
    c->calls = calls;
    c->next = ct_json_first(calls);
    CT_TRY(index_calls(c));
    CT_JSON_EACH(call, calls)
    CT_TRY(write_call(c, call, i, k++));
    return CARAT_OK;
}

/* ---- results ---- */

/* value NULL: the text is the result. */
static void write_response(struct turns *c, struct ct_str name, const struct ct_json_value *value,
                           struct ct_str text)
{
    ct_chat_control(c->w, CT_CONTROL_START_RESPONSE);
    ct_chat_literal(c->w, "response:");
    ct_chat_content(c->w, name);
    if (ct_json_is(value, CT_JSON_OBJECT)) {
        ct_chat_members(c->w, value);
    } else {
        ct_chat_literal(c->w, "{value:");
        if (value)
            ct_chat_value(c->w, value);
        else
            ct_chat_escaped(c->w, text);
        ct_chat_literal(c->w, "}");
    }
    ct_chat_control(c->w, CT_CONTROL_END_RESPONSE);
}

/* {"name": ..., "response": ...}: a result that names its function itself. */
static bool names_itself(const struct ct_json_value *result)
{
    return ct_json_is(ct_json_get(result, "name"), CT_JSON_STRING) && ct_json_get(result, "response");
}

/* The function of message i, the result of the next call: what the result itself says, which may be NULL;
 * else by the message's name, else by the call that tool_call_id names, else by the call that is next. */
static carat_status result_name(struct turns *c, const struct ct_json_value *message, size_t i,
                                const struct ct_json_value *own, struct ct_str *name)
{
    const struct ct_json_value *id = ct_json_get(message, "tool_call_id"), *call = c->next;
    if (!call)
        return ct_fail(c->err, CARAT_E_ARGUMENT,
                       "messages[%zu]: more results than calls: the model asked for %zu", i,
                       ct_json_count(c->calls));
    c->next = ct_json_after(call);
    *name = ct_json_str(own ? own : ct_json_get(message, "name"));
    if (own || name->n)
        return CARAT_OK;
    if (ct_json_is(id, CT_JSON_STRING) && !(call = find_call(c, ct_json_str(id))))
        return ct_fail(c->err, CARAT_E_ARGUMENT,
                       "messages[%zu].tool_call_id: \"%.*s\" is none of the calls before it", i,
                       CT_BRIEF(ct_json_str(id)));
    *name = ct_json_str(ct_json_get(ct_chat_function(call), "name"));
    return CARAT_OK;
}

/* The texts of a list of {"type":"text"} items, joined untouched, malloc'd; s is NULL without memory. */
static struct ct_str joined_text(const struct ct_json_value *list)
{
    size_t size = 0, at = 0;
    CT_JSON_EACH(item, list)
    size += ct_json_str(ct_json_get(item, "text")).n;
    char *joined = malloc(size + 1);
    if (joined)
        CT_JSON_EACH(item, list)
        {
            struct ct_str text = ct_json_str(ct_json_get(item, "text"));
            memcpy(joined + at, text.s, text.n);
            at += text.n;
        }
    return (struct ct_str){joined, size};
}

/* A result that is a text. One that is a JSON object is printed as that object, the form the model was
 * trained on: OpenAI's clients can only send text. */
static carat_status write_text_result(struct turns *c, const struct ct_json_value *message, size_t i,
                                      struct ct_str text)
{
    struct ct_str name, inner = ct_chat_trim(text);
    struct ct_json_tree parsed = {0};
    carat_status status = CARAT_OK;
    CT_TRY(result_name(c, message, i, NULL, &name));
    if (inner.n && inner.s[0] == '{')
        status = ct_json_tree_read(&parsed, CARAT_E_ARGUMENT, "content", ct_str_bytes(inner), NULL);
    if (status == CARAT_E_MEMORY)
        ct_fail(c->err, CARAT_E_MEMORY, "messages[%zu].content: out of memory", i);
    else
        write_response(c, name, status ? NULL : parsed.value, text);
    ct_json_tree_free(&parsed);
    return status == CARAT_E_MEMORY ? status : CARAT_OK;
}

/* A result that is an object. */
static carat_status write_object_result(struct turns *c, const struct ct_json_value *message, size_t i,
                                        const struct ct_json_value *result)
{
    struct ct_str name, none = {"", 0};
    bool own = names_itself(result);
    CT_TRY(result_name(c, message, i, own ? ct_json_get(result, "name") : NULL, &name));
    write_response(c, name, own ? ct_json_get(result, "response") : result, none);
    return CARAT_OK;
}

static bool all_text_items(const struct ct_json_value *list)
{
    CT_JSON_EACH(item, list)
    if (!ct_json_is_text(ct_json_get(item, "type"), "text") ||
        !ct_json_is(ct_json_get(item, "text"), CT_JSON_STRING))
        return false;
    return true;
}

static carat_status write_tool(struct turns *c, const struct ct_json_value *message, size_t i)
{
    const struct ct_json_value *content = ct_json_get(message, "content");
    size_t k = 0;
    if (!c->open)
        return ct_fail(c->err, CARAT_E_ARGUMENT,
                       "messages[%zu].role: a tool message without a call before it", i);
    if (ct_json_is(content, CT_JSON_ARRAY) && all_text_items(content)) {
        struct ct_str text = joined_text(content);
        if (!text.s)
            return ct_fail(c->err, CARAT_E_MEMORY, "messages[%zu].content: out of memory", i);
        carat_status status = write_text_result(c, message, i, text);
        free((char *)(uintptr_t)text.s);
        CT_TRY(status);
    } else if (ct_json_is(content, CT_JSON_ARRAY)) {
        CT_JSON_EACH(item, content)
        {
            if (!names_itself(item))
                return ct_fail(
                    c->err, CARAT_E_ARGUMENT,
                    "messages[%zu].content[%zu]: expected text items, or objects with name and response", i,
                    k);
            CT_TRY(write_object_result(c, message, i, item));
            k++;
        }
    } else if (ct_json_is(content, CT_JSON_STRING)) {
        CT_TRY(write_text_result(c, message, i, ct_json_str(content)));
    } else if (ct_json_is(content, CT_JSON_OBJECT)) {
        CT_TRY(write_object_result(c, message, i, content));
    } else {
        return ct_fail(c->err, CARAT_E_ARGUMENT,
                       "messages[%zu].content: expected a string, a list or an object", i);
    }
    c->pending = false;
    return CARAT_OK;
}

/* ---- the conversation ---- */

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
    free(c.known);
    if (c.pending) /* the results come next, not the model */
        ct_chat_control(w, CT_CONTROL_START_RESPONSE);
    else if (generation_prompt && !c.open)
        ct_chat_begin_turn(w, "model");
    return status;
}

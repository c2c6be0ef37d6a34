/* SPDX-License-Identifier: Apache-2.0 */
/* chat_calls.c: calls of functions and their results. Control tokens are the template's; every name,
 * argument and result is content, so that a control token spelled in one of them stays text. Trees are at
 * most CT_JSON_DEPTH deep, which bounds the recursion. */
#include "text/chat/chat_calls.h"

#include <stdlib.h>

/* ---- calls ---- */

/* A call with an id, for the results that name it. */
struct ct_known_call {
    struct ct_str id;
    const struct ct_json_value *call;
};

static int by_id(const void *a, const void *b)
{
    const struct ct_known_call *x = a, *y = b;
    if (x->id.n != y->id.n)
        return x->id.n < y->id.n ? -1 : 1;
    int order = memcmp(x->id.s, y->id.s, x->id.n);
    return order ? order : (x->call > y->call) - (x->call < y->call);
}

void ct_chat_calls_free(struct ct_chat_calls *c)
{
    free(c->known);
    *c = (struct ct_chat_calls){0};
}

/* Sorts the calls by their ids. */
static carat_status index_calls(struct ct_chat_calls *c, carat_error *err)
{
    size_t n = ct_json_count(c->calls);
    c->known = malloc(n * sizeof *c->known);
    if (!c->known)
        return ct_fail(err, CARAT_E_MEMORY, "out of memory for %zu tool calls", n);
    CT_JSON_EACH(call, c->calls)
    {
        const struct ct_json_value *id = ct_json_get(call, "id");
        if (ct_json_is(id, CT_JSON_STRING))
            c->known[c->n_known++] = (struct ct_known_call){ct_json_str(id), call};
    }
    qsort(c->known, c->n_known, sizeof *c->known, by_id);
    return CARAT_OK;
}

/* The first of the calls with that id; NULL: none. */
static const struct ct_json_value *find_call(const struct ct_chat_calls *c, struct ct_str id)
{
    size_t lo = 0, hi = c->n_known;
    const struct ct_known_call wanted = {id, NULL};
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (by_id(&c->known[mid], &wanted) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < c->n_known && ct_str_same(c->known[lo].id, id) ? c->known[lo].call : NULL;
}

/* An object with a name, up to the value that it has besides. */
static void write_json_pair(struct ct_chat_writer *w, struct ct_str name, const char *key)
{
    ct_chat_literal(w, "{\"name\": ");
    ct_chat_escaped(w, name);
    ct_chat_literal(w, ", \"");
    ct_chat_literal(w, key);
    ct_chat_literal(w, "\": ");
}

static void write_named_call(struct ct_chat_writer *w, struct ct_str name,
                             const struct ct_json_value *arguments)
{
    if (w->syntax->json) {
        write_json_pair(w, name, "parameters");
        ct_chat_members(w, arguments);
        ct_chat_literal(w, "}");
        return;
    }
    ct_chat_control(w, w->syntax->call);
    ct_chat_literal(w, "call:");
    ct_chat_content(w, name);
    ct_chat_members(w, arguments);
    ct_chat_control(w, w->syntax->call_end);
}

/* Call k of message i. Arguments may be an object or, as OpenAI sends them, the text of one. */
static carat_status write_call(struct ct_chat_writer *w, const struct ct_json_value *call, size_t i, size_t k,
                               carat_error *err)
{
    const struct ct_json_value *function = ct_chat_function(call),
                               *arguments = ct_json_get(function, "arguments");
    struct ct_str name = ct_json_str(ct_json_get(function, "name")), text = ct_json_str(arguments);
    const char *const wrapped = function != call ? ".function" : "";
    struct ct_json_tree parsed = {0};
    carat_status status = CARAT_OK;
    char where[96];
    if (!ct_json_is(function, CT_JSON_OBJECT))
        return ct_fail(err, CARAT_E_ARGUMENT, "messages[%zu].tool_calls[%zu]%s: expected an object", i, k,
                       wrapped);
    if (name.n == 0)
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "messages[%zu].tool_calls[%zu]%s.name: a call needs the name of its function", i, k,
                       wrapped);
    snprintf(where, sizeof where, "messages[%zu].tool_calls[%zu]%s.arguments", i, k, wrapped);
    if (text.n) {
        status = ct_json_tree_read(&parsed, CARAT_E_ARGUMENT, where, ct_str_bytes(text), err);
        arguments = parsed.value;
    } else if (ct_json_is(arguments, CT_JSON_STRING) || ct_json_is(arguments, CT_JSON_NULL)) {
        arguments = NULL;
    }
    if (!status && arguments && !ct_json_is(arguments, CT_JSON_OBJECT))
        status = ct_fail(err, CARAT_E_ARGUMENT, "%s: expected a JSON object", where);
    if (!status)
        write_named_call(w, name, arguments);
    ct_json_tree_free(&parsed);
    return status;
}

carat_status ct_chat_calls_check(const struct ct_json_value *calls, size_t i, carat_error *err)
{
    if (calls && !ct_json_is(calls, CT_JSON_NULL) && !ct_json_is(calls, CT_JSON_ARRAY))
        return ct_fail(err, CARAT_E_ARGUMENT, "messages[%zu].tool_calls: expected a list", i);
    return CARAT_OK;
}

carat_status ct_chat_write_calls(struct ct_chat_writer *w, struct ct_chat_calls *c,
                                 const struct ct_json_value *calls, size_t i, carat_error *err)
{
    size_t k = 0;
    ct_chat_calls_free(c);
    c->calls = calls;
    c->next = ct_json_first(calls);
    CT_TRY(index_calls(c, err));
    const bool list = w->syntax->json && ct_json_count(calls) > 1;
    ct_chat_literal(w, list ? "[" : "");
    CT_JSON_EACH(call, calls)
    {
        ct_chat_literal(w, list && k ? ", " : "");
        CT_TRY(write_call(w, call, i, k++, err));
    }
    ct_chat_literal(w, list ? "]" : "");
    return CARAT_OK;
}

/* ---- results ---- */

void ct_chat_write_response(struct ct_chat_writer *w, struct ct_str name, const struct ct_json_value *value,
                            struct ct_str text)
{
    if (w->syntax->json) {
        ct_chat_literal(w, "```tool_output\n");
        write_json_pair(w, name, "response");
        if (value)
            ct_chat_value(w, value);
        else
            ct_chat_escaped(w, text);
        ct_chat_literal(w, "}\n```\n");
        return;
    }
    ct_chat_control(w, w->syntax->response);
    ct_chat_literal(w, "response:");
    ct_chat_content(w, name);
    if (ct_json_is(value, CT_JSON_OBJECT)) {
        ct_chat_members(w, value);
    } else {
        ct_chat_literal(w, "{value:");
        if (value)
            ct_chat_value(w, value);
        else
            ct_chat_escaped(w, text);
        ct_chat_literal(w, "}");
    }
    ct_chat_control(w, w->syntax->response_end);
}

bool ct_chat_names_itself(const struct ct_json_value *result)
{
    return ct_json_is(ct_json_get(result, "name"), CT_JSON_STRING) && ct_json_get(result, "response");
}

/* The function of message i, the result of the next call: what the result itself says, which may be NULL;
 * else by the message's name and by the call that tool_call_id names, in the order of the syntax; else by
 * the call that is next. */
static carat_status result_name(struct ct_chat_writer *w, struct ct_chat_calls *c,
                                const struct ct_json_value *message, size_t i,
                                const struct ct_json_value *own, struct ct_str *name, carat_error *err)
{
    const struct ct_json_value *id = ct_json_get(message, "tool_call_id"), *call = c->next;
    const bool has_id = ct_json_is(id, CT_JSON_STRING);
    if (!call)
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "messages[%zu]: more results than calls: the model asked for %zu", i,
                       ct_json_count(c->calls));
    c->next = ct_json_after(call);
    *name = ct_json_str(own ? own : ct_json_get(message, "name"));
    if (own || (name->n && !(has_id && w->syntax->id_first)))
        return CARAT_OK;
    if (has_id && !(call = find_call(c, ct_json_str(id))))
        return name->n ? CARAT_OK
                       : ct_fail(err, CARAT_E_ARGUMENT,
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

/* A result that is a text. For FunctionGemma, one that is a JSON object is printed as that object, the form
 * the model was trained on: OpenAI's clients can only send text. */
static carat_status write_text_result(struct ct_chat_writer *w, struct ct_chat_calls *c,
                                      const struct ct_json_value *message, size_t i, struct ct_str text,
                                      carat_error *err)
{
    struct ct_str name, inner = ct_chat_trim(text);
    struct ct_json_tree parsed = {0};
    carat_status status = CARAT_OK;
    CT_TRY(result_name(w, c, message, i, NULL, &name, err));
    if (w->syntax->reads_json && inner.n && inner.s[0] == '{')
        status = ct_json_tree_read(&parsed, CARAT_E_ARGUMENT, "content", ct_str_bytes(inner), NULL);
    if (status == CARAT_E_MEMORY)
        ct_fail(err, CARAT_E_MEMORY, "messages[%zu].content: out of memory", i);
    else
        ct_chat_write_response(w, name, status ? NULL : parsed.value, text);
    ct_json_tree_free(&parsed);
    return status == CARAT_E_MEMORY ? status : CARAT_OK;
}

/* A result that is an object. */
static carat_status write_object_result(struct ct_chat_writer *w, struct ct_chat_calls *c,
                                        const struct ct_json_value *message, size_t i,
                                        const struct ct_json_value *result, carat_error *err)
{
    struct ct_str name, none = {"", 0};
    bool own = ct_chat_names_itself(result);
    CT_TRY(result_name(w, c, message, i, own ? ct_json_get(result, "name") : NULL, &name, err));
    ct_chat_write_response(w, name, own ? ct_json_get(result, "response") : result, none);
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

carat_status ct_chat_write_result(struct ct_chat_writer *w, struct ct_chat_calls *c,
                                  const struct ct_json_value *message, size_t i, carat_error *err)
{
    const struct ct_json_value *content = ct_json_get(message, "content");
    size_t k = 0;
    if (ct_json_is(content, CT_JSON_ARRAY) && all_text_items(content)) {
        struct ct_str text = joined_text(content);
        if (!text.s)
            return ct_fail(err, CARAT_E_MEMORY, "messages[%zu].content: out of memory", i);
        carat_status status = write_text_result(w, c, message, i, text, err);
        free((char *)(uintptr_t)text.s);
        CT_TRY(status);
    } else if (ct_json_is(content, CT_JSON_ARRAY)) {
        CT_JSON_EACH(item, content)
        {
            if (!ct_chat_names_itself(item))
                return ct_fail(
                    err, CARAT_E_ARGUMENT,
                    "messages[%zu].content[%zu]: expected text items, or objects with name and response", i,
                    k);
            CT_TRY(write_object_result(w, c, message, i, item, err));
            k++;
        }
    } else if (ct_json_is(content, CT_JSON_STRING)) {
        CT_TRY(write_text_result(w, c, message, i, ct_json_str(content), err));
    } else if (ct_json_is(content, CT_JSON_OBJECT)) {
        CT_TRY(write_object_result(w, c, message, i, content, err));
    } else {
        return ct_fail(err, CARAT_E_ARGUMENT, "messages[%zu].content: expected a string, a list or an object",
                       i);
    }
    return CARAT_OK;
}

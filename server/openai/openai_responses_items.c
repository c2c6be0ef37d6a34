/* SPDX-License-Identifier: Apache-2.0 */
/* openai_responses_items.c: items and flat tools become what the library renders: messages and tools as chat
 * completions have them. Thoughts, texts and calls that follow each other are one answer there. */
#include <stdio.h>

#include "asked.h"
#include "base/utf8.h"
#include "json_write.h"
#include "messages.h"
#include "openai/openai_responses.h"

static bool refuse_item(struct items *c, const char *place, const struct ct_json_value *v,
                        const char *expected)
{
    return field_refuse(c->d, place, v, "%s", expected);
}

static bool refuse_memory(struct items *c)
{
    return refuse(c->d->r, 503, NULL, NULL, "there is no memory for the items");
}

/* ---- messages ---- */

static void begin_message(struct items *c, int sent)
{
    const int from = c->is_history ? IN_HISTORY : sent;

    if (c->sent.n)
        buffer_text(&c->text, ",");
    buffer_put(&c->sent, &from, sizeof from);
}

/* Texts before the first turn are one message, since templates have one place for them. */
static void end_system(struct items *c)
{
    if (c->has_system && !c->has_turn) {
        if (c->sent.n)
            buffer_text(&c->text, ",");
        buffer_put(&c->sent, &c->system_sent, sizeof c->system_sent);
        json_put(&c->text, "{'role':'system','content':%t}", c->system.data ? c->system.data : "",
                 c->system.n);
    }
    c->has_turn = true;
}

static void add_system(struct items *c, struct ct_str text, int sent)
{
    if (c->has_system)
        buffer_text(&c->system, "\n\n");
    else
        c->system_sent = c->is_history ? IN_HISTORY : sent;
    c->has_system = true;
    buffer_put(&c->system, text.s, text.n);
}

/* The answer that was collected; a thought without more was none. */
static void flush_answer(struct items *c)
{
    if (c->n_parts + c->n_calls > 0) {
        begin_message(c, c->first);
        json_put(&c->text, "{'role':'assistant','content':[");
        buffer_put(&c->text, c->parts.data, c->parts.n);
        buffer_text(&c->text, "]");
        messages_end_answer(&c->text, &c->thought, &c->calls);
    }
    c->parts.n = c->thought.n = c->calls.n = 0;
    c->n_parts = c->n_calls = 0;
}

static void add_part(struct buffer *parts, int *n, struct ct_str text)
{
    json_put(parts, (*n)++ ? ",{'type':'text','text':%t}" : "{'type':'text','text':%t}", text.s, text.n);
}

/* The text of a part of a content; NULL: it is of another kind. */
static const struct ct_json_value *text_of_part(const struct ct_json_value *part)
{
    static const char *const types[][2] = {
        {"input_text", "text"}, {"output_text", "text"}, {"text", "text"}, {"refusal", "refusal"}};
    const struct ct_json_value *type = ct_json_get(part, "type");

    for (size_t i = 0; i < CT_COUNT(types); i++)
        if (ct_json_is_text(type, types[i][0])) {
            const struct ct_json_value *text = ct_json_get(part, types[i][1]);
            return ct_json_is(text, CT_JSON_STRING) ? text : NULL;
        }
    return NULL;
}

/* A string, or a list of parts of text, as parts of a chat completion. */
static bool add_content(struct items *c, const struct ct_json_value *v, const char *place,
                        struct buffer *parts, int *n)
{
    char inner[96];
    int k = 0;

    if (ct_json_is(v, CT_JSON_STRING)) {
        add_part(parts, n, ct_json_str(v));
        return true;
    }
    if (!ct_json_is(v, CT_JSON_ARRAY))
        return refuse_item(c, place, v, "expected a string or a list of parts");
    CT_JSON_EACH(part, v)
    {
        const struct ct_json_value *text = text_of_part(part);
        snprintf(inner, sizeof inner, "%s[%d]", place, k++);
        if (!text)
            return refuse_item(c, inner, part, "expected a part of text; the model reads text alone");
        add_part(parts, n, ct_json_str(text));
    }
    return true;
}

/* ---- items ---- */

static bool take_answer(struct items *c, const struct ct_json_value *content, const char *place, int i)
{
    end_system(c);
    if (c->n_parts + c->n_calls > 0)
        flush_answer(c);
    c->first = i;
    return add_content(c, content, place, &c->parts, &c->n_parts);
}

/* Those of a system that come before the first turn are one text. */
static bool take_system(struct items *c, const struct ct_json_value *content, const char *place, int i)
{
    struct buffer parts = {0};
    int n = 0;
    const bool good = add_content(c, content, place, &parts, &n);

    buffer_free(&parts); /* they were looked at */
    if (!good)
        return false;
    if (ct_json_is(content, CT_JSON_STRING))
        add_system(c, ct_json_str(content), i);
    CT_JSON_EACH(part, content)
    add_system(c, ct_json_str(text_of_part(part)), i);
    return true;
}

static bool take_message(struct items *c, const struct ct_json_value *item, const char *place, int i)
{
    const struct ct_json_value *role = ct_json_get(item, "role"), *content = ct_json_get(item, "content");
    const bool is_system = ct_json_is_text(role, "system") || ct_json_is_text(role, "developer");
    char inner[64];
    int n = 0;

    snprintf(inner, sizeof inner, "%s.content", place);
    if (ct_json_is_text(role, "assistant"))
        return take_answer(c, content, inner, i);
    flush_answer(c);
    if (is_system && !c->has_turn)
        return take_system(c, content, inner, i);
    if (!is_system && !ct_json_is_text(role, "user")) {
        snprintf(inner, sizeof inner, "%s.role", place);
        return refuse_item(c, inner, role, "expected user, assistant, system or developer");
    }
    end_system(c);
    begin_message(c, i);
    json_put(&c->text, "{'role':%s,'content':[", is_system ? "system" : "user");
    const bool good = add_content(c, content, inner, &c->text, &n);
    buffer_text(&c->text, "]}");
    return good;
}

static bool take_call(struct items *c, const struct ct_json_value *item, const char *place, int i)
{
    static const char *const names[] = {"call_id", "name", "arguments"};
    struct ct_str value[CT_COUNT(names)];
    char inner[64];

    for (size_t k = 0; k < CT_COUNT(names); k++) {
        const struct ct_json_value *v = ct_json_get(item, names[k]);
        snprintf(inner, sizeof inner, "%s.%s", place, names[k]);
        if (!ct_json_is(v, CT_JSON_STRING))
            return refuse_item(c, inner, v, "expected a string");
        value[k] = ct_json_str(v);
    }
    end_system(c);
    if (c->n_calls == 0)
        c->first = i;
    json_put(&c->calls,
             c->n_calls++ ? ",{'id':%t,'type':'function','function':{'name':%t,'arguments':%t}}"
                          : "{'id':%t,'type':'function','function':{'name':%t,'arguments':%t}}",
             value[0].s, value[0].n, value[1].s, value[1].n, value[2].s, value[2].n);
    return true;
}

static bool take_output(struct items *c, const struct ct_json_value *item, const char *place, int i)
{
    const struct ct_json_value *id = ct_json_get(item, "call_id");
    char inner[64];
    int n = 0;

    snprintf(inner, sizeof inner, "%s.call_id", place);
    if (!ct_json_is(id, CT_JSON_STRING))
        return refuse_item(c, inner, id, "expected the call_id of a function_call");
    flush_answer(c);
    end_system(c);
    begin_message(c, i);
    json_put(&c->text, "{'role':'tool','tool_call_id':%t,'content':[", ct_json_str(id).s, ct_json_str(id).n);
    snprintf(inner, sizeof inner, "%s.output", place);
    const bool good = add_content(c, ct_json_get(item, "output"), inner, &c->text, &n);
    buffer_text(&c->text, "]}");
    return good;
}

/* The thought before an answer, or, where only that was told, what it was about. */
static bool take_thought(struct items *c, const struct ct_json_value *item, const char *place, int i)
{
    const struct ct_json_value *content = ct_json_given(item, "content"), *list = content;

    (void)place;
    if (c->n_parts + c->n_calls > 0)
        flush_answer(c);
    c->first = i;
    if (ct_json_count(list) == 0)
        list = ct_json_get(item, "summary");
    if (!ct_json_is(list, CT_JSON_ARRAY))
        return true; /* it was not told */
    CT_JSON_EACH(part, list)
    {
        const struct ct_str text = ct_json_str(ct_json_get(part, "text"));
        buffer_put(&c->thought, text.s, text.n);
    }
    return true;
}

/* ---- as they are kept ---- */

struct item_kind {
    const char *type, *prefix; /* of the name that it gets where it has none */
    bool (*take)(struct items *c, const struct ct_json_value *item, const char *place, int i);
};

/* Copies an item, with a name and with a content that is a list, as clients read items. */
static void keep_item(struct items *c, const struct ct_json_value *item, const struct item_kind *kind)
{
    const struct ct_json_value *id = ct_json_given(item, "id"), *content = ct_json_get(item, "content");
    const char *part = ct_json_is_text(ct_json_get(item, "role"), "assistant") ? "output_text" : "input_text";
    struct buffer *out = &c->kept;

    buffer_text(out, out->n ? ",{" : "{");
    if (!ct_json_is(id, CT_JSON_STRING))
        json_put(out, "'id':'%r_%r_in_%d','type':%s", kind->prefix, c->id, c->n_kept, kind->type);
    else
        json_put(out, "'id':%t,'type':%s", ct_json_str(id).s, ct_json_str(id).n, kind->type);
    c->n_kept++;
    if (!ct_json_given(item, "status"))
        json_put(out, ",'status':'completed'");
    CT_JSON_EACH(key, item)
    {
        const struct ct_json_value *v = ct_json_of_key(key);
        const struct ct_str name = ct_json_str(key), text = value_text(c->d, v);
        if (ct_str_is(name, "id") || ct_str_is(name, "type") || ct_json_is(v, CT_JSON_NULL))
            continue;
        json_put(out, ",%t:", name.s, name.n);
        if (v != content || !ct_json_is(v, CT_JSON_STRING))
            json_put_compact(out, text.s, text.n);
        else
            json_put(out, "[{'type':%s,'text':%t%r}]", part, v->s, (size_t)v->n,
                     *part == 'o' ? ",\"annotations\":[]" : "");
    }
    buffer_text(out, "}");
}

static bool take_item(struct items *c, const struct ct_json_value *item, int i)
{
    static const struct item_kind kinds[] = {{"message", "msg", take_message},
                                             {"function_call", "fc", take_call},
                                             {"function_call_output", "fco", take_output},
                                             {"reasoning", "rs", take_thought}};
    const struct ct_json_value *type = ct_json_given(item, "type");
    char place[32];

    snprintf(place, sizeof place, "input[%d]", i);
    if (!ct_json_is(item, CT_JSON_OBJECT))
        return refuse_item(c, place, item, "expected an object");
    for (size_t k = 0; k < CT_COUNT(kinds); k++)
        if (type ? ct_json_is_text(type, kinds[k].type) : k == 0) {
            if (!kinds[k].take(c, item, place, i))
                return false;
            if (c->keeps && !c->is_history)
                keep_item(c, item, &kinds[k]);
            return true;
        }
    snprintf(place, sizeof place, "input[%d].type", i);
    return refuse_item(c, place, type, "expected message, function_call, function_call_output or reasoning");
}

/* ---- the whole ---- */

bool items_instruct(struct items *c, struct ct_str text)
{
    add_system(c, text, IN_INSTRUCTIONS);
    return !c->system.failed || refuse_memory(c);
}

bool items_add(struct items *c, const struct ct_json_value *items)
{
    int i = 0;

    if (ct_json_is(items, CT_JSON_STRING)) {
        end_system(c);
        begin_message(c, 0);
        json_put(&c->text, "{'role':'user','content':%t}", items->s, (size_t)items->n);
        if (c->keeps)
            json_put(&c->kept,
                     "{'id':'msg_%r_in_0','type':'message','status':'completed','role':'user',"
                     "'content':[{'type':'input_text','text':%t}]}",
                     c->id, items->s, (size_t)items->n);
        return true;
    }
    CT_JSON_EACH(item, items)
    if (!take_item(c, item, i++))
        return false;
    flush_answer(c);
    return true;
}

bool items_end(struct items *c)
{
    end_system(c);
    return !(c->text.failed || c->sent.failed || c->kept.failed || c->system.failed || c->parts.failed ||
             c->thought.failed || c->calls.failed) ||
           refuse_memory(c);
}

void items_free(struct items *c)
{
    struct buffer *all[] = {&c->text, &c->sent, &c->kept, &c->system, &c->parts, &c->thought, &c->calls};

    for (size_t i = 0; i < CT_COUNT(all); i++)
        buffer_free(all[i]);
}

/* ---- tools ---- */

static void put_raw(struct buffer *out, const struct document *d, const char *name,
                    const struct ct_json_value *v)
{
    const struct ct_str text = value_text(d, v);

    json_put(out, ",%s:", name);
    buffer_put(out, text.s, text.n);
}

static bool put_tool(struct document *d, const struct ct_json_value *tool, int i, struct buffer *out)
{
    static const char *const copied[] = {"description", "parameters"};
    const struct ct_json_value *name = ct_json_get(tool, "name");
    char place[48];

    snprintf(place, sizeof place, "tools[%d].type", i);
    if (!ct_json_is_text(ct_json_get(tool, "type"), "function"))
        return field_refuse(d, place, ct_json_get(tool, "type"),
                            "expected function, a tool of the client's; none are run here");
    snprintf(place, sizeof place, "tools[%d].name", i);
    if (!ct_json_is(name, CT_JSON_STRING))
        return field_refuse(d, place, name, "expected a string");
    json_put(out,
             i ? ",{'type':'function','function':{'name':%t" : "{'type':'function','function':{'name':%t",
             ct_json_str(name).s, ct_json_str(name).n);
    for (size_t k = 0; k < CT_COUNT(copied); k++)
        if (ct_json_given(tool, copied[k]))
            put_raw(out, d, copied[k], ct_json_get(tool, copied[k]));
    if (ct_json_is(ct_json_get(tool, "strict"), CT_JSON_TRUE))
        buffer_text(out, ",\"strict\":true");
    buffer_text(out, "}}");
    return true;
}

static bool put_wanted(struct document *d, const struct ct_json_value *choice, struct buffer *out)
{
    const struct ct_json_value *name = ct_json_get(choice, "name");

    if (ct_json_is(choice, CT_JSON_STRING)) {
        put_raw(out, d, "tool_choice", choice);
        return true;
    }
    if (!ct_json_is_text(ct_json_get(choice, "type"), "function") || !ct_json_is(name, CT_JSON_STRING))
        return field_refuse(d, "tool_choice", choice,
                            "expected auto, none, required or {\"type\": \"function\", \"name\": ...}");
    json_put(out, ",'tool_choice':{'type':'function','function':{'name':%t}}", ct_json_str(name).s,
             ct_json_str(name).n);
    return true;
}

bool responses_tools(struct document *d, const struct ct_json_value *tools,
                     const struct ct_json_value *choice, struct buffer *out)
{
    int i = 0;

    if (tools) {
        json_put(out, ",'tools':[");
        CT_JSON_EACH(tool, tools)
        if (!put_tool(d, tool, i++, out))
            return false;
        buffer_text(out, "]");
    }
    return !choice || put_wanted(d, choice, out);
}

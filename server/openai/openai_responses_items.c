/* SPDX-License-Identifier: Apache-2.0 */
/* openai_responses_items.c: items and flat tools become what the library renders: messages and tools as chat
 * completions have them. Thoughts, texts and calls that follow each other are one answer there. */
#include <stdio.h>

#include "request_values.h"
#include "base/utf8.h"
#include "json_write.h"
#include "openai/openai_responses.h"
#include "text/chat/talk.h"

static bool refuse_item(struct items *c, const char *place, const struct ct_json_value *v,
                        const char *expected)
{
    return field_refuse(c->d, place, v, "%s", expected);
}

static bool refuse_items(struct items *c)
{
    return server_refuse(c->d->r, 503, NULL, NULL, "there is no memory for the items");
}

/* ---- messages ---- */

static void begin_message(struct items *c, const char *role, int sent)
{
    said_message(&c->said, role, c->is_history ? IN_HISTORY : sent);
}

/* Texts before the first turn are one message, since templates have one place for them. */
static void end_system(struct items *c)
{
    if (c->has_system && !c->has_turn) {
        said_message(&c->said, "system", c->system_sent);
        (void)carat_talk_text(c->said.talk, c->system.data, c->system.n, NULL);
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

/* The answer that was collected is over; a thought without more was none. */
static void flush_answer(struct items *c)
{
    c->thought.n = 0;
    c->n_parts = c->n_calls = 0;
}

/* A part or a call of an answer begins it, with the thought that came before. */
static void go_on_answering(struct items *c)
{
    if (c->n_parts + c->n_calls > 0)
        return;
    begin_message(c, "assistant", c->first);
    if (c->thought.n)
        (void)carat_talk_thought(c->said.talk, c->thought.data, c->thought.n, NULL);
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

/* Whether a content is a string, or a list of parts of text. */
static bool check_content(struct items *c, const struct ct_json_value *v, const char *place)
{
    char inner[96];
    int k = 0;

    if (ct_json_is(v, CT_JSON_STRING))
        return true;
    if (!ct_json_is(v, CT_JSON_ARRAY))
        return refuse_item(c, place, v, "expected a string or a list of parts");
    CT_JSON_EACH(part, v)
    {
        snprintf(inner, sizeof inner, "%s[%d]", place, k++);
        if (!text_of_part(part))
            return refuse_item(c, inner, part, "expected a part of text; the model reads text alone");
    }
    return true;
}

/* Its texts are parts of the message under way. */
static void add_content(struct items *c, const struct ct_json_value *v)
{
    if (ct_json_is(v, CT_JSON_STRING))
        (void)ct_talk_text(c->said.talk, ct_json_str(v), NULL);
    CT_JSON_EACH(part, v)
    (void)ct_talk_text(c->said.talk, ct_json_str(text_of_part(part)), NULL);
}

/* ---- items ---- */

static bool take_answer(struct items *c, const struct ct_json_value *content, const char *place, int i)
{
    end_system(c);
    if (c->n_parts + c->n_calls > 0)
        flush_answer(c);
    c->first = i;
    if (!check_content(c, content, place))
        return false;
    if (ct_json_is(content, CT_JSON_STRING) || ct_json_count(content) > 0) {
        go_on_answering(c);
        add_content(c, content);
        c->n_parts++;
    }
    return true;
}

/* Those of a system that come before the first turn are one text. */
static bool take_system(struct items *c, const struct ct_json_value *content, const char *place, int i)
{
    if (!check_content(c, content, place))
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
    begin_message(c, is_system ? "system" : "user", i);
    if (!check_content(c, content, inner))
        return false;
    add_content(c, content);
    return true;
}

static bool take_call(struct items *c, const struct ct_json_value *item, const char *place, int i)
{
    static const char *const names[] = {"call_id", "name", "arguments"};
    const struct ct_json_value *value[CT_COUNT(names)];
    char inner[64];

    for (size_t k = 0; k < CT_COUNT(names); k++) {
        value[k] = ct_json_get(item, names[k]);
        snprintf(inner, sizeof inner, "%s.%s", place, names[k]);
        if (!ct_json_is(value[k], CT_JSON_STRING))
            return refuse_item(c, inner, value[k], "expected a string");
    }
    end_system(c);
    if (c->n_calls == 0)
        c->first = i;
    if (c->n_calls == 0 && c->n_parts > 0) /* what is wrong with the answer is named by its first call */
        ((int *)(void *)c->said.sent.data)[c->said.sent.n / sizeof(int) - 1] = c->is_history ? IN_HISTORY : i;
    go_on_answering(c);
    c->n_calls++;
    (void)ct_talk_call(c->said.talk, ct_json_str(value[0]), ct_json_str(value[1]), value[2], NULL);
    return true;
}

static bool take_output(struct items *c, const struct ct_json_value *item, const char *place, int i)
{
    const struct ct_json_value *id = ct_json_get(item, "call_id");
    char inner[64];

    snprintf(inner, sizeof inner, "%s.call_id", place);
    if (!ct_json_is(id, CT_JSON_STRING))
        return refuse_item(c, inner, id, "expected the call_id of a function_call");
    flush_answer(c);
    end_system(c);
    said_result(&c->said, ct_json_str(id), ct_str_of(""), c->is_history ? IN_HISTORY : i);
    snprintf(inner, sizeof inner, "%s.output", place);
    if (!check_content(c, ct_json_get(item, "output"), inner))
        return false;
    add_content(c, ct_json_get(item, "output"));
    return true;
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
    return !c->system.failed || refuse_items(c);
}

bool items_add(struct items *c, const struct ct_json_value *items)
{
    int i = 0;

    if (ct_json_is(items, CT_JSON_STRING)) {
        end_system(c);
        begin_message(c, "user", 0);
        (void)carat_talk_text(c->said.talk, items->s, items->n, NULL);
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
    return !(c->kept.failed || c->system.failed || c->thought.failed || c->said.sent.failed) ||
           refuse_items(c);
}

void items_free(struct items *c)
{
    struct buffer *all[] = {&c->kept, &c->system, &c->thought, &c->history_text};

    said_free(&c->said);
    document_free(&c->history);
    for (size_t i = 0; i < CT_COUNT(all); i++)
        buffer_free(all[i]);
}

/* ---- tools ---- */

static void put_raw(struct buffer *out, const struct document *d, const char *name,
                    const struct ct_json_value *v)
{
    const struct ct_str text = value_text(d, v);

    json_put(out, out->n ? ",%s:" : "{%s:", name);
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
    json_put(out,
             out->n ? ",'tool_choice':{'type':'function','function':{'name':%t}}"
                    : "{'tool_choice':{'type':'function','function':{'name':%t}}",
             ct_json_str(name).s, ct_json_str(name).n);
    return true;
}

bool responses_tools(struct document *d, const struct ct_json_value *tools,
                     const struct ct_json_value *choice, struct buffer *out)
{
    int i = 0;

    if (tools) {
        json_put(out, "{'tools':[");
        CT_JSON_EACH(tool, tools)
        if (!put_tool(d, tool, i++, out))
            return false;
        buffer_text(out, "]");
    }
    if (choice && !put_wanted(d, choice, out))
        return false;
    buffer_text(out, out->n ? "}" : "");
    return true;
}

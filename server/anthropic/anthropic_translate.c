/* SPDX-License-Identifier: Apache-2.0 */
/* anthropic_translate.c: conversations of blocks, and tools, become what the library renders: OpenAI's form.
 * A result of a tool is a message of its own there. */
#include "anthropic/anthropic.h"
#include "base/utf8.h"
#include "json_write.h"
#include "messages.h"

/* What is collected of the blocks of a message. */
struct collected {
    struct buffer parts, thought, calls, text;
    int n_parts, n_calls;
};

static bool refuse_block(struct translation *t, const char *place, const struct ct_json_value *v,
                         const char *expected)
{
    return field_refuse(t->d, place, v, "%s", expected);
}

static void begin_message(struct translation *t, int sent)
{
    if (t->sent.n)
        buffer_text(&t->text, ",");
    buffer_put(&t->sent, &sent, sizeof sent);
}

static void add_part(struct collected *c, const struct ct_json_value *text)
{
    const struct ct_str s = ct_json_str(text);

    json_put(&c->parts, c->n_parts++ ? ",{'type':'text','text':%t}" : "{'type':'text','text':%t}", s.s, s.n);
}

/* A text, or a list of blocks of text; place leads to it. */
static bool add_texts(struct translation *t, struct collected *c, const struct ct_json_value *v,
                      const char *place)
{
    char inner[160];
    int k = 0;

    if (ct_json_is(v, CT_JSON_STRING)) {
        add_part(c, v);
        return true;
    }
    if (!ct_json_is(v, CT_JSON_ARRAY))
        return refuse_block(t, place, v, "expected a string or a list of blocks");
    CT_JSON_EACH(block, v)
    {
        snprintf(inner, sizeof inner, "%s[%d]", place, k++);
        if (!ct_json_is_text(ct_json_get(block, "type"), "text") ||
            !ct_json_is(ct_json_get(block, "text"), CT_JSON_STRING))
            return refuse_block(t, inner, block, "expected a block of text; the model reads text alone");
        t->cached = t->cached || ct_json_given(block, "cache_control");
        add_part(c, ct_json_get(block, "text"));
    }
    return true;
}

static void flush_parts(struct translation *t, struct collected *c, const char *role, int sent)
{
    if (c->n_parts == 0)
        return;
    begin_message(t, sent);
    json_put(&t->text, "{'role':%s,'content':[", role);
    buffer_put(&t->text, c->parts.data, c->parts.n);
    buffer_text(&t->text, "]}");
    c->parts.n = 0;
    c->n_parts = 0;
}

/* ---- blocks ---- */

static bool take_result(struct translation *t, struct collected *c, const struct ct_json_value *block,
                        const char *place, int sent)
{
    const struct ct_json_value *id = ct_json_get(block, "tool_use_id"),
                               *content = ct_json_given(block, "content");
    char inner[128];

    snprintf(inner, sizeof inner, "%s.tool_use_id", place);
    if (!ct_json_is(id, CT_JSON_STRING))
        return refuse_block(t, inner, id, "expected the id of a tool_use block");
    flush_parts(t, c, "user", sent);
    snprintf(inner, sizeof inner, "%s.content", place);
    if (content && !add_texts(t, c, content, inner))
        return false;
    begin_message(t, sent);
    json_put(&t->text, "{'role':'tool','tool_call_id':%t,'content':[", ct_json_str(id).s, ct_json_str(id).n);
    if (c->n_parts == 0)
        json_put(&c->parts, "{'type':'text','text':''}");
    buffer_put(&t->text, c->parts.data, c->parts.n);
    buffer_text(&t->text, "]}");
    c->parts.n = 0;
    c->n_parts = 0;
    return true;
}

static bool take_use(struct translation *t, struct collected *c, const struct ct_json_value *block,
                     const char *place)
{
    const struct ct_json_value *id = ct_json_get(block, "id"), *name = ct_json_get(block, "name"),
                               *input = ct_json_get(block, "input");

    if (!ct_json_is(id, CT_JSON_STRING) || !ct_json_is(name, CT_JSON_STRING) ||
        !ct_json_is(input, CT_JSON_OBJECT))
        return refuse_block(t, place, block, "expected an id, a name and an input that is an object");
    json_put(&c->calls, c->n_calls++ ? ",{'id':%t,'type':'function'," : "{'id':%t,'type':'function',",
             ct_json_str(id).s, ct_json_str(id).n);
    json_put(&c->calls, "'function':{'name':%t,'arguments':", ct_json_str(name).s, ct_json_str(name).n);
    value_put(&c->calls, t->d, input);
    buffer_text(&c->calls, "}}");
    return true;
}

static bool take_block(struct translation *t, struct collected *c, const struct ct_json_value *block,
                       bool assistant, const char *place, int sent)
{
    const struct ct_json_value *type = ct_json_get(block, "type"), *text = ct_json_get(block, "text"),
                               *thought = ct_json_get(block, "thinking");

    t->cached = t->cached || ct_json_given(block, "cache_control");
    if (ct_json_is_text(type, "text")) {
        if (!ct_json_is(text, CT_JSON_STRING))
            return refuse_block(t, place, block, "expected a text");
        add_part(c, text);
        return true;
    }
    if (!assistant && ct_json_is_text(type, "tool_result"))
        return take_result(t, c, block, place, sent);
    if (assistant && ct_json_is_text(type, "tool_use"))
        return take_use(t, c, block, place);
    if (assistant && ct_json_is_text(type, "redacted_thinking"))
        return true;
    if (assistant && ct_json_is_text(type, "thinking") && ct_json_is(thought, CT_JSON_STRING)) {
        buffer_put(&c->thought, ct_json_str(thought).s, ct_json_str(thought).n);
        return true;
    }
    return refuse_block(t, place, block,
                        assistant ? "expected a block of text, thinking or tool_use"
                                  : "expected a block of text or tool_result; the model reads text alone");
}

static void put_answer(struct translation *t, struct collected *c, int sent)
{
    begin_message(t, sent);
    json_put(&t->text, "{'role':'assistant','content':[");
    buffer_put(&t->text, c->parts.data, c->parts.n);
    buffer_text(&t->text, "]");
    messages_end_answer(&t->text, &c->thought, &c->calls);
}

static bool take_message(struct translation *t, struct collected *c, const struct ct_json_value *message,
                         int i)
{
    const struct ct_json_value *role = ct_json_get(message, "role"),
                               *content = ct_json_get(message, "content");
    const bool assistant = ct_json_is_text(role, "assistant");
    char place[80];
    int k = 0;

    snprintf(place, sizeof place, "messages[%d].role", i);
    if (!assistant && !ct_json_is_text(role, "user"))
        return refuse_block(t, place, role, "expected user or assistant");
    snprintf(place, sizeof place, "messages[%d].content", i);
    if (ct_json_is(content, CT_JSON_STRING))
        add_part(c, content);
    else if (!ct_json_is(content, CT_JSON_ARRAY))
        return refuse_block(t, place, content, "expected a string or a list of blocks");
    CT_JSON_EACH(block, content)
    {
        snprintf(place, sizeof place, "messages[%d].content[%d]", i, k++);
        if (!take_block(t, c, block, assistant, place, i))
            return false;
    }
    if (assistant)
        put_answer(t, c, i);
    else
        flush_parts(t, c, "user", i);
    t->continues = assistant && c->n_calls == 0;
    c->parts.n = c->thought.n = c->calls.n = 0;
    c->n_parts = c->n_calls = 0;
    return true;
}

static bool take_messages(struct translation *t, const struct ct_json_value *system,
                          const struct ct_json_value *messages)
{
    struct collected c = {0};
    bool good = !system || add_texts(t, &c, system, "system");
    int i = 0;

    flush_parts(t, &c, "system", -1);
    CT_JSON_EACH(message, messages)
    good = good && take_message(t, &c, message, i++);
    if (good && (c.parts.failed || c.thought.failed || c.calls.failed))
        good = refuse(t->d->r, 503, NULL, NULL, "there is no memory for the messages");
    buffer_free(&c.parts);
    buffer_free(&c.thought);
    buffer_free(&c.calls);
    return good;
}

/* ---- tools ---- */

static bool take_tool(struct translation *t, const struct ct_json_value *tool, int i)
{
    const struct ct_json_value *type = ct_json_given(tool, "type"), *name = ct_json_get(tool, "name"),
                               *about = ct_json_given(tool, "description"),
                               *schema = ct_json_get(tool, "input_schema");
    char place[48];

    snprintf(place, sizeof place, "tools[%d]", i);
    if (type && !ct_json_is_text(type, "custom"))
        return refuse_block(t, place, tool, "expected a tool of the client's; none are run here");
    if (!ct_json_is(name, CT_JSON_STRING) || !ct_json_is(schema, CT_JSON_OBJECT))
        return refuse_block(t, place, tool, "expected a name and an input_schema");
    t->cached = t->cached || ct_json_given(tool, "cache_control");
    json_put(&t->text,
             i ? ",{'type':'function','function':{'name':%t" : "{'type':'function','function':{'name':%t",
             ct_json_str(name).s, ct_json_str(name).n);
    if (about) {
        buffer_text(&t->text, ",\"description\":");
        value_put(&t->text, t->d, about);
    }
    if (ct_json_is(ct_json_get(tool, "strict"), CT_JSON_TRUE))
        buffer_text(&t->text, ",\"strict\":true");
    buffer_text(&t->text, ",\"parameters\":");
    value_put(&t->text, t->d, schema);
    buffer_text(&t->text, "}}");
    return true;
}

static bool take_choice(struct translation *t, const struct ct_json_value *choice)
{
    static const char *const words[][2] = {{"auto", "auto"}, {"any", "required"}, {"none", "none"}};
    const struct ct_json_value *type = ct_json_get(choice, "type"), *name = ct_json_get(choice, "name");

    buffer_text(&t->text, ",\"tool_choice\":");
    for (size_t i = 0; i < CT_COUNT(words); i++)
        if (ct_json_is_text(type, words[i][0])) {
            json_put(&t->text, "%s", words[i][1]);
            return true;
        }
    if (!ct_json_is_text(type, "tool") || !ct_json_is(name, CT_JSON_STRING))
        return refuse_block(t, "tool_choice", choice,
                            "expected the type auto, any, none, or tool with a name");
    json_put(&t->text, "{'type':'function','function':{'name':%t}}", ct_json_str(name).s,
             ct_json_str(name).n);
    return true;
}

bool anthropic_translate(struct translation *t, const struct ct_json_value *system,
                         const struct ct_json_value *messages, const struct ct_json_value *tools,
                         const struct ct_json_value *tool_choice)
{
    int i = 0;

    buffer_text(&t->text, "{\"messages\":[");
    if (!take_messages(t, system, messages))
        return false;
    buffer_text(&t->text, "]");
    if (ct_json_count(tools)) {
        buffer_text(&t->text, ",\"tools\":[");
        CT_JSON_EACH(tool, tools)
        if (!take_tool(t, tool, i++))
            return false;
        buffer_text(&t->text, "]");
    }
    if (tool_choice && !take_choice(t, tool_choice))
        return false;
    buffer_text(&t->text, "}");
    return (!t->text.failed && !t->sent.failed) ||
           refuse(t->d->r, 503, NULL, NULL, "there is no memory for the messages");
}

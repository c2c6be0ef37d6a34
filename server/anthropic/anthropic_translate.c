/* SPDX-License-Identifier: Apache-2.0 */
/* anthropic_translate.c: conversations of blocks, and tools, become what the library renders: OpenAI's form.
 * A result of a tool is a message of its own there. */
#include "anthropic/anthropic.h"
#include "base/utf8.h"
#include "json_write.h"
#include "text/chat/talk.h"

static bool refuse_block(struct translation *t, const char *place, const struct ct_json_value *v,
                         const char *expected)
{
    return field_refuse(t->d, place, v, "%s", expected);
}

/* Who says a text, and what for. */
struct saying {
    const char *role;
    int sent;
    bool begun; /* its message is */
};

/* Texts of somebody begin a message where none is under way. */
static void add_part(struct translation *t, struct saying *who, const struct ct_json_value *text)
{
    if (!who->begun)
        said_message(&t->said, who->role, who->sent);
    who->begun = true;
    (void)ct_talk_text(t->said.talk, ct_json_str(text), NULL);
}

/* A text, or a list of blocks of text; place leads to it. */
static bool add_texts(struct translation *t, struct saying *who, const struct ct_json_value *v,
                      const char *place)
{
    char inner[160];
    int k = 0;

    if (ct_json_is(v, CT_JSON_STRING)) {
        add_part(t, who, v);
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
        add_part(t, who, ct_json_get(block, "text"));
    }
    return true;
}

/* ---- blocks ---- */

static bool take_result(struct translation *t, struct saying *user, const struct ct_json_value *block,
                        const char *place)
{
    const struct ct_json_value *id = ct_json_get(block, "tool_use_id"),
                               *content = ct_json_given(block, "content");
    struct saying result = {.begun = true};
    char inner[128];

    snprintf(inner, sizeof inner, "%s.tool_use_id", place);
    if (!ct_json_is(id, CT_JSON_STRING))
        return refuse_block(t, inner, id, "expected the id of a tool_use block");
    said_result(&t->said, ct_json_str(id), ct_str_of(""), user->sent);
    user->begun = false; /* what follows is another message of his */
    snprintf(inner, sizeof inner, "%s.content", place);
    if (content && !add_texts(t, &result, content, inner))
        return false;
    if (!content || (ct_json_is(content, CT_JSON_ARRAY) && ct_json_count(content) == 0))
        (void)ct_talk_text(t->said.talk, ct_str_of(""), NULL);
    return true;
}

static bool take_use(struct translation *t, const struct ct_json_value *block, const char *place)
{
    const struct ct_json_value *id = ct_json_get(block, "id"), *name = ct_json_get(block, "name"),
                               *input = ct_json_get(block, "input");

    if (!ct_json_is(id, CT_JSON_STRING) || !ct_json_is(name, CT_JSON_STRING) ||
        !ct_json_is(input, CT_JSON_OBJECT))
        return refuse_block(t, place, block, "expected an id, a name and an input that is an object");
    t->continues = false;
    (void)ct_talk_call(t->said.talk, ct_json_str(id), ct_json_str(name), input, NULL);
    return true;
}

static bool take_block(struct translation *t, struct saying *who, const struct ct_json_value *block,
                       bool assistant, const char *place)
{
    const struct ct_json_value *type = ct_json_get(block, "type"), *text = ct_json_get(block, "text"),
                               *thought = ct_json_get(block, "thinking");

    t->cached = t->cached || ct_json_given(block, "cache_control");
    if (ct_json_is_text(type, "text")) {
        if (!ct_json_is(text, CT_JSON_STRING))
            return refuse_block(t, place, block, "expected a text");
        add_part(t, who, text);
        return true;
    }
    if (!assistant && ct_json_is_text(type, "tool_result"))
        return take_result(t, who, block, place);
    if (assistant && ct_json_is_text(type, "tool_use"))
        return take_use(t, block, place);
    if (assistant && ct_json_is_text(type, "redacted_thinking"))
        return true;
    if (assistant && ct_json_is_text(type, "thinking") && ct_json_is(thought, CT_JSON_STRING)) {
        (void)carat_talk_thought(t->said.talk, thought->s, thought->n, NULL);
        return true;
    }
    return refuse_block(t, place, block,
                        assistant ? "expected a block of text, thinking or tool_use"
                                  : "expected a block of text or tool_result; the model reads text alone");
}

static bool take_message(struct translation *t, const struct ct_json_value *message, int i)
{
    const struct ct_json_value *role = ct_json_get(message, "role"),
                               *content = ct_json_get(message, "content");
    const bool assistant = ct_json_is_text(role, "assistant");
    struct saying who = {.role = assistant ? "assistant" : "user", .sent = i};
    char place[80];
    int k = 0;

    snprintf(place, sizeof place, "messages[%d].role", i);
    if (!assistant && !ct_json_is_text(role, "user"))
        return refuse_block(t, place, role, "expected user or assistant");
    if (assistant) /* also one that says nothing */
        said_message(&t->said, who.role, i);
    who.begun = assistant;
    t->continues = assistant;
    snprintf(place, sizeof place, "messages[%d].content", i);
    if (ct_json_is(content, CT_JSON_STRING))
        add_part(t, &who, content);
    else if (!ct_json_is(content, CT_JSON_ARRAY))
        return refuse_block(t, place, content, "expected a string or a list of blocks");
    CT_JSON_EACH(block, content)
    {
        snprintf(place, sizeof place, "messages[%d].content[%d]", i, k++);
        if (!take_block(t, &who, block, assistant, place))
            return false;
    }
    return true;
}

static bool take_messages(struct translation *t, const struct ct_json_value *system,
                          const struct ct_json_value *messages)
{
    struct saying who = {.role = "system", .sent = -1};
    bool good = !system || add_texts(t, &who, system, "system");
    int i = 0;

    CT_JSON_EACH(message, messages)
    good = good && take_message(t, message, i++);
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

    buffer_text(&t->text, t->text.n ? ",\"tool_choice\":" : "{\"tool_choice\":");
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

    if (!take_messages(t, system, messages))
        return false;
    if (ct_json_count(tools)) {
        buffer_text(&t->text, "{\"tools\":[");
        CT_JSON_EACH(tool, tools)
        if (!take_tool(t, tool, i++))
            return false;
        buffer_text(&t->text, "]");
    }
    if (tool_choice && !take_choice(t, tool_choice))
        return false;
    buffer_text(&t->text, t->text.n ? "}" : "");
    return !t->text.failed || server_refuse(t->d->r, 503, NULL, NULL, "there is no memory for the messages");
}

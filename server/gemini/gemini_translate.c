/* SPDX-License-Identifier: Apache-2.0 */
/* gemini_translate.c: contents of parts, and declared functions, become what the library renders: OpenAI's
 * form. What a function returned is a message of its own there. */
#include "base/utf8.h"
#include "gemini/gemini.h"
#include "json_write.h"
#include "text/chat/talk.h"

/* ---- the fields of what is nested ---- */

struct content {
    const struct ct_json_value *role, *parts;
};

struct part {
    const struct ct_json_value *text, *call, *result;
    bool thought;
};

/* A call of a function, or what it returned. */
struct function {
    const struct ct_json_value *id, *name, *args, *response, *about, *parameters, *schema;
};

struct calling {
    const struct ct_json_value *config, *mode, *allowed;
};

#define CONTENT(field)  offsetof(struct content, field)
#define PART(field)     offsetof(struct part, field)
#define FUNCTION(field) offsetof(struct function, field)
#define CALLING(field)  offsetof(struct calling, field)

static const char text_alone[] = "the model reads text alone", runs_nothing[] = "nothing is run here",
                  fetches_nothing[] = "nothing is fetched";

/* clang-format off */
static const struct field content_fields[] = {
    {"role", FIELD_VALUE, CONTENT(role), IS_TEXT, 0, NULL, NULL},
    {"parts", FIELD_VALUE, CONTENT(parts), IS_LIST, 0, NULL, NULL},
};
static const struct field part_fields[] = {
    {"text", FIELD_VALUE, PART(text), IS_TEXT, 0, NULL, NULL},
    {"thought", FIELD_FLAG, PART(thought), 0, 0, NULL, NULL},
    {"functionCall", FIELD_VALUE, PART(call), IS_OBJECT, 0, NULL, NULL},
    {"functionResponse", FIELD_VALUE, PART(result), IS_OBJECT, 0, NULL, NULL},
    {"thoughtSignature", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"partMetadata", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"mediaResolution", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"inlineData", FIELD_REFUSED, 0, 0, 0, text_alone, NULL},
    {"fileData", FIELD_REFUSED, 0, 0, 0, text_alone, NULL},
    {"videoMetadata", FIELD_REFUSED, 0, 0, 0, text_alone, NULL},
    {"executableCode", FIELD_REFUSED, 0, 0, 0, runs_nothing, NULL},
    {"codeExecutionResult", FIELD_REFUSED, 0, 0, 0, runs_nothing, NULL},
    {"toolCall", FIELD_REFUSED, 0, 0, 0, runs_nothing, NULL},
    {"toolResponse", FIELD_REFUSED, 0, 0, 0, runs_nothing, NULL},
};
static const struct field call_fields[] = {
    {"id", FIELD_VALUE, FUNCTION(id), IS_TEXT, 0, NULL, NULL},
    {"name", FIELD_VALUE, FUNCTION(name), IS_TEXT, 0, NULL, NULL},
    {"args", FIELD_VALUE, FUNCTION(args), IS_OBJECT, 0, NULL, NULL},
};
static const struct field result_fields[] = {
    {"id", FIELD_VALUE, FUNCTION(id), IS_TEXT, 0, NULL, NULL},
    {"name", FIELD_VALUE, FUNCTION(name), IS_TEXT, 0, NULL, NULL},
    {"response", FIELD_VALUE, FUNCTION(response), IS_OBJECT, 0, NULL, NULL},
    {"parts", FIELD_REFUSED, 0, 0, 0, text_alone, " [] "},
    {"willContinue", FIELD_REFUSED, 0, 0, 0, "a result is taken whole", " false "},
    {"scheduling", FIELD_IDLE, 0, 0, 0, NULL, NULL},
};
static const struct field tool_fields[] = {
    {"functionDeclarations", FIELD_VALUE, 0, IS_LIST, 0, NULL, NULL},
    {"codeExecution", FIELD_REFUSED, 0, 0, 0, runs_nothing, NULL},
    {"computerUse", FIELD_REFUSED, 0, 0, 0, runs_nothing, NULL},
    {"googleSearch", FIELD_REFUSED, 0, 0, 0, fetches_nothing, NULL},
    {"googleSearchRetrieval", FIELD_REFUSED, 0, 0, 0, fetches_nothing, NULL},
    {"googleMaps", FIELD_REFUSED, 0, 0, 0, fetches_nothing, NULL},
    {"urlContext", FIELD_REFUSED, 0, 0, 0, fetches_nothing, NULL},
    {"fileSearch", FIELD_REFUSED, 0, 0, 0, fetches_nothing, NULL},
    {"retrieval", FIELD_REFUSED, 0, 0, 0, fetches_nothing, NULL},
    {"mcpServers", FIELD_REFUSED, 0, 0, 0, fetches_nothing, " [] "},
};
static const struct field declaration_fields[] = {
    {"name", FIELD_VALUE, FUNCTION(name), IS_TEXT, 0, NULL, NULL},
    {"description", FIELD_VALUE, FUNCTION(about), IS_TEXT, 0, NULL, NULL},
    {"parameters", FIELD_VALUE, FUNCTION(parameters), IS_OBJECT, 0, NULL, NULL},
    {"parametersJsonSchema", FIELD_VALUE, FUNCTION(schema), IS_OBJECT, 0, NULL, NULL},
    {"response", FIELD_IDLE, 0, 0, 0, NULL, NULL}, /* the model is told what a function takes */
    {"responseJsonSchema", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"behavior", FIELD_IDLE, 0, 0, 0, NULL, NULL},
};
static const struct field config_fields[] = {
    {"functionCallingConfig", FIELD_VALUE, CALLING(config), IS_OBJECT, 0, NULL, NULL},
    {"retrievalConfig", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"includeServerSideToolInvocations", FIELD_IDLE, 0, 0, 0, NULL, NULL},
};
static const struct field calling_fields[] = {
    {"mode", FIELD_VALUE, CALLING(mode), IS_TEXT, 0, NULL, NULL},
    {"allowedFunctionNames", FIELD_VALUE, CALLING(allowed), IS_TEXT | IS_LIST, 0, NULL, NULL},
    {"streamFunctionCallArguments", FIELD_REFUSED, 0, 0, 0, "calls are told whole", " false "},
};
/* clang-format on */

/* Takes the fields of an object that stands at a place. */
static bool take_at(struct gemini_translation *t, const struct ct_json_value *object, const char *place,
                    const struct field *fields, int n, void *values)
{
    char prefix[120];

    if (!ct_json_is(object, CT_JSON_OBJECT))
        return field_refuse(t->d, place, object, "expected an object");
    snprintf(prefix, sizeof prefix, "%s.", place);
    return fields_take(t->d, object, prefix, fields, n, values);
}

/* ---- contents ---- */

/* What is collected of the parts of a content. */
struct collected {
    struct buffer text;
    int n_parts;
};

/* Its texts are one. */
static void put_content(struct gemini_translation *t, struct collected *c)
{
    (void)carat_talk_text(t->said.talk, c->text.data, c->text.n, NULL);
    c->text.n = 0;
    c->n_parts = 0;
}

static void flush_text(struct gemini_translation *t, struct collected *c, const char *role, int sent)
{
    if (c->n_parts == 0)
        return;
    said_message(&t->said, role, sent);
    put_content(t, c);
}

static bool take_result(struct gemini_translation *t, struct collected *c, const struct ct_json_value *v,
                        const char *part, int sent)
{
    struct function f = {0};
    char place[100];

    snprintf(place, sizeof place, "%s.functionResponse", part);
    if (!take_at(t, v, place, result_fields, CT_COUNT(result_fields), &f))
        return false;
    if (!f.name || !f.response)
        return field_refuse(t->d, place, v, "expected a name and a response");
    flush_text(t, c, "user", sent);
    said_result(&t->said, ct_json_str(f.id), ct_json_str(f.name), sent);
    const struct ct_str text = value_text(t->d, f.response);
    (void)carat_talk_text(t->said.talk, text.s, text.n, NULL);
    return true;
}

static bool take_call(struct gemini_translation *t, const struct ct_json_value *v, const char *part)
{
    struct function f = {0};
    char place[100];

    snprintf(place, sizeof place, "%s.functionCall", part);
    if (!take_at(t, v, place, call_fields, CT_COUNT(call_fields), &f))
        return false;
    if (!f.name)
        return field_refuse(t->d, place, v, "expected a name");
    t->continues = false;
    (void)ct_talk_call(t->said.talk, ct_json_str(f.id), ct_json_str(f.name), f.args, NULL);
    return true;
}

static bool take_part(struct gemini_translation *t, struct collected *c, const struct ct_json_value *v,
                      bool of_model, const char *place, int sent)
{
    struct part p = {0};

    if (!take_at(t, v, place, part_fields, CT_COUNT(part_fields), &p))
        return false;
    if ((p.text != NULL) + (p.call != NULL) + (p.result != NULL) != 1)
        return field_refuse(t->d, place, v, "expected one of text, functionCall and functionResponse");
    if (p.call)
        return of_model ? take_call(t, p.call, place)
                        : field_refuse(t->d, place, v, "expected calls of functions by the role model alone");
    if (p.result)
        return !of_model ? take_result(t, c, p.result, place, sent)
                         : field_refuse(t->d, place, v, "expected results of functions by the role user");
    if (p.thought) {
        if (of_model) /* of others there is none */
            (void)carat_talk_thought(t->said.talk, p.text->s, p.text->n, NULL);
        return true;
    }
    buffer_put(&c->text, p.text->s, p.text->n);
    c->n_parts++;
    return true;
}

static bool take_parts(struct gemini_translation *t, struct collected *c, const struct ct_json_value *parts,
                       bool of_model, const char *content, int sent)
{
    char place[64];
    int k = 0;

    FIELD_EACH(part, parts)
    {
        snprintf(place, sizeof place, "%s.parts[%d]", content, k++);
        if (!take_part(t, c, part, of_model, place, sent))
            return false;
    }
    return k > 0 || field_refuse(t->d, content, parts, "expected parts");
}

static bool take_content(struct gemini_translation *t, struct collected *c, const struct ct_json_value *v,
                         int i)
{
    struct content content = {0};
    char place[32];

    snprintf(place, sizeof place, "contents[%d]", i);
    if (!take_at(t, v, place, content_fields, CT_COUNT(content_fields), &content))
        return false;
    const bool of_model = ct_json_is_text(content.role, "model");
    if (content.role && !of_model && !ct_json_is_text(content.role, "user") &&
        !ct_json_is_text(content.role, "function")) {
        snprintf(place, sizeof place, "contents[%d].role", i);
        return field_refuse(t->d, place, content.role, "expected user or model");
    }
    if (of_model)
        said_message(&t->said, "assistant", i);
    t->continues = of_model;
    if (!take_parts(t, c, content.parts, of_model, place, i))
        return false;
    if (of_model)
        put_content(t, c);
    else
        flush_text(t, c, "user", i);
    return true;
}

/* A content whose role says nothing, or its text. */
static bool take_system(struct gemini_translation *t, struct collected *c, const struct ct_json_value *v)
{
    static const char place[] = "systemInstruction";
    struct content content = {0};

    if (ct_json_is(v, CT_JSON_STRING)) {
        buffer_put(&c->text, v->s, v->n);
        c->n_parts++;
    } else if (!take_at(t, v, place, content_fields, CT_COUNT(content_fields), &content) ||
               !take_parts(t, c, content.parts, false, place, -1))
        return false;
    flush_text(t, c, "system", -1);
    return true;
}

static bool take_contents(struct gemini_translation *t, const struct gemini_asked *asked)
{
    struct collected c = {0};
    bool good = !asked->system || take_system(t, &c, asked->system);
    int i = 0;

    FIELD_EACH(content, asked->contents)
    good = good && take_content(t, &c, content, i++);
    if (good && c.text.failed)
        good = server_refuse(t->d->r, 503, NULL, NULL, "there is no memory for the contents");
    buffer_free(&c.text);
    return good;
}

/* ---- functions ---- */

static bool is_allowed(const struct calling *calling, struct ct_str name)
{
    FIELD_EACH(one, calling->allowed)
    if (ct_str_same(ct_json_str(one), name))
        return true;
    return !field_first(calling->allowed);
}

static bool take_declaration(struct gemini_translation *t, const struct calling *calling,
                             const struct ct_json_value *v, int tool, int i)
{
    struct function f = {0};
    char place[64];

    snprintf(place, sizeof place, "tools[%d].functionDeclarations[%d]", tool, i);
    if (!take_at(t, v, place, declaration_fields, CT_COUNT(declaration_fields), &f))
        return false;
    if (!f.name || (f.parameters && f.schema))
        return field_refuse(t->d, place, v, "expected a name and one schema of parameters");
    if (!is_allowed(calling, ct_json_str(f.name))) /* the model is told of those alone that it may call */
        return true;
    buffer_text(&t->text, t->declared.n ? "," : "");
    const int places[3] = {tool, i, f.schema != NULL};
    buffer_put(&t->declared, places, sizeof places);
    json_put(&t->text, "{'type':'function','function':{'name':%t", f.name->s, (size_t)f.name->n);
    if (f.about)
        json_put(&t->text, ",'description':%t", f.about->s, (size_t)f.about->n);
    if (ct_json_is_text(calling->mode, "VALIDATED"))
        buffer_text(&t->text, ",\"strict\":true");
    buffer_text(&t->text, ",\"parameters\":");
    if (f.schema)
        value_put(&t->text, t->d, f.schema);
    else if (f.parameters)
        gemini_put_schema(t->d, f.parameters, &t->text);
    else
        json_put(&t->text, "{'type':'object','properties':{}}");
    buffer_text(&t->text, "}}");
    return true;
}

static bool take_tools(struct gemini_translation *t, const struct calling *calling,
                       const struct ct_json_value *tools)
{
    char place[32];
    int i = 0;

    buffer_text(&t->text, "{\"tools\":[");
    FIELD_EACH(tool, tools)
    {
        const struct ct_json_value *declarations = NULL;
        int k = 0;
        snprintf(place, sizeof place, "tools[%d]", i);
        if (!take_at(t, tool, place, tool_fields, CT_COUNT(tool_fields), &declarations))
            return false;
        FIELD_EACH(one, declarations)
        if (!take_declaration(t, calling, one, i, k++))
            return false;
        i++;
    }
    buffer_text(&t->text, "]");
    return true;
}

static bool take_mode(struct gemini_translation *t, const struct calling *calling)
{
    static const char *const modes[][2] = {{"AUTO", "auto"},
                                           {"ANY", "required"},
                                           {"NONE", "none"},
                                           {"VALIDATED", "auto"},
                                           {"MODE_UNSPECIFIED", "auto"}};

    if (!calling->mode)
        return true;
    for (size_t i = 0; i < CT_COUNT(modes); i++)
        if (ct_json_is_text(calling->mode, modes[i][0])) {
            json_put(&t->text, ",'tool_choice':%s", modes[i][1]);
            return true;
        }
    return field_refuse(t->d, "toolConfig.functionCallingConfig.mode", calling->mode,
                        "expected AUTO, ANY, NONE or VALIDATED");
}

bool gemini_translate(struct gemini_translation *t, const struct gemini_asked *asked)
{
    struct calling calling = {0};

    if (!fields_take(t->d, asked->calling, "toolConfig.", config_fields, CT_COUNT(config_fields), &calling) ||
        !fields_take(t->d, calling.config, "toolConfig.functionCallingConfig.", calling_fields,
                     CT_COUNT(calling_fields), &calling))
        return false;
    if (!take_contents(t, asked))
        return false;
    if (asked->tools || calling.mode) {
        if (!take_tools(t, &calling, asked->tools) || !take_mode(t, &calling))
            return false;
        buffer_text(&t->text, "}");
    }
    return (!t->text.failed && !t->declared.failed) ||
           server_refuse(t->d->r, 503, NULL, NULL, "there is no memory for the contents");
}

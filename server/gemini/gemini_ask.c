/* SPDX-License-Identifier: Apache-2.0 */
/* gemini_ask.c: the fields of Google's requests, and what is asked for by them. */
#include "request_values.h"
#include "gemini/gemini.h"
#include "json_write.h"
#include "state.h"

struct gemini {
    struct request_values a;
    struct gemini_asked said;
    const struct ct_json_value *config, *thinking, *level, *mime, *schema, *json_schema, *wrapped;
    int64_t budget; /* of thoughts; -1: any */
    bool includes_thoughts;
};

#define AT(field) offsetof(struct gemini, field)

/* clang-format off */
#define CONVERSATION                                                                                         \
    {"model", FIELD_VALUE, AT(a.model), IS_TEXT, 0, NULL, NULL},                                             \
    {"contents", FIELD_VALUE, AT(said.contents), IS_LIST, 0, NULL, NULL},                                    \
    {"systemInstruction", FIELD_VALUE, AT(said.system), IS_TEXT | IS_OBJECT, 0, NULL, NULL},                 \
    {"tools", FIELD_VALUE, AT(said.tools), IS_LIST, 0, NULL, NULL},                                          \
    {"toolConfig", FIELD_VALUE, AT(said.calling), IS_OBJECT, 0, NULL, NULL},                                 \
    {"generationConfig", FIELD_VALUE, AT(config), IS_OBJECT, 0, NULL, NULL},                                 \
    {"cachedContent", FIELD_REFUSED, 0, 0, 0, "no content is kept by a name; what a prompt begins with is "  \
     "found without one", "  "},                                                                             \
    {"safetySettings", FIELD_IDLE, 0, 0, 0, NULL, NULL},                                                     \
    {"labels", FIELD_IDLE, 0, 0, 0, NULL, NULL},                                                             \
    {"serviceTier", FIELD_IDLE, 0, 0, 0, NULL, NULL},                                                        \
    {"store", FIELD_IDLE, 0, 0, 0, NULL, NULL}
static const struct field fields[] = {
    CONVERSATION,
};
static const struct field count_fields[] = {
    CONVERSATION,
    {"generateContentRequest", FIELD_VALUE, AT(wrapped), IS_OBJECT, 0, NULL, NULL},
};
static const struct field config_fields[] = {
    {"maxOutputTokens", FIELD_WHOLE, AT(a.max_tokens), RANGE_TOKENS, NULL, NULL},
    {"topP", FIELD_REAL, AT(a.top_p), RANGE_SHARE, NULL, NULL},
    {"topK", FIELD_WHOLE, AT(a.top_k), RANGE_TOP_K_ALONE, NULL, NULL},
    {"candidateCount", FIELD_WHOLE, AT(a.n), RANGE_CHOICES, NULL, NULL},
    {"stopSequences", FIELD_VALUE, AT(a.stop), IS_TEXT | IS_LIST, 0, NULL, NULL},
    {"presencePenalty", FIELD_REAL, AT(a.presence_penalty), RANGE_PENALTY, NULL, NULL},
    {"frequencyPenalty", FIELD_REAL, AT(a.frequency_penalty), RANGE_PENALTY, NULL, NULL},
    {"responseLogprobs", FIELD_FLAG, AT(a.logprobs), 0, 0, NULL, NULL},
    {"logprobs", FIELD_WHOLE, AT(a.top_logprobs), RANGE_TOP, NULL, NULL},
    {"responseMimeType", FIELD_VALUE, AT(mime), IS_TEXT, 0, NULL, NULL},
    {"responseSchema", FIELD_VALUE, AT(schema), IS_OBJECT, 0, NULL, NULL},
    {"responseJsonSchema", FIELD_VALUE, AT(json_schema), IS_OBJECT, 0, NULL, NULL},
    {"thinkingConfig", FIELD_VALUE, AT(thinking), IS_OBJECT, 0, NULL, NULL},
    {"responseModalities", FIELD_REFUSED, 0, 0, 0, "answers are text", " [] [\"TEXT\"] [\"text\"] "},
    {"speechConfig", FIELD_REFUSED, 0, 0, 0, "answers are text", NULL},
    {"imageConfig", FIELD_REFUSED, 0, 0, 0, "answers are text", NULL},
    {"translationConfig", FIELD_REFUSED, 0, 0, 0, "answers are text", NULL},
    {"responseFormat", FIELD_REFUSED, 0, 0, 0, "responseMimeType and responseJsonSchema say the form", " [] "},
    {"mediaResolution", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"audioTimestamp", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"enableEnhancedCivicAnswers", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"routingConfig", FIELD_IDLE, 0, 0, 0, NULL, NULL}, /* one model is served */
    {"modelSelectionConfig", FIELD_IDLE, 0, 0, 0, NULL, NULL},
};
static const struct field thinking_fields[] = {
    {"includeThoughts", FIELD_FLAG, AT(includes_thoughts), 0, 0, NULL, NULL},
    {"thinkingBudget", FIELD_WHOLE, AT(budget), -1, INT32_MAX, NULL, NULL},
    {"thinkingLevel", FIELD_VALUE, AT(level), IS_TEXT, 0, NULL, NULL},
};
/* clang-format on */

/* ---- what is wrong, in this surface's names ---- */

/* A declaration, where it stands. */
static void respell_tool(char *text, size_t capacity, const void *user)
{
    const struct gemini_translation *t = user;
    const int *declared = (const int *)(const void *)t->declared.data;
    char tool[40], place[64];

    for (size_t i = 0; i < t->declared.n / (3 * sizeof *declared); i++, declared += 3) {
        snprintf(tool, sizeof tool, "tools[%zu].function.", i);
        snprintf(place, sizeof place, "tools[%d].functionDeclarations[%d].", declared[0], declared[1]);
        if (strstr(text, tool)) {
            const struct respelling names[] = {{tool, place}, {"].parameters", "].parametersJsonSchema"}};
            text_respell(text, capacity, names, declared[2] ? 2 : 1);
            return;
        }
    }
}

/* Names of OpenAI's form, which what all surfaces have in common speaks of. */
static void respell(struct refusal *r, const struct gemini_translation *t)
{
    static const struct respelling names[] = {
        {"top_logprobs", "generationConfig.logprobs"},   {"n", "generationConfig.candidateCount"},
        {"stop", "generationConfig.stopSequences"},      {"seed", "generationConfig.seed"},
        {"temperature", "generationConfig.temperature"}, {"tool_choice", "toolConfig"}};
    static const struct respelling others[] = {{"].content", "].parts"},
                                               {"needs logprobs", "needs responseLogprobs"}};

    for (size_t i = 0; i < CT_COUNT(names); i++)
        if (strcmp(r->param, names[i].from) == 0)
            refusal_respell(r, &names[i], 1);
    refusal_respell(r, others, CT_COUNT(others));
    respell_tool(r->message, sizeof r->message, t);
    respell_tool(r->param, sizeof r->param, t);
}

/* Whether a stream is wanted as events, and not as a list in pieces. */
static bool asks_for_events(const struct job *job)
{
    struct text query = {job->query, strlen(job->query)};

    while (query.n) {
        struct text one = query;
        query = text_split(&one, '&');
        if (text_is(one, "alt=sse"))
            return true;
    }
    return false;
}

/* ---- what is asked ---- */

static bool take_thinking(struct document *d, const struct server *s, const struct gemini *g,
                          struct request *request, bool *thinks)
{
    static const char *const levels[] = {"MINIMAL", "LOW", "MEDIUM", "HIGH", "THINKING_LEVEL_UNSPECIFIED"};
    bool is_level = !g->level, wished;

    if (!values_thinks(d, s, &g->a, "reasoning_effort", request, &wished))
        return false;

    *thinks = g->thinking ? g->budget != 0 && s->info.can_think : wished;
    for (size_t i = 0; i < CT_COUNT(levels); i++)
        is_level = is_level || ct_json_is_text(g->level, levels[i]);
    if (!is_level)
        return field_refuse(d, "generationConfig.thinkingConfig.thinkingLevel", g->level,
                            "expected MINIMAL, LOW, MEDIUM or HIGH");
    request->extra.hides_thoughts = !g->includes_thoughts;
    if (g->thinking && !s->info.can_think)
        buffer_text(&d->idle,
                    d->idle.n ? ", generationConfig.thinkingConfig" : "generationConfig.thinkingConfig");
    if (*thinks && g->budget > 0) {
        request->extra.limits_thought = 1;
        request->extra.thought_budget = (int)g->budget;
    }
    return true;
}

static bool make_form(struct document *d, struct server *s, struct request *request, const char *param,
                      const char *text, size_t n)
{
    carat_constraint_options form;

    carat_constraint_options_default(&form);
    form.form = CARAT_FORM_SCHEMA;
    form.text = text;
    form.n_text = n;
    return values_text_form(d, s, request, param, &form);
}

static bool take_mime(struct document *d, struct server *s, const struct gemini *g, struct request *request)
{
    static const char any[] = "{\"type\":[\"object\",\"array\"]}";
    const bool json = ct_json_is_text(g->mime, "application/json");
    struct buffer text = {0};
    struct ct_str raw;

    if (g->mime && !json && !ct_json_is_text(g->mime, "text/plain"))
        return field_refuse(d, "generationConfig.responseMimeType", g->mime,
                            "expected text/plain or application/json");
    if ((g->schema || g->json_schema) && !json)
        return server_refuse(d->r, 400, NULL, "generationConfig.responseMimeType",
                             "generationConfig.responseMimeType: a schema needs application/json");
    if (g->schema && g->json_schema)
        return server_refuse(
            d->r, 400, NULL, "generationConfig.responseJsonSchema",
            "generationConfig has responseSchema and responseJsonSchema, expected one of them");
    if (!json)
        return true;
    if (g->json_schema) {
        raw = value_text(d, g->json_schema);
        return make_form(d, s, request, "generationConfig.responseJsonSchema", raw.s, raw.n);
    }
    if (!g->schema)
        return make_form(d, s, request, "generationConfig.responseMimeType", any, sizeof any - 1);
    gemini_put_schema(d, g->schema, &text);
    const bool good = text.failed
                          ? server_refuse(d->r, 503, NULL, NULL, "there is no memory for the schema")
                          : make_form(d, s, request, "generationConfig.responseSchema", text.data, text.n);
    buffer_free(&text);
    return good;
}

static bool take_contents(struct document *d, struct job *job, struct gemini *g, bool thinks)
{
    struct gemini_translation t = {.d = d};
    const bool is_list = !ct_json_is(g->said.contents, CT_JSON_OBJECT);
    const bool good = said_begin(&t.said, d) &&
                      (!is_list || values_messages(d, job->server, "contents", g->said.contents)) &&
                      gemini_translate(&t, &g->said) &&
                      values_translated(d, job->server, &g->a,
                                        &(struct translated){&t.said, &t.text, t.continues, respell_tool, &t},
                                        thinks, job->request);

    respell(d->r, &t);
    buffer_free(&t.text);
    said_free(&t.said);
    buffer_free(&t.declared);
    return good;
}

/* The model stands in the path, also in one that is behind that of this server's own routes. */
static bool is_served(struct document *d, const struct job *job)
{
    struct ct_str name = ct_str_of(job->rest);
    const char *behind = strstr(name.s, "/models/");

    if (behind) {
        behind += strlen("/models/");
        name = (struct ct_str){behind, (size_t)(strrchr(behind, ':') - behind)};
    }
    return name.n == 0 || values_model_named(d, job->server, name);
}

static bool take_all(struct document *d, struct job *job, struct gemini *g, bool counts)
{
    struct server *s = job->server;
    bool thinks;

    if (!is_served(d, job) ||
        !values_fields(d, &d->tree.value[0], "", counts ? count_fields : fields,
                       counts ? CT_COUNT(count_fields) : CT_COUNT(fields), &g->a) ||
        !fields_take(d, g->wrapped, "generateContentRequest.", fields, CT_COUNT(fields), g) ||
        !values_fields(d, g->config, "generationConfig.", config_fields, CT_COUNT(config_fields), &g->a) ||
        !values_settle(d, &g->a, TELLS_PROBS | THINKS) ||
        !fields_take(d, g->thinking, "generationConfig.thinkingConfig.", thinking_fields,
                     CT_COUNT(thinking_fields), g))
        return false;
    g->a.messages = g->said.contents;
    return values_drawing(d, s, &g->a, job->request) && take_thinking(d, s, g, job->request, &thinks) &&
           take_contents(d, job, g, thinks) && take_mime(d, s, g, job->request) &&
           values_spelled_form(d, s, &g->a, job->request) &&
           (counts || values_room(d, s, &g->a, job->request));
}

static bool gemini_take(struct job *job, struct refusal *r, bool stream, bool counts)
{
    struct document d = {.r = r, .strict = job->server->options->strict, .protojson = true};
    const struct gemini_translation nothing = {0};
    struct gemini g = {.budget = -1};
    bool good = false;

    values_default(&g.a);
    g.a.list = "contents";
    g.a.names = (struct name_rule){"_-.:", 128};
    g.a.others[0] = "systemInstruction";
    g.a.stream = stream;
    job->request->writer = &gemini_writer;
    if (stream && !asks_for_events(job))
        job->surface = &surface_gemini_list;
    if (document_read(&d, (struct ct_bytes){(const uint8_t *)job->body.data, job->body.n}))
        good = take_all(&d, job, &g, counts);
    if (good)
        values_tell(&d, job, job->request);
    respell(r, &nothing);
    document_free(&d);
    return good;
}

bool gemini_generate(struct job *job, struct refusal *r)
{
    return gemini_take(job, r, false, false);
}

bool gemini_stream(struct job *job, struct refusal *r)
{
    return gemini_take(job, r, true, false);
}

bool gemini_count(struct job *job, struct refusal *r)
{
    if (gemini_take(job, r, false, true)) {
        json_put(&job->out, "{'totalTokens':%d,'promptTokensDetails':[{'modality':'TEXT','tokenCount':%d}]}",
                 job->request->prompt.n, job->request->prompt.n);
        job_begin(job, 200, "application/json", false);
    }
    return false;
}

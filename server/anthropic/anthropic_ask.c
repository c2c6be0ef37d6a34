/* SPDX-License-Identifier: Apache-2.0 */
/* anthropic_ask.c: the fields of Anthropic's requests, and what is asked for by them. */
#include "anthropic/anthropic.h"
#include "request_values.h"
#include "json_write.h"
#include "state.h"

struct anthropic {
    struct request_values a;
    const struct ct_json_value *system, *thinking, *output, *format;
};

#define AT(field) offsetof(struct anthropic, field)

/* clang-format off */
static const struct field fields[] = {
    {"model", FIELD_VALUE, AT(a.model), IS_TEXT, 0, NULL, NULL},
    {"messages", FIELD_VALUE, AT(a.messages), IS_LIST, 0, NULL, NULL},
    {"system", FIELD_VALUE, AT(system), IS_TEXT | IS_LIST, 0, NULL, NULL},
    {"max_tokens", FIELD_WHOLE, AT(a.max_tokens), RANGE_TOKENS, NULL, NULL},
    {"stream", FIELD_FLAG, AT(a.stream), 0, 0, NULL, NULL},
    {"temperature", FIELD_REAL, AT(a.temperature), RANGE_ANTHROPIC, NULL, NULL},
    {"top_p", FIELD_REAL, AT(a.top_p), RANGE_SHARE, NULL, NULL},
    {"top_k", FIELD_WHOLE, AT(a.top_k), RANGE_TOP_K_ALONE, NULL, NULL},
    {"stop_sequences", FIELD_VALUE, AT(a.stop), IS_LIST, 0, NULL, NULL},
    {"tools", FIELD_VALUE, AT(a.tools), IS_LIST, 0, NULL, NULL},
    {"tool_choice", FIELD_VALUE, AT(a.tool_choice), IS_OBJECT, 0, NULL, NULL},
    {"thinking", FIELD_VALUE, AT(thinking), IS_OBJECT, 0, NULL, NULL},
    {"seed", FIELD_VALUE, AT(a.seed), IS_NUMBER, 0, NULL, NULL}, /* not Anthropic's: other servers have it */
    {"metadata", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"service_tier", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"cache_control", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"inference_geo", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"container", FIELD_REFUSED, 0, 0, 0, "nothing is run here", NULL},
    {"mcp_servers", FIELD_REFUSED, 0, 0, 0, "nothing is fetched", " [] "},
    {"thread", FIELD_REFUSED, 0, 0, 0, "no conversation is kept; send the whole one", NULL},
    {"context_management", FIELD_REFUSED, 0, 0, 0, "the conversation is taken as it is sent", NULL},
    {"output_config", FIELD_VALUE, AT(output), IS_OBJECT, 0, NULL, NULL},
    {"speed", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"diagnostics", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"user_profile_id", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"workspace_id", FIELD_IDLE, 0, 0, 0, NULL, NULL},
};
static const struct field output_fields[] = {
    {"format", FIELD_VALUE, AT(format), IS_OBJECT, 0, NULL, NULL},
    {"effort", FIELD_IDLE, 0, 0, 0, NULL, NULL},
};
/* clang-format on */

/* Names of OpenAI's form in what is wrong with its translation. */
/* clang-format off */
static const struct members inside[] = {
    {"system[]", " type text cache_control citations "},
    {"messages[]", " role content "},
    {"messages[].content[]", " type text cache_control citations id name input caller tool_use_id content is_error thinking signature data source title context "},
    {"messages[].content[].content[]", " type text cache_control citations source title "},
    {"tools[]", " type name description input_schema strict cache_control "},
    {"tool_choice", " type name disable_parallel_tool_use "},
    {"output_config.format", " type schema "},
};
/* clang-format on */

static const struct respelling names[] = {{".function.parameters", ".input_schema"},
                                          {".function.name", ".name"},
                                          {".function.description", ".description"}};

static bool take_thinking(struct document *d, const struct server *s, const struct anthropic *o,
                          struct request *request, bool *thinks)
{
    const struct ct_json_value *type = ct_json_get(o->thinking, "type"),
                               *budget = ct_json_get(o->thinking, "budget_tokens");
    const bool enabled = ct_json_is_text(type, "enabled");
    int64_t most;

    *thinks = false;
    if (!o->thinking)
        return values_thinks(d, s, &o->a, "reasoning_effort", request, thinks);
    if (ct_json_is_text(type, "disabled"))
        return true;
    if (!enabled && !ct_json_is_text(type, "adaptive"))
        return field_refuse(d, "thinking.type", type, "expected enabled, adaptive or disabled");
    if (enabled && (!field_whole(d, budget, &most) || most < 1 || most > INT32_MAX))
        return field_refuse(d, "thinking.budget_tokens", budget, "expected a whole number from 1");
    if (!s->info.can_think) {
        document_idle(d, "thinking");
        return true;
    }
    *thinks = true;
    if (enabled) {
        request->extra.limits_thought = 1;
        request->extra.thought_budget = (int)most;
    }
    return true;
}

static bool take_output(struct document *d, struct server *s, struct anthropic *o, struct request *request)
{
    const struct ct_json_value *schema;
    carat_constraint_options form;

    if (!fields_take(d, o->output, "output_config.", output_fields, CT_COUNT(output_fields), o))
        return false;
    if (!o->format)
        return true;
    schema = ct_json_get(o->format, "schema");
    if (!ct_json_is_text(ct_json_get(o->format, "type"), "json_schema") ||
        !ct_json_is(schema, CT_JSON_OBJECT))
        return field_refuse(d, "output_config.format", o->format,
                            "expected the type json_schema and a schema");
    const struct ct_str text = value_text(d, schema);
    carat_constraint_options_default(&form);
    form.form = CARAT_FORM_SCHEMA;
    form.text = text.s;
    form.n_text = text.n;
    return values_text_form(d, s, request, "output_config.format.schema", &form);
}

static void respell_tools(char *text, size_t capacity, const void *user)
{
    (void)user;
    text_respell(text, capacity, names, CT_COUNT(names));
}

static bool take_conversation(struct document *d, struct job *job, struct anthropic *o, bool thinks)
{
    struct translation t = {.d = d};
    bool good = false;

    o->a.parallel_tool_calls =
        !ct_json_is(ct_json_get(o->a.tool_choice, "disable_parallel_tool_use"), CT_JSON_TRUE);
    if (said_begin(&t.said, d) && values_messages(d, job->server, "messages", o->a.messages) &&
        anthropic_translate(&t, o->system, o->a.messages, o->a.tools, o->a.tool_choice))
        good = values_translated(d, job->server, &o->a,
                                 &(struct translated){&t.said, &t.text, t.continues, respell_tools, NULL},
                                 thinks, job->request);
    if (t.cached)
        document_idle(d, "cache_control");
    buffer_free(&t.text);
    said_free(&t.said);
    return good;
}

static bool take_all(struct document *d, struct job *job, struct anthropic *o, bool counts)
{
    struct server *s = job->server;
    bool thinks;

    if (!values_fields(d, &d->tree.value[0], "", fields, CT_COUNT(fields), &o->a) ||
        !fields_inside(d, inside, CT_COUNT(inside)) || !values_settle(d, &o->a, THINKS))
        return false;
    if (!counts && o->a.max_tokens == 0)
        return server_refuse(d->r, 400, NULL, "max_tokens", "max_tokens is missing");
    return values_model(d, s, o->a.model) && values_drawing(d, s, &o->a, job->request) &&
           take_thinking(d, s, o, job->request, &thinks) && take_conversation(d, job, o, thinks) &&
           take_output(d, s, o, job->request) && values_spelled_form(d, s, &o->a, job->request) &&
           (counts || values_room(d, s, &o->a, job->request));
}

static bool anthropic_take(struct job *job, struct refusal *r, bool counts)
{
    struct document d = {.r = r, .strict = job->server->options->strict};
    struct anthropic o = {0};
    bool good = false;

    values_default(&o.a);
    o.a.names.most = 128;
    job->request->writer = &anthropic_writer;
    if (document_read(&d, (struct ct_bytes){(const uint8_t *)job->body.data, job->body.n}))
        good = take_all(&d, job, &o, counts);
    if (good)
        values_tell(&d, job, job->request);
    refusal_respell(r, names, CT_COUNT(names));
    job_field(job, "request-id", job->id);
    document_free(&d);
    return good;
}

bool anthropic_messages(struct job *job, struct refusal *r)
{
    return anthropic_take(job, r, false);
}

bool anthropic_count(struct job *job, struct refusal *r)
{
    if (anthropic_take(job, r, true)) {
        json_put(&job->out, "{'input_tokens':%d}", job->request->prompt.n);
        job_begin(job, 200, "application/json", false);
    }
    return false;
}

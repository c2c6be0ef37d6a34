/* SPDX-License-Identifier: Apache-2.0 */
/* openai_chat.c: the fields of a chat completion, and what is asked for by them; how bodies
 * of OpenAI become asks. */
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "openai/openai_fields.h"
#include "state.h"

/* clang-format off */
static const struct field fields[] = {
    {"model", FIELD_VALUE, AT(model), IS_TEXT, 0, NULL, NULL},
    {"messages", FIELD_VALUE, AT(messages), IS_LIST, 0, NULL, NULL},
    {"max_tokens", FIELD_WHOLE, AT(max_tokens), RANGE_TOKENS, NULL, NULL},
    {"max_completion_tokens", FIELD_WHOLE, AT(max_completion_tokens), RANGE_TOKENS, NULL, NULL},
    OPENAI_DRAWING,
    {"n", FIELD_WHOLE, AT(n), RANGE_CHOICES, NULL, NULL},
    {"logprobs", FIELD_FLAG, AT(logprobs), 0, 0, NULL, NULL},
    {"top_logprobs", FIELD_WHOLE, AT(top_logprobs), RANGE_TOP, NULL, NULL},
    {"tools", FIELD_VALUE, AT(tools), IS_LIST, 0, NULL, NULL},
    {"tool_choice", FIELD_VALUE, AT(tool_choice), IS_TEXT | IS_OBJECT, 0, NULL, NULL},
    {"parallel_tool_calls", FIELD_FLAG, AT(parallel_tool_calls), 0, 0, NULL, NULL},
    {"response_format", FIELD_VALUE, AT(response_format), IS_OBJECT, 0, NULL, NULL},
    {"return_progress", FIELD_FLAG, AT(more.return_progress), 0, 0, NULL, NULL},
    {"add_generation_prompt", FIELD_VALUE, AT(begins_turn), IS_FLAG, 0, NULL, NULL},
    {"user", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"metadata", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"service_tier", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"prompt_cache_key", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"prompt_cache_retention", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"safety_identifier", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"prediction", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"store", FIELD_REFUSED, 0, 0, 0, "no completion is stored", " false "},
    {"modalities", FIELD_REFUSED, 0, 0, 0, "answers are text", " [\"text\"] "},
    {"audio", FIELD_REFUSED, 0, 0, 0, "answers are text", NULL},
    {"verbosity", FIELD_REFUSED, 0, 0, 0, "the model has no such setting", " medium "},
    {"web_search_options", FIELD_REFUSED, 0, 0, 0, "nothing is fetched", NULL},
    {"functions", FIELD_REFUSED, 0, 0, 0, "tools are their successor", " [] "},
    {"function_call", FIELD_REFUSED, 0, 0, 0, "tool_choice is its successor", " none "},
};
static const struct field stream_fields[] = {
    {"include_usage", FIELD_FLAG, AT(include_usage), 0, 0, NULL, NULL},
    {"include_obfuscation", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"continuous_usage_stats", FIELD_IDLE, 0, 0, 0, "the last event has the usage", " false "},
};
/* What clients always send of an answer is silent: annotations, audio and the like. */
static const struct members inside[] = {
    {"messages[]", " role content name tool_calls tool_call_id refusal reasoning_content reasoning annotations audio function_call tool_responses "},
    {"messages[].content[]", " type text refusal image_url input_audio file annotations cache_control "},
    {"messages[].tool_calls[]", " id type function index "},
    {"messages[].tool_calls[].function", " name arguments "},
    {"tools[]", " type function cache_control "},
    {"tools[].function", " name description parameters strict response "},
    {"tool_choice", " type function "},
    {"tool_choice.function", " name "},
    {"response_format", " type json_schema schema "},
    {"response_format.json_schema", " name description schema strict "},
};
/* clang-format on */

bool openai_inside(struct document *d)
{
    return fields_inside(d, inside, CT_COUNT(inside));
}

/* ---- forms ---- */

bool openai_form(struct document *d, struct server *s, struct request *request, const char *param,
                 const struct ct_json_value *format, bool nested)
{
    static const char any_object[] = "{\"type\":\"object\"}";
    const struct ct_json_value *type = ct_json_get(format, "type"), *schema;
    carat_constraint_options form;
    char place[64];

    if (!format || ct_json_is_text(type, "text"))
        return true;
    carat_constraint_options_default(&form);
    form.form = CARAT_FORM_SCHEMA;
    form.text = any_object;
    const bool named = ct_json_is_text(type, "json_schema");
    if (named || (ct_json_is_text(type, "json_object") && ct_json_given(format, "schema"))) {
        nested = nested && named; /* llama.cpp's form has the schema beside its type */
        schema = ct_json_get(nested ? ct_json_given(format, "json_schema") : format, "schema");
        snprintf(place, sizeof place, "%s%s.schema", param, nested ? ".json_schema" : "");
        if (!ct_json_is(schema, CT_JSON_OBJECT) && !ct_json_is_bool(schema))
            return field_refuse(d, place, schema, "expected a JSON schema");
        const struct ct_str text = value_text(d, schema);
        form.text = text.s;
        form.n_text = text.n;
    } else if (!ct_json_is_text(type, "json_object")) {
        snprintf(place, sizeof place, "%s.type", param);
        return field_refuse(d, place, type, "expected text, json_object or json_schema");
    }
    return values_text_form(d, s, request, param, &form);
}

static bool take_chat(struct document *d, struct job *job, struct request_values *a, struct request *request)
{
    struct server *s = job->server;
    bool thinks;

    values_progress(d, a, request, openai_chat_progress);
    if (a->more.continues && ct_json_is(a->begins_turn, CT_JSON_TRUE))
        return server_refuse(
            d->r, 400, NULL, "continue_final_message",
            "continue_final_message and add_generation_prompt say different things, expected one of "
            "them");
    a->continues = a->more.continues;
    return openai_inside(d) && values_settle(d, a, TELLS_PROBS | TELLS_IDS | CONTINUES | THINKS) &&
           values_drawing(d, s, a, request) && values_tools(d, s, a, request) &&
           openai_form(d, s, request, "response_format", a->response_format, true) &&
           values_spelled_form(d, s, a, request) &&
           values_thinks(d, s, a, "reasoning_effort", request, &thinks) &&
           values_prompt(d, s, a, request->tools, thinks, request) && values_room(d, s, a, request);
}

bool openai_chat(struct job *job, struct refusal *r)
{
    struct request_values a;

    return openai_read(job, r, &openai_chat_writer, fields, CT_COUNT(fields), take_chat, &a);
}

/* ---- what the routes have in common ---- */

static bool take_fields(struct document *d, const struct server *s, const struct field *table, int n,
                        struct request_values *a)
{
    if (!values_fields(d, &d->tree.value[0], "", table, n, a) || !values_model(d, s, a->model))
        return false;
    if (a->stream_options && !a->stream)
        return server_refuse(d->r, 400, NULL, "stream_options", "stream_options needs stream to be true");
    return fields_take(d, a->stream_options, "stream_options.", stream_fields, CT_COUNT(stream_fields), a);
}

bool openai_read(struct job *job, struct refusal *r, const struct writer *writer, const struct field *table,
                 int n, openai_take take, struct request_values *a)
{
    struct document d = {.r = r, .strict = job->server->options->strict};
    bool good = false;

    values_default(a);
    if (document_read(&d, (struct ct_bytes){(const uint8_t *)job->body.data, job->body.n}))
        good = take_fields(&d, job->server, table, n, a) && take(&d, job, a, job->request);
    job->request->writer = writer;
    if (good)
        values_tell(&d, job, job->request);
    document_free(&d);
    return good;
}

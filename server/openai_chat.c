/* SPDX-License-Identifier: Apache-2.0 */
/* openai_chat.c: the fields of a chat completion, and what is asked for by them; how bodies
 * of OpenAI become asks. */
#include <stdlib.h>

#include "base/utf8.h"
#include "openai_fields.h"
#include "state.h"

/* clang-format off */
static const struct field fields[] = {
    {"model", FIELD_VALUE, AT(model), IS_TEXT, 0, NULL, NULL},
    {"messages", FIELD_VALUE, AT(messages), IS_LIST, 0, NULL, NULL},
    {"max_tokens", FIELD_WHOLE, AT(max_tokens), 1, 0x1p53, NULL, NULL},
    {"max_completion_tokens", FIELD_WHOLE, AT(max_completion_tokens), 1, 0x1p53, NULL, NULL},
    OPENAI_DRAWING,
    {"logprobs", FIELD_FLAG, AT(logprobs), 0, 0, NULL, NULL},
    {"top_logprobs", FIELD_WHOLE, AT(top_logprobs), 0, MOST_TOP, NULL, NULL},
    {"tools", FIELD_VALUE, AT(tools), IS_LIST, 0, NULL, NULL},
    {"tool_choice", FIELD_VALUE, AT(tool_choice), IS_TEXT | IS_OBJECT, 0, NULL, NULL},
    {"parallel_tool_calls", FIELD_FLAG, AT(parallel_tool_calls), 0, 0, NULL, NULL},
    {"response_format", FIELD_VALUE, AT(response_format), IS_OBJECT, 0, NULL, NULL},
    {"reasoning_effort", FIELD_VALUE, AT(reasoning_effort), IS_TEXT, 0, NULL, NULL},
    {"receipt", FIELD_FLAG, AT(receipt), 0, 0, NULL, NULL},
    {"add_generation_prompt", FIELD_VALUE, AT(begins_turn), IS_FLAG, 0, NULL, NULL},
    {"user", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"metadata", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"service_tier", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"prompt_cache_key", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"prompt_cache_retention", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"safety_identifier", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"prediction", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"cache_prompt", FIELD_IDLE, 0, 0, 0, NULL, NULL},
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
};
/* clang-format on */

/* ---- forms ---- */

static bool take_format(struct document *d, struct server *s, const struct asked *a, struct ask *ask)
{
    static const char any_object[] = "{\"type\":\"object\"}";
    const struct ct_json_value *type = ct_json_get(a->response_format, "type"), *schema;
    carat_constraint_options form;

    if (!a->response_format || ct_json_is_text(type, "text"))
        return true;
    if (ask->constraint)
        return refuse(d->r, 400, NULL, "response_format",
                      "response_format: the tools are the form of this answer already");
    carat_constraint_options_default(&form);
    form.form = CARAT_FORM_SCHEMA;
    form.text = any_object;
    if (ct_json_is_text(type, "json_schema")) {
        const struct ct_json_value *given = ct_json_given(a->response_format, "json_schema");
        schema = ct_json_get(given, "schema");
        if (!ct_json_is(schema, CT_JSON_OBJECT) && !ct_json_is_bool(schema))
            return field_refuse(d, "response_format.json_schema.schema", schema, "expected a JSON schema");
        const struct ct_str text = value_text(d, schema);
        form.text = text.s;
        form.n_text = text.n;
    } else if (!ct_json_is_text(type, "json_object"))
        return field_refuse(d, "response_format.type", type, "expected text, json_object or json_schema");
    return asked_form(d, s, ask, "response_format", &form);
}

/* ---- thinking ---- */

static bool take_effort(struct document *d, const struct server *s, const struct asked *a, bool *thinks)
{
    static const char *const words[] = {"none", "minimal", "low", "medium", "high", "xhigh"};
    const struct ct_json_value *v = a->reasoning_effort;

    *thinks = false;
    if (!v)
        return true;
    for (size_t i = 0; i < CT_COUNT(words); i++)
        if (ct_json_is_text(v, words[i])) {
            *thinks = i > 0 && s->info.can_think;
            if (!s->info.can_think)
                buffer_text(&d->idle, d->idle.n ? ", reasoning_effort" : "reasoning_effort");
            return true;
        }
    return field_refuse(d, "reasoning_effort", v, "expected none, minimal, low, medium, high or xhigh");
}

static bool take_chat(struct document *d, struct job *job, struct asked *a, struct ask *ask)
{
    struct server *s = job->server;
    bool thinks;

    return asked_drawing(d, s, a, ask) && asked_tools(d, s, a, ask) && take_format(d, s, a, ask) &&
           take_effort(d, s, a, &thinks) && asked_prompt(d, s, a, ask->tools, thinks, ask) &&
           asked_room(d, s, a, ask);
}

bool openai_chat(struct job *job, struct refusal *r)
{
    return openai_read(job, r, &openai_chat_writer, fields, CT_COUNT(fields), take_chat);
}

/* ---- what the routes have in common ---- */

static bool take_fields(struct document *d, const struct field *table, int n, struct asked *a)
{
    if (!fields_take(d, &d->tree.value[0], "", table, n, a))
        return false;
    if (a->stream_options && !a->stream)
        return refuse(d->r, 400, NULL, "stream_options", "stream_options needs stream to be true");
    return fields_take(d, a->stream_options, "stream_options.", stream_fields, CT_COUNT(stream_fields), a);
}

bool openai_read(struct job *job, struct refusal *r, const struct writer *writer, const struct field *table,
                 int n, openai_take take)
{
    struct document d = {.r = r, .strict = job->server->options->strict};
    struct asked a;
    bool good = false;

    asked_default(&a);
    if (document_read(&d, (struct ct_bytes){(const uint8_t *)job->body.data, job->body.n}))
        good = take_fields(&d, table, n, &a) && take(&d, job, &a, job->ask);
    job->ask->writer = writer;
    if (good)
        asked_tell(&d, job, job->ask);
    document_free(&d);
    return good;
}

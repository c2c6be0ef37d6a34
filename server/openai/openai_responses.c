/* SPDX-License-Identifier: Apache-2.0 */
/* openai_responses.c: the fields of OpenAI's responses, and what is asked for by them.
 * What items mean is left to openai_responses_items.c. */
#include "openai/openai_responses.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "json_write.h"
#include "openai/openai_fields.h"
#include "state.h"

/* What these requests have beside the values of all. */
struct wanted {
    struct request_values a; /* first, since openai_read knows it alone */
    const struct ct_json_value *input, *instructions, *text, *format, *reasoning, *include, *previous,
        *metadata;
    bool stores;
};

#define OWN(field) offsetof(struct wanted, field)

/* clang-format off */
static const struct field fields[] = {
    {"model", FIELD_VALUE, AT(model), IS_TEXT, 0, NULL, NULL},
    {"input", FIELD_VALUE, OWN(input), IS_TEXT | IS_LIST, 0, NULL, NULL},
    {"instructions", FIELD_VALUE, OWN(instructions), IS_TEXT, 0, NULL, NULL},
    {"max_output_tokens", FIELD_WHOLE, AT(max_tokens), RANGE_TOKENS, NULL, NULL},
    OPENAI_DRAWING,
    {"top_logprobs", FIELD_WHOLE, AT(top_logprobs), RANGE_TOP, NULL, NULL},
    {"include", FIELD_VALUE, OWN(include), IS_LIST, 0, NULL, NULL},
    {"tools", FIELD_VALUE, AT(tools), IS_LIST, 0, NULL, NULL},
    {"tool_choice", FIELD_VALUE, AT(tool_choice), IS_TEXT | IS_OBJECT, 0, NULL, NULL},
    {"parallel_tool_calls", FIELD_FLAG, AT(parallel_tool_calls), 0, 0, NULL, NULL},
    {"text", FIELD_VALUE, OWN(text), IS_OBJECT, 0, NULL, NULL},
    {"reasoning", FIELD_VALUE, OWN(reasoning), IS_OBJECT, 0, NULL, NULL},
    {"previous_response_id", FIELD_VALUE, OWN(previous), IS_TEXT, 0, NULL, NULL},
    {"store", FIELD_FLAG, OWN(stores), 0, 0, NULL, NULL},
    {"metadata", FIELD_VALUE, OWN(metadata), IS_OBJECT, 0, NULL, NULL},
    {"user", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"safety_identifier", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"service_tier", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"prompt_cache_key", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"prompt_cache_retention", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"prompt_cache_options", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"max_tool_calls", FIELD_IDLE, 0, 0, 0, NULL, NULL}, /* of tools that OpenAI runs */
    {"image", FIELD_IDLE, 0, 0, 0, NULL, NULL},          /* how images would be read */
    {"access_programs", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"truncation", FIELD_REFUSED, 0, 0, 0, "the input is taken as it is sent", " disabled "},
    {"background", FIELD_REFUSED, 0, 0, 0, "responses are waited for", " false "},
    {"background_options", FIELD_REFUSED, 0, 0, 0, "responses are waited for", NULL},
    {"conversation", FIELD_REFUSED, 0, 0, 0, "previous_response_id goes on from a response", NULL},
    {"context_management", FIELD_REFUSED, 0, 0, 0, "the input is taken as it is sent", " [] "},
    {"prompt", FIELD_REFUSED, 0, 0, 0, "no prompts are kept here", NULL},
    {"moderation", FIELD_REFUSED, 0, 0, 0, "nothing is judged here", NULL},
    {"personality", FIELD_REFUSED, 0, 0, 0, "the model has no such setting", NULL},
    {"n", FIELD_REFUSED, 0, 0, 0, "a response is one answer", " 1 "},
    {"messages", FIELD_REFUSED, 0, 0, 0, "it is called input here", NULL},
    {"max_tokens", FIELD_REFUSED, 0, 0, 0, "it is called max_output_tokens here", NULL},
    {"response_format", FIELD_REFUSED, 0, 0, 0, "it is called text.format here", NULL},
    {"reasoning_effort", FIELD_REFUSED, 0, 0, 0, "it is called reasoning.effort here", NULL},
};
static const struct field text_fields[] = {
    {"format", FIELD_VALUE, OWN(format), IS_OBJECT, 0, NULL, NULL},
    {"verbosity", FIELD_REFUSED, 0, 0, 0, "the model has no such setting", " medium "},
};
static const struct field reasoning_fields[] = {
    {"effort", FIELD_VALUE, AT(reasoning_effort), IS_TEXT, 0, NULL, NULL},
    {"summary", FIELD_IDLE, 0, 0, 0, NULL, NULL}, /* thoughts are told as they are */
    {"generate_summary", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"context", FIELD_REFUSED, 0, 0, 0, "the template says which thoughts it takes back", " auto "},
    {"mode", FIELD_REFUSED, 0, 0, 0, "there is one mode", " standard "},
};
static const struct members inside[] = {
    {"input[]", " type role content id status phase call_id name arguments output summary encrypted_content namespace created_by "},
    {"input[].content[]", " type text refusal annotations logprobs image_url detail file_id file_data filename file_url input_audio "},
    {"input[].output[]", " type text annotations logprobs image_url detail file_id "},
    {"tools[]", " type name description parameters strict "},
    {"tool_choice", " type name "},
    {"text.format", " type name description schema strict "},
};
/* clang-format on */

/* Names of a chat completion in what is wrong with the translation. */
static const struct respelling names[] = {{".function.parameters", ".parameters"},
                                          {".function.name", ".name"},
                                          {".function.description", ".description"},
                                          {".tool_call_id", ".call_id"}};

/* ---- small fields ---- */

/* What the reply is to have beside its text. */
static bool take_include(struct document *d, struct wanted *w)
{
    static const char logprobs[] = "message.output_text.logprobs";
    char place[32];
    int i = 0;

    CT_JSON_EACH(v, w->include)
    {
        snprintf(place, sizeof place, "include[%d]", i++);
        if (!ct_json_is(v, CT_JSON_STRING))
            return field_refuse(d, place, v, "expected a string");
        if (ct_json_is_text(v, logprobs))
            w->a.logprobs = true;
        else
            document_idle(d, place); /* of tools that OpenAI runs, and thoughts that only it can read */
    }
    w->a.logprobs = w->a.logprobs || w->a.top_logprobs > 0;
    if (!w->a.logprobs)
        w->a.top_logprobs = -1;
    return true;
}

/* It is given back with the response, so that it has bounds. */
static bool check_metadata(struct document *d, const struct ct_json_value *metadata)
{
    enum { MOST_PAIRS = 16, MOST_KEY = 64 * 4, MOST_TEXT = 512 * 4 };

    if (ct_json_count(metadata) > MOST_PAIRS)
        return server_refuse(d->r, 400, NULL, "metadata", "metadata has %zu pairs, expected at most %d",
                             ct_json_count(metadata), MOST_PAIRS);
    CT_JSON_EACH(key, metadata)
    {
        const struct ct_json_value *v = ct_json_of_key(key);
        if (!ct_json_is(v, CT_JSON_STRING) || v->n > MOST_TEXT || key->n > MOST_KEY)
            return field_refuse(d, "metadata", v, "expected strings of at most %d bytes behind keys of %d",
                                MOST_TEXT, MOST_KEY);
    }
    return true;
}

/* ---- what the reply repeats ---- */

static void repeat_text(struct buffer *out, const struct ct_json_value *v)
{
    if (v)
        json_put_string(out, v->s, v->n);
    else
        buffer_text(out, "null");
}

static void repeat_raw(struct buffer *out, const struct document *d, const struct ct_json_value *v,
                       const char *otherwise)
{
    const struct ct_str text = v ? value_text(d, v) : ct_str_of(otherwise);

    json_put_compact(out, text.s, text.n);
}

static void repeat_choice(struct buffer *out, const struct ct_json_value *choice)
{
    const struct ct_str name = ct_json_str(ct_json_get(choice, "name"));

    if (ct_json_is(choice, CT_JSON_OBJECT))
        json_put(out, "{'type':'function','name':%t}", name.s, name.n);
    else if (choice)
        repeat_text(out, choice);
    else
        json_put(out, "'auto'");
}

static void repeat(struct buffer *out, const struct document *d, const struct wanted *w,
                   const struct request *request)
{
    json_put(out, ",'instructions':");
    repeat_text(out, w->instructions);
    json_put(out, ",'previous_response_id':");
    repeat_text(out, w->previous);
    json_put(out, ",'max_output_tokens':");
    if (w->a.max_tokens)
        json_put(out, "%l", w->a.max_tokens);
    else
        buffer_text(out, "null");
    json_put(out, ",'temperature':%f,'top_p':%f,'top_logprobs':%d,'tools':",
             json_short(request->sampling.temperature), json_short(request->sampling.top_p),
             request->top_logprobs);
    repeat_raw(out, d, w->a.tools, "[]");
    json_put(out, ",'tool_choice':");
    repeat_choice(out, w->a.tool_choice);
    json_put(out, ",'parallel_tool_calls':%b,'metadata':", w->a.parallel_tool_calls);
    repeat_raw(out, d, w->metadata, "{}");
    json_put(out, ",'reasoning':{'effort':");
    repeat_text(out, w->a.reasoning_effort);
    json_put(out, ",'summary':null},'text':{'format':");
    repeat_raw(out, d, w->format, "{\"type\":\"text\"}");
    json_put(out, "},'truncation':'disabled','background':false,'store':%b", w->stores);
}

/* ---- the conversation ---- */

static void add_items(struct buffer *out, const char *items, size_t n)
{
    if (n && out->n)
        buffer_text(out, ",");
    buffer_put(out, items, n);
}

static void copy_history(void *user, const struct stored *one)
{
    struct buffer *items = user;

    add_items(items, one->before.data, one->before.n);
    add_items(items, one->input.data, one->input.n);
    add_items(items, one->reply.data + one->output, one->n_output);
}

/* The items of the response that this one goes on from. */
static bool add_history(struct items *c, struct server *s, const struct wanted *w, struct buffer *items)
{
    struct document *outer = c->d;
    struct buffer *text = &c->history_text;
    char id[sizeof((struct stored *)0)->id];
    bool good = false;

    snprintf(id, sizeof id, "%.*s", (int)CT_MIN(w->previous->n, sizeof id - 1), w->previous->s);
    if (!store_read(&s->responses, id, copy_history, items))
        return server_refuse(outer->r, 400, "previous_response_not_found", "previous_response_id",
                             "Previous response with id '%.*s' not found.",
                             CT_BRIEF(ct_json_str(w->previous)));
    json_put(text, "{'items':[");
    buffer_put(text, items->data, items->n);
    buffer_text(text, "]}");
    c->history.r = outer->r;
    c->d = &c->history;
    c->is_history = true;
    if (text->failed)
        server_refuse(outer->r, 503, NULL, NULL, "there is no memory for the items");
    else if (document_read(&c->history, (struct ct_bytes){(const uint8_t *)text->data, text->n}))
        good = items_add(c, ct_json_get(&c->history.tree.value[0], "items"));
    c->d = outer;
    c->is_history = false;
    return good;
}

/* A call of a message is an item: "input[4].tool_calls[1].function.arguments" is "input[5].arguments". */
static void respell_call(char *text, size_t capacity)
{
    char *input = strstr(text, "input["), *calls = strstr(text, ".tool_calls["), rest[1200];
    int i, k, end = 0;

    if (!input || !calls || calls < input || sscanf(input, "input[%d]", &i) != 1 ||
        sscanf(calls, ".tool_calls[%d].function%n", &k, &end) != 1 || end == 0)
        return;
    snprintf(rest, sizeof rest, "%s", calls + end);
    snprintf(input, capacity - (size_t)(input - text), "input[%d]%s", i + k, rest);
}

static void respell_items(char *text, size_t capacity, const void *user)
{
    (void)user;
    respell_call(text, capacity);
    text_respell(text, capacity, names, CT_COUNT(names));
}

static bool take_conversation(struct document *d, struct job *job, struct wanted *w, bool thinks,
                              struct request *request)
{
    struct items c = {.d = d, .id = job->id, .keeps = w->stores};
    struct buffer history = {0}, text = {0};
    struct server *s = job->server;
    struct stored *stored = request->responding->stored;
    bool good = false;

    if (!said_begin(&c.said, d))
        goto done;
    if (w->instructions && !items_instruct(&c, ct_json_str(w->instructions)))
        goto done;
    if ((w->previous && !add_history(&c, s, w, &history)) || !items_add(&c, w->input) || !items_end(&c))
        goto done;
    if (!responses_tools(d, w->a.tools, w->a.tool_choice, &text))
        goto done;
    if (text.failed || history.failed)
        server_refuse(d->r, 503, NULL, NULL, "there is no memory for the items");
    else
        good = values_translated(
            d, s, &w->a, &(struct translated){&c.said, &text, false, respell_items, NULL}, thinks, request);
    if (stored) {
        buffer_swap(&stored->before, &history);
        buffer_swap(&stored->input, &c.kept);
    }
done:
    respell_items(d->r->message, sizeof d->r->message, NULL);
    respell_items(d->r->param, sizeof d->r->param, NULL);
    buffer_free(&history);
    buffer_free(&text);
    items_free(&c);
    return good;
}

/* ---- the request ---- */

static bool begin_responding(struct document *d, const struct job *job, const struct wanted *w,
                             struct request *request)
{
    struct responding *responding = calloc(1, sizeof *responding);

    request->responding = responding;
    if (responding && w->stores) {
        responding->stored = calloc(1, sizeof *responding->stored);
        if (responding->stored)
            snprintf(responding->stored->id, sizeof responding->stored->id, "resp_%s", job->id);
    }
    return (responding && (responding->stored || !w->stores)) ||
           server_refuse(d->r, 503, NULL, NULL, "there is no memory for the response");
}

static bool take_response(struct document *d, struct job *job, struct request_values *a,
                          struct request *request)
{
    struct wanted *w = (struct wanted *)a;
    struct server *s = job->server;
    bool thinks;

    a->list = "input";
    a->others[-1 - IN_INSTRUCTIONS] = "instructions";
    a->others[-1 - IN_HISTORY] = "previous_response_id";
    if (!fields_inside(d, inside, CT_COUNT(inside)) ||
        !fields_take(d, w->text, "text.", text_fields, CT_COUNT(text_fields), w) ||
        !fields_take(d, w->reasoning, "reasoning.", reasoning_fields, CT_COUNT(reasoning_fields), w))
        return false;
    if (!w->input)
        return server_refuse(d->r, 400, "missing_required_parameter", "input", "input is missing");
    if (ct_json_is(w->input, CT_JSON_ARRAY) && !values_messages(d, s, "input", w->input))
        return false;
    if (!values_settle(d, a, TELLS_PROBS | THINKS) || !take_include(d, w) ||
        !check_metadata(d, w->metadata) || !begin_responding(d, job, w, request) ||
        !values_drawing(d, s, a, request) || !values_thinks(d, s, a, "reasoning.effort", request, &thinks) ||
        !take_conversation(d, job, w, thinks, request) ||
        !openai_form(d, s, request, "text.format", w->format, false) ||
        !values_spelled_form(d, s, a, request))
        return false;
    a->messages = w->input;
    if (!values_room(d, s, a, request))
        return false;
    repeat(&request->responding->repeated, d, w, request);
    return !request->responding->repeated.failed ||
           server_refuse(d->r, 503, NULL, NULL, "there is no memory for the response");
}

bool openai_responses(struct job *job, struct refusal *r)
{
    struct wanted w = {.stores = true};

    return openai_read(job, r, &openai_responses_writer, fields, CT_COUNT(fields), take_response, &w.a);
}

bool openai_responses_count(struct job *job, struct refusal *r)
{
    job->request->any_length = true;
    if (openai_responses(job, r)) {
        json_put(&job->out, "{'object':'response.input_tokens','input_tokens':%d}", job->request->prompt.n);
        job_begin(job, 200, "application/json", false);
    }
    return false;
}

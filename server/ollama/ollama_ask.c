/* SPDX-License-Identifier: Apache-2.0 */
/* ollama_ask.c: the fields of Ollama's requests, and what is asked for by them. */
#include <stdlib.h>

#include "request_values.h"
#include "base/utf8.h"
#include "messages.h"
#include "text/chat/talk.h"
#include "ollama/ollama.h"
#include "state.h"

/* What these requests have beside the values of all. */
struct ollama {
    struct request_values a;
    const struct ct_json_value *name, *options, *format, *think, *keep_alive, *prompt, *system;
    bool raw;
};

#define AT(field) offsetof(struct ollama, field)

/* clang-format off */
#define COMMON                                                                                               \
    {"model", FIELD_VALUE, AT(a.model), IS_TEXT, 0, NULL, NULL},                                             \
    {"options", FIELD_VALUE, AT(options), IS_OBJECT, 0, NULL, NULL},                                         \
    {"format", FIELD_VALUE, AT(format), IS_TEXT | IS_OBJECT, 0, NULL, NULL},                                 \
    {"stream", FIELD_FLAG, AT(a.stream), 0, 0, NULL, NULL},                                                  \
    {"keep_alive", FIELD_VALUE, AT(keep_alive), IS_TEXT | IS_NUMBER, 0, NULL, NULL},                         \
    {"think", FIELD_VALUE, AT(think), IS_TEXT | IS_FLAG, 0, NULL, NULL},                                     \
    {"logprobs", FIELD_FLAG, AT(a.logprobs), 0, 0, NULL, NULL},                                              \
    {"top_logprobs", FIELD_WHOLE, AT(a.top_logprobs), RANGE_TOP, NULL, NULL}
static const struct field chat_fields[] = {
    COMMON,
    {"messages", FIELD_VALUE, AT(a.messages), IS_LIST, 0, NULL, NULL},
    {"tools", FIELD_VALUE, AT(a.tools), IS_LIST, 0, NULL, NULL},
};
static const struct field generate_fields[] = {
    COMMON,
    {"prompt", FIELD_VALUE, AT(prompt), IS_TEXT, 0, NULL, NULL},
    {"system", FIELD_VALUE, AT(system), IS_TEXT, 0, NULL, NULL},
    {"raw", FIELD_FLAG, AT(raw), 0, 0, NULL, NULL},
    {"suffix", FIELD_REFUSED, 0, 0, 0, "the model fills no gaps", "  "},
    {"images", FIELD_REFUSED, 0, 0, 0, "the model reads text alone", " [] "},
    {"template", FIELD_REFUSED, 0, 0, 0, "the template is the model's own", "  "},
    {"context", FIELD_REFUSED, 0, 0, 0, "/api/chat takes the messages, and evaluates them once", " [] "},
};
static const struct field show_fields[] = {
    {"model", FIELD_VALUE, AT(a.model), IS_TEXT, 0, NULL, NULL},
    {"name", FIELD_VALUE, AT(name), IS_TEXT, 0, NULL, NULL},
    {"verbose", FIELD_IDLE, 0, 0, 0, NULL, NULL},
};
static const struct field option_fields[] = {
    {"num_predict", FIELD_WHOLE, AT(a.max_tokens), RANGE_OF_END, NULL, NULL},
    {"stop", FIELD_VALUE, AT(a.stop), IS_TEXT | IS_LIST, 0, NULL, NULL},
    {"num_ctx", FIELD_IDLE, 0, 0, 0, NULL, NULL}, /* the model is never loaded anew */
    {"num_keep", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"num_batch", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"num_gpu", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"main_gpu", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"num_thread", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"use_mmap", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"use_mlock", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"numa", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"low_vram", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"f16_kv", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"penalize_newline", FIELD_REFUSED, 0, 0, 0, "penalties are of all ids", " true "},
};
static const struct members inside[] = {
    {"messages[]", " role content images tool_calls tool_name tool_call_id name thinking "},
    {"messages[].tool_calls[]", " id type function "},
    {"messages[].tool_calls[].function", " name arguments index "},
    {"tools[]", " type function "},
    {"tools[].function", " name description parameters strict response "},
};
/* clang-format on */

/* ---- what is asked ---- */

bool ollama_is_served(struct document *d, const struct server *s, const struct ct_json_value *model)
{
    return model ? values_model(d, s, model) : server_refuse(d->r, 400, NULL, "model", "model is required");
}

static bool take_think(struct document *d, const struct server *s, const struct ct_json_value *v,
                       bool *thinks)
{
    const struct ct_str word = ct_json_str(v);

    *thinks = ct_json_is(v, CT_JSON_TRUE) || ct_str_is(word, "low") || ct_str_is(word, "medium") ||
              ct_str_is(word, "high");
    if (ct_json_is(v, CT_JSON_STRING) && !*thinks)
        return field_refuse(d, "think", v, "expected true, false, low, medium or high");
    return !*thinks || s->info.can_think ||
           server_refuse(d->r, 400, NULL, "think", "\"%s\" does not support thinking", s->options->name);
}

static bool take_form(struct document *d, struct server *s, const struct ct_json_value *v,
                      struct request *request)
{
    carat_constraint_options form;

    if (!v || (ct_json_is(v, CT_JSON_STRING) && v->n == 0))
        return true;
    carat_constraint_options_default(&form);
    form.form = CARAT_FORM_SCHEMA;
    form.text = "{\"type\":\"object\"}";
    if (ct_json_is(v, CT_JSON_OBJECT)) {
        const struct ct_str text = value_text(d, v);
        form.text = text.s;
        form.n_text = text.n;
    } else if (!ct_json_is_text(v, "json"))
        return field_refuse(d, "format", v, "expected json or a JSON schema");
    return values_text_form(d, s, request, "format", &form);
}

/* ---- messages ---- */

/* A message as OpenAI spells it. */
static bool add_message(struct document *d, const struct ct_json_value *message, int i, struct said *c)
{
    static const char *const renamed[][2] = {{"thinking", "reasoning_content"}, {"tool_name", "name"}};
    char place[48];

    snprintf(place, sizeof place, "messages[%d]", i);
    if (!ct_json_is(message, CT_JSON_OBJECT))
        return field_refuse(d, place, message, "expected an object");
    snprintf(place, sizeof place, "messages[%d].images", i);
    const struct ct_json_value *images = ct_json_given(message, "images");
    if (images && (!ct_json_is(images, CT_JSON_ARRAY) || images->n > 0))
        return server_refuse(d->r, 400, NULL, place, "%s: the model reads text alone", place);
    struct ct_json_tree *to = ct_talk_open(c->talk);
    buffer_put(&c->sent, &i, sizeof i);
    CT_JSON_EACH(key, message)
    {
        const struct ct_json_value *v = ct_json_of_key(key);
        struct ct_str name = ct_json_str(key);
        if (v == images || ct_json_is(v, CT_JSON_NULL))
            continue;
        for (size_t k = 0; k < CT_COUNT(renamed); k++)
            if (ct_str_is(name, renamed[k][0]))
                name = ct_str_of(renamed[k][1]);
        ct_json_tree_string(to, CT_JSON_KEY, name);
        ct_json_tree_copy(to, v);
    }
    ct_json_tree_close(to);
    return true;
}

static bool add_messages(struct document *d, const struct ct_json_value *messages, struct said *c)
{
    int i = 0;

    CT_JSON_EACH(message, messages)
    if (!add_message(d, message, i++, c))
        return false;
    return true;
}

/* The prompt of a conversation. */
static bool take_messages(struct document *d, struct server *s, struct said *c, bool thinks,
                          struct request *request)
{
    struct request_values a;

    values_default(&a);
    a.said = c;
    a.others[1] = "prompt";
    return said_end(c, d) && values_prompt(d, s, &a, request->tools, thinks, request);
}

/* ---- requests ---- */

static bool take_options(struct document *d, struct server *s, struct ollama *o, struct request *request,
                         bool *thinks)
{
    if (!values_fields(d, o->options, "options.", option_fields, CT_COUNT(option_fields), &o->a) ||
        !values_settle(d, &o->a, TELLS_PROBS | THINKS))
        return false;
    if (o->a.max_tokens < 0) /* to the end of the context */
        o->a.max_tokens = INT64_MAX;
    return ollama_is_served(d, s, o->a.model) && values_drawing(d, s, &o->a, request) &&
           (o->think ? take_think(d, s, o->think, thinks)
                     : values_thinks(d, s, &o->a, "reasoning_effort", request, thinks));
}

/* Without a prompt the model is to be loaded, which it is, or to go, which it does not. */
static bool answer_empty(struct job *job, const struct ollama *o, bool chat)
{
    const bool goes = ct_json_is(o->keep_alive, CT_JSON_NUMBER) && ct_json_double(o->keep_alive) == 0;

    ollama_empty(job, chat, goes ? "unload" : "load");
    return false;
}

static bool take_chat(struct document *d, struct job *job, struct ollama *o)
{
    struct said c = {.talk = NULL};
    struct server *s = job->server;
    bool thinks;

    if (!values_fields(d, &d->tree.value[0], "", chat_fields, CT_COUNT(chat_fields), &o->a) ||
        !fields_inside(d, inside, CT_COUNT(inside)) || !take_options(d, s, o, job->request, &thinks))
        return false;
    if (ct_json_count(o->a.messages) == 0)
        return answer_empty(job, o, true);
    const bool good = values_tools(d, s, &o->a, job->request) && take_form(d, s, o->format, job->request) &&
                      values_spelled_form(d, s, &o->a, job->request) && said_begin(&c, d) &&
                      add_messages(d, o->a.messages, &c) && take_messages(d, s, &c, thinks, job->request) &&
                      values_room(d, s, &o->a, job->request);
    said_free(&c);
    return good;
}

static bool take_generate(struct document *d, struct job *job, struct ollama *o)
{
    struct said c = {.talk = NULL};
    struct server *s = job->server;
    bool thinks, good;

    if (!values_fields(d, &d->tree.value[0], "", generate_fields, CT_COUNT(generate_fields), &o->a) ||
        !take_options(d, s, o, job->request, &thinks))
        return false;
    const struct ct_str prompt = ct_json_str(o->prompt), system = ct_json_str(o->system);
    if (prompt.n == 0)
        return answer_empty(job, o, false);
    if (!take_form(d, s, o->format, job->request) || !values_spelled_form(d, s, &o->a, job->request))
        return false;
    if (!o->raw && !s->info.has_chat_template)
        return server_refuse(
            d->r, 400, NULL, "prompt",
            "prompt: %s has no chat template: give carat serve one (--chat-template gemma3), or send "
            "raw: true",
            s->options->name);
    if (o->raw)
        good = values_text(d, s, "prompt", prompt, job->request);
    else {
        good = said_begin(&c, d);
        if (good && system.n) {
            said_message(&c, "system", -1);
            (void)carat_talk_text(c.talk, system.s, system.n, NULL);
        }
        if (good) {
            said_message(&c, "user", -2);
            (void)carat_talk_text(c.talk, prompt.s, prompt.n, NULL);
        }
        good = good && take_messages(d, s, &c, thinks, job->request);
    }
    said_free(&c);
    return good && values_room(d, s, &o->a, job->request);
}

static bool take_show(struct document *d, struct job *job, struct ollama *o)
{
    if (fields_take(d, &d->tree.value[0], "", show_fields, CT_COUNT(show_fields), o) &&
        ollama_is_served(d, job->server, o->a.model ? o->a.model : o->name))
        ollama_put_facts(job);
    return false;
}

static bool ollama_take(struct job *job, struct refusal *r, const struct writer *writer,
                        bool (*take)(struct document *d, struct job *job, struct ollama *o))
{
    struct document d = {.r = r, .strict = job->server->options->strict};
    struct ollama o = {0};
    bool good = false;

    values_default(&o.a);
    o.a.stream = true;
    o.a.names.marks = NULL;
    job->request->writer = writer;
    if (document_read(&d, (struct ct_bytes){(const uint8_t *)job->body.data, job->body.n}))
        good = take(&d, job, &o);
    if (good)
        values_tell(&d, job, job->request);
    document_free(&d);
    return good;
}

bool ollama_chat(struct job *job, struct refusal *r)
{
    return ollama_take(job, r, &ollama_chat_writer, take_chat);
}

bool ollama_generate(struct job *job, struct refusal *r)
{
    return ollama_take(job, r, &ollama_generate_writer, take_generate);
}

bool ollama_show(struct job *job, struct refusal *r)
{
    return ollama_take(job, r, &ollama_chat_writer, take_show);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* request_values.c: values of requests become what the library is asked for. */
#include "request_values.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "messages.h"
#include "state.h"
#include "text.h"
#include "text/chat/talk.h"

void values_default(struct request_values *a)
{
    *a = (struct request_values){.temperature = NAN,
                                 .top_p = NAN,
                                 .min_p = NAN,
                                 .typical_p = NAN,
                                 .repeat_penalty = NAN,
                                 .frequency_penalty = NAN,
                                 .presence_penalty = NAN,
                                 .top_k = NOT_GIVEN,
                                 .repeat_last_n = NOT_GIVEN,
                                 .usual_last_n = -1,
                                 .text_tokens = -1,
                                 .n = 1,
                                 .top_logprobs = -1,
                                 .parallel_tool_calls = true,
                                 .more = {.dry_multiplier = NAN,
                                          .dry_base = NAN,
                                          .xtc_probability = NAN,
                                          .xtc_threshold = NAN,
                                          .dry_allowed_length = NOT_GIVEN,
                                          .dry_penalty_last_n = NOT_GIVEN,
                                          .predict = NOT_GIVEN,
                                          .n_probs = NOT_GIVEN,
                                          .budget = NOT_GIVEN},
                                 .list = "messages",
                                 .others = {"system"},
                                 .names = {"_-", 64}};
}

/* ---- models ---- */

bool values_model(struct document *d, const struct server *s, const struct ct_json_value *name)
{
    return !name || values_model_named(d, s, ct_json_str(name));
}

bool values_model_named(struct document *d, const struct server *s, struct ct_str name)
{
    return !s->options->strict_model || values_model_served(d, s, name);
}

/* What Ollama puts behind names that have no tag. */
static struct ct_str without_latest(struct ct_str name)
{
    static const char latest[] = ":latest";
    const size_t n = sizeof latest - 1;

    if (name.n > n && memcmp(name.s + name.n - n, latest, n) == 0)
        name.n -= n;
    return name;
}

bool values_model_served(struct document *d, const struct server *s, struct ct_str name)
{
    return ct_str_same(without_latest(name), without_latest(ct_str_of(s->options->name))) ||
           server_refuse(d->r, 404, "model_not_found", "model", "model '%.*s' not found: %s is served",
                         CT_BRIEF(name), s->options->name);
}

/* ---- seeds, biases, stop strings ---- */

/* Of 64 bits, with or without a sign. */
static bool take_seed(struct document *d, const struct ct_json_value *v, uint64_t *seed)
{
    int64_t whole;
    uint64_t value = 0;
    bool good = ct_json_is(v, CT_JSON_NUMBER);

    if (!v) {
        uint32_t drawn = 0;
        uv_random(NULL, NULL, &drawn, sizeof drawn, 0, NULL);
        *seed = drawn;
        return true;
    }
    if (field_whole(d, v, &whole)) {
        *seed = (uint64_t)whole;
        return true;
    }
    for (uint32_t i = 0; i < v->n && good; i++) {
        const unsigned digit = (unsigned)v->s[i] - '0';
        good = digit <= 9 && value <= (UINT64_MAX - digit) / 10;
        value = value * 10 + digit;
    }
    *seed = value;
    return good || field_refuse(d, "seed", v, "expected a whole number of 64 bits");
}

static bool take_stop(struct document *d, const struct ct_json_value *v, struct request *request)
{
    if (!ct_json_is(v, CT_JSON_STRING) || v->n < 1 || v->n > CARAT_MOST_STOP_BYTES)
        return field_refuse(d, "stop", v, "expected strings of 1 to %d bytes", CARAT_MOST_STOP_BYTES);
    if (!(request->stops[request->n_stops] = text_copy(ct_json_str(v))))
        return server_refuse(d->r, 503, NULL, NULL, "there is no memory for the stop strings");
    request->n_stops++;
    return true;
}

static bool take_stops(struct document *d, const struct ct_json_value *v, struct request *request)
{
    if (!v)
        return true;
    if (!ct_json_is(v, CT_JSON_ARRAY))
        return take_stop(d, v, request);
    if (ct_json_count(v) > MOST_STOPS)
        return server_refuse(d->r, 400, NULL, "stop", "stop has %zu strings, expected at most %d",
                             ct_json_count(v), MOST_STOPS);
    CT_JSON_EACH(one, v)
    if (!take_stop(d, one, request))
        return false;
    return true;
}

/* ---- drawing ---- */

bool values_drawing(struct document *d, struct server *s, const struct request_values *a,
                    struct request *request)
{
    if (s->info.kind == CARAT_EMBEDDER)
        return server_refuse(d->r, 400, "model_not_supported", "model",
                             "%s is an embedding model, which draws no text: it gives vectors",
                             s->options->name);
    if (a->n > s->options->most.n)
        return server_refuse(d->r, 400, NULL, "n", "n is %d, expected at most %d", (int)a->n,
                             s->options->most.n);
    if (a->n > s->options->parallel)
        return server_refuse(d->r, 400, NULL, "n",
                             "n is %d, expected at most %d, the answers at once of this server", (int)a->n,
                             s->options->parallel);
    if (a->top_logprobs >= 0 && !a->logprobs)
        return server_refuse(d->r, 400, NULL, "top_logprobs", "top_logprobs needs logprobs to be true");
    request->n = (int)a->n;
    request->stream = a->stream;
    request->wants_usage = a->include_usage;
    request->logprobs = a->logprobs;
    request->wants_receipt = a->receipt;
    request->top_logprobs = a->top_logprobs > 0 ? (int)a->top_logprobs : 0;
    request->extra.tells_ids = a->more.tells_ids;
    carat_sampling_default(s->options->model, &request->sampling);
    return take_seed(d, a->seed, &request->sampling.seed) && values_chain(d, s, a, request) &&
           take_stops(d, a->stop, request);
}

/* ---- prompts ---- */

bool values_messages(struct document *d, const struct server *s, const char *name,
                     const struct ct_json_value *list)
{
    const size_t n = ct_json_count(list);

    return (n > 0 && n <= (size_t)s->options->most.messages) ||
           server_refuse(d->r, 400, NULL, name, "%s has %zu elements, expected 1 to %d", name, n,
                         s->options->most.messages);
}

static bool too_long(struct document *d, struct server *s, const char *param, int n)
{
    d->r->n_prompt = n;
    d->r->n_context = s->context;
    return server_refuse(d->r, 400, "context_length_exceeded", param,
                         "the prompt has %d tokens, and the context %d positions", n, s->context);
}

/* Whether a text has so many bytes that no spelling of it is short enough. */
static bool is_too_long(struct document *d, struct server *s, const char *param, size_t n)
{
    return n > (size_t)s->context * s->longest_text &&
           !too_long(d, s, param, (int)CT_MIN(n / s->longest_text, (size_t)INT32_MAX));
}

/* What the prompt is made of, where somebody wants to see it; of several the first one. */
static bool keep_text(struct document *d, struct request *request, struct ct_str text)
{
    return !request->keeps_text || request->prompts.n_list > 1 || (request->text = text_copy(text)) != NULL ||
           server_refuse(d->r, 503, NULL, NULL, "there is no memory for the prompt");
}

bool values_piece(struct document *d, struct server *s, const char *param, struct ct_str text, bool begins,
                  struct request *request)
{
    const int flags = begins ? CARAT_BOS | CARAT_SPECIAL : CARAT_SPECIAL;
    carat_error err;

    if (is_too_long(d, s, param, text.n))
        return false;
    return carat_tokenize(s->options->model, text.s, text.n, flags, &request->prompt, &err) == CARAT_OK ||
           server_refuse(d->r, err.code == CARAT_E_MEMORY ? 503 : 400, NULL, param, "%s", refusal_says(&err));
}

bool values_text(struct document *d, struct server *s, const char *param, struct ct_str text,
                 struct request *request)
{
    return values_piece(d, s, param, text, true, request) && keep_text(d, request, text);
}

/* What message i is in what the client sent. */
static int sent_of(const struct request_values *a, int i)
{
    return a->said ? ((const int *)(const void *)a->said->sent.data)[i] : i;
}

/* Where a message stands that is in *sent as this. */
static void put_place(char place[48], const struct request_values *a, int sent)
{
    if (sent >= 0)
        snprintf(place, 48, "%s[%d]", a->list, sent);
    else
        snprintf(place, 48, "%s", a->others[-1 - sent]);
}

/* The library begins its messages with the place. sent: the indices of the messages as the client has
 * them. */
static bool refuse_render(struct document *d, const struct request_values *a, const carat_error *err,
                          const int *sent, int n)
{
    const char *rest = refusal_says(err);
    char place[48] = "", param[sizeof place + sizeof err->message];
    int i = 0, end = 0;

    if (err->code == CARAT_E_MEMORY)
        return server_refuse(d->r, 503, NULL, NULL, "%s", rest);
    if (sscanf(rest, "messages[%d]%n", &i, &end) == 1 && end > 0 && i >= 0 && i < n) {
        rest += end;
        put_place(place, a, sent[i]);
    }
    const char *colon = strstr(rest, ": ");
    snprintf(param, sizeof param, "%s%.*s", place, colon && colon - rest < 120 ? (int)(colon - rest) : 0,
             rest);
    return server_refuse(d->r, 400, NULL, *param ? param : a->list, "%s%s", place, rest);
}

/* What rendering has given. */
struct rendered {
    struct buffer sent, changed; /* messages_talk */
    char *text;                  /* of the prompt, for carat_free */
    carat_error err;
};

/* The reply says what was changed. */
static void tell_changed(struct document *d, const struct request_values *a, const struct buffer *changed)
{
    const int *index = (const int *)(const void *)changed->data;
    char place[48];

    for (size_t i = 0; i < changed->n / sizeof *index; i++) {
        const int at = index[i] < 0 ? -1 - index[i] : index[i];
        put_place(place, a, sent_of(a, at));
        document_tell(d, place,
                      index[i] < 0 ? "told as the user's, since the template has no place for it"
                                   : "joined with what is before it, since the template takes turns alone");
    }
}

/* Renders the messages as they are, or where the template raises, as turns: once each. */
static carat_status render(struct document *d, const struct server *s, const struct request_values *a,
                           const carat_render_options *options, enum messages_how how,
                           struct request *request, struct rendered *to)
{
    const bool as_it_is = a->said && how == MESSAGES_AS_THEY_ARE;
    carat_talk *talk = a->said ? a->said->talk : NULL;

    to->changed.n = 0;
    for (int i = 0; as_it_is && i < carat_talk_count(talk); i++)
        buffer_put(&to->sent, &i, sizeof i);
    if (!as_it_is)
        talk = messages_talk(d, a->said ? ct_talk_list(a->said->talk) : a->messages, how, &to->sent,
                             &to->changed);
    if (!talk)
        return CARAT_E_MEMORY;
    const carat_status status =
        carat_talk_render(s->options->model, talk, options, &request->prompt, &to->text, &to->err);
    if (!as_it_is)
        carat_talk_close(talk);
    return status;
}

/* What becomes of a rendered prompt, or of one that could not be. */
static bool take_rendered(struct document *d, struct server *s, const struct request_values *a,
                          carat_status status, struct rendered *to, struct request *request)
{
    const int n = (int)(to->sent.n / sizeof(int));

    for (int i = 0, *index = (int *)(void *)to->sent.data; i < n; i++)
        index[i] = sent_of(a, index[i]);
    if (status == CARAT_OK)
        tell_changed(d, a, &to->changed);
    else if (status == CARAT_E_CONTEXT)
        return !is_too_long(d, s, a->list, strlen(to->text));
    else
        return d->r->status != 0 ? false
                                 : refuse_render(d, a, &to->err, (const int *)(const void *)to->sent.data, n);
    return keep_text(d, request, ct_str_of(to->text));
}

bool values_prompt(struct document *d, struct server *s, const struct request_values *a, const char *tools,
                   bool thinks, struct request *request)
{
    carat_render_options options;
    struct rendered to = {.text = NULL};

    const struct ct_json_value *messages = a->said ? ct_talk_list(a->said->talk) : a->messages;
    if (!messages)
        return server_refuse(d->r, 400, "missing_required_parameter", "messages", "messages is missing");
    if (!values_messages(d, s, a->list, messages))
        return false;
    if (!s->info.has_chat_template)
        return server_refuse(
            d->r, 400, NULL, a->list,
            "%s: %s has no chat template: give carat serve one (--chat-template gemma3), or send a "
            "text to /v1/completions",
            a->list, s->options->name);
    carat_render_options_default(&options);
    options.chat_template = s->options->chat_template;
    options.tools = tools;
    options.thinking = thinks;
    options.continue_last = a->continues;
    options.no_generation_prompt = ct_json_is(a->begins_turn, CT_JSON_FALSE);
    options.begins = &request->begins;
    options.most_text = (size_t)s->context * s->longest_text;
    const char *name = options.chat_template ? options.chat_template : s->info.chat_template;
    const enum messages_how turns = strcmp(name, "gemma") == 0 ? MESSAGES_TURNS_ALONE : MESSAGES_TURNS;
    carat_status status = render(d, s, a, &options, MESSAGES_AS_THEY_ARE, request, &to);
    if (status == CARAT_E_ARGUMENT)
        status = render(d, s, a, &options, turns, request, &to);
    const bool good = take_rendered(d, s, a, status, &to, request);
    if (request->keeps_text)
        buffer_swap(&request->said.sent, &to.sent);
    carat_free(to.text);
    buffer_free(&to.sent);
    buffer_free(&to.changed);
    return good;
}

/* What was told of a translation, piece by piece, in the client's names. */
static void take_told(const struct buffer *from, char end, const struct translated *t, struct buffer *to)
{
    struct text rest = {from->data, from->n};
    char piece[1200];

    while (rest.n) {
        struct text one = rest;
        rest = text_split(&one, end);
        one = text_trim(one);
        snprintf(piece, sizeof piece, "%.*s", (int)one.n, one.s);
        if (t->respell)
            t->respell(piece, sizeof piece, t->user);
        if (end == ',' && to->n)
            buffer_text(to, ", ");
        buffer_text(to, piece);
        if (end != ',')
            buffer_put(to, &end, 1);
    }
}

bool values_translated(struct document *d, struct server *s, const struct request_values *a,
                       const struct translated *t, bool thinks, struct request *request)
{
    struct document inner = {.r = d->r};
    struct request_values all = *a;
    const struct buffer *tools = t->tools;
    bool good = said_end(t->said, d);

    if (good && tools->n) /* the library reads and names them as a text */
        good = document_read(&inner, (struct ct_bytes){(const uint8_t *)tools->data, tools->n});
    if (good) {
        const struct ct_json_value *root = inner.tree.value;
        all.said = t->said;
        all.tools = ct_json_get(root, "tools");
        all.tool_choice = ct_json_get(root, "tool_choice");
        all.continues = t->continues;
        good = values_tools(&inner, s, &all, request) &&
               values_prompt(&inner, s, &all, request->tools, thinks, request);
        take_told(&inner.idle, ',', t, &d->idle); /* what the reply's head names of it, and the body says */
        take_told(&inner.warned, '\n', t, &d->warned);
    }
    document_free(&inner);
    return good;
}

bool values_room(struct document *d, struct server *s, const struct request_values *a,
                 struct request *request)
{
    const int64_t given = values_most(a);
    const int64_t most = given ? given : s->options->default_tokens;
    const int room = s->context + 1 - request->prompt.n; /* the last id is given and not held */

    if (request->prompt.n > s->context && !request->any_length)
        return too_long(d, s, a->messages ? a->list : "prompt", request->prompt.n);
    request->max_tokens = most && most < room ? (int)most : CT_MAX(room, 0);
    request->is_clipped = most > room;
    request->said.values_for |= (unsigned)(given > 0) << SET_MAX_TOKENS;
    return true;
}

void values_progress(struct document *d, const struct request_values *a, struct request *request,
                     void (*progress)(struct job *job, int evaluated, int64_t ms))
{
    if (a->more.return_progress && a->stream)
        request->course.progress = progress;
    else if (a->more.return_progress)
        buffer_text(&d->idle, d->idle.n ? ", return_progress" : "return_progress");
}

void values_tell(struct document *d, struct job *job, struct request *request)
{
    char seed[24];

    snprintf(seed, sizeof seed, "%" PRIu64, request->sampling.seed);
    job_field(job, "carat-seed", seed);
    values_tell_fields(d, job);
}

void values_tell_fields(struct document *d, struct job *job)
{
    if (d->ignored.n && buffer_terminate(&d->ignored))
        job_field(job, "carat-ignored", d->ignored.data);
    if (d->idle.n && buffer_terminate(&d->idle))
        job_field(job, "carat-without-effect", d->idle.data);
    buffer_swap(&job->request->said.ignored, &d->ignored);
    buffer_swap(&job->request->extra.warned, &d->warned);
    if (job->request->keeps_text)
        buffer_swap(&job->request->said.idle, &d->idle);
}

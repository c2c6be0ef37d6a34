/* SPDX-License-Identifier: Apache-2.0 */
/* ollama_write.c: what Ollama's clients get: lines of JSON while an answer comes, its figures in nanoseconds,
 * errors, pings, and what is said of the model. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "request.h"
#include "base/base.h"
#include "figures.h"
#include "called.h"
#include "carat_convert.h"
#include "json_write.h"
#include "ollama/ollama.h"
#include "receipts.h"
#include "state.h"
#include "warnings.h"

/* ---- answers ---- */

static void put_time(struct buffer *out, int64_t second, int micro)
{
    const time_t t = (time_t)second;
    char date[40] = "";
    struct tm tm;

    if (gmtime_r(&t, &tm))
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &tm);
    json_put(out, "'%r.", date);
    snprintf(date, sizeof date, "%06dZ", micro);
    json_put(out, "%r'", date);
}

static void begin_line(struct job *job)
{
    uv_timeval64_t now = {0};

    uv_gettimeofday(&now);
    json_put(&job->out, "{'model':%s,'created_at':", job->server->options->name);
    put_time(&job->out, now.tv_sec, now.tv_usec);
}

static int64_t nanoseconds(double ms)
{
    return ms > 0 ? (int64_t)(ms * 1e6) : 0;
}

static void put_figures(struct buffer *out, const struct request *request)
{
    const struct choice *c = &request->choice[0];

    json_put(out, ",'done':true,'done_reason':%s,'total_duration':%l,'load_duration':0,",
             c->reason == CARAT_REASON_LENGTH ? "length" : "stop",
             nanoseconds(request->course.end_ms - request->course.begin_ms));
    json_put(out, "'prompt_eval_count':%d,'prompt_eval_duration':%l,'eval_count':%d,'eval_duration':%l",
             request->prompt.n, nanoseconds(request->course.prompt_ms - request->course.begin_ms), c->given,
             nanoseconds(request->course.end_ms - request->course.prompt_ms));
    receipt_put(out, request, c);
    warnings_put(out, request);
    buffer_text(out, "}");
}

static void put_calls(struct buffer *out, const struct choice *c)
{
    buffer_text(out, ",\"tool_calls\":[");
    for (int i = 0; i < c->n_calls; i++) {
        buffer_text(out, i ? "," : "");
        json_put(out, "{'function':{'name':%s,'arguments':%r}}", c->calls[i].name, c->calls[i].object);
    }
    buffer_text(out, "]");
}

/* Text and thought of a line, open at its end. calls: NULL, or the choice that has them. */
static void put_message(struct job *job, struct ct_str text, struct ct_str thought,
                        const struct choice *calls)
{
    const bool chat = job->request->writer == &ollama_chat_writer;
    struct buffer *out = &job->out;

    begin_line(job);
    json_put(out, chat ? ",'message':{'role':'assistant','content':%t" : ",'response':%t", text.s, text.n);
    if (thought.n)
        json_put(out, ",'thinking':%t", thought.s, thought.n);
    if (calls && calls->n_calls > 0)
        put_calls(out, calls);
    if (chat)
        buffer_text(out, "}");
}

/* Those of the ids that are told with a line. */
static void put_logprobs(struct buffer *out, const struct choice *c)
{
    if (c->logprobs.n == 0)
        return;
    json_put(out, ",'logprobs':[");
    figures_put_logprobs(out, c->job->server->options->model, &c->logprobs, 0, c->logprobs.n);
    buffer_text(out, "]");
}

static void stream_line(struct job *job, struct ct_str text, struct ct_str thought, const struct choice *c,
                        const struct choice *calls)
{
    put_message(job, text, thought, calls);
    put_logprobs(&job->out, c);
    json_put(&job->out, ",'done':false}");
    buffer_text(&job->out, "\n");
}

static void begin_stream(struct job *job)
{
    (void)job; /* the first line is one with text */
}

static void take_given(struct job *job, int number, const carat_given *given)
{
    struct request *request = job->request;
    struct choice *c = &request->choice[number];
    const carat_model *model = job->server->options->model;
    size_t n;
    const char *text = choice_take(model, request, c, given, &n);
    const struct ct_str thought = {given->text, given->thought ? given->n_text : 0};

    if (!request->stream || (n == 0 && thought.n == 0))
        return;
    stream_line(job, (struct ct_str){text, n}, thought, c, NULL);
    c->logprobs.n = 0;
}

static void finish_stream(struct job *job, int number)
{
    struct choice *c = &job->request->choice[number];
    size_t n;
    const char *text = choice_rest(c, &n);

    if (n == 0 && c->n_calls == 0)
        return;
    stream_line(job, (struct ct_str){text, n}, (struct ct_str){"", 0}, c, c);
    c->logprobs.n = 0;
}

static struct ct_str all_of(const struct buffer *b)
{
    return (struct ct_str){b->data ? b->data : "", b->n};
}

static void end_answer(struct job *job)
{
    const struct choice *c = &job->request->choice[0];

    if (job->request->stream)
        put_message(job, (struct ct_str){"", 0}, (struct ct_str){"", 0}, NULL);
    else
        put_message(job, all_of(&c->text), all_of(&c->thought), c);
    put_logprobs(&job->out, c);
    put_figures(&job->out, job->request);
    if (job->request->stream)
        buffer_text(&job->out, "\n");
}

const struct writer ollama_chat_writer = {begin_stream, take_given, finish_stream, end_answer};
const struct writer ollama_generate_writer = {begin_stream, take_given, finish_stream, end_answer};

static void put_empty(struct job *job, bool chat)
{
    begin_line(job);
    json_put(&job->out, chat ? ",'message':{'role':'assistant','content':''}" : ",'response':''");
}

void ollama_empty(struct job *job, bool chat, const char *why)
{
    put_empty(job, chat);
    json_put(&job->out, ",'done':true,'done_reason':%s}", why);
    job_begin(job, 200, "application/json", false);
}

/* ---- errors and pings ---- */

static void refuse_ollama(struct buffer *out, const struct refusal *r)
{
    json_put(out, "{'error':%s}", r->message);
}

static void refuse_ollama_stream(struct job *job, const struct refusal *r)
{
    refuse_ollama(&job->out, r);
    buffer_text(&job->out, "\n");
}

/* Clients parse every line, so a ping is one without text. */
static void ping_chat(struct job *job)
{
    put_empty(job, true);
    buffer_text(&job->out, ",\"done\":false}\n");
}

static void ping_generate(struct job *job)
{
    put_empty(job, false);
    buffer_text(&job->out, ",\"done\":false}\n");
}

const struct surface surface_ollama = {"application/x-ndjson", refuse_ollama, refuse_ollama_stream, ping_chat,
                                       503};
const struct surface surface_ollama_generate = {"application/x-ndjson", refuse_ollama, refuse_ollama_stream,
                                                ping_generate, 503};

/* ---- the model ---- */

static void put_details(struct buffer *out, const carat_model_info *info, const char *mix)
{
    char size[32];

    snprintf(size, sizeof size, info->n_parameter >= 1000000000 ? "%.1fB" : "%.2fM",
             (double)info->n_parameter / (info->n_parameter >= 1000000000 ? 1e9 : 1e6));
    json_put(out, "'details':{'parent_model':'','format':%s,'family':%s,'families':[%s],", info->container,
             info->architecture, info->architecture);
    json_put(out, "'parameter_size':%s,'quantization_level':%s}", size, mix);
}

/* The model as lists have it, open at its end. */
static void put_listed(struct job *job)
{
    const struct server *s = job->server;

    json_put(&job->out, "{'models':[{'name':%s,'model':%s,'size':%u,'digest':%s,", s->options->name,
             s->options->name, s->info.file_bytes, s->info.content);
    put_details(&job->out, &s->info, carat_model_mix(s->options->model));
}

void ollama_tags(struct job *job, struct text path)
{
    (void)path;
    put_listed(job);
    json_put(&job->out, ",'modified_at':");
    put_time(&job->out, job->server->created, 0);
    json_put(&job->out, "}]}");
    job_begin(job, 200, "application/json", false);
}

void ollama_ps(struct job *job, struct text path)
{
    (void)path;
    put_listed(job); /* it stays as long as the server runs */
    json_put(&job->out, ",'expires_at':'2318-01-01T00:00:00Z','size_vram':0,'context_length':%d}]}",
             job->server->context);
    job_begin(job, 200, "application/json", false);
}

void ollama_put_facts(struct job *job)
{
    const carat_model_info *info = &job->server->info;
    struct buffer *out = &job->out;

    json_put(out, "{'parameters':'','template':%s,'capabilities':[%s%r%r],", info->chat_template,
             info->kind == CARAT_EMBEDDER ? "embedding" : "completion",
             info->has_chat_template ? ",\"tools\"" : "", info->can_think ? ",\"thinking\"" : "");
    put_details(out, info, carat_model_mix(job->server->options->model));
    json_put(out, ",'modified_at':");
    put_time(out, job->server->created, 0);
    json_put(out, ",'model_info':{'general.architecture':%s,'general.parameter_count':%u,",
             info->architecture, info->n_parameter);
    json_put(out, "'%r.context_length':%d,'%r.embedding_length':%d,'%r.block_count':%d}}", info->architecture,
             info->max_context, info->architecture, info->hidden, info->architecture, info->n_layer);
    job_begin(job, 200, "application/json", false);
}

/* ---- what needs no model ---- */

/* The text that clients look for before they ask anything else. */
void ollama_root(struct job *job, struct text path)
{
    (void)path;
    buffer_text(&job->out, "Ollama is running");
    job_begin(job, 200, "text/plain; charset=utf-8", false);
}

/* Clients compare it with the version whose routes they need; these are the routes of that one. */
void ollama_version(struct job *job, struct text path)
{
    (void)path;
    json_put(&job->out, "{'version':'0.20.3','carat':%s}", CARAT_VERSION);
    job_begin(job, 200, "application/json", false);
}

void ollama_store(struct job *job, struct text path)
{
    struct refusal r = {0};

    (void)path;
    server_refuse(
        &r, 501, NULL, NULL,
        "this server changes no store: `carat pull`, `carat cp`, `carat rm` and `carat convert` do");
    job_refuse(job, &r);
}

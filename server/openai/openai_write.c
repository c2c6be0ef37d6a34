/* SPDX-License-Identifier: Apache-2.0 */
/* openai_write.c: what OpenAI's clients get: chat completions, whole and in pieces, errors, the list of
 * models. */
#include <math.h>
#include <string.h>

#include "anthropic/anthropic.h"
#include "request.h"
#include "base/base.h"
#include "called.h"
#include "figures.h"
#include "gemini/gemini.h"
#include "json_write.h"
#include "openai/openai.h"
#include "receipts.h"
#include "scores.h"
#include "state.h"
#include "warnings.h"

/* ---- common to both forms ---- */

static void put_head(struct buffer *out, const struct job *job, const char *object)
{
    json_put(out, "{'id':'chatcmpl-%r','object':%s,'created':%l,'model':%s", job->id, object,
             job->request->course.created, job->server->options->name);
    json_put(out, ",'system_fingerprint':%s", fingerprint_text(&job->server->fingerprint));
}

static const char *finish_reason(const struct choice *c)
{
    return c->reason == CARAT_REASON_LENGTH ? "length" : c->n_calls > 0 ? "tool_calls" : "stop";
}

void openai_put_usage(struct buffer *out, const struct request *request)
{
    const int prompt = request->course.past.prompt + request->prompt.n;
    int given = request->course.past.given, thoughts = 0;

    for (int i = 0; i < request->n; i++) {
        given += request->choice[i].given;
        thoughts += request->choice[i].thoughts;
    }
    json_put(
        out,
        "{'prompt_tokens':%d,'completion_tokens':%d,'total_tokens':%d,"
        "'prompt_tokens_details':{'cached_tokens':%d},'completion_tokens_details':{'reasoning_tokens':%d}}",
        prompt, given, prompt + given, request->course.past.cached + request->course.cached, thoughts);
}

/* `streams`: each call says which it is. */
static void put_calls(struct buffer *out, const struct job *job, const struct choice *c, bool streams)
{
    buffer_text(out, "[");
    for (int i = 0; i < c->n_calls; i++) {
        const struct called *call = &c->calls[i];
        json_put(out, i ? ",{" : "{");
        if (streams)
            json_put(out, "'index':%d,", i);
        json_put(out, "'id':'call_%r_%d_%d','type':'function',", job->id, c->number, i);
        json_put(out, "'function':{'name':%s,'arguments':%s}}", call->name, call->arguments);
    }
    buffer_text(out, "]");
}

/* Those of a choice, which are told now, as a member of it. */
static void put_likelihoods(struct job *job, const struct choice *c, bool always)
{
    if (!job->request->logprobs || (!always && c->logprobs.n == 0)) {
        json_put(&job->out, ",'logprobs':null");
        return;
    }
    json_put(&job->out, ",'logprobs':{'content':[");
    figures_put_logprobs(&job->out, job->server->options->model, &c->logprobs, 0, c->logprobs.n);
    json_put(&job->out, "],'refusal':null}");
}

/* ---- ids ---- */

static void put_list(struct buffer *out, const char *name, const int32_t *ids, int n)
{
    json_put(out, ",%s:[", name);
    for (int i = 0; i < n; i++)
        json_put(out, i ? ",%d" : "%d", (int)ids[i]);
    buffer_text(out, "]");
}

void openai_put_prompt_ids(struct buffer *out, const struct request *request)
{
    if (request->extra.tells_ids)
        put_list(out, "prompt_token_ids", request->prompt.ids, request->prompt.n);
}

void openai_put_ids(struct buffer *out, const struct request *request, struct choice *c)
{
    if (request->extra.tells_ids)
        put_list(out, "token_ids", (const int32_t *)(const void *)c->told_ids.data,
                 (int)(c->told_ids.n / sizeof(int32_t)));
    c->told_ids.n = 0;
}

/* ---- in pieces ---- */

/* The beginning of an event with one choice, up to its delta. */
static void begin_chunk(struct job *job, const struct choice *c)
{
    struct choice *first = &job->request->choice[0];

    buffer_text(&job->out, "data: ");
    put_head(&job->out, job, "chat.completion.chunk");
    if (!first->echoed)
        openai_put_prompt_ids(&job->out, job->request);
    first->echoed = true;
    json_put(&job->out, ",'choices':[{'index':%d,'delta':", c->number);
}

/* ended: the same choice, if this is the last of it, or NULL. */
static void end_chunk(struct job *job, struct choice *c, const struct choice *ended)
{
    openai_put_ids(&job->out, job->request, c);
    json_put(&job->out, ",'finish_reason':%s", ended ? finish_reason(ended) : NULL);
    if (ended)
        receipt_put(&job->out, job->request, ended);
    buffer_text(&job->out, "}]");
    if (ended)
        warnings_put(&job->out, job->request);
    if (job->request->wants_usage)
        json_put(&job->out, ",'usage':null");
    buffer_text(&job->out, "}\n\n");
}

static void chat_begin_stream(struct job *job)
{
    for (int i = 0; i < job->request->n; i++) {
        begin_chunk(job, &job->request->choice[i]);
        json_put(&job->out, "{'role':'assistant','content':''},'logprobs':null");
        end_chunk(job, &job->request->choice[i], NULL);
    }
}

void openai_chat_progress(struct job *job, int evaluated, int64_t ms)
{
    begin_chunk(job, &job->request->choice[0]);
    json_put(&job->out, "{},'logprobs':null,'finish_reason':null}]");
    figures_put_progress(&job->out, job->request, evaluated, ms);
    buffer_text(&job->out, "}\n\n");
}

static void chat_given(struct job *job, int number, const carat_given *given)
{
    struct request *request = job->request;
    struct choice *c = &request->choice[number];
    const carat_model *model = job->server->options->model;
    size_t n;
    const char *text = choice_take(model, request, c, given, &n);
    const bool thinks = given->thought && given->n_text > 0;

    if (!request->stream || (n == 0 && !thinks && !request->extra.tells_ids))
        return;
    begin_chunk(job, c);
    if (thinks)
        json_put(&job->out, "{'reasoning_content':%t}", given->text, given->n_text);
    else
        json_put(&job->out, "{'content':%t}", text, n);
    put_likelihoods(job, c, false);
    c->logprobs.n = 0;
    end_chunk(job, c, NULL);
}

static void chat_finish(struct job *job, int number)
{
    struct choice *c = &job->request->choice[number];
    size_t n;
    const char *text = choice_rest(c, &n);

    if (n > 0 || c->logprobs.n > 0) {
        begin_chunk(job, c);
        json_put(&job->out, "{'content':%t}", text, n);
        put_likelihoods(job, c, false);
        end_chunk(job, c, NULL);
    }
    if (c->n_calls > 0) {
        begin_chunk(job, c);
        json_put(&job->out, "{'tool_calls':");
        put_calls(&job->out, job, c, true);
        json_put(&job->out, "},'logprobs':null");
        end_chunk(job, c, NULL);
    }
    begin_chunk(job, c);
    json_put(&job->out, "{},'logprobs':null");
    end_chunk(job, c, c);
}

static void end_stream(struct job *job)
{
    if (job->request->wants_usage) {
        buffer_text(&job->out, "data: ");
        put_head(&job->out, job, "chat.completion.chunk");
        json_put(&job->out, ",'choices':[],'usage':");
        openai_put_usage(&job->out, job->request);
        json_put(&job->out, ",'timings':");
        figures_put_timings(&job->out, job->request);
        buffer_text(&job->out, "}\n\n");
    }
    buffer_text(&job->out, "data: [DONE]\n\n");
}

/* ---- whole ---- */

static void put_choice(struct job *job, struct choice *c)
{
    struct buffer *out = &job->out;

    json_put(out, "{'index':%d,'message':{'role':'assistant','content':", c->number);
    if (c->text.n == 0 && c->n_calls > 0)
        json_put(out, "null");
    else
        json_put(out, "%t", c->text.data ? c->text.data : "", c->text.n);
    json_put(out, ",'refusal':null");
    if (c->thought.n)
        json_put(out, ",'reasoning_content':%t", c->thought.data, c->thought.n);
    if (c->n_calls > 0) {
        json_put(out, ",'tool_calls':");
        put_calls(out, job, c, false);
    }
    buffer_text(out, "}");
    put_likelihoods(job, c, true);
    openai_put_ids(out, job->request, c);
    json_put(out, ",'finish_reason':%s", finish_reason(c));
    receipt_put(out, job->request, c);
    buffer_text(out, "}");
}

static void chat_end(struct job *job)
{
    if (job->request->stream) {
        end_stream(job);
        return;
    }
    put_head(&job->out, job, "chat.completion");
    openai_put_prompt_ids(&job->out, job->request);
    json_put(&job->out, ",'choices':[");
    for (int i = 0; i < job->request->n; i++) {
        json_put(&job->out, i ? "," : "");
        put_choice(job, &job->request->choice[i]);
    }
    json_put(&job->out, "],'usage':");
    openai_put_usage(&job->out, job->request);
    json_put(&job->out, ",'timings':");
    figures_put_timings(&job->out, job->request);
    warnings_put(&job->out, job->request);
    json_put(&job->out, "}");
}

const struct writer openai_chat_writer = {chat_begin_stream, chat_given, chat_finish, chat_end};

/* ---- models, errors, pings ---- */

static void put_model(struct buffer *out, const struct server *s)
{
    json_put(out, "{'id':%s,'object':'model','created':%l,'owned_by':'carat',", s->options->name, s->created);
    json_put(out, "'meta':{'n_ctx':%d,'n_params':%u}}", s->context, s->info.n_parameter);
}

void openai_models(struct job *job, struct text path)
{
    const struct server *s = job->server;
    const struct ct_str base = ct_str_of("/v1/models/");
    struct refusal r = {0};

    if (job->versioned || job->google) {
        (job->google ? gemini_models : anthropic_models)(job, path);
        return;
    }
    if (path.n <= base.n) {
        json_put(&job->out, "{'object':'list','data':[");
        put_model(&job->out, s);
        json_put(&job->out, "]}");
    } else if (ct_str_is((struct ct_str){path.s + base.n, path.n - base.n}, s->options->name))
        put_model(&job->out, s);
    else {
        server_refuse(&r, 404, "model_not_found", "model", "the model that is served is %s",
                      s->options->name);
        job_refuse(job, &r);
        return;
    }
    job_begin(job, 200, "application/json", false);
}

static void refuse_openai_stream(struct job *job, const struct refusal *r)
{
    buffer_text(&job->out, "data: ");
    refusal_openai(&job->out, r);
    buffer_text(&job->out, "\n\n");
}

void openai_ping(struct job *job)
{
    buffer_text(&job->out, ": ping\n\n");
}

const struct surface surface_openai = {"text/event-stream; charset=utf-8", refusal_openai,
                                       refuse_openai_stream, openai_ping, 429};

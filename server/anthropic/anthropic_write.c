/* SPDX-License-Identifier: Apache-2.0 */
/* anthropic_write.c: what Anthropic's clients get: messages, whole and as events, errors, pings, models. */
#include <stdio.h>
#include <time.h>

#include "anthropic/anthropic.h"
#include "request.h"
#include "called.h"
#include "json_write.h"
#include "receipts.h"
#include "state.h"
#include "warnings.h"

enum { NO_BLOCK, TEXT_BLOCK, THOUGHT_BLOCK };

/* ---- common to both forms ---- */

static void put_usage(struct buffer *out, const struct request *request, int given)
{
    json_put(out, "'usage':{'input_tokens':%d,'cache_creation_input_tokens':0,'cache_read_input_tokens':%d,",
             request->prompt.n - request->course.cached, request->course.cached);
    json_put(out, "'output_tokens':%d}", given);
}

static void put_head(struct buffer *out, const struct job *job)
{
    json_put(out, "{'id':'msg_%r','type':'message','role':'assistant','model':%s,'content':[", job->id,
             job->server->options->name);
}

static void put_reason(struct buffer *out, const struct request *request, const struct choice *c)
{
    const char *reason = "end_turn", *stop = NULL;

    if (c->stop >= 0) {
        reason = "stop_sequence";
        stop = request->stops[c->stop];
    } else if (c->reason == CARAT_REASON_LENGTH)
        reason = request->is_clipped ? "model_context_window_exceeded" : "max_tokens";
    else if (c->n_calls > 0)
        reason = "tool_use";
    json_put(out, "'stop_reason':%s,'stop_sequence':%s", reason, stop);
}

static void put_use(struct buffer *out, const struct job *job, const struct called *call, int n,
                    const char *input)
{
    json_put(out, "{'type':'tool_use','id':'toolu_%r_%d','name':%s,'input':%r}", job->id, n, call->name,
             input);
}

/* ---- events ---- */

static void begin_event(struct job *job, const char *name)
{
    json_put(&job->out, "event: %r", name);
    buffer_text(&job->out, "\n");
    json_put(&job->out, "data: {'type':%s", name);
}

static void end_event(struct job *job)
{
    buffer_text(&job->out, "}\n\n");
}

static void begin_stream(struct job *job)
{
    begin_event(job, "message_start");
    json_put(&job->out, ",'message':");
    put_head(&job->out, job);
    json_put(&job->out, "],'stop_reason':null,'stop_sequence':null,");
    put_usage(&job->out, job->request, 0);
    json_put(&job->out, "}");
    end_event(job);
}

static void stop_block(struct job *job, struct choice *c)
{
    if (c->block == NO_BLOCK)
        return;
    if (c->block == THOUGHT_BLOCK) {
        begin_event(job, "content_block_delta");
        json_put(&job->out, ",'index':%d,'delta':{'type':'signature_delta','signature':''}", c->n_blocks - 1);
        end_event(job);
    }
    begin_event(job, "content_block_stop");
    json_put(&job->out, ",'index':%d", c->n_blocks - 1);
    end_event(job);
    c->block = NO_BLOCK;
}

static void put_delta(struct job *job, struct choice *c, int block, const char *s, size_t n)
{
    static const char *const starts[] = {[TEXT_BLOCK] = "{'type':'text','text':''}",
                                         [THOUGHT_BLOCK] =
                                             "{'type':'thinking','thinking':'','signature':''}"};
    static const char *const deltas[] = {[TEXT_BLOCK] = "{'type':'text_delta','text':%t}",
                                         [THOUGHT_BLOCK] = "{'type':'thinking_delta','thinking':%t}"};

    if (c->block != block) {
        stop_block(job, c);
        begin_event(job, "content_block_start");
        json_put(&job->out, ",'index':%d,'content_block':", c->n_blocks++);
        json_put(&job->out, starts[block]);
        end_event(job);
        c->block = block;
    }
    begin_event(job, "content_block_delta");
    json_put(&job->out, ",'index':%d,'delta':", c->n_blocks - 1);
    json_put(&job->out, deltas[block], s, n);
    end_event(job);
}

static void take_given(struct job *job, int number, const carat_given *given)
{
    struct request *request = job->request;
    struct choice *c = &request->choice[number];
    size_t n;
    const char *text = choice_take(job->server->options->model, request, c, given, &n);

    if (request->stream && given->thought && given->n_text)
        put_delta(job, c, THOUGHT_BLOCK, given->text, given->n_text);
    if (request->stream && n > 0)
        put_delta(job, c, TEXT_BLOCK, text, n);
}

static void stream_use(struct job *job, struct choice *c, const struct called *call, int n)
{
    begin_event(job, "content_block_start");
    json_put(&job->out, ",'index':%d,'content_block':", c->n_blocks++);
    put_use(&job->out, job, call, n, "{}");
    end_event(job);
    begin_event(job, "content_block_delta");
    json_put(&job->out, ",'index':%d,'delta':{'type':'input_json_delta','partial_json':%s}", c->n_blocks - 1,
             call->arguments);
    end_event(job);
    begin_event(job, "content_block_stop");
    json_put(&job->out, ",'index':%d", c->n_blocks - 1);
    end_event(job);
}

static void finish_stream(struct job *job, int number)
{
    struct choice *c = &job->request->choice[number];
    size_t n;
    const char *text = choice_rest(c, &n);

    if (n > 0)
        put_delta(job, c, TEXT_BLOCK, text, n);
    stop_block(job, c);
    for (int i = 0; i < c->n_calls; i++)
        stream_use(job, c, &c->calls[i], i);
}

static void end_answer(struct job *job)
{
    const struct request *request = job->request;
    const struct choice *c = &request->choice[0];
    struct buffer *out = &job->out;
    int n = 0;

    if (request->stream) {
        begin_event(job, "message_delta");
        json_put(out, ",'delta':{");
        put_reason(out, request, c);
        json_put(out, "},");
        put_usage(out, request, c->given);
        end_event(job);
        begin_event(job, "message_stop");
        receipt_put(out, request, c);
        warnings_put(out, request);
        end_event(job);
        return;
    }
    put_head(out, job);
    if (c->thought.n) {
        json_put(out, "{'type':'thinking','thinking':%t,'signature':''}", c->thought.data, c->thought.n);
        n++;
    }
    if (c->text.n) {
        json_put(out, n++ ? "," : "");
        json_put(out, "{'type':'text','text':%t}", c->text.data, c->text.n);
    }
    for (int i = 0; i < c->n_calls; i++) {
        json_put(out, n++ ? "," : "");
        put_use(out, job, &c->calls[i], i, c->calls[i].object);
    }
    json_put(out, "],");
    put_reason(out, request, c);
    json_put(out, ",");
    put_usage(out, request, c->given);
    receipt_put(out, request, c);
    warnings_put(out, request);
    json_put(out, "}");
}

const struct writer anthropic_writer = {begin_stream, take_given, finish_stream, end_answer};

/* ---- errors, pings, models ---- */

static const char *error_type(int status)
{
    static const struct {
        int status;
        const char *type;
    } types[] = {{401, "authentication_error"}, {403, "permission_error"}, {404, "not_found_error"},
                 {413, "request_too_large"},    {429, "rate_limit_error"}, {503, "overloaded_error"},
                 {529, "overloaded_error"}};

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].status == status)
            return types[i].type;
    return status < 500 ? "invalid_request_error" : "api_error";
}

static void refuse_anthropic(struct buffer *out, const struct refusal *r)
{
    json_put(out, "{'type':'error','error':{'type':%s,'message':%s", error_type(r->status), r->message);
    if (strcmp(r->param, "thread") == 0) /* Anthropic's clients send all of the conversation then */
        json_put(out, ",'details':{'error_code':'thread_unsupported_request','unsupported':['thread']}");
    buffer_text(out, "}}");
}

static void refuse_anthropic_stream(struct job *job, const struct refusal *r)
{
    buffer_text(&job->out, "event: error\ndata: ");
    refuse_anthropic(&job->out, r);
    buffer_text(&job->out, "\n\n");
}

static void ping_anthropic(struct job *job)
{
    begin_event(job, "ping");
    end_event(job);
}

const struct surface surface_anthropic = {"text/event-stream; charset=utf-8", refuse_anthropic,
                                          refuse_anthropic_stream, ping_anthropic, 529};

static void put_model(struct buffer *out, const struct server *s)
{
    const time_t t = (time_t)s->created;
    char date[40] = "";
    struct tm tm;

    if (gmtime_r(&t, &tm))
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &tm);
    json_put(out, "{'type':'model','id':%s,'display_name':%s,'created_at':%s,", s->options->name,
             s->options->name, date);
    json_put(out, "'max_input_tokens':%d,'max_tokens':%d}", s->context, s->context);
}

void anthropic_models(struct job *job, struct text path)
{
    static const char base[] = "/v1/models/";
    const struct server *s = job->server;
    struct refusal r = {0};

    if (path.n < sizeof base) {
        json_put(&job->out, "{'data':[");
        put_model(&job->out, s);
        json_put(&job->out, "],'has_more':false,'first_id':%s,'last_id':%s}", s->options->name,
                 s->options->name);
    } else if (text_from(path, sizeof base - 1).n == strlen(s->options->name) &&
               memcmp(path.s + sizeof base - 1, s->options->name, path.n - (sizeof base - 1)) == 0)
        put_model(&job->out, s);
    else {
        server_refuse(&r, 404, NULL, NULL, "the model that is served is %s", s->options->name);
        refuse_anthropic(&job->out, &r);
    }
    job_begin(job, r.status ? r.status : 200, "application/json", false);
}

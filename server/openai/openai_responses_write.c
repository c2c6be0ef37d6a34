/* SPDX-License-Identifier: Apache-2.0 */
/* openai_responses_write.c: responses as OpenAI's clients get them: whole, and as typed events with numbers.
 * The runs of an answer, which are thoughts and texts, are its first items; its calls are the others. */
#include <stdio.h>

#include "request.h"
#include "figures.h"
#include "called.h"
#include "json_write.h"
#include "openai/openai_responses.h"
#include "receipts.h"
#include "state.h"
#include "stored.h"
#include "warnings.h"

enum { MOST_NAME = 64 };

/* ---- items ---- */

static struct run *runs_of(const struct request *request, int *n)
{
    const struct buffer *runs = &request->responding->runs;

    *n = (int)(runs->n / sizeof(struct run));
    return (struct run *)(void *)runs->data;
}

/* "msg_..._0" */
static const char *name_item(char name[MOST_NAME], const struct job *job, const char *prefix, int i)
{
    snprintf(name, MOST_NAME, "%s_%s_%d", prefix, job->id, i);
    return name;
}

static const char *name_run(char name[MOST_NAME], const struct job *job, const struct run *run, int i)
{
    return name_item(name, job, run->thought ? "rs" : "msg", i);
}

static void put_logs(struct buffer *out, const struct choice *c, size_t from, size_t until)
{
    json_put(out, "'logprobs':[");
    figures_put_logprobs(out, c->job->server->options->model, &c->logprobs, from, until);
    buffer_text(out, "]");
}

/* The part that a run is. */
static void put_part(struct buffer *out, const struct choice *c, const struct run *run)
{
    const struct buffer *from = run->thought ? &c->thought : &c->text;
    const char *s = from->n ? from->data + run->from : "";

    if (run->thought) {
        json_put(out, "{'type':'reasoning_text','text':%t}", s, run->until - run->from);
        return;
    }
    json_put(out, "{'type':'output_text','text':%t,'annotations':[],", s, run->until - run->from);
    put_logs(out, c, run->logs_from, run->logs_until);
    buffer_text(out, "}");
}

/* An item as it begins, or as it is. */
static void put_run(struct job *job, const struct choice *c, const struct run *run, int i, const char *status,
                    bool begins)
{
    struct buffer *out = &job->out;
    char name[MOST_NAME];

    json_put(out, "{'id':%s,'type':%s,'status':%s,", name_run(name, job, run, i),
             run->thought ? "reasoning" : "message", status);
    json_put(out, run->thought ? "'summary':[],'content':[" : "'role':'assistant','content':[");
    if (!begins)
        put_part(out, c, run);
    buffer_text(out, "]}");
}

static void put_call(struct job *job, const struct called *call, int i, bool begins)
{
    char name[MOST_NAME], id[MOST_NAME];

    json_put(&job->out, "{'id':%s,'type':'function_call','status':%s,'call_id':%s,'name':%s,'arguments':%s}",
             name_item(name, job, "fc", i),
             begins         ? "in_progress"
             : call->is_cut ? "incomplete"
                            : "completed",
             name_item(id, job, "call", i), call->name, begins ? "" : call->arguments);
}

/* Whether the end of the last item is missing. */
static const char *last_status(const struct choice *c)
{
    return c->reason == CARAT_REASON_LENGTH ? "incomplete" : "completed";
}

/* ---- the response ---- */

static void put_usage(struct buffer *out, const struct request *request)
{
    const struct choice *c = &request->choice[0];

    json_put(out, "{'input_tokens':%d,'input_tokens_details':{'cached_tokens':%d,'cache_write_tokens':0},",
             request->prompt.n, request->course.cached);
    json_put(out, "'output_tokens':%d,'output_tokens_details':{'reasoning_tokens':%d},'total_tokens':%d}",
             c->given, c->thoughts, request->prompt.n + c->given);
}

static void put_output(struct job *job)
{
    const struct choice *c = &job->request->choice[0];
    int n;
    const struct run *runs = runs_of(job->request, &n);

    for (int i = 0; i < n; i++) {
        json_put(&job->out, i ? "," : "");
        put_run(job, c, &runs[i], i, i + 1 < n || c->n_calls ? "completed" : last_status(c), false);
    }
    for (int i = 0; i < c->n_calls; i++) {
        json_put(&job->out, n ? "," : "");
        put_call(job, &c->calls[i], n++, false);
    }
}

/* The object; of one that has ended, what came of it. */
static void put_response(struct job *job, bool ended)
{
    const struct request *request = job->request;
    const struct choice *c = &request->choice[0];
    struct stored *stored = request->responding->stored;
    struct buffer *out = &job->out;
    const size_t from = out->n;

    json_put(out, "{'id':'resp_%r','object':'response','created_at':%l,'status':%s,'error':null,", job->id,
             request->course.created, ended ? last_status(c) : "in_progress");
    json_put(out, "'incomplete_details':%r,'model':%s",
             ended && c->reason == CARAT_REASON_LENGTH ? "{\"reason\":\"max_output_tokens\"}" : "null",
             job->server->options->name);
    buffer_put(out, request->responding->repeated.data, request->responding->repeated.n);
    json_put(out, ",'output':[");
    const size_t output = out->n;
    if (ended)
        put_output(job);
    const size_t n_output = out->n - output;
    json_put(out, "],'usage':");
    if (ended) {
        put_usage(out, request);
        json_put(out, ",'timings':");
        figures_put_timings(out, request);
        receipt_put(out, request, c);
        warnings_put(out, request);
    } else
        buffer_text(out, "null");
    buffer_text(out, "}");
    if (!ended || !stored || out->failed)
        return;
    buffer_put(&stored->reply, out->data + from, out->n - from);
    stored->output = output - from;
    stored->n_output = n_output;
    request->responding->stored = NULL;
    if (stored->reply.failed)
        stored_free(stored);
    else
        store_put(&job->server->responses, stored);
}

/* ---- events ---- */

static void begin_event(struct job *job, const char *name)
{
    json_put(&job->out, "event: %r", name);
    buffer_text(&job->out, "\n");
    json_put(&job->out, "data: {'type':%s,'sequence_number':%d", name, job->request->responding->n_events++);
}

static void end_event(struct job *job)
{
    buffer_text(&job->out, "}\n\n");
}

static void tell_response(struct job *job, const char *name, bool ended)
{
    begin_event(job, name);
    json_put(&job->out, ",'response':");
    put_response(job, ended);
    end_event(job);
}

/* An event about the part of a run, open at its end. */
static void begin_part_event(struct job *job, const char *name, const struct run *run, int i)
{
    char item[MOST_NAME];

    begin_event(job, name);
    json_put(&job->out, ",'item_id':%s,'output_index':%d,'content_index':0", name_run(item, job, run, i), i);
}

static void begin_item_event(struct job *job, const char *name, int i)
{
    begin_event(job, name);
    json_put(&job->out, ",'output_index':%d,'item':", i);
}

static void tell_part(struct job *job, const char *name, const struct choice *c, const struct run *run, int i)
{
    begin_part_event(job, name, run, i);
    json_put(&job->out, ",'part':");
    put_part(&job->out, c, run);
    end_event(job);
}

static void tell_run_begin(struct job *job, const struct choice *c, const struct run *run, int i)
{
    begin_item_event(job, "response.output_item.added", i);
    put_run(job, c, run, i, "in_progress", true);
    end_event(job);
    tell_part(job, "response.content_part.added", c, run, i);
}

static void tell_run_end(struct job *job, const struct choice *c, const struct run *run, int i,
                         const char *status)
{
    const struct buffer *from = run->thought ? &c->thought : &c->text;

    begin_part_event(job, run->thought ? "response.reasoning_text.done" : "response.output_text.done", run,
                     i);
    json_put(&job->out, ",'text':%t", from->n ? from->data + run->from : "", run->until - run->from);
    if (!run->thought) {
        buffer_text(&job->out, ",");
        put_logs(&job->out, c, run->logs_from, run->logs_until);
    }
    end_event(job);
    tell_part(job, "response.content_part.done", c, run, i);
    begin_item_event(job, "response.output_item.done", i);
    put_run(job, c, run, i, status, false);
    end_event(job);
}

/* ---- runs ---- */

static struct run *last_run(const struct request *request, int *i)
{
    int n;
    struct run *runs = runs_of(request, &n);

    *i = n - 1;
    return n ? &runs[n - 1] : NULL;
}

static void end_run(struct job *job, const struct choice *c, const char *status)
{
    struct responding *responding = job->request->responding;
    int i;
    const struct run *run = last_run(job->request, &i);

    if (responding->is_open && job->request->stream)
        tell_run_end(job, c, run, i, status);
    responding->is_open = false;
}

/* The run that a piece belongs to, which may be a new one; NULL without memory. */
static struct run *run_of(struct job *job, const struct choice *c, bool thought, size_t at, int *i)
{
    struct responding *responding = job->request->responding;
    struct run *run = last_run(job->request, i);

    if (run && responding->is_open && run->thought == thought)
        return run;
    end_run(job, c, "completed");
    const struct run new = {thought, at, at, responding->logs_told, responding->logs_told};
    buffer_put(&responding->runs, &new, sizeof new);
    if (responding->runs.failed)
        return NULL;
    responding->is_open = true;
    run = last_run(job->request, i);
    if (job->request->stream)
        tell_run_begin(job, c, run, *i);
    return run;
}

/* n bytes more of a thought or a text, and the log-probabilities so far. */
static void add_piece(struct job *job, struct choice *c, bool thought, const char *s, size_t n)
{
    const size_t until = thought ? c->thought.n : c->told, logs = c->logprobs.n;
    struct responding *responding = job->request->responding;
    int i;
    struct run *run = run_of(job, c, thought, until - n, &i);

    if (!run) {
        job->out.failed = true; /* the connection is cut */
        return;
    }
    run->until = until;
    if (!thought)
        run->logs_until = logs;
    if (job->request->stream) {
        begin_part_event(job, thought ? "response.reasoning_text.delta" : "response.output_text.delta", run,
                         i);
        json_put(&job->out, ",'delta':%t", s, n);
        if (!thought) {
            buffer_text(&job->out, ",");
            put_logs(&job->out, c, responding->logs_told, logs);
        }
        end_event(job);
    }
    if (!thought)
        responding->logs_told = logs;
}

/* ---- the writer ---- */

static void begin_events(struct job *job)
{
    tell_response(job, "response.created", false);
    tell_response(job, "response.in_progress", false);
}

static void take_piece(struct job *job, int number, const carat_given *given)
{
    struct request *request = job->request;
    struct choice *c = &request->choice[number];
    const carat_model *model = job->server->options->model;
    size_t n;
    const char *text = choice_take(model, request, c, given, &n);

    if (given->thought && given->n_text)
        add_piece(job, c, true, given->text, given->n_text);
    else if (n > 0)
        add_piece(job, c, false, text, n);
}

static void tell_call(struct job *job, const struct called *call, int i)
{
    char item[MOST_NAME];

    name_item(item, job, "fc", i);
    begin_item_event(job, "response.output_item.added", i);
    put_call(job, call, i, true);
    end_event(job);
    begin_event(job, "response.function_call_arguments.delta");
    json_put(&job->out, ",'item_id':%s,'output_index':%d,'delta':%s", item, i, call->arguments);
    end_event(job);
    begin_event(job, "response.function_call_arguments.done");
    json_put(&job->out, ",'item_id':%s,'output_index':%d,'name':%s,'arguments':%s", item, i, call->name,
             call->arguments);
    end_event(job);
    begin_item_event(job, "response.output_item.done", i);
    put_call(job, call, i, false);
    end_event(job);
}

/* The answer has ended: what is left of its text, and an item even if there is nothing. */
static void end_runs(struct job *job)
{
    struct choice *c = &job->request->choice[0];
    size_t n;
    const char *text = choice_rest(c, &n);

    if (n > 0 || c->logprobs.n > job->request->responding->logs_told ||
        (job->request->responding->runs.n == 0 && c->n_calls == 0))
        add_piece(job, c, false, text, n);
    end_run(job, c, c->n_calls ? "completed" : last_status(c));
}

static void finish_events(struct job *job, int number)
{
    struct choice *c = &job->request->choice[number];
    int n;

    end_runs(job);
    (void)runs_of(job->request, &n);
    for (int i = 0; i < c->n_calls; i++)
        tell_call(job, &c->calls[i], n++);
}

static void end_response(struct job *job)
{
    if (job->request->stream) {
        const bool whole = job->request->choice[0].reason != CARAT_REASON_LENGTH;
        tell_response(job, whole ? "response.completed" : "response.incomplete", true);
        return;
    }
    end_runs(job);
    put_response(job, true);
}

const struct writer openai_responses_writer = {begin_events, take_piece, finish_events, end_response};

/* The object that other streams of OpenAI have is in it too: its client raises for that. */
static void refuse_stream(struct job *job, const struct refusal *r)
{
    begin_event(job, "error");
    json_put(&job->out, ",'code':%s,'message':%s,'param':%s,", r->code, r->message,
             *r->param ? r->param : NULL);
    refusal_openai_member(&job->out, r);
    end_event(job);
}

const struct surface surface_responses = {"text/event-stream; charset=utf-8", refusal_openai, refuse_stream,
                                          openai_ping, 429};

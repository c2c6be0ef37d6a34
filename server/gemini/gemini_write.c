/* SPDX-License-Identifier: Apache-2.0 */
/* gemini_write.c: what Google's clients get: candidates, whole and in pieces, which are events or the
 * elements of a list, errors, pings, models. */
#include <stdio.h>

#include "request.h"
#include "base/base.h"
#include "called.h"
#include "gemini/gemini.h"
#include "json_write.h"
#include "receipts.h"
#include "scores.h"
#include "state.h"
#include "warnings.h"

/* ---- log-probabilities ---- */

static void put_candidate(struct buffer *out, const carat_model *model, const carat_logprob *l)
{
    char bytes[CARAT_PIECE_BYTES];
    const size_t n = carat_piece_bytes(model, l->id, bytes);

    json_put(out, "{'token':%t,'tokenId':%d,'logProbability':%f}", bytes, n, (int)l->id, (double)l->logprob);
}

/* Those of the ids whose text is told with it. */
static void put_likely(struct buffer *out, const carat_model *model, const struct choice *c)
{
    const struct told_logprob *told = (const struct told_logprob *)(const void *)c->logprobs.data;
    const int n = (int)(c->logprobs.n / sizeof *told);
    double sum = 0;

    if (n == 0)
        return;
    json_put(out, ",'logprobsResult':{'chosenCandidates':[");
    for (int i = 0; i < n; i++) {
        buffer_text(out, i ? "," : "");
        put_candidate(out, model, &told[i].of);
        sum += (double)told[i].of.logprob;
    }
    json_put(out, "],'topCandidates':[");
    for (int i = 0; i < n; i++) {
        json_put(out, i ? ",{'candidates':[" : "{'candidates':[");
        for (int k = 0; k < told[i].n_top; k++) {
            buffer_text(out, k ? "," : "");
            put_candidate(out, model, &told[i].top[k]);
        }
        buffer_text(out, "]}");
    }
    json_put(out, "],'logProbabilitySum':%f},'avgLogprobs':%f", sum, sum / n);
}

/* ---- parts ---- */

/* What stands between parts, and before the first one. */
static void put_text(struct buffer *out, struct ct_str text, bool thought, int *n)
{
    if (text.n == 0)
        return;
    json_put(out, (*n)++ ? ",{'text':%t" : "{'text':%t", text.s, text.n);
    json_put(out, thought ? ",'thought':true}" : "}");
}

static void put_functions(struct job *job, const struct choice *c, int *n)
{
    for (int i = 0; i < c->n_calls; i++) {
        json_put(&job->out, (*n)++ ? ",{'functionCall':{'id':" : "{'functionCall':{'id':");
        json_put(&job->out, "'call_%r_%d_%d','name':%s,'args':%r}}", job->id, c->number, i, c->calls[i].name,
                 c->calls[i].object);
    }
}

/* ended: the choice has, and what it called is told with it. */
static void put_content(struct job *job, const struct choice *c, struct ct_str thought, struct ct_str text,
                        bool ended)
{
    int n = 0;

    json_put(&job->out, "{'content':{'parts':[");
    if (!job->request->extra.hides_thoughts)
        put_text(&job->out, thought, true, &n);
    put_text(&job->out, text, false, &n);
    if (ended)
        put_functions(job, c, &n);
    json_put(&job->out, n ? "],'role':'model'}" : "{'text':''}],'role':'model'}");
    if (ended)
        json_put(&job->out, ",'finishReason':%s", c->reason == CARAT_REASON_LENGTH ? "MAX_TOKENS" : "STOP");
    json_put(&job->out, ",'index':%d", c->number);
    put_likely(&job->out, job->server->options->model, c);
    if (ended)
        receipt_put(&job->out, job->request, c);
    buffer_text(&job->out, "}");
}

static void put_metadata(struct buffer *out, const struct request *request)
{
    int given = 0, thoughts = 0;

    for (int i = 0; i < request->n; i++) {
        given += request->choice[i].given - request->choice[i].thoughts;
        thoughts += request->choice[i].thoughts;
    }
    json_put(out, ",'usageMetadata':{'promptTokenCount':%d,'candidatesTokenCount':%d,", request->prompt.n,
             given);
    if (request->course.cached)
        json_put(out, "'cachedContentTokenCount':%d,", request->course.cached);
    if (thoughts)
        json_put(out, "'thoughtsTokenCount':%d,", thoughts);
    json_put(out, "'totalTokenCount':%d,", request->prompt.n + given + thoughts);
    json_put(out, "'promptTokensDetails':[{'modality':'TEXT','tokenCount':%d}]}", request->prompt.n);
    warnings_put(out, request);
}

static void put_name(struct job *job)
{
    json_put(&job->out, ",'modelVersion':%s,'responseId':%s}", job->server->options->name, job->id);
}

/* ---- in pieces ---- */

static bool is_list(const struct job *job)
{
    return job->surface == &surface_gemini_list;
}

static void begin_piece(struct job *job)
{
    buffer_text(&job->out, is_list(job) ? ",\n{\"candidates\":[" : "data: {\"candidates\":[");
}

static void end_piece(struct job *job)
{
    put_name(job);
    buffer_text(&job->out, is_list(job) ? "" : "\n\n");
}

/* A candidate without text: a ping, and what a list begins with. */
static void put_empty(struct job *job)
{
    json_put(&job->out, "{'content':{'parts':[{'text':''}],'role':'model'},'index':0}]");
}

static void gemini_begin(struct job *job)
{
    if (!is_list(job))
        return;
    json_put(&job->out, "[{'candidates':[");
    put_empty(job);
    put_name(job);
}

static void gemini_given(struct job *job, int number, const carat_given *given)
{
    static const struct ct_str nothing = {"", 0};
    struct request *request = job->request;
    struct choice *c = &request->choice[number];
    size_t n;
    const char *text = choice_take(job->server->options->model, request, c, given, &n);
    const bool thinks = given->thought && given->n_text > 0 && !request->extra.hides_thoughts;

    if (!request->stream || (n == 0 && !thinks))
        return;
    begin_piece(job);
    put_content(job, c, thinks ? (struct ct_str){given->text, given->n_text} : nothing,
                (struct ct_str){text, n}, false);
    buffer_text(&job->out, "]");
    end_piece(job);
    c->logprobs.n = 0;
}

static void gemini_finish(struct job *job, int number)
{
    struct choice *c = &job->request->choice[number];
    size_t n;
    const char *text = choice_rest(c, &n);

    begin_piece(job);
    put_content(job, c, (struct ct_str){"", 0}, (struct ct_str){text, n}, true);
    buffer_text(&job->out, "]");
    put_metadata(&job->out, job->request);
    end_piece(job);
}

/* ---- whole ---- */

static struct ct_str all_of(const struct buffer *b)
{
    return (struct ct_str){b->data ? b->data : "", b->n};
}

static void gemini_end(struct job *job)
{
    if (job->request->stream) {
        buffer_text(&job->out, is_list(job) ? "]" : "");
        return;
    }
    json_put(&job->out, "{'candidates':[");
    for (int i = 0; i < job->request->n; i++) {
        const struct choice *c = &job->request->choice[i];
        buffer_text(&job->out, i ? "," : "");
        put_content(job, c, all_of(&c->thought), all_of(&c->text), true);
    }
    buffer_text(&job->out, "]");
    put_metadata(&job->out, job->request);
    put_name(job);
}

const struct writer gemini_writer = {gemini_begin, gemini_given, gemini_finish, gemini_end};

/* ---- errors, pings ---- */

static const char *error_status(int status)
{
    static const struct {
        int status;
        const char *name;
    } names[] = {{401, "UNAUTHENTICATED"},   {403, "PERMISSION_DENIED"},  {404, "NOT_FOUND"},
                 {408, "DEADLINE_EXCEEDED"}, {429, "RESOURCE_EXHAUSTED"}, {501, "UNIMPLEMENTED"},
                 {503, "UNAVAILABLE"}};

    for (size_t i = 0; i < CT_COUNT(names); i++)
        if (names[i].status == status)
            return names[i].name;
    return status < 500 ? "INVALID_ARGUMENT" : "INTERNAL";
}

static void refuse_gemini(struct buffer *out, const struct refusal *r)
{
    json_put(out, "{'error':{'code':%d,'message':%s,'status':%s", r->status, r->message,
             error_status(r->status));
    if (*r->param)
        json_put(out,
                 ",'details':[{'@type':'type.googleapis.com/google.rpc.BadRequest',"
                 "'fieldViolations':[{'field':%s,'description':%s}]}]",
                 r->param, r->message);
    buffer_text(out, "}}");
}

static void refuse_gemini_stream(struct job *job, const struct refusal *r)
{
    buffer_text(&job->out, is_list(job) ? ",\n" : "data: ");
    refuse_gemini(&job->out, r);
    buffer_text(&job->out, is_list(job) ? "]" : "\n\n");
}

/* Its client takes a comment for JSON, so a ping is a piece without text. */
static void ping_gemini(struct job *job)
{
    begin_piece(job);
    put_empty(job);
    end_piece(job);
}

const struct surface surface_gemini = {"text/event-stream; charset=utf-8", refuse_gemini,
                                       refuse_gemini_stream, ping_gemini, 429};
const struct surface surface_gemini_list = {"application/json", refuse_gemini, refuse_gemini_stream,
                                            ping_gemini, 429};

/* ---- models ---- */

static void put_gemini_model(struct buffer *out, const struct server *s)
{
    char name[256];
    carat_sampling sampling;

    snprintf(name, sizeof name, "models/%s", s->options->name);
    carat_sampling_default(s->options->model, &sampling);
    json_put(out, "{'name':%s,'version':%s,'displayName':%s,'description':%s,", name, s->options->name,
             s->options->name, s->info.architecture);
    json_put(out, "'inputTokenLimit':%d,'outputTokenLimit':%d,'supportedGenerationMethods':", s->context,
             s->context);
    json_put(out, "['generateContent','countTokens'],'temperature':%f,'topP':%f,'topK':%d,",
             json_short(sampling.temperature), json_short(sampling.top_p), sampling.top_k);
    json_put(out, "'maxTemperature':%f,'thinking':%b}", json_short(CARAT_TEMPERATURE_MAX), s->info.can_think);
}

void gemini_models(struct job *job, struct text path)
{
    const struct server *s = job->server;
    struct refusal r = {0};

    (void)path;
    if (!*job->rest) {
        json_put(&job->out, "{'models':[");
        put_gemini_model(&job->out, s);
        buffer_text(&job->out, "]}");
    } else if (strcmp(job->rest, s->options->name) == 0)
        put_gemini_model(&job->out, s);
    else {
        server_refuse(&r, 404, "model_not_found", "model", "the model that is served is %s",
                      s->options->name);
        refuse_gemini(&job->out, &r);
    }
    job_begin(job, r.status ? r.status : 200, "application/json", false);
}

void gemini_vectors(struct job *job, struct text path)
{
    struct refusal r = {0};

    (void)path;
    server_refuse(&r, 400, NULL, NULL, "vectors are not given here: /v1/embeddings and /api/embed give them");
    job_refuse(job, &r);
}

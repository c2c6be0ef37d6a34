/* SPDX-License-Identifier: Apache-2.0 */
/* llama_write.c: completions as llama.cpp's clients get them: whole, one or a list of them, or as events, the
 * last of which has all that is known. */
#include <math.h>
#include <string.h>

#include "figures.h"
#include "json_write.h"
#include "prompt_list.h"
#include "llama/llama.h"
#include "receipts.h"
#include "scores.h"
#include "state.h"
#include "warnings.h"

/* ---- what is told with text ---- */

/* Of all answers of all prompts. */
static int index_of(const struct request *request, const struct choice *c)
{
    return request->prompts.at * request->n + c->number;
}

static void put_ids(struct buffer *out, const struct choice *c)
{
    json_put(out, ",'tokens':");
    json_put_ids(out, (const int32_t *)(const void *)c->ids.data, (int)(c->ids.n / sizeof(int32_t)));
}

static void put_token(struct buffer *out, const carat_model *model, const carat_logprob *l)
{
    json_put(out, "{'id':%d,", (int)l->id);
    figures_put_token(out, model, l);
}

static void put_probabilities(struct buffer *out, const carat_model *model, const struct choice *c)
{
    const struct told_logprob *told = (const struct told_logprob *)(const void *)c->logprobs.data;
    const int n = (int)(c->logprobs.n / sizeof *told);

    if (n == 0)
        return;
    json_put(out, ",'completion_probabilities':[");
    for (int i = 0; i < n; i++) {
        buffer_text(out, i ? "," : "");
        put_token(out, model, &told[i].of);
        json_put(out, ",'top_logprobs':[");
        for (int k = 0; k < told[i].n_top; k++) {
            buffer_text(out, k ? "," : "");
            put_token(out, model, &told[i].top[k]);
            buffer_text(out, "}");
        }
        buffer_text(out, "]}");
    }
    buffer_text(out, "]");
}

/* ---- the settings of an answer ---- */

static void put_links(struct buffer *out, const carat_chain *chain)
{
    const int n = chain->links ? chain->n_links : CARAT_LINKS;

    json_put(out, ",'samplers':[");
    for (int i = 0; i < n; i++)
        json_put(out, i ? ",%s" : "%s", carat_link_name(chain->links ? chain->links[i] : (carat_link)i));
    buffer_text(out, "]");
}

static void put_settings(struct buffer *out, const struct job *job)
{
    const struct request *request = job->request;
    const carat_sampling *s = &request->sampling;
    const carat_chain *c = &request->chain;

    json_put(out, ",'generation_settings':{'n_predict':%d,'n_ctx':%d,'seed':%u,'temperature':%f,'top_k':%d,",
             request->evaluates ? 0 : request->max_tokens, job->server->context, s->seed,
             json_short(s->temperature), s->top_k);
    json_put(out, "'top_p':%f,'min_p':%f,'typical_p':%f,'repeat_penalty':%f,'repeat_last_n':%d,",
             json_short(s->top_p), json_short(s->min_p), json_short(c->typical_p),
             json_short(c->repeat_penalty), c->repeat_last_n);
    json_put(out, "'frequency_penalty':%f,'presence_penalty':%f,'dry_multiplier':%f,'dry_base':%f,",
             json_short(c->frequency_penalty), json_short(c->presence_penalty), json_short(c->dry_multiplier),
             json_short(c->dry_base));
    json_put(out, "'dry_allowed_length':%d,'dry_penalty_last_n':%d,'xtc_probability':%f,'xtc_threshold':%f,",
             c->dry_allowed_length, c->dry_penalty_last_n, json_short(c->xtc_probability),
             json_short(c->xtc_threshold));
    json_put(out, "'stream':%b,'n_probs':%d,'stop':[", request->stream, request->top_logprobs);
    for (int i = 0; i < request->n_stops; i++)
        json_put(out, i ? ",%s" : "%s", request->stops[i]);
    buffer_text(out, "]");
    put_links(out, c);
    buffer_text(out, "}");
}

static void put_end(struct job *job, const struct choice *c)
{
    const struct request *request = job->request;
    const struct listed_prompt *prompt = &request->prompts.list[request->prompts.at];
    struct buffer *out = &job->out;
    const bool word = c->reason == CARAT_REASON_STOP_STRING && c->stop >= 0;
    const bool limit = c->reason == CARAT_REASON_LENGTH;

    json_put(out, ",'stop':true,'model':%s,'tokens_predicted':%d,'tokens_evaluated':%d,'tokens_cached':%d",
             job->server->options->name, c->given, request->prompt.n, request->course.cached);
    put_settings(out, job);
    json_put(out, ",'prompt':%t,'has_new_line':%b,'truncated':%b", prompt->text, prompt->n_text,
             c->text.n && memchr(c->text.data, '\n', c->text.n) != NULL,
             limit && request->prompt.n + c->given > job->server->context);
    json_put(out, ",'stop_type':%s,'stopping_word':%s,'timings':",
             limit  ? "limit"
             : word ? "word"
                    : "eos",
             word ? request->stops[c->stop] : "");
    figures_put_timings(out, request);
    receipt_put(out, request, c);
    warnings_put(out, request);
    buffer_text(out, "}");
}

/* ---- in pieces ---- */

static void open_event(struct job *job, const struct choice *c, const char *text, size_t n)
{
    json_put(&job->out, "data: {'index':%d,'content':%t", index_of(job->request, c), text, n);
}

static void llama_begin(struct job *job)
{
    (void)job; /* the first event is one with text */
}

void llama_progress(struct job *job, int evaluated, int64_t ms)
{
    open_event(job, &job->request->choice[0], "", 0);
    json_put(&job->out, ",'tokens':[],'stop':false,'tokens_predicted':0,'tokens_evaluated':%d",
             job->request->prompt.n);
    figures_put_progress(&job->out, job->request, evaluated, ms);
    buffer_text(&job->out, "}\n\n");
}

static void llama_given(struct job *job, int number, const carat_given *given)
{
    struct request *request = job->request;
    struct choice *c = &request->choice[number];
    const carat_model *model = job->server->options->model;
    size_t n;
    const char *text = choice_take(model, request, c, given, &n);

    if (request->stream || request->extra.tells_ids)
        buffer_put(&c->ids, &given->id, sizeof given->id);
    if (!request->stream || n == 0)
        return;
    open_event(job, c, text, n);
    put_ids(&job->out, c);
    json_put(&job->out, ",'stop':false,'tokens_predicted':%d,'tokens_evaluated':%d", c->given,
             request->prompt.n);
    put_probabilities(&job->out, model, c);
    buffer_text(&job->out, "}\n\n");
    c->ids.n = c->logprobs.n = 0;
}

/* The figures of an answer are complete when all of its prompt are, so that it ends with them. */
static void llama_finish(struct job *job, int number)
{
    (void)job;
    (void)number;
}

static void put_last(struct job *job, struct choice *c)
{
    size_t n;
    const char *text = choice_rest(c, &n);

    open_event(job, c, text, n);
    put_ids(&job->out, c);
    put_probabilities(&job->out, job->server->options->model, c);
    put_end(job, c);
    buffer_text(&job->out, "\n\n");
}

/* ---- whole ---- */

static void put_completion(struct job *job, const struct choice *c)
{
    struct buffer *out = &job->out;

    json_put(out, "{'index':%d,'content':%t", index_of(job->request, c), c->text.data ? c->text.data : "",
             c->text.n);
    put_ids(out, c);
    put_probabilities(out, job->server->options->model, c);
    put_end(job, c);
}

static void llama_end(struct job *job)
{
    struct request *request = job->request;
    const bool several = request->n * request->prompts.n_list > 1;

    for (int i = 0; i < request->n; i++)
        if (request->stream)
            put_last(job, &request->choice[i]);
        else {
            const bool first = index_of(request, &request->choice[i]) == 0;
            buffer_text(&job->out, !several ? "" : first ? "[" : ",");
            put_completion(job, &request->choice[i]);
        }
    if (!request->stream && several && request_is_last(request))
        buffer_text(&job->out, "]");
}

const struct writer llama_writer = {llama_begin, llama_given, llama_finish, llama_end};

/* ---- errors, pings ---- */

static void refuse_llama_stream(struct job *job, const struct refusal *r)
{
    buffer_text(&job->out, "data: ");
    refusal_llama(&job->out, r);
    buffer_text(&job->out, "\n\n");
}

static void ping(struct job *job)
{
    buffer_text(&job->out, ": ping\n\n");
}

const struct surface surface_llama = {"text/event-stream; charset=utf-8", refusal_llama, refuse_llama_stream,
                                      ping, 503};

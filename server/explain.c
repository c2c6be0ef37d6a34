/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c: what would become of a request: its prompt, how its ids would be drawn and who said so, its
 * form, what of it has no effect, and what it costs. It is prepared as if it were to be answered, and what is
 * wrong with it is refused in the same words. Between two passes the engine's thread looks up what is kept of
 * its prompt (explain_cached.c). Of vectors it is told how texts are read, and what they cost. */
#include "explain.h"

#include <math.h>

#include "request_values.h"
#include "json_write.h"
#include "body_kind.h"
#include "state.h"
#include "vectors.h"

/* ---- how ids would be drawn ---- */

#define OF_MODEL(field) offsetof(struct request, sampling.field)
#define OF_CHAIN(field) offsetof(struct request, chain.field)

/* Settings by their links, as the chain has them. */
static const struct row {
    carat_link link;
    enum setting setting;
    const char *name;
    size_t at;
    bool whole, of_model;
} rows[] = {
    {CARAT_LINK_PENALTIES, SET_REPEAT_PENALTY, "repeat_penalty", OF_CHAIN(repeat_penalty), false, false},
    {CARAT_LINK_PENALTIES, SET_REPEAT_LAST_N, "repeat_last_n", OF_CHAIN(repeat_last_n), true, false},
    {CARAT_LINK_PENALTIES, SET_FREQUENCY, "frequency_penalty", OF_CHAIN(frequency_penalty), false, false},
    {CARAT_LINK_PENALTIES, SET_PRESENCE, "presence_penalty", OF_CHAIN(presence_penalty), false, false},
    {CARAT_LINK_DRY, SET_DRY, "dry_multiplier", OF_CHAIN(dry_multiplier), false, false},
    {CARAT_LINK_TOP_K, SET_TOP_K, "top_k", OF_MODEL(top_k), true, true},
    {CARAT_LINK_TEMPERATURE, SET_TEMPERATURE, "temperature", OF_MODEL(temperature), false, true},
    {CARAT_LINK_TYPICAL, SET_TYPICAL_P, "typical_p", OF_CHAIN(typical_p), false, false},
    {CARAT_LINK_TOP_P, SET_TOP_P, "top_p", OF_MODEL(top_p), false, true},
    {CARAT_LINK_MIN_P, SET_MIN_P, "min_p", OF_MODEL(min_p), false, true},
    {CARAT_LINK_XTC, SET_XTC, "xtc_probability", OF_CHAIN(xtc_probability), false, false},
};

static const char *origin(const struct request *request, enum setting setting, const char *otherwise)
{
    return request->said.values_for >> setting & 1 ? "request" : otherwise;
}

static void put_row(struct buffer *out, const struct request *request, const struct row *row)
{
    const char *at = (const char *)request + row->at;
    int whole;
    float real;

    json_put(out, "'%r':{'value':", row->name);
    if (row->whole) {
        memcpy(&whole, at, sizeof whole);
        json_put(out, "%d", whole);
    } else {
        memcpy(&real, at, sizeof real);
        json_put(out, "%f", json_short(real));
    }
    json_put(out, ",'origin':%s}", origin(request, row->setting, row->of_model ? "model" : "default"));
}

static void put_link(struct buffer *out, const struct request *request, carat_link link)
{
    json_put(out, "{'link':%s", carat_link_name(link));
    for (size_t i = 0; i < CT_COUNT(rows); i++)
        if (rows[i].link == link) {
            buffer_text(out, ",");
            put_row(out, request, &rows[i]);
        }
    buffer_text(out, "}");
}

static void put_sampling(struct buffer *out, const struct request *request)
{
    const bool seeded = request->said.values_for >> SET_SEED & 1;

    json_put(out, ",'sampling':{'seed':{'value':");
    if (seeded)
        json_put(out, "%u", request->sampling.seed);
    else
        buffer_text(out, "null");
    json_put(out, ",'origin':%s},'logit_bias':{'ids':%d,'origin':%s},'chain':[", seeded ? "request" : "drawn",
             request->chain.n_biases, origin(request, SET_BIAS, "default"));
    for (int i = 0; i < (request->chain.links ? request->chain.n_links : CARAT_LINKS); i++) {
        buffer_text(out, i ? "," : "");
        put_link(out, request, request->chain.links ? request->chain.links[i] : (carat_link)i);
    }
    buffer_text(out, "]}");
}

/* ---- the rest ---- */

/* Names between commas. */
static void put_names(struct buffer *out, const char *name, const struct buffer *list)
{
    struct text rest = {list->data, list->n};
    int n = 0;

    json_put(out, ",'%r':[", name);
    while (rest.n) {
        struct text one = rest;
        rest = text_split(&one, ',');
        one = text_trim(one);
        json_put(out, n++ ? ",%t" : "%t", one.s, one.n);
    }
    buffer_text(out, "]");
}

static void put_prompt(struct buffer *out, const struct request *request, const carat_model_info *info)
{
    json_put(out, ",'prompts':%d,'prompt':%s,'prompt_tokens':%d,'ids':",
             request->prompts.n_list ? request->prompts.n_list : 1, request->text, request->prompt.n);
    json_put_ids(out, request->prompt.ids, request->prompt.n);
    json_put(out, ",'messages_begin':");
    json_put_ids(out, request->begins.ids, request->begins.n);
    if (request->begins.n > 0)
        json_put(out, ",'template':{'name':%s,'checkpoint_differs':%b,'checkpoint_origin':%s}",
                 info->chat_template, info->template_altered, info->template_origin);
    else
        json_put(out, ",'template':null");
}

static void put_form(struct buffer *out, const struct request *request)
{
    static const char *const forms[] = {[CARAT_FORM_SCHEMA] = "schema",
                                        [CARAT_FORM_REGEX] = "regex",
                                        [CARAT_FORM_GRAMMAR] = "grammar",
                                        [CARAT_FORM_TOOLS] = "tools"};
    carat_constraint_info info;
    carat_constraint_info_default(&info);

    if (!request->constraint || carat_constraint_get_info(request->constraint, &info, NULL) != CARAT_OK) {
        json_put(out, ",'constraint':null");
        return;
    }
    json_put(out, ",'constraint':{'form':%s,'text':%t,'tool_choice':%s,'one_call':%b,",
             forms[request->form.form], request->form.text, request->form.n_text, request->form.tool_choice,
             request->form.one_call);
    if (request->form.tools) /* the answer may be calls in the place of it */
        json_put(out, "'or_calls':%b,", 1);
    json_put(out, "'rules':%d,'shortest':%d}", info.rules, info.shortest);
}

static void put_length(struct buffer *out, const struct server *s, const struct request *request)
{
    const char *otherwise = request->prompts.n_list || s->options->default_tokens ? "default" : "context";

    json_put(out, ",'n':%d,'stream':%b,'max_tokens':{'value':%d,'origin':%s},'stop':[", request->n,
             request->stream, request->max_tokens,
             request->is_clipped ? "context" : origin(request, SET_MAX_TOKENS, otherwise));
    for (int i = 0; i < request->n_stops; i++)
        json_put(out, i ? ",%s" : "%s", request->stops[i]);
    buffer_text(out, "]");
}

/* Of the engine's thread, as it was behind the last pass. */
static void put_cost(struct buffer *out, struct server *s, const struct request *request)
{
    const int rate = atomic_load(&s->prompt_rate), wait = atomic_load(&s->wait_ms);
    const int left = request->prompt.n - explain_reused(request);

    json_put(out, ",'memory':{'answers':%d,'positions':%d,'blocks':%d,'blocks_free':%d,'blocks_cached':%d}",
             request->n, request_positions(request), atomic_load(&s->blocks), atomic_load(&s->blocks_free),
             atomic_load(&s->blocks_cached));
    json_put(out, ",'places':{'all':%d,'taken':%d,'waiting':%d}", s->options->parallel,
             atomic_load(&s->taken), atomic_load(&s->waiting) - 1); /* this request counts among those */
    json_put(out, ",'first_token':{'tokens_per_second':%f,'ms':%f,'to_evaluate':%d,'wait_ms':%d}",
             rate ? (double)rate : NAN, rate ? wait + left * 1e3 / rate : NAN, left, wait);
}

/* ---- vectors ---- */

static void put_texts(struct buffer *out, const struct vectors *v)
{
    const carat_embed_input *input = (const carat_embed_input *)(const void *)v->inputs.data;

    json_put(out, ",'prompts':%d,'prompt_tokens':%d,'ids':[", v->n, v->ids.n);
    for (int i = 0; i < v->n; i++) {
        buffer_text(out, i ? "," : "");
        json_put_ids(out, input[i].tokens, input[i].n);
    }
    buffer_text(out, "]");
}

/* All of what a request for vectors would come to: nothing is kept of texts, so that there is nothing to look
 * up. */
static void explain_vectors(struct job *job)
{
    struct server *s = job->server;
    struct buffer *out = &job->out;
    const struct request *request = job->request;
    const struct vectors *v = request->vectors;
    const int rate = atomic_load(&s->prompt_rate), wait = atomic_load(&s->wait_ms);

    put_texts(out, v);
    json_put(out, ",'dimensions':{'value':%d,'of':%d}", v->dim, s->embedder.width);
    put_names(out, "without_effect", &request->said.idle);
    put_names(out, "ignored", &request->said.ignored);
    json_put(out, ",'memory':{'bytes':%l},'places':{'all':%d,'taken':%d,'waiting':%d}",
             (int64_t)vectors_bytes(v), s->options->parallel, atomic_load(&s->running),
             atomic_load(&s->waiting) - 1); /* this request counts among those */
    json_put(out, ",'vectors':{'tokens_per_second':%f,'ms':%f,'to_evaluate':%d,'wait_ms':%d}}",
             rate ? (double)rate : NAN, rate ? wait + v->ids.n * 1e3 / rate : NAN, v->ids.n, wait);
    job_begin(job, 200, "application/json", false);
}

/* ---- the whole ---- */

bool server_explain(struct job *job, struct refusal *r)
{
    struct server *s = job->server;
    struct buffer *out = &job->out;
    struct request *request = job->request;
    const struct body_kind *kind = body_kind_find(job, r);

    request->keeps_text = true;
    if (!kind || !kind->prepare(job, r))
        return false;
    json_put(out, "{'object':'explanation','surface':%s,'model':%s", kind->path, s->options->name);
    if (!kind->draws) {
        explain_vectors(job);
        return false;
    }
    put_prompt(out, request, &s->info);
    put_sampling(out, request);
    put_form(out, request);
    put_length(out, s, request);
    put_names(out, "without_effect", &request->said.idle);
    put_names(out, "ignored", &request->said.ignored);
    return explained_begin(request) ||
           server_refuse(r, 503, NULL, NULL, "there is no memory for the explanation");
}

void explain_end(struct job *job)
{
    explain_put_cached(&job->out, job->server, job->request);
    put_cost(&job->out, job->server, job->request);
    buffer_text(&job->out, "}");
    job_begin(job, 200, "application/json", false);
}

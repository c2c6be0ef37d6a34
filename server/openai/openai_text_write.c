/* SPDX-License-Identifier: Apache-2.0 */
/* openai_text_write.c: completions as OpenAI's clients get them, whole and in pieces: texts, with the prompt
 * before them where that is asked for, thoughts beside them, and log-probabilities in four lists. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "json_write.h"
#include "prompt_list.h"
#include "openai/openai.h"
#include "receipts.h"
#include "scores.h"
#include "state.h"
#include "warnings.h"

static void put_text_head(struct buffer *out, const struct job *job)
{
    json_put(out,
             "{'id':'cmpl-%r','object':'text_completion','created':%l,'model':%s,'system_fingerprint':%s",
             job->id, job->request->course.created, job->server->options->name,
             fingerprint_text(&job->server->fingerprint));
}

static const char *finish_reason(const struct choice *c)
{
    return c->reason == CARAT_REASON_LENGTH ? "length" : "stop";
}

/* Of all answers of all prompts. */
static int index_of(const struct request *request, const struct choice *c)
{
    return request->prompts.at * request->n + c->number;
}

static const struct listed_prompt *prompt_of(const struct request *request)
{
    return &request->prompts.list[request->prompts.at];
}

/* ---- log-probabilities ---- */

/* What is told of the prompt, and then of the answer, both struct told_logprob. */
struct told {
    const struct buffer *run[2];
};

static int count_told(const struct buffer *run)
{
    return (int)(run->n / sizeof(struct told_logprob));
}

static const struct told_logprob *told_at(const struct told *t, int i)
{
    const int first = count_told(t->run[0]);
    const struct buffer *run = t->run[i >= first];

    return (const struct told_logprob *)(const void *)run->data + (i >= first ? i - first : i);
}

/* As OpenAI spells them: bytes that are no text by themselves too. */
static void put_token(struct buffer *out, const char *bytes, size_t n)
{
    char text[8 + 4 * 256] = "bytes:";
    size_t length = strlen(text);

    if (ct_utf8_valid(bytes, n)) {
        json_put(out, "%t", bytes, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        length += (size_t)snprintf(text + length, 5, "\\x%02x", (unsigned char)bytes[i]);
    json_put(out, "%t", text, length);
}

static void put_id(struct buffer *out, const carat_model *model, int32_t id)
{
    char bytes[CARAT_PIECE_BYTES];

    put_token(out, bytes, carat_piece_bytes(model, id, bytes));
}

/* Ids that are spelled alike stand once, with the likeliest of them. */
static void put_top(struct buffer *out, const carat_model *model, const struct told_logprob *l)
{
    char bytes[CARAT_PIECE_BYTES], other[CARAT_PIECE_BYTES];
    int put = 0;

    json_put(out, "{");
    for (int i = 0; i < l->n_top; i++) {
        const size_t n = carat_piece_bytes(model, l->top[i].id, bytes);
        bool is_new = true;
        for (int k = 0; k < i && is_new; k++)
            is_new = carat_piece_bytes(model, l->top[k].id, other) != n || memcmp(bytes, other, n) != 0;
        if (!is_new)
            continue;
        json_put(out, put++ ? "," : "");
        put_token(out, bytes, n);
        json_put(out, ":%f", (double)l->top[i].logprob);
    }
    json_put(out, "}");
}

/* Characters that begin in the bytes of an id. */
static int characters_of(const carat_model *model, int32_t id)
{
    char bytes[CARAT_PIECE_BYTES];
    const size_t n = carat_piece_bytes(model, id, bytes);
    int begun = 0;

    for (size_t i = 0; i < n; i++)
        begun += ((unsigned char)bytes[i] & 0xc0) != 0x80;
    return begun;
}

/* *offset: characters before the first of them, and then behind the last one. */
static void put_logprobs(struct buffer *out, const struct server *s, const struct told *t, int *offset)
{
    const carat_model *model = s->options->model;
    const int n = count_told(t->run[0]) + count_told(t->run[1]);

    json_put(out, "{'tokens':[");
    for (int i = 0; i < n; i++) {
        json_put(out, i ? "," : "");
        put_id(out, model, told_at(t, i)->of.id);
    }
    json_put(out, "],'token_logprobs':[");
    for (int i = 0; i < n; i++)
        json_put(out, i ? ",%f" : "%f", (double)told_at(t, i)->of.logprob);
    json_put(out, "],'top_logprobs':[");
    for (int i = 0; i < n; i++) {
        json_put(out, i ? "," : "");
        if (isnan(told_at(t, i)->of.logprob))
            json_put(out, "null");
        else
            put_top(out, model, told_at(t, i));
    }
    json_put(out, "],'text_offset':[");
    for (int i = 0; i < n; i++) {
        const struct told_logprob *l = told_at(t, i);
        json_put(out, i ? ",%d" : "%d", *offset);
        if (!isnan(l->of.logprob) || l->of.id != s->info.bos)
            *offset += characters_of(model, l->of.id);
    }
    json_put(out, "]}");
}

/* As chats have it. */
static void put_thought(struct buffer *out, const char *thought, size_t n)
{
    if (n)
        json_put(out, ",'reasoning_content':%t", thought, n);
}

/* ---- in pieces ---- */

/* What a piece has; else nothing. */
struct piece {
    const char *text, *thought;
    size_t n, n_thought;
    const struct told *logprobs;
};

static void put_chunk(struct job *job, struct choice *c, const struct piece *p, const char *finish)
{
    struct buffer *out = &job->out;

    buffer_text(out, "data: ");
    put_text_head(out, job);
    json_put(out, ",'choices':[{'index':%d,'text':%t", index_of(job->request, c), p->n ? p->text : "", p->n);
    put_thought(out, p->thought, p->n_thought);
    json_put(out, ",'logprobs':");
    if (p->logprobs)
        put_logprobs(out, job->server, p->logprobs, &c->offset);
    else
        json_put(out, "null");
    if (!c->begun)
        openai_put_prompt_ids(out, job->request);
    c->begun = true;
    openai_put_ids(out, job->request, c);
    json_put(out, ",'finish_reason':%s", finish);
    if (finish)
        receipt_put(out, job->request, c);
    buffer_text(out, "}]");
    if (finish)
        warnings_put(out, job->request);
    if (job->request->wants_usage)
        json_put(out, ",'usage':null");
    buffer_text(out, "}\n\n");
}

/* The prompt, before the first piece of an answer. */
static void put_echo(struct job *job, struct choice *c)
{
    static const struct buffer nothing;
    const struct listed_prompt *l = prompt_of(job->request);
    const struct told t = {{&job->request->course.scores_told, &nothing}};
    const struct piece p = {.text = l->text, .n = l->n_text, .logprobs = job->request->scores ? &t : NULL};

    if (!c->echoed && l->text)
        put_chunk(job, c, &p, NULL);
    c->echoed = true;
}

static void text_begin(struct job *job)
{
    (void)job;
}

static void text_given(struct job *job, int number, const carat_given *given)
{
    static const struct buffer nothing;
    struct request *request = job->request;
    struct choice *c = &request->choice[number];
    const struct told t = {{&nothing, &c->logprobs}};
    struct piece p = {.n = 0};

    if (request->stream)
        put_echo(job, c);
    p.text = choice_take(job->server->options->model, request, c, given, &p.n);
    if (given->thought) {
        p.thought = given->text;
        p.n_thought = given->n_text;
    }
    if (!request->stream || (p.n + p.n_thought == 0 && !request->extra.tells_ids))
        return;
    p.logprobs = c->logprobs.n ? &t : NULL;
    put_chunk(job, c, &p, NULL);
    c->logprobs.n = 0;
}

static void text_finish(struct job *job, int number)
{
    static const struct buffer nothing;
    struct choice *c = &job->request->choice[number];
    const struct told t = {{&nothing, &c->logprobs}};
    struct piece p = {.n = 0};

    p.text = choice_rest(c, &p.n);
    p.logprobs = c->logprobs.n ? &t : NULL;
    put_echo(job, c);
    put_chunk(job, c, &p, finish_reason(c));
}

static void end_stream(struct job *job)
{
    if (!request_is_last(job->request))
        return;
    if (job->request->wants_usage) {
        buffer_text(&job->out, "data: ");
        put_text_head(&job->out, job);
        json_put(&job->out, ",'choices':[],'usage':");
        openai_put_usage(&job->out, job->request);
        buffer_text(&job->out, "}\n\n");
    }
    buffer_text(&job->out, "data: [DONE]\n\n");
}

/* ---- whole ---- */

static void put_choice(struct job *job, struct choice *c)
{
    const struct request *request = job->request;
    const struct listed_prompt *l = prompt_of(request);
    const struct told t = {{&request->course.scores_told, &c->logprobs}};
    struct buffer *out = &job->out, text = {0};
    int offset = 0;

    buffer_put(&text, l->text, l->n_text);
    buffer_put(&text, c->text.data, c->text.n);
    json_put(out, "{'index':%d,'text':%t", index_of(request, c), text.data ? text.data : "", text.n);
    buffer_free(&text);
    put_thought(out, c->thought.data, c->thought.n);
    json_put(out, ",'logprobs':");
    if (request->logprobs)
        put_logprobs(out, job->server, &t, &offset);
    else
        json_put(out, "null");
    openai_put_prompt_ids(out, request);
    openai_put_ids(out, request, c);
    json_put(out, ",'finish_reason':%s", finish_reason(c));
    receipt_put(out, request, c);
    buffer_text(out, "}");
}

static void text_end(struct job *job)
{
    const struct request *request = job->request;
    struct buffer *out = &job->out;

    if (request->stream) {
        end_stream(job);
        return;
    }
    if (request->prompts.at == 0) {
        put_text_head(out, job);
        json_put(out, ",'choices':[");
    }
    for (int i = 0; i < request->n; i++) {
        json_put(out, request->prompts.at + i > 0 ? "," : "");
        put_choice(job, &job->request->choice[i]);
    }
    if (!request_is_last(request))
        return;
    json_put(out, "],'usage':");
    openai_put_usage(out, request);
    warnings_put(out, request);
    json_put(out, "}");
}

const struct writer openai_text_writer = {text_begin, text_given, text_finish, text_end};

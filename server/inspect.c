/* SPDX-License-Identifier: Apache-2.0 */
/* inspect.c: what can be told of texts, conversations and the model without drawing an id. What the fields
 * of a chat completion mean is left to openai_chat.c. */
#include "routes.h"

#include <stdio.h>
#include <stdlib.h>

#include "request_values.h"
#include "base/utf8.h"
#include "json_write.h"
#include "body_kind.h"
#include "state.h"

/* Ids whose pieces are told one by one; more of them would be a reply out of proportion. */
enum { MOST_SPELLED = 1 << 20 };

struct inspected {
    struct request_values a;
    const struct ct_json_value *content, *tokens;
    bool add_special, parse_special, with_pieces; /* llama.cpp's */
    bool add_special_tokens, return_token_strs;   /* vLLM's */
};

#define AT(field) offsetof(struct inspected, field)

/* clang-format off */
static const struct field text_fields[] = {
    {"model", FIELD_VALUE, AT(a.model), IS_TEXT, 0, NULL, NULL},
    {"content", FIELD_VALUE, AT(content), IS_TEXT, 0, NULL, NULL},
    {"add_special", FIELD_FLAG, AT(add_special), 0, 0, NULL, NULL},
    {"parse_special", FIELD_FLAG, AT(parse_special), 0, 0, NULL, NULL},
    {"with_pieces", FIELD_FLAG, AT(with_pieces), 0, 0, NULL, NULL},
    {"prompt", FIELD_VALUE, AT(a.prompt), IS_TEXT, 0, NULL, NULL},
    {"messages", FIELD_VALUE, AT(a.messages), IS_LIST, 0, NULL, NULL},
    {"tools", FIELD_VALUE, AT(a.tools), IS_LIST, 0, NULL, NULL},
    {"add_special_tokens", FIELD_FLAG, AT(add_special_tokens), 0, 0, NULL, NULL},
    {"add_generation_prompt", FIELD_VALUE, AT(a.begins_turn), IS_FLAG, 0, NULL, NULL},
    {"return_token_strs", FIELD_FLAG, AT(return_token_strs), 0, 0, NULL, NULL},
    {"chat_template", FIELD_REFUSED, 0, 0, 0, "the template is the model's own", NULL},
};
static const struct field id_fields[] = {
    {"model", FIELD_VALUE, AT(a.model), IS_TEXT, 0, NULL, NULL},
    {"tokens", FIELD_VALUE, AT(tokens), IS_LIST, 0, NULL, NULL},
};
/* clang-format on */

static void answer(struct job *job)
{
    job_begin(job, 200, "application/json", false);
}

/* Reads a body, and answers by what `take` makes of it. Always false: nothing is drawn. */
static bool inspect(struct job *job, struct refusal *r, const struct field *fields, int n,
                    bool (*take)(struct document *d, struct job *job, struct inspected *o))
{
    struct document d = {.r = r, .strict = job->server->options->strict};
    struct inspected o = {.parse_special = true, .add_special_tokens = true};

    values_default(&o.a);
    if (document_read(&d, (struct ct_bytes){(const uint8_t *)job->body.data, job->body.n}) &&
        fields_take(&d, &d.tree.value[0], "", fields, n, &o) && values_model(&d, job->server, o.a.model) &&
        take(&d, job, &o)) {
        values_tell_fields(&d, job);
        answer(job);
    }
    document_free(&d);
    return false;
}

/* ---- from text to ids ---- */

/* A string, or its bytes where they are no text by themselves. */
static void put_piece(struct buffer *out, const char *s, size_t n)
{
    bool good = true;

    for (size_t i = 0; i < n && good;)
        i += ct_utf8_span((const uint8_t *)s + i, n - i, &good);
    if (good) {
        json_put_string(out, s, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        json_put(out, i ? ",%d" : "[%d", (unsigned char)s[i]);
    buffer_text(out, "]");
}

static void put_llama(struct buffer *out, const carat_model *model, const carat_tokens *ids, bool spelled)
{
    char piece[CARAT_PIECE_BYTES];

    json_put(out, "{'tokens':");
    if (!spelled)
        json_put_ids(out, ids->ids, ids->n);
    for (int i = 0; i < ids->n && spelled; i++) {
        json_put(out, i ? ",{'id':%d,'piece':" : "[{'id':%d,'piece':", ids->ids[i]);
        put_piece(out, piece, carat_piece_bytes(model, ids->ids[i], piece));
        buffer_text(out, "}");
    }
    buffer_text(out, !spelled ? "}" : ids->n ? "]}" : "[]}");
}

static void put_vllm(struct buffer *out, const struct server *s, const carat_tokens *ids, bool spelled)
{
    json_put(out, "{'count':%d,'max_model_len':%d,'tokens':", ids->n, s->context);
    json_put_ids(out, ids->ids, ids->n);
    json_put(out, spelled ? ",'token_strs':[" : ",'token_strs':null");
    for (int i = 0; i < ids->n && spelled; i++) {
        size_t n = 0;
        const char *piece = carat_piece(s->options->model, ids->ids[i], &n);
        json_put(out, i ? ",%t" : "%t", piece ? piece : "", n);
    }
    buffer_text(out, spelled ? "]}" : "}");
}

static bool take_text(struct document *d, struct job *job, struct inspected *o)
{
    const struct ct_json_value *v = o->content ? o->content : o->a.prompt;
    const bool llama = o->content != NULL, spelled = llama ? o->with_pieces : o->return_token_strs;
    struct server *s = job->server;
    struct request *request = job->request;
    carat_error err;
    int flags = (llama ? o->add_special : o->add_special_tokens) ? CARAT_BOS : 0;

    if ((o->content != NULL) + (o->a.prompt != NULL) + (o->a.messages != NULL) != 1)
        return server_refuse(d->r, 400, v || o->a.messages ? NULL : "missing_required_parameter", "content",
                             "expected one of content, prompt and messages");
    if (!llama || o->parse_special)
        flags |= CARAT_SPECIAL;
    request->any_length = true;
    if (o->a.messages) {
        if (!values_tools(d, s, &o->a, request) ||
            !values_prompt(d, s, &o->a, request->tools, false, request))
            return false;
    } else if (carat_tokenize(s->options->model, ct_json_str(v).s, v->n, flags, &request->prompt, &err) !=
               CARAT_OK)
        return server_refuse(d->r, err.code == CARAT_E_MEMORY ? 503 : 400, NULL, NULL, "%s",
                             refusal_says(&err));
    if (spelled && request->prompt.n > MOST_SPELLED)
        return server_refuse(d->r, 400, NULL, llama ? "with_pieces" : "return_token_strs",
                             "the text has %d tokens, expected at most %d whose pieces are told",
                             request->prompt.n, MOST_SPELLED);
    if (llama)
        put_llama(&job->out, s->options->model, &request->prompt, spelled);
    else
        put_vllm(&job->out, s, &request->prompt, spelled);
    return true;
}

bool inspect_tokenize(struct job *job, struct refusal *r)
{
    return inspect(job, r, text_fields, CT_COUNT(text_fields), take_text);
}

/* ---- from ids to text ---- */

static bool take_ids(struct document *d, struct job *job, struct inspected *o)
{
    const struct server *s = job->server;
    const size_t n_ids = ct_json_count(o->tokens);
    carat_tokens *ids = &job->request->prompt;
    char *text = NULL;
    size_t n = 0;
    carat_error err;

    if (!o->tokens)
        return server_refuse(d->r, 400, "missing_required_parameter", "tokens", "tokens is missing");
    if (!(ids->ids = malloc((n_ids + 1) * sizeof *ids->ids)))
        return server_refuse(d->r, 503, NULL, NULL, "there is no memory for %zu ids", n_ids);
    CT_JSON_EACH(v, o->tokens)
    {
        int64_t id;
        if (!ct_json_integer(v, &id) || id < 0 || id >= s->info.n_vocab)
            return field_refuse(d, "tokens", v, "expected ids from 0 to %d", s->info.n_vocab - 1);
        ids->ids[ids->n++] = (int32_t)id;
    }
    if (carat_detokenize(s->options->model, ids->ids, ids->n, CARAT_SPECIAL, &text, &n, &err) != CARAT_OK)
        return server_refuse(d->r, err.code == CARAT_E_MEMORY ? 503 : 400, NULL, "tokens", "%s",
                             refusal_says(&err));
    /* the first name is llama.cpp's and the second vLLM's, whose clients send the same */
    json_put(&job->out, "{'content':%t,'prompt':%t}", text, n, text, n);
    carat_free(text);
    return true;
}

bool inspect_detokenize(struct job *job, struct refusal *r)
{
    return inspect(job, r, id_fields, CT_COUNT(id_fields), take_ids);
}

/* ---- what a conversation becomes ---- */

static bool chat(struct job *job, struct refusal *r)
{
    job->request->keeps_text = job->request->any_length = true;
    return body_kind_chat()->prepare(job, r);
}

bool inspect_template(struct job *job, struct refusal *r)
{
    if (chat(job, r)) {
        json_put(&job->out, "{'prompt':%s}", job->request->text);
        answer(job);
    }
    return false;
}

bool inspect_count(struct job *job, struct refusal *r)
{
    if (chat(job, r)) {
        json_put(&job->out, "{'object':'response.input_tokens','input_tokens':%d}", job->request->prompt.n);
        answer(job);
    }
    return false;
}

bool inspect_render(struct job *job, struct refusal *r)
{
    const struct request *request = job->request;
    const carat_sampling *s = &request->sampling;
    struct buffer *out = &job->out;

    if (!chat(job, r))
        return false;
    json_put(out, "{'request_id':'chatcmpl-%r','model':%s,'token_ids':", job->id, job->server->options->name);
    json_put_ids(out, request->prompt.ids, request->prompt.n);
    json_put(out, ",'features':null,'sampling_params':{'n':%d,'temperature':%f,'top_p':%f,'top_k':%d,",
             request->n, json_short(s->temperature), json_short(s->top_p), s->top_k);
    json_put(out, "'min_p':%f,'seed':%u,'presence_penalty':%f,'frequency_penalty':%f,", json_short(s->min_p),
             s->seed, json_short(request->chain.presence_penalty),
             json_short(request->chain.frequency_penalty));
    json_put(out, "'repetition_penalty':%f,'max_tokens':%d,'stop':[",
             json_short(request->chain.repeat_penalty), request->max_tokens);
    for (int i = 0; i < request->n_stops; i++)
        json_put(out, i ? ",%s" : "%s", request->stops[i]);
    json_put(out, "]},'stream':%b,'prompt':%s}", request->stream, request->text);
    answer(job);
    return false;
}

/* ---- what is served ---- */

/* A control token by its spelling, or null where the vocabulary has none of it. */
static void put_control(struct buffer *out, const carat_model *model, const char *name)
{
    carat_tokens ids = {0};
    const bool has =
        carat_tokenize(model, name, strlen(name), CARAT_SPECIAL, &ids, NULL) == CARAT_OK && ids.n == 1;

    json_put(out, "%s", has ? name : NULL);
    carat_tokens_free(&ids);
}

/* Those that clients name, and the checkpoint's own template. False: *r says why not. */
static bool put_tokenizer(struct job *job, struct refusal *r)
{
    static const char *const names[] = {"bos", "eos", "pad", "unk"};
    const carat_model *model = job->server->options->model;
    char *template = NULL, spelled[8];
    carat_error err;

    if (carat_model_get_template(model, &template, &err) != CARAT_OK)
        return server_refuse(r, err.code == CARAT_E_MEMORY ? 503 : 500, NULL, NULL, "%s", refusal_says(&err));
    for (size_t i = 0; i < CT_COUNT(names); i++) {
        snprintf(spelled, sizeof spelled, "<%s>", names[i]);
        json_put(&job->out, "'%r_token':", names[i]);
        put_control(&job->out, model, spelled);
        buffer_text(&job->out, ",");
    }
    json_put(&job->out, "'chat_template':%s", template);
    carat_free(template);
    return true;
}

bool inspect_tokenizer(struct job *job, struct refusal *r)
{
    json_put(&job->out, "{'tokenizer_class':'GemmaTokenizer','add_bos_token':true,'model_max_length':%d,",
             job->server->context);
    if (put_tokenizer(job, r)) {
        buffer_text(&job->out, "}");
        answer(job);
    }
    return false;
}

bool inspect_props(struct job *job, struct refusal *r)
{
    const struct server *s = job->server;
    struct buffer *out = &job->out;
    carat_sampling sampling;

    carat_sampling_default(s->options->model, &sampling);
    json_put(out, "{'default_generation_settings':{'n_ctx':%d,'params':{'temperature':%f,'top_k':%d,",
             s->context, json_short(sampling.temperature), sampling.top_k);
    json_put(out, "'top_p':%f,'min_p':%f}},'total_slots':%d,'model_alias':%s,'model_path':%s,",
             json_short(sampling.top_p), json_short(sampling.min_p), s->options->parallel, s->options->name,
             s->options->name);
    json_put(out, "'modalities':{'vision':false,'audio':false},'build_info':'carat %r',", CARAT_VERSION);
    json_put(out, "'system_fingerprint':%s,", fingerprint_text(&s->fingerprint));
    if (put_tokenizer(job, r)) {
        buffer_text(out, "}");
        answer(job);
    }
    return false;
}

/* Which place is whose is not told: the first ones stand for those that are taken. */
void inspect_slots(struct job *job, struct text path)
{
    const struct server *s = job->server;
    const int taken = atomic_load(&s->taken);

    (void)path;
    for (int i = 0; i < s->options->parallel; i++)
        json_put(&job->out,
                 i ? ",{'id':%d,'n_ctx':%d,'is_processing':%b}" : "[{'id':%d,'n_ctx':%d,'is_processing':%b}",
                 i, s->context, i < taken);
    buffer_text(&job->out, "]");
    answer(job);
}

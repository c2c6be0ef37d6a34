/* SPDX-License-Identifier: Apache-2.0 */
/* text.c: tokenizer, templates and decoding behind the public handles. */
#include "checkpoint/checkpoint.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/utf8.h"
#include "text/chat/call.h"

void carat_tokens_free(carat_tokens *t)
{
    if (t)
        ct_tokens_free(t);
}

void carat_free(void *p)
{
    free(p);
}

static carat_status need_tokenizer(const carat_model *model, carat_error *err)
{
    if (!model)
        return ct_fail(err, CARAT_E_ARGUMENT, "model is NULL");
    if (!model->tokenizer)
        return ct_fail(err, CARAT_E_NOT_FOUND, "%s: the model has no tokenizer", ct_file_path(model->file));
    return CARAT_OK;
}

carat_status carat_tokenize_with(const carat_model *model, const char *text, size_t n,
                                 const carat_tokenize_options *options, carat_tokens *out, carat_error *err)
{
    static const carat_tokenize_options defaults = CARAT_TOKENIZE_OPTIONS;
    const carat_tokenize_options *o = options ? options : &defaults;

    CT_TRY(need_tokenizer(model, err));
    if ((!text && n) || !out)
        return ct_fail(err, CARAT_E_ARGUMENT, "text or out is NULL");
    CT_TRY(ct_check_size(o->size, sizeof *o, "carat_tokenize_options", err));
    struct ct_listener listener = {.progress = o->progress, .user = o->user, .total = n};
    return ct_tokenizer_encode_for(model->tokenizer, text ? text : "", n, o->flags, &listener, out, err);
}

carat_status carat_tokenize(const carat_model *model, const char *text, size_t n, int flags,
                            carat_tokens *out, carat_error *err)
{
    carat_tokenize_options o = CARAT_TOKENIZE_OPTIONS;

    o.flags = flags;
    return carat_tokenize_with(model, text, n, &o, out, err);
}

carat_status carat_detokenize(const carat_model *model, const int32_t *ids, int n_ids, int flags, char **text,
                          size_t *n, carat_error *err)
{
    CT_TRY(need_tokenizer(model, err));
    if ((!ids && n_ids) || n_ids < 0 || !text)
        return ct_fail(err, CARAT_E_ARGUMENT, "ids or text is NULL, or n_ids = %d is negative", n_ids);
    int n_vocab = ct_tokenizer_size(model->tokenizer);
    for (int i = 0; i < n_ids; i++) /* padding rows are legal ids of the model and decode to nothing */
        if (ids[i] < 0 || ids[i] >= CT_MAX(n_vocab, model->config.n_vocab))
            return ct_fail(err, CARAT_E_ARGUMENT, "id %d at index %d is outside the vocabulary of %d", ids[i],
                           i, CT_MAX(n_vocab, model->config.n_vocab));
    size_t ignored;
    return ct_tokenizer_decode(model->tokenizer, ids, n_ids, flags, text, n ? n : &ignored, err);
}

const char *carat_piece(const carat_model *model, int32_t id, size_t *n)
{
    bool known = model && model->tokenizer && id >= 0 && id < ct_tokenizer_size(model->tokenizer);
    struct ct_str piece = known ? ct_tokenizer_piece(model->tokenizer, id) : (struct ct_str){NULL, 0};

    *n = piece.n;
    return piece.s;
}

carat_status carat_render_json(const carat_model *model, const char *messages,
                               const carat_render_options *options, carat_tokens *ids, char **text,
                               carat_error *err)
{
    static const carat_render_options defaults = CARAT_RENDER_OPTIONS;
    const carat_render_options *o = options ? options : &defaults;
    struct ct_prompt prompt = {0};

    CT_TRY(need_tokenizer(model, err));
    if (!messages)
        return ct_fail(err, CARAT_E_ARGUMENT, "messages is NULL");
    CT_TRY(ct_check_size(o->size, sizeof *o, "carat_render_options", err));
    enum ct_chat chat = model->chat;
    if (o->chat_template && !ct_chat_from_name(o->chat_template, &chat))
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "chat template \"%s\" is not known; there are gemma, gemma3 and functiongemma",
                       o->chat_template);
    if (chat == CT_CHAT_NONE)
        return ct_fail(err, CARAT_E_NOT_FOUND,
                       "%s: the model has no chat template; name one, or use the prompt as it is",
                       ct_file_path(model->file));
    carat_status status = ct_chat_render_noting(chat, messages, o->tools, !o->no_generation_prompt, o->log,
                                                o->user, &prompt, err);
    struct ct_listener listener = {.progress = o->progress, .user = o->user};
    if (!status && ids)
        status =
            ct_chat_encode_for(model->tokenizer, &prompt, o->special_in_content != 0, &listener, ids, err);
    if (!status && text) {
        *text = prompt.text;
        prompt.text = NULL;
    }
    ct_prompt_free(&prompt);
    return status;
}

static bool is_utf8(const char *s)
{
    const uint8_t *p = (const uint8_t *)s;
    size_t n = strlen(s), span = 1;

    for (; n && span; p += span, n -= span)
        span = ct_utf8_length(p, n);
    return n == 0;
}

/* That m becomes one object: either form is checked here, so that put_message cannot fail. */
static carat_status check_message(const carat_message *m, int i, carat_error *err)
{
    struct ct_json j;
    enum ct_json_token token;
    char name[32];

    snprintf(name, sizeof name, "message %d", i);
    if (!m->json && (!m->role || !m->content))
        return ct_fail(err, CARAT_E_ARGUMENT, "%s has no %s", name, m->role ? "content" : "role");
    if (!m->json && (!is_utf8(m->role) || !is_utf8(m->content)))
        return ct_fail(err, CARAT_E_ARGUMENT, "%s: its %s is not UTF-8", name,
                       is_utf8(m->role) ? "content" : "role");
    if (!m->json)
        return CARAT_OK;
    ct_json_init(&j, name, (struct ct_bytes){(const uint8_t *)m->json, strlen(m->json)});
    if ((token = ct_json_next(&j)) != CT_JSON_OBJECT)
        ct_json_fail(&j, "expected an object");
    while (j.error.code == CARAT_OK && token != CT_JSON_END)
        token = ct_json_next(&j);
    carat_status status = j.error.code == CARAT_E_FORMAT ? CARAT_E_ARGUMENT : j.error.code;
    ct_json_free(&j);
    return status ? ct_fail(err, status, "%s", j.error.message) : CARAT_OK;
}

/* s as a JSON string, at most 6 bytes for one and the quotes. */
static char *put_string(char *to, const char *s)
{
    *to++ = '"';
    for (; *s; s++)
        if ((unsigned char)*s < 0x20)
            to += sprintf(to, "\\u%04x", (unsigned char)*s);
        else {
            if (*s == '"' || *s == '\\')
                *to++ = '\\';
            *to++ = *s;
        }
    *to++ = '"';
    return to;
}

static char *put(char *to, const char *s)
{
    size_t n = strlen(s);
    memcpy(to, s, n);
    return to + n;
}

static char *put_message(char *to, const carat_message *m)
{
    if (m->json)
        return put(to, m->json);
    to = put_string(put(to, "{\"role\":"), m->role);
    to = put_string(put(to, ",\"content\":"), m->content);
    return put(to, "}");
}

carat_status carat_render(const carat_model *model, const carat_message *messages, int n,
                          const carat_render_options *options, carat_tokens *ids, char **text,
                          carat_error *err)
{
    size_t size = 3; /* brackets and the terminator */

    if (!messages || n < 1)
        return ct_fail(err, CARAT_E_ARGUMENT, "messages is NULL or n = %d is below 1", n);
    for (int i = 0; i < n; i++) {
        const carat_message *m = &messages[i];
        CT_TRY(check_message(m, i, err));
        size += 32 + (m->json ? strlen(m->json) : 6 * (strlen(m->role) + strlen(m->content)));
    }
    char *list = malloc(size), *to = list;
    if (!list)
        return ct_fail(err, CARAT_E_MEMORY, "out of memory for %zu bytes of messages", size);
    for (int i = 0; i < n; i++)
        to = put_message(put(to, i ? "," : "["), &messages[i]);
    *put(to, "]") = 0;
    carat_status status = carat_render_json(model, list, options, ids, text, err);
    free(list);
    return status;
}

carat_status carat_parse_calls(const carat_model *model, const int32_t *ids, int n, const char *tools,
                               carat_calls *calls, carat_error *err)
{
    CT_TRY(need_tokenizer(model, err));
    if ((!ids && n) || n < 0 || !calls)
        return ct_fail(err, CARAT_E_ARGUMENT, "ids or calls is NULL, or n = %d is negative", n);
    return ct_calls_parse(model->tokenizer, ids, n, tools, calls, err);
}

void carat_calls_free(carat_calls *calls)
{
    if (calls)
        ct_calls_free(calls);
}

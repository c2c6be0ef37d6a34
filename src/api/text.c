/* text.c: tokenizer, templates and decoding behind the public handles. */
#include "api/api.h"

#include <jansson.h>
#include <stdlib.h>

void carat_tokens_free(carat_tokens *t)
{
    if (!t)
        return;
    free(t->ids);
    *t = (carat_tokens){0};
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

carat_status carat_tokenize(const carat_model *model, const char *text, size_t n, int flags,
                            carat_tokens *out, carat_error *err)
{
    CT_TRY(need_tokenizer(model, err));
    if ((!text && n) || !out)
        return ct_fail(err, CARAT_E_ARGUMENT, "carat_tokenize: text or out is NULL");
    return ct_tokenizer_encode(model->tokenizer, text ? text : "", n, flags, out, err);
}

carat_status carat_decode(const carat_model *model, const int32_t *ids, int n_ids, int flags, char **text,
                          size_t *n, carat_error *err)
{
    CT_TRY(need_tokenizer(model, err));
    if ((!ids && n_ids) || n_ids < 0 || !text)
        return ct_fail(err, CARAT_E_ARGUMENT, "carat_decode: ids or text is NULL, or n_ids = %d is negative",
                       n_ids);
    int n_vocab = ct_tokenizer_size(model->tokenizer);
    for (int i = 0; i < n_ids; i++) /* padding rows are legal ids of the model and decode to nothing */
        if (ids[i] < 0 || ids[i] >= CT_MAX(n_vocab, model->config.n_vocab))
            return ct_fail(err, CARAT_E_ARGUMENT,
                           "carat_decode: id %d at index %d is outside the vocabulary of %d", ids[i], i,
                           CT_MAX(n_vocab, model->config.n_vocab));
    size_t ignored;
    return ct_tokenizer_decode(model->tokenizer, ids, n_ids, flags, text, n ? n : &ignored, err);
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
        return ct_fail(err, CARAT_E_ARGUMENT, "carat_render: messages is NULL");
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
    carat_status status = ct_chat_render(chat, messages, o->tools, !o->no_generation_prompt, &prompt, err);
    if (!status && ids)
        status = ct_chat_encode(model->tokenizer, &prompt, o->special_in_content != 0, ids, err);
    if (!status && text) {
        *text = prompt.text;
        prompt.text = NULL;
    }
    ct_prompt_free(&prompt);
    return status;
}

carat_status carat_render(const carat_model *model, const carat_message *messages, int n,
                          const carat_render_options *options, carat_tokens *ids, char **text,
                          carat_error *err)
{
    carat_status status = CARAT_OK;
    json_t *list = json_array();
    char *dump = NULL;

    if (!messages || n < 1)
        status = ct_fail(err, CARAT_E_ARGUMENT, "carat_render: messages is NULL or n = %d is below 1", n);
    for (int i = 0; i < n && !status; i++) {
        const carat_message *m = &messages[i];
        json_error_t at;
        if (!m->json && (!m->role || !m->content)) {
            status = ct_fail(err, CARAT_E_ARGUMENT, "carat_render: message %d has no role or no content", i);
            break;
        }
        json_t *o = m->json ? json_loads(m->json, JSON_REJECT_DUPLICATES, &at)
                            : json_pack("{s:s, s:s}", "role", m->role, "content", m->content);
        if (!o)
            status = ct_fail(err, CARAT_E_ARGUMENT, "carat_render: message %d is not valid: %s", i,
                             m->json ? at.text : "its text is not UTF-8");
        else if (json_array_append_new(list, o))
            status = ct_fail(err, CARAT_E_MEMORY, "carat_render: out of memory");
    }
    if (!status && !(dump = json_dumps(list, JSON_COMPACT)))
        status = ct_fail(err, CARAT_E_MEMORY, "carat_render: out of memory");
    if (!status)
        status = carat_render_json(model, dump, options, ids, text, err);
    free(dump);
    json_decref(list);
    return status;
}

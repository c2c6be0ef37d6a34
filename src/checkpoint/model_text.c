/* SPDX-License-Identifier: Apache-2.0 */
/* model_text.c: text of a model: ids, prompts, calls and thoughts by the tokenizer and the template that it
 * has. What becomes of the text is text/'s. */
#include "base/arguments.h"
#include "checkpoint/checkpoint.h"

#include "text/chat/call.h"
#include "text/chat/talk.h"
#include "text/chat/thought.h"
#include "text/task.h"
#include "text/tokenizer/speller.h"

#include <stdlib.h>

static carat_status need_tokenizer(const carat_model *model, carat_error *err)
{
    CT_GIVEN(model, err);
    if (!model->tokenizer)
        return ct_fail(err, CARAT_E_NOT_FOUND, "%s: the model has no tokenizer", ct_file_path(model->file));
    return CARAT_OK;
}

carat_status carat_tokenize_with(const carat_model *model, const char *text, size_t n,
                                 const carat_tokenize_options *options, carat_tokens *out, carat_error *err)
{
    carat_tokenize_options o = {.size = sizeof o};

    CT_TRY(need_tokenizer(model, err));
    if ((!text && n) || !out)
        return ct_fail(err, CARAT_E_ARGUMENT, "text or out is NULL");
    CT_TRY(ct_take_struct(&o, sizeof o, options, "carat_tokenize_options", err));
    struct ct_listener listener = {.progress = o.progress, .user = o.user, .total = n};
    return ct_tokenizer_encode(model->tokenizer, text ? text : "", n, o.flags, &listener, out, err);
}

carat_status carat_tokenize(const carat_model *model, const char *text, size_t n, int flags,
                            carat_tokens *out, carat_error *err)
{
    carat_tokenize_options o = {.size = sizeof o, .flags = flags};

    return carat_tokenize_with(model, text, n, &o, out, err);
}

carat_status carat_detokenize(const carat_model *model, const int32_t *ids, int n_ids, int flags, char **text,
                              size_t *n, carat_error *err)
{
    CT_TRY(need_tokenizer(model, err));
    if ((!ids && n_ids) || n_ids < 0 || !text)
        return ct_fail(err, CARAT_E_ARGUMENT, "ids or text is NULL, or n_ids = %d is negative", n_ids);
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

size_t carat_piece_bytes(const carat_model *model, int32_t id, char out[CARAT_PIECE_BYTES])
{
    static_assert((int)CARAT_PIECE_BYTES >= (int)CT_TOKEN_BYTES, "a piece has room");
    if (!model || !model->tokenizer || !out)
        return 0;
    if (!ct_tokenizer_is_control(model->tokenizer, id))
        return ct_tokenizer_bytes(model->tokenizer, id, out);
    const struct ct_str piece = ct_tokenizer_piece(model->tokenizer, id);
    memcpy(out, piece.s, piece.n);
    return piece.n;
}

carat_status carat_model_get_template(const carat_model *model, char **text, carat_error *err)
{
    CT_GIVEN(model, err);
    CT_GIVEN(text, err);
    char *source;
    CT_TRY(ct_chat_source(&source, model->file, err));
    *text = source;
    return CARAT_OK;
}

/* Renders a list of messages, and gives the caller what is wanted of the prompt. */
static carat_status render_list(const carat_model *model, const struct ct_json_value *messages,
                                const carat_render_options *options, carat_tokens *ids, char **text,
                                carat_error *err)
{
    carat_render_options o = {0};
    struct ct_prompt prompt;

    CT_TRY(ct_take_struct(&o, sizeof o, options, "carat_render_options", err));
    struct ct_chat_options how = {.chat = model->chat,
                                  .state = model->chat_state,
                                  .tools = o.tools,
                                  .generation_prompt = !o.no_generation_prompt,
                                  .thinking = o.thinking != 0,
                                  .continues = o.continue_last != 0,
                                  .log = o.log,
                                  .user = o.user};
    struct ct_call_marks marks;
    how.call_tokens = ct_call_marks(model->tokenizer, &marks);
    if (o.chat_template)
        how.state = CT_GEMMA4_JULY_9;
    if (o.chat_template && !ct_chat_from_name(o.chat_template, &how.chat))
        return ct_fail(err, CARAT_E_ARGUMENT, "chat_template: \"%s\" is not known; there are " CT_CHAT_NAMES,
                       o.chat_template);
    if (o.begins && !ids)
        return ct_fail(err, CARAT_E_ARGUMENT, "begins: expected NULL where no ids are asked for");
    if (how.chat == CT_CHAT_NONE)
        return ct_fail(err, CARAT_E_NOT_FOUND,
                       "%s: the model has no chat template; name one, or use the prompt as it is",
                       ct_file_path(model->file));
    CT_TRY(ct_chat_render_list(&how, messages, &prompt, err));
    struct ct_listener listener = {.progress = o.progress, .user = o.user};
    carat_status status = CARAT_OK;
    const int had = ids ? ids->n : 0;
    if (o.most_text && prompt.n > o.most_text)
        status = ct_fail(err, CARAT_E_CONTEXT, "the prompt has %zu bytes, more than the %zu that have room",
                         prompt.n, o.most_text);
    if (ids && !status)
        status = ct_chat_encode(model->tokenizer, &prompt, o.special_in_content != 0, &listener, ids, err);
    if (!status && o.begins) {
        status = ct_chat_begins(model->tokenizer, &prompt, ids, had, o.begins, err);
        if (status)
            ids->n = had;
    }
    if (text && (!status || status == CARAT_E_CONTEXT)) {
        *text = prompt.text;
        prompt.text = NULL;
    }
    ct_prompt_free(&prompt);
    return status;
}

carat_status carat_render_json(const carat_model *model, const char *messages,
                               const carat_render_options *options, carat_tokens *ids, char **text,
                               carat_error *err)
{
    struct ct_json_tree list = {0};

    CT_TRY(need_tokenizer(model, err));
    CT_GIVEN(messages, err);
    carat_status status =
        ct_json_tree_read(&list, CARAT_E_ARGUMENT, "messages", ct_str_bytes(ct_str_of(messages)), err);
    if (!status)
        status = render_list(model, list.value, options, ids, text, err);
    ct_json_tree_free(&list);
    return status;
}

carat_status carat_talk_render(const carat_model *model, carat_talk *talk,
                               const carat_render_options *options, carat_tokens *ids, char **text,
                               carat_error *err)
{
    CT_TRY(need_tokenizer(model, err));
    CT_GIVEN(talk, err);
    const struct ct_json_value *list = ct_talk_list(talk);
    return list ? render_list(model, list, options, ids, text, err) : ct_no_memory(err, "a conversation");
}

carat_status carat_render(const carat_model *model, const carat_message *messages, size_t message_size, int n,
                          const carat_render_options *options, carat_tokens *ids, char **text,
                          carat_error *err)
{
    struct ct_json_tree list = {0};
    void *copy;

    CT_TRY(need_tokenizer(model, err));
    if (!messages || n < 1)
        return ct_fail(err, CARAT_E_ARGUMENT, "messages: NULL, or n = %d is below 1", n);
    CT_TRY(ct_take_array(&copy, messages, message_size, n, sizeof *messages, "carat_message", err));
    carat_status status = ct_chat_list(&list, copy ? copy : messages, n, err);
    if (!status)
        status = render_list(model, list.value, options, ids, text, err);
    ct_json_tree_free(&list);
    free(copy);
    return status;
}

carat_status carat_parse_calls(const carat_model *model, const int32_t *ids, int n, const char *tools,
                               carat_calls *calls, carat_error *err)
{
    CT_TRY(need_tokenizer(model, err));
    if ((!ids && n) || n < 0 || !calls)
        return ct_fail(err, CARAT_E_ARGUMENT, "ids or calls is NULL, or n = %d is negative", n);
    if (calls->size != sizeof *calls->part) /* there is one version of it yet */
        return ct_fail(err, CARAT_E_ARGUMENT, "carat_calls has size %zu, expected %zu: that of carat_part",
                       calls->size, sizeof *calls->part);
    return ct_calls_parse(model->tokenizer, ids, n, tools, calls, err);
}

int carat_begins_calls(const carat_model *model, const char *text, size_t n)
{
    struct ct_call_marks marks;

    if (!model || !model->tokenizer || (!text && n) || ct_call_marks(model->tokenizer, &marks))
        return 0;
    return ct_calls_begin((struct ct_str){text, n});
}

carat_status carat_split_thoughts(const carat_model *model, const int32_t *ids, int n, int in_thought,
                                  carat_tokens *answer, char **text, size_t *n_text, carat_error *err)
{
    CT_TRY(need_tokenizer(model, err));
    if ((!ids && n) || n < 0 || !answer)
        return ct_fail(err, CARAT_E_ARGUMENT, "ids or answer is NULL, or n = %d is negative", n);
    for (int i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= ct_tokenizer_size(model->tokenizer))
            return ct_fail(err, CARAT_E_ARGUMENT, "ids[%d] is %d, expected 0 to %d", i, (int)ids[i],
                           ct_tokenizer_size(model->tokenizer) - 1);
    return ct_thoughts_split(model->tokenizer, ids, n, in_thought != 0, answer, text, n_text, err);
}

carat_status carat_embed_tokenize(const carat_model *model, carat_task task, const char *title,
                                  const char *text, size_t n, carat_tokens *out, carat_error *err)
{
    CT_TRY(need_tokenizer(model, err));
    if ((!text && n) || !out)
        return ct_fail(err, CARAT_E_ARGUMENT, "text or out is NULL");
    return ct_task_encode(model->tokenizer, task, title, text, n, out, err);
}

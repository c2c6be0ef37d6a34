/* SPDX-License-Identifier: Apache-2.0 */
/* chat_encode.c: a rendered conversation becomes ids. The template's own control tokens are pushed by id;
 * what lies between two of them, template text and content together, is encoded as one text. */
#include "text/chat/chat.h"

struct encoder {
    const struct ct_tokenizer *t;
    const char *text;
    int flags;
    struct ct_listener *listener;
    carat_tokens *out;
    carat_error *err;
};

static carat_status encode_prompt_span(const struct encoder *e, size_t begin, size_t end)
{
    if (begin == end)
        return CARAT_OK;
    e->listener->done = begin;
    return ct_tokenizer_encode(e->t, e->text + begin, end - begin, e->flags, e->listener, e->out, e->err);
}

static carat_status encode_prompt(const struct encoder *e, const struct ct_prompt *p)
{
    size_t span = 0;
    for (const struct ct_segment *s = p->segment; s < p->segment + p->n_segment; s++) {
        if (s->control < 0)
            continue;
        int32_t id = s->control == CT_CONTROL_BOS ? ct_tokenizer_bos(e->t) : -1;
        if (id < 0)
            id = ct_tokenizer_control(e->t, (enum ct_control)s->control);
        if (id < 0)
            return ct_fail(e->err, CARAT_E_ARGUMENT,
                           "the chat template needs the token %s, which this tokenizer (%s) does not have",
                           ct_controls[s->control].text, ct_tokenizer_source(e->t));
        CT_TRY(encode_prompt_span(e, span, s->begin));
        CT_TRY(ct_tokens_push(e->out, id, e->err));
        span = s->end;
    }
    return encode_prompt_span(e, span, p->n);
}

carat_status ct_chat_encode(const struct ct_tokenizer *t, const struct ct_prompt *p, bool special_in_content,
                            struct ct_listener *listener, carat_tokens *out, carat_error *err)
{
    struct ct_listener nobody = {0};
    struct encoder e = {t,   p->text, special_in_content ? CARAT_SPECIAL : 0, listener ? listener : &nobody,
                        out, err};
    e.listener->total = p->n;
    int before = out->n;
    carat_status status = encode_prompt(&e, p);
    if (status != CARAT_OK)
        out->n = before;
    return status;
}

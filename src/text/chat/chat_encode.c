/* SPDX-License-Identifier: Apache-2.0 */
/* chat_encode.c: a rendered conversation becomes ids. The template's own control tokens are pushed by id;
 * what lies between two of them, template text and content together, is encoded as one text. */
#include "text/chat/chat.h"

struct encoder {
    const struct ct_tokenizer *t;
    const char *text;
    int32_t id[CT_CONTROLS]; /* -1: not in this vocabulary */
    bool special_in_content;
    struct ct_listener *listener;
    carat_tokens *out;
    carat_error *err;
};

/* The control token spelled at s, or -1. */
static int control_at(const char *s, size_t n)
{
    for (int k = 0; k < CT_CONTROLS; k++) {
        size_t length = strlen(ct_controls[k].text);
        if (length <= n && memcmp(s, ct_controls[k].text, length) == 0)
            return k;
    }
    return -1;
}

static carat_status encode_prompt_span(const struct encoder *e, size_t begin, size_t end)
{
    if (begin == end)
        return CARAT_OK;
    e->listener->done = begin;
    return ct_tokenizer_encode(e->t, e->text + begin, end - begin, e->special_in_content ? CARAT_SPECIAL : 0,
                               e->listener, e->out, e->err);
}

static carat_status encode_prompt(const struct encoder *e, const struct ct_prompt *p)
{
    size_t span = 0;
    for (int s = 0; s < p->n_segment; s++) {
        if (p->segment[s].content)
            continue;
        size_t end = p->segment[s].end;
        for (size_t i = p->segment[s].begin; i < end;) {
            int k = p->text[i] == '<' ? control_at(p->text + i, end - i) : -1;
            if (k < 0) {
                i++;
                continue;
            }
            if (e->id[k] < 0)
                return ct_fail(e->err, CARAT_E_ARGUMENT,
                               "the chat template needs the token %s, which this tokenizer (%s) "
                               "does not have",
                               ct_controls[k].text, ct_tokenizer_source(e->t));
            CT_TRY(encode_prompt_span(e, span, i));
            CT_TRY(ct_tokens_push(e->out, e->id[k], e->err));
            i += strlen(ct_controls[k].text);
            span = i;
        }
    }
    return encode_prompt_span(e, span, p->n);
}

carat_status ct_chat_encode(const struct ct_tokenizer *t, const struct ct_prompt *p, bool special_in_content,
                            struct ct_listener *listener, carat_tokens *out, carat_error *err)
{
    struct ct_listener nobody = {0};
    struct encoder e = {
        .t = t, .text = p->text, .special_in_content = special_in_content, .out = out, .err = err};
    e.listener = listener ? listener : &nobody;
    e.listener->total = p->n;
    for (int k = 0; k < CT_CONTROLS; k++)
        e.id[k] = ct_tokenizer_control(t, (enum ct_control)k);
    if (ct_tokenizer_bos(t) >= 0)
        e.id[CT_CONTROL_BOS] = ct_tokenizer_bos(t);
    int before = out->n;
    carat_status status = encode_prompt(&e, p);
    if (status != CARAT_OK)
        out->n = before;
    return status;
}

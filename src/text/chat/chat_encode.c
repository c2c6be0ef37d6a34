/* SPDX-License-Identifier: Apache-2.0 */
/* chat_encode.c: a rendered conversation becomes ids. The template's own control tokens are pushed by id;
 * what lies between two of them, template text and content together, is encoded as one text. So a message may
 * begin within an id, and where one begins is found by walking over the ids once more. */
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
                           "chat_template: it needs the token %s, which this tokenizer (%s) does not have",
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
    if (p->n > CT_TEXT_MAX)
        return ct_fail(err, CARAT_E_ARGUMENT, "messages: their prompt has %zu bytes, expected at most %zu",
                       p->n, CT_TEXT_MAX);
    carat_status status = encode_prompt(&e, p);
    if (status != CARAT_OK)
        out->n = before;
    return status;
}

/* ---- where messages begin ---- */

static const struct ct_segment *next_control(const struct ct_segment *s, const struct ct_prompt *p)
{
    while (s < p->segment + p->n_segment && s->control < 0)
        s++;
    return s < p->segment + p->n_segment ? s : NULL;
}

carat_status ct_chat_begins(const struct ct_tokenizer *t, const struct ct_prompt *p, const carat_tokens *ids,
                            int first, carat_tokens *begins, carat_error *err)
{
    const struct ct_segment *control = next_control(p->segment, p);
    const int had = begins->n;
    carat_status status = CARAT_OK;
    int m = 0;
    size_t at = 0;
    for (int k = first; k <= ids->n && !status; k++) {
        const bool is_control = control && control->begin == at;
        const size_t limit = control ? control->begin : p->n;
        size_t end = SIZE_MAX; /* behind the last id all begins that is left */
        if (is_control)
            end = control->end;
        else if (k < ids->n)
            end = at + ct_tokenizer_covers(t, ids->ids[k], p->text + at, limit - at);
        for (; m < p->n_message && p->message[m] < end && !status; m++)
            status = ct_tokens_push(begins, k, err);
        if (is_control)
            control = next_control(control + 1, p);
        at = end;
    }
    if (status)
        begins->n = had;
    return status;
}

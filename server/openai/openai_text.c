/* SPDX-License-Identifier: Apache-2.0 */
/* openai_text.c: the fields of a completion, whose prompts are texts or ids, and what is asked for by
 * them. */
#include "prompt_list.h"
#include "openai/openai_fields.h"
#include "state.h"

enum { USUAL_TOKENS = 16 }; /* OpenAI's */

/* clang-format off */
static const struct field fields[] = {
    {"model", FIELD_VALUE, AT(model), IS_TEXT, 0, NULL, NULL},
    {"prompt", FIELD_VALUE, AT(prompt), IS_TEXT | IS_LIST, 0, NULL, NULL},
    {"max_tokens", FIELD_WHOLE, AT(text_tokens), 0, 0x1p53, NULL, NULL},
    OPENAI_DRAWING,
    {"response_format", FIELD_VALUE, AT(response_format), IS_OBJECT, 0, NULL, NULL}, /* vLLM's, as in chats */
    {"n", FIELD_WHOLE, AT(n), RANGE_CHOICES, NULL, NULL},
    {"logprobs", FIELD_WHOLE, AT(top_logprobs), RANGE_TOP, NULL, NULL},
    {"echo", FIELD_FLAG, AT(echo), 0, 0, NULL, NULL},
    {"user", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"suffix", FIELD_REFUSED, 0, 0, 0, "the model was not made to fill gaps", NULL},
    {"best_of", FIELD_REFUSED, 0, 0, 0, "n answers are all told", " 1 "},
};
/* clang-format on */

static bool take_text(struct document *d, struct job *job, struct request_values *a, struct request *request)
{
    struct server *s = job->server;
    const int usual = s->options->default_tokens ? s->options->default_tokens : USUAL_TOKENS;

    if (!openai_inside(d) || !values_settle(d, a, TELLS_PROBS | TELLS_IDS))
        return false;
    a->max_tokens = a->text_tokens < 0 ? usual : a->text_tokens;
    if (a->max_tokens == 0 && !a->echo)
        return server_refuse(d->r, 400, NULL, "max_tokens", "max_tokens is 0, which needs echo to be true");
    a->logprobs = a->top_logprobs >= 0;
    request->scores = a->logprobs && a->echo;
    request->tells_end = a->logprobs;
    if (!values_drawing(d, s, a, request) ||
        !openai_form(d, s, request, "response_format", a->response_format, true) ||
        !values_spelled_form(d, s, a, request) || !values_list(d, s, a, request))
        return false;
    if (a->text_tokens < 0)
        request->said.values_for &= ~(1u << SET_MAX_TOKENS);
    return request_begin_list(request);
}

bool openai_text(struct job *job, struct refusal *r)
{
    struct request_values a;

    return openai_read(job, r, &openai_text_writer, fields, CT_COUNT(fields), take_text, &a);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* llama_ask.c: the fields that llama.cpp's completions have alone. The chain, biases, forms and the rest are
 * every surface's (spellings.c). */
#include "request_values.h"
#include "base/utf8.h"
#include "prompt_list.h"
#include "llama/llama.h"
#include "state.h"

#define AT(field) offsetof(struct request_values, field)

static const char text_alone[] = "the model reads text alone";

/* clang-format off */
static const struct field fields[] = {
    {"model", FIELD_VALUE, AT(model), IS_TEXT, 0, NULL, NULL},
    {"prompt", FIELD_VALUE, AT(prompt), IS_TEXT | IS_LIST | IS_OBJECT, 0, NULL, NULL},
    {"n_predict", FIELD_WHOLE, AT(text_tokens), RANGE_OF_END, NULL, NULL},
    {"max_tokens", FIELD_WHOLE, AT(text_tokens), RANGE_OF_END, NULL, NULL},
    {"stream", FIELD_FLAG, AT(stream), 0, 0, NULL, NULL},
    {"stop", FIELD_VALUE, AT(stop), IS_TEXT | IS_LIST, 0, NULL, NULL},
    {"frequency_penalty", FIELD_REAL, AT(frequency_penalty), RANGE_ANY_PENALTY, NULL, NULL},
    {"presence_penalty", FIELD_REAL, AT(presence_penalty), RANGE_ANY_PENALTY, NULL, NULL},
    {"logit_bias", FIELD_VALUE, AT(logit_bias), IS_LIST | IS_OBJECT, 0, NULL, NULL},
    {"return_progress", FIELD_FLAG, AT(more.return_progress), 0, 0, NULL, NULL},
    {"response_fields", FIELD_REFUSED, 0, 0, 0, "replies are told whole", " [] "},
    {"image_data", FIELD_REFUSED, 0, 0, 0, text_alone, " [] "},
    {"input_suffix", FIELD_REFUSED, 0, 0, 0, "the model was not made to fill gaps", "  "},
};
/* clang-format on */

static bool take_completion(struct document *d, struct job *job, struct request_values *a)
{
    struct server *s = job->server;
    struct request *request = job->request;
    int64_t seed;

    if (!values_fields(d, &d->tree.value[0], "", fields, CT_COUNT(fields), a) ||
        !values_model(d, s, a->model) || !values_settle(d, a, TELLS_PROBS | TELLS_IDS))
        return false;
    if (ct_json_integer(a->seed, &seed) && (seed == -1 || seed == UINT32_MAX)) /* any */
        a->seed = NULL;
    a->max_tokens = a->text_tokens > 0 ? a->text_tokens : 0;
    a->echo = true; /* replies tell the prompt */
    values_progress(d, a, request, llama_progress);
    if (!values_drawing(d, s, a, request) || !values_spelled_form(d, s, a, request) ||
        !values_list(d, s, a, request))
        return false;
    if (a->text_tokens == 0)
        request_evaluate(request);
    return request_begin_list(request);
}

bool llama_completion(struct job *job, struct refusal *r)
{
    static const struct respelling answers = {"n", "n_cmpl"}; /* of what all surfaces have in common */
    struct document d = {.r = r, .strict = job->server->options->strict};
    struct request_values a;
    bool good = false;

    values_default(&a);
    a.usual_last_n = 64;
    a.mixes = true;
    job->request->writer = &llama_writer;
    if (document_read(&d, (struct ct_bytes){(const uint8_t *)job->body.data, job->body.n}))
        good = take_completion(&d, job, &a);
    if (good)
        values_tell(&d, job, job->request);
    else if (strcmp(r->param, "n") == 0)
        refusal_respell(r, &answers, 1);
    document_free(&d);
    return good;
}

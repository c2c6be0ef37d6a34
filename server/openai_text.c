/* SPDX-License-Identifier: Apache-2.0 */
/* openai_text.c: the fields of a completion, whose prompts are texts or ids, and what is asked for by
 * them. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "listed.h"
#include "openai_fields.h"
#include "state.h"

enum { USUAL_TOKENS = 16, MOST_PROMPTS = 128, MOST_TOLD = 1 << 20 };

/* clang-format off */
static const struct field fields[] = {
    {"model", FIELD_VALUE, AT(model), IS_TEXT, 0, NULL, NULL},
    {"prompt", FIELD_VALUE, AT(prompt), IS_TEXT | IS_LIST, 0, NULL, NULL},
    {"max_tokens", FIELD_WHOLE, AT(text_tokens), 0, 0x1p53, NULL, NULL},
    OPENAI_DRAWING,
    {"n", FIELD_WHOLE, AT(n), 1, MOST_CHOICES, NULL, NULL},
    {"logprobs", FIELD_WHOLE, AT(top_logprobs), 0, MOST_TOP, NULL, NULL},
    {"echo", FIELD_FLAG, AT(echo), 0, 0, NULL, NULL},
    {"receipt", FIELD_FLAG, AT(receipt), 0, 0, NULL, NULL},
    {"user", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"cache_prompt", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"suffix", FIELD_REFUSED, 0, 0, 0, "the model was not made to fill gaps", NULL},
    {"best_of", FIELD_REFUSED, 0, 0, 0, "n answers are all told", " 1 "},
};
/* clang-format on */

/* ---- one prompt ---- */

static bool refuse_memory(struct document *d)
{
    return refuse(d->r, 503, NULL, NULL, "there is no memory for the prompt");
}

static bool take_ids(struct document *d, struct server *s, const char *param, const struct ct_json_value *v,
                     carat_tokens *ids)
{
    const size_t n = ct_json_count(v);

    if (n == 0)
        return refuse(d->r, 400, NULL, param, "%s has no ids", param);
    if (n > (size_t)s->context) { /* asked_room says so */
        ids->n = (int)n;
        return true;
    }
    if (!(ids->ids = malloc(n * sizeof *ids->ids)))
        return refuse_memory(d);
    ids->capacity = (int)n;
    CT_JSON_EACH(one, v)
    {
        int64_t id;
        if (!ct_json_is(one, CT_JSON_NUMBER) || !ct_json_integer(one, &id) || id < 0 ||
            id >= s->info.n_text_vocab)
            return field_refuse(d, param, one, "expected ids from 0 to %d", s->info.n_text_vocab - 1);
        ids->ids[ids->n++] = (int32_t)id;
    }
    return true;
}

/* The text of ids, without what stands before every text. */
static bool text_of_ids(struct document *d, struct server *s, const carat_tokens *ids, struct listed *l)
{
    const int from = ids->ids[0] == s->info.bos;
    char *text;

    if (carat_detokenize(s->options->model, ids->ids + from, ids->n - from, CARAT_SPECIAL, &text, &l->n_text,
                         NULL) != CARAT_OK)
        return refuse_memory(d);
    l->text = text_copy((struct ct_str){text, l->n_text});
    carat_free(text);
    return l->text || refuse_memory(d);
}

static bool take_prompt(struct document *d, struct server *s, const struct asked *a, const char *param,
                        const struct ct_json_value *v, struct ask *ask)
{
    struct listed *l = &ask->list[ask->n_list++];
    const bool is_text = ct_json_is(v, CT_JSON_STRING);

    if (is_text ? !asked_text(d, s, param, ct_json_str(v), ask) : !take_ids(d, s, param, v, &ask->prompt))
        return false;
    if (!asked_room(d, s, a, ask))
        return false;
    l->max_tokens = a->max_tokens == 0 ? 0 : ask->max_tokens;
    l->ids = ask->prompt;
    ask->prompt = (carat_tokens){0};
    if (!a->echo)
        return true;
    if (!is_text)
        return text_of_ids(d, s, &l->ids, l);
    l->n_text = v->n;
    return (l->text = text_copy(ct_json_str(v))) != NULL || refuse_memory(d);
}

/* ---- prompts ---- */

static bool is_prompt(const struct ct_json_value *v)
{
    return ct_json_is(v, CT_JSON_STRING) || ct_json_is(v, CT_JSON_ARRAY);
}

static bool take_prompts(struct document *d, struct server *s, const struct asked *a, struct ask *ask)
{
    const struct ct_json_value *v = a->prompt;
    const bool is_one = ct_json_is(v, CT_JSON_STRING) || ct_json_is(ct_json_first(v), CT_JSON_NUMBER);
    const size_t n = is_one ? 1 : ct_json_count(v);
    char param[32];
    int i = 0;
    int64_t told = 0;

    if (!v)
        return refuse(d->r, 400, "missing_required_parameter", "prompt", "prompt is missing");
    if (n < 1 || n > MOST_PROMPTS)
        return refuse(d->r, 400, NULL, "prompt", "prompt has %zu elements, expected 1 to %d", n,
                      MOST_PROMPTS);
    if (!(ask->list = calloc(n, sizeof *ask->list)))
        return refuse_memory(d);
    if (is_one)
        return take_prompt(d, s, a, "prompt", v, ask);
    CT_JSON_EACH(one, v)
    {
        snprintf(param, sizeof param, "prompt[%d]", i++);
        if (!is_prompt(one))
            return field_refuse(d, param, one, "expected a string or a list of ids");
        if (!take_prompt(d, s, a, param, one, ask))
            return false;
        told += (int64_t)ask->list[i - 1].ids.n * (1 + ask->top_logprobs);
        if (ask->scores && told > MOST_TOLD)
            return refuse(d->r, 400, NULL, "prompt",
                          "prompt up to its element %d has %" PRId64
                          " log-probabilities, expected at most %d",
                          i - 1, told, MOST_TOLD);
    }
    return true;
}

static bool take_text(struct document *d, struct job *job, struct asked *a, struct ask *ask)
{
    struct server *s = job->server;

    a->max_tokens = a->text_tokens < 0 ? USUAL_TOKENS : a->text_tokens;
    if (a->max_tokens == 0 && !a->echo)
        return refuse(d->r, 400, NULL, "max_tokens", "max_tokens is 0, which needs echo to be true");
    a->logprobs = a->top_logprobs >= 0;
    ask->scores = a->logprobs && a->echo;
    if (!asked_drawing(d, s, a, ask) || !take_prompts(d, s, a, ask))
        return false;
    if (a->text_tokens < 0)
        ask->asked_for &= ~(1u << SET_MAX_TOKENS);
    return ask_begin_list(ask);
}

bool openai_text(struct job *job, struct refusal *r)
{
    struct asked a;

    return openai_read(job, r, &openai_text_writer, fields, CT_COUNT(fields), take_text, &a);
}

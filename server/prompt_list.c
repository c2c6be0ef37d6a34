/* SPDX-License-Identifier: Apache-2.0 */
/* prompt_list.c: the prompts of a request that are no conversation: texts, ids, and where the surface knows
 * them, lists of both. */
#include <inttypes.h>
#include <stdlib.h>

#include "request_values.h"
#include "base/utf8.h"
#include "prompt_list.h"
#include "state.h"

enum { MOST_PROMPTS = 128, MOST_TOLD = 1 << 20 };

/* ---- one prompt ---- */

static bool refuse_memory(struct document *d)
{
    return server_refuse(d->r, 503, NULL, NULL, "there is no memory for the prompt");
}

static bool add_id(carat_tokens *ids, int32_t id)
{
    if (ids->n == ids->capacity) {
        const int capacity = 2 * ids->capacity + 64;
        int32_t *more = realloc(ids->ids, (size_t)capacity * sizeof *more);
        if (!more)
            return false;
        ids->ids = more;
        ids->capacity = capacity;
    }
    ids->ids[ids->n++] = id;
    return true;
}

/* Ids, and with `mixes` texts between them. */
static bool take_ids(struct document *d, struct server *s, bool mixes, const char *param,
                     const struct ct_json_value *v, struct request *request)
{
    carat_tokens *ids = &request->prompt;
    int i = 0;

    if (ct_json_count(v) == 0)
        return server_refuse(d->r, 400, NULL, param, "%s has no ids", param);
    if (ct_json_count(v) > (size_t)s->context) { /* values_room says so */
        ids->n = (int)ct_json_count(v);
        return true;
    }
    CT_JSON_EACH(one, v)
    {
        int64_t id;
        if (mixes && ct_json_is(one, CT_JSON_STRING)) {
            if (!values_piece(d, s, param, ct_json_str(one), i++ == 0, request))
                return false;
            continue;
        }
        if (!ct_json_is(one, CT_JSON_NUMBER) || !ct_json_integer(one, &id) || id < 0 ||
            id >= s->info.n_text_vocab)
            return field_refuse(d, param, one, "expected ids from 0 to %d", s->info.n_text_vocab - 1);
        if (!add_id(ids, (int32_t)id))
            return refuse_memory(d);
        i++;
    }
    return true;
}

/* The text of ids, without what stands before every text. */
static bool text_of_ids(struct document *d, struct server *s, const carat_tokens *ids,
                        struct listed_prompt *l)
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

/* The text of a prompt that is an object, as llama.cpp's clients send it with images; NULL: *d->r says why
 * there is none. */
static const struct ct_json_value *text_of_object(struct document *d, const char *param,
                                                  const struct ct_json_value *v)
{
    static const struct field fields[] = {
        {"prompt_string", FIELD_VALUE, 0, IS_TEXT, 0, NULL, NULL},
        {"multimodal_data", FIELD_REFUSED, 0, 0, 0, "the model reads text alone", " [] "},
    };
    const struct ct_json_value *text = NULL;
    char prefix[40];

    snprintf(prefix, sizeof prefix, "%s.", param);
    if (!fields_take(d, v, prefix, fields, CT_COUNT(fields), &text))
        return NULL;
    if (!text)
        field_refuse(d, param, v, "expected a prompt_string");
    return text;
}

static bool take_prompt(struct document *d, struct server *s, const struct request_values *a,
                        const char *param, const struct ct_json_value *v, struct request *request)
{
    struct listed_prompt *l = &request->prompts.list[request->prompts.n_list++];

    if (ct_json_is(v, CT_JSON_OBJECT) && !(v = text_of_object(d, param, v)))
        return false;
    const bool is_text = ct_json_is(v, CT_JSON_STRING);
    if (is_text ? !values_text(d, s, param, ct_json_str(v), request)
                : !take_ids(d, s, a->mixes, param, v, request))
        return false;
    if (!values_room(d, s, a, request))
        return false;
    l->max_tokens = a->text_tokens == 0 ? 0 : request->max_tokens;
    l->ids = request->prompt;
    request->prompt = (carat_tokens){0};
    if (!a->echo)
        return true;
    if (!is_text)
        return text_of_ids(d, s, &l->ids, l);
    l->n_text = v->n;
    return (l->text = text_copy(ct_json_str(v))) != NULL || refuse_memory(d);
}

/* ---- prompts ---- */

static bool is_prompt(const struct request_values *a, const struct ct_json_value *v)
{
    return ct_json_is(v, CT_JSON_STRING) || ct_json_is(v, CT_JSON_ARRAY) ||
           (a->mixes && ct_json_is(v, CT_JSON_OBJECT));
}

/* Whether it is one prompt: a text, or a list with an id in it. */
static bool is_single(const struct request_values *a, const struct ct_json_value *v)
{
    bool has_id = ct_json_is(ct_json_first(v), CT_JSON_NUMBER);

    if (!ct_json_is(v, CT_JSON_ARRAY))
        return true;
    if (a->mixes)
        CT_JSON_EACH(one, v)
    has_id = has_id || ct_json_is(one, CT_JSON_NUMBER);
    return has_id;
}

bool values_list(struct document *d, struct server *s, const struct request_values *a,
                 struct request *request)
{
    const struct ct_json_value *v = a->prompt;
    const bool is_one = is_single(a, v);
    const size_t n = is_one ? 1 : ct_json_count(v);
    char param[32];
    int i = 0;
    int64_t told = 0;

    if (!v)
        return server_refuse(d->r, 400, "missing_required_parameter", "prompt", "prompt is missing");
    if (n < 1 || n > MOST_PROMPTS)
        return server_refuse(d->r, 400, NULL, "prompt", "prompt has %zu elements, expected 1 to %d", n,
                             MOST_PROMPTS);
    if (!(request->prompts.list = calloc(n, sizeof *request->prompts.list)))
        return refuse_memory(d);
    if (is_one)
        return take_prompt(d, s, a, "prompt", v, request);
    CT_JSON_EACH(one, v)
    {
        snprintf(param, sizeof param, "prompt[%d]", i++);
        if (!is_prompt(a, one))
            return field_refuse(d, param, one, "expected a string or a list of ids");
        if (!a->mixes && ct_json_is(one, CT_JSON_STRING) != ct_json_is(ct_json_first(v), CT_JSON_STRING))
            return field_refuse(d, param, one, "expected all prompts to be strings, or all lists of ids");
        if (!take_prompt(d, s, a, param, one, request))
            return false;
        told += (int64_t)request->prompts.list[i - 1].ids.n * (1 + request->top_logprobs);
        if (request->scores && told > MOST_TOLD)
            return server_refuse(d->r, 400, NULL, "prompt",
                                 "prompt up to its element %d has %" PRId64
                                 " log-probabilities, expected at most %d",
                                 i - 1, told, MOST_TOLD);
    }
    return true;
}

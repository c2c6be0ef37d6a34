/* SPDX-License-Identifier: Apache-2.0 */
/* request_chain.c: how ids are drawn: the chain and its order, biases of ids and texts, words that must not
 * come, and ids that end the answer. */
#include <math.h>
#include <stdlib.h>

#include "request_values.h"
#include "base/utf8.h"
#include "state.h"

enum { MOST_BIASED = 1024 };

/* ---- the chain ---- */

/* least: what can be computed with; what is asked for below it becomes that. */
static void override(struct request *request, enum setting setting, float *to, double value, float least)
{
    if (isnan(value))
        return;
    *to = CT_MAX((float)value, least);
    request->said.values_for |= 1u << setting;
}

static void take_numbers(const struct request_values *a, struct request *request)
{
    const struct spelled *m = &a->more;
    carat_sampling *to = &request->sampling;
    carat_chain *chain = &request->chain;

    override(request, SET_TEMPERATURE, &to->temperature, a->temperature,
             a->temperature > 0 ? CARAT_TEMPERATURE_MIN : 0);
    override(request, SET_TOP_P, &to->top_p, a->top_p, CARAT_TOP_P_MIN);
    override(request, SET_MIN_P, &to->min_p, a->min_p, 0);
    if (a->top_k != NOT_GIVEN)
        to->top_k = (int)CT_MAX(a->top_k, 0); /* below 0 means off to others, too */
    override(request, SET_TYPICAL_P, &chain->typical_p, a->typical_p, CARAT_TOP_P_MIN);
    override(request, SET_REPEAT_PENALTY, &chain->repeat_penalty, a->repeat_penalty, 0);
    override(request, SET_FREQUENCY, &chain->frequency_penalty, a->frequency_penalty, -INFINITY);
    override(request, SET_PRESENCE, &chain->presence_penalty, a->presence_penalty, -INFINITY);
    chain->repeat_last_n = (int)(a->repeat_last_n != NOT_GIVEN ? a->repeat_last_n : a->usual_last_n);
    override(request, SET_DRY, &chain->dry_multiplier, m->dry_multiplier, 0);
    if (!isnan(m->dry_base))
        chain->dry_base = (float)m->dry_base;
    if (m->dry_allowed_length != NOT_GIVEN)
        chain->dry_allowed_length = (int)m->dry_allowed_length;
    if (m->dry_penalty_last_n != NOT_GIVEN)
        chain->dry_penalty_last_n = (int)m->dry_penalty_last_n;
    override(request, SET_XTC, &chain->xtc_probability, m->xtc_probability, 0);
    if (!isnan(m->xtc_threshold))
        chain->xtc_threshold = (float)m->xtc_threshold;
    request->said.values_for |= (unsigned)(a->top_k != NOT_GIVEN) << SET_TOP_K |
                                (unsigned)(a->seed != NULL) << SET_SEED |
                                (unsigned)(a->logit_bias != NULL) << SET_BIAS |
                                (unsigned)(a->repeat_last_n != NOT_GIVEN) << SET_REPEAT_LAST_N;
}

/* A link by its name, or by llama.cpp's letter for it; CARAT_LINKS: there is none. */
static int link_of(struct ct_str name)
{
    static const char letters[] = "edktypmx"; /* in the order of carat_link */
    const char *letter = name.n == 1 ? strchr(letters, name.s[0]) : NULL;
    int link = 0;

    if (letter && *letter)
        return (int)(letter - letters);
    while (link < CARAT_LINKS && !ct_str_is(name, carat_link_name((carat_link)link)))
        link++;
    return link;
}

static bool add_link(struct document *d, struct request *request, const char *param, struct ct_str name,
                     const struct ct_json_value *v)
{
    const int link = link_of(name);

    if (ct_str_is(name, "top_n_sigma") || ct_str_is(name, "s")) /* off, as long as its number is */
        return true;
    if (link == CARAT_LINKS)
        return field_refuse(d, param, v,
                            "expected penalties, dry, top_k, temperature, typ_p, top_p, min_p or xtc");
    for (int i = 0; i < request->chain.n_links; i++)
        if (request->links[i] == (carat_link)link)
            return field_refuse(d, param, v, "expected each of them once");
    request->links[request->chain.n_links++] = (carat_link)link;
    return true;
}

static bool take_links(struct document *d, const struct ct_json_value *v, struct request *request)
{
    char param[32];
    int i = 0;

    if (!v)
        return true;
    request->chain.links = request->links;
    for (uint32_t k = 0; ct_json_is(v, CT_JSON_STRING) && k < v->n; k++)
        if (!add_link(d, request, "samplers", (struct ct_str){v->s + k, 1}, v))
            return false;
    CT_JSON_EACH(one, v)
    {
        snprintf(param, sizeof param, "samplers[%d]", i++);
        if (!add_link(d, request, param, ct_json_str(one), one))
            return false;
    }
    return true;
}

/* The only token of a text; -1: it has more. */
static int32_t only_token(const struct server *s, struct ct_str text)
{
    carat_tokens ids = {0};
    const carat_status status = carat_tokenize(s->options->model, text.s, text.n, 0, &ids, NULL);
    const int32_t id = status == CARAT_OK && ids.n == 1 ? ids.ids[0] : -1;

    carat_tokens_free(&ids);
    return id;
}

static bool take_breakers(struct document *d, struct server *s, const struct ct_json_value *list,
                          struct request *request)
{
    static const char *const usual[] = {"\n", ":", "\"", "*"};
    int n = 0;

    if (ct_json_count(list) > CARAT_MOST_BREAKERS)
        return server_refuse(d->r, 400, NULL, "dry_sequence_breakers",
                             "dry_sequence_breakers has %zu strings, expected at most %d",
                             ct_json_count(list), CARAT_MOST_BREAKERS);
    for (size_t i = 0; i < CT_COUNT(usual) && !list; i++) {
        const int32_t id = only_token(s, ct_str_of(usual[i]));
        if (id >= 0)
            request->breakers[n++] = id;
    }
    CT_JSON_EACH(one, list)
    {
        request->breakers[n] = only_token(s, ct_json_str(one));
        if (request->breakers[n++] < 0)
            return field_refuse(d, "dry_sequence_breakers", one, "expected strings of one token");
    }
    request->chain.dry_breakers = request->breakers;
    request->chain.n_dry_breakers = n;
    return true;
}

/* ---- biases ---- */

/* What is added to an id twice is added up. */
static bool add_bias(struct document *d, struct request *request, const char *param, int32_t id, float bias)
{
    int i = 0;

    if (!request->biases && !(request->biases = calloc(CARAT_MOST_BIASES, sizeof *request->biases)))
        return server_refuse(d->r, 503, NULL, NULL, "there is no memory for the biases");
    request->chain.biases = request->biases;
    while (i < request->chain.n_biases && request->biases[i].id != id)
        i++;
    if (i == CARAT_MOST_BIASES)
        return server_refuse(d->r, 400, NULL, param, "%s makes more than %d biases of ids", param,
                             CARAT_MOST_BIASES);
    if (i == request->chain.n_biases)
        request->biases[request->chain.n_biases++] = (carat_bias){id, 0};
    request->biases[i].bias += bias;
    return true;
}

/* OpenAI's: ids alone, and small numbers. */
static bool take_openai_bias(struct document *d, struct server *s, struct request *request,
                             const struct ct_json_value *key, const struct ct_json_value *bias)
{
    const struct ct_str name = ct_json_str(key);
    const double value = ct_json_double(bias);
    int64_t id;

    if (name.n == 0 || name.n > 9 || !ct_json_whole(name, &id) || id < 0 || id >= s->info.n_text_vocab)
        return server_refuse(d->r, 400, NULL, "logit_bias",
                             "logit_bias has the key \"%.*s\", expected ids from 0 to %d", CT_BRIEF(name),
                             s->info.n_text_vocab - 1);
    if (!ct_json_is(bias, CT_JSON_NUMBER) || !(value >= -100 && value <= 100))
        return field_refuse(d, "logit_bias", bias, "expected numbers from -100 to 100");
    return add_bias(d, request, "logit_bias", (int32_t)id, (float)value);
}

/* An id, or a text whose ids all get it. spelled: an id may be the text of a number. */
static bool take_bias(struct document *d, struct server *s, struct request *request,
                      const struct ct_json_value *of, const struct ct_json_value *v, bool spelled)
{
    const struct ct_str text = ct_json_str(of);
    const double value = ct_json_is(v, CT_JSON_FALSE) ? -INFINITY : ct_json_double(v);
    int64_t id = -1;
    carat_tokens ids = {0};

    if (!ct_json_is(v, CT_JSON_FALSE) && (!ct_json_is(v, CT_JSON_NUMBER) || !(fabs(value) <= 1e30)))
        return field_refuse(d, "logit_bias", v, "expected a number, or false for what must not come");
    if (spelled ? ct_json_whole(text, &id) : field_whole(d, of, &id)) {
        if (id < 0 || id >= s->info.n_text_vocab)
            return field_refuse(d, "logit_bias", of, "expected ids from 0 to %d", s->info.n_text_vocab - 1);
        return add_bias(d, request, "logit_bias", (int32_t)id, (float)value);
    }
    if ((!spelled && !ct_json_is(of, CT_JSON_STRING)) || text.n > MOST_BIASED)
        return field_refuse(d, "logit_bias", of, "expected an id, or a text of up to %d bytes", MOST_BIASED);
    bool good = carat_tokenize(s->options->model, text.s, text.n, 0, &ids, NULL) == CARAT_OK ||
                server_refuse(d->r, 503, NULL, NULL, "there is no memory for the biases");
    for (int i = 0; i < ids.n && good; i++)
        good = add_bias(d, request, "logit_bias", ids.ids[i], (float)value);
    carat_tokens_free(&ids);
    return good;
}

static bool take_biases(struct document *d, struct server *s, const struct request_values *a,
                        struct request *request)
{
    const size_t n = ct_json_count(a->logit_bias);

    if (n > CARAT_MOST_BIASES)
        return server_refuse(d->r, 400, NULL, "logit_bias", "logit_bias has %zu %s, expected at most %d", n,
                             a->mixes ? "elements" : "ids", CARAT_MOST_BIASES);
    CT_JSON_EACH(one, a->logit_bias)
    {
        const bool is_key = ct_json_is(one, CT_JSON_KEY);
        if (!is_key && ct_json_count(one) != 2)
            return field_refuse(d, "logit_bias", one, "expected pairs of an id or a text and a number");
        const struct ct_json_value *of = is_key ? one : ct_json_first(one);
        const struct ct_json_value *bias = is_key ? ct_json_of_key(one) : ct_json_after(of);
        if (a->mixes ? !take_bias(d, s, request, of, bias, is_key)
                     : !take_openai_bias(d, s, request, of, bias))
            return false;
    }
    return true;
}

/* Words that must not come, in both spellings: a word is a token with a blank before it in running text. */
static bool take_bad_words(struct document *d, struct server *s, const struct ct_json_value *words,
                           struct request *request)
{
    char spaced[MOST_BIASED + 2];

    CT_JSON_EACH(one, words)
    {
        if (!ct_json_is(one, CT_JSON_STRING) || one->n < 1 || one->n > MOST_BIASED)
            return field_refuse(d, "bad_words", one, "expected words of 1 to %d bytes", MOST_BIASED);
        const int n = snprintf(spaced, sizeof spaced, " %.*s", (int)one->n, one->s);
        const int32_t ids[] = {only_token(s, ct_json_str(one)),
                               only_token(s, (struct ct_str){spaced, (size_t)n})};
        if (ids[0] < 0)
            return field_refuse(
                d, "bad_words", one,
                "which is not supported: it is several tokens, and single ones can be banned");
        for (size_t i = 0; i < CT_COUNT(ids); i++)
            if (ids[i] >= 0 && (i == 0 || ids[i] != ids[0]) &&
                !add_bias(d, request, "bad_words", ids[i], -INFINITY))
                return false;
    }
    return true;
}

/* ---- the end ---- */

static bool take_stop_ids(struct document *d, struct server *s, const struct request_values *a,
                          struct request *request)
{
    const int32_t *stops;
    const int n = carat_stop_ids(s->options->model, &stops);
    int *have = &request->extra.n_stop_ids;
    int64_t id;

    for (int i = 0; i < n && a->more.ignores_end; i++)
        if (!add_bias(d, request, "ignore_eos", stops[i], -INFINITY))
            return false;
    if (ct_json_count(a->more.stop_ids) == 0)
        return true;
    for (; *have < n; (*have)++)
        request->extra.stop_ids[*have] = stops[*have];
    CT_JSON_EACH(one, a->more.stop_ids)
    {
        if (!field_whole(d, one, &id) || id < 0 || id >= s->info.n_vocab)
            return field_refuse(d, "stop_token_ids", one, "expected ids from 0 to %d", s->info.n_vocab - 1);
        if (*have == CARAT_MOST_STOP_IDS)
            return server_refuse(d->r, 400, NULL, "stop_token_ids",
                                 "stop_token_ids has %zu ids, expected at most %d",
                                 ct_json_count(a->more.stop_ids), CARAT_MOST_STOP_IDS - n);
        request->extra.stop_ids[(*have)++] = (int32_t)id;
    }
    return true;
}

bool values_chain(struct document *d, struct server *s, const struct request_values *a,
                  struct request *request)
{
    const struct spelled *m = &a->more;

    carat_chain_default(&request->chain);
    take_numbers(a, request);
    request->extra.min_tokens = (int)m->min_tokens;
    if (!take_links(d, m->samplers, request) || !take_biases(d, s, a, request) ||
        !take_bad_words(d, s, m->bad_words, request) || !take_stop_ids(d, s, a, request))
        return false;
    if ((m->breakers || m->dry_multiplier > 0) && !take_breakers(d, s, m->breakers, request))
        return false;
    request->said.values_for |= (unsigned)(request->biases != NULL) << SET_BIAS;
    if (a->mixes || request->biases || m->samplers || !isnan(m->dry_multiplier) ||
        !isnan(m->xtc_probability) || !isnan(a->typical_p) || !isnan(a->repeat_penalty) ||
        !isnan(a->frequency_penalty) || !isnan(a->presence_penalty))
        request->sampling.chain = &request->chain;
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* llama_ask.c: the fields of llama.cpp's completions, and what is asked for by them: the whole chain, biases
 * of texts, grammars. */
#include <math.h>
#include <stdlib.h>

#include "asked.h"
#include "base/utf8.h"
#include "listed.h"
#include "llama/llama.h"
#include "state.h"

struct llama {
    struct asked a;
    const struct ct_json_value *samplers, *breakers, *biases, *grammar, *schema;
    double dry_multiplier, dry_base, xtc_probability, xtc_threshold; /* NAN: not given */
    int64_t dry_allowed_length, dry_penalty_last_n, last_n, n_probs;
    bool ignore_eos, return_tokens;
};

enum { MOST_BIASED = 1024 };

#define AT(field) offsetof(struct llama, field)

static const char no_such_way[] = "there is no such way to draw", text_alone[] = "the model reads text alone";

/* clang-format off */
static const struct field fields[] = {
    {"model", FIELD_VALUE, AT(a.model), IS_TEXT, 0, NULL, NULL},
    {"prompt", FIELD_VALUE, AT(a.prompt), IS_TEXT | IS_LIST | IS_OBJECT, 0, NULL, NULL},
    {"n_predict", FIELD_WHOLE, AT(a.text_tokens), RANGE_OF_END, NULL, NULL},
    {"max_tokens", FIELD_WHOLE, AT(a.text_tokens), RANGE_OF_END, NULL, NULL},
    {"n_cmpl", FIELD_WHOLE, AT(a.n), RANGE_CHOICES, NULL, NULL},
    {"stream", FIELD_FLAG, AT(a.stream), 0, 0, NULL, NULL},
    {"stop", FIELD_VALUE, AT(a.stop), IS_TEXT | IS_LIST, 0, NULL, NULL},
    {"seed", FIELD_VALUE, AT(a.seed), IS_NUMBER, 0, NULL, NULL},
    {"temperature", FIELD_REAL, AT(a.temperature), RANGE_TEMPERATURE, NULL, NULL},
    {"top_k", FIELD_WHOLE, AT(a.top_k), RANGE_TOP_K, NULL, NULL},
    {"top_p", FIELD_REAL, AT(a.top_p), RANGE_SHARE, NULL, NULL},
    {"min_p", FIELD_REAL, AT(a.min_p), RANGE_SHARE, NULL, NULL},
    {"typical_p", FIELD_REAL, AT(a.typical_p), RANGE_SHARE, NULL, NULL},
    {"repeat_penalty", FIELD_REAL, AT(a.repeat_penalty), RANGE_REPEAT, NULL, NULL},
    {"repeat_last_n", FIELD_WHOLE, AT(last_n), RANGE_LAST_N, NULL, NULL},
    {"frequency_penalty", FIELD_REAL, AT(a.frequency_penalty), RANGE_ANY_PENALTY, NULL, NULL},
    {"presence_penalty", FIELD_REAL, AT(a.presence_penalty), RANGE_ANY_PENALTY, NULL, NULL},
    {"dry_multiplier", FIELD_REAL, AT(dry_multiplier), 0, 1000, NULL, NULL},
    {"dry_base", FIELD_REAL, AT(dry_base), 1, 1000, NULL, NULL},
    {"dry_allowed_length", FIELD_WHOLE, AT(dry_allowed_length), 0, INT32_MAX, NULL, NULL},
    {"dry_penalty_last_n", FIELD_WHOLE, AT(dry_penalty_last_n), RANGE_LAST_N, NULL, NULL},
    {"dry_sequence_breakers", FIELD_VALUE, AT(breakers), IS_LIST, 0, NULL, NULL},
    {"xtc_probability", FIELD_REAL, AT(xtc_probability), 0, 1, NULL, NULL},
    {"xtc_threshold", FIELD_REAL, AT(xtc_threshold), 0, 1, NULL, NULL},
    {"samplers", FIELD_VALUE, AT(samplers), IS_LIST, 0, NULL, NULL},
    {"logit_bias", FIELD_VALUE, AT(biases), IS_LIST | IS_OBJECT, 0, NULL, NULL},
    {"ignore_eos", FIELD_FLAG, AT(ignore_eos), 0, 0, NULL, NULL},
    {"n_probs", FIELD_WHOLE, AT(n_probs), RANGE_TOP, NULL, NULL},
    {"grammar", FIELD_VALUE, AT(grammar), IS_TEXT, 0, NULL, NULL},
    {"json_schema", FIELD_VALUE, AT(schema), IS_OBJECT, 0, NULL, NULL},
    {"return_tokens", FIELD_FLAG, AT(return_tokens), 0, 0, NULL, NULL},
    {"return_progress", FIELD_FLAG, AT(a.return_progress), 0, 0, NULL, NULL},
    {"receipt", FIELD_FLAG, AT(a.receipt), 0, 0, NULL, NULL},
    {"cache_prompt", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"id_slot", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"n_keep", FIELD_IDLE, 0, 0, 0, NULL, NULL}, /* nothing is shifted */
    {"n_discard", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"n_cache_reuse", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"sse_ping_interval", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"mirostat_tau", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"mirostat_eta", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"dynatemp_exponent", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"mirostat", FIELD_REFUSED, 0, 0, 0, no_such_way, " 0 "},
    {"dynatemp_range", FIELD_REFUSED, 0, 0, 0, no_such_way, " 0 0.0 "},
    {"top_n_sigma", FIELD_REFUSED, 0, 0, 0, no_such_way, " -1 -1.0 "},
    {"adaptive_target", FIELD_REFUSED, 0, 0, 0, no_such_way, " -1 -1.0 "},
    {"min_keep", FIELD_REFUSED, 0, 0, 0, no_such_way, " 0 1 "},
    {"n_indent", FIELD_REFUSED, 0, 0, 0, no_such_way, " 0 "},
    {"t_max_predict_ms", FIELD_REFUSED, 0, 0, 0, "answers do not depend on time", " 0 -1 "},
    {"post_sampling_probs", FIELD_REFUSED, 0, 0, 0, "probabilities are those before any setting", " false "},
    {"timings_per_token", FIELD_REFUSED, 0, 0, 0, "the last event has the timings", " false "},
    {"response_fields", FIELD_REFUSED, 0, 0, 0, "replies are told whole", " [] "},
    {"lora", FIELD_REFUSED, 0, 0, 0, "there are no adapters", " [] "},
    {"image_data", FIELD_REFUSED, 0, 0, 0, text_alone, " [] "},
    {"input_suffix", FIELD_REFUSED, 0, 0, 0, "the model was not made to fill gaps", "  "},
};
/* clang-format on */

/* ---- the chain ---- */

static bool take_links(struct document *d, const struct llama *o, struct ask *ask)
{
    char param[32];
    int i = 0;

    CT_JSON_EACH(one, o->samplers)
    {
        int link = 0, before = 0;
        snprintf(param, sizeof param, "samplers[%d]", i);
        while (link < CARAT_LINKS && !ct_json_is_text(one, carat_link_name((carat_link)link)))
            link++;
        if (link == CARAT_LINKS)
            return field_refuse(d, param, one,
                                "expected penalties, dry, top_k, temperature, typ_p, top_p, min_p or xtc");
        while (before < i && ask->links[before] != (carat_link)link)
            before++;
        if (before < i)
            return field_refuse(d, param, one, "expected each of them once");
        ask->links[i++] = (carat_link)link;
    }
    if (o->samplers) {
        ask->chain.links = ask->links;
        ask->chain.n_links = i;
    }
    return true;
}

/* The only token of a text. */
static bool add_breaker(struct document *d, struct server *s, struct ask *ask, struct ct_str text, bool usual,
                        const struct ct_json_value *v)
{
    carat_tokens ids = {0};
    const carat_status status = carat_tokenize(s->options->model, text.s, text.n, 0, &ids, NULL);
    const bool good = status == CARAT_OK && ids.n == 1;

    if (good)
        ask->breakers[ask->chain.n_dry_breakers++] = ids.ids[0];
    carat_tokens_free(&ids);
    return good || usual || field_refuse(d, "dry_sequence_breakers", v, "expected strings of one token");
}

static bool take_breakers(struct document *d, struct server *s, const struct llama *o, struct ask *ask)
{
    static const char *const usual[] = {"\n", ":", "\"", "*"};

    if (ct_json_count(o->breakers) > CARAT_MOST_BREAKERS)
        return refuse(d->r, 400, NULL, "dry_sequence_breakers",
                      "dry_sequence_breakers has %zu strings, expected at most %d",
                      ct_json_count(o->breakers), CARAT_MOST_BREAKERS);
    ask->chain.dry_breakers = ask->breakers;
    for (size_t i = 0; i < CT_COUNT(usual) && !o->breakers; i++)
        add_breaker(d, s, ask, ct_str_of(usual[i]), true, NULL);
    CT_JSON_EACH(one, o->breakers)
    if (!add_breaker(d, s, ask, ct_json_str(one), false, one))
        return false;
    return true;
}

static bool take_chain(struct document *d, struct server *s, const struct llama *o, struct ask *ask)
{
    carat_chain *chain = &ask->chain;
    const struct {
        double given;
        float *to;
    } reals[] = {{o->dry_multiplier, &chain->dry_multiplier},
                 {o->dry_base, &chain->dry_base},
                 {o->xtc_probability, &chain->xtc_probability},
                 {o->xtc_threshold, &chain->xtc_threshold}};

    for (size_t i = 0; i < CT_COUNT(reals); i++)
        if (!isnan(reals[i].given))
            *reals[i].to = (float)reals[i].given;
    ask->asked_for |= (unsigned)!isnan(o->dry_multiplier) << SET_DRY |
                      (unsigned)!isnan(o->xtc_probability) << SET_XTC |
                      (unsigned)(o->last_n != NOT_GIVEN) << SET_REPEAT_LAST_N;
    chain->repeat_last_n = o->last_n == NOT_GIVEN ? 64 : (int)o->last_n;
    chain->dry_allowed_length = (int)o->dry_allowed_length;
    chain->dry_penalty_last_n = (int)o->dry_penalty_last_n;
    ask->sampling.chain = chain;
    return take_links(d, o, ask) && take_breakers(d, s, o, ask);
}

/* ---- biases ---- */

/* What is added to an id twice is added up. */
static bool add_bias(struct document *d, struct ask *ask, int32_t id, float bias)
{
    int i = 0;

    while (i < ask->chain.n_biases && ask->biases[i].id != id)
        i++;
    if (i == CARAT_MOST_BIASES)
        return refuse(d->r, 400, NULL, "logit_bias", "logit_bias has more than %d ids", CARAT_MOST_BIASES);
    if (i == ask->chain.n_biases)
        ask->biases[ask->chain.n_biases++] = (carat_bias){id, 0};
    ask->biases[i].bias += bias;
    return true;
}

/* An id, or a text whose ids all get it. spelled: an id may be the text of a number. */
static bool take_bias(struct document *d, struct server *s, struct ask *ask, const struct ct_json_value *of,
                      const struct ct_json_value *v, bool spelled)
{
    const struct ct_str text = ct_json_str(of);
    const double value = ct_json_is(v, CT_JSON_FALSE) ? -INFINITY : ct_json_double(v);
    int64_t id = -1;
    carat_tokens ids = {0};

    if (!ct_json_is(v, CT_JSON_FALSE) && (!ct_json_is(v, CT_JSON_NUMBER) || !(fabs(value) <= 1e30)))
        return field_refuse(d, "logit_bias", v, "expected a number, or false for what must not come");
    if (spelled ? ct_json_whole(text, &id) : ct_json_integer(of, &id)) {
        if (id < 0 || id >= s->info.n_text_vocab)
            return field_refuse(d, "logit_bias", of, "expected ids from 0 to %d", s->info.n_text_vocab - 1);
        return add_bias(d, ask, (int32_t)id, (float)value);
    }
    if ((!spelled && !ct_json_is(of, CT_JSON_STRING)) || text.n > MOST_BIASED)
        return field_refuse(d, "logit_bias", of, "expected an id, or a text of up to %d bytes", MOST_BIASED);
    bool good = carat_tokenize(s->options->model, text.s, text.n, 0, &ids, NULL) == CARAT_OK ||
                refuse(d->r, 503, NULL, NULL, "there is no memory for the biases");
    for (int i = 0; i < ids.n && good; i++)
        good = add_bias(d, ask, ids.ids[i], (float)value);
    carat_tokens_free(&ids);
    return good;
}

static bool take_biases(struct document *d, struct server *s, const struct llama *o, struct ask *ask)
{
    const int32_t *stops;
    const int n_stops = o->ignore_eos ? carat_stop_ids(s->options->model, &stops) : 0;

    if (ct_json_count(o->biases) > CARAT_MOST_BIASES)
        return refuse(d->r, 400, NULL, "logit_bias", "logit_bias has %zu elements, expected at most %d",
                      ct_json_count(o->biases), CARAT_MOST_BIASES);
    if (!(ask->biases = calloc(CARAT_MOST_BIASES, sizeof *ask->biases)))
        return refuse(d->r, 503, NULL, NULL, "there is no memory for the biases");
    ask->chain.biases = ask->biases;
    ask->asked_for |= (unsigned)(o->biases || n_stops) << SET_BIAS;
    CT_JSON_EACH(one, o->biases)
    {
        const bool is_key = ct_json_is(one, CT_JSON_KEY);
        if (!is_key && ct_json_count(one) != 2)
            return field_refuse(d, "logit_bias", one, "expected pairs of an id or a text and a number");
        const struct ct_json_value *of = is_key ? one : ct_json_first(one);
        if (!take_bias(d, s, ask, of, is_key ? ct_json_of_key(one) : ct_json_after(of), is_key))
            return false;
    }
    for (int i = 0; i < n_stops; i++)
        if (!add_bias(d, ask, stops[i], -INFINITY))
            return false;
    return true;
}

/* ---- the rest ---- */

static bool take_grammar(struct document *d, struct server *s, const struct llama *o, struct ask *ask)
{
    carat_constraint_options form;
    const bool has_grammar = o->grammar && o->grammar->n > 0;

    carat_constraint_options_default(&form);
    if (has_grammar && o->schema)
        return refuse(d->r, 400, NULL, "grammar", "grammar and json_schema are both there, expected one");
    if (!has_grammar && !o->schema)
        return true;
    const struct ct_str text = o->schema ? value_text(d, o->schema) : ct_json_str(o->grammar);
    form.form = o->schema ? CARAT_FORM_SCHEMA : CARAT_FORM_GRAMMAR;
    form.text = text.s;
    form.n_text = text.n;
    return asked_form(d, s, ask, o->schema ? "json_schema" : "grammar", &form);
}

static bool take_completion(struct document *d, struct job *job, struct llama *o)
{
    struct server *s = job->server;
    struct ask *ask = job->ask;
    int64_t seed;

    if (!fields_take(d, &d->tree.value[0], "", fields, CT_COUNT(fields), o) || !asked_model(d, s, o->a.model))
        return false;
    if (ct_json_integer(o->a.seed, &seed) && (seed == -1 || seed == UINT32_MAX)) /* any */
        o->a.seed = NULL;
    o->a.max_tokens = o->a.text_tokens > 0 ? o->a.text_tokens : 0;
    if (o->n_probs > 0) {
        o->a.logprobs = true;
        o->a.top_logprobs = o->n_probs;
    }
    o->a.echo = true; /* replies tell the prompt */
    o->a.mixes = true;
    ask->tells_ids = o->return_tokens;
    asked_progress(d, &o->a, ask, llama_progress);
    if (!asked_drawing(d, s, &o->a, ask) || !take_chain(d, s, o, ask) || !take_biases(d, s, o, ask) ||
        !take_grammar(d, s, o, ask) || !asked_list(d, s, &o->a, ask))
        return false;
    if (o->a.text_tokens == 0)
        ask_evaluate(ask);
    return ask_begin_list(ask);
}

bool llama_completion(struct job *job, struct refusal *r)
{
    static const struct respelling answers = {"n", "n_cmpl"}; /* of what all surfaces have in common */
    struct document d = {.r = r, .strict = job->server->options->strict};
    struct llama o = {.dry_multiplier = NAN,
                      .dry_base = NAN,
                      .xtc_probability = NAN,
                      .xtc_threshold = NAN,
                      .dry_allowed_length = 2,
                      .dry_penalty_last_n = -1,
                      .last_n = NOT_GIVEN};
    bool good = false;

    asked_default(&o.a);
    job->ask->writer = &llama_writer;
    if (document_read(&d, (struct ct_bytes){(const uint8_t *)job->body.data, job->body.n}))
        good = take_completion(&d, job, &o);
    if (good)
        asked_tell(&d, job, job->ask);
    else if (strcmp(r->param, "n") == 0)
        refusal_respell(r, &answers, 1);
    document_free(&d);
    return good;
}

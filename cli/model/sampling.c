/* SPDX-License-Identifier: Apache-2.0 */
/* sampling.c: see sampling.h. What the links do, and which values are sound, is the library's to say. */
#include "model/sampling.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/side_settings.h"
#include "options/table.h"
#include "term/message.h"

/* The options about drawing. */
#define AT(field) offsetof(struct draw_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_GENERATION + 20, {"--temp", "--temperature"}, REAL_OR_0, AT(temp), DRAWS, "X", NULL,
     "temperature; 0 takes the highest logit (default: the model's)", CARAT_TEMPERATURE_MIN, CARAT_TEMPERATURE_MAX},
    {ABOUT_GENERATION + 30, {"--top-k"}, INT, AT(top_k), DRAWS, "N", NULL,
     "draw from the N most likely tokens; 0 is all (default: the model's)", 0, INT_MAX},
    {ABOUT_GENERATION + 40, {"--top-p"}, REAL, AT(top_p), DRAWS, "X", NULL,
     "draw from the most likely tokens whose probabilities sum up to X (default: the model's)", CARAT_TOP_P_MIN, 1},
    {ABOUT_GENERATION + 50, {"--min-p"}, REAL, AT(min_p), "/ " DRAWS, "X", NULL,
     "drop tokens less likely than X times the likeliest (default: the model's)", 0, 1},
    {ABOUT_GENERATION + 60, {"--samplers"}, TEXT, AT(samplers), "/ " DRAWS, "NAMES", NULL,
     "the samplers and their order, as in 'top_k;temperature' (default: penalties, dry, top_k, "
     "temperature, typ_p, top_p, min_p, xtc; one without a value does nothing)", 0, 0},
    {ABOUT_GENERATION + 70, {"--sampling-seq", "--sampler-seq"}, TEXT, AT(sampling_seq), "/ " DRAWS, "LETTERS", NULL,
     "the same in llama.cpp's letters, as in edktypmx", 0, 0},
    {ABOUT_GENERATION + 80, {"-l", "--logit-bias"}, TEXTS, AT(logit_bias), "/ " DRAWS, "ID+X", NULL,
     "add X to the logit of token ID before all samplers, or with ID-X subtract it; ID-inf bans it; "
     "separate several by commas or repeat the option", 0, MOST_TEXTS},
    {ABOUT_GENERATION + 90, {"--repeat-penalty"}, REAL, AT(repeat_penalty), "/ " DRAWS, "X", "1",
     "divide the logits of ids in the recent text by X, or multiply them if negative (default {default}: "
     "off)", 0.001, 1000},
    {ABOUT_GENERATION + 100, {"--frequency-penalty"}, REAL, AT(frequency_penalty), "/ " DRAWS, "X", "0",
     "subtract X from the logit of an id for each time it occurs in the recent text (default {default})", -1000, 1000},
    {ABOUT_GENERATION + 110, {"--presence-penalty"}, REAL, AT(presence_penalty), "/ " DRAWS, "X", "0",
     "subtract X from the logits of ids in the recent text (default {default})", -1000, 1000},
    {ABOUT_GENERATION + 120, {"--repeat-last-n"}, INT, AT(repeat_last_n), "/ " DRAWS, "N", "64",
     "how many tokens are the recent text for these three penalties; -1 is all, 0 none (default "
     "{default})", -1, INT_MAX},
    {ABOUT_GENERATION + 130, {"--dry-multiplier"}, REAL, AT(dry_multiplier), "/ " DRAWS, "X", "0",
     "subtract X * BASE^n from the logit of an id that would make a repetition n tokens longer than "
     "allowed (default {default}: off)", 0, 1000},
    {ABOUT_GENERATION + 140, {"--dry-base"}, REAL, AT(dry_base), "/ " DRAWS, "X", "1.75",
     "BASE of --dry-multiplier (default {default})", 1, 1000},
    {ABOUT_GENERATION + 150, {"--dry-allowed-length"}, INT, AT(dry_allowed_length), "/ " DRAWS, "N", "2",
     "the longest repetition that --dry-multiplier allows (default {default})", 0, INT_MAX},
    {ABOUT_GENERATION + 160, {"--dry-penalty-last-n"}, INT, AT(dry_penalty_last_n), "/ " DRAWS, "N", "-1",
     "look for repetitions in the last N tokens; -1 is all, 0 none (default {default})", -1, INT_MAX},
    {ABOUT_GENERATION + 170, {"--dry-sequence-breaker"}, TEXTS, AT(dry_breaker), "/ " DRAWS, "TEXT", NULL,
     "a token that ends any repetition; may be repeated; the word none removes all (default: newline, "
     "colon, quote and star)", 0, CARAT_MOST_BREAKERS},
    {ABOUT_GENERATION + 180, {"--typical", "--typical-p", "--typ"}, REAL, AT(typical), "/ " DRAWS, "X", "1",
     "draw from the tokens whose log-probability is nearest to the expected one and which sum up to X "
     "(default {default}: off)", CARAT_TOP_P_MIN, 1},
    {ABOUT_GENERATION + 190, {"--xtc-probability"}, REAL, AT(xtc_probability), "/ " DRAWS, "X", "0",
     "with this probability drop all tokens above the threshold except the least likely of them (default "
     "{default}: off)", 0, 1},
    {ABOUT_GENERATION + 200, {"--xtc-threshold"}, REAL, AT(xtc_threshold), "/ " DRAWS, "X", "0.1",
     "the threshold of --xtc-probability (default {default})", 0, 1},
    {ABOUT_GENERATION + 210, {"-s", "--seed"}, INT64, AT(seed), GENERATES, "N", "-1",
     "seed of sampling; -1 is random (default {default})", -1, 0},
    {ABOUT_GENERATION + 220, {"-s", "--seed"}, INT64, AT(seed), "decode", "N", "0",
     "seed of sampling (default {default}); without any sampling option the highest logit is taken", -1, 0},
};
/* clang-format on */

const struct option_group draw_group = OPTION_GROUP(rows, struct draw_options, NULL);

/* ---- --samplers ---- */

/* Other spellings of llama.cpp, and its letters for --sampling-seq. */
static const struct {
    const char *names;
    char letter;
} spellings[CARAT_LINKS] = {
    [CARAT_LINK_PENALTIES] = {"penalties", 'e'},
    [CARAT_LINK_DRY] = {"dry", 'd'},
    [CARAT_LINK_TOP_K] = {"top_k|top-k", 'k'},
    [CARAT_LINK_TEMPERATURE] = {"temperature|temp", 't'},
    [CARAT_LINK_TYPICAL] = {"typ_p|typ-p|typ|typical|typical_p|typical-p", 'y'},
    [CARAT_LINK_TOP_P] = {"top_p|top-p|nucleus", 'p'},
    [CARAT_LINK_MIN_P] = {"min_p|min-p", 'm'},
    [CARAT_LINK_XTC] = {"xtc", 'x'},
};

static int add_link(carat_link *links, int *n, int link, const char *option, const char *word, int length)
{
    if (link == CARAT_LINKS)
        return term_fail(
            USAGE,
            "option %s: '%.*s' is not a sampler, expected penalties, dry, top_k, typ_p, top_p, min_p, xtc or "
            "temperature",
            option, length > 40 ? 40 : length, word);
    for (int i = 0; i < *n; i++)
        if (links[i] == (carat_link)link)
            return term_fail(USAGE, "option %s: '%.*s' is there twice, expected each sampler once", option,
                             length, word);
    links[(*n)++] = (carat_link)link;
    return DONE;
}

/* Names between semicolons, or letters. */
static int read_links(const struct options *o, carat_link links[CARAT_LINKS], int *n)
{
    const char *at = o->draw->samplers ? o->draw->samplers : o->draw->sampling_seq;
    const char *option = o->draw->samplers ? "--samplers" : "--sampling-seq";
    int code = DONE;

    *n = 0;
    while (at && code == DONE) {
        int length = o->draw->samplers ? (int)strcspn(at, ";") : *at != 0, link = 0;
        char word[24];
        snprintf(word, sizeof word, "%.*s", length, at);
        for (; link < CARAT_LINKS; link++)
            if (o->draw->samplers ? *word && is_choice(spellings[link].names, word)
                                  : *word == spellings[link].letter)
                break;
        code = add_link(links, n, link, option, at, length);
        at += length;
        at = o->draw->samplers ? (*at ? at + 1 : NULL) : *at ? at : NULL;
    }
    return code;
}

/* ---- --logit-bias ---- */

/* "5+1.5,9-inf" */
static int read_biases(const struct options *o, carat_bias biases[CARAT_MOST_BIASES], int *n)
{
    *n = 0;
    for (int i = 0; i < o->draw->logit_bias.n; i++)
        for (const char *at = o->draw->logit_bias.text[i];; at++) {
            char *end, *sign;
            errno = 0;
            long id = strtol(at, &sign, 10);
            float size = strtof(sign + (*sign != 0), &end);
            bool sound = sign > at && errno == 0 && id >= 0 && id <= INT32_MAX &&
                         (*sign == '+' || *sign == '-') && end > sign + 1 &&
                         strspn(sign + 1, "0123456789.i") > 0 && (*end == 0 || *end == ',');
            if (!sound || (!(size <= 1e38f) && !(isinf(size) && *sign == '-')))
                return term_fail(
                    USAGE, "option --logit-bias: '%.40s' is not ID+X, ID-X or ID-inf with X from 0 to 1e38",
                    at);
            for (int j = 0; j < *n; j++)
                if (biases[j].id == (int32_t)id)
                    return term_fail(USAGE,
                                     "option --logit-bias: id %ld is there twice, expected each id once", id);
            if (*n == CARAT_MOST_BIASES)
                return term_fail(USAGE, "option --logit-bias: more than %d ids", CARAT_MOST_BIASES);
            biases[(*n)++] = (carat_bias){(int32_t)id, *sign == '-' ? -size : size};
            at = end;
            if (!*at)
                break;
        }
    return DONE;
}

/* ---- --dry-sequence-breaker ---- */

/* The only token of a text; another number of them is an error unless it is one of the usual texts. */
static int add_breaker(struct sampling *to, const carat_model *model, const char *text, bool usual)
{
    carat_tokens ids = {0};
    carat_error err;
    int code = DONE, n = to->chain.n_dry_breakers;

    if (carat_tokenize(model, text, strlen(text), 0, &ids, &err) != CARAT_OK)
        code = usual ? DONE : fail_status(&err);
    else if (ids.n == 1 && n < CARAT_MOST_BREAKERS)
        to->breakers[to->chain.n_dry_breakers++] = ids.ids[0];
    else if (!usual)
        code =
            term_fail(USAGE, "option --dry-sequence-breaker: '%.40s' is %d tokens of the model, expected 1",
                      text, ids.n);
    carat_free(ids.ids);
    return code;
}

static int read_breakers(struct sampling *to, const carat_model *model, const struct options *o)
{
    static const char *const usual[] = {"\n", ":", "\"", "*"};
    int code = DONE;

    to->chain.n_dry_breakers = 0;
    if (o->draw->dry_breaker.n == 0)
        for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
            code = add_breaker(to, model, usual[i], true);
    for (int i = 0; i < o->draw->dry_breaker.n && code == DONE; i++)
        if (strcmp(o->draw->dry_breaker.text[i], "none") != 0)
            code = add_breaker(to, model, o->draw->dry_breaker.text[i], false);
    to->chain.dry_breakers = to->breakers;
    return code;
}

/* ---- all of it ---- */

/* True when an option turns to the chain. */
static bool take_chain(carat_chain *c, const struct options *o)
{
    const struct draw_options *d = o->draw;
    const void *const of_chain[] = {&d->samplers,           &d->sampling_seq,    &d->logit_bias,
                                    &d->dry_breaker,        &d->repeat_penalty,  &d->frequency_penalty,
                                    &d->presence_penalty,   &d->repeat_last_n,   &d->dry_multiplier,
                                    &d->dry_base,           &d->typical,         &d->dry_allowed_length,
                                    &d->dry_penalty_last_n, &d->xtc_probability, &d->xtc_threshold};

    carat_chain_default(c);
    c->repeat_penalty = (float)d->repeat_penalty;
    c->frequency_penalty = (float)d->frequency_penalty;
    c->presence_penalty = (float)d->presence_penalty;
    c->repeat_last_n = d->repeat_last_n;
    c->dry_multiplier = (float)d->dry_multiplier;
    c->dry_base = (float)d->dry_base;
    c->dry_allowed_length = d->dry_allowed_length;
    c->dry_penalty_last_n = d->dry_penalty_last_n;
    c->typical_p = (float)d->typical;
    c->xtc_probability = (float)d->xtc_probability;
    c->xtc_threshold = (float)d->xtc_threshold;
    for (size_t i = 0; i < sizeof of_chain / sizeof *of_chain; i++)
        if (options_given(o, of_chain[i]))
            return true;
    return false;
}

int sampling_check(const struct options *o)
{
    carat_link links[CARAT_LINKS];
    carat_bias biases[CARAT_MOST_BIASES];
    int n;

    if (o->draw->samplers && o->draw->sampling_seq)
        return term_fail(USAGE, "--samplers and --sampling-seq say the same: give one of them");
    TRY(read_links(o, links, &n));
    return read_biases(o, biases, &n);
}

static int fill_sampling(struct sampling *to, const carat_model *model, const struct options *o)
{
    carat_chain *c = &to->chain;
    carat_model_info info = {.size = sizeof info};
    carat_error err;

    carat_sampling_default(model, &to->s);
    TRY(side_settings_sampling(&to->s, o));
    if (o->draw->temp >= 0)
        to->s.temperature = (float)o->draw->temp;
    if (o->draw->top_k >= 0)
        to->s.top_k = o->draw->top_k;
    if (o->draw->top_p >= 0)
        to->s.top_p = (float)o->draw->top_p;
    if (o->draw->min_p >= 0)
        to->s.min_p = (float)o->draw->min_p;
    if (!take_chain(c, o))
        return DONE;
    to->s.chain = c;
    TRY(read_links(o, to->links, &c->n_links));
    TRY(read_biases(o, to->biases, &c->n_biases));
    c->links = o->draw->samplers || o->draw->sampling_seq ? to->links : NULL;
    c->biases = to->biases;
    if (carat_model_get_info(model, &info, &err) != CARAT_OK)
        return fail_status(&err);
    for (int i = 0; i < c->n_biases; i++)
        if (c->biases[i].id >= info.n_vocab)
            return term_fail(USAGE, "option --logit-bias: id %d, expected 0 to %d", (int)c->biases[i].id,
                             info.n_vocab - 1);
    return c->dry_multiplier > 0 ? read_breakers(to, model, o) : DONE;
}

int sampling_take(struct sampling *to, const carat_model *model, const struct options *o)
{
    struct sampling *next = calloc(1, sizeof *next);
    int code = next ? fill_sampling(next, model, o) : fail_memory();

    if (code == DONE) {
        const bool chained = next->s.chain != NULL, ordered = next->chain.links != NULL;
        *to = *next;
        to->s.chain = chained ? &to->chain : NULL;
        to->chain.links = ordered ? to->links : NULL;
        to->chain.biases = to->biases;
        to->chain.dry_breakers = to->breakers;
    }
    free(next);
    return code;
}

bool sampling_is_asked(const struct options *o)
{
    const struct draw_options *d = o->draw;

    return options_given(o, &d->temp) || options_given(o, &d->top_k) || options_given(o, &d->top_p) ||
           options_given(o, &d->min_p) || (options_given(o, &d->seed) && d->seed >= 0) || d->samplers ||
           d->sampling_seq || options_given(o, &d->typical) || options_given(o, &d->xtc_probability);
}

/* ---- what it says ---- */

/* The links of a sampling. */
static int links_of(const carat_sampling *s, const carat_link **links)
{
    static const carat_link usual[CARAT_LINKS] = {
        CARAT_LINK_PENALTIES, CARAT_LINK_DRY,   CARAT_LINK_TOP_K, CARAT_LINK_TEMPERATURE,
        CARAT_LINK_TYPICAL,   CARAT_LINK_TOP_P, CARAT_LINK_MIN_P, CARAT_LINK_XTC};
    bool chosen = s->chain && s->chain->links;

    *links = chosen ? s->chain->links : usual;
    return chosen ? s->chain->n_links : CARAT_LINKS;
}

/* Writes in words what a link does; "" where it does nothing. */
static void link_text(char *out, size_t capacity, const carat_sampling *s, carat_link link)
{
    const carat_chain *c = s->chain;
    const char *name = carat_link_name(link);

    *out = 0;
    if (link == CARAT_LINK_TOP_K && s->top_k > 0)
        snprintf(out, capacity, "%s %d", name, s->top_k);
    else if (link == CARAT_LINK_TEMPERATURE)
        snprintf(out, capacity, "%s %g", name, (double)s->temperature);
    else if (link == CARAT_LINK_TOP_P && s->top_p < 1)
        snprintf(out, capacity, "%s %g", name, (double)s->top_p);
    else if (link == CARAT_LINK_MIN_P && s->min_p > 0)
        snprintf(out, capacity, "%s %g", name, (double)s->min_p);
    else if (link == CARAT_LINK_PENALTIES && c && c->repeat_last_n != 0 &&
             (c->repeat_penalty != 1 || c->frequency_penalty != 0 || c->presence_penalty != 0))
        snprintf(out, capacity, "%s %g/%g/%g", name, (double)c->repeat_penalty, (double)c->frequency_penalty,
                 (double)c->presence_penalty);
    else if (link == CARAT_LINK_DRY && c && c->dry_multiplier > 0 && c->dry_penalty_last_n != 0)
        snprintf(out, capacity, "%s %g", name, (double)c->dry_multiplier);
    else if (link == CARAT_LINK_TYPICAL && c && c->typical_p < 1)
        snprintf(out, capacity, "%s %g", name, (double)c->typical_p);
    else if (link == CARAT_LINK_XTC && c && c->xtc_probability > 0)
        snprintf(out, capacity, "%s %g/%g", name, (double)c->xtc_probability, (double)c->xtc_threshold);
}

const char *sampling_text(char out[SAMPLING_TEXT], const carat_sampling *s)
{
    const carat_link *links;
    int n = links_of(s, &links);
    size_t used = 0;

    *out = 0;
    if (s->chain && s->chain->n_biases)
        used = (size_t)snprintf(out, SAMPLING_TEXT, "bias of %d id%s", s->chain->n_biases,
                                s->chain->n_biases == 1 ? "" : "s");
    for (int i = 0; i < n && used < SAMPLING_TEXT; i++) {
        char link[64];
        link_text(link, sizeof link, s, links[i]);
        if (*link)
            used += (size_t)snprintf(out + used, SAMPLING_TEXT - used, "%s%s", used ? ", " : "", link);
    }
    return out;
}

const char *sampling_names(char out[SAMPLING_TEXT], const carat_sampling *s)
{
    const carat_link *links;
    int n = links_of(s, &links);
    size_t used = 0;

    *out = 0;
    for (int i = 0; i < n; i++) {
        char text[64];
        link_text(text, sizeof text, s, links[i]);
        if (*text)
            used += (size_t)snprintf(out + used, SAMPLING_TEXT - used, "%s%s", used ? ", " : "",
                                     carat_link_name(links[i]));
    }
    return out;
}

json_t *sampling_json(const carat_sampling *s)
{
    const carat_link *links;
    const carat_chain *c = s->chain;
    int n = links_of(s, &links);
    json_t *names = json_array();
    json_t *o = json_pack("{s:f, s:i, s:f, s:f}", "temperature", (double)s->temperature, "top_k", s->top_k,
                          "top_p", (double)s->top_p, "min_p", (double)s->min_p);
    json_t *more =
        c ? json_pack("{s:f, s:f, s:f, s:i, s:f, s:f, s:i, s:i, s:f, s:f, s:f, s:i}", "repeat_penalty",
                      (double)c->repeat_penalty, "frequency_penalty", (double)c->frequency_penalty,
                      "presence_penalty", (double)c->presence_penalty, "repeat_last_n", c->repeat_last_n,
                      "dry_multiplier", (double)c->dry_multiplier, "dry_base", (double)c->dry_base,
                      "dry_allowed_length", c->dry_allowed_length, "dry_penalty_last_n",
                      c->dry_penalty_last_n, "typical_p", (double)c->typical_p, "xtc_probability",
                      (double)c->xtc_probability, "xtc_threshold", (double)c->xtc_threshold, "logit_biases",
                      c->n_biases)
          : json_object();
    bool good = names && o && more && json_object_update(o, more) == 0;

    for (int i = 0; i < n && good; i++) {
        char text[64];
        link_text(text, sizeof text, s, links[i]);
        good = !*text || json_array_append_new(names, json_string(carat_link_name(links[i]))) == 0;
    }
    good = good && json_object_set(o, "samplers", names) == 0;
    json_decref(names);
    json_decref(more);
    if (!good) {
        json_decref(o);
        o = NULL;
    }
    return o;
}

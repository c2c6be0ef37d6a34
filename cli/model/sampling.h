/* SPDX-License-Identifier: Apache-2.0 */
/* sampling.h: how ids are drawn, out of the options: the model's own sampling, what overrides it, and the
 * links that these turn on. */
#ifndef SAMPLING_H
#define SAMPLING_H

#include <jansson.h>

#include "carat_generate.h"
#include "options/options.h"

struct draw_options {
    double temp, top_p, min_p; /* NAN: the model's */
    int top_k;                 /* below 0: the model's */
    int64_t seed;              /* below 0: random */
    double repeat_penalty, frequency_penalty, presence_penalty, dry_multiplier, dry_base, typical,
        xtc_probability, xtc_threshold;
    int repeat_last_n, dry_allowed_length, dry_penalty_last_n;
    const char *samplers, *sampling_seq;
    struct texts logit_bias, dry_breaker;
};

struct sampling {
    carat_sampling s; /* s.chain is NULL, or points at chain */
    carat_chain chain;
    carat_link links[CARAT_LINKS];
    carat_bias biases[CARAT_MOST_BIASES];
    int32_t breakers[CARAT_MOST_BREAKERS];
};

/* Checks as much as can be said without a model. An exit code. */
int sampling_check(const struct options *o);
/* Overrides the model's own. The seed and what is banned are the caller's. An exit code; then nothing has
 * changed. */
int sampling_take(struct sampling *to, const carat_model *model, const struct options *o);
/* Is an option given that asks for a draw? */
bool sampling_is_asked(const struct options *o);

/* The links that do something, in their order: "top_k, temperature, top_p", and "top_k 64, temperature 1,
 * top_p 0.95"; both return out. */
enum { SAMPLING_TEXT = 400 };
const char *sampling_names(char out[SAMPLING_TEXT], const carat_sampling *s);
const char *sampling_text(char out[SAMPLING_TEXT], const carat_sampling *s);
/* The sampling as an object: samplers, a list of names, and the values of all that are there; NULL without
 * memory. */
json_t *sampling_json(const carat_sampling *s);

#endif

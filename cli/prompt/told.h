/* SPDX-License-Identifier: Apache-2.0 */
/* readout.h: what ends an answer besides the model, and what is reported of its tokens: --stop, --ban,
 * --loop-guard, --logprobs. */
#ifndef TOLD_H
#define TOLD_H

#include <jansson.h>

#include "carat_generate.h"
#include "options/options.h"

/* Options about where an answer ends, and what is told of it. */
struct told_options {
    const char *stop_ids; /* "": none */
    const char *ban;
    struct texts stop;
    bool ignore_eos;
    int loop_guard; /* 0: off */
    int logprobs;   /* below 0: not given */
};

struct told {
    const struct options *o;
    const carat_model *model;
    carat_tokens banned; /* of --ban and --ignore-eos */
    json_t *content;     /* of --logprobs, in OpenAI's form; NULL without */
};

/* Are the options good, as far as they can be judged before a model is opened? An exit code, as for all. */
int told_check(const struct options *o);
/* The model is there. */
int told_open(struct told *t, const struct options *o, const carat_model *model, int n_vocab);
/* An answer begins. */
int told_begin(struct told *t);
void told_options(const struct told *t, carat_generation_options *g);
int told_token(struct told *t, const carat_given *given);
/* The answer [ids] has ended: says which tokens went round, and with `prints` how likely they were. */
void told_end(const struct told *t, const carat_generation_info *info, const carat_tokens *ids, bool prints);
/* Puts "logprobs" into an object. */
void told_json(const struct told *t, json_t *object);
void told_close(struct told *t);

#endif

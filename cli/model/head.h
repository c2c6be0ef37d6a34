/* SPDX-License-Identifier: Apache-2.0 */
/* head.h: which logits are computed, as the options of the head ask for it. */
#ifndef HEAD_H
#define HEAD_H

#include <jansson.h>

#include "carat_generate.h"
#include "options/options.h"

struct head_options {
    const char *lm_head, *lm_quant, *weight_quant;
    struct amount lm_capacity;
    int lm_tile, lm_shortlist, audit;
    double min_recall;
};

/* Makes one spelling of several, and refuses options that contradict each other; notes what other programs'
 * words mean here. Before a model is opened; an exit code. */
int settle_head(struct options *o);
/* The head that the options ask for, valid until the next call; NULL when they ask for nothing. */
const carat_head_options *head_asked(const struct options *o);
/* By the names of the library. */
carat_head head_of_name(const char *name);
carat_head_quant quant_of_name(const char *name);
const char *quant_name(carat_head_quant quant);
/* head_check.c: an exact head gives what dense gives; else a message, and the exit code of a failed
 * check. */
int check_audits(const carat_head_stats *head);

/* Puts "head" into an object where one was asked for: which it is, and whether its logits are those of
 * dense. */
void tell_head(const struct options *o, carat_engine *engine, json_t *object);

#endif

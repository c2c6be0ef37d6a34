/* SPDX-License-Identifier: Apache-2.0 */
/* beside.h: what a store keeps beside the weights of a model, as ollama does: defaults that options go
 * over. */
#ifndef MODEL_BESIDE_H
#define MODEL_BESIDE_H

#include "carat.h"
#include "carat_tools.h"
#include "options/options.h"

/* Puts the store's temperature, top_k, top_p and min_p over the model's own. An exit code, here and below. */
int beside_sampling(carat_sampling *s, const struct options *o);
/* The store's system message, for free; NULL: it has none. */
int beside_system(char **system, const struct options *o);
/* Notes what the store has and carat does not use. */
void beside_note(const carat_location *at);
/* Lines of `carat show`. */
void beside_show(const carat_location *at);

#endif

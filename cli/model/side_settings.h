/* SPDX-License-Identifier: Apache-2.0 */
/* side_settings.h: what a store keeps beside the weights of a model, as ollama does: defaults that options go
 * over. */
#ifndef MODEL_SIDE_SETTINGS_H
#define MODEL_SIDE_SETTINGS_H

#include "carat.h"
#include "carat_tools.h"
#include "options/options.h"

/* Puts the store's temperature, top_k, top_p and min_p over the model's own. An exit code, here and below. */
int side_settings_sampling(carat_sampling *s, const struct options *o);
/* The store's system message, for free; NULL: it has none. */
int side_settings_system(char **system, const struct options *o);
/* Notes what the store has and carat does not use. */
void side_settings_note(const carat_location *at);
/* Lines of `carat show`. */
void side_settings_show(const carat_location *at);

#endif

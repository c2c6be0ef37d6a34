/* SPDX-License-Identifier: Apache-2.0 */
/* find_model.h: the model that a name stands for, fetched where the verb may do that. */
#ifndef MODEL_FIND_MODEL_H
#define MODEL_FIND_MODEL_H

#include "carat_tools.h"
#include "options/options.h"

/* --hf-file becomes a part of MODEL, and a token that others see is told of. An exit code. */
int settle_fetching(struct options *o);
/* As locate_model; verbs among FETCHES fetch what is missing. Nothing is asked of anybody for a name whose
 * files are all there, unless --refresh says so. */
int find_model(carat_location *at, const char *typed, const struct options *o);

#endif

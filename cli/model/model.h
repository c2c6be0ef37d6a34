/* SPDX-License-Identifier: Apache-2.0 */
/* model.h: from options to an open model and to an engine, with bars while loading. */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "carat.h"
#include "options/options.h"

struct open_options {
    const char *tokenizer, *drafter;
    bool no_cache;
    uint64_t cache_size; /* of the files of packed models together */
};

/* The name `tiny` is the model inside the command (`./tiny` is a file); of all else see located.h. */
int open_model(carat_model **model, const struct options *o, bool tokenizer_only);
/* open_model for verbs that compute: a model that is not in the cache is put there. */
int open_packed(carat_model **model, const struct options *o);
/* open_packed for a verb that measures either kind of model. */
int open_either(carat_model **model, const struct options *o);
/* For verbs that write it elsewhere: a drafter too, and nothing from the cache. */
int open_source(carat_model **model, const struct options *o);
const char *model_name(const char *path); /* its last component, for tables */

#endif

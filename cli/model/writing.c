/* SPDX-License-Identifier: Apache-2.0 */
/* writing.c: see writing.h. */
#include "model/writing.h"

#include <string.h>

static carat_qat qat_of(const char *word)
{
    if (!word || strcmp(word, "auto") == 0)
        return CARAT_QAT_AUTO;
    return strcmp(word, "on") == 0 ? CARAT_QAT_ON : CARAT_QAT_OFF;
}

void writing_options(carat_convert_options *how, const struct options *o)
{
    const struct writing_options *w = o->writing;

    carat_convert_options_default(how);
    how->type = w->type;
    how->recipe = w->recipe;
    how->importance = w->importance;
    how->pure = w->pure;
    how->clamp = w->clamp;
    how->qat = qat_of(w->qat);
    how->allow_requantize = w->again;
    how->container = w->to;
    how->shard_bytes = w->shard;
    how->set = w->set.text;
    how->n_set = w->set.n;
}

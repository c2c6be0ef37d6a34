/* SPDX-License-Identifier: Apache-2.0 */
/* embed_options.h: options of `carat embed`. */
#ifndef EMBED_EMBED_OPTIONS_H
#define EMBED_EMBED_OPTIONS_H

#include "options/options.h"

struct embed_options {
    const char *ids, *jsonl, *task, *title, *out;
    int dim; /* 0: all */
    int rounds;
    bool no_prompt, no_dense, truncate, similarity, stats, progress;
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* embed_inputs.h: the texts of `carat embed` as ids, whatever they come from. */
#ifndef EMBED_EMBED_INPUTS_H
#define EMBED_EMBED_INPUTS_H

#include "carat_embed.h"
#include "options/options.h"

/* Options of `carat embed`. */
struct embed_options {
    const char *ids, *jsonl, *task, *title, *out;
    int dim; /* 0: all */
    int rounds;
    bool no_prompt, no_dense, truncate, similarity, stats, progress;
};

struct embed_text {
    int at, n; /* of its ids among all; n 0: it failed, and was named */
    long line; /* of the file, from 1; 0: it comes from no file */
};
struct embed_inputs {
    struct embed_text *text; /* [n] */
    int n, failed, longest;  /* longest: tokens */
    size_t capacity;
    carat_tokens ids; /* of all of them */
};

/* Reads and tokenises all texts. One of several that cannot be used is named and counted; a mistake that
 * concerns all is an exit code. Start from {0}. */
int embed_inputs_read(struct embed_inputs *in, const struct options *o, const carat_model *model,
                      const carat_embedder *about);
void embed_inputs_free(struct embed_inputs *in);
/* What is wrong with options whatever the model is. An exit code. */
int embed_inputs_check(const struct options *o);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* embed_print.h: what `carat embed` prints and writes, text after text as their vectors come. */
#ifndef EMBED_EMBED_PRINT_H
#define EMBED_EMBED_PRINT_H

#include "carat_embed.h"
#include "io/save.h"
#include "options/options.h"

/* ---- embed_inputs.c: the texts of `carat embed` as ids, whatever they come from ---- */

/* Options of `carat embed`. */
struct embed_options {
    const char *ids, *jsonl, *file, *task, *title, *out;
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
/* Refuses options that are wrong whatever the model is. An exit code. */
int embed_inputs_check(const struct options *o);

struct embed_printer {
    const struct options *o;
    const struct embed_inputs *in;
    int dim;
    int next;        /* text whose turn it is */
    float *all;      /* [in->n][dim], where all of them are needed together */
    struct save npy; /* --out */
};
/* Exit codes. A printer is freed after any of them. */
int embed_print_begin(struct embed_printer *p, const struct options *o, const struct embed_inputs *in,
                      int dim);
/* The next text's vector; NULL: it has none. */
int embed_print_next(struct embed_printer *p, const float *vector);
/* Behind the last text. seconds is the time of the tokens that went through. */
int embed_print_end(struct embed_printer *p, size_t tokens, double seconds);
void embed_print_free(struct embed_printer *p); /* also {0} */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* embed_print.h: what `carat embed` prints and writes, text after text as their vectors come. */
#ifndef EMBED_EMBED_PRINT_H
#define EMBED_EMBED_PRINT_H

#include "embed/embed_inputs.h"
#include "io/save.h"

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

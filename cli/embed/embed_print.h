/* SPDX-License-Identifier: Apache-2.0 */
/* embed_print.h: what `carat embed` prints and writes. */
#ifndef EMBED_EMBED_PRINT_H
#define EMBED_EMBED_PRINT_H

#include "embed/embed_inputs.h"

/* All that came about. A text without ids, or whose vector is not finite, has none: a row of NaN. */
struct embed_result {
    const struct options *o;
    const struct embed_inputs *in;
    const float *vector; /* [in->n][dim] */
    int dim;
    size_t tokens;  /* that went through */
    double seconds; /* of the fastest round */
};
/* An exit code. */
int embed_print(const struct embed_result *r);

#endif

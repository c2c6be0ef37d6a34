/* SPDX-License-Identifier: Apache-2.0 */
/* draw.h: a draw as engine, backend and kernels speak of it (NUMERICS.md section 8). Which parameters are
 * asked for is the caller's; which ids are edited, and how often they were there, the engine's
 * (engine/sample/). */
#ifndef CT_DRAW_H
#define CT_DRAW_H

#include "carat_generate.h"

/* What becomes of the logit of an id. */
struct ct_edit {
    int32_t id;
    float bias;    /* is added to it first; -infinity: the id is not drawn */
    int32_t count; /* times that it was there, for the penalties */
    int32_t
        over; /* tokens by which it would make a repetition longer than DRY allows; below 0: it does not */
};

struct ct_draw {
    float temperature, top_p, min_p;
    int top_k;
    uint64_t seed;
    uint32_t position, number;
    const int32_t *banned; /* [n_banned] ids never chosen, in any order */
    int n_banned;
    const carat_chain *chain;    /* NULL: top-k, temperature, top-p and min-p, and no edits */
    const struct ct_edit *edits; /* [n_edits] by id, ascending */
    int n_edits;
};

#endif

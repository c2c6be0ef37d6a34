/* SPDX-License-Identifier: Apache-2.0 */
/* guard.h: whether a generation goes round: the last ids repeat a cycle, and hardly any other choice was
 * left. It knows ids and entropies alone; NUMERICS.md section 8 says what the entropy of an id is.
 *
 * A cycle of c ids, c at most 64, goes round when the last L = max(4 c, N) ids have the period c. The
 * shortest one that does so is a loop when the mean entropy of the last L / 2 ids is below 0.1. The entropy
 * of other ids is not asked for. */
#ifndef CT_GUARD_H
#define CT_GUARD_H

#include "base/base.h"
#include "carat_generate.h"

enum { CT_GUARD_CYCLE = 64, CT_GUARD_TOP = 64 }; /* the longest cycle; ids that the entropy is of */

struct ct_guard {
    int least;                  /* N; 0: it is off */
    int n;                      /* ids so far */
    int32_t id[CT_GUARD_CYCLE]; /* the last of them: number i at i % CT_GUARD_CYCLE */
    int same[CT_GUARD_CYCLE];   /* [c - 1] of the last ids, so many are the one c before */
    int window;                 /* entropies that are kept */
    float *entropy;             /* [window] of the last ids: number i at i % window */
};

/* least: 0 to CARAT_MOST_LOOP. E_ARGUMENT, E_MEMORY. Nothing is to be closed then. */
carat_status ct_guard_open(struct ct_guard *g, int least, carat_error *err);
void ct_guard_close(struct ct_guard *g);
/* Other ids begin. */
void ct_guard_begin(struct ct_guard *g);
/* True when the entropy of one of the next `more` ids may have to be known. */
bool ct_guard_wants(const struct ct_guard *g, int more);
/* An id was given; its entropy counts only where it was wanted. The length of the cycle that is a loop now,
 * or 0. */
int ct_guard_push(struct ct_guard *g, int32_t id, float entropy);

#endif

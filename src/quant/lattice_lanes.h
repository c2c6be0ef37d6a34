/* SPDX-License-Identifier: Apache-2.0 */
/* lattice_lanes.h: what lattice.c asks of several blocks at once, compiled for the baseline and for AVX2,
 * with equal bits. */
#ifndef CT_LATTICE_LANES_H
#define CT_LATTICE_LANES_H

#include "base/base.h"

enum {
    CT_LATTICE_LANES = 8,   /* at most */
    CT_LATTICE_GRID = 32,   /* intervals of inverse scales */
    CT_LATTICE_VALUES = 32, /* of a block */
    CT_LATTICE_CODE = 8     /* the largest code */
};

struct ct_lattice_lanes {
    float largest[CT_LATTICE_LANES]; /* |x| of a block */
    /* Bit k: with k as its largest code the block could lie on a lattice. */
    int32_t could[CT_LATTICE_LANES];
    /* Where the error is asked for: inverse scales from small ones on, and between which of them the least
     * error may be, a bit for each interval; it is nowhere else. Sums over values by the codes of each, for
     * a positive and a negative scale: xq^2 / q2 is what the best one removes of the sum of squares, and the
     * least error removes so much, all but for rounding. */
    float at[CT_LATTICE_GRID + 1][CT_LATTICE_LANES], removed[CT_LATTICE_LANES];
    float xq[2][CT_LATTICE_GRID + 1][CT_LATTICE_LANES], q2[2][CT_LATTICE_GRID + 1][CT_LATTICE_LANES];
    uint32_t worth[CT_LATTICE_LANES];
};

/* The nearest integer, of magnitudes below 2^22. */
#define CT_LATTICE_NEAREST(v) (((v) + 12582912.0f) - 12582912.0f)

/* Looks at as many blocks as the answer says, which all can be read; `error`: at the errors of scales too. */
typedef int ct_lattice_look(struct ct_lattice_lanes *found, const float *x, bool error);
extern ct_lattice_look ct_lattice_look_base, ct_lattice_look_avx2;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* lattice.h: blocks of Q4_0 out of values that may have been trained for four bits: the steps of a lattice,
 * integers from -8 to 7 by one scale, which their stored type has rounded. */
#ifndef CT_LATTICE_H
#define CT_LATTICE_H

#include "quant/quant.h"

/* Blocks of some values. */
struct ct_lattice {
    int blocks;
    int zeros;      /* of them, without a value other than 0: any lattice has these */
    int on;         /* on a lattice, zeros among them */
    bool one_scale; /* all of them are, and one scale is enough */
};

/* n values, a multiple of 32, as Q4_0. A block lies on a lattice when some scale of F16 and such integers
 * give each value after rounding to the type `stored`: F32, F16 or BF16, else F32. The integers are the
 * smallest there are, the scale is the middle one of all that do, the lower of two. What lies on none gets
 * the scale of the least squared error there is. blocks may be NULL: then it is only looked. avx2: the
 * processor has it; the bytes are the same. */
struct ct_lattice ct_encode_lattice(void *blocks, const float *x, size_t n, enum ct_type stored, bool avx2);

/* ---- lattice_lanes.c ---- */

/* What lattice.c asks of several blocks at once, compiled for the baseline and for AVX2, with equal bits. */

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

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

#endif

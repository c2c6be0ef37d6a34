/* SPDX-License-Identifier: Apache-2.0 */
/* scheme.h: matrices whose values share more than the block of a type says: int8 with one scale for a whole
 * row, some of its columns or the tensor, and palettes. */
#ifndef CT_SCHEME_H
#define CT_SCHEME_H

#include "quant/quant.h"

struct ct_scheme {
    enum ct_scheme_kind {
        CT_BLOCKS, /* none of this: blocks of the tensor's type */
        CT_ALIKE,  /* blocks of Q8_0 that share a scale */
        CT_PALETTE /* entries of a palette, which are F16 */
    } kind;
    int bits;   /* CT_PALETTE: of an index */
    int shared; /* CT_PALETTE: rows of a palette; CT_ALIKE: values of a row that share a scale; 0: all of the
                   tensor */
};

/* Values of a row: all. */
enum { CT_CHANNEL = 1 << 30 };

/* "int8:tensor", "int8:channel", "int8:group=64", "lut4", "lut4g8". False: it is none such. */
bool ct_scheme_named(struct ct_str name, struct ct_scheme *s);
/* The type of the values that it makes. */
static inline enum ct_type ct_scheme_type(const struct ct_scheme *s)
{
    return s->kind == CT_ALIKE ? CT_Q8_0 : CT_F16;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* shared.h: rows of a matrix written by a scheme: scales and palettes are worked out here, of what they are
 * shared by. Where values come from and who asks: fill.c. */
#ifndef CT_SHARED_H
#define CT_SHARED_H

#include "convert/scheme.h"
#include "quant/palette.h"

/* Rows of a matrix, one at a time. */
struct ct_rows_of {
    /* Row r as it is to be written, which holds until the next call; NULL: it cannot be. */
    const float *(*row)(void *user, int r);
    void *user;
    int first, last, cols; /* [first, last) of them */
};

/* Settings of an int8 scheme: d is the given percentile of |value|, divided by qmax. */
struct ct_clipping {
    int qmax;
    double percentile; /* above 0, at most 100 */
};

/* Writes blocks of Q8_0, row_bytes a row. False: a row could not be. */
bool ct_write_alike(uint8_t *to, size_t row_bytes, const struct ct_rows_of *rows, int shared,
                    const struct ct_clipping *clip);
/* Rows that share a palette: its entries, and for each row either indices, or with `values` what they stand
 * for, in F16. *fits is false where a row could not be. E_MEMORY. */
carat_status ct_write_palette(uint16_t *palette, uint8_t *to, size_t row_bytes, bool values,
                              const struct ct_rows_of *rows, int bits, struct ct_palette_maker *maker,
                              bool *fits, carat_error *err);

#endif

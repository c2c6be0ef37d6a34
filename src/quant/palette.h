/* SPDX-License-Identifier: Apache-2.0 */
/* palette.h: matrices whose values are entries of a palette: 2^bits numbers in f16, and for each value which
 * of them it is. MODEL.md describes the bytes. */
#ifndef CT_PALETTE_H
#define CT_PALETTE_H

#include "base/base.h"

/* The metadata key of GGUF files that have such; its value is 1. */
#define CT_PALETTE_KEY "carat.palette"

enum { CT_PALETTE_MOST = 256 }; /* entries */

/* The palettes of a matrix that a file holds so, beside its rows of indices. */
struct ct_palettes {
    const uint16_t *entry; /* [palettes][1 << bits] */
    const uint8_t *index;  /* of the first row; the rows of a part of the matrix are counted from it */
    int bits, shared;      /* rows that share a palette */
};

/* 2, 3, 4, 6 or 8. */
bool ct_palette_bits(int bits);
/* Bytes of a row of n indices: the low bits of a byte first; rows begin at bytes. */
size_t ct_palette_row_bytes(int bits, int n);
/* The values of a row, in f16. */
void ct_palette_row(uint16_t *value, const uint8_t *indices, const uint16_t *palette, int bits, int n);

/* Palettes of a matrix where so many rows share one, the last perhaps fewer; and rows that share one of so
 * many palettes. What is written is the first of what the second gives back, so neither needs a place in a
 * file. */
static inline int64_t ct_palette_groups(int64_t rows, int64_t shared)
{
    return (rows + shared - 1) / shared;
}
static inline int64_t ct_palette_rows(int64_t rows, int64_t groups)
{
    return (rows + groups - 1) / groups;
}

/* A palette while it is made: values are counted, then clustered, then looked up. */
struct ct_palette_maker {
    uint32_t *count; /* of each f16 value, in their order: [65536] */
    uint8_t *index;  /* and its entry, once they are clustered: [65536] */
    void *scratch;
    size_t scratch_bytes;
};

/* E_MEMORY. */
carat_status ct_palette_begin(struct ct_palette_maker *p, carat_error *err);
void ct_palette_end(struct ct_palette_maker *p);
/* Counts values, rounded to f16, of which none may be infinite or NaN. */
void ct_palette_count(struct ct_palette_maker *p, const float *x, size_t n);
/* Adds what another one has counted. */
void ct_palette_join(struct ct_palette_maker *p, const struct ct_palette_maker *other);
/* The entries for what was counted, ascending: means of the best clusters, rounded to f16; those that are
 * left over, where there are fewer values, are 0. Forgets the counts. E_MEMORY. */
carat_status ct_palette_cluster(struct ct_palette_maker *p, uint16_t *palette, int bits, carat_error *err);
/* A row of entries, in f16: each value's nearest, the lower one of two. The values were counted. */
void ct_palette_values(const struct ct_palette_maker *p, void *to, const uint16_t *palette, const float *x,
                       int n);
/* The same as a row of indices. */
void ct_palette_indices(const struct ct_palette_maker *p, uint8_t *indices, int bits, const float *x, int n);

#endif

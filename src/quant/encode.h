/* SPDX-License-Identifier: Apache-2.0 */
/* encode.h: float32 values into stored types, byte by byte as ggml's quantisers write them. What the bytes
 * mean: quant/blocks.h; back to values: ct_dequantize. */
#ifndef CT_ENCODE_H
#define CT_ENCODE_H

#include "quant/quant.h"

/* False for a type that ct_encode does not write: it writes Q8_0, Q5_0 and Q4_0. */
bool ct_encodes(enum ct_type type);
/* n values, a multiple of the block, as blocks of that type. A NaN among 32 makes the scale of their block
 * NaN, an infinity makes it infinite, so that what is computed with it is not a number either. */
void ct_encode(enum ct_type type, void *blocks, const float *x, size_t n);

/* A row, or a part of one that begins and ends with a block: n values as blocks of any type for which
 * ct_encodes_rows says true, with or without the importance of each column, which F32, F16, BF16, Q8_0 and
 * MXFP4 do not ask for. What it writes for numbers that are not finite means nothing. avx2: the processor has
 * it; the bytes are the same. With importance Q4_0 to Q5_1 weigh by the squares of the whole row: n is all of
 * it. */
bool ct_encodes_rows(enum ct_type type);
void ct_encode_row(enum ct_type type, void *blocks, const float *x, size_t n, const float *importance,
                   bool avx2);

/* The factor of all values of a block of a type of blocks that is written. */
float ct_block_scale(enum ct_type type, const uint8_t *block);

/* The largest |x| of n values; NaN when one is. */
float ct_largest(const float *x, size_t n);
/* The same; avx2: the processor has it. */
float ct_row_largest(const float *x, size_t n, bool avx2);
/* n values, a multiple of 32, as Q8_0 blocks of one scale, most / qmax; what is larger than most counts as
 * that. With the largest |x| and 127 it is that of Q8_0. */
void ct_encode_alike(void *blocks, const float *x, size_t n, float most, int qmax);

#endif

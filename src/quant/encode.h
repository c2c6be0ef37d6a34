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

/* The largest |x| of n values; NaN when one is. */
float ct_largest(const float *x, size_t n);
/* n values, a multiple of 32, as Q8_0 blocks of one scale: that of Q8_0 for values whose largest |x| is
 * given. */
void ct_encode_alike(void *blocks, const float *x, size_t n, float largest);

#endif

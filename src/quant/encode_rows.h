/* SPDX-License-Identifier: Apache-2.0 */
/* encode_rows.h: the encoders that are compiled for the baseline and again for AVX2, with equal bits. */
#ifndef CT_ENCODE_ROWS_H
#define CT_ENCODE_ROWS_H

#include "quant/quant.h"

/* Values of a row, a multiple of the block; importance: of their columns, or NULL. False: the type is not one
 * of those that it writes, or not without importance. */
typedef bool ct_encoder(enum ct_type type, void *blocks, const float *x, size_t n, const float *importance);
extern ct_encoder ct_encode_simple_base, ct_encode_iq_base, ct_encode_k_base, ct_encode_plain_base;
extern ct_encoder ct_encode_simple_avx2, ct_encode_iq_avx2, ct_encode_k_avx2, ct_encode_plain_avx2;

/* As ct_largest. */
float ct_encode_largest_base(const float *x, size_t n);
float ct_encode_largest_avx2(const float *x, size_t n);

#ifdef __AVX2__
#define CT_ENCODE(kind) ct_encode_##kind##_avx2
#else
#define CT_ENCODE(kind) ct_encode_##kind##_base
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* codec.h: the functions behind the table in quant.c; private to this room. Their contracts are those of
 * ct_type_info.dequantize and ct_type_info.expand: n elements, n a multiple of the block, input without
 * alignment. */
#ifndef CT_CODEC_H
#define CT_CODEC_H

#include "quant/quant.h"

void ct_dequantize_f32(float *out, const void *blocks, size_t n);
void ct_dequantize_f16(float *out, const void *blocks, size_t n);
void ct_dequantize_bf16(float *out, const void *blocks, size_t n);
void ct_dequantize_sfp(float *out, const void *blocks, size_t n);
void ct_dequantize_nuq(float *out, const void *blocks, size_t n);
void ct_dequantize_i8(float *out, const void *blocks, size_t n);

void ct_expand_q8_0(struct ct_group *out, const void *blocks, size_t n);
void ct_expand_q4_0(struct ct_group *out, const void *blocks, size_t n);
void ct_expand_q4_1(struct ct_group *out, const void *blocks, size_t n);
void ct_expand_q5_0(struct ct_group *out, const void *blocks, size_t n);
void ct_expand_q5_1(struct ct_group *out, const void *blocks, size_t n);
void ct_expand_iq4_nl(struct ct_group *out, const void *blocks, size_t n);
void ct_expand_mxfp4(struct ct_group *out, const void *blocks, size_t n);
void ct_expand_q2_k(struct ct_group *out, const void *blocks, size_t n);
void ct_expand_q3_k(struct ct_group *out, const void *blocks, size_t n);
void ct_expand_q4_k(struct ct_group *out, const void *blocks, size_t n);
void ct_expand_q5_k(struct ct_group *out, const void *blocks, size_t n);
void ct_expand_q6_k(struct ct_group *out, const void *blocks, size_t n);
void ct_expand_iq4_xs(struct ct_group *out, const void *blocks, size_t n);
void ct_expand_i8(struct ct_group *out, const void *blocks, size_t n);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* codec.h: the functions behind the table in quant.c; private to this room. Their contracts are those of
 * ct_type_info.dequantize and ct_type_info.expand: n elements, n a multiple of the block, input without
 * alignment. */
#ifndef CT_CODEC_H
#define CT_CODEC_H

#include "quant/quant.h"

typedef void ct_dequantizer(float *out, const void *blocks, size_t n);
ct_dequantizer ct_dequantize_f32, ct_dequantize_f16, ct_dequantize_bf16, ct_dequantize_sfp, ct_dequantize_nuq,
    ct_dequantize_i8;

typedef void ct_expander(struct ct_group *out, const void *blocks, size_t n);
ct_expander ct_expand_q8_0, ct_expand_q4_0, ct_expand_q4_1, ct_expand_q5_0, ct_expand_q5_1, ct_expand_iq4_nl,
    ct_expand_mxfp4, ct_expand_q2_k, ct_expand_q3_k, ct_expand_q4_k, ct_expand_q5_k, ct_expand_q6_k,
    ct_expand_iq4_xs, ct_expand_i8;

#endif

/* decode.h: the decoders behind the table in quant.c; private to this room. One per stored type, all with the
 * contract of ct_type_info.decode: n elements, n a multiple of the block, input without alignment. */
#ifndef CT_DECODE_H
#define CT_DECODE_H

#include <stddef.h>

void ct_decode_f32(float *out, const void *blocks, size_t n);
void ct_decode_f16(float *out, const void *blocks, size_t n);
void ct_decode_bf16(float *out, const void *blocks, size_t n);
void ct_decode_q8_0(float *out, const void *blocks, size_t n);
void ct_decode_q4_0(float *out, const void *blocks, size_t n);

#endif

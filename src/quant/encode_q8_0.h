/* SPDX-License-Identifier: Apache-2.0 */
/* encode_q8_0.h: a block of bytes with one scale, and what it and those of encode_plain.c are made with. Each
 * value takes one multiplication and one addition in float32, as in ggml; what is undefined there, a NaN as
 * an integer, is 0 here, as in the gguf package on x86. Loops have no way out and no branches, so that
 * compilers turn them into vectors. */
#ifndef CT_ENCODE_Q8_0_H
#define CT_ENCODE_Q8_0_H

#include "quant/blocks.h"
#include "quant/quant.h"

enum { VALUES = 32 }; /* in a block */

/* |x| as an integer, which is in the same order; NaN is above all others. */
static inline int32_t encode_magnitude(float x)
{
    return (int32_t)(ct_f32_bits(x) & 0x7fffffffu);
}

static inline float encode_largest(const float x[VALUES])
{
    int32_t most = 0;
    for (int i = 0; i < VALUES; i++)
        most = CT_MAX(most, encode_magnitude(x[i]));
    return ct_f32_from_bits((uint32_t)most);
}

static inline uint16_t encode_scale(float d)
{
    return d != d ? 0x7e00 : ct_f32_to_f16(d);
}

/* What values are multiplied by; 0 where all of them are. */
static inline float encode_inverse(float d)
{
    return d == 0 ? 0 : 1 / d;
}

/* The integer below |v|; NaN, and what became infinite because an inverse did, is 0. */
static inline int encode_integer(float v)
{
    return __builtin_fabsf(v) < 256 ? (int)v : 0;
}

static inline void encode_q8_0(struct ct_block_q8_0 *restrict b, const float x[restrict VALUES], float d,
                               float inverse)
{
    int8_t q[VALUES];
    for (int i = 0; i < VALUES; i++) { /* to the nearest, from 0 away in the middle */
        float v = x[i] * inverse;
        int whole = encode_integer(v);
        float rest = v - (float)whole;
        q[i] = (int8_t)(whole + (rest >= 0.5f && rest < 1) - (rest <= -0.5f && rest > -1));
    }
    b->d = encode_scale(d);
    memcpy(b->q, q, sizeof q);
}

#endif

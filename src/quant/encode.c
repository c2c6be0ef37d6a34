/* SPDX-License-Identifier: Apache-2.0 */
/* encode.c: the encoders of encode.h. Each value takes one multiplication and one addition in float32, as in
 * ggml; what is undefined there, a NaN as an integer, is 0 here, as in the gguf package on x86. Loops have
 * no way out and no branches, so that compilers turn them into vectors. */
#include "quant/encode.h"

#include "quant/blocks.h"

enum { VALUES = 32 }; /* in a block of these types */

/* |x| as an integer, which is in the same order; NaN is above all others. */
static inline int32_t encode_magnitude(float x)
{
    return (int32_t)(ct_f32_bits(x) & 0x7fffffffu);
}

static inline float encode_largest(const float *x, size_t n)
{
    int32_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = CT_MAX(most, encode_magnitude(x[i]));
    return ct_f32_from_bits((uint32_t)most);
}

float ct_largest(const float *x, size_t n)
{
    return encode_largest(x, n);
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

void ct_encode_alike(void *blocks, const float *x, size_t n, float most, int qmax)
{
    const float d = most / (float)qmax, inverse = encode_inverse(d);
    struct ct_block_q8_0 *b = blocks;

    assert(n % VALUES == 0);
    for (size_t at = 0; at < n; at += VALUES) {
        float v[VALUES];
        for (int i = 0; i < VALUES; i++) /* not so a NaN */
            v[i] = x[at + (size_t)i] > most ? most : x[at + (size_t)i] < -most ? -most : x[at + (size_t)i];
        encode_q8_0(b++, v, d, inverse);
    }
}

/* The first of those with the largest magnitude, with its sign; of zeros 0. */
static inline float encode_first_largest(const float x[VALUES])
{
    const float most = encode_largest(x, VALUES);
    int positive = 0, negative = 0;

    for (int i = 0; i < VALUES; i++) {
        positive |= x[i] == most;
        negative |= x[i] == -most;
    }
    if (positive && negative && most > 0)
        for (int i = 0; i < VALUES; i++)
            if (x[i] == most || x[i] == -most)
                return x[i];
    return negative && !positive ? -most : most;
}

/* Codes from 0 to 2 * zero - 1, of which the largest value gets 0. */
static inline float encode_codes(uint8_t code[restrict VALUES], const float x[restrict VALUES], int zero)
{
    const float d = encode_first_largest(x) / (float)-zero, inverse = encode_inverse(d);

    for (int i = 0; i < VALUES; i++) {
        int c = encode_integer(x[i] * inverse + ((float)zero + 0.5f));
        code[i] = (uint8_t)CT_MIN(c, 2 * zero - 1);
    }
    return d;
}

/* The low nibbles of the first half beside those of the second. */
static inline void encode_nibbles(uint8_t q[restrict VALUES / 2], const uint8_t code[restrict VALUES])
{
    for (int i = 0; i < VALUES / 2; i++)
        q[i] = (uint8_t)((code[i] & 15) | code[i + VALUES / 2] << 4);
}

static inline void encode_q4_0(struct ct_block_q4_0 *b, const float *x)
{
    uint8_t code[VALUES];
    b->d = encode_scale(encode_codes(code, x, 8));
    encode_nibbles(b->q, code);
}

static inline void encode_q5_0(struct ct_block_q5_0 *b, const float *x)
{
    uint8_t code[VALUES];
    uint32_t high = 0;
    b->d = encode_scale(encode_codes(code, x, 16));
    encode_nibbles(b->q, code);
    for (int i = 0; i < VALUES; i++)
        high |= (uint32_t)(code[i] >> 4) << i;
    memcpy(b->high, &high, sizeof high);
}

bool ct_encodes(enum ct_type type)
{
    return type == CT_Q8_0 || type == CT_Q5_0 || type == CT_Q4_0;
}

void ct_encode(enum ct_type type, void *blocks, const float *x, size_t n)
{
    uint8_t *to = blocks;

    assert(ct_encodes(type) && n % VALUES == 0);
    for (size_t at = 0; at < n; at += VALUES) {
        if (type == CT_Q8_0) {
            const float d = encode_largest(x + at, VALUES) / 127;
            encode_q8_0((struct ct_block_q8_0 *)to, x + at, d, encode_inverse(d));
            to += sizeof(struct ct_block_q8_0);
        } else if (type == CT_Q5_0) {
            encode_q5_0((struct ct_block_q5_0 *)to, x + at);
            to += sizeof(struct ct_block_q5_0);
        } else {
            encode_q4_0((struct ct_block_q4_0 *)to, x + at);
            to += sizeof(struct ct_block_q4_0);
        }
    }
}

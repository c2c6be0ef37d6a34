/* SPDX-License-Identifier: Apache-2.0 */
/* encode_plain.c: float32 values as Q8_0, Q5_0 and Q4_0 without importance, as encode.h says of ct_encode. */
#include "quant/encode_q8_0.h"
#include "quant/encode_rows.h"

/* The first of those with the largest magnitude, with its sign; of zeros 0. */
static inline float encode_first_largest(const float x[VALUES])
{
    const float most = encode_largest(x);
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

bool CT_ENCODE(plain)(enum ct_type type, void *blocks, const float *x, size_t n, const float *importance)
{
    uint8_t *to = blocks;

    (void)importance; /* who asks with it has asked the others before */
    assert(n % VALUES == 0);
    for (size_t at = 0; at < n; at += VALUES) {
        if (type == CT_Q8_0) {
            const float d = encode_largest(x + at) / 127;
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
    return true;
}

float CT_ENCODE(largest)(const float *x, size_t n)
{
    int32_t most[VALUES] = {0};
    size_t i = 0;

    for (; i + VALUES <= n; i += VALUES)
        for (size_t k = 0; k < VALUES; k++)
            most[k] = CT_MAX(most[k], encode_magnitude(x[i + k]));
    for (; i < n; i++)
        most[0] = CT_MAX(most[0], encode_magnitude(x[i]));
    for (size_t k = 1; k < VALUES; k++)
        most[0] = CT_MAX(most[0], most[k]);
    return ct_f32_from_bits((uint32_t)most[0]);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* block_oracle.h: what the formats say about one weight of a block, element by element and not through the
 * library's groups, and the product of NUMERICS.md section 4 made of that. For test_ref.c. */
#ifndef BLOCK_ORACLE_H
#define BLOCK_ORACLE_H

#include <math.h>

#include "quant/quant.h"

/* w = ws * sc * q + m * mn */
struct element {
    int q, sc, mn;
    float ws, m;
    bool minimum;
};

static inline float half_at(const uint8_t *p)
{
    return ct_f16_to_f32(ct_le16(p));
}
/* Nibble j of 32 in 16 bytes. */
static inline int nibble(const uint8_t *p, int j)
{
    return j < 16 ? p[j] & 15 : p[j - 16] >> 4;
}
static inline int bit(const uint8_t *p, int j)
{
    return p[j / 8] >> j % 8 & 1;
}

/* Element i of a row. */
static inline struct element element_at(enum ct_type type, const uint8_t *row, int i)
{
    static const int iq4[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
    static const int e2m1[] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
    const struct ct_type_info *t = ct_type_info(type);
    const uint8_t *b = row + (size_t)(i / t->block) * (size_t)t->bytes, *s;
    int j = i % t->block, k = j / 32, low, high;

    switch (type) {
    case CT_Q8_0:
        return (struct element){(int8_t)b[2 + j], 1, 0, half_at(b), 0, false};
    case CT_Q4_0:
        return (struct element){nibble(b + 2, j) - 8, 1, 0, half_at(b), 0, false};
    case CT_Q4_1:
        return (struct element){nibble(b + 4, j), 1, 1, half_at(b), half_at(b + 2), true};
    case CT_Q5_0:
        return (struct element){nibble(b + 6, j) + 16 * bit(b + 2, j) - 16, 1, 0, half_at(b), 0, false};
    case CT_Q5_1:
        return (struct element){
            nibble(b + 8, j) + 16 * bit(b + 4, j), 1, 1, half_at(b), half_at(b + 2), true};
    case CT_IQ4_NL:
        return (struct element){iq4[nibble(b + 2, j)], 1, 0, half_at(b), 0, false};
    case CT_MXFP4:
        return (struct element){e2m1[nibble(b + 1, j)], 1, 0, (float)ldexp(1, b[0] - 128), 0, false};
    case CT_Q2_K:
        low = b[16 + 32 * (j / 128) + j % 32] >> j % 128 / 32 * 2 & 3;
        return (struct element){low, b[j / 16] % 16, b[j / 16] / 16, half_at(b + 80), -half_at(b + 82), true};
    case CT_Q3_K:
        low = b[32 + 32 * (j / 128) + j % 32] >> j % 128 / 32 * 2 & 3;
        high = b[j % 32] >> k & 1;
        s = b + 96;
        k = j / 16;
        return (struct element){low - (high ? 0 : 4),
                                (k < 8 ? s[k] % 16 : s[k - 8] / 16) + 16 * (s[8 + k % 4] >> k / 4 * 2 & 3) -
                                    32,
                                0,
                                half_at(b + 108),
                                0,
                                false};
    case CT_Q4_K:
    case CT_Q5_K:
        s = b + 4;
        low = b[(type == CT_Q4_K ? 16 : 48) + 32 * (j / 64) + j % 32] >> (k % 2 ? 4 : 0) & 15;
        high = type == CT_Q4_K ? 0 : b[16 + j % 32] >> k & 1;
        return (struct element){
            low + 16 * high,
            1,
            1,
            half_at(b) * (float)(k < 4 ? s[k] % 64 : s[k + 4] % 16 + s[k - 4] / 64 * 16),
            -(half_at(b + 2) * (float)(k < 4 ? s[k + 4] % 64 : s[k + 4] / 16 + s[k] / 64 * 16)),
            true};
    case CT_Q6_K:
        low = b[64 * (j / 128) + j % 64] >> (j % 128 < 64 ? 0 : 4) & 15;
        high = b[128 + 32 * (j / 128) + j % 32] >> j % 128 / 32 * 2 & 3;
        return (struct element){low + 16 * high - 32, (int8_t)b[192 + j / 16], 0, half_at(b + 208), 0, false};
    case CT_IQ4_XS:
        low = (b[4 + k / 2] >> (k % 2 ? 4 : 0)) % 16 + 16 * (ct_le16(b + 2) >> 2 * k & 3);
        return (struct element){iq4[nibble(b + 8 + 16 * k, j % 32)], 1, 0,
                                half_at(b) * (float)(low - 32),      0, false};
    case CT_I8:
        return (struct element){(int8_t)b[4 + j],
                                1,
                                1,
                                ct_bf16_to_f32(ct_le16(b)),
                                -(ct_bf16_to_f32(ct_le16(b + 2)) * ct_bf16_to_f32(ct_le16(b))),
                                true};
    default:
        return (struct element){0, 0, 0, NAN, NAN, false};
    }
}

/* The product of a row and x in int8, acc over groups of 32 in ascending order; cols is a multiple of 32. */
static inline float product_of_integers(enum ct_type type, const uint8_t *row, const float *x, int cols)
{
    float acc = 0;
    for (int g = 0; g < cols; g += 32) {
        float a = 0;
        for (int i = g; i < g + 32; i++)
            a = fmaxf(a, fabsf(x[i]));
        bool zero = a < 0x1p-90f;
        float r = zero ? 0 : 127.0f / a, xs = zero ? 0 : a / 127.0f;
        int64_t isum = 0, msum = 0;
        struct element e = {0};
        for (int i = g; i < g + 32; i++) {
            int xq = (int)fmaxf(-127, fminf(127, nearbyintf(x[i] * r)));
            e = element_at(type, row, i);
            isum += (int64_t)e.sc * e.q * xq;
            msum += (int64_t)e.mn * xq;
        }
        acc = fmaf((float)isum, e.ws * xs, acc);
        if (e.minimum)
            acc = fmaf(e.m, xs * (float)msum, acc);
    }
    return acc;
}

#endif

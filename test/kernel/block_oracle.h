/* SPDX-License-Identifier: Apache-2.0 */
/* block_oracle.h: what the formats say about one weight of a block, element by element and not through the
 * library's groups, and the product of NUMERICS.md section 4 made of that. For test_ref.c. */
#ifndef BLOCK_ORACLE_H
#define BLOCK_ORACLE_H

#include <math.h>

#include "quant/grids.h"
#include "quant/quant.h"

/* w = ws * sc * q + m * mn */
struct element {
    int q, sc, mn;
    float ws, m;
    bool minimum;
};
#define PLAIN_ELEMENT(q, ws) ((struct element){q, 1, 0, ws, 0, false})

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

/* Weight j of a block of IQ2 or IQ3: entry `at` of a codebook, `bits` for each of its weights. */
static inline struct element of_codebook(const uint16_t *grid, int at, int j, int bits, bool minus, int s,
                                         float ws)
{
    static const int iq2[] = {8, 25, 43};
    const int n = bits == 2 ? 8 : 4, number = grid[at] / (1 << bits * (j % n)) % (1 << bits);
    const int level = bits == 2               ? iq2[number]
                      : grid == ct_grid_iq3_s ? 2 * number + 1
                                              : 8 * number + 4 + 2 * (number == 7);
    return (struct element){minus ? -level : level, 2 * s + 1, 0, ws, 0, false};
}
/* Bit j % 8 of seven, or what makes the number of bits even. */
static inline bool seven_signs(uint32_t seven, int j)
{
    uint32_t sum = 0;
    for (int i = 0; i < 7; i++)
        sum += seven >> i & 1;
    return (j % 8 < 7 ? seven >> j % 8 & 1 : sum % 2) != 0;
}

static inline struct element codebook_element_at(enum ct_type type, const uint8_t *b, int j)
{
    const int k = j / 32, e = j / 8, f = j / 4, half = j / 16;
    uint32_t word;
    int at, s;

    switch (type) {
    case CT_IQ2_XXS:
        word = ct_le32(b + 2 + 8 * k + 4);
        return of_codebook(ct_grid_iq2_xxs, b[2 + 8 * k + e % 4], j, 2,
                           seven_signs(word >> e % 4 * 7 & 127, j), (int)(word >> 28), half_at(b) / 8);
    case CT_IQ2_XS:
        at = ct_le16(b + 2 + 2 * e);
        return of_codebook(ct_grid_iq2_xs, at % 512, j, 2, seven_signs((uint32_t)at / 512, j),
                           b[66 + k] / (half % 2 ? 16 : 1) % 16, half_at(b) / 8);
    case CT_IQ2_S:
        return of_codebook(ct_grid_iq2_s, b[2 + e] + 256 * (b[66 + k] >> e % 4 * 2 & 3), j, 2, bit(b + 34, j),
                           b[74 + k] / (half % 2 ? 16 : 1) % 16, half_at(b) / 8);
    case CT_IQ3_XXS:
        word = ct_le32(b + 66 + 4 * k);
        return of_codebook(ct_grid_iq3_xxs, b[2 + f], j, 3, seven_signs(word >> e % 4 * 7 & 127, j),
                           (int)(word >> 28), half_at(b) / 4);
    case CT_IQ3_S:
        return of_codebook(ct_grid_iq3_s, b[2 + f] + 256 * bit(b + 66, f), j, 3, bit(b + 74, j),
                           b[106 + k / 2] / (k % 2 ? 16 : 1) % 16, half_at(b));
    case CT_IQ1_S:
        at = ct_le16(b + 34 + 2 * k);
        s = ct_grid_iq1[b[2 + e] + 256 * (at >> e % 4 * 3 & 7)] >> j % 8 * 2 & 3;
        return (struct element){
            8 * (s - 1) + (at & 0x8000 ? -1 : 1), 2 * (at >> 12 & 7) + 1, 0, half_at(b) / 8, 0, false};
    default: /* IQ1_M */
        word = b[32 + e / 2] >> e % 2 * 4 & 15;
        s = ct_grid_iq1[b[e] + 256 * (word & 7)] >> j % 8 * 2 & 3;
        at = b[49] >> 4 | b[51] >> 4 << 4 | b[53] >> 4 << 8 | b[55] >> 4 << 12;
        return (struct element){8 * (s - 1) + (word & 8 ? -1 : 1),
                                2 * (ct_le16(b + 48 + 2 * (half / 4)) >> half % 4 * 3 & 7) + 1,
                                0,
                                ct_f16_to_f32((uint16_t)at) / 8,
                                0,
                                false};
    }
}

/* Of 243 = 3^5 steps of a byte the digit at 3^n; a byte is rounded up, so that its digits are exact. */
static inline int ternary_digit(int byte, int n)
{
    int value = byte * 243 / 256;
    for (; n < 4; n++)
        value /= 3;
    return value % 3;
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
    case CT_IQ2_XXS:
    case CT_IQ2_XS:
    case CT_IQ2_S:
    case CT_IQ3_XXS:
    case CT_IQ3_S:
    case CT_IQ1_S:
    case CT_IQ1_M:
        return codebook_element_at(type, b, j);
    case CT_TQ1_0:
        low = j < 160 ? j % 32 : j < 240 ? 32 + j % 16 : 48 + j % 4;
        high = j < 160 ? j / 32 : j < 240 ? (j - 160) / 16 : (j - 240) / 4;
        return PLAIN_ELEMENT(ternary_digit(b[low], high) - 1, half_at(b + 52));
    case CT_TQ2_0:
        return PLAIN_ELEMENT((b[32 * (j / 128) + j % 32] >> j % 128 / 32 * 2 & 3) - 1, half_at(b + 64));
    case CT_Q1_0:
        return PLAIN_ELEMENT(bit(b + 2, j) ? 1 : -1, half_at(b));
    case CT_Q2_0:
        return PLAIN_ELEMENT((b[2 + j / 4] >> j % 4 * 2 & 3) - 1, half_at(b));
    case CT_NVFP4:
        k = b[j / 16] & 127;
        return PLAIN_ELEMENT(e2m1[b[4 + j / 16 * 8 + j % 8] >> (j % 16 < 8 ? 0 : 4) & 15],
                             k == 127 ? 0
                             : k < 8  ? (float)ldexp(k, -10)
                                      : (float)ldexp(8 + k % 8, k / 8 - 11));
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
            if (i == g + 16 && type == CT_NVFP4) { /* the halves are products of their own */
                acc = fmaf((float)isum, e.ws * xs, acc);
                isum = 0;
            }
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

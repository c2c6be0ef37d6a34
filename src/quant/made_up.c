/* SPDX-License-Identifier: Apache-2.0 */
/* made_up.c: blocks of any type whose bits are drawn, so that whoever reads them is seen to read all: every
 * code, sign and entry of a codebook comes up. Only factors are chosen, so that values stay within a few
 * units. */
#include "quant/blocks.h"
#include "quant/quant.h"

#include <stddef.h>

/* f16 factors of a block: where they lie, and the power of two that they have. */
struct factor {
    int at, power; /* power 0: there is none */
};

#define AT(block, member, power)                                                                             \
    {                                                                                                        \
        offsetof(struct ct_block_##block, member), power                                                     \
    }

static const struct factor factors[CT_TYPE_COUNT][2] = {
    [CT_Q8_0] = {AT(q8_0, d, -8)},
    [CT_Q4_0] = {AT(q4_0, d, -5)},
    [CT_Q4_1] = {AT(q4_1, d, -5), AT(q4_1, m, -2)},
    [CT_Q5_0] = {AT(q5_0, d, -6)},
    [CT_Q5_1] = {AT(q5_1, d, -6), AT(q5_1, m, -2)},
    [CT_Q2_K] = {AT(q2_k, d, -7), AT(q2_k, dmin, -6)},
    [CT_Q3_K] = {AT(q3_k, d, -9)},
    [CT_Q4_K] = {AT(q4_k, d, -12), AT(q4_k, dmin, -8)},
    [CT_Q5_K] = {AT(q5_k, d, -13), AT(q5_k, dmin, -8)},
    [CT_Q6_K] = {AT(q6_k, d, -13)},
    [CT_IQ4_NL] = {AT(iq4_nl, d, -8)},
    [CT_IQ4_XS] = {AT(iq4_xs, d, -13)},
    [CT_IQ2_XXS] = {AT(iq2_xxs, d, -8)},
    [CT_IQ2_XS] = {AT(iq2_xs, d, -8)},
    [CT_IQ2_S] = {AT(iq2_s, d, -8)},
    [CT_IQ3_XXS] = {AT(iq3_xxs, d, -10)},
    [CT_IQ3_S] = {AT(iq3_s, d, -10)},
    [CT_IQ1_S] = {AT(iq1_s, d, -6)},
    [CT_TQ1_0] = {AT(tq1_0, d, -3)},
    [CT_TQ2_0] = {AT(tq2_0, d, -3)},
    [CT_Q1_0] = {AT(q1_0, d, -3)},
    [CT_Q2_0] = {AT(q2_0, d, -3)},
};

static uint32_t made_up_bits(uint32_t i)
{
    uint32_t u = i * 2654435761u + 36;

    u = (u ^ u >> 15) * 2246822519u;
    return u ^ u >> 13;
}

static void put_16(uint8_t *to, uint32_t bits)
{
    to[0] = (uint8_t)bits;
    to[1] = (uint8_t)(bits >> 8);
}

/* The sign and all of the mantissa stay as they were drawn. */
static uint32_t f16_of_power(uint32_t drawn, int power)
{
    return (drawn & 0x83ffu) | (uint32_t)(power + 15) << 10;
}

static uint32_t bf16_of_power(uint32_t drawn, int power)
{
    return (drawn & 0x807fu) | (uint32_t)(power + 127) << 7;
}

static void put_factors(enum ct_type type, uint8_t *block)
{
    for (int i = 0; i < 2; i++) {
        const struct factor f = factors[type][i];
        if (f.power)
            put_16(block + f.at, f16_of_power(ct_le16(block + f.at), f.power));
    }
    if (type == CT_IQ1_M) { /* d in the upper bits of four scales */
        const uint32_t d = f16_of_power(made_up_bits(ct_le32(block)), -6);
        for (int i = 0; i < 4; i++) {
            uint8_t *upper = block + offsetof(struct ct_block_iq1_m, scale) + 2 * i + 1;
            *upper = (uint8_t)((*upper & 15) | (d >> 4 * i & 15) << 4);
        }
    } else if (type == CT_MXFP4) {
        *block = (uint8_t)(118 + *block % 8);
    } else if (type == CT_NVFP4) {
        for (int i = 0; i < 4; i++)
            block[i] = 16 + block[i] % 16;
    } else if (type == CT_I8) {
        put_16(block, bf16_of_power(ct_le16(block), -8));
        put_16(block + 2, bf16_of_power(ct_le16(block + 2), 4));
    }
}

static void put_plain(enum ct_type type, uint8_t *to, uint32_t drawn)
{
    const float v = (float)(drawn >> 8) * 0x1p-25f - 0.25f;

    if (type == CT_F32)
        memcpy(to, &v, sizeof v);
    else
        put_16(to, type == CT_F16 ? ct_f32_to_f16(v) : ct_f32_to_bf16(v));
}

void ct_make_up(enum ct_type type, void *blocks, size_t n, uint32_t seed)
{
    const struct ct_type_info *t = ct_type_info(type);
    const uint32_t bytes = (uint32_t)t->bytes;
    uint8_t *to = blocks;

    for (uint32_t b = 0; b < n / (size_t)t->block; b++, to += bytes) {
        for (uint32_t i = 0; i < bytes; i++)
            to[i] = (uint8_t)made_up_bits(seed + b * bytes + i);
        if (type <= CT_BF16)
            put_plain(type, to, made_up_bits(seed + b));
        else
            put_factors(type, to);
    }
}

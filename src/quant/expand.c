/* SPDX-License-Identifier: Apache-2.0 */
/* expand.c: the bits of every block type as groups of 32 small integers with their factors; blocks.h says
 * what lies where. The only statement of these layouts: decoding (ct_dequantize) and the integer products
 * both start here. */
#include "quant/blocks.h"
#include "quant/codec.h"

/* Defines ct_expand_<name>: a loop over blocks of so many weights; what follows says how one becomes
 * groups. */
#define EXPANDER(name, weights)                                                                              \
    static inline void name##_block(struct ct_group *restrict g, const struct ct_block_##name *restrict b);  \
    void ct_expand_##name(struct ct_group *out, const void *blocks, size_t n)                                \
    {                                                                                                        \
        const uint8_t *p = blocks;                                                                           \
        assert(n % (weights) == 0);                                                                          \
        for (size_t at = 0; at < n; at += (weights), p += sizeof(struct ct_block_##name)) {                  \
            name##_block(out + at / 32, (const struct ct_block_##name *)p);                                  \
        }                                                                                                    \
    }                                                                                                        \
    static inline void name##_block(struct ct_group *restrict g, const struct ct_block_##name *restrict b)

const int8_t ct_iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
const int8_t ct_mxfp4_values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

static inline void nibbles(int8_t q[restrict 32], const uint8_t packed[restrict 16], int minus)
{
    for (int i = 0; i < 16; i++) {
        q[i] = (int8_t)((packed[i] & 15) - minus);
        q[i + 16] = (int8_t)((packed[i] >> 4) - minus);
    }
}

/* Nibbles with a fifth bit for each weight. */
static inline void five_bits(int8_t q[restrict 32], const uint8_t packed[restrict 16], const uint8_t high[4],
                             int minus)
{
    uint32_t bits = ct_le32(high);
    nibbles(q, packed, minus);
    for (int i = 0; i < 32; i++)
        q[i] = (int8_t)(q[i] + (int)((bits >> i & 1) << 4));
}

static inline void looked_up(int8_t q[restrict 32], const uint8_t packed[restrict 16], const int8_t table[16])
{
    for (int i = 0; i < 16; i++) {
        q[i] = table[packed[i] & 15];
        q[i + 16] = table[packed[i] >> 4];
    }
}

EXPANDER(q8_0, 32)
{
    memcpy(g->q, b->q, sizeof g->q);
    g->ws = ct_f16_to_f32(b->d);
}

EXPANDER(q4_0, 32)
{
    nibbles(g->q, b->q, 8);
    g->ws = ct_f16_to_f32(b->d);
}

EXPANDER(q4_1, 32)
{
    nibbles(g->q, b->q, 0);
    g->ws = ct_f16_to_f32(b->d);
    g->m = ct_f16_to_f32(b->m);
}

EXPANDER(q5_0, 32)
{
    five_bits(g->q, b->q, b->high, 16);
    g->ws = ct_f16_to_f32(b->d);
}

EXPANDER(q5_1, 32)
{
    five_bits(g->q, b->q, b->high, 0);
    g->ws = ct_f16_to_f32(b->d);
    g->m = ct_f16_to_f32(b->m);
}

EXPANDER(iq4_nl, 32)
{
    looked_up(g->q, b->q, ct_iq4_values);
    g->ws = ct_f16_to_f32(b->d);
}

EXPANDER(mxfp4, 32)
{
    looked_up(g->q, b->q, ct_mxfp4_values);
    /* 2^(e - 128); the first two are subnormal */
    g->ws = ct_f32_from_bits(b->e < 2 ? 0x00200000u << b->e : (uint32_t)(b->e - 1) << 23);
}

EXPANDER(q2_k, 256)
{
    for (int k = 0; k < 8; k++) {
        for (int i = 0; i < 32; i++)
            g[k].q[i] = (int8_t)(b->q[32 * (k / 4) + i] >> 2 * (k % 4) & 3);
        for (int half = 0; half < 2; half++) {
            g[k].sc[half] = b->scale[2 * k + half] & 15;
            g[k].mn[half] = b->scale[2 * k + half] >> 4;
        }
        g[k].ws = ct_f16_to_f32(b->d);
        g[k].m = -ct_f16_to_f32(b->dmin);
    }
}

EXPANDER(q3_k, 256)
{
    for (int k = 0; k < 8; k++) {
        for (int i = 0; i < 32; i++)
            g[k].q[i] = (int8_t)((b->q[32 * (k / 4) + i] >> 2 * (k % 4) & 3) + 4 * (b->high[i] >> k & 1) - 4);
        for (int half = 0; half < 2; half++) {
            int s = 2 * k + half;
            int low = s < 8 ? b->scale[s] & 15 : b->scale[s - 8] >> 4;
            g[k].sc[half] = (low | (b->scale[8 + s % 4] >> 2 * (s / 4) & 3) << 4) - 32;
        }
        g[k].ws = ct_f16_to_f32(b->d);
    }
}

/* Scale and minimum k of the 8 in 12 bytes: the first four of each in 6 bits of a byte of their own, the
 * others in a shared byte of two nibbles, with the 2 bits left over in the former on top. */
static inline void unpack_6bit(const uint8_t s[12], int k, int *sc, int *mn)
{
    if (k < 4) {
        *sc = s[k] & 63;
        *mn = s[k + 4] & 63;
    } else {
        *sc = (s[k + 4] & 15) | s[k - 4] >> 6 << 4;
        *mn = s[k + 4] >> 4 | s[k] >> 6 << 4;
    }
}

EXPANDER(q4_k, 256)
{
    for (int k = 0; k < 8; k++) {
        int sc, mn;
        unpack_6bit(b->scale, k, &sc, &mn);
        for (int i = 0; i < 32; i++)
            g[k].q[i] = (int8_t)(b->q[32 * (k / 2) + i] >> 4 * (k % 2) & 15);
        g[k].ws = ct_f16_to_f32(b->d) * (float)sc;
        g[k].m = -(ct_f16_to_f32(b->dmin) * (float)mn);
    }
}

EXPANDER(q5_k, 256)
{
    for (int k = 0; k < 8; k++) {
        int sc, mn;
        unpack_6bit(b->scale, k, &sc, &mn);
        for (int i = 0; i < 32; i++)
            g[k].q[i] = (int8_t)((b->q[32 * (k / 2) + i] >> 4 * (k % 2) & 15) + 16 * (b->high[i] >> k & 1));
        g[k].ws = ct_f16_to_f32(b->d) * (float)sc;
        g[k].m = -(ct_f16_to_f32(b->dmin) * (float)mn);
    }
}

EXPANDER(q6_k, 256)
{
    for (int k = 0; k < 8; k++) {
        const uint8_t *low = b->low + 64 * (k / 4) + 32 * (k % 2), *high = b->high + 32 * (k / 4);
        for (int i = 0; i < 32; i++)
            g[k].q[i] = (int8_t)(((low[i] >> 4 * (k % 4 / 2) & 15) | (high[i] >> 2 * (k % 4) & 3) << 4) - 32);
        g[k].sc[0] = b->scale[2 * k];
        g[k].sc[1] = b->scale[2 * k + 1];
        g[k].ws = ct_f16_to_f32(b->d);
    }
}

EXPANDER(iq4_xs, 256)
{
    for (int k = 0; k < 8; k++) {
        int scale = (b->scale_low[k / 2] >> 4 * (k % 2) & 15) | (b->scale_high >> 2 * k & 3) << 4;
        looked_up(g[k].q, b->q + 16 * k, ct_iq4_values);
        g[k].ws = ct_f16_to_f32(b->d) * (float)(scale - 32);
    }
}

EXPANDER(i8, 128)
{
    for (int k = 0; k < 4; k++) {
        memcpy(g[k].q, b->q + 32 * k, sizeof g[k].q);
        g[k].ws = ct_bf16_to_f32(b->scale);
        g[k].m = -(ct_bf16_to_f32(b->zero) * ct_bf16_to_f32(b->scale));
    }
}

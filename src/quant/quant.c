/* SPDX-License-Identifier: Apache-2.0 */
/* quant.c: what the bits of the stored types mean, and the table of them. Blocks become groups of small
 * integers with factors; decoding and integer products both start there. Other types become float32 at once.
 * These are definitions: kernels are fast, and agree. To teach carat a type: a constant in quant.h, its block
 * in blocks.h, here how it expands and a row of `types` (its row leaves `foreign`), in layout/panels.c how it
 * is packed. */
#include "quant/quant.h"

#include "quant/blocks.h"
#include "quant/grids.h"

/* ---- blocks to groups ---- */

/* Defines expand_<name>: a loop over blocks of so many weights; what follows says how one becomes groups. */
#define EXPANDER(name, weights)                                                                              \
    static inline void name##_block(struct ct_group *restrict g, const struct ct_block_##name *restrict b);  \
    static void expand_##name(struct ct_group *out, const void *blocks, size_t n)                            \
    {                                                                                                        \
        const uint8_t *p = blocks;                                                                           \
        assert(n % (weights) == 0);                                                                          \
        for (size_t at = 0; at < n; at += (weights), p += sizeof(struct ct_block_##name))                    \
            name##_block(out + at / 32, (const struct ct_block_##name *)p);                                  \
    }                                                                                                        \
    static inline void name##_block(struct ct_group *restrict g, const struct ct_block_##name *restrict b)

const int8_t ct_iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
const int8_t ct_mxfp4_values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
const int8_t ct_q1_values[16] = {-1, 1}; /* of a bit */

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

/* Q4_K, and Q5_K where `high` has the fifth bits. */
static inline void nibbles_k(struct ct_group *restrict g, uint16_t d, uint16_t dmin, const uint8_t scale[12],
                             const uint8_t *q, const uint8_t *high)
{
    for (int k = 0; k < 8; k++) {
        int sc, mn;
        unpack_6bit(scale, k, &sc, &mn);
        for (int i = 0; i < 32; i++)
            g[k].q[i] =
                (int8_t)((q[32 * (k / 2) + i] >> 4 * (k % 2) & 15) + (high ? 16 * (high[i] >> k & 1) : 0));
        g[k].ws = ct_f16_to_f32(d) * (float)sc;
        g[k].m = -(ct_f16_to_f32(dmin) * (float)mn);
    }
}

EXPANDER(q4_k, 256)
{
    nibbles_k(g, b->d, b->dmin, b->scale, b->q, NULL);
}

EXPANDER(q5_k, 256)
{
    nibbles_k(g, b->d, b->dmin, b->scale, b->q, b->high);
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

/* ---- codebooks ---- */

/* n weights of a codebook's entry, whose levels have so many bits; bit i of signs turns weight i. */
static inline void entry(int8_t *restrict q, unsigned word, int n, int bits, const int8_t *levels,
                         unsigned signs)
{
    for (int i = 0; i < n; i++) {
        const int8_t v = levels[word >> bits * i & ((1u << bits) - 1)];
        q[i] = (int8_t)(signs >> i & 1 ? -v : v);
    }
}

static inline void entry_of_iq2(int8_t *q, unsigned word, unsigned signs)
{
    entry(q, word, 8, 2, ct_levels_iq2, signs);
}

/* The eighth of seven signs makes their number even. */
static inline unsigned eight_signs(unsigned seven)
{
    seven &= 127;
    return seven | (unsigned)__builtin_parity(seven) << 7;
}

/* Halves with factors 2s + 1. */
static inline void odd_factors(struct ct_group *g, float ws, int first, int second)
{
    g->ws = ws;
    g->sc[0] = 2 * first + 1;
    g->sc[1] = 2 * second + 1;
}

EXPANDER(iq2_xxs, 256)
{
    for (int k = 0; k < 8; k++) {
        const uint8_t *at = b->q + 8 * k;
        const uint32_t signs = ct_le32(at + 4);
        for (int i = 0; i < 4; i++)
            entry_of_iq2(g[k].q + 8 * i, ct_grid_iq2_xxs[at[i]], eight_signs(signs >> 7 * i));
        odd_factors(&g[k], ct_f16_to_f32(b->d) * 0.125f, (int)(signs >> 28), (int)(signs >> 28));
    }
}

EXPANDER(iq2_xs, 256)
{
    for (int k = 0; k < 8; k++) {
        for (int i = 0; i < 4; i++) {
            const unsigned at = b->q[4 * k + i];
            entry_of_iq2(g[k].q + 8 * i, ct_grid_iq2_xs[at & 511], eight_signs(at >> 9));
        }
        odd_factors(&g[k], ct_f16_to_f32(b->d) * 0.125f, b->scale[k] & 15, b->scale[k] >> 4);
    }
}

EXPANDER(iq2_s, 256)
{
    for (int k = 0; k < 8; k++) {
        for (int i = 0; i < 4; i++) {
            const unsigned at = b->q[4 * k + i] | (unsigned)(b->high[k] >> 2 * i & 3) << 8;
            entry_of_iq2(g[k].q + 8 * i, ct_grid_iq2_s[at], b->sign[4 * k + i]);
        }
        odd_factors(&g[k], ct_f16_to_f32(b->d) * 0.125f, b->scale[k] & 15, b->scale[k] >> 4);
    }
}

EXPANDER(iq3_xxs, 256)
{
    for (int k = 0; k < 8; k++) {
        const uint32_t signs = ct_le32(b->sign + 4 * k);
        for (int i = 0; i < 8; i++)
            entry(g[k].q + 4 * i, ct_grid_iq3_xxs[b->q[8 * k + i]], 4, 3, ct_levels_iq3_xxs,
                  eight_signs(signs >> 7 * (i / 2)) >> 4 * (i % 2));
        odd_factors(&g[k], ct_f16_to_f32(b->d) * 0.25f, (int)(signs >> 28), (int)(signs >> 28));
    }
}

EXPANDER(iq3_s, 256)
{
    for (int k = 0; k < 8; k++) {
        const int s = b->scale[k / 2] >> 4 * (k % 2) & 15;
        for (int i = 0; i < 8; i++) {
            const unsigned at = b->q[8 * k + i] | (unsigned)(b->high[k] >> i & 1) << 8;
            entry(g[k].q + 4 * i, ct_grid_iq3_s[at], 4, 3, ct_levels_iq3_s,
                  (unsigned)b->sign[4 * k + i / 2] >> 4 * (i % 2));
        }
        odd_factors(&g[k], ct_f16_to_f32(b->d), s, s);
    }
}

/* 8 weights 8 * entry + 1, or - 1. high: the upper three bits of the number, and above them whether - 1. */
static inline void entry_of_iq1(int8_t q[restrict 8], unsigned low, unsigned high)
{
    static const int8_t levels[2][4] = {{-7, 1, 9, 0}, {-9, -1, 7, 0}};
    entry(q, ct_grid_iq1[low | (high & 7) << 8], 8, 2, levels[high >> 3 & 1], 0);
}

EXPANDER(iq1_s, 256)
{
    for (int k = 0; k < 8; k++) {
        const unsigned high = b->high[k];
        for (int i = 0; i < 4; i++)
            entry_of_iq1(g[k].q + 8 * i, b->q[4 * k + i], (high >> 3 * i & 7) | high >> 15 << 3);
        odd_factors(&g[k], ct_f16_to_f32(b->d) * 0.125f, high >> 12 & 7, high >> 12 & 7);
    }
}

EXPANDER(iq1_m, 256)
{
    unsigned d = 0;
    for (int i = 0; i < 4; i++)
        d |= (unsigned)(b->scale[i] >> 12) << 4 * i;
    for (int k = 0; k < 8; k++) {
        const unsigned s = (unsigned)b->scale[k / 2] >> 6 * (k % 2);
        for (int i = 0; i < 4; i++)
            entry_of_iq1(g[k].q + 8 * i, b->q[4 * k + i], b->high[2 * k + i / 2] >> 4 * (i % 2) & 15u);
        odd_factors(&g[k], ct_f16_to_f32((uint16_t)d) * 0.125f, s & 7, s >> 3 & 7);
    }
}

/* ---- few values ---- */

EXPANDER(tq1_0, 256)
{
    static const uint8_t power[5] = {1, 3, 9, 27, 81};
    for (int i = 0; i < 256; i++) { /* five digits of 32 bytes, five of 16, four of the last 4 */
        const int at = i < 160 ? i % 32 : i < 240 ? 32 + (i - 160) % 16 : 48 + (i - 240) % 4;
        const int n = i < 160 ? i / 32 : i < 240 ? (i - 160) / 16 : (i - 240) / 4;
        const uint8_t byte = at < 48 ? b->q[at] : b->high[at - 48];
        g[i / 32].q[i % 32] = (int8_t)(((uint8_t)(byte * power[n]) * 3 >> 8) - 1);
    }
    for (int k = 0; k < 8; k++)
        g[k].ws = ct_f16_to_f32(b->d);
}

EXPANDER(tq2_0, 256)
{
    for (int k = 0; k < 8; k++) {
        for (int i = 0; i < 32; i++)
            g[k].q[i] = (int8_t)((b->q[32 * (k / 4) + i] >> 2 * (k % 4) & 3) - 1);
        g[k].ws = ct_f16_to_f32(b->d);
    }
}

EXPANDER(q1_0, 128)
{
    for (int i = 0; i < 128; i++)
        g[i / 32].q[i % 32] = ct_q1_values[b->q[i / 8] >> i % 8 & 1];
    for (int k = 0; k < 4; k++)
        g[k].ws = ct_f16_to_f32(b->d);
}

EXPANDER(q2_0, 64)
{
    for (int i = 0; i < 64; i++)
        g[i / 32].q[i % 32] = (int8_t)((b->q[i / 4] >> 2 * (i % 4) & 3) - 1);
    g[0].ws = g[1].ws = ct_f16_to_f32(b->d);
}

/* Half of an E4M3 value without sign: 2^-10 a unit below exponent 1. 0x7F is none, here 0 as in the
 * reference. */
static inline float half_e4m3(uint8_t e)
{
    const int exponent = e >> 3 & 15, mantissa = e & 7;
    if (e == 0x7f)
        return 0;
    return exponent ? ct_f32_from_bits((uint32_t)(exponent + 119) << 23 | (uint32_t)mantissa << 20)
                    : (float)mantissa * 0x1p-10f;
}

EXPANDER(nvfp4, 64)
{
    for (int i = 0; i < 64; i++)
        g[i / 32].q[i % 32] = ct_mxfp4_values[b->q[i / 16 * 8 + i % 8] >> i % 16 / 8 * 4 & 15];
    for (int k = 0; k < 2; k++) {
        g[k].ws = half_e4m3(b->d[2 * k]);
        g[k].ws_apart = half_e4m3(b->d[2 * k + 1]);
    }
}

/* ---- gemma.cpp ---- */

EXPANDER(i8, 128)
{
    for (int k = 0; k < 4; k++) {
        memcpy(g[k].q, b->q + 32 * k, sizeof g[k].q);
        g[k].ws = ct_bf16_to_f32(b->scale);
        g[k].m = -(ct_bf16_to_f32(b->zero) * ct_bf16_to_f32(b->scale));
    }
}

/* ---- types without groups ---- */

static void dequantize_f32(float *out, const void *blocks, size_t n)
{
    memcpy(out, blocks, n * sizeof *out);
}

static void dequantize_f16(float *out, const void *blocks, size_t n)
{
    const uint8_t *p = blocks;
    for (size_t i = 0; i < n; i++)
        out[i] = ct_f16_to_f32(ct_le16(p + 2 * i));
}

static void dequantize_bf16(float *restrict out, const void *restrict blocks, size_t n)
{
    const uint8_t *p = blocks;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) /* of a size that compilers turn into vectors */
        for (size_t k = 0; k < 8; k++)
            out[i + k] = ct_bf16_to_f32(ct_le16(p + 2 * (i + k)));
    for (; i < n; i++)
        out[i] = ct_bf16_to_f32(ct_le16(p + 2 * i));
}

/* gemma.cpp's switched float: a sign, then 3 bits of mantissa from 2^-7 up and 2 below, so that every code is
 * a bf16 value. Code 0 is 0, and so is 0x80, which no writer makes. */
static float sfp_value(uint8_t code)
{
    uint32_t sign = (uint32_t)(code & 0x80) << 24, m = code & 0x7f;
    if (m == 0)
        return 0;
    return ct_f32_from_bits(sign | (m & 0x40 ? 0x38000000u + (m << 20) : 0x34000000u + (m << 21)));
}

static void dequantize_sfp(float *out, const void *blocks, size_t n)
{
    const uint8_t *p = blocks;
    for (size_t i = 0; i < n; i++)
        out[i] = sfp_value(p[i]);
}

void ct_nuq_to_sfp(uint8_t *codes, const void *block, size_t n)
{
    const uint8_t *centre = (const uint8_t *)block + offsetof(struct ct_block_nuq, centre);
    const uint8_t *q = (const uint8_t *)block + offsetof(struct ct_block_nuq, q);
    for (size_t i = 0; i < n; i++)
        codes[i] = centre[q[i / 2] >> 4 * (i % 2) & 15];
}

static void dequantize_nuq(float *out, const void *blocks, size_t n)
{
    const uint8_t *p = blocks;
    uint8_t codes[256];
    assert(n % sizeof codes == 0);
    for (size_t i = 0; i < n; i += sizeof codes, p += sizeof(struct ct_block_nuq)) {
        ct_nuq_to_sfp(codes, p, sizeof codes);
        dequantize_sfp(out + i, codes, sizeof codes);
    }
}

/* Its formula is fused, so it is not the loop of ct_dequantize. */
static void dequantize_i8(float *out, const void *blocks, size_t n)
{
    const uint8_t *p = blocks;
    struct ct_group g[4];
    for (size_t i = 0; i < n; i += 128, p += sizeof(struct ct_block_i8)) {
        expand_i8(g, p, 128);
        for (int j = 0; j < 128; j++)
            out[i + (size_t)j] = __builtin_fmaf(g[j / 32].ws, (float)g[j / 32].q[j % 32], g[j / 32].m);
    }
}

/* ---- the table ---- */

/* name, block, bytes, GGUF number, safetensors dtype, dequantize, expand, halves, minimum, apart, loss */
static const struct ct_type_info types[] = {
    [CT_F32] = {"F32", 1, 4, 0, "F32", dequantize_f32, NULL, false, false, false, 1e-6},
    [CT_F16] = {"F16", 1, 2, 1, "F16", dequantize_f16, NULL, false, false, false, 1e-3},
    [CT_BF16] = {"BF16", 1, 2, 30, "BF16", dequantize_bf16, NULL, false, false, false, 0.01},
    [CT_Q8_0] = {"Q8_0", 32, sizeof(struct ct_block_q8_0), 8, NULL, NULL, expand_q8_0, false, false, false,
                 0.03},
    [CT_Q4_0] = {"Q4_0", 32, sizeof(struct ct_block_q4_0), 2, NULL, NULL, expand_q4_0, false, false, false,
                 0.25},
    [CT_Q4_1] = {"Q4_1", 32, sizeof(struct ct_block_q4_1), 3, NULL, NULL, expand_q4_1, false, true, false,
                 0.25},
    [CT_Q5_0] = {"Q5_0", 32, sizeof(struct ct_block_q5_0), 6, NULL, NULL, expand_q5_0, false, false, false,
                 0.12},
    [CT_Q5_1] = {"Q5_1", 32, sizeof(struct ct_block_q5_1), 7, NULL, NULL, expand_q5_1, false, true, false,
                 0.12},
    [CT_Q2_K] = {"Q2_K", 256, sizeof(struct ct_block_q2_k), 10, NULL, NULL, expand_q2_k, true, true, false,
                 0.85},
    [CT_Q3_K] = {"Q3_K", 256, sizeof(struct ct_block_q3_k), 11, NULL, NULL, expand_q3_k, true, false, false,
                 0.45},
    [CT_Q4_K] = {"Q4_K", 256, sizeof(struct ct_block_q4_k), 12, NULL, NULL, expand_q4_k, false, true, false,
                 0.25},
    [CT_Q5_K] = {"Q5_K", 256, sizeof(struct ct_block_q5_k), 13, NULL, NULL, expand_q5_k, false, true, false,
                 0.12},
    [CT_Q6_K] = {"Q6_K", 256, sizeof(struct ct_block_q6_k), 14, NULL, NULL, expand_q6_k, true, false, false,
                 0.06},
    [CT_IQ4_NL] = {"IQ4_NL", 32, sizeof(struct ct_block_iq4_nl), 20, NULL, NULL, expand_iq4_nl, false, false,
                   false, 0.25},
    [CT_IQ4_XS] = {"IQ4_XS", 256, sizeof(struct ct_block_iq4_xs), 23, NULL, NULL, expand_iq4_xs, false, false,
                   false, 0.25},
    [CT_MXFP4] = {"MXFP4", 32, sizeof(struct ct_block_mxfp4), 39, NULL, NULL, expand_mxfp4, false, false,
                  false, 0.45},
    [CT_IQ2_XXS] = {"IQ2_XXS", 256, sizeof(struct ct_block_iq2_xxs), 16, NULL, NULL, expand_iq2_xxs, true,
                    false, false, 1.05},
    [CT_IQ2_XS] = {"IQ2_XS", 256, sizeof(struct ct_block_iq2_xs), 17, NULL, NULL, expand_iq2_xs, true, false,
                   false, 0.9},
    [CT_IQ2_S] = {"IQ2_S", 256, sizeof(struct ct_block_iq2_s), 22, NULL, NULL, expand_iq2_s, true, false,
                  false, 0.75},
    [CT_IQ3_XXS] = {"IQ3_XXS", 256, sizeof(struct ct_block_iq3_xxs), 18, NULL, NULL, expand_iq3_xxs, true,
                    false, false, 0.55},
    [CT_IQ3_S] = {"IQ3_S", 256, sizeof(struct ct_block_iq3_s), 21, NULL, NULL, expand_iq3_s, true, false,
                  false, 0.45},
    [CT_IQ1_S] = {"IQ1_S", 256, sizeof(struct ct_block_iq1_s), 19, NULL, NULL, expand_iq1_s, true, false,
                  false, 1.5},
    [CT_IQ1_M] = {"IQ1_M", 256, sizeof(struct ct_block_iq1_m), 29, NULL, NULL, expand_iq1_m, true, false,
                  false, 1.4},
    [CT_TQ1_0] = {"TQ1_0", 256, sizeof(struct ct_block_tq1_0), 34, NULL, NULL, expand_tq1_0, false, false,
                  false, 2.45},
    [CT_TQ2_0] = {"TQ2_0", 256, sizeof(struct ct_block_tq2_0), 35, NULL, NULL, expand_tq2_0, false, false,
                  false, 2.45},
    [CT_Q1_0] = {"Q1_0", 128, sizeof(struct ct_block_q1_0), 41, NULL, NULL, expand_q1_0, false, false, false,
                 1.85},
    [CT_Q2_0] = {"Q2_0", 64, sizeof(struct ct_block_q2_0), 42, NULL, NULL, expand_q2_0, false, false, false,
                 2.15},
    [CT_NVFP4] = {"NVFP4", 64, sizeof(struct ct_block_nvfp4), 40, NULL, NULL, expand_nvfp4, false, false,
                  true, 0.45},
    [CT_SFP] = {"SFP", 1, 1, -1, NULL, dequantize_sfp, NULL, false, false, false, 0.12},
    [CT_NUQ] = {"NUQ", 256, sizeof(struct ct_block_nuq), -1, NULL, dequantize_nuq, NULL, false, false, false,
                0.25},
    [CT_I8] = {"I8", 128, sizeof(struct ct_block_i8), -1, NULL, dequantize_i8, expand_i8, false, true, false,
               0.03},
};
_Static_assert(CT_COUNT(types) == CT_TYPE_COUNT, "one row per type");

/* GGUF's other types, by number: sizes only. */
static const struct foreign {
    uint32_t number;
    struct ct_ggml_type type;
} foreign[] = {
    {9, {"Q8_1", 32, 36}}, {15, {"Q8_K", 256, 292}}, {24, {"I8", 1, 1}},  {25, {"I16", 1, 2}},
    {26, {"I32", 1, 4}},   {27, {"I64", 1, 8}},      {28, {"F64", 1, 8}},
};

/* Types that GGUF has removed: forms of others, rearranged for one processor. */
static const struct removed {
    uint32_t number;
    const char *name, *instead;
} removed[] = {
    {4, "Q4_2", "Q4_0"},          {5, "Q4_3", "Q4_1"},          {31, "Q4_0_4_4", "Q4_0"},
    {32, "Q4_0_4_8", "Q4_0"},     {33, "Q4_0_8_8", "Q4_0"},     {36, "IQ4_NL_4_4", "IQ4_NL"},
    {37, "IQ4_NL_4_8", "IQ4_NL"}, {38, "IQ4_NL_8_8", "IQ4_NL"},
};

/* The dtypes of safetensors, with the bits of an element. */
static const struct dtype {
    const char *name;
    int bits;
} dtypes[] = {
    {"BF16", 16},       {"F16", 16},    {"F32", 32},    {"F64", 64},    {"BOOL", 8},    {"U8", 8},
    {"I8", 8},          {"U16", 16},    {"I16", 16},    {"U32", 32},    {"I32", 32},    {"U64", 64},
    {"I64", 64},        {"C64", 64},    {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8}, {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F4", 4},
};

const struct ct_type_info *ct_type_info(enum ct_type type)
{
    assert((unsigned)type < CT_TYPE_COUNT);
    return &types[type];
}

bool ct_type_from_ggml(uint32_t number, enum ct_type *type)
{
    for (int i = 0; i < CT_TYPE_COUNT; i++)
        if (types[i].ggml >= 0 && (uint32_t)types[i].ggml == number) {
            *type = (enum ct_type)i;
            return true;
        }
    return false;
}

bool ct_type_from_hf(struct ct_str dtype, enum ct_type *type)
{
    for (int i = 0; i < CT_TYPE_COUNT; i++)
        if (types[i].hf && ct_str_is(dtype, types[i].hf)) {
            *type = (enum ct_type)i;
            return true;
        }
    return false;
}

bool ct_ggml_type(uint32_t number, struct ct_ggml_type *out)
{
    enum ct_type type;
    if (ct_type_from_ggml(number, &type)) {
        *out = (struct ct_ggml_type){types[type].name, types[type].block, types[type].bytes};
        return true;
    }
    for (size_t i = 0; i < CT_COUNT(foreign); i++)
        if (foreign[i].number == number) {
            *out = foreign[i].type;
            return true;
        }
    return false;
}

bool ct_ggml_number(const char *name, uint32_t *number)
{
    enum { NUMBERS = 64 };
    struct ct_ggml_type t;
    for (*number = 0; *number < NUMBERS; (*number)++)
        if (ct_ggml_type(*number, &t) && strcmp(t.name, name) == 0)
            return true;
    return false;
}

const char *ct_ggml_removed(uint32_t number, const char **instead)
{
    for (size_t i = 0; i < CT_COUNT(removed); i++)
        if (removed[i].number == number) {
            *instead = removed[i].instead;
            return removed[i].name;
        }
    return NULL;
}

int ct_hf_bits(struct ct_str dtype, const char **name)
{
    for (size_t i = 0; i < CT_COUNT(dtypes); i++)
        if (ct_str_is(dtype, dtypes[i].name)) {
            *name = dtypes[i].name;
            return dtypes[i].bits;
        }
    return 0;
}

bool ct_type_row_bytes(enum ct_type type, size_t n, size_t *bytes)
{
    const struct ct_type_info *t = ct_type_info(type);
    return n % (size_t)t->block == 0 && ct_mul(n / (size_t)t->block, (size_t)t->bytes, bytes);
}

/* ---- values ---- */

/* w = (ws * sc) * q + m * mn; absent factors are 1 and an absent minimum adds nothing, not even to the sign
 * of a zero. */
static inline __attribute__((always_inline)) void group_values(float *out, const struct ct_group *g,
                                                               bool halves, bool minimum, bool apart)
{
    for (int i = 0; i < 32; i++) {
        float ws = halves ? g->ws * (float)g->sc[i / 16] : apart && i >= 16 ? g->ws_apart : g->ws;
        float m = halves && minimum ? g->m * (float)g->mn[i / 16] : g->m;
        float v = ws * (float)g->q[i];
        out[i] = minimum ? v + m : v;
    }
}

void ct_dequantize(enum ct_type type, float *out, const void *blocks, size_t n)
{
    const struct ct_type_info *t = ct_type_info(type);
    const uint8_t *p = blocks;
    struct ct_group g[8];

    assert(n % (size_t)t->block == 0);
    if (t->dequantize) {
        t->dequantize(out, blocks, n);
        return;
    }
    for (size_t i = 0; i < n; i += 256) {
        size_t have = CT_MIN((size_t)256, n - i);
        t->expand(g, p + i / (size_t)t->block * (size_t)t->bytes, have);
        for (size_t k = 0; k < have / 32; k++, out += 32)
            if (t->halves && t->minimum)
                group_values(out, &g[k], true, true, false);
            else if (t->halves)
                group_values(out, &g[k], true, false, false);
            else if (t->minimum)
                group_values(out, &g[k], false, true, false);
            else if (t->apart)
                group_values(out, &g[k], false, false, true);
            else
                group_values(out, &g[k], false, false, false);
    }
}

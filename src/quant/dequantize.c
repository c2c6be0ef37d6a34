/* SPDX-License-Identifier: Apache-2.0 */
/* decode.c: the values of stored types as float32. Types that expand to groups have one loop, with one rounding per
 * operation, in the order of the formats' formulas; the others decode here. These are definitions: speed is the
 * business of the kernels, which must agree. */
#include "quant/blocks.h"
#include "quant/codec.h"

void ct_decode_f32(float *out, const void *blocks, size_t n)
{
    memcpy(out, blocks, n * sizeof *out);
}

void ct_decode_f16(float *out, const void *blocks, size_t n)
{
    const uint8_t *p = blocks;
    for (size_t i = 0; i < n; i++)
        out[i] = ct_f16_to_f32(ct_le16(p + 2 * i));
}

void ct_decode_bf16(float *out, const void *blocks, size_t n)
{
    const uint8_t *p = blocks;
    for (size_t i = 0; i < n; i++)
        out[i] = ct_bf16_to_f32(ct_le16(p + 2 * i));
}

/* gemma.cpp's switched float: a sign, then 3 bits of mantissa from 2^-7 up and 2 below, so that every code is a bf16
 * value. Code 0 is 0, and so is 0x80, which no writer makes. */
static float sfp_value(uint8_t code)
{
    uint32_t sign = (uint32_t)(code & 0x80) << 24, m = code & 0x7f;
    if (m == 0)
        return 0;
    return ct_f32_from_bits(sign | (m & 0x40 ? 0x38000000u + (m << 20) : 0x34000000u + (m << 21)));
}

void ct_decode_sfp(float *out, const void *blocks, size_t n)
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

void ct_decode_nuq(float *out, const void *blocks, size_t n)
{
    const uint8_t *p = blocks;
    uint8_t codes[256];
    assert(n % sizeof codes == 0);
    for (size_t i = 0; i < n; i += sizeof codes, p += sizeof(struct ct_block_nuq)) {
        ct_nuq_to_sfp(codes, p, sizeof codes);
        ct_decode_sfp(out + i, codes, sizeof codes);
    }
}

/* Its formula is fused, so it is not the loop below. */
void ct_decode_i8(float *out, const void *blocks, size_t n)
{
    const uint8_t *p = blocks;
    struct ct_group g[4];
    for (size_t i = 0; i < n; i += 128, p += sizeof(struct ct_block_i8)) {
        ct_expand_i8(g, p, 128);
        for (int j = 0; j < 128; j++)
            out[i + (size_t)j] = __builtin_fmaf(g[j / 32].ws, (float)g[j / 32].q[j % 32], g[j / 32].m);
    }
}

/* w = (ws * sc) * q + m * mn; absent factors are 1 and an absent minimum adds nothing, not even to the sign of a zero. */
static inline __attribute__((always_inline)) void group_values(float *out, const struct ct_group *g,
                                                               bool halves, bool minimum)
{
    for (int i = 0; i < 32; i++) {
        float ws = halves ? g->ws * (float)g->sc[i / 16] : g->ws;
        float m = halves && minimum ? g->m * (float)g->mn[i / 16] : g->m;
        float v = ws * (float)g->q[i];
        out[i] = minimum ? v + m : v;
    }
}

void ct_decode(enum ct_type type, float *out, const void *blocks, size_t n)
{
    const struct ct_type_info *t = ct_type_info(type);
    const uint8_t *p = blocks;
    struct ct_group g[8];

    if (t->decode) {
        t->decode(out, blocks, n);
        return;
    }
    for (size_t i = 0; i < n; i += 256) {
        size_t have = CT_MIN((size_t)256, n - i);
        t->expand(g, p + i / (size_t)t->block * (size_t)t->bytes, have);
        for (size_t k = 0; k < have / 32; k++, out += 32)
            if (t->halves && t->minimum)
                group_values(out, &g[k], true, true);
            else if (t->halves)
                group_values(out, &g[k], true, false);
            else if (t->minimum)
                group_values(out, &g[k], false, true);
            else
                group_values(out, &g[k], false, false);
    }
}

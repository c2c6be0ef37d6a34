/* SPDX-License-Identifier: Apache-2.0 */
/* dequantize.c: the values of the stored types that do not expand to groups, as float32, one rounding per
 * operation, in the order of the formats' formulas. These are definitions: speed is the business of the
 * kernels, which must agree. The other types have one loop, in quant.c. */
#include "quant/blocks.h"
#include "quant/codec.h"

void ct_dequantize_f32(float *out, const void *blocks, size_t n)
{
    memcpy(out, blocks, n * sizeof *out);
}

void ct_dequantize_f16(float *out, const void *blocks, size_t n)
{
    const uint8_t *p = blocks;
    for (size_t i = 0; i < n; i++)
        out[i] = ct_f16_to_f32(ct_le16(p + 2 * i));
}

void ct_dequantize_bf16(float *out, const void *blocks, size_t n)
{
    const uint8_t *p = blocks;
    for (size_t i = 0; i < n; i++)
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

void ct_dequantize_sfp(float *out, const void *blocks, size_t n)
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

void ct_dequantize_nuq(float *out, const void *blocks, size_t n)
{
    const uint8_t *p = blocks;
    uint8_t codes[256];
    assert(n % sizeof codes == 0);
    for (size_t i = 0; i < n; i += sizeof codes, p += sizeof(struct ct_block_nuq)) {
        ct_nuq_to_sfp(codes, p, sizeof codes);
        ct_dequantize_sfp(out + i, codes, sizeof codes);
    }
}

/* Its formula is fused, so it is not the loop of quant.c. */
void ct_dequantize_i8(float *out, const void *blocks, size_t n)
{
    const uint8_t *p = blocks;
    struct ct_group g[4];
    for (size_t i = 0; i < n; i += 128, p += sizeof(struct ct_block_i8)) {
        ct_expand_i8(g, p, 128);
        for (int j = 0; j < 128; j++)
            out[i + (size_t)j] = __builtin_fmaf(g[j / 32].ws, (float)g[j / 32].q[j % 32], g[j / 32].m);
    }
}

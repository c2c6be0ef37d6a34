/* decode.c: what the bits of every stored type mean, as float32. These are definitions: plain loops in the order
 * of the format's formula, one rounding per product. Speed is the business of the kernels, which must agree.
 *
 * Blocks are read through memcpy: tensors in a file may start at any byte. */
#include "quant/decode.h"

#include "base/base.h"
#include "quant/blocks.h"

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

void ct_decode_q8_0(float *out, const void *blocks, size_t n)
{
    const uint8_t *p = blocks;
    assert(n % 32 == 0);
    for (size_t i = 0; i < n; i += 32, p += sizeof(struct ct_block_q8_0)) {
        struct ct_block_q8_0 b;
        memcpy(&b, p, sizeof b);
        float d = ct_f16_to_f32(b.d);
        for (int j = 0; j < 32; j++)
            out[i + j] = d * (float)b.q[j];
    }
}

void ct_decode_q4_0(float *out, const void *blocks, size_t n)
{
    const uint8_t *p = blocks;
    assert(n % 32 == 0);
    for (size_t i = 0; i < n; i += 32, p += sizeof(struct ct_block_q4_0)) {
        struct ct_block_q4_0 b;
        memcpy(&b, p, sizeof b);
        float d = ct_f16_to_f32(b.d);
        for (int j = 0; j < 16; j++) {
            out[i + j] = d * (float)((b.q[j] & 15) - 8);
            out[i + j + 16] = d * (float)((b.q[j] >> 4) - 8);
        }
    }
}

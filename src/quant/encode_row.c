/* SPDX-License-Identifier: Apache-2.0 */
/* encode_row.c: which encoder writes a type: those of plain numbers here, or the first of
 * encode_rows.h's that takes it. */
#include "quant/encode.h"

#include "quant/encode_rows.h"

static ct_encoder *const encoders[2][4] = {
    {ct_encode_simple_base, ct_encode_iq_base, ct_encode_k_base, ct_encode_plain_base},
#ifdef __x86_64__
    {ct_encode_simple_avx2, ct_encode_iq_avx2, ct_encode_k_avx2, ct_encode_plain_avx2},
#else
    {ct_encode_simple_base, ct_encode_iq_base, ct_encode_k_base, ct_encode_plain_base},
#endif
};

static bool encode_plain(enum ct_type type, uint8_t *to, const float *x, size_t n)
{
    if (type == CT_F32)
        memcpy(to, x, n * sizeof *x);
    for (size_t i = 0; type == CT_F16 && i < n; i++)
        memcpy(to + 2 * i, &(uint16_t){ct_f32_to_f16(x[i])}, 2);
    for (size_t i = 0; type == CT_BF16 && i < n; i++)
        memcpy(to + 2 * i, &(uint16_t){ct_f32_to_bf16(x[i])}, 2);
    return type == CT_F32 || type == CT_F16 || type == CT_BF16;
}

bool ct_encodes_rows(enum ct_type type)
{
    return type <= CT_MXFP4;
}

void ct_encode_row(enum ct_type type, void *blocks, const float *x, size_t n, const float *importance,
                   bool avx2)
{
    bool written = encode_plain(type, blocks, x, n);

    assert(ct_encodes_rows(type));
    for (int i = 0; i < 4 && !written; i++)
        written = encoders[avx2][i](type, blocks, x, n, importance);
}

float ct_row_largest(const float *x, size_t n, bool avx2)
{
#ifdef __x86_64__
    if (avx2)
        return ct_encode_largest_avx2(x, n);
#endif
    return ct_encode_largest_base(x, n);
}

float ct_block_scale(enum ct_type type, const uint8_t *block)
{
    static const uint8_t place[CT_TYPE_COUNT] = {[CT_Q2_K] = 80, [CT_Q3_K] = 108, [CT_Q6_K] = 208};

    if (type == CT_MXFP4) /* half of 2^(e - 127), since the table of values is doubled */
        return ct_f32_from_bits(*block < 2 ? 0x200000u << *block : (uint32_t)(*block - 1) << 23);
    return ct_f16_to_f32(ct_le16(block + place[type]));
}

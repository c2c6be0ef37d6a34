/* SPDX-License-Identifier: Apache-2.0 */
/* encode.c: the encoders that go by the baseline, for what is packed while a model opens (encode.h). */
#include "quant/encode.h"

#include "quant/encode_q8_0.h"
#include "quant/encode_rows.h"

float ct_largest(const float *x, size_t n)
{
    return ct_encode_largest_base(x, n);
}

void ct_encode_alike(void *blocks, const float *x, size_t n, float most, int qmax)
{
    const float d = most / (float)qmax, inverse = encode_inverse(d);
    struct ct_block_q8_0 *b = blocks;

    assert(n % VALUES == 0);
    for (size_t at = 0; at < n; at += VALUES) {
        float v[VALUES];
        for (int i = 0; i < VALUES; i++) /* not so a NaN */
            v[i] = x[at + (size_t)i] > most ? most : x[at + (size_t)i] < -most ? -most : x[at + (size_t)i];
        encode_q8_0(b++, v, d, inverse);
    }
}

bool ct_encodes(enum ct_type type)
{
    return type == CT_Q8_0 || type == CT_Q5_0 || type == CT_Q4_0;
}

void ct_encode(enum ct_type type, void *blocks, const float *x, size_t n)
{
    assert(ct_encodes(type));
    ct_encode_plain_base(type, blocks, x, n, NULL);
}

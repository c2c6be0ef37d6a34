/* SPDX-License-Identifier: Apache-2.0 */
/* kv_type.c: the types that K and V are kept in, in one table: their names and what they take. How they lie
 * in memory: layout/kv.h. */
#include "quant/kv_type.h"

#include "carat_tools.h"

#include <math.h>

static const struct ct_kv_info types[CT_KV_TYPE_COUNT] = {
    [CT_KV_BF16] = {"bf16", CARAT_KV_BF16, 1, 2, 0x1.ffp127f},
    [CT_KV_F16] = {"f16", CARAT_KV_F16, 1, 2, 65520},
    [CT_KV_F32] = {"f32", CARAT_KV_F32, 1, 4, INFINITY},
    [CT_KV_Q8] = {"q8", CARAT_KV_Q8, 32, 34, INFINITY}, /* int8 and an f16 scale */
};

const struct ct_kv_info *ct_kv_info(enum ct_kv_type type)
{
    return &types[type];
}

size_t ct_kv_bytes(enum ct_kv_type type, int capacity, int head_dim)
{
    const struct ct_kv_info *t = &types[type];
    return (size_t)capacity * (size_t)((head_dim + t->channels - 1) / t->channels) * t->bytes;
}

const char *carat_kv_name(carat_kv kv)
{
    for (int i = 0; i < CT_KV_TYPE_COUNT; i++)
        if (types[i].kv == kv)
            return types[i].name;
    return NULL;
}

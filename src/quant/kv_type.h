/* SPDX-License-Identifier: Apache-2.0 */
/* kv_type.h: the types that K and V are kept in. */
#ifndef CT_KV_TYPE_H
#define CT_KV_TYPE_H

#include "base/base.h"

enum ct_kv_type { CT_KV_BF16, CT_KV_F16, CT_KV_F32, CT_KV_Q8, CT_KV_TYPE_COUNT };
#define CT_MAX_HEAD_DIM 512 /* values of a head */
#define CT_KEY_BLOCK                                                                                         \
    256 /* positions of a block: of one softmax step, and of memory (NUMERICS.md section 7) */

struct ct_kv_info {
    const char *name;
    carat_kv kv;
    int channels; /* of one key that take `bytes` bytes together */
    size_t bytes;
    float limit; /* a value whose size is not below this one is stored as infinity */
};
const struct ct_kv_info *ct_kv_info(enum ct_kv_type type);

/* Bytes of K (or of V) of one head with that many slots; one slot: its bytes in a file. */
size_t ct_kv_bytes(enum ct_kv_type type, int capacity, int head_dim);

#endif

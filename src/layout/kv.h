/* SPDX-License-Identifier: Apache-2.0 */
/* kv.h: how stored K and V lie in memory. Kernels work on them there; files hold one position after
 * another.
 *
 * K lies in panels of 16 keys, V in pairs of keys (bf16), both as NUMERICS.md section 7 says, in blocks of
 * 256 positions with all layers of a group. To a kernel a block is a head of 256 slots. */
#ifndef CT_KV_H
#define CT_KV_H

#include "quant/kv_type.h"
#include "quant/quant.h"

#define CT_KEY_PANEL 16 /* keys side by side in stored K */

/* 16 keys and 32 channels: lanes are what a vector of the product holds, keys for scores, channels for
 * weighted sums. */
struct ct_kv_q8 {
    uint16_t scale[CT_KEY_PANEL]; /* f16, of each key */
    union {
        int8_t k[CT_GROUP][CT_KEY_PANEL]; /* [channel][key] */
        int8_t v[CT_KEY_PANEL][CT_GROUP]; /* [key][channel] */
    };
};
static_assert(sizeof(struct ct_kv_q8) == CT_KEY_PANEL * (CT_GROUP + 2), "as quant/kv_type.c counts");
/* Stored K and V of one KV head of one sequence; slots are positions modulo capacity.
 * bf16: K as [capacity/16][head_dim/2][16][2], V as [capacity/2][head_dim][2];
 * f16 and f32: K as [capacity/16][head_dim][16], V as [capacity][head_dim];
 * q8: both as [capacity/16][head_dim/32] of struct ct_kv_q8, whose last one in a row may have channels
 * that nobody reads. */
struct ct_kv_head {
    enum ct_kv_type type;
    int capacity; /* slots, a multiple of CT_KEY_BLOCK */
    int head_dim;
    void *k, *v;
};

/* Positions [first, first + n) of a head, each ct_kv_bytes(type, 1, head_dim) bytes of K and as many of V,
 * `step` bytes apart. Values stand in the order of channels; of q8, each group of 32 as its scale and 32
 * bytes, those that the head lacks being 0. */
void ct_kv_get_rows(const struct ct_kv_head *kv, int first, int n, void *k, void *v, size_t step);
void ct_kv_put_rows(const struct ct_kv_head *kv, int first, int n, const void *k, const void *v, size_t step);

#endif

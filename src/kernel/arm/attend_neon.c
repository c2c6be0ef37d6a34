/* SPDX-License-Identifier: Apache-2.0 */
/* attend_neon.c: attention of a tile of queries over a block of keys in Arm's vectors of 128 bits
 * (NUMERICS.md section 7). Scores and weighted sums are one product: lines of 16 keys, or of 16 channels,
 * times numbers of up to four queries, which share what a line gives. Between them: attend_softmax.h. Heads
 * that groups of 32 do not fill and KV in q8 are left to ref_attend.c, and so is all that is done once for a
 * query or a block. */
#include "kernel/arm/simd_neon.h"
#include "kernel/attend_softmax.h"
#include "kernel/contract.h"

enum { VECTORS = 4 }; /* of a line of 16 values */

/* ---- products ---- */

INLINE size_t value_bytes(const enum ct_kv_type type)
{
    return type == CT_KV_F32 ? 4 : 2;
}

/* 4 values of a line; stride is the bytes between lines, for bf16 between pairs, which are interleaved. */
INLINE float32x4_t line_values_neon(const enum ct_kv_type type, const uint8_t *at, size_t stride, int line,
                                    int vector)
{
    if (type == CT_KV_BF16) {
        uint32x4_t both = vreinterpretq_u32_u8(vld1q_u8(at + (size_t)(line / 2) * stride + 16 * vector));
        return vreinterpretq_f32_u32(line % 2 ? both & vdupq_n_u32(0xffff0000) : both << 16);
    }
    at += (size_t)line * stride;
    if (type == CT_KV_F16)
        return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(at + 8 * vector)));
    return vreinterpretq_f32_u8(vld1q_u8(at + 16 * vector));
}

/* acc[t][16] += a group of 32 lines times x[t][32] of T queries; the first group makes it. `wide` vectors of
 * a line are in flight: their two chains for each query fill half of the registers. */
INLINE void attend_group_neon(float *acc, size_t ld_acc, const enum ct_kv_type type, const uint8_t *at,
                              size_t stride, const float *x, size_t ld_x, const int wide, const int T,
                              bool first)
{
    for (int from = 0; from < VECTORS; from += wide) {
        float32x4_t chain[2][VECTORS][4]; /* [odd][vector][query] */
        UNROLL for (int v = 0; v < wide; v++) UNROLL for (int t = 0; t < T; t++) chain[0][v][t] =
            chain[1][v][t] = vdupq_n_f32(0);
        for (int i = 0; i < CT_GROUP; i += 4) {
            float32x4_t some[4];
            UNROLL for (int t = 0; t < T; t++) some[t] = vld1q_f32(x + (size_t)t * ld_x + i);
#define LINE(j)                                                                                              \
    UNROLL for (int v = 0; v < wide; v++)                                                                    \
    {                                                                                                        \
        float32x4_t w = line_values_neon(type, at, stride, i + j, from + v);                                 \
        UNROLL for (int t = 0; t < T; t++) chain[j % 2][v][t] =                                              \
            vfmaq_laneq_f32(chain[j % 2][v][t], w, some[t], j);                                              \
    }
            LINE(0)
            LINE(1)
            LINE(2)
            LINE(3)
#undef LINE
        }
        UNROLL for (int v = 0; v < wide; v++) UNROLL for (int t = 0; t < T; t++)
        {
            float *to = acc + (size_t)t * ld_acc + 4 * (from + v);
            float32x4_t before = first ? vdupq_n_f32(0) : vld1q_f32(to);
            vst1q_f32(to, before + (chain[0][v][t] + chain[1][v][t]));
        }
    }
}

/* The same for n queries. */
INLINE void add_group_of_all(float *acc, size_t ld_acc, const enum ct_kv_type type, const uint8_t *at,
                             size_t stride, const float *x, size_t ld_x, int n, bool first)
{
    for (; n >= 4; n -= 4, acc += 4 * ld_acc, x += 4 * ld_x)
        attend_group_neon(acc, ld_acc, type, at, stride, x, ld_x, 2, 4, first);
    for (; n >= 2; n -= 2, acc += 2 * ld_acc, x += 2 * ld_x)
        attend_group_neon(acc, ld_acc, type, at, stride, x, ld_x, 4, 2, first);
    if (n)
        attend_group_neon(acc, ld_acc, type, at, stride, x, ld_x, 4, 1, first);
}

/* ---- a block ---- */

INLINE void attend_type_neon(struct ct_attended *a, const struct ct_queries *t, const struct ct_kv_head *kv,
                             int block, float scale, float cap, float *s, const enum ct_kv_type type)
{
    const size_t dim = (size_t)kv->head_dim, each = value_bytes(type);
    const int base = block * CT_KEY_BLOCK;
    const size_t slot = (size_t)(base % kv->capacity);
    const uint8_t *k = (const uint8_t *)kv->k + slot * dim * each,
                  *v = (const uint8_t *)kv->v + slot * dim * each;
    const struct groups groups = groups_of(seen_by_all(a, t, block));
    const int begin = groups.begin, end = groups.end;
    const size_t panel = CT_KEY_PANEL * each, values = dim * each, pair = type == CT_KV_BF16 ? 2 : 1;
    for (int j = begin; j < end; j += CT_KEY_PANEL)
        for (size_t d = 0; d < dim; d += CT_GROUP)
            add_group_of_all(s + j, ROW, type, k + (size_t)j * values + d * panel, pair * panel, t->q + d,
                             dim, t->n, d == 0);

    weigh_all(a, t, block, groups, s, scale, cap, type == CT_KV_BF16 ? BF16_FLOATS : FLOATS, put_floats);

    for (int j = begin; j < end; j += CT_GROUP)
        for (size_t d = 0; d < dim; d += 16)
            add_group_of_all(a->out + d, dim, type, v + (size_t)j * values + d * pair * each, pair * values,
                             s + j, ROW, t->n, j == begin);
}

/* ref is compiled once for Arm: its baseline has vectors and fma. */
void ct_attend_block_ref(struct ct_attended *a, const struct ct_queries *t, const struct ct_kv_head *kv,
                         int block, float scale, float cap, float *s);

static void attend_block_neon(struct ct_attended *a, const struct ct_queries *t, const struct ct_kv_head *kv,
                              int block, float scale, float cap, float *s)
{
    ct_assert_attend(a, t, kv, block, s);
    if (kv->head_dim % CT_GROUP == 0 && kv->type == CT_KV_BF16)
        attend_type_neon(a, t, kv, block, scale, cap, s, CT_KV_BF16);
    else if (kv->head_dim % CT_GROUP == 0 && kv->type == CT_KV_F16)
        attend_type_neon(a, t, kv, block, scale, cap, s, CT_KV_F16);
    else if (kv->head_dim % CT_GROUP == 0 && kv->type == CT_KV_F32)
        attend_type_neon(a, t, kv, block, scale, cap, s, CT_KV_F32);
    else
        ct_attend_block_ref(a, t, kv, block, scale, cap, s);
}

void ct_attend_init_neon(struct ct_kernel *k);
void ct_attend_init_neon(struct ct_kernel *k)
{
    k->attend_block = attend_block_neon;
}

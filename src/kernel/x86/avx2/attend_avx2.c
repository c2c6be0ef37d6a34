/* SPDX-License-Identifier: Apache-2.0 */
/* attend_avx2.c: attention of a tile of queries over a block of keys in vectors of 256 bits (NUMERICS.md
 * section 7), with the product and the weights of attend_avx2.h. Heads that groups of 32 do not fill are left
 * to ref_attend.c, and so is all that is done once for a query or a block; q8 to attend_q8_avx2.c. */
#include "kernel/contract.h"
#include "kernel/x86/avx2/attend_avx2.h"

INLINE size_t value_bytes(const enum ct_kv_type type)
{
    return type == CT_KV_F32 ? 4 : 2;
}

/* Scores of T queries for the 16 keys of a panel. Of `soon`, a share of bytes for every group. */
INLINE void score_panel(float *s, const float *q, const enum ct_kv_type type, const uint8_t *panel,
                        size_t dim, const int T, const uint8_t *soon, size_t share)
{
    const size_t line = CT_KEY_PANEL * value_bytes(type), stride = type == CT_KV_BF16 ? 2 * line : line;

    for (size_t d = 0; d < dim; d += CT_GROUP, soon += share)
        attend_group_avx2(s, ROW, type, (struct lines){panel + d * line, stride, soon, share}, q + d, dim, T,
                          d == 0);
}

/* Adds 32 keys' values times the weights of T queries. Of `soon`, a share of bytes for every 16 channels. */
INLINE void weigh_group(float *out, const float *s, const enum ct_kv_type type, const uint8_t *v, size_t dim,
                        const int T, bool first, const uint8_t *soon, size_t share)
{
    const size_t line = dim * value_bytes(type), stride = type == CT_KV_BF16 ? 2 * line : line;
    const size_t strip = (type == CT_KV_BF16 ? 32 : 16) * value_bytes(type);

    for (size_t c = 0; c < dim; c += 16, v += strip, soon += share)
        attend_group_avx2(out + c, dim, type, (struct lines){v, stride, soon, share}, s, ROW, T, first);
}

INLINE void attend_type_avx2(struct ct_attended *a, const struct ct_queries *t, const struct ct_kv_head *kv,
                             int block, float scale, float cap, float *s, const enum ct_kv_type type)
{
    const size_t dim = (size_t)kv->head_dim, each = value_bytes(type);
    const int base = block * CT_KEY_BLOCK;
    const size_t slot = (size_t)(base % kv->capacity);
    const uint8_t *k = (const uint8_t *)kv->k + slot * dim * each,
                  *v = (const uint8_t *)kv->v + slot * dim * each;
    const struct seen all = seen_by_all(a, t, block);
    const struct groups groups = groups_of(all);
    const int first = all.first, last = all.last;

    if (first > last)
        return;

    /* What is read next is asked for in equal shares while the tile works on what is here. */
    const int begin = groups.begin, end = groups.end;
    const size_t share = CT_GROUP * 16 * each / (size_t)((t->n + 2) / 3);
    for (int j = first / CT_KEY_PANEL * CT_KEY_PANEL; j <= last; j += CT_KEY_PANEL) {
        const uint8_t *panel = k + (size_t)j * dim * each;
        const uint8_t *soon =
            j + CT_KEY_PANEL <= last ? panel + CT_KEY_PANEL * dim * each : v + (size_t)begin * dim * each;
        for (int i = 0, T; i < t->n; i += T, soon += share * (dim / CT_GROUP)) {
            const float *q = t->q + (size_t)i * dim;
            T = next_queries(t->n - i);
            if (T == 3)
                score_panel(s + i * ROW + j, q, type, panel, dim, 3, soon, share);
            else if (T == 2)
                score_panel(s + i * ROW + j, q, type, panel, dim, 2, soon, share);
            else
                score_panel(s + i * ROW + j, q, type, panel, dim, 1, soon, share);
        }
    }

    weigh_all(a, t, block, groups, s, scale, cap, type == CT_KV_BF16 ? BF16_FLOATS : FLOATS, put_floats);

    for (int j = begin; j < end; j += CT_GROUP) {
        const uint8_t *values = v + (size_t)j * dim * each;
        const uint8_t *soon =
            j + CT_GROUP < end ? values + CT_GROUP * dim * each : k + CT_KEY_BLOCK * dim * each;
        for (int i = 0, T; i < t->n; i += T, soon += share * (dim / 16)) {
            float *out = a->out + (size_t)i * dim;
            T = next_queries(t->n - i);
            if (T == 3)
                weigh_group(out, s + i * ROW + j, type, values, dim, 3, j == begin, soon, share);
            else if (T == 2)
                weigh_group(out, s + i * ROW + j, type, values, dim, 2, j == begin, soon, share);
            else
                weigh_group(out, s + i * ROW + j, type, values, dim, 1, j == begin, soon, share);
        }
    }
}

static void attend_floats(struct ct_attended *a, const struct ct_queries *t, const struct ct_kv_head *kv,
                          int block, float scale, float cap, float *s)
{
    ct_assert_attend(a, t, kv, block, s);
    if (kv->head_dim % CT_GROUP == 0 && kv->type == CT_KV_BF16)
        attend_type_avx2(a, t, kv, block, scale, cap, s, CT_KV_BF16);
    else if (kv->head_dim % CT_GROUP == 0 && kv->type == CT_KV_F16)
        attend_type_avx2(a, t, kv, block, scale, cap, s, CT_KV_F16);
    else if (kv->head_dim % CT_GROUP == 0 && kv->type == CT_KV_F32)
        attend_type_avx2(a, t, kv, block, scale, cap, s, CT_KV_F32);
    else
        ct_attend_block_avx2(a, t, kv, block, scale, cap, s);
}

void ct_attend_init_avx2(struct ct_kernel *k);
void ct_attend_init_avx2(struct ct_kernel *k)
{
    k->attend_block = attend_floats;
}

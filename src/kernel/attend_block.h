/* SPDX-License-Identifier: Apache-2.0 */
/* attend_block.h: attention of a tile of queries over a block of keys, for vectors of any width (NUMERICS.md
 * section 7). Scores and weighted sums are one product: lines of 16 keys, or of 16 channels, times numbers of
 * some queries, which share what a line gives. A file of kernels includes a simd_X.h and this, and defines
 * that product, attend_lines(), for its registers. Between both products: attend_softmax.h. Heads that groups
 * of 32 do not fill are left to ref_attend.c, and what is done once for a block to ref.c. */
#ifndef CT_ATTEND_BLOCK_H
#define CT_ATTEND_BLOCK_H

#include "kernel/attend_softmax.h"
#include "kernel/contract.h"
#include "kernel/ref/ref.h"

void ct_attend_query_ref(struct ct_queries *t, int i, const float *q, const struct ct_kv_head *kv);
void ct_attend_block_ref(struct ct_attended *a, const struct ct_queries *t, const struct ct_kv_head *kv,
                         int block, float scale, float cap, float *s);

enum {
    LANES = CT_KEY_PANEL,     /* of a line: keys, or channels */
    LINES = CT_GROUP * LANES, /* values of a group of lines */
};

/* A group of 32 lines, and one beside it. */
struct lines {
    const uint8_t *at;
    size_t stride; /* bytes between lines; for bf16, whose pairs are interleaved, between pairs */
    size_t apart;  /* bytes to the lines beside them */
    /* of q8: */
    size_t second;      /* bytes that the last 16 lines lie further than the stride says */
    const float *scale; /* [32] */
    bool of_lanes;      /* scales are those of lanes, then of lanes beside them; else of lines */
};

/* Vector `part` of line 2p + odd and of the line beside it. */
INLINE fvec line_values(const enum ct_kv_type type, const uint8_t *at, const struct lines l, const int p,
                        const int odd, const int part)
{
    const int lane = part % PARTS * VEC, beside = part / PARTS, i = 2 * p + odd;

    at += (size_t)beside * l.apart + (size_t)(type == CT_KV_BF16 ? p : i) * l.stride;
    if (type == CT_KV_F16)
        return halves(at + 2 * lane);
    if (type == CT_KV_F32)
        return fvec_load(at + 4 * lane);
    if (type == CT_KV_Q8) {
        const fvec whole = whole_bytes(at + (p < CT_HALF / 2 ? 0 : l.second) + lane);
        return whole * (l.of_lanes ? fvec_load(l.scale + LANES * beside + lane) : fvec_all(l.scale[i]));
    }
    return odd_or_even(at + 4 * lane, odd);
}

/* The lines, or those beside them. */
INLINE struct lines lines_beside(struct lines l, int b)
{
    l.at += (size_t)b * l.apart;
    l.scale += l.of_lanes ? LANES * b : 0;
    return l;
}

/* acc[i][32] += the lines and those beside them times x[i][32], for n queries i; the first group makes it. */
INLINE void attend_lines(float *acc, size_t ld_acc, const enum ct_kv_type type, const struct lines l,
                         const float *x, size_t ld_x, int n, bool first);

/* ---- q8 ---- */

/* The scales of a group of 16 keys and of the next 16, which lie `apart`. */
INLINE void take_scales(float scale[2 * CT_KEY_PANEL], const uint8_t *group, size_t apart)
{
    UNROLL for (int i = 0; i < 2 * PARTS; i++)
        fvec_store(scale + VEC * i, halves(group + (size_t)(i / PARTS) * apart + 2 * VEC * (i % PARTS)));
}

/* Lines of q8 as lines of f32, for all queries of a tile: worth it where registers hold the sums of few. */
INLINE struct lines expand(float *to, const struct lines l)
{
    for (int i = 0; i < CT_GROUP; i++)
        UNROLL for (int part = 0; part < 2 * PARTS; part++)
            fvec_store(to + part / PARTS * LINES + i * LANES + part % PARTS * VEC,
                       line_values(CT_KV_Q8, l.at, l, i / 2, i % 2, part));
    return (struct lines){
        .at = (const uint8_t *)to, .stride = LANES * sizeof *to, .apart = LINES * sizeof *to};
}

/* ---- a block ---- */

/* Bytes of 16 keys, or of 16 values of a group. */
INLINE size_t panel_bytes(const enum ct_kv_type type, size_t dim)
{
    return type == CT_KV_Q8 ? dim / CT_GROUP * sizeof(struct ct_kv_q8)
                            : dim * CT_KEY_PANEL * (type == CT_KV_F32 ? 4 : 2);
}

/* Fetches what is read next, of two panels, or none. */
INLINE void fetch_soon(const uint8_t *at, size_t bytes, size_t panel)
{
    for (size_t i = 0; at && i < bytes; i += 64) {
        fetch(at + i);
        fetch(at + panel + i);
    }
}

INLINE void attend_type(struct ct_attended *a, const struct ct_queries *t, const struct ct_kv_head *kv,
                        int block, float scale, float cap, float *s, const enum ct_kv_type type)
{
    const size_t dim = (size_t)kv->head_dim, n = (size_t)t->n;
    const size_t panel = panel_bytes(type, dim), group = panel_bytes(type, CT_GROUP), line = group / CT_GROUP;
    const size_t pair = type == CT_KV_BF16 ? 2 : 1; /* lines that are interleaved */
    const size_t at = (size_t)(block * CT_KEY_BLOCK % kv->capacity) / CT_KEY_PANEL * panel;
    const uint8_t *k = (const uint8_t *)kv->k + at, *v = (const uint8_t *)kv->v + at;
    const struct groups groups = groups_seen(a, t, block);
    const bool q8 = type == CT_KV_Q8, expanded = q8 && PARTS > 1;
    const enum ct_kv_type multiplied = expanded ? CT_KV_F32 : type;
    _Alignas(64) float lines[2 * LINES], scales[2 * CT_KEY_PANEL];

    for (int j = groups.begin; j < groups.end; j += CT_GROUP) {
        const uint8_t *keys = k + (size_t)(j / CT_KEY_PANEL) * panel;
        const uint8_t *soon =
            j + CT_GROUP < groups.end ? keys + 2 * panel : v + (size_t)(groups.begin / CT_KEY_PANEL) * panel;
        for (size_t d = 0; d < dim; d += CT_GROUP, keys += group, soon += group) {
            struct lines l = {.at = keys, .stride = pair * line, .apart = panel};
            fetch_soon(soon, group, panel);
            if (q8) {
                take_scales(scales, keys, panel);
                l = (struct lines){keys + offsetof(struct ct_kv_q8, k), LANES, panel, 0, scales, true};
            }
            attend_lines(s + j, ROW, multiplied, expanded ? expand(lines, l) : l, t->q + d * n, CT_GROUP,
                         t->n, d == 0);
        }
    }

    weigh_all(a, t, block, groups, s, scale, cap, type == CT_KV_BF16 ? BF16_FLOATS : FLOATS, put_floats);

    for (int j = groups.begin; j < groups.end; j += CT_GROUP) {
        const uint8_t *values = v + (size_t)(j / CT_KEY_PANEL) * panel;
        const uint8_t *soon = j + CT_GROUP < groups.end ? values + 2 * panel : NULL;
        for (size_t d = 0; d < dim; d += CT_GROUP) {
            const size_t of_d = d / CT_GROUP * group;
            struct lines l = {.at = values + d * pair * line / LANES,
                              .stride = pair * panel / CT_KEY_PANEL,
                              .apart = pair * line};
            fetch_soon(soon ? soon + of_d : NULL, group, panel);
            if (q8) {
                take_scales(scales, values + of_d, panel);
                l = (struct lines){values + of_d + offsetof(struct ct_kv_q8, v),
                                   CT_GROUP,
                                   LANES,
                                   panel - CT_KEY_PANEL * CT_GROUP,
                                   scales,
                                   false};
            }
            attend_lines(a->out + d, dim, multiplied, expanded ? expand(lines, l) : l, s + j, ROW, t->n,
                         j == groups.begin);
        }
    }
}

/* ---- entries ---- */

INLINE bool has_path(const struct ct_kv_head *kv)
{
    return kv->head_dim % CT_GROUP == 0;
}

/* A query in groups, [head_dim/32][n][32]: what is multiplied together lies together. */
void CT_NAME(ct_query_in_groups)(struct ct_queries *t, int i, const float *q, const struct ct_kv_head *kv);
void CT_NAME(ct_query_in_groups)(struct ct_queries *t, int i, const float *q, const struct ct_kv_head *kv)
{
    if (!has_path(kv)) {
        ct_attend_query_ref(t, i, q, kv);
        return;
    }
    for (int d = 0; d < kv->head_dim; d += CT_GROUP) {
        float *to = t->q + d * t->n + i * CT_GROUP;
        for (int c = 0; c < CT_GROUP; c++)
            to[c] = kv->type == CT_KV_BF16 ? ct_bf16_round(q[d + c]) : q[d + c];
    }
}

void CT_NAME(ct_attend_lines)(struct ct_attended *a, const struct ct_queries *t, const struct ct_kv_head *kv,
                              int block, float scale, float cap, float *s);
void CT_NAME(ct_attend_lines)(struct ct_attended *a, const struct ct_queries *t, const struct ct_kv_head *kv,
                              int block, float scale, float cap, float *s)
{
    ct_assert_attend(a, t, kv, block, s);
    if (!has_path(kv))
        ct_attend_block_ref(a, t, kv, block, scale, cap, s);
    else if (kv->type == CT_KV_BF16)
        attend_type(a, t, kv, block, scale, cap, s, CT_KV_BF16);
    else if (kv->type == CT_KV_F16)
        attend_type(a, t, kv, block, scale, cap, s, CT_KV_F16);
    else if (kv->type == CT_KV_F32)
        attend_type(a, t, kv, block, scale, cap, s, CT_KV_F32);
    else
        attend_type(a, t, kv, block, scale, cap, s, CT_KV_Q8);
}

void CT_NAME(ct_attend_init)(struct ct_kernel *k);
void CT_NAME(ct_attend_init)(struct ct_kernel *k)
{
    k->attend_query = CT_NAME(ct_query_in_groups);
    k->attend_block = CT_NAME(ct_attend_lines);
    k->attend_block_q8 = CT_NAME(ct_attend_lines);
}

#endif

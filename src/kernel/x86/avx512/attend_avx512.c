/* SPDX-License-Identifier: Apache-2.0 */
/* attend_avx512.c: attention of a tile of queries over a block of keys in vectors of 512 bits (NUMERICS.md
 * section 7). Scores and weighted sums are one product: lines of 16 keys, or of 16 channels, times numbers of
 * up to twelve queries. Between them: attend_softmax.h. Heads that groups of 32 do not fill are left to
 * ref_attend.c, and so is all that is done once for a block. */
#include "kernel/contract.h"
#include "kernel/ref/ref.h"
#include "kernel/x86/avx512/simd_avx512.h"
#include "kernel/attend_softmax.h"

void ct_attend_query_avx2(struct ct_queries *t, int i, const float *q, const struct ct_kv_head *kv);
void ct_attend_block_avx2(struct ct_attended *a, const struct ct_queries *t, const struct ct_kv_head *kv,
                          int block, float scale, float cap, float *s);

/* Bytes of 16 keys, or of 16 values of a group. */
INLINE size_t panel_bytes(const enum ct_kv_type type, size_t dim)
{
    return type == CT_KV_Q8 ? dim / CT_GROUP * sizeof(struct ct_kv_q8)
                            : dim * CT_KEY_PANEL * (type == CT_KV_F32 ? 4 : 2);
}

/* ---- products ---- */

/* A group of 32 lines, and what lies beside it. */
struct lines {
    const uint8_t *at;
    size_t stride;       /* bytes between lines; for bf16, whose pairs are interleaved, between pairs */
    size_t apart;        /* bytes to the lines beside them */
    const uint8_t *soon; /* as many bytes, in a row, that will be read next; or NULL */
    size_t scales;       /* of q8: bytes from the scales to the first line */
    size_t panel;        /* of its values: bytes from the line of a key to that of 16 keys on */
};

INLINE fvec bytes(const uint8_t *p)
{
    return _mm512_cvtepi32_ps(bytes_signed(p));
}

/* Scales of q8: of keys side by side, or of the key of each line. */
union scales {
    float of_line[CT_GROUP];
    fvec of_key[2];
};

INLINE void take_scales(union scales *s, const struct lines l, const int beside, const bool values)
{
    for (int i = 0; i < (values ? 2 : beside); i++) {
        fvec v = halves(l.at - l.scales + (size_t)i * (values ? l.panel : l.apart));
        if (values)
            fvec_store(s->of_line + VEC * i, v);
        else
            s->of_key[i] = v;
    }
}

/* Sixteen values of each line of pair p, b groups aside. */
INLINE void line_values_avx512(fvec v[2], const enum ct_kv_type type, const struct lines l, int b, int p,
                               const union scales *s, const bool values)
{
    const uint8_t *at = l.at + (size_t)b * l.apart;

    if (type == CT_KV_BF16) {
        __m512i both = _mm512_loadu_si512((const void *)(at + (size_t)p * l.stride));
        v[0] = _mm512_castsi512_ps(_mm512_slli_epi32(both, 16));
        v[1] = _mm512_castsi512_ps(_mm512_and_si512(both, _mm512_set1_epi32((int32_t)0xffff0000)));
        return;
    }
    const size_t second = 2 * p < CT_KEY_PANEL ? 0 : l.panel - CT_KEY_PANEL * l.stride;
    UNROLL for (int odd = 0; odd < 2; odd++)
    {
        const int i = 2 * p + odd;
        if (type == CT_KV_Q8 && values)
            v[odd] = fvec_mul(fvec_all(s->of_line[i]), bytes(at + (size_t)i * l.stride + second));
        else if (type == CT_KV_Q8)
            v[odd] = fvec_mul(s->of_key[b], bytes(at + (size_t)i * l.stride));
        else if (type == CT_KV_F16)
            v[odd] = halves(at + (size_t)i * l.stride);
        else
            v[odd] = fvec_load((const float *)(const void *)(at + (size_t)i * l.stride));
    }
}

/* acc[t][16 * beside] += one group of lines times x[t][32]; the first group makes it. */
INLINE void attend_group_avx512(float *acc, size_t ld_acc, const enum ct_kv_type type, const struct lines l,
                                const float *x, size_t ld_x, const int T, const int beside, const bool values,
                                bool first)
{
    const int n = beside * (int)panel_bytes(type, CT_GROUP);
    fvec sum[2][2][12]; /* [odd][beside][query] */
    union scales scales;

    for (int i = 0; l.soon && i < n; i += 64)
        _mm_prefetch((const char *)(l.soon + i), _MM_HINT_T1);
    if (type == CT_KV_Q8)
        take_scales(&scales, l, beside, values);
    UNROLL for (int t = 0; t < T; t++) UNROLL for (int b = 0; b < beside; b++)
    {
        sum[0][b][t] = fvec_all(0);
        sum[1][b][t] = fvec_all(0);
    }
    _Pragma("GCC unroll 4") for (int p = 0; p < CT_GROUP / 2; p++)
    {
        fvec v[2][2];
        UNROLL for (int b = 0; b < beside; b++) line_values_avx512(v[b], type, l, b, p, &scales, values);
        UNROLL for (int odd = 0; odd < 2; odd++) UNROLL for (int t = 0; t < T; t++)
        {
            fvec by = fvec_all(x[(size_t)t * ld_x + (size_t)(2 * p + odd)]);
            UNROLL for (int b = 0; b < beside; b++) sum[odd][b][t] = fvec_fma(v[b][odd], by, sum[odd][b][t]);
        }
    }
    UNROLL for (int t = 0; t < T; t++) UNROLL for (int b = 0; b < beside; b++)
    {
        float *to = acc + (size_t)t * ld_acc + VEC * b;
        fvec before = first ? fvec_all(0) : fvec_load(to);
        fvec_store(to, fvec_add(before, fvec_add(sum[0][b][t], sum[1][b][t])));
    }
}

/* What a block asks of its products. */
struct work {
    struct ct_attended *a;
    const struct ct_queries *t;
    const uint8_t *k, *v; /* of the block */
    float *s;             /* scores, then weights, [query][ROW] */
    size_t dim;
    struct groups groups;
};

/* What is read after the products of keys from key j on, 32 or half of them: as many keys, or the first
 * values. Of all queries the first ask for it. */
INLINE const uint8_t *after(const struct work *w, size_t panel, int i, int j, const bool values)
{
    const int next = j + CT_GROUP;

    if (i > 0 || (values && next >= w->groups.end))
        return NULL;
    if (!values && next >= w->groups.end)
        return w->v + (size_t)(w->groups.begin + j % CT_GROUP) / CT_KEY_PANEL * panel;
    return (values ? w->v : w->k) + (size_t)next / CT_KEY_PANEL * panel;
}

/* Scores of T queries from query i on for the keys of panels from key j on, as many as lie beside each
 * other. */
INLINE void score(const struct work *w, const enum ct_kv_type type, int i, int j, const int T,
                  const int beside)
{
    const size_t panel = panel_bytes(type, w->dim), group = panel_bytes(type, CT_GROUP), n = (size_t)w->t->n;
    const size_t scales = type == CT_KV_Q8 ? offsetof(struct ct_kv_q8, k) : 0;
    const uint8_t *at = w->k + (size_t)j / CT_KEY_PANEL * panel, *soon = after(w, panel, i, j, false);

    for (size_t d = 0; d < w->dim; d += CT_GROUP, at += group)
        attend_group_avx512(
            w->s + i * ROW + j, ROW, type,
            (struct lines){.at = at + scales,
                           .stride = (group - scales) / CT_GROUP * (type == CT_KV_BF16 ? 2 : 1),
                           .apart = panel,
                           .soon = soon ? soon + d / CT_GROUP * group * (size_t)beside : NULL,
                           .scales = scales},
            w->t->q + d * n + (size_t)i * CT_GROUP, CT_GROUP, T, beside, false, d == 0);
}

/* Adds the values of 32 keys from key j on times the weights of T queries. */
INLINE void add_values(const struct work *w, const enum ct_kv_type type, int i, int j, const int T,
                       const int beside)
{
    const size_t panel = panel_bytes(type, w->dim), group = panel_bytes(type, CT_GROUP);
    const uint8_t *at = w->v + (size_t)j / CT_KEY_PANEL * panel, *soon = after(w, panel, i, j, true);
    struct lines l = {.stride = panel / CT_KEY_PANEL, .apart = group / CT_GROUP, .panel = panel};

    if (type == CT_KV_BF16) {
        l.stride *= 2;
        l.apart *= 2;
    } else if (type == CT_KV_Q8) {
        l.stride = CT_GROUP;
        l.apart = VEC;
    }
    for (size_t c = 0; c < w->dim; c += (size_t)(VEC * beside)) {
        l.at = at + c / VEC * l.apart;
        if (type == CT_KV_Q8) {
            l.scales = offsetof(struct ct_kv_q8, v) + c % CT_GROUP;
            l.at = at + c / CT_GROUP * group + l.scales;
        }
        l.soon = soon ? soon + c / VEC * group : NULL;
        attend_group_avx512(w->a->out + (size_t)i * w->dim + c, w->dim, type, l, w->s + i * ROW + j, ROW, T,
                            beside, true, j == w->groups.begin);
    }
}

/* Either for all queries, keys from j on. Few queries take two panels, or strips of channels, to keep more
 * sums in flight. */
INLINE void attend_multiply(const struct work *w, const enum ct_kv_type type, int j, const bool values)
{
#define PART(T, beside)                                                                                      \
    for (; w->t->n - i >= (T); i += (T)) {                                                                   \
        if (values)                                                                                          \
            add_values(w, type, i, j, T, beside);                                                            \
        else                                                                                                 \
            for (int b = 0; b < 2; b += (beside))                                                            \
                score(w, type, i, j + CT_KEY_PANEL * b, T, beside);                                          \
    }
    int i = 0;

    PART(12, 1)
    PART(8, 1)
    PART(4, 2)
    PART(2, 2)
    PART(1, 2)
#undef PART
}

INLINE void attend_type_avx512(struct ct_attended *a, const struct ct_queries *t, const struct ct_kv_head *kv,
                               int block, float scale, float cap, float *s, const enum ct_kv_type type)
{
    const size_t dim = (size_t)kv->head_dim;
    const size_t at = (size_t)(block * CT_KEY_BLOCK % kv->capacity) / CT_KEY_PANEL * panel_bytes(type, dim);
    const struct work w = {a, t,   (const uint8_t *)kv->k + at,        (const uint8_t *)kv->v + at,
                           s, dim, groups_of(seen_by_all(a, t, block))};

    for (int j = w.groups.begin; j < w.groups.end; j += CT_GROUP)
        attend_multiply(&w, type, j, false);
    weigh_all(a, t, block, w.groups, s, scale, cap, type == CT_KV_BF16 ? BF16_FLOATS : FLOATS, put_floats);
    for (int j = w.groups.begin; j < w.groups.end; j += CT_GROUP)
        attend_multiply(&w, type, j, true);
}

/* ---- entries ---- */

static bool has_path(const struct ct_kv_head *kv)
{
    return kv->head_dim % CT_GROUP == 0;
}

/* A query in groups, [head_dim/32][n][32]: what is multiplied together lies together. */
void CT_NAME(ct_attend_query)(struct ct_queries *t, int i, const float *q, const struct ct_kv_head *kv)
{
    if (!has_path(kv)) {
        ct_attend_query_avx2(t, i, q, kv);
        return;
    }
    for (int d = 0; d < kv->head_dim; d += CT_GROUP) {
        float *to = t->q + d * t->n + i * CT_GROUP;
        for (int c = 0; c < CT_GROUP; c++)
            to[c] = kv->type == CT_KV_BF16 ? ct_bf16_round(q[d + c]) : q[d + c];
    }
}

void CT_NAME(ct_attend_block)(struct ct_attended *a, const struct ct_queries *t, const struct ct_kv_head *kv,
                              int block, float scale, float cap, float *s)
{
    ct_assert_attend(a, t, kv, block, s);
    if (!has_path(kv))
        ct_attend_block_avx2(a, t, kv, block, scale, cap, s);
    else if (kv->type == CT_KV_BF16)
        attend_type_avx512(a, t, kv, block, scale, cap, s, CT_KV_BF16);
    else if (kv->type == CT_KV_F16)
        attend_type_avx512(a, t, kv, block, scale, cap, s, CT_KV_F16);
    else
        attend_type_avx512(a, t, kv, block, scale, cap, s, CT_KV_F32);
}

static void attend_block_q8(struct ct_attended *a, const struct ct_queries *t, const struct ct_kv_head *kv,
                            int block, float scale, float cap, float *s)
{
    ct_assert_attend(a, t, kv, block, s);
    if (has_path(kv))
        attend_type_avx512(a, t, kv, block, scale, cap, s, CT_KV_Q8);
    else
        ct_attend_block_avx2(a, t, kv, block, scale, cap, s);
}

void CT_NAME(ct_attend_init)(struct ct_kernel *k);
void CT_NAME(ct_attend_init)(struct ct_kernel *k)
{
    k->attend_query = CT_NAME(ct_attend_query);
    k->attend_block = CT_NAME(ct_attend_block);
    k->attend_block_q8 = attend_block_q8;
}

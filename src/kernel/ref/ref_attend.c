/* SPDX-License-Identifier: Apache-2.0 */
/* ref_attend.c: storing K and V, and attention of queries over blocks of stored keys (NUMERICS.md section
 * 7), one query after another. Keys lie in lanes for the scores, channels for the weighted sum. Which
 * queries and blocks: the backend. What is done once for a block: ref.c. Compiled for the lowest level alone:
 * those above have entries of their own, which leave it the heads that do not fill their vectors. */
#include "kernel/contract.h"
#include "kernel/ref/ref_math.h"
#include "kernel/ref/ref.h"

/* The block of q8 that holds a slot's channel d. */
static struct ct_kv_q8 *q8_block(const void *base, size_t dim, size_t slot, size_t d)
{
    size_t groups = (dim + CT_GROUP - 1) / CT_GROUP;
    return (struct ct_kv_q8 *)(uintptr_t)base + slot / CT_KEY_PANEL * groups + d / CT_GROUP;
}

/* n values, at most a group of 32, as int8 and the f16 scale that is returned. */
static uint16_t quantize_kv(int8_t q[CT_GROUP], const float *v, size_t n)
{
    uint32_t most = 0;

    for (size_t i = 0; i < n; i++)
        most = CT_MAX(most, ct_f32_bits(v[i]) & 0x7fffffffu);
    uint16_t scale = ct_q8_scale(most);
    float d = ct_f16_to_f32(scale);
    for (size_t i = 0; i < n; i++)
        q[i] = (int8_t)(d > 0 ? CT_MIN(CT_MAX(ct_rne(v[i] / d), -127), 127) : 0);
    return scale;
}

static void kv_write_q8(const struct ct_kv_head *kv, size_t slot, const float *k, const float *v)
{
    size_t dim = (size_t)kv->head_dim, lane = slot % CT_KEY_PANEL;
    struct ct_kv_q8 *to_k = q8_block(kv->k, dim, slot, 0), *to_v = q8_block(kv->v, dim, slot, 0);

    for (size_t d = 0; d < dim; d += CT_GROUP, to_k++, to_v++) {
        int8_t q[CT_GROUP];
        size_t n = CT_MIN(dim - d, CT_GROUP);
        to_k->scale[lane] = quantize_kv(q, k + d, n);
        for (size_t i = 0; i < n; i++)
            to_k->k[i][lane] = q[i];
        to_v->scale[lane] = quantize_kv(to_v->v[lane], v + d, n);
    }
}

void CT_NAME(ct_kv_write)(const struct ct_kv_head *kv, int position, const float *k, const float *v)
{
    ct_assert_kv(kv, position);
    size_t slot = (size_t)(position % kv->capacity), dim = (size_t)kv->head_dim;
    size_t lane = slot % CT_KEY_PANEL, panel = slot / CT_KEY_PANEL * dim * CT_KEY_PANEL;

    if (kv->type == CT_KV_Q8) {
        kv_write_q8(kv, slot, k, v);
        return;
    }
    for (size_t d = 0; d < dim; d++) {
        size_t ki = panel + d * CT_KEY_PANEL + lane, vi = slot * dim + d;
        if (kv->type == CT_KV_BF16) {
            ki = panel + d / 2 * 2 * CT_KEY_PANEL + lane * 2 + d % 2;
            vi = slot / 2 * 2 * dim + d * 2 + slot % 2;
            ((uint16_t *)kv->k)[ki] = (uint16_t)(ct_f32_bits(ct_bf16_round(k[d])) >> 16);
            ((uint16_t *)kv->v)[vi] = (uint16_t)(ct_f32_bits(ct_bf16_round(v[d])) >> 16);
        } else if (kv->type == CT_KV_F16) {
            ((uint16_t *)kv->k)[ki] = ct_f32_to_f16(k[d]);
            ((uint16_t *)kv->v)[vi] = ct_f32_to_f16(v[d]);
        } else {
            ((float *)kv->k)[ki] = k[d];
            ((float *)kv->v)[vi] = v[d];
        }
    }
}

/* Two lines of a K panel (d and d + 1) or two keys of V (j and j + 1) as f32: what the even and the odd
 * chain take. n values each; a and b are where the two lines begin, both the same address for interleaved
 * bf16. */
static inline __attribute__((always_inline)) void load_pair(float *restrict even, float *restrict odd,
                                                            enum ct_kv_type type, const void *base, size_t at,
                                                            size_t stride, int n)
{
    if (type == CT_KV_BF16) {
        const uint16_t *p = (const uint16_t *)base + at;
        for (int i = 0; i < n; i++) {
            even[i] = ct_bf16_to_f32(p[2 * i]);
            odd[i] = ct_bf16_to_f32(p[2 * i + 1]);
        }
    } else if (type == CT_KV_F16) {
        const uint16_t *p = (const uint16_t *)base + at;
        for (int i = 0; i < n; i++) {
            even[i] = ct_f16_to_f32(p[i]);
            odd[i] = ct_f16_to_f32(p[stride + (size_t)i]);
        }
    } else {
        const float *p = (const float *)base + at;
        for (int i = 0; i < n; i++) {
            even[i] = p[i];
            odd[i] = p[stride + (size_t)i];
        }
    }
}

/* The two lines of channels d and d + 1 of 16 keys. */
static inline __attribute__((always_inline)) void
load_channels(float *restrict even, float *restrict odd, const struct ct_kv_head *kv, size_t slot, size_t d)
{
    size_t dim = (size_t)kv->head_dim, panel = slot / CT_KEY_PANEL * dim * CT_KEY_PANEL;

    if (kv->type != CT_KV_Q8) {
        load_pair(even, odd, kv->type, kv->k, panel + d * CT_KEY_PANEL, CT_KEY_PANEL, CT_KEY_PANEL);
        return;
    }
    const struct ct_kv_q8 *b = q8_block(kv->k, dim, slot, d);
    for (int i = 0; i < CT_KEY_PANEL; i++) {
        float scale = ct_f16_to_f32(b->scale[i]);
        even[i] = scale * (float)b->k[d % CT_GROUP][i];
        odd[i] = scale * (float)b->k[d % CT_GROUP + 1][i];
    }
}

/* Values of two keys, the first of which has an even slot. */
static inline __attribute__((always_inline)) void load_keys(float *restrict even, float *restrict odd,
                                                            const struct ct_kv_head *kv, size_t slot)
{
    size_t dim = (size_t)kv->head_dim, lane = slot % CT_KEY_PANEL;

    if (kv->type != CT_KV_Q8) {
        load_pair(even, odd, kv->type, kv->v, slot * dim, dim, (int)dim);
        return;
    }
    const struct ct_kv_q8 *b = q8_block(kv->v, dim, slot, 0);
    for (size_t d = 0; d < dim; d += CT_GROUP, b++) {
        float first = ct_f16_to_f32(b->scale[lane]), second = ct_f16_to_f32(b->scale[lane + 1]);
        for (size_t i = 0; i < CT_MIN(dim - d, CT_GROUP); i++) {
            even[d + i] = first * (float)b->v[lane][i];
            odd[d + i] = second * (float)b->v[lane + 1][i];
        }
    }
}

/* Scores of the 16 keys of one panel: q . k by groups of 32 channels; head_dim is even. */
static void score_panel(float *restrict s, const float *restrict q, const struct ct_kv_head *kv, size_t slot)
{
    size_t dim = (size_t)kv->head_dim;

    for (int i = 0; i < CT_KEY_PANEL; i++)
        s[i] = 0;
    for (size_t g = 0; g < dim; g += CT_GROUP) {
        float e[CT_KEY_PANEL] = {0}, o[CT_KEY_PANEL] = {0};
        for (size_t d = g; d < CT_MIN(dim, g + CT_GROUP); d += 2) {
            float even[CT_KEY_PANEL], odd[CT_KEY_PANEL];
            load_channels(even, odd, kv, slot, d);
            for (int i = 0; i < CT_KEY_PANEL; i++) {
                e[i] = ct_fma(even[i], q[d], e[i]);
                o[i] = ct_fma(odd[i], q[d + 1], o[i]);
            }
        }
        for (int i = 0; i < CT_KEY_PANEL; i++)
            s[i] = s[i] + (e[i] + o[i]);
    }
}

/* out[d] = sum over the keys of the block of weight[j] * V[j][d], groups of 32 keys that hold a visible
 * one. */
static void weigh_values(float *restrict out, const float *restrict weight, const struct ct_kv_head *kv,
                         size_t slot, int first, int last)
{
    size_t dim = (size_t)kv->head_dim;
    float e[CT_MAX_HEAD_DIM], o[CT_MAX_HEAD_DIM], even[CT_MAX_HEAD_DIM], odd[CT_MAX_HEAD_DIM];

    memset(out, 0, dim * sizeof *out);
    for (int g = first / CT_GROUP; g <= last / CT_GROUP; g++) {
        memset(e, 0, dim * sizeof *e);
        memset(o, 0, dim * sizeof *o);
        for (int j = g * CT_GROUP; j < (g + 1) * CT_GROUP; j += 2) {
            load_keys(even, odd, kv, slot + (size_t)j);
            for (size_t d = 0; d < dim; d++) {
                e[d] = ct_fma(weight[j], even[d], e[d]);
                o[d] = ct_fma(weight[j + 1], odd[d], o[d]);
            }
        }
        for (size_t d = 0; d < dim; d++)
            out[d] = out[d] + (e[d] + o[d]);
    }
}

void CT_NAME(ct_attend_query)(struct ct_queries *t, int i, const float *q, const struct ct_kv_head *kv)
{
    float *to = t->q + (size_t)i * (size_t)kv->head_dim;

    for (int d = 0; d < kv->head_dim; d++)
        to[d] = kv->type == CT_KV_BF16 ? ct_bf16_round(q[d]) : q[d];
}

void CT_NAME(ct_attend_block)(struct ct_attended *a, const struct ct_queries *t, const struct ct_kv_head *kv,
                              int block, float scale, float cap, float *s)
{
    ct_assert_attend(a, t, kv, block, s);
    size_t dim = (size_t)kv->head_dim;
    int base = block * CT_KEY_BLOCK;
    size_t slot = (size_t)(base % kv->capacity);

    for (int i = 0; i < t->n; i++) {
        int first = CT_MAX(t->lo[i] - base, 0),
            last = CT_MIN(t->hi[i] - base, CT_KEY_BLOCK - 1); /* visible, in the block */
        a->sum[i] = 0;
        if (first > last)
            continue;
        for (int j = first / CT_KEY_PANEL * CT_KEY_PANEL; j <= last; j += CT_KEY_PANEL)
            score_panel(s + j, t->q + (size_t)i * dim, kv, slot + (size_t)j);

        float m = 0;
        for (int j = first; j <= last; j++) {
            s[j] = s[j] * scale;
            if (cap != 0)
                s[j] = cap * ct_tanh(s[j] / cap);
            m = j == first || s[j] > m ? s[j] : m;
        }
        float p[32] = {0};
        for (int j = 0; j < CT_KEY_BLOCK; j++) {
            bool visible = j >= first && j <= last;
            float weight = visible ? ct_exp(s[j] - m) : 0;
            s[j] = kv->type == CT_KV_BF16 ? ct_bf16_round(weight) : weight;
            p[j % 32] += s[j];
        }
        a->max[i] = m;
        a->sum[i] = ct_fold(p);
        weigh_values(a->out + (size_t)i * dim, s, kv, slot, first, last);
    }
}

void CT_NAME(ct_attend_init)(struct ct_kernel *k);
void CT_NAME(ct_attend_init)(struct ct_kernel *k)
{
    k->kv_write = k->kv_write_q8 = CT_NAME(ct_kv_write);
    k->attend_query = CT_NAME(ct_attend_query);
    k->attend_block = k->attend_block_q8 = CT_NAME(ct_attend_block);
}

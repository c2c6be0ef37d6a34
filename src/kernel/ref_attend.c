/* ref_attend.c: storing K and V, and attention of one query head over stored keys (NUMERICS.md section 7). Keys lie in
 * lanes for the scores, channels for the weighted sum. */
#include "kernel/ref_math.h"
#include "kernel/ref.h"

#define PAIRS (CT_GROUP / 2)

void CT_NAME(ct_store)(const struct ct_kv_head *kv, int position, const float *k, const float *v)
{
    size_t slot = (size_t)(position % kv->capacity), dim = (size_t)kv->head_dim;
    size_t lane = slot % CT_KEY_PANEL, panel = slot / CT_KEY_PANEL * dim * CT_KEY_PANEL;

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

/* Two lines of a K panel (d and d + 1) or two keys of V (j and j + 1) as f32: what the even and the odd chain take.
 * n values each; a and b are where the two lines begin, both the same address for interleaved bf16. */
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

/* Scores of the 16 keys of one panel: q . k by groups of 32 channels; head_dim is even. */
static void score_panel(float *restrict s, const float *restrict q, const struct ct_kv_head *kv, size_t slot)
{
    size_t dim = (size_t)kv->head_dim, panel = slot / CT_KEY_PANEL * dim * CT_KEY_PANEL;

    for (int i = 0; i < CT_KEY_PANEL; i++)
        s[i] = 0;
    for (size_t g = 0; g < dim; g += CT_GROUP) {
        float e[CT_KEY_PANEL] = {0}, o[CT_KEY_PANEL] = {0};
        for (size_t d = g; d < CT_MIN(dim, g + CT_GROUP); d += 2) {
            float even[CT_KEY_PANEL], odd[CT_KEY_PANEL];
            load_pair(even, odd, kv->type, kv->k, panel + d * CT_KEY_PANEL, CT_KEY_PANEL, CT_KEY_PANEL);
            for (int i = 0; i < CT_KEY_PANEL; i++) {
                e[i] = ct_fma(even[i], q[d], e[i]);
                o[i] = ct_fma(odd[i], q[d + 1], o[i]);
            }
        }
        for (int i = 0; i < CT_KEY_PANEL; i++)
            s[i] = s[i] + (e[i] + o[i]);
    }
}

/* out[d] = sum over the keys of the block of weight[j] * V[j][d], groups of 32 keys that hold a visible one. */
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
            load_pair(even, odd, kv->type, kv->v, (slot + (size_t)j) * dim, dim, (int)dim);
            for (size_t d = 0; d < dim; d++) {
                e[d] = ct_fma(weight[j], even[d], e[d]);
                o[d] = ct_fma(weight[j + 1], odd[d], o[d]);
            }
        }
        for (size_t d = 0; d < dim; d++)
            out[d] = out[d] + (e[d] + o[d]);
    }
}

void CT_NAME(ct_attend)(float *out, const float *q, const struct ct_kv_head *kv, int lo, int hi, float scale,
                        float cap)
{
    float query[CT_MAX_HEAD_DIM], block[CT_MAX_HEAD_DIM], s[CT_KEY_BLOCK];
    int dim = kv->head_dim;
    float M = 0, L = 0;

    for (int d = 0; d < dim; d++)
        query[d] = kv->type == CT_KV_BF16 ? ct_bf16_round(q[d]) : q[d];
    for (int b = lo / CT_KEY_BLOCK; b <= hi / CT_KEY_BLOCK; b++) {
        int base = b * CT_KEY_BLOCK;
        int first = CT_MAX(lo - base, 0),
            last = CT_MIN(hi - base, CT_KEY_BLOCK - 1); /* visible, in the block */
        size_t slot = (size_t)(base % kv->capacity);
        for (int j = first / CT_KEY_PANEL * CT_KEY_PANEL; j <= last; j += CT_KEY_PANEL)
            score_panel(s + j, query, kv, slot + (size_t)j);

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
        float l = ct_fold(p);
        weigh_values(block, s, kv, slot, first, last);

        if (b == lo / CT_KEY_BLOCK) {
            M = m;
            L = l;
            memcpy(out, block, (size_t)dim * sizeof *out);
            continue;
        }
        float top = M > m ? M : m;
        float alpha = ct_exp(M - top), beta = ct_exp(m - top);
        L = ct_fma(L, alpha, l * beta);
        for (int d = 0; d < dim; d++)
            out[d] = ct_fma(out[d], alpha, block[d] * beta);
        M = top;
    }
    for (int d = 0; d < dim; d++)
        out[d] = out[d] / L;
}

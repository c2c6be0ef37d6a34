/* SPDX-License-Identifier: Apache-2.0 */
/* panel_float_neon.c: products over panels in f32 and bf16 (F32, F16, BF16, SFP) for Arm's vectors of 128
 * bits: two chains of a group, lanes are rows (NUMERICS.md sections 3 and 5). BFDOT and BFMMLA add in another
 * order and are not used. Inputs are ref's; layout: panel.h; all other types: panel_neon.c. */
#include "kernel/arm/simd_neon.h"
#include "kernel/ref/ref_math.h"

#define PALETTE CT_TYPE_COUNT /* beside the types: F16 in panels of indices */

enum { TOKENS = CT_LANES };

INLINE int chunk_bytes(const enum ct_type type)
{
    return type == CT_F32 ? 2048 : type == PALETTE ? CT_PALETTE_GROUP : type == CT_SFP ? 512 : 1024;
}

/* 32 k of a panel of indices as lines of F16; head: its palettes. */
INLINE void look_up(uint8_t *to, const uint8_t *head, const uint8_t *lines)
{
    UNROLL for (int part = 0; part < PARTS; part++)
    {
        const uint8x16_t low = vld1q_u8(head + 16 * part), high = vld1q_u8(head + 64 + 16 * part);
        UNROLL for (int i = 0; i < 8; i++)
        {
            uint8x16_t v = vld1q_u8(lines + 64 * (i / 2) + 16 * part);
            v = i % 2 ? v >> 4 : v & 15;
            const uint8x16_t l = vqtbl1q_u8(low, v), h = vqtbl1q_u8(high, v);
            vst1q_u8(to + 128 * i + 16 * part, vzip1q_u8(l, h));
            vst1q_u8(to + 128 * i + 64 + 16 * part, vzip2q_u8(l, h));
        }
    }
}

/* 16-bit codes of SFP less their sign, times 16, as bf16. A code m above 0 is 0x3400 + 32 m, from 64 on
 * 0x3800 + 16 m, always the smaller of the two. */
INLINE uint16x8_t magnitude(uint16x8_t m16)
{
    uint16x8_t v = m16 + vminq_u16(m16 + vdupq_n_u16(0x3400), vdupq_n_u16(0x3800));
    return v & vtstq_u16(m16, m16); /* 0 for 0 */
}

/* 4 k of 4 rows, from k = 4i of a chunk on. Code 0x80 of SFP becomes -0, which no sum that begins with +0 can
 * tell from +0. */
INLINE void float_weights_neon(float32x4_t w[4], const enum ct_type type, const uint8_t *lines, int i)
{
    if (type == CT_F32) {
        UNROLL for (int k = 0; k < 4; k++) w[k] = fvec_load(lines + 64 * (4 * i + k));
        return;
    }
    uint16x8_t pair[2]; /* values of two k in each lane of 32 bits: k and k + 1, or of SFP k and k + 2 */
    if (type == CT_SFP) {
        const uint16x8_t code = vreinterpretq_u16_u8(vld1q_u8(lines + 64 * i));
        pair[0] = magnitude((code << 4) & 0x07f0) | ((code << 8) & 0x8000);
        pair[1] = magnitude((code >> 4) & 0x07f0) | (code & 0x8000);
    } else
        UNROLL for (int j = 0; j < 2; j++) pair[j] = vreinterpretq_u16_u8(vld1q_u8(lines + 64 * (2 * i + j)));
    UNROLL for (int j = 0; j < 2; j++)
    {
        const uint32x4_t both = (uint32x4_t)pair[j];
        const int k = type == CT_SFP ? j : 2 * j, next = type == CT_SFP ? 2 : 1;
        if (type == CT_F16) {
            w[k] = vcvt_f32_f16(vreinterpret_f16_u16(vmovn_u32(both)));
            w[k + next] = vcvt_f32_f16(vreinterpret_f16_u16(vshrn_n_u32(both, 16)));
        } else {
            w[k] = (fvec)(both << 16);
            w[k + next] = (fvec)(both & 0xffff0000);
        }
    }
}

/* chain[k % 2][t] += w * x[k][t] for T tokens. */
INLINE void float_products_neon(float32x4_t chain[2][TOKENS], const float32x4_t w[4], const float *x,
                                const int lanes, const int T)
{
    if (lanes == 1) {
        float32x4_t v = vld1q_f32(x);
        chain[0][0] = vfmaq_laneq_f32(chain[0][0], w[0], v, 0);
        chain[1][0] = vfmaq_laneq_f32(chain[1][0], w[1], v, 1);
        chain[0][0] = vfmaq_laneq_f32(chain[0][0], w[2], v, 2);
        chain[1][0] = vfmaq_laneq_f32(chain[1][0], w[3], v, 3);
        return;
    }
    UNROLL for (int k = 0; k < 4; k++) UNROLL for (int t = 0; t < T; t += 4)
    {
        float32x4_t v = vld1q_f32(x + k * lanes + t), *c = &chain[k % 2][t];
        c[0] = vfmaq_laneq_f32(c[0], w[k], v, 0);
        c[1] = vfmaq_laneq_f32(c[1], w[k], v, 1);
        c[2] = vfmaq_laneq_f32(c[2], w[k], v, 2);
        c[3] = vfmaq_laneq_f32(c[3], w[k], v, 3);
    }
}

/* One panel and T tokens, of which `tokens` are there; x[k][lanes]. `at_once` vectors of rows are in
 * flight. */
INLINE void float_tile_neon(float *out, size_t ldo, const enum ct_type type, const uint8_t *lines, int rows,
                            int groups, const float *x, const int lanes, const int T, const int at_once,
                            int tokens, float scale)
{
    const uint8_t *const head = lines;
    uint8_t halves[1024];
    float32x4_t acc[PARTS][TOKENS];

    for (int i = 0; i < PARTS; i++)
        UNROLL for (int t = 0; t < T; t++) acc[i][t] = vdupq_n_f32(0);
    lines += type == PALETTE ? CT_PALETTE_HEAD : 0;
    for (int g = 0; g < groups; g++, lines += chunk_bytes(type), x += CT_GROUP * lanes) {
        if (type == PALETTE)
            look_up(halves, head, lines);
        for (int i0 = 0; i0 < PARTS; i0 += at_once) {
            float32x4_t chain[PARTS][2][TOKENS];
            UNROLL for (int i = 0; i < at_once; i++) UNROLL for (int t = 0; t < T; t++) chain[i][0][t] =
                chain[i][1][t] = vdupq_n_f32(0);
            UNROLL for (int k = 0; k < CT_GROUP / 4; k++) UNROLL for (int i = 0; i < at_once; i++)
            {
                float32x4_t w[4];
                float_weights_neon(w, type == PALETTE ? CT_F16 : type,
                                   (type == PALETTE ? halves : lines) + 16 * (i0 + i), k);
                float_products_neon(chain[i], w, x + 4 * k * lanes, lanes, T);
            }
            UNROLL for (int i = 0; i < at_once; i++) UNROLL for (int t = 0; t < T; t++) acc[i0 + i][t] +=
                chain[i][0][t] + chain[i][1][t];
        }
    }
    store_tokens(out, ldo, acc, rows, tokens, scale);
}

INLINE void float_project_neon(float *out, size_t ldo, const enum ct_type type, const struct ct_weight *w,
                               int r0, int r1, const struct ct_prepared *p)
{
    const size_t padded = (size_t)ct_pad_group(p->cols);
    const int groups = (int)padded / CT_GROUP;

    for (; r0 < r1; r0 += CT_PANEL_ROWS) {
        const uint8_t *panel = (const uint8_t *)w->data + (size_t)(r0 / CT_PANEL_ROWS) * w->row_bytes;
        int rows = CT_MIN(CT_PANEL_ROWS, r1 - r0);
        for (int t = 0; t < p->n; t += TOKENS) {
            const float *x = p->value + (size_t)t * padded;
            float *to = out + (size_t)t * ldo + r0;
            int tokens = CT_MIN(TOKENS, p->n - t);
#define TILE(lanes, T, at_once)                                                                              \
    float_tile_neon(to, ldo, type, panel, rows, groups, x, lanes, T, at_once, tokens, w->scale)
            if (p->n == 1)
                TILE(1, 1, PARTS);
            else if (tokens <= 4)
                TILE(CT_LANES, 4, 2);
            else
                TILE(CT_LANES, 8, 1);
#undef TILE
        }
    }
}

void CT_NAME(ct_project_floats)(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                                const struct ct_prepared *p)
{
    if (w->type == CT_F32)
        float_project_neon(out, ldo, CT_F32, w, r0, r1, p);
    else if (w->layout == CT_LAYOUT_NIBBLES)
        float_project_neon(out, ldo, PALETTE, w, r0, r1, p);
    else if (w->type == CT_F16)
        float_project_neon(out, ldo, CT_F16, w, r0, r1, p);
    else if (w->type == CT_BF16)
        float_project_neon(out, ldo, CT_BF16, w, r0, r1, p);
    else
        float_project_neon(out, ldo, CT_SFP, w, r0, r1, p);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* panel_sfp.h: products over panels of SFP codes. Codes become bf16 values in registers; what follows is
 * NUMERICS.md section 5. panel_sfp_X.c includes a simd_X.h before this. Inputs are
 * ref's (CT_INPUT_BF16). Layout: panel.h. */
#ifndef CT_PANEL_SFP_H
#define CT_PANEL_SFP_H

#include "kernel/panel_kind.h"
#include "kernel/ref/ref_math.h"

enum {
    CHUNK_BYTES = CT_GROUP * CT_PANEL_ROWS,
    TOKENS = 8 * CT_LANES, /* that share decoded weights */
    GROUPS = 8,            /* decoded at a time: with their inputs they fit the first cache */
};

/* 16-bit codes less their sign, times 16, as bf16. A code m above 0 is 0x3400 + 32 m, from 64 on 0x3800 + 16
 * m, always the smaller of the two. */
INLINE ivec magnitude(ivec m16)
{
    ivec v = V(add_epi16)(m16, V(set1_epi16)(0x3400));
    v = V(add_epi16)(m16, V(min_epi16)(v, V(set1_epi16)(0x3800)));
    return zero_like(v, m16);
}

/* 4 k of a part as f32. Code 0x80 becomes -0, which no sum that begins with +0 can tell from +0. */
INLINE void sfp_decode(fvec w[4], ivec code)
{
    const ivec mask = V(set1_epi16)(0x07f0), minus = V(set1_epi16)((short)0x8000);
    const ivec upper = V(set1_epi32)((int32_t)0xffff0000);
    ivec even = magnitude(BITS(and)(V(slli_epi16)(code, 4), mask));
    ivec odd = magnitude(BITS(and)(V(srli_epi16)(code, 4), mask));

    even = BITS(or)(even, BITS(and)(V(slli_epi16)(code, 8), minus));
    odd = BITS(or)(odd, BITS(and)(code, minus));
    w[0] = as_floats(V(slli_epi32)(even, 16));
    w[1] = as_floats(V(slli_epi32)(odd, 16));
    w[2] = as_floats(BITS(and)(even, upper));
    w[3] = as_floats(BITS(and)(odd, upper));
}

/* ---- one token ---- */

/* Decoding takes longer than memory: one stream is faster than several. */
static void column(float *out, const uint8_t *panel, int rows, int groups, const float *x, float scale)
{
    fvec acc[PARTS];

    UNROLL for (int i = 0; i < PARTS; i++) acc[i] = V(setzero_ps)();
    for (int g = 0; g < groups; g++, panel += CHUNK_BYTES, x += CT_GROUP)
        UNROLL for (int part = 0; part < PARTS; part++)
        {
            const uint8_t *p = panel + 4 * VEC * part;
            fvec chain[2] = {V(setzero_ps)(), V(setzero_ps)()};
            UNROLL for (int i = 0; i < 8; i++)
            {
                fvec w[4];
                if (part == 0)
                    fetch(p + 64 * i + AHEAD);
                sfp_decode(w, ivec_load(p + 64 * i));
                UNROLL for (int k = 0; k < 4; k++) chain[k % 2] =
                    V(fmadd_ps)(w[k], V(set1_ps)(x[4 * i + k]), chain[k % 2]);
            }
            acc[part] = V(add_ps)(acc[part], V(add_ps)(chain[0], chain[1]));
        }
    store_rows(out, acc, rows, scale);
}

/* ---- more tokens ---- */

enum { MOST = PARTS == 1 ? 8 : 3 }; /* tokens whose two chains fit the registers */

/* acc[t][part] += `groups` groups of decoded weights w[k][16] and T tokens x[k][lanes]. */
INLINE void add_groups(fvec (*acc)[PARTS], const float *w, const float *x, int groups, const int T)
{
    for (int g = 0; g < groups; g++, w += CT_GROUP * CT_PANEL_ROWS, x += CT_GROUP * CT_LANES) {
        fvec chain[2][PARTS * MOST];
        UNROLL for (int i = 0; i < PARTS * T; i++) chain[0][i] = chain[1][i] = V(setzero_ps)();
        UNROLL for (int i = 0; i < CT_GROUP; i += 2) UNROLL for (int odd = 0; odd < 2; odd++)
        {
            fvec part[PARTS];
            UNROLL for (int j = 0; j < PARTS; j++)
            {
                part[j] = V(load_ps)(w + CT_PANEL_ROWS * (i + odd) + VEC * j);
                PIN(part[j]);
            }
            UNROLL for (int t = 0; t < T; t++)
            {
                fvec v = V(set1_ps)(x[CT_LANES * (i + odd) + t]);
                UNROLL for (int j = 0; j < PARTS; j++) chain[odd][PARTS * t + j] =
                    V(fmadd_ps)(part[j], v, chain[odd][PARTS * t + j]);
            }
        }
        UNROLL for (int i = 0; i < PARTS * T; i++) acc[i / PARTS][i % PARTS] =
            V(add_ps)(acc[i / PARTS][i % PARTS], V(add_ps)(chain[0][i], chain[1][i]));
    }
}

/* The same for as many of `left` tokens as it says. */
static int add_some(fvec (*acc)[PARTS], const float *w, const float *x, int groups, int left)
{
#define SOME(T) return add_groups(acc, w, x, groups, T), T
    if (MOST == 8 && left == 8)
        SOME(8);
    if (MOST == 8 && left >= 4)
        SOME(4);
    if (MOST == 3 && left >= 3 && left != 4)
        SOME(3);
    if (left >= 2)
        SOME(2);
    SOME(1);
#undef SOME
}

/* One panel and up to TOKENS tokens; x is the block of the first, `padded` values for each token. */
static void sfp_tile(float *out, size_t ldo, const uint8_t *panel, int rows, int groups, const float *x,
                     size_t padded, int tokens, float scale)
{
    _Alignas(64) float decoded[GROUPS * CT_GROUP * CT_PANEL_ROWS];
    fvec acc[TOKENS][PARTS];

    for (int t = 0; t < tokens; t++)
        UNROLL for (int i = 0; i < PARTS; i++) acc[t][i] = V(setzero_ps)();
    for (int g = 0; g < groups; g += GROUPS) {
        int now = CT_MIN(GROUPS, groups - g);
        for (int i = 0; i < 8 * PARTS * now; i++) {
            fvec w[4];
            sfp_decode(w, ivec_load(panel + (size_t)g * CHUNK_BYTES + 4 * VEC * (size_t)i));
            UNROLL for (int k = 0; k < 4; k++)
                V(store_ps)(decoded + CT_PANEL_ROWS * (4 * (i / PARTS) + k) + VEC * (i % PARTS), w[k]);
        }
        for (int t = 0; t < tokens;) {
            const float *from = x + (size_t)(t / CT_LANES * CT_LANES) * padded +
                                (size_t)g * CT_GROUP * CT_LANES + t % CT_LANES;
            t += add_some(acc + t, decoded, from, now, CT_MIN(tokens - t, CT_LANES - t % CT_LANES));
        }
    }
    for (int t = 0; t < tokens; t++)
        store_rows(out + (size_t)t * ldo, acc[t], rows, scale);
}

void CT_NAME(ct_project_sfp)(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                             const struct ct_prepared *p)
{
    const size_t apart = w->row_bytes, padded = (size_t)ct_pad_group(p->cols);
    const int groups = (int)padded / CT_GROUP;
    const uint8_t *panel = (const uint8_t *)w->data + (size_t)(r0 / CT_PANEL_ROWS) * apart;

    for (; r0 < r1; r0 += CT_PANEL_ROWS, panel += apart) {
        int rows = CT_MIN(CT_PANEL_ROWS, r1 - r0);
        if (p->n == 1)
            column(out + r0, panel, rows, groups, p->value, w->scale);
        for (int t = 0; p->n > 1 && t < p->n; t += TOKENS)
            sfp_tile(out + (size_t)t * ldo + r0, ldo, panel, rows, groups, p->value + (size_t)t * padded,
                     padded, CT_MIN(TOKENS, p->n - t), w->scale);
    }
}

#endif

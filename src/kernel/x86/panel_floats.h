/* SPDX-License-Identifier: Apache-2.0 */
/* panel_floats.h: products over panels of F32, F16, BF16 and SFP, for every width of vectors of x86. Lanes
 * are rows, and a group has two chains, as NUMERICS.md sections 3 and 5 ask for. panel_floats_X.c includes a
 * simd_X.h and this. Inputs are ref's (CT_INPUT_F32 and CT_INPUT_BF16, which lie alike). Layout: panel.h. */
#ifndef CT_PANEL_FLOATS_H
#define CT_PANEL_FLOATS_H

#include "kernel/panel_kind.h"
#include "kernel/sizes.h"

/* These follow from registers and the first cache. */
enum {
    SUMS = PARTS == 1 ? 16 : 8,                /* in flight */
    DISTANCE = PARTS == 1 ? AHEAD / 2 : AHEAD, /* bytes between a line and what is prefetched with it */
    TOKENS = 8 * CT_LANES,                     /* that share decoded weights; their sums wait in memory */
    GROUPS = 8,                  /* of SFP decoded at a time: they and their inputs fit the cache */
    LOOKED = PARTS == 1 ? 4 : 2, /* panels of indices and one token in flight */
};

/* Once in a level, not for each number of tokens or panels. */
#define NO_COPIES static __attribute__((noinline))

/* Bytes of 32 k of a panel. */
INLINE int float_bytes(const enum ct_type type)
{
    return type == CT_F32 ? 2048 : type == CT_SFP ? 512 : 1024;
}

/* ---- weights ---- */

/* Weights of a part of a panel for k = 2i (odd = false) or 2i + 1 of a chunk; not of SFP. */
INLINE fvec float_weights(const enum ct_type type, const uint8_t *lines, int i, const bool odd,
                          const int part)
{
    if (type == CT_F32)
        return fvec_load(lines + 128 * i + 64 * odd + 4 * VEC * part);
    const ivec both = ivec_load(lines + 64 * i + 4 * VEC * part);
    if (type == CT_F16)
        return low_halves(odd ? V(srli_epi32)(both, 16) : both);
    return as_floats(odd ? BITS(and)(both, V(set1_epi32)((int32_t)0xffff0000)) : V(slli_epi32)(both, 16));
}

/* 16-bit codes of SFP less their sign, times 16, as bf16. A code m above 0 is 0x3400 + 32 m, from 64 on
 * 0x3800 + 16 m, always the smaller of the two. */
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

/* `groups` groups of a panel as lines of F32. */
INLINE void sfp_decode_panel(float *to, const uint8_t *panel, int groups)
{
    for (int i = 0; i < 8 * PARTS * groups; i++) {
        fvec w[4];
        sfp_decode(w, ivec_load(panel + 4 * VEC * (size_t)i));
        UNROLL for (int k = 0; k < 4; k++)
            fvec_store(to + CT_PANEL_ROWS * (4 * (i / PARTS) + k) + VEC * (i % PARTS), w[k]);
    }
}

/* 32 k of a panel of indices as lines of F16: the bytes of 4 k are looked up at once, the low ones of the
 * entries apart from the high ones. head: the palettes of the panel. */
NO_COPIES void look_up(uint8_t *to, const uint8_t *head, const uint8_t *lines)
{
    const ivec low_bits = V(set1_epi8)(15);

    for (int part = 0; part < PARTS; part++) {
        const ivec low = ivec_load(head + 4 * VEC * part), high = ivec_load(head + 64 + 4 * VEC * part);
        for (int i = 0; i < 8; i++) {
            const ivec both = ivec_load(lines + 64 * (i / 2) + 4 * VEC * part);
            const ivec v = BITS(and)(i % 2 ? V(srli_epi16)(both, 4) : both, low_bits);
            const ivec l = V(shuffle_epi8)(low, v), h = V(shuffle_epi8)(high, v);
            ivec_store(to + 128 * i + 4 * VEC * part, V(unpacklo_epi8)(l, h));
            ivec_store(to + 128 * i + 64 + 4 * VEC * part, V(unpackhi_epi8)(l, h));
        }
    }
}

/* `groups` groups of a panel of indices as lines of F32. */
NO_COPIES void look_up_panel(float *to, const uint8_t *head, const uint8_t *lines, int groups)
{
    _Alignas(64) uint8_t halves[1024];

    for (int g = 0; g < groups; g++) {
        look_up(halves, head, lines + (size_t)g * CT_PALETTE_GROUP);
        for (int i = 0; i < 16; i++, to += 2 * CT_PANEL_ROWS)
            for (int part = 0; part < PARTS; part++) {
                fvec_store(to + VEC * part, float_weights(CT_F16, halves, i, false, part));
                fvec_store(to + CT_PANEL_ROWS + VEC * part, float_weights(CT_F16, halves, i, true, part));
            }
    }
}

/* ---- products ---- */

/* acc[t][panel][part] += 32 k of `panels` panels, which lie `apart`, for T tokens x[k][stride]. Both chains
 * at once where their sums fit the registers; else one after the other, and the second time the lines come
 * from the nearest cache. Memory is asked for what lies `ahead`; 0: for nothing. */
INLINE void add_floats(fvec *acc, const enum ct_type type, const uint8_t *lines, size_t apart, const float *x,
                       const int panels, const int stride, const int T, size_t ahead)
{
    const int across = panels * PARTS, passes = 2 * across * T <= SUMS ? 1 : 2;
    fvec chain[2][SUMS];

    UNROLL for (int i = 0; i < across * T; i++) chain[0][i] = chain[1][i] = fvec_all(0);
    UNROLL for (int pass = 0; pass < passes; pass++)
    {
        _Pragma("GCC unroll 4") for (int i = 0; i < CT_GROUP / 2; i++)
        {
            UNROLL for (int odd = pass; odd < 2; odd += passes) UNROLL for (int j = 0; j < across; j++)
            {
                const uint8_t *at = lines + (size_t)(j / PARTS) * apart;
                const float *v = x + (2 * i + odd) * stride;
                const fvec w = float_weights(type, at, i, odd, j % PARTS);
                if (ahead && j % PARTS == 0 && (odd == 0 || type == CT_F32))
                    fetch(at + float_bytes(type) / 16 * i + 64 * odd + ahead);
                UNROLL for (int t = 0; t < T; t++) chain[odd][across * t + j] =
                    fvec_fma(w, fvec_all(v[t]), chain[odd][across * t + j]);
            }
        }
    }
    UNROLL for (int i = 0; i < across * T; i++) acc[i] += chain[0][i] + chain[1][i];
}

/* The same for one panel of SFP and one token. Decoding takes longer than memory. */
INLINE void add_sfp(fvec acc[PARTS], const uint8_t *lines, const float *x, size_t ahead)
{
    UNROLL for (int part = 0; part < PARTS; part++)
    {
        fvec chain[2] = {fvec_all(0), fvec_all(0)};
        UNROLL for (int i = 0; i < 8; i++)
        {
            fvec w[4];
            if (part == 0)
                fetch(lines + 64 * i + ahead);
            sfp_decode(w, ivec_load(lines + 64 * i + 4 * VEC * part));
            UNROLL for (int k = 0; k < 4; k++) chain[k % 2] =
                fvec_fma(w[k], fvec_all(x[4 * i + k]), chain[k % 2]);
        }
        acc[part] += chain[0] + chain[1];
    }
}

/* Panels of indices and one token. Looking up takes longer than memory, so lanes are what needs no more of
 * it: a row's two chains lie side by side, as do its values. Where fewer panels are left than are taken
 * together the last one is taken again. */
NO_COPIES void looked_up_column(float *out, const struct ct_weight *w, int r0, int r1, const float *x)
{
    enum { ACROSS = 2 * PARTS, SIDE = LOOKED * ACROSS };
    const int groups = ct_pad_group(w->cols) / CT_GROUP;
    _Alignas(64) uint8_t halves[LOOKED][1024];
    _Alignas(64) float pairs[LOOKED][2 * CT_PANEL_ROWS];

    for (; r0 < r1; r0 += LOOKED * CT_PANEL_ROWS, out += LOOKED * CT_PANEL_ROWS) {
        const uint8_t *panel[LOOKED];
        fvec acc[SIDE];

        for (int j = 0; j < LOOKED; j++)
            panel[j] = (const uint8_t *)w->data +
                       (size_t)(CT_MIN(r0 / CT_PANEL_ROWS + j, (r1 - 1) / CT_PANEL_ROWS)) * w->row_bytes;
        UNROLL for (int i = 0; i < SIDE; i++) acc[i] = fvec_all(0);
        for (int g = 0; g < groups; g++) {
            const float *in = x + g * CT_GROUP;
            fvec chain[SIDE];
            for (int j = 0; j < LOOKED; j++) {
                const uint8_t *lines = panel[j] + CT_PALETTE_HEAD + (size_t)g * CT_PALETTE_GROUP;
                UNROLL for (int i = 0; i < 4; i++) fetch(lines + 64 * i + AHEAD);
                look_up(halves[j], panel[j], lines);
            }
            UNROLL for (int i = 0; i < SIDE; i++) chain[i] = fvec_all(0);
            _Pragma("GCC unroll 1") for (int i = 0; i < CT_GROUP / 2; i++)
            {
                const fvec both = fvec_pair(in + 2 * i);
                UNROLL for (int j = 0; j < SIDE; j++) chain[j] = fvec_fma(
                    fvec_halves(halves[j / ACROSS] + 64 * i + 2 * VEC * (j % ACROSS)), both, chain[j]);
            }
            UNROLL for (int i = 0; i < SIDE; i++) acc[i] +=
                chain[i] + V(shuffle_ps)(chain[i], chain[i], 0xb1);
        }
        UNROLL for (int i = 0; i < SIDE; i++)
            fvec_store(&pairs[i / ACROSS][VEC * (i % ACROSS)], acc[i] * w->scale);
        for (int r = 0; r < CT_MIN(r1 - r0, LOOKED * CT_PANEL_ROWS); r++)
            out[r] = pairs[r / CT_PANEL_ROWS][2 * (r % CT_PANEL_ROWS)];
    }
}

/* `panels` panels and one token: as many streams from memory. Near its end a stream asks for the panel that
 * it reads next. */
INLINE void floats_column(float *out, const enum ct_type type, const struct ct_weight *w,
                          const uint8_t *panel, int rows, const float *x, const int panels)
{
    const size_t apart = w->row_bytes, bytes = (size_t)float_bytes(type);
    fvec acc[SUMS];

    UNROLL for (int i = 0; i < panels * PARTS; i++) acc[i] = fvec_all(0);
    for (size_t at = 0; at < apart; at += bytes, x += CT_GROUP) {
        const size_t ahead = DISTANCE + (at + DISTANCE < apart ? 0 : (size_t)(panels - 1) * apart);
        if (type == CT_SFP)
            add_sfp(acc, panel + at, x, AHEAD);
        else
            add_floats(acc, type, panel + at, apart, x, panels, 1, 1, ahead);
    }
    UNROLL for (int j = 0; j < panels; j++)
        store_rows(out + CT_PANEL_ROWS * j, acc + j * PARTS, rows, w->scale);
}

/* `panels` panels and up to TOKENS tokens, of which x is the first. Lanes that no token has may be computed,
 * and are dropped. The first tokens ask for memory. */
INLINE void floats_tile(float *out, size_t ldo, const enum ct_type type, const struct ct_weight *w,
                        const uint8_t *panel, int rows, const float *x, int tokens, const int panels)
{
    const int groups = ct_pad_group(w->cols) / CT_GROUP, stretch = type == CT_SFP ? GROUPS : groups;
    const enum ct_type multiplied = type == CT_SFP ? CT_F32 : type;
    const bool indices = type == CT_SFP && w->layout == CT_LAYOUT_NIBBLES; /* so are these decoded */
    const int across = panels * PARTS;
    _Alignas(64) float decoded[GROUPS * CT_GROUP * CT_PANEL_ROWS];
    fvec acc[2 * TOKENS];

    for (size_t i = 0; i < ct_round_up((size_t)tokens, CT_LANES) * (size_t)across; i++)
        acc[i] = fvec_all(0);
    for (int g = 0; g < groups; g += stretch) {
        const int now = CT_MIN(stretch, groups - g);
        const uint8_t *lines = panel + (size_t)(g * float_bytes(type));
        if (indices)
            look_up_panel(decoded, panel, panel + CT_PALETTE_HEAD + (size_t)g * CT_PALETTE_GROUP, now);
        else if (type == CT_SFP)
            sfp_decode_panel(decoded, lines, now);
        if (type == CT_SFP)
            lines = (const uint8_t *)decoded;
        for (int t = 0; t < tokens;) {
            const int left = CT_MIN(tokens - t, CT_LANES - t % CT_LANES);
            const size_t ahead = t == 0 && type != CT_SFP ? DISTANCE : 0;
            const float *in =
                x + CT_GROUP * ((size_t)(t / CT_LANES * CT_LANES * groups) + (size_t)(g * CT_LANES)) +
                t % CT_LANES;
#define SOME(T)                                                                                              \
    for (int c = 0; c < now; c++)                                                                            \
        add_floats(acc + t * across, multiplied, lines + (size_t)(c * float_bytes(multiplied)),              \
                   w->row_bytes, in + c * CT_GROUP * CT_LANES, panels, CT_LANES, T, ahead);                  \
    t += T;
            if (SUMS / across >= 8 && left > 6) {
                SOME(8)
            } else if (left > 2) {
                SOME(4)
            } else {
                SOME(2)
            }
#undef SOME
        }
    }
    for (int t = 0; t < tokens; t++)
        UNROLL for (int j = 0; j < panels; j++) store_rows(out + (size_t)t * ldo + CT_PANEL_ROWS * j,
                                                           acc + t * across + j * PARTS, rows, w->scale);
}

/* ---- entries ---- */

INLINE void floats_project(float *out, size_t ldo, const enum ct_type type, const struct ct_weight *w, int r0,
                           int r1, const struct ct_prepared *p)
{
    const size_t padded = (size_t)ct_pad_group(p->cols);
    const bool many = PARTS == 1 && type != CT_SFP; /* panels that share what is broadcast of x */

    for (int panels = 1; r0 < r1; r0 += panels * CT_PANEL_ROWS) {
        const uint8_t *panel = (const uint8_t *)w->data + (size_t)(r0 / CT_PANEL_ROWS) * w->row_bytes;
        const int fit = (r1 - r0) / CT_PANEL_ROWS, rows = CT_MIN(CT_PANEL_ROWS, r1 - r0);
        panels = 1;
        if (p->n == 1 && type != CT_SFP && fit >= CT_SIZE(floats))
            floats_column(out + r0, type, w, panel, rows, p->value, panels = CT_SIZE(floats));
        else if (p->n == 1)
            floats_column(out + r0, type, w, panel, rows, p->value, 1);
        for (int t = 0; p->n > 1 && t < p->n; t += TOKENS) {
            const float *x = p->value + (size_t)t * padded;
            float *to = out + (size_t)t * ldo + r0;
            const int tokens = CT_MIN(TOKENS, p->n - t);
            if (many && p->n <= 4 && fit >= 4)
                floats_tile(to, ldo, type, w, panel, rows, x, tokens, panels = 4);
            else if (many && fit >= 2)
                floats_tile(to, ldo, type, w, panel, rows, x, tokens, panels = 2);
            else
                floats_tile(to, ldo, type, w, panel, rows, x, tokens, 1);
        }
    }
}

void CT_NAME(ct_project_floats)(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                                const struct ct_prepared *p);
void CT_NAME(ct_project_floats)(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                                const struct ct_prepared *p)
{
    if (w->type == CT_F32)
        floats_project(out, ldo, CT_F32, w, r0, r1, p);
    else if (w->layout == CT_LAYOUT_NIBBLES && p->n == 1)
        looked_up_column(out + r0, w, r0, r1, p->value);
    else if (w->type == CT_F16 && w->layout != CT_LAYOUT_NIBBLES)
        floats_project(out, ldo, CT_F16, w, r0, r1, p);
    else if (w->type == CT_BF16)
        floats_project(out, ldo, CT_BF16, w, r0, r1, p);
    else
        floats_project(out, ldo, CT_SFP, w, r0, r1, p);
}

#endif

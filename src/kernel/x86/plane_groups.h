/* SPDX-License-Identifier: Apache-2.0 */
/* plane_groups.h: codes and factors of a group of an integer panel as they lie (layout/panel.h), in vectors:
 * a part is the rows that one of them holds. What products make of them is panel_planes.h's and the tiles'.
 * A simd_X.h comes before this. */
#ifndef CT_PLANE_GROUPS_H
#define CT_PLANE_GROUPS_H

#include "kernel/panel_kind.h"

/* 16-bit lanes shifted left by a constant of either sign. */
INLINE ivec shift(ivec v, const int by)
{
    return by > 0 ? V(slli_epi16)(v, by) : by < 0 ? V(srli_epi16)(v, -by) : v;
}

/* Word i of the 8 words of 4 codes that a group of a part is. Lines of nibbles are a plane too. */
INLINE ivec code_word(const struct kind kind, const uint8_t *lines, const int i)
{
    const int low = ct_plane_bits(kind.bits), high = kind.bits - low;
    ivec w = ivec_load(lines + 64 * (i * low / 8));

    if (low < 8)
        w = BITS(and)(shift(w, -(i * low % 8)), V(set1_epi8)((char)((1 << low) - 1)));
    if (high) {
        ivec h = shift(ivec_load(lines + 64 * (low + i * high / 8)), low - i * high % 8);
        w = BITS(or)(w, BITS(and)(h, V(set1_epi8)((char)(((1 << high) - 1) << low))));
    }
    return w;
}

/* The factors of a group of a part. */
struct group_factors {
    fvec ws, m;           /* m: what is taken away times the sum; of OWN_PAIR added; of APART the second ws */
    ivec scales, minimum; /* of halves, 16 bits each */
};

/* 2^(e - 128); the first two are subnormal */
INLINE fvec power(ivec e)
{
    const ivec one = V(set1_epi32)(1);
    ivec tiny = V(sllv_epi32)(V(set1_epi32)(0x00200000), V(min_epi32)(e, one));
    return as_floats(V(max_epi32)(tiny, V(slli_epi32)(V(sub_epi32)(e, one), 23)));
}

/* Half of E4M3 values, in bytes of lanes: as f16 their bits are 2^-7 of it. 0x7f is none, here 0. */
INLINE fvec half_e4m3(ivec e)
{
    const ivec none =
        V(sub_epi32)(V(set1_epi32)(0), V(min_epu32)(BITS(xor)(e, V(set1_epi32)(0x7f)), V(set1_epi32)(1)));
    const ivec size = BITS(and)(BITS(and)(e, V(set1_epi32)(0x7f)), none);
    return V(mul_ps)(low_halves(V(slli_epi32)(size, 7)), V(set1_ps)(128));
}

INLINE fvec bf16(const uint8_t *p)
{
    return as_floats(V(slli_epi32)(words_unsigned(p), 16));
}

/* chunk is the one that the group is in, g counts within it, row is the first of the part. */
INLINE struct group_factors group_factors(const struct kind kind, const uint8_t *chunk, int g, int row)
{
    struct group_factors f = {0};
    const uint8_t *small = chunk + 64;

    switch (kind.factor) {
    case OWN:
        f.ws = halves(chunk + 32 * g + 2 * row);
        return f;
    case OWN_PAIR:
        f.ws = halves(chunk + 32 * g + 2 * row);
        f.m = halves(chunk + 32 * (kind.groups + g) + 2 * row);
        return f;
    case EXPONENT:
        f.ws = power(bytes_unsigned(chunk + CT_PANEL_ROWS * g + row));
        return f;
    case BLOCK:
        f.ws = bf16(chunk + 2 * row);
        f.m = V(mul_ps)(bf16(chunk + 32 + 2 * row), f.ws);
        return f;
    case WHOLE:
        f.ws = halves(chunk + 2 * row);
        return f;
    case APART: {
        const ivec pairs = words_unsigned(chunk + 2 * (CT_PANEL_ROWS * g + row));
        f.ws = half_e4m3(BITS(and)(pairs, V(set1_epi32)(0xff)));
        f.m = half_e4m3(V(srli_epi32)(pairs, 8));
        return f;
    }
    case SIGNED:
        f.ws =
            V(mul_ps)(halves(chunk + 2 * row), V(cvtepi32_ps)(bytes_signed(small + CT_PANEL_ROWS * g + row)));
        return f;
    default:
        break;
    }
    const bool is_signed = kind.factor == HALVES || kind.factor == ODD;
    small += 2 * (CT_PANEL_ROWS * g + row);
    f.scales = is_signed ? pairs_signed(small) : pairs_unsigned(small);
    f.ws = kind.factor == ODD ? fvec_load(chunk + 4 * row) : halves(chunk + 2 * row);
    if (!is_signed)
        f.m = halves(chunk + 32 + 2 * row);
    if (kind.factor == PAIR) {
        f.ws = V(mul_ps)(f.ws, V(cvtepi32_ps)(BITS(and)(f.scales, V(set1_epi32)(0xffff))));
        f.m = V(mul_ps)(f.m, V(cvtepi32_ps)(V(srli_epi32)(f.scales, 16)));
    }
    if (kind.factor == NIBBLES) {
        f.minimum = V(srli_epi16)(f.scales, 4);
        f.scales = BITS(and)(f.scales, V(set1_epi16)(15));
    }
    return f;
}

/* The scale of one half as a number. */
INLINE fvec half_scale(ivec scales, const int half)
{
    return V(cvtepi32_ps)(V(madd_epi16)(scales, V(set1_epi32)(half ? 0x00010000 : 0x00000001)));
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* book_rows.h: what the rows of a vector have of a group of a type of books: numbers of entries, signs,
 * scales (layout/panel.h). A lane is a row. books_X.c includes a simd_X.h and this; what they make of it is
 * theirs. */
#ifndef CT_BOOK_ROWS_H
#define CT_BOOK_ROWS_H

#include "kernel/books.h"

enum { ZERO = 128, LINE = 64, WORDS = CT_GROUP / 4 };

struct rows {
    uint32_t number[WORDS][VEC]; /* of entries */
    ivec signs;                  /* of 8 weights a byte; or 1 more or less, for an eighth */
    ivec scale;                  /* s of both halves, 16 bits each */
};

/* The place of lines: those of the group, at these rows where lines have 4, 2 and 1 bytes of a row. */
struct lines {
    const uint8_t *chunk, *four, *two, *one;
    int g, row;
};

INLINE ivec bits(ivec v, int from, int n)
{
    return BITS(and)(V(srli_epi32)(v, from), V(set1_epi32)((1 << n) - 1));
}

INLINE void note(struct rows *to, int e, ivec number)
{
    BITS(storeu)((void *)to->number[e], number);
}

INLINE ivec both(ivec first, ivec second)
{
    return BITS(or)(first, V(slli_epi32)(second, 16));
}

INLINE ivec nibbles(const uint8_t *p)
{
    const ivec v = bytes_unsigned(p);
    return both(bits(v, 0, 4), bits(v, 4, 4));
}

/* Four times seven bits as bytes, the eighth bit of which makes their number even. */
INLINE ivec four_signs(ivec v)
{
    static const int8_t odd[16] = {0, -128, -128, 0, -128, 0, 0, -128, -128, 0, 0, -128, 0, -128, -128, 0};
    ivec s = BITS(and)(v, V(set1_epi32)(0x7f));

    UNROLL for (int i = 1; i < 4; i++) s =
        BITS(or)(s, BITS(and)(V(slli_epi32)(v, i), V(set1_epi32)(0x7f << 8 * i)));
    const ivec nibble = BITS(and)(BITS(xor)(s, V(srli_epi32)(s, 4)), V(set1_epi8)(15));
    return BITS(or)(s, V(shuffle_epi8)(sixteen(odd), nibble));
}

/* n numbers, whose lower eight bits lie in lines of four; bit 8 and those above it are n_high bits of `high`,
 * `apart` from one number to the next. */
INLINE void numbers(struct rows *to, const uint8_t *lines, const int n, ivec high, int n_high, int apart)
{
    UNROLL for (int i = 0; i < n; i += 4)
    {
        const ivec v = ivec_load(lines + LINE * (i / 4));
        UNROLL for (int e = i; e < i + 4; e++)
            note(to, e, BITS(or)(bits(v, 8 * (e - i), 8), V(slli_epi32)(bits(high, apart * e, n_high), 8)));
    }
}

INLINE void read_iq2_xxs(struct rows *to, const struct lines *at)
{
    const ivec v = ivec_load(at->four + LINE), s = V(srli_epi32)(v, 28);

    numbers(to, at->four, 4, v, 0, 0);
    to->signs = four_signs(v);
    to->scale = both(s, s);
}

INLINE void read_iq2_xs(struct rows *to, const struct lines *at)
{
    const ivec v = ivec_load(at->four), w = ivec_load(at->four + LINE);

    note(to, 0, bits(v, 0, 9));
    note(to, 1, bits(v, 16, 9));
    note(to, 2, bits(w, 0, 9));
    note(to, 3, bits(w, 16, 9));
    to->signs =
        four_signs(BITS(or)(BITS(or)(bits(v, 9, 7), V(slli_epi32)(bits(v, 25, 7), 7)),
                            BITS(or)(V(slli_epi32)(bits(w, 9, 7), 14), V(slli_epi32)(bits(w, 25, 7), 21))));
    to->scale = nibbles(at->one + 2 * LINE);
}

INLINE void read_iq2_s(struct rows *to, const struct lines *at)
{
    numbers(to, at->four, 4, bytes_unsigned(at->one + 2 * LINE), 2, 2);
    to->signs = ivec_load(at->four + LINE);
    to->scale = nibbles(at->one + 2 * LINE + CT_PANEL_ROWS);
}

INLINE void read_iq3_xxs(struct rows *to, const struct lines *at)
{
    const ivec v = ivec_load(at->four + 2 * LINE), s = V(srli_epi32)(v, 28);

    numbers(to, at->four, 8, v, 0, 0);
    to->signs = four_signs(v);
    to->scale = both(s, s);
}

INLINE void read_iq3_s(struct rows *to, const struct lines *at)
{
    const uint8_t *scales = at->chunk + LINE + CT_PANEL_ROWS * (at->g / 2) + at->row;
    const ivec s = bits(bytes_unsigned(scales), 4 * (at->g % 2), 4);

    numbers(to, at->four, 8, bytes_unsigned(at->one + 3 * LINE), 1, 1);
    to->signs = ivec_load(at->four + 2 * LINE);
    to->scale = both(s, s);
}

/* Bytes of one bit: 1 more where it is clear, 1 less where it is set. */
INLINE ivec eighths(ivec set)
{
    return V(sub_epi8)(V(set1_epi8)(1), V(add_epi8)(set, set));
}

INLINE void read_iq1_s(struct rows *to, const struct lines *at)
{
    const ivec v = words_unsigned(at->two + LINE), s = bits(v, 12, 3);

    numbers(to, at->four, 4, v, 3, 3);
    to->signs = eighths(V(mullo_epi32)(bits(v, 15, 1), V(set1_epi32)(0x01010101)));
    to->scale = both(s, s);
}

INLINE void read_iq1_m(struct rows *to, const struct lines *at)
{
    const ivec v = words_unsigned(at->two + LINE);
    const ivec s = words_unsigned(at->chunk + 32 * (at->g / 2) + 2 * at->row);
    const int from = 6 * (at->g % 2);
    ivec set = bits(v, 3, 1);

    numbers(to, at->four, 4, v, 3, 4);
    UNROLL for (int e = 1; e < 4; e++) set = BITS(or)(set, V(slli_epi32)(bits(v, 4 * e + 3, 1), 8 * e));
    to->signs = eighths(set);
    to->scale = both(bits(s, from, 3), bits(s, from + 3, 3));
}

/* TYPE(type, what reads rows, bytes before the lines of a group, bytes of them, weights of an entry, whether
 * numbers are bytes of lines that come first, whether halves have scales of their own, whether rows have
 * eighths in place of signs) */
#define CT_TYPES_OF_ENTRIES(TYPE)                                                                            \
    TYPE(CT_IQ2_XXS, read_iq2_xxs, 64, 128, 8, true, false, false)                                           \
    TYPE(CT_IQ2_XS, read_iq2_xs, 64, 144, 8, false, true, false)                                             \
    TYPE(CT_IQ2_S, read_iq2_s, 64, 160, 8, false, true, false)                                               \
    TYPE(CT_IQ3_XXS, read_iq3_xxs, 64, 192, 4, true, false, false)                                           \
    TYPE(CT_IQ3_S, read_iq3_s, 128, 208, 4, false, false, false)                                             \
    TYPE(CT_IQ1_S, read_iq1_s, 64, 96, 8, false, false, true)                                                \
    TYPE(CT_IQ1_M, read_iq1_m, 128, 96, 8, false, true, true)

/* A function that reads the rows of a type. */
typedef void read_rows(struct rows *to, const struct lines *at);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* panel_books.h: chunks of the types whose panels keep numbers of entries (IQ1 to IQ3) or digits (TQ1_0),
 * looked up: the bytes of their weights but for signs, and factors, for all rows of a chunk at once, in
 * plain C for every architecture: whole entries are loaded from tables that the first cache holds. What
 * vectors make of it: x86/plane_groups.h, arm/panel_neon.c. Where the numbers lie: layout/panel.h. */
#ifndef CT_PANEL_BOOKS_H
#define CT_PANEL_BOOKS_H

#include "kernel/panel_kind.h"
#include "quant/grids.h"

enum { BOOK_GROUPS = 8 }; /* of a chunk */

/* A chunk looked up. Words i of a group are [16 rows][4 k]; of books of 8 k, entry e has words 2e and 2e +
 * 1 in 128 bytes, 8 of each row, rows in the order 0 1 4 5 8 9 12 13 2 3 6 7 10 11 14 15: so a vector of
 * floats has even words of two vectors by one shuffle. */
struct looked_up {
    uint16_t d[CT_PANEL_ROWS];
    int16_t scale[BOOK_GROUPS][CT_PANEL_ROWS][2]; /* of both halves */
    uint32_t sign[BOOK_GROUPS][CT_PANEL_ROWS];    /* of 8 k a byte: its signs, or what is added */
    _Alignas(64) uint8_t entry[BOOK_GROUPS][8 * 4 * CT_PANEL_ROWS]; /* without signs */
};

/* ---- numbers of entries: e counts those of a group ---- */

INLINE unsigned number_of(const struct kind kind, const uint8_t *lines, int r, const int e)
{
    const unsigned low = lines[64 * (e / 4) + 4 * r + e % 4];

    switch (kind.book.type) {
    case CT_IQ2_XS:
        return ct_le16(lines + 64 * (e / 2) + 4 * r + 2 * (e % 2)) & 511u;
    case CT_IQ2_S:
        return low | (lines[128 + r] >> 2 * e & 3u) << 8;
    case CT_IQ3_S:
        return low | (lines[192 + r] >> e & 1u) << 8;
    case CT_IQ1_S:
        return low | (ct_le16(lines + 64 + 2 * r) >> 3 * e & 7u) << 8;
    case CT_IQ1_M:
        return low | (lines[64 + 2 * r + e / 2] >> 4 * (e % 2) & 7u) << 8;
    default:
        return low;
    }
}

INLINE void look_up_entries(uint8_t *restrict to, const struct kind kind, const uint8_t *lines,
                            const void *book)
{
    const int size = kind.book.entry;

    UNROLL for (int e = 0; e < CT_GROUP / size; e++) UNROLL for (int r = 0; r < CT_PANEL_ROWS; r++)
    {
        const int at = size == 4 ? 64 * e + 4 * r : 128 * e + 64 * (r % 4 / 2) + 16 * (r / 4) + 8 * (r % 2);
        memcpy(to + at, (const uint8_t *)book + (size_t)size * number_of(kind, lines, r, e), (size_t)size);
    }
}

/* ---- signs and scales of a row ---- */

/* Four times seven bits as bytes, the eighth bit of which makes their number even. */
INLINE uint32_t four_signs(uint32_t v)
{
    uint32_t s = (v & 0x7f) | (v << 1 & 0x7f00) | (v << 2 & 0x7f0000) | (v << 3 & 0x7f000000);
    uint32_t odd = s ^ (s >> 4 & 0x0f0f0f0f);

    odd ^= odd >> 2;
    odd ^= odd >> 1;
    return s | (odd & 0x01010101) << 7;
}

INLINE void put_scales(int16_t to[2], unsigned first, unsigned second)
{
    to[0] = (int16_t)(2 * first + 1);
    to[1] = (int16_t)(2 * second + 1);
}

/* Row r of group g: its signs, and scales. */
INLINE uint32_t signs_of(int16_t scale[2], const struct kind kind, const uint8_t *chunk, const uint8_t *lines,
                         int g, int r)
{
    uint32_t v, w;

    switch (kind.book.type) {
    case CT_IQ2_XXS:
    case CT_IQ3_XXS:
        v = ct_le32(lines + (kind.book.type == CT_IQ2_XXS ? 64 : 128) + 4 * r);
        put_scales(scale, v >> 28, v >> 28);
        return four_signs(v);
    case CT_IQ2_XS:
        v = ct_le32(lines + 4 * r);
        w = ct_le32(lines + 64 + 4 * r);
        put_scales(scale, lines[128 + r] & 15u, lines[128 + r] >> 4);
        return four_signs((v >> 9 & 0x7f) | (v >> 25) << 7 | (w >> 9 & 0x7f) << 14 | (w >> 25) << 21);
    case CT_IQ2_S:
        put_scales(scale, lines[144 + r] & 15u, lines[144 + r] >> 4);
        return ct_le32(lines + 64 + 4 * r);
    case CT_IQ3_S:
        v = (uint32_t)chunk[64 + CT_PANEL_ROWS * (g / 2) + r] >> 4 * (g % 2) & 15u;
        put_scales(scale, v, v);
        return ct_le32(lines + 128 + 4 * r);
    case CT_IQ1_S:
        v = ct_le16(lines + 64 + 2 * r);
        put_scales(scale, v >> 12 & 7, v >> 12 & 7);
        return 0x01010101u | (v >> 15) * 0xfefefefeu;
    default: /* IQ1_M */
        v = ct_le16(lines + 64 + 2 * r);
        w = (uint32_t)ct_le16(chunk + 32 * (g / 2) + 2 * r) >> 6 * (g % 2);
        put_scales(scale, w & 7, w >> 3 & 7);
        v = (v >> 3 & 1) | (v >> 7 & 1) << 8 | (v >> 11 & 1) << 16 | (v >> 15 & 1) << 24;
        return 0x01010101u | v * 0xfe;
    }
}

/* ---- digits ---- */

/* Each of n digits of a line to where the group of its weights is, apart bytes from one to the next. */
INLINE void look_up_digits(uint8_t *restrict to, const uint8_t *line, const int n, const size_t apart)
{
    uint8_t x[64];

    memcpy(x, line, sizeof x);
    for (int i = 0; i < n; i++, to += apart)
        for (int j = 0; j < 64; j++) {
            to[j] = (uint8_t)((x[j] > 85) + (x[j] > 170)); /* 3 x / 256 */
            x[j] = (uint8_t)(3 * x[j]);
        }
}

/* ---- a chunk ---- */

/* The entries of a kind, in bytes. */
INLINE const void *book_of(const struct kind kind)
{
    const struct ct_books *b;

    if (!kind.book.stride || kind.book.type == CT_TQ1_0)
        return NULL;
    b = ct_books();
    switch (kind.book.type) {
    case CT_IQ2_XXS:
        return b->iq2_xxs;
    case CT_IQ2_XS:
        return b->iq2_xs;
    case CT_IQ2_S:
        return b->iq2_s;
    case CT_IQ3_XXS:
        return b->iq3_xxs;
    case CT_IQ3_S:
        return b->iq3_s;
    default:
        return b->iq1;
    }
}

/* Whether what is beside an entry is added to its weights; else their signs. */
INLINE bool adds(const struct kind kind)
{
    return kind.book.type == CT_IQ1_S || kind.book.type == CT_IQ1_M;
}

INLINE void look_up_kind(struct looked_up *restrict to, const struct kind kind, const uint8_t *chunk,
                         const void *book)
{
    const uint8_t *lines = chunk + kind.header;
    const size_t half = sizeof to->entry[0] / 2;

    memcpy(to->d, chunk, sizeof to->d);
    if (kind.book.type == CT_TQ1_0) {
        uint8_t *at = to->entry[0];
        for (int i = 0; i < 8; i++) /* groups 0 to 4 */
            look_up_digits(at + 64 * i, lines + 64 * i, 5, 2 * half);
        for (int i = 0; i < 4; i++) /* five halves from group 5 on */
            look_up_digits(at + 10 * half + (size_t)(64 * i), lines + 64 * (8 + i), 5, half);
        look_up_digits(at + 15 * half, lines + 64 * 12, 4, 64); /* four words are the last half */
        return;
    }
    if (kind.book.type == CT_IQ1_M)
        for (int r = 0; r < CT_PANEL_ROWS; r++) { /* the bits of d are the upper ones of four scales */
            unsigned d = 0;
            for (int i = 0; i < 4; i++)
                d |= (unsigned)(chunk[32 * i + 2 * r + 1] >> 4) << 4 * i;
            to->d[r] = (uint16_t)d;
        }
    for (int g = 0; g < BOOK_GROUPS; g++, lines += kind.book.stride) {
        look_up_entries(to->entry[g], kind, lines, book);
        for (int r = 0; r < CT_PANEL_ROWS; r++)
            to->sign[g][r] = signs_of(to->scale[g][r], kind, chunk, lines, g, r);
    }
}

/* A function for each kind: inlined where it is used it would be compiled many times over. */
#define KIND(name, ...)                                                                                      \
    static __attribute__((noinline, unused)) void look_up_##name(struct looked_up *restrict to,              \
                                                                 const uint8_t *chunk, const void *book)     \
    {                                                                                                        \
        look_up_kind(to, (struct kind){__VA_ARGS__}, chunk, book);                                           \
    }
CT_KINDS_OF_BOOKS(KIND)
#undef KIND

INLINE void look_up(struct looked_up *to, const struct kind kind, const uint8_t *chunk, const void *book)
{
    switch (kind.book.type) {
#define KIND(name, ...)                                                                                      \
    case name:                                                                                               \
        look_up_##name(to, chunk, book);                                                                     \
        break;
        CT_KINDS_OF_BOOKS(KIND)
#undef KIND
    default:
        __builtin_unreachable(); /* no other kind is looked up */
    }
}

#endif

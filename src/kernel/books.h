/* SPDX-License-Identifier: Apache-2.0 */
/* books.h: chunks of the types that keep numbers of codebook entries (IQ1 to IQ3) or digits (TQ1_0), looked
 * up: signed bytes and factors, in one form for all of them, so that a level multiplies them with one kernel.
 * Where the numbers lie: layout/panel.h; what blocks mean: quant/blocks.h. */
#ifndef CT_BOOKS_H
#define CT_BOOKS_H

#include "layout/panel.h"

enum { CT_BOOK_K = 256, CT_BOOK_GROUPS = CT_BOOK_K / CT_GROUP };

/* A chunk, looked up. It lies as a panel of planes with bytes: weight k of row r of a group is scale[k / 16]
 * * (byte - 128), and ws times that. */
struct ct_looked_up {
    _Alignas(64) float ws[CT_PANEL_ROWS];
    int8_t scale[CT_BOOK_GROUPS][CT_PANEL_ROWS][2];               /* of both halves of a group */
    uint8_t word[CT_BOOK_GROUPS][CT_GROUP / 4][CT_PANEL_ROWS][4]; /* k in fours */
};

/* Looks a chunk of a panel of the type up. */
typedef void ct_look_up(struct ct_looked_up *to, enum ct_type type, const uint8_t *chunk);

/* Whether panels of the type are looked up. */
static inline bool ct_is_book(enum ct_type type)
{
    return ct_panel_of(type)->lines == CT_LINES_NUMBERS;
}

/* The way to look up: in plain C, or with `wide` for levels with vectors of 512 bits, the best that the
 * processor has. Bytes are the same. Any thread, any number of times. */
ct_look_up *ct_book_reader(bool wide);

/* The way with permutations of bytes (AVX-512 VBMI), for a processor that has them; `init` comes before. */
void ct_book_init_vbmi(void);
ct_look_up ct_look_up_vbmi;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* books.h: chunks of the types that keep numbers of codebook entries (IQ1 to IQ3) or digits (TQ1_0), looked
 * up: signed bytes and factors, in one form for all of them, so that a level multiplies them with one kernel.
 * Where the numbers lie: layout/panel.h; what blocks mean: quant/blocks.h. */
#ifndef CT_BOOKS_H
#define CT_BOOKS_H

#include "layout/panel.h"

enum { CT_BOOK_K = 256, CT_BOOK_GROUPS = CT_BOOK_K / CT_GROUP };

struct tokens; /* kernel/panel_kind.h */

/* A chunk, looked up. It lies as a panel of planes with bytes: weight k of row r of a group is scale[k / 16]
 * * (byte - 128), and ws times that. */
struct ct_looked_up {
    _Alignas(64) float ws[CT_PANEL_ROWS];
    int8_t scale[CT_BOOK_GROUPS][CT_PANEL_ROWS][2];               /* of both halves of a group */
    uint8_t word[CT_BOOK_GROUPS][CT_GROUP / 4][CT_PANEL_ROWS][4]; /* k in fours */
};

/* Looks a chunk of a panel of the type up. */
typedef void ct_look_up(struct ct_looked_up *to, enum ct_type type, const uint8_t *chunk);

/* True when panels of the type are looked up. */
static inline bool ct_is_book(enum ct_type type)
{
    return ct_panel_of(type)->lines == CT_LINES_NUMBERS;
}

/* The way to look up: plain C, with vectors of 256 bits, or for levels with those of 512 bits; of these the
 * best that the processor has. Bytes are the same. Any thread, any number of times. */
enum ct_book_way { CT_BOOK_PLAIN, CT_BOOK_256, CT_BOOK_512, CT_BOOK_WAYS };
ct_look_up *ct_book_reader(enum ct_book_way way);

/* Looks the first groups of a panel up, so many, in whole chunks that lie at `to`, which is what it gives.
 * CT_SCRATCH has room for a panel. */
const uint8_t *ct_look_up_panel(struct ct_looked_up *to, enum ct_book_way way, enum ct_type type,
                                const uint8_t *panel, int groups);

/* Adds groups of a chunk, so many, to the sums of 16 rows: their products with a token, of which these groups
 * are the ones from `at` on. Entries are multiplied where they are looked up; the type has entries. */
typedef void ct_book_multiply(float *acc, enum ct_type type, const uint8_t *chunk, const struct tokens *x,
                              int at, int groups);
ct_book_multiply ct_book_multiply_vnni;

/* Entries of a type, for ways that look them up in tables: there once a reader was asked for. */
struct ct_book {
    const uint8_t *entries; /* bytes, + 128; NULL: the type has digits */
    int size;               /* weights of an entry */
    float unit;             /* of a weight, in d */
    bool eighth;            /* what a weight has is no sign, but an eighth more or less */
};
extern const struct ct_book ct_books[CT_TYPE_COUNT];

/* The ways with AVX2, and with permutations of bytes (AVX-512 VBMI), for a processor that has them; `init`
 * comes before, with what all types have. */
void ct_book_init_avx2(const struct ct_book *books);
ct_look_up ct_look_up_avx2;
void ct_book_init_vbmi(void);
ct_look_up ct_look_up_vbmi;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* panel_kind.h: the integer types in panels as files of kernels see them, of any architecture: what codes and
 * factors of a group are, and how a token's prepared input lies. Where they lie: panel.h. */
#ifndef CT_PANEL_KIND_H
#define CT_PANEL_KIND_H

#include "kernel/books.h"
#include "kernel/compiler.h"
#include "kernel/kernel.h"
#include "layout/panel.h"

enum { AHEAD = 2048 }; /* bytes between a line and what is prefetched with it, where the panel goes on */

enum factor {
    OWN,      /* an f16 scale of each group */
    OWN_PAIR, /* an f16 scale, an f16 minimum */
    PAIR,     /* d * scale, dmin * minimum */
    HALVES,   /* d, a signed scale for each half */
    NIBBLES,  /* d, dmin, a scale and a minimum for each half */
    SIGNED,   /* d * signed scale */
    EXPONENT, /* 2^(e - 128) */
    WHOLE,    /* d */
    ODD,      /* f32, a signed scale for each half: of chunks looked up */
    APART,    /* half an E4M3 for each half, which has a sum of its own */
    BLOCK,    /* scale, zero * scale */
};

/* A kind of panel, constant where it is used. */
struct kind {
    int bits; /* of a code */
    enum factor factor;
    int zero;            /* the code of weight 0; of a table 0 */
    int groups;          /* in a chunk */
    int header;          /* bytes before its lines */
    const int8_t *table; /* what codes stand for, NULL: themselves */
};

/* KIND(type, members of struct kind): those whose lines are bytes or nibbles, and those in planes. */
#define CT_KINDS_OF_LINES(KIND)                                                                              \
    KIND(CT_Q8_0, 8, OWN, 128, 2, 64, NULL)                                                                  \
    KIND(CT_Q4_0, 4, OWN, 8, 2, 64, NULL)                                                                    \
    KIND(CT_Q4_1, 4, OWN_PAIR, 0, 2, 128, NULL)                                                              \
    KIND(CT_IQ4_NL, 4, OWN, 0, 2, 64, ct_iq4_values)
#define CT_KINDS_OF_PLANES(KIND)                                                                             \
    KIND(CT_Q5_0, 5, OWN, 16, 2, 64, NULL)                                                                   \
    KIND(CT_Q5_1, 5, OWN_PAIR, 0, 1, 64, NULL)                                                               \
    KIND(CT_Q2_K, 2, NIBBLES, 0, 8, 320, NULL)                                                               \
    KIND(CT_Q3_K, 3, HALVES, 4, 8, 320, NULL)                                                                \
    KIND(CT_Q4_K, 4, PAIR, 0, 8, 320, NULL)                                                                  \
    KIND(CT_Q5_K, 5, PAIR, 0, 8, 320, NULL)                                                                  \
    KIND(CT_Q6_K, 6, HALVES, 32, 8, 320, NULL)                                                               \
    KIND(CT_IQ4_XS, 4, SIGNED, 0, 8, 192, ct_iq4_values)                                                     \
    KIND(CT_MXFP4, 4, EXPONENT, 0, 4, 64, ct_mxfp4_values)                                                   \
    KIND(CT_TQ2_0, 2, WHOLE, 1, 8, 64, NULL)                                                                 \
    KIND(CT_Q1_0, 1, WHOLE, 0, 4, 32, ct_q1_values)                                                          \
    KIND(CT_Q2_0, 2, WHOLE, 1, 2, 32, NULL)                                                                  \
    KIND(CT_NVFP4, 4, APART, 0, 2, 64, ct_mxfp4_values)                                                      \
    KIND(CT_I8, 8, BLOCK, 128, 4, 64, NULL)

/* Fields of struct ct_looked_up, for all types of books. */
#define CT_KIND_OF_BOOKS                                                                                     \
    {                                                                                                        \
        8, ODD, 128, CT_BOOK_GROUPS, 320, NULL                                                               \
    }

INLINE bool by_halves(const enum factor factor)
{
    return factor == HALVES || factor == NIBBLES || factor == ODD;
}

INLINE int group_bytes(const struct kind kind)
{
    return 64 * kind.bits;
}

INLINE int chunk_bytes(const struct kind kind)
{
    return kind.header + kind.groups * group_bytes(kind);
}

/* The bytes of a chunk as it lies in a panel of the type. */
INLINE int stored_bytes(const struct kind kind, enum ct_type type)
{
    return kind.factor == ODD ? ct_panel_of(type)->bytes : chunk_bytes(kind);
}

/* A block of tokens of a prepared input (CT_INPUT_LANES), `lanes` of them side by side. */
struct tokens {
    const int8_t *q;    /* [k/4][lanes][4]; i8mm [k/8][lanes][8] */
    const float *scale; /* [group][lanes] */
    const int32_t *sum; /* [group][lanes]; Arm [group][half][lanes] */
    const int32_t
        *pair; /* [group][lanes], both halves' sums in 16 bits, the first low; of vectors of 256 bits */
};

#endif

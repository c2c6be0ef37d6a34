/* SPDX-License-Identifier: Apache-2.0 */
/* level.h: the levels of kernels, in one table: who they are, what the processor must have, what they
 * multiply with. carat_isa_name lists them. What a level computes, and how, is kernel.h's. */
#ifndef CT_LEVEL_H
#define CT_LEVEL_H

#include "base/base.h"
#include "carat_tools.h"

/* Instructions that products of a level stand on, each with the width of its vectors; machine/roofline.c has
 * a loop for each. Without a dot of bytes nibbles are cheaper than bytes: eight sums of two fit 16 bits. */
enum ct_multiply {
    CT_MULTIPLY_UNKNOWN,
    CT_FMA_256,
    CT_FMA_512,
    CT_BYTES_256,
    CT_BYTES_512,
    CT_NIBBLES_256,
    CT_NIBBLES_512,
    CT_DOT_256,
    CT_DOT_512,
    CT_TILES_BF16,
    CT_TILES_INT8,
    CT_MULTIPLY_COUNT,
};

/* The kind of instruction that the level of that name multiplies with; UNKNOWN for a level without
 * figures. */
enum ct_multiply ct_level_multiply(const char *isa, carat_arithmetic a);

#define CT_MOST_LEVELS 16 /* of all architectures */

/* "ref, avx2 and amx": the levels of this architecture, for messages. */
struct ct_level_names {
    char text[96];
};
struct ct_level_names ct_level_names(void);

#endif

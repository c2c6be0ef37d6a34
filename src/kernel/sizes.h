/* SPDX-License-Identifier: Apache-2.0 */
/* sizes.h: sizes of tiles and blocks that are tuned for a level, in one table. Files of kernels have those of
 * the level they are compiled for as constants; what callers must know level.c puts into struct ct_kernel.
 * Three kinds of sizes stand at the top of the file that uses them: those that follow from the number of
 * registers, from a loop that all levels share, and how far ahead of a line memory is asked for. */
#ifndef CT_SIZES_H
#define CT_SIZES_H

#include "kernel/kernel.h"

/* queries           that share a tile of attention, at most CT_QUERIES: with AVX2 8 times the three, with
 * AVX-512 twice the twelve whose sums fill the registers, with a panel of keys about what
 * the first cache holds; with AMX two tiles of 16 rows_few, _many   output rows of a block: see struct
 * ct_kernel floats, integers  panels of one token in flight, as many streams from memory. Four reach the
 * limit of                   Intel's processors with AVX2, eight with AVX-512, where one is 10 % slower than
 * four. A                   Zen reads one stream best, which its prefetchers follow: a Zen 3, the likeliest
 * to come                   here with plain AVX2, integers 5 to 25 % faster than four, a Zen 4 up to 40 %. So
 * kernels                   of AVX-512 have both ways (level.c chooses) cached            bytes of inputs
 * that stay in a cache of 512 KiB while panels go by long_panel        bytes of a panel that would leave a
 * small first cache nothing of the input: longer ones are                   read four at a time on every
 * processor, since they share each reading of the input tokens            whose inputs, of up to 2048 k, stay
 * in the cache while panels go by, where it is no                   matter of bytes part              k of a
 * panel that are signed bytes at a time, beside those tokens in the nearest cache deep              k of bf16
 * whose inputs stay in the cache beside those of so many tokens */
#define CT_LEVEL_SIZES(ROW)                                                                                  \
    /*  level  queries few many floats integers cached long_panel tokens part deep */                        \
    ROW(ref, 16, 64, 32, 1, 1, 0, 0, 0, 0, 0)                                                                \
    ROW(avx2, 24, 64, 32, 4, 1, 128 << 10, 0, 0, 0, 0)                                                       \
    ROW(avxvnni, 24, 64, 32, 4, 4, 128 << 10, 0, 0, 0, 0)                                                    \
    ROW(avx512, 24, 64, 32, 8, 8, 0, 32 << 10, 0, 0, 0)                                                      \
    ROW(vnni, 24, 64, 32, 8, 8, 0, 32 << 10, 0, 0, 0)                                                        \
    ROW(amx, 32, 64, 32, 0, 0, 0, 0, 256, 1280, 2304)                                                        \
    ROW(neon, 16, 64, 32, 1, 1, 0, 0, 0, 0, 0)                                                               \
    ROW(dotprod, 16, 64, 32, 1, 1, 0, 0, 0, 0, 0)                                                            \
    ROW(i8mm, 16, 64, 32, 1, 1, 0, 0, 0, 0, 0)

#define ROW(level, a, b, c, d, e, f, g, h, i, j)                                                             \
    enum {                                                                                                   \
        ct_queries_##level = a,                                                                              \
        ct_rows_few_##level = b,                                                                             \
        ct_rows_many_##level = c,                                                                            \
        ct_floats_##level = d,                                                                               \
        ct_integers_##level = e,                                                                             \
        ct_cached_##level = f,                                                                               \
        ct_long_panel_##level = g,                                                                           \
        ct_tokens_##level = h,                                                                               \
        ct_part_##level = i,                                                                                 \
        ct_deep_##level = j                                                                                  \
    };                                                                                                       \
    _Static_assert((a) <= CT_QUERIES, "a tile holds no more");                                               \
    _Static_assert((c) % CT_GROUP == 0, "results of a block are quantised in whole groups");
CT_LEVEL_SIZES(ROW)
#undef ROW

/* The size of that name for the level being compiled; an emulation in test/ says whose sizes it takes. */
#ifndef CT_SIZES_OF
#define CT_SIZES_OF CT_ISA
#endif
#define CT_SIZE(name) CT_PASTE(ct_##name, CT_SIZES_OF)

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* tile.h: the seven instructions of AMX that kernels use, t being a literal 0 to 7. Own assembly: compilers'
 * intrinsics do not all say which memory they touch, and need options for a whole file. Configuration and
 * data belong to a thread: a call configures first and releases last, and calls nothing in between. Tests
 * have the same in plain C. */
#ifndef CT_TILE_H
#define CT_TILE_H

#include "base/base.h"

/* The instruction ldtilecfg reads this. */
struct ct_tile_config {
    uint8_t palette, start_row, zero[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

#define CT_TILE_CONFIG(c) __asm__ volatile("ldtilecfg %0" ::"m"(*(c)))
#define CT_TILE_RELEASE() __asm__ volatile("tilerelease" ::: "memory")
#define CT_TILE_LOAD(t, p, apart)                                                                            \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t ::"r"(p), "r"((long)(apart)) : "memory")
#define CT_TILE_STORE(t, p, apart)                                                                           \
    __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)" ::"r"(p), "r"((long)(apart)) : "memory")
#define CT_TILE_ZERO(t) __asm__ volatile("tilezero %%tmm" #t ::)
/* c[row][column] += 4 signed bytes of a[row] times 4 of b[][column], for all of k; with two bf16, by the
 * chains of NUMERICS.md section 5 */
#define CT_TILE_DOT_BYTES(c, a, b) __asm__ volatile("tdpbssd %%tmm" #b ", %%tmm" #a ", %%tmm" #c ::)
#define CT_TILE_DOT_BF16(c, a, b)  __asm__ volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c ::)

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* blocks.h: block structs exactly as they lie in files (little-endian, packed by construction), and what
 * their bits mean. d, dmin and m are f16; lo and hi are the nibbles of a byte. Reading them: quant.c. */
#ifndef CT_BLOCKS_H
#define CT_BLOCKS_H

#include <stdint.h>

/* Tensors in a file may start at any byte, so that a pointer to a block promises nothing. */
#define CT_BLOCK __attribute__((packed, may_alias))

/* ---- 32 weights; of 16 bytes the low nibbles come first, then the high ones ---- */

/* w = d * q */
struct CT_BLOCK ct_block_q8_0 {
    uint16_t d;
    int8_t q[32];
};

/* w = d * (nibble - 8) */
struct CT_BLOCK ct_block_q4_0 {
    uint16_t d;
    uint8_t q[16];
};

/* w = d * nibble + m */
struct CT_BLOCK ct_block_q4_1 {
    uint16_t d, m;
    uint8_t q[16];
};

/* w = d * (nibble + 16 * bit i of high - 16) */
struct CT_BLOCK ct_block_q5_0 {
    uint16_t d;
    uint8_t high[4];
    uint8_t q[16];
};

/* w = d * (nibble + 16 * bit i of high) + m */
struct CT_BLOCK ct_block_q5_1 {
    uint16_t d, m;
    uint8_t high[4];
    uint8_t q[16];
};

/* w = d * table[nibble] */
struct CT_BLOCK ct_block_iq4_nl {
    uint16_t d;
    uint8_t q[16];
};

/* w = 2^(e - 128) * twice the E2M1 value of the nibble */
struct CT_BLOCK ct_block_mxfp4 {
    uint8_t e;
    uint8_t q[16];
};

/* ---- 256 weights in 8 groups of 32 ---- */

/* Half i of a group, 16 weights: w = d * lo(scale) * v - dmin * hi(scale); v has 2 bits: group g has bits
 * 2(g%4) of the 32 bytes at 32 * (g/4). */
struct CT_BLOCK ct_block_q2_k {
    uint8_t scale[16];
    uint8_t q[64];
    uint16_t d, dmin;
};

/* w = d * (scale - 32) * (v - 4); v has 2 bits as in Q2_K and bit g of high as its third; 16 scales of 6
 * bits: nibbles in the first 8 bytes (low ones first), the upper 2 bits in the last 4, scale k at byte k%4,
 * bits 2(k/4). */
struct CT_BLOCK ct_block_q3_k {
    uint8_t high[32];
    uint8_t q[64];
    uint8_t scale[12];
    uint16_t d;
};

/* w = (d * sc) * v - (dmin * mn), sc and mn of a group in 6 bits each, packed as unpack_6bit says; two groups
 * share 32 bytes, the first has the low nibbles. */
struct CT_BLOCK ct_block_q4_k {
    uint16_t d, dmin;
    uint8_t scale[12];
    uint8_t q[128];
};

/* As Q4_K, and bit g of high is the fifth bit of v. */
struct CT_BLOCK ct_block_q5_k {
    uint16_t d, dmin;
    uint8_t scale[12];
    uint8_t high[32];
    uint8_t q[128];
};

/* w = d * scale * (v - 32), a scale for each 16; of each half (64 bytes of low, 32 of high): group k has
 * nibble k/2 of the 32 bytes at 32(k%2), and bits 2k of high above it. */
struct CT_BLOCK ct_block_q6_k {
    uint8_t low[128];
    uint8_t high[64];
    int8_t scale[16];
    uint16_t d;
};

/* w = (d * (scale - 32)) * table[nibble]; group g has its own 16 bytes; scale: nibble g of low, bits 2g of
 * high. */
struct CT_BLOCK ct_block_iq4_xs {
    uint16_t d;
    uint16_t scale_high;
    uint8_t scale_low[4];
    uint8_t q[128];
};

/* ---- 256 weights by codebooks (quant/grids.h): of 32 weights 4 entries of 8, or 8 entries of 4. Where signs
 * have 7 bits for 8 weights, the eighth makes their number even; a set bit is a minus. ---- */

/* Of each 32 weights 8 bytes: the numbers of 4 entries, then 4 times 7 bits of signs, and s in 4 bits:
 * w = d / 8 * (2s + 1) * entry */
struct CT_BLOCK ct_block_iq2_xxs {
    uint16_t d;
    uint8_t q[64];
};

/* 9 bits of an entry's number and 7 of signs; s of a half in a nibble: w = d / 8 * (2s + 1) * entry */
struct CT_BLOCK ct_block_iq2_xs {
    uint16_t d;
    uint16_t q[32];
    uint8_t scale[8];
};

/* Numbers of entries, whose upper 2 bits are in high; 8 signs; s of a half: w = d / 8 * (2s + 1) * entry */
struct CT_BLOCK ct_block_iq2_s {
    uint16_t d;
    uint8_t q[32], sign[32];
    uint8_t high[8];
    uint8_t scale[8];
};

/* Numbers of 8 entries of each 32 weights; then of each 32 again 4 times 7 bits of signs, and s in 4 bits:
 * w = d / 4 * (2s + 1) * entry */
struct CT_BLOCK ct_block_iq3_xxs {
    uint16_t d;
    uint8_t q[64];
    uint8_t sign[32];
};

/* Numbers of entries, whose ninth bits are in high; 8 signs; s of 32 weights in a nibble:
 * w = d * (2s + 1) * entry */
struct CT_BLOCK ct_block_iq3_s {
    uint16_t d;
    uint8_t q[64];
    uint8_t high[8];
    uint8_t sign[32];
    uint8_t scale[4];
};

/* Numbers of entries, whose upper 3 bits are in high, with s in 3 bits and then the sign of 1/8:
 * w = d * (2s + 1) * (entry +- 1/8) */
struct CT_BLOCK ct_block_iq1_s {
    uint16_t d;
    uint8_t q[32];
    uint16_t high[8];
};

/* As IQ1_S, but a nibble of high has the upper 3 bits and the sign of 1/8 for 8 weights, and s is that of 16,
 * in 3 of the lower 12 bits of a scale; the upper 4 bits of the four scales are those of d. */
struct CT_BLOCK ct_block_iq1_m {
    uint8_t q[32];
    uint8_t high[16];
    uint16_t scale[4];
};

/* ---- few values ---- */

/* 256 weights: w = d * digit; a byte b of 32, then of 16, has 5 digits -1, 0, 1 for weights that many apart,
 * a byte of high 4: digit n is the integer part of 3 * (b * 3^n mod 256) / 256, less 1 */
struct CT_BLOCK ct_block_tq1_0 {
    uint8_t q[48];
    uint8_t high[4];
    uint16_t d;
};

/* 256 weights: w = d * (v - 1); v has 2 bits as in Q2_K */
struct CT_BLOCK ct_block_tq2_0 {
    uint8_t q[64];
    uint16_t d;
};

/* 128 weights: w = d or, where the bit is clear, -d */
struct CT_BLOCK ct_block_q1_0 {
    uint16_t d;
    uint8_t q[16];
};

/* 64 weights: w = d * (v - 1), v in 2 bits, the first in the lowest */
struct CT_BLOCK ct_block_q2_0 {
    uint16_t d;
    uint8_t q[16];
};

/* 64 weights: of each 16 a factor in E4M3 without sign, and 8 bytes: low nibbles, then high ones;
 * w = half the factor * twice the E2M1 value of the nibble */
struct CT_BLOCK ct_block_nvfp4 {
    uint8_t d[4];
    uint8_t q[32];
};

/* ---- gemma.cpp ---- */

/* 128 weights: w = fma(scale, q, -(zero * scale)); both are bf16 */
struct CT_BLOCK ct_block_i8 {
    uint16_t scale, zero;
    int8_t q[128];
};

/* 256 weights: w = the SFP value centre[nibble], the low nibble first */
struct CT_BLOCK ct_block_nuq {
    uint8_t centre[16];
    uint8_t q[128];
};

_Static_assert(sizeof(struct ct_block_q8_0) == 34, "Q8_0 block");
_Static_assert(sizeof(struct ct_block_q4_0) == 18, "Q4_0 block");
_Static_assert(sizeof(struct ct_block_q4_1) == 20, "Q4_1 block");
_Static_assert(sizeof(struct ct_block_q5_0) == 22, "Q5_0 block");
_Static_assert(sizeof(struct ct_block_q5_1) == 24, "Q5_1 block");
_Static_assert(sizeof(struct ct_block_iq4_nl) == 18, "IQ4_NL block");
_Static_assert(sizeof(struct ct_block_mxfp4) == 17, "MXFP4 block");
_Static_assert(sizeof(struct ct_block_q2_k) == 84, "Q2_K block");
_Static_assert(sizeof(struct ct_block_q3_k) == 110, "Q3_K block");
_Static_assert(sizeof(struct ct_block_q4_k) == 144, "Q4_K block");
_Static_assert(sizeof(struct ct_block_q5_k) == 176, "Q5_K block");
_Static_assert(sizeof(struct ct_block_q6_k) == 210, "Q6_K block");
_Static_assert(sizeof(struct ct_block_iq4_xs) == 136, "IQ4_XS block");
_Static_assert(sizeof(struct ct_block_iq2_xxs) == 66, "IQ2_XXS block");
_Static_assert(sizeof(struct ct_block_iq2_xs) == 74, "IQ2_XS block");
_Static_assert(sizeof(struct ct_block_iq2_s) == 82, "IQ2_S block");
_Static_assert(sizeof(struct ct_block_iq3_xxs) == 98, "IQ3_XXS block");
_Static_assert(sizeof(struct ct_block_iq3_s) == 110, "IQ3_S block");
_Static_assert(sizeof(struct ct_block_iq1_s) == 50, "IQ1_S block");
_Static_assert(sizeof(struct ct_block_iq1_m) == 56, "IQ1_M block");
_Static_assert(sizeof(struct ct_block_tq1_0) == 54, "TQ1_0 block");
_Static_assert(sizeof(struct ct_block_tq2_0) == 66, "TQ2_0 block");
_Static_assert(sizeof(struct ct_block_q1_0) == 18, "Q1_0 block");
_Static_assert(sizeof(struct ct_block_q2_0) == 18, "Q2_0 block");
_Static_assert(sizeof(struct ct_block_nvfp4) == 36, "NVFP4 block");
_Static_assert(sizeof(struct ct_block_i8) == 132, "I8 block");
_Static_assert(sizeof(struct ct_block_nuq) == 144, "NUQ block");

#endif

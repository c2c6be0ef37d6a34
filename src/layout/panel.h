/* SPDX-License-Identifier: Apache-2.0 */
/* panel.h: how a packed weight lies in memory, for packing (panels.c) and for kernels. A panel is 16 rows
 * side by side: vectors hold rows, so a sum over k stays inside a lane and keeps the order of NUMERICS.md.
 * One layout serves every instruction set: a line of 64 bytes is 16 rows of 4 consecutive k (bytes), of 8
 * (nibbles), of 2 (16 bit) or of 1.
 *
 * A panel is a run of chunks, each first its scales and minima, then its lines:
 *   bytes    64 k: [2 groups][16] f16 scales, as many minima, then 16 lines of [16][4] bytes, weight + 128
 *   nibbles  64 k: the same before 8 lines of [16][4] bytes: low nibbles are k 0..3 of 8, high nibbles k 4..7
 *   16 bit   32 k: 16 lines of [16][2]
 *   SFP      32 k: 8 lines of [16][4] codes
 *   32 bit   32 k: 32 lines of [16]
 *   planes   32 to 256 k: perhaps [16] 16 bit factors once or twice, then [groups][16][1 or 2] bytes,
 *            factors of groups (both padded to 64 bytes, alone to 32), then for each group of 32 as many
 *            lines as a weight has bits: planes of 8, 4 or 2 bits, then perhaps one of the 1 or 2 above
 *            them; or one of 1. In a plane of b bits a line has 32 / b words of [16][4] k in a row, the
 *            first in the lowest bits; the nibbles above are such a plane too
 *   numbers  256 k: what a block of codebook entries or of base 3 digits has, unchanged: for each run of its
 *            bytes the [16] rows side by side, in runs of 1, 2 or 4 bytes (the table in panels.c)
 *   palettes of F16 in layout NIBBLES, where four rows share one of 16 entries: [4 fours][16] low bytes of
 *            entries, as many high ones, and for each 8 k a line of indices, [4 fours][2][4 rows][2]: of k
 *            0 1, 2 3 in low nibbles, 4 5, 6 7 in high ones
 * Factors of planes: Q4_K, Q5_K d, dmin; scale, minimum of a group. Q2_K the same, one byte of two nibbles
 * for each half of a group. Q6_K, Q3_K d; a signed scale for each half. IQ4_XS d; signed scale. MXFP4 the
 * exponent. Q5_0 an f16 scale of a group. Q5_1, of a group to a chunk, scale, minimum. I8 bf16 scale, zero.
 * TQ2_0, Q2_0, Q1_0 d. NVFP4 two bytes of E4M3, one for each half.
 * Rows are padded to 16 and k to whole chunks; what is padded has scale 0 or weight 0. */
#ifndef CT_PANEL_H
#define CT_PANEL_H

#include "quant/weight.h"

enum ct_lines {
    CT_LINES_NONE,
    CT_LINES_BYTE,
    CT_LINES_NIBBLE,
    CT_LINES_16,
    CT_LINES_32,
    CT_LINES_PLANES,
    CT_LINES_NUMBERS
};

struct ct_panel {
    enum ct_lines lines; /* NONE: the type is not packed */
    int k;               /* values of k in a chunk */
    int bytes;           /* of a chunk */
};

/* The panel form of a type. */
const struct ct_panel *ct_panel_of(enum ct_type type);

/* Bytes of a panel of a type; 0: the type is not packed. */
size_t ct_panel_size(enum ct_type type, int cols);

static inline size_t ct_panel_bytes(const struct ct_panel *p, int cols)
{
    return (size_t)((cols + p->k - 1) / p->k) * (size_t)p->bytes;
}

/* The number of bits of a weight that the first plane has. */
static inline int ct_plane_bits(int bits)
{
    return bits < 2 ? 1 : bits < 4 ? 2 : bits < 8 ? 4 : 8;
}

/* Packs rows [r0, r0 + 16) of w (layout ROWS or PALETTE) into one panel; rows that w does not have become
 * zeros. */
void ct_pack(uint8_t *panel, const struct ct_weight *w, int r0);
/* True when rows of w lie as files of its type store them; else ct_unpack makes such. */
static inline bool ct_lies_in_rows(const struct ct_weight *w)
{
    return !ct_in_panels(w) && w->layout != CT_LAYOUT_PALETTE;
}
/* Row r of w (in panels; row_bytes are the bytes of one) as it was stored; of indices the values. */
void ct_unpack(uint8_t *row, const struct ct_weight *w, int r);

#endif

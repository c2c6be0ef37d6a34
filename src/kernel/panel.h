/* panel.h: how a packed weight lies in memory, for packing (pack.c) and for kernels. A panel is 16 rows side by side:
 * vectors hold rows, so a sum over k stays inside a lane and keeps the order of NUMERICS.md. One layout serves every
 * instruction set: a line of 64 bytes is 16 rows of 4 consecutive k (bytes), of 8 (nibbles), of 2 (16 bit) or of 1.
 *
 * A panel is a run of chunks, each first its scales and minima, then its lines:
 *   bytes    64 k: [2 groups][16] f16 scales, as many minima, then 16 lines of [16][4] bytes, weight + 128
 *   nibbles  64 k: the same before 8 lines of [16][4] bytes: low nibbles are k 0..3 of 8, high nibbles k 4..7
 *   16 bit   32 k: 16 lines of [16][2]
 *   32 bit   32 k: 32 lines of [16]
 * Rows are padded to 16 and k to whole chunks; what is padded has scale 0 or weight 0. */
#ifndef CT_PANEL_H
#define CT_PANEL_H

#include "kernel/kernel.h"

#define CT_PANEL_ROWS 16

enum ct_lines { CT_LINES_NONE, CT_LINES_BYTE, CT_LINES_NIBBLE, CT_LINES_16, CT_LINES_32 };

struct ct_panel {
    enum ct_lines lines; /* NONE: the type is not packed */
    int k;               /* values of k in a chunk */
    int scales;          /* bytes of scales and minima before the lines of a chunk */
    int bytes;           /* of a chunk */
    bool minimum;
};

/* The panel form of a type. */
const struct ct_panel *ct_panel_of(enum ct_type type);

static inline size_t ct_panel_bytes(const struct ct_panel *p, int cols)
{
    return (size_t)((cols + p->k - 1) / p->k) * (size_t)p->bytes;
}

/* Packs rows [r0, r0 + 16) of w (layout ROWS) into one panel; rows that w does not have become zeros. */
void ct_pack(uint8_t *panel, const struct ct_weight *w, int r0);
/* Row r of w (layout PANELS; row_bytes are the bytes of a panel) as it was stored. */
void ct_unpack(uint8_t *row, const struct ct_weight *w, int r);

#endif

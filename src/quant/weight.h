/* SPDX-License-Identifier: Apache-2.0 */
/* weight.h: a matrix of stored values and how it lies in memory. What is done with it: backend/backend.h;
 * what lies in a panel: layout/panel.h.
 *
 * Opening a model copies nothing: weights lie as the file has them (CT_LAYOUT_ROWS, and CT_LAYOUT_PALETTE for
 * indices beside a copy of their palettes). Creating an engine packs them into panels, which every
 * instruction set reads. */
#ifndef CT_WEIGHT_H
#define CT_WEIGHT_H

#include "quant/quant.h"

#define CT_PANEL_ROWS 16 /* rows side by side in a packed weight */
#define CT_STREAMS    4  /* residual streams of Gemma 3n (AltUp); layers work on the first */

/* How a weight lies in memory; the model never looks. */
enum ct_layout {
    CT_LAYOUT_ROWS,   /* as in the file: rows one after another, row_bytes apart */
    CT_LAYOUT_PANELS, /* panels of CT_PANEL_ROWS rows, row_bytes apart */
    CT_LAYOUT_TABLE,  /* rows likewise, of which only those of a pass's tokens are ever read */
    /* rows of indices as in the file, row_bytes apart; ct_weight.palettes have the values, of F16 */
    CT_LAYOUT_PALETTE,
    CT_LAYOUT_NIBBLES, /* panels likewise, of such indices and their palettes (layout/panel.h) */
    CT_LAYOUT_DEVICE,  /* in memory of a device, as its kernels read it; row_bytes are those of the file */
};

/* A matrix (or, with rows == 1, a vector) of weights. data == NULL means absent. */
struct ct_weight {
    enum ct_type type;
    enum ct_layout layout;
    int rows, cols; /* outputs, inputs */
    size_t row_bytes;
    const void *data;
    float scale;    /* factor on the whole matrix: 1 except in files that store one */
    bool f32_input; /* it decides a discrete choice: its inputs are f32 in both arithmetics */
    const struct ct_palettes *palettes; /* of CT_LAYOUT_PALETTE; NULL for all others */
};

/* Bytes of a panel of indices: of palettes, and of 32 k. */
enum { CT_PALETTE_HEAD = 128, CT_PALETTE_GROUP = 256 };
static inline size_t ct_palette_panel_bytes(int cols)
{
    return CT_PALETTE_HEAD + (size_t)(ct_pad_group(cols) / CT_GROUP) * CT_PALETTE_GROUP;
}

static inline bool ct_in_panels(const struct ct_weight *w)
{
    return w->layout == CT_LAYOUT_PANELS || w->layout == CT_LAYOUT_NIBBLES;
}
/* Its rows, or panels; the last panel may not be full. */
static inline int ct_weight_pieces(const struct ct_weight *w)
{
    return ct_in_panels(w) ? (w->rows + CT_PANEL_ROWS - 1) / CT_PANEL_ROWS : w->rows;
}
static inline size_t ct_weight_bytes(const struct ct_weight *w)
{
    return (size_t)ct_weight_pieces(w) * w->row_bytes;
}
/* Rows [r0, r1) of w; r0 begins a panel. */
static inline struct ct_weight ct_weight_rows(const struct ct_weight *w, int r0, int r1)
{
    const int piece = ct_in_panels(w) ? r0 / CT_PANEL_ROWS : r0;
    struct ct_weight p = *w;

    assert(r0 >= 0 && r0 <= r1 && r1 <= w->rows);
    p.data = (const uint8_t *)w->data + (size_t)piece * w->row_bytes;
    p.rows = r1 - r0;
    return p;
}

#endif

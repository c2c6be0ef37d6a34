/* SPDX-License-Identifier: Apache-2.0 */
/* palettes.h: matrices of indices (CT_LAYOUT_PALETTE) on their way into panels and back; for the packer and
 * panels.c. */
#ifndef CT_PALETTES_H
#define CT_PALETTES_H

#include "layout/panel.h"

/* True when w, of layout PALETTE, can lie in panels of indices: at most 4 bits, and four rows side by side
 * share a palette. */
bool ct_palette_fits(const struct ct_weight *w);
/* The values of row r in pairs: one after another, or (apart: 16) where a panel of F16 has them. */
void ct_unpack_entries(uint8_t *to, int apart, const struct ct_weight *w, int r);
/* Rows [r0, r0 + 16) of w, which fits, as a panel of indices. What is padded there has the index 0: kernels
 * multiply its entry by 0, so that entries have to be finite. */
void ct_pack_palette(uint8_t *panel, const struct ct_weight *w, int r0);
/* Row r of w, of layout NIBBLES, as values. */
void ct_unpack_palette(uint8_t *row, const struct ct_weight *w, int r);

#endif

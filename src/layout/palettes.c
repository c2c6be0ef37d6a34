/* SPDX-License-Identifier: Apache-2.0 */
/* palettes.c: matrices of indices, as files have them, into panels: of the values where a panel's rows or
 * their number of bits ask for it, else of the indices, beside the palettes of its rows. Layout: panel.h.
 *
 * Palettes whose rows allow it (ct_palette_fits) stay indices: 16 bytes are looked up at once in a palette's
 * low bytes, then in its high bytes, which together are the line of F16 that the product reads. For one token
 * a row's two chains lie side by side in lanes, for many a panel is looked up once. */
#include "layout/palettes.h"

#include "quant/palette.h"

enum { FOUR = 4, ENTRIES = 16, AT_ONCE = 256 };

/* A row of it among those of the whole matrix. */
static size_t row_of_all(const struct ct_weight *w, int r)
{
    return (size_t)((const uint8_t *)w->data - w->palettes->index) / w->row_bytes + (size_t)r;
}

static const uint16_t *entries_of(const struct ct_weight *w, int r)
{
    const struct ct_palettes *p = w->palettes;

    return p->entry + (row_of_all(w, r) / (size_t)p->shared << p->bits);
}

bool ct_palette_fits(const struct ct_weight *w)
{
    const size_t first = row_of_all(w, 0), shared = (size_t)w->palettes->shared;

    return w->palettes->bits <= 4 &&
           (first % FOUR + shared % FOUR == 0 || first / shared == row_of_all(w, w->rows - 1) / shared);
}

void ct_unpack_entries(uint8_t *to, int apart, const struct ct_weight *w, int r)
{
    const int bits = w->palettes->bits;
    const uint8_t *index = (const uint8_t *)w->data + (size_t)r * w->row_bytes;
    uint16_t value[AT_ONCE];

    for (int k = 0; k < w->cols; k += AT_ONCE, index += AT_ONCE / 8 * bits) {
        const int n = CT_MIN(AT_ONCE, w->cols - k);
        ct_palette_row(value, index, entries_of(w, r), bits, n);
        for (int i = 0; i < n; i += 2, to += 4 * apart)
            memcpy(to, value + i, sizeof *value * (size_t)CT_MIN(2, n - i));
    }
}

/* The place of the index of row r and k in a panel, and the shift of its bits. */
static size_t place_of(int r, int k, int *shift)
{
    *shift = k % 8 / 4 * 4;
    return (size_t)(CT_PALETTE_HEAD + k / 8 * 64 + r / FOUR * 16 + k % 4 / 2 * 8 + r % FOUR * 2 + k % 2);
}

void ct_pack_palette(uint8_t *panel, const struct ct_weight *w, int r0)
{
    static const uint16_t numbers[ENTRIES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const int bits = w->palettes->bits, rows = CT_MIN(CT_PANEL_ROWS, w->rows - r0);
    uint16_t code[AT_ONCE];
    int shift;

    memset(panel, 0, ct_palette_panel_bytes(w->cols));
    for (int r = 0; r < rows; r += FOUR)
        for (int i = 0; i < 1 << bits; i++) {
            const uint16_t entry = entries_of(w, r0 + r)[i];
            panel[r / FOUR * ENTRIES + i] = (uint8_t)entry;
            panel[CT_PALETTE_HEAD / 2 + r / FOUR * ENTRIES + i] = (uint8_t)(entry >> 8);
        }
    for (int r = 0; r < rows; r++) {
        const uint8_t *index = (const uint8_t *)w->data + (size_t)(r0 + r) * w->row_bytes;
        for (int k = 0; k < w->cols; k += AT_ONCE, index += AT_ONCE / 8 * bits) {
            const int n = CT_MIN(AT_ONCE, w->cols - k);
            ct_palette_row(code, index, numbers, bits, n);
            for (int i = 0; i < n; i++) {
                uint8_t *to = panel + place_of(r, k + i, &shift);
                *to = (uint8_t)(*to | code[i] << shift);
            }
        }
    }
}

void ct_unpack_palette(uint8_t *row, const struct ct_weight *w, int r)
{
    const uint8_t *panel = (const uint8_t *)w->data + (size_t)(r / CT_PANEL_ROWS) * w->row_bytes;
    int shift;

    r %= CT_PANEL_ROWS;
    for (int k = 0; k < w->cols; k++) {
        const uint8_t *from = panel + place_of(r, k, &shift);
        const int at = r / FOUR * ENTRIES + (*from >> shift & 15);
        row[2 * k] = panel[at];
        row[2 * k + 1] = panel[CT_PALETTE_HEAD / 2 + at];
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* pack_weight.c: packs a weight item by item; panels.c fills a panel. */
#include "layout/pack_weight.h"

#include "layout/palettes.h"

enum { ROWS_PER_ITEM = 16 }; /* or panels: some milliseconds, since an item is never interrupted */

struct ct_weight ct_packed_form(const struct ct_weight *w)
{
    struct ct_weight form = *w;
    const bool packs = (w->layout == CT_LAYOUT_ROWS && w->rows > 1) || w->layout == CT_LAYOUT_PALETTE;
    size_t panel = packs ? ct_panel_size(w->type, w->cols) : 0;

    form.data = NULL;
    if (panel) {
        form.layout = CT_LAYOUT_PANELS;
        form.row_bytes = panel;
        form.palettes = NULL;
    }
    if (w->layout == CT_LAYOUT_PALETTE && ct_palette_fits(w)) {
        form.layout = CT_LAYOUT_NIBBLES;
        form.row_bytes = ct_palette_panel_bytes(w->cols);
    }
    return form;
}

int ct_packing_items(const struct ct_packing *p)
{
    return (ct_weight_pieces(&p->form) + ROWS_PER_ITEM - 1) / ROWS_PER_ITEM;
}

void ct_pack_pieces(const struct ct_packing *p, int first, int last, uint8_t *to)
{
    const struct ct_weight *from = p->from;
    bool packs = ct_in_panels(&p->form) && !ct_in_panels(from);
    int begin = packs ? first * CT_PANEL_ROWS : first; /* rows or panels of the stored weight */
    int end = packs ? CT_MIN(last * CT_PANEL_ROWS, from->rows) : last;
    const uint8_t *stored = (const uint8_t *)from->data + (size_t)begin * from->row_bytes;
    size_t stored_bytes = (size_t)(end - begin) * from->row_bytes;

    assert(first < last && begin < end && p->form.rows == from->rows && p->form.cols == from->cols);
    assert(packs || from->layout == CT_LAYOUT_PALETTE || p->form.row_bytes == from->row_bytes);
    if (packs)
        for (int i = first; i < last; i++, to += p->form.row_bytes)
            (p->form.layout == CT_LAYOUT_NIBBLES ? ct_pack_palette : ct_pack)(to, from, i * CT_PANEL_ROWS);
    else if (from->layout == CT_LAYOUT_PALETTE)
        for (int i = first; i < last; i++, to += p->form.row_bytes)
            ct_unpack(to, from, i);
    else
        memcpy(to, stored, stored_bytes);
    if (p->done_with)
        p->done_with(p->user, stored, stored_bytes, (size_t)(last - first) * p->form.row_bytes);
}

void ct_pack_item(void *packing, int item, int thread)
{
    const struct ct_packing *p = packing;
    int first = item * ROWS_PER_ITEM, last = CT_MIN(first + ROWS_PER_ITEM, ct_weight_pieces(&p->form));

    (void)thread;
    ct_pack_pieces(p, first, last, p->to + (size_t)first * p->form.row_bytes);
}

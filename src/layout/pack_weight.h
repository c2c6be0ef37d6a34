/* SPDX-License-Identifier: Apache-2.0 */
/* pack_weight.h: a stored weight on its way into the form that kernels read, whether that lies in a file or
 * in memory. It is packed in items; whoever packs gives them to threads, and says what becomes of the stored
 * bytes. */
#ifndef CT_PACK_WEIGHT_H
#define CT_PACK_WEIGHT_H

#include "layout/panel.h"

struct ct_packing {
    const struct ct_weight *from;
    struct ct_weight form; /* ct_packed_form(from) */
    uint8_t *to;           /* ct_weight_bytes(&form); of ct_pack_item alone */
    /* Called by the thread that packed: the stored bytes are not needed any more. NULL: nobody asks. */
    void (*done_with)(void *user, const void *stored, size_t stored_bytes, size_t packed_bytes);
    void *user;
};

/* How a weight lies when it is packed: in panels where it is a matrix and its type can, else as it is.
 * Without data. */
struct ct_weight ct_packed_form(const struct ct_weight *w);
/* Packs pieces [first, last) of the form, which are panels or rows (ct_weight_pieces), to `to`. */
void ct_pack_pieces(const struct ct_packing *p, int first, int last, uint8_t *to);
int ct_packing_items(const struct ct_packing *p);
/* Packs one item, as ct_pool_run calls it. */
void ct_pack_item(void *packing, int item, int thread);

#endif

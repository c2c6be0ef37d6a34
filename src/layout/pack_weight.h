/* SPDX-License-Identifier: Apache-2.0 */
/* pack_weight.h: packs a stored weight into the form that kernels read, in memory or in a mapped file. The
 * work is divided into items, which the caller gives to threads.
 *
 * Packing is lossless: ct_unpack gives the stored row back, and rows of the embedding are read so. Level ref,
 * and exact arithmetic of integers, work on rows, which they unpack one by one where the model lies in
 * panels. */
#ifndef CT_PACK_WEIGHT_H
#define CT_PACK_WEIGHT_H

#include "layout/panel.h"

struct ct_packing {
    const struct ct_weight *from;
    struct ct_weight form; /* ct_packed_form(from) */
    uint8_t *to;           /* ct_weight_bytes(&form); of ct_pack_item alone */
    /* The packing thread calls it when it needs the stored bytes no more. May be NULL. */
    void (*done_with)(void *user, const void *stored, size_t stored_bytes, size_t packed_bytes);
    void *user;
};

/* A packed weight without its data: in panels where w is a matrix of a type that has panels, else as w is. */
struct ct_weight ct_packed_form(const struct ct_weight *w);
/* Packs pieces [first, last) of the form, which are panels or rows (ct_weight_pieces), to `to`. */
void ct_pack_pieces(const struct ct_packing *p, int first, int last, uint8_t *to);
int ct_packing_items(const struct ct_packing *p);
/* Packs one item, as ct_pool_run calls it. */
void ct_pack_item(void *packing, int item, int thread);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* kv_cache.h: the KV cache of an engine: where each layer's K and V of each sequence lie. Local layers
 * keep a ring, global layers every position. Layout inside a head: kernel.h. */
#ifndef CT_KV_CACHE_H
#define CT_KV_CACHE_H

#include "model/weights.h"

struct ct_cache {
    struct ct_kv layer[CT_MAX_LAYERS];
    int n_layer;
    size_t sequence_bytes, bytes; /* of one sequence, of all; whole pages */
    int ring[CT_KINDS];           /* slots of the layers of a kind */
};

/* Lays the cache out over base (NULL: only counts, see bytes). */
void ct_cache_plan(struct ct_cache *cache, const struct ct_config *c, enum ct_kv_type type, int context,
                   int chunk, int sequences, uint8_t *base);

#endif

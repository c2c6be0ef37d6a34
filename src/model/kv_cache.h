/* SPDX-License-Identifier: Apache-2.0 */
/* kv_cache.h: the KV cache of an engine: how many positions each layer keeps. Local layers keep a ring,
 * global layers every position. Where they lie is the backend's business. */
#ifndef CT_KV_CACHE_H
#define CT_KV_CACHE_H

#include "model/weights.h"

struct ct_kv_cache {
    struct ct_kv layer[CT_MAX_LAYERS];
    int ring; /* positions that the local layers keep */
};

/* Takes K and V of every layer from the backend. */
void ct_kv_cache_init(struct ct_kv_cache *cache, struct ct_backend *b, const struct ct_config *c,
                      enum ct_kv_type type, int context, int chunk);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* kv_cache.c: the arithmetic of kv_cache.h. */
#include "model/kv_cache.h"

void ct_kv_cache_init(struct ct_kv_cache *cache, struct ct_backend *b, const struct ct_config *c,
                      enum ct_kv_type type, int context, int chunk)
{
    cache->ring = context;
    for (int i = 0; i < c->n_layer; i++) {
        const struct ct_layer_config *l = &c->layer[i];
        int window = c->attn[l->attn_type].window, keep = context;
        /* a chunk is written before its first row attends, so a ring holds window - 1 older positions and
         * the chunk */
        if (window && window < context - chunk)
            keep = window + chunk;
        cache->layer[i] = b->verb.alloc_kv(b, type, keep, l->n_kv_head, l->head_dim);
        if (l->attn_type == CT_LOCAL)
            cache->ring = cache->layer[i].capacity;
    }
}

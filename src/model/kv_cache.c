/* SPDX-License-Identifier: Apache-2.0 */
/* kv_cache.c: the arithmetic of the KV cache's layout. */
#include "model/kv_cache.h"

#include "os/memory.h"

void ct_cache_plan(struct ct_cache *cache, const struct ct_config *c, enum ct_kv_type type, int context,
                   int chunk, int sequences, uint8_t *base)
{
    size_t at = 0;

    *cache = (struct ct_cache){.n_layer = c->n_layer};
    for (int i = 0; i < CT_KINDS; i++) {
        /* a chunk is stored before its first row attends, so a ring holds window - 1 older keys and the
         * chunk */
        size_t all = ct_round_up((size_t)context, CT_KEY_BLOCK);
        size_t ring = ct_round_up((size_t)c->kind[i].window + (size_t)chunk, CT_KEY_BLOCK);
        cache->ring[i] = (int)(c->kind[i].window ? CT_MIN(all, ring) : all);
    }
    for (int i = 0; i < c->n_layer; i++) {
        const struct ct_layer_config *l = &c->layer[i];
        struct ct_kv *kv = &cache->layer[i];
        kv->type = type;
        kv->capacity = cache->ring[l->kind];
        kv->n_kv_head = l->n_kv_head;
        kv->head_dim = l->head_dim;
        kv->head_bytes = ct_kv_bytes(type, kv->capacity, l->head_dim);
        kv->k = base ? base + at : NULL;
        at += kv->head_bytes * (size_t)l->n_kv_head;
        kv->v = base ? base + at : NULL;
        at += kv->head_bytes * (size_t)l->n_kv_head;
    }
    cache->sequence_bytes = ct_round_up(at, ct_os_page()); /* so that a sequence can be given back alone */
    cache->bytes = cache->sequence_bytes * (size_t)sequences;
    for (int i = 0; i < c->n_layer; i++)
        cache->layer[i].sequence_bytes = cache->sequence_bytes;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* forward.h: one pass of the decoder over the rows of one or several sequences. */
#ifndef CT_FORWARD_H
#define CT_FORWARD_H

#include "model/kv_cache.h"

/* A pass over one engine's memory: built once, run many times, allocates nothing. */
struct ct_pass {
    struct ct_backend *backend;
    const struct ct_config *config;
    const struct ct_weights *weights;
    const struct ct_cache *cache;
    int first, end; /* layers [first, end) are run */
    int layer;      /* the one under way, for those who watch */
    struct {
        ct_mat x, h, q, k, v, a, gate, logits;
    } t;
};

/* Takes the activations of max_rows rows, and logits of max_logits rows, from the backend. */
void ct_pass_init(struct ct_pass *p, struct ct_backend *backend, const struct ct_config *c,
                  const struct ct_weights *w, const struct ct_cache *cache, int max_rows, int max_logits);

/* Stores the rows' K and V, leaves the logits of the rows that want them in p->t.logits in their order. When
 * the backend's pool is stopped meanwhile the pass ends at once: K and V of its rows are then not all stored,
 * nothing else of the cache has changed, and there are no logits. */
void ct_forward(struct ct_pass *p, const struct ct_rows *rows);

#endif

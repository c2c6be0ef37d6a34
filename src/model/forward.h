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
    const struct ct_kv_cache *cache;
    int first, end; /* layers that run */
    int layer;      /* the one under way, for those who watch */

    /* Shapes: rows of the pass, then what each row holds. */
    ct_mat x;    /* [rows][hidden] the residual stream */
    ct_mat h;    /* [rows][hidden] what a block reads, then what it gives */
    ct_mat q;    /* [rows][n_head * head_dim] */
    ct_mat k, v; /* [rows][n_kv_head * head_dim] */
    ct_mat a;    /* [rows][n_head * head_dim] what attention gives */
    ct_mat gate; /* [rows][ffn] the hidden layer of the feed-forward */
};

/* Takes the activations of max_rows rows from the backend. */
void ct_pass_init(struct ct_pass *p, struct ct_backend *backend, const struct ct_config *c,
                  const struct ct_weights *w, const struct ct_kv_cache *cache, int max_rows);

/* Begins a pass, writes the rows' K and V into the cache, and leaves in p->h what the head reads, for the
 * rows whose logits are wanted. The caller runs the head (head.h) and ends the pass. */
void ct_forward(struct ct_pass *p, const struct ct_rows *rows, const struct ct_watch *watch);

#endif

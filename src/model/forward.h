/* SPDX-License-Identifier: Apache-2.0 */
/* forward.h: one pass of the decoder over the rows of one or several sequences. */
#ifndef CT_FORWARD_H
#define CT_FORWARD_H

#include "model/ple.h"

/* A pass over one engine's memory: built once, run many times, allocates nothing. */
struct ct_pass {
    struct ct_backend *backend;
    const struct ct_config *config;
    const struct ct_weights *weights;
    int last_kv;                                        /* the last layer that stores K and V of its own */
    int layer;                                          /* the one under way, for those who watch */
    ct_mat x, h, q, k, v, a, ffn, r, fit, e, inputs, u; /* forward.c says what they hold, and their shapes */
    ct_mat stream[CT_STREAMS], side, narrow, up;        /* of Gemma 3n: forward_3n.c */
    struct ct_ple ple;
};

/* Takes the activations of max_rows rows from the backend. */
void ct_pass_init(struct ct_pass *p, struct ct_backend *backend, const struct ct_config *c,
                  const struct ct_weights *w, int max_rows);

/* Begins a pass, writes the rows' K and V into the cache, and leaves in p->h what the head reads, for the
 * rows whose logits are wanted. The caller runs the head (head.h) and ends the pass. */
void ct_pass_run(struct ct_pass *p, const struct ct_rows *rows, const struct ct_watch *watch);
/* Its first part where layers have inputs of their own: x is the embedded tokens. forward.c has it. */
void ct_tell_inputs(struct ct_pass *p, const struct ct_rows *rows, ct_mat x);
/* What it is for Gemma 3n, and for all others. */
void ct_forward_3n(struct ct_pass *p, const struct ct_rows *rows, const struct ct_watch *watch);
void ct_forward(struct ct_pass *p, const struct ct_rows *rows, const struct ct_watch *watch);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* pass.c: what a pass works in. What happens in it: forward.c, and forward_3n.c for Gemma 3n. */
#include "model/forward.h"

void ct_pass_init(struct ct_pass *p, struct ct_backend *b, const struct ct_config *c,
                  const struct ct_weights *w, int max_rows)
{
    int q = 0, kv = 0, ffn = 0, fit = 0; /* the widest of any layer */
    int last_kv = 0;

    for (int i = 0; i < c->n_layer; i++) {
        const struct ct_layer_config *l = &c->layer[i];
        q = CT_MAX(q, l->n_head * l->head_dim);
        kv = CT_MAX(kv, l->n_kv_head * l->head_dim);
        ffn = CT_MAX(ffn, l->ffn);
        fit = CT_MAX(fit, l->n_expert);
        if (l->kv_layer == i)
            last_kv = i;
    }
    *p = (struct ct_pass){
        .backend = b,
        .config = c,
        .weights = w,
        .last_kv = last_kv,
        .x = b->verb.alloc(b, max_rows, c->hidden),
        .h = b->verb.alloc(b, max_rows, c->hidden),
        .q = b->verb.alloc(b, max_rows, q),
        .k = b->verb.alloc(b, max_rows, kv),
        .v = b->verb.alloc(b, max_rows, kv),
        .a = b->verb.alloc(b, max_rows, q),
        .ffn = b->verb.alloc(b, max_rows, ffn),
    };
    if (fit) {
        p->r = b->verb.alloc(b, max_rows, c->hidden);
        p->fit = b->verb.alloc(b, max_rows, fit);
        p->e = b->verb.alloc(b, max_rows, c->hidden);
    }
    for (int i = 0; i < CT_STREAMS && c->altup; i++)
        p->stream[i] = b->verb.alloc(b, max_rows, c->hidden);
    if (c->altup) {
        p->side = b->verb.alloc(b, max_rows, c->hidden);
        p->narrow = b->verb.alloc(b, max_rows, c->laurel_rank);
        p->up = b->verb.alloc(b, max_rows, ffn);
    }
    if (!c->ple_width)
        return;
    p->inputs = b->verb.alloc(b, max_rows, c->ple_width * c->ple_layers);
    p->u = b->verb.alloc(b, max_rows, c->ple_width);
}

void ct_pass_run(struct ct_pass *p, const struct ct_rows *rows, const struct ct_watch *watch)
{
    (p->config->altup ? ct_forward_3n : ct_forward)(p, rows, watch);
}

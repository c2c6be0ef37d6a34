/* SPDX-License-Identifier: Apache-2.0 */
/* forward.c: Gemma 1, 2 and 3 as prose. What a verb means: backend/backend.h; what the buffers hold:
 * forward.h; why a step is there: MODEL.md. What the members of the family do differently is data: an
 * absent norm leaves values as they are, a cap of 0 does not cap, attention of a layer has its own window
 * and rope. */
#include "model/forward.h"

void ct_pass_init(struct ct_pass *p, struct ct_backend *b, const struct ct_config *c,
                  const struct ct_weights *w, const struct ct_kv_cache *cache, int max_rows)
{
    int q = 0, kv = 0, ffn = 0; /* the widest of any layer */

    for (int i = 0; i < c->n_layer; i++) {
        const struct ct_layer_config *l = &c->layer[i];
        q = CT_MAX(q, l->n_head * l->head_dim);
        kv = CT_MAX(kv, l->n_kv_head * l->head_dim);
        ffn = CT_MAX(ffn, l->ffn);
    }
    *p = (struct ct_pass){
        .backend = b,
        .config = c,
        .weights = w,
        .cache = cache,
        .end = c->n_layer,
        .x = b->verb.alloc(b, max_rows, c->hidden),
        .h = b->verb.alloc(b, max_rows, c->hidden),
        .q = b->verb.alloc(b, max_rows, q),
        .k = b->verb.alloc(b, max_rows, kv),
        .v = b->verb.alloc(b, max_rows, kv),
        .a = b->verb.alloc(b, max_rows, q),
        .gate = b->verb.alloc(b, max_rows, ffn),
    };
}

void ct_forward(struct ct_pass *p, const struct ct_rows *rows, const struct ct_watch *watch)
{
    struct ct_backend *b = p->backend;
    const struct ct_config *c = p->config;
    const struct ct_weights *w = p->weights;
    const ct_mat x = p->x, h = p->h, q = p->q, k = p->k, v = p->v, a = p->a, gate = p->gate;

    p->layer = p->first;
    begin_pass(b, rows, watch);
    embed(b, x, &w->embed, c->embed_scale); /* each token's row of the table, scaled by about sqrt(hidden) */

    for (int i = p->first; i < p->end; i++) {
        const struct ct_layer *l = &w->layer[i];
        const struct ct_kv *kv = &p->cache->layer[i];
        p->layer = i;

        /* Attention: every row looks at the rows before it, through heads of its own. */
        norm(b, h, x, &l->attn_norm);
        project(b, h, 3, (ct_mat[]){q, k, v}, (const struct ct_weight *[]){&l->q, &l->k, &l->v});
        qk_norm(b, q, &l->q_norm); /* Gemma 3; each head by itself */
        qk_norm(b, k, &l->k_norm);
        rope(b, q, l->c.attn_type); /* from here on q and k know their positions */
        rope(b, k, l->c.attn_type);
        kv_write(b, kv, k, v);
        if (i == p->end - 1) /* every K and V is written: only rows that want logits go on */
            select_rows(b, 2, (ct_mat[]){x, q});
        attend(b, a, q, kv, l->c.attn_type, l->c.attn_scale, l->c.attn_cap);
        project(b, a, 1, &h, (const struct ct_weight *[]){&l->o}); /* what all heads found, as one vector */
        residual_norm(b, x, h, &l->attn_post_norm);                /* Gemma 1 adds it as it is */

        /* Feed-forward: every row by itself goes through a wider layer. */
        norm(b, h, x, &l->ffn_norm);
        project_geglu(b, gate, h, &l->gate, &l->up);
        project(b, gate, 1, &h, (const struct ct_weight *[]){&l->down});
        residual_norm(b, x, h, &l->ffn_post_norm);
    }

    norm(b, h, x, &w->final_norm); /* what the head reads: model/head.h */
}

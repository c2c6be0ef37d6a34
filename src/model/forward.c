/* SPDX-License-Identifier: Apache-2.0 */
/* forward.c: Gemma 1, 2 and 3 as prose. What a verb means: backend/backend.h; what the members of the
 * family do differently is data: an absent norm adds nothing, a cap of 0 does not cap, kinds carry window
 * and rope. */
#include "model/forward.h"

void ct_pass_init(struct ct_pass *p, struct ct_backend *b, const struct ct_config *c,
                  const struct ct_weights *w, const struct ct_cache *cache, int max_rows, int max_logits)
{
    int q = 0, kv = 0, ffn = 0;

    for (int i = 0; i < c->n_layer; i++) {
        const struct ct_layer_config *l = &c->layer[i];
        q = CT_MAX(q, l->n_head * l->head_dim);
        kv = CT_MAX(kv, l->n_kv_head * l->head_dim);
        ffn = CT_MAX(ffn, l->ffn);
    }
    *p = (struct ct_pass){
        .backend = b, .config = c, .weights = w, .cache = cache, .first = 0, .end = c->n_layer};
    p->t.x = b->verb.alloc(b, max_rows, c->hidden); /* the residual stream */
    p->t.h = b->verb.alloc(b, max_rows, c->hidden); /* what a block reads, then what it gives */
    p->t.q = b->verb.alloc(b, max_rows, q);
    p->t.k = b->verb.alloc(b, max_rows, kv);
    p->t.v = b->verb.alloc(b, max_rows, kv);
    p->t.a = b->verb.alloc(b, max_rows, q);
    p->t.gate = b->verb.alloc(b, max_rows, ffn);
    p->t.logits = b->verb.alloc(b, max_logits, c->n_vocab);
}

void ct_forward(struct ct_pass *p, const struct ct_rows *rows)
{
    struct ct_backend *b = p->backend;
    const struct ct_config *c = p->config;
    const struct ct_weights *w = p->weights;
    const ct_mat x = p->t.x, h = p->t.h, q = p->t.q, k = p->t.k, v = p->t.v, a = p->t.a;

    begin(b, rows);
    embed(b, x, &w->embed, c->embed_scale);
    for (int i = p->first; i < p->end; i++) {
        const struct ct_layer *l = &w->layer[i];
        const struct ct_kv *kv = &p->cache->layer[i];
        p->layer = i;

        norm(b, h, x, &l->attn_norm);
        project(b, h, 3, (ct_mat[]){q, k, v}, (const struct ct_weight *[]){&l->q, &l->k, &l->v});
        head_norm(b, q, &l->q_norm);
        head_norm(b, k, &l->k_norm);
        rope(b, q, l->c.kind);
        rope(b, k, l->c.kind);
        store(b, kv, k, v);
        if (i == p->end - 1)
            pick(b, 2, (ct_mat[]){x, q}); /* every K and V is stored: only rows that want logits go on */
        attend(b, a, q, kv, l->c.kind, l->c.attn_scale, l->c.attn_cap);
        project(b, a, 1, &h, (const struct ct_weight *[]){&l->o});
        add_norm(b, x, h, &l->attn_post_norm);

        norm(b, h, x, &l->ffn_norm);
        project_geglu(b, p->t.gate, h, &l->gate, &l->up);
        project(b, p->t.gate, 1, &h, (const struct ct_weight *[]){&l->down});
        add_norm(b, x, h, &l->ffn_post_norm);
    }
    norm(b, h, x, &w->final_norm);
    project(b, h, 1, &p->t.logits, (const struct ct_weight *[]){&w->head});
    softcap(b, p->t.logits, c->logit_cap);
}

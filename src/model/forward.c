/* SPDX-License-Identifier: Apache-2.0 */
/* forward.c: Gemma 1 to 4 as prose. What a verb means: backend/backend.h; why a step is there: MODEL.md.
 * What the members of the family do differently is data: an absent weight leaves values as they are, a cap of
 * 0 does not cap, a layer has its own window, rope and cache. The last step, from here to logits, is head.c.
 *
 * Only rows that ask for logits go on after the last layer has stored its K and V (select_rows). */
#include "model/forward.h"

/* Inputs of layers (PLE): each is told of the token once more, out of a second table, which stays on the
 * disk. */
void ct_tell_inputs(struct ct_pass *p, const struct ct_rows *rows, ct_mat x)
{
    struct ct_backend *b = p->backend;
    const struct ct_weights *w = p->weights;
    const ct_mat inputs = p->inputs; /* [rows][layers][ple_width] */

    ct_ple_ask(&p->ple, rows);
    project(b, inputs, x, &w->ple_proj);
    scale(b, inputs, &w->ple_scale);
    parts_norm(b, inputs, &w->ple_norm);
    ct_ple_await(&p->ple);
    embed_add(b, inputs, &p->ple.table, p->ple.row, p->config->ple_scale, 0.70710678f);
}

void ct_forward(struct ct_pass *p, const struct ct_rows *rows, const struct ct_watch *watch)
{
    struct ct_backend *b = p->backend;
    const struct ct_weights *w = p->weights;
    const struct ct_config *c = p->config;
    const ct_mat x = p->x;           /* [rows][hidden] the residual stream */
    const ct_mat h = p->h;           /* [rows][hidden] what a block reads, then what it gives */
    const ct_mat r = p->r;           /* [rows][hidden] what the router reads, then experts */
    const ct_mat e = p->e;           /* [rows][hidden] and what these give */
    const ct_mat inputs = p->inputs; /* [rows][layers][ple_width] what each layer is told of the token */

    p->layer = 0;
    begin_pass(b, rows, watch);
    embed(b, x, &w->embed, c->embed_scale); /* a row of the table, times about sqrt(hidden) */
    ct_tell_inputs(p, rows, x);             /* Gemma 4 E2B and E4B */

    for (; p->layer < c->n_layer; p->layer++) {
        const struct ct_layer *l = &w->layer[p->layer];
        const ct_mat q = made_by(&l->q, p->q);        /* [rows][n_head][head_dim] what each head looks for */
        const ct_mat k = made_by(&l->k, p->k);        /* [rows][n_kv_head][head_dim] what a row is found by */
        const ct_mat v = made_by(&l->v, p->v);        /* [rows][n_kv_head][head_dim] and what it tells then */
        const ct_mat a = made_by(&l->q, p->a);        /* [rows][n_head][head_dim] what each head found */
        const ct_mat ffn = made_by(&l->gate, p->ffn); /* [rows][ffn] the wider layer of the feed-forward */
        const ct_mat fit = made_by(&l->router, p->fit); /* [rows][experts] how well each would suit a row */
        const ct_mat u = made_by(&l->input_gate, p->u); /* [rows][ple_width] what it takes of its input */
        const ct_mat told = made_by(&l->input_proj, h); /* [rows][hidden] and makes of it */

        /* Attention: every row looks at the rows before it, through heads of its own. */
        norm(b, h, x, &l->attn_norm);
        project_qkv(b, q, k, v, h, &l->q, &l->k, &l->v); /* no k and v: the layer reads another's */
        qk_norm(b, q, &l->q_norm);                       /* from Gemma 3 on; each head by itself */
        qk_norm(b, k, &l->k_norm);
        parts_norm(b, v, &l->v_norm); /* Gemma 4 */
        rope(b, q, l->c.attn_type);   /* from here on q and k know their positions */
        rope(b, k, l->c.attn_type);
        kv_write(b, l->kv, k, v);
        if (p->layer == p->last_kv) /* every K and V is written: only rows that want logits go on */
            select_rows(b, 3, (const ct_mat[]){x, q, inputs});
        attend(b, a, q, l->kv, l->c.attn_type, l->c.attn_scale, l->c.attn_cap);
        project(b, h, a, &l->o);                    /* what all heads found, as one vector */
        residual_norm(b, x, h, &l->attn_post_norm); /* x += norm(h); Gemma 1 adds h as it is */

        /* Feed-forward: every row by itself goes through a wider layer. */
        norm(b, h, x, &l->ffn_norm);
        project_geglu(b, ffn, h, &l->gate, &l->up, &l->down); /* gelu(gate) * up, which down reads */
        project(b, h, ffn, &l->down);

        /* Experts (Gemma 4 26B-A4B): beside it, through a few of many narrow ones, as a router chooses. */
        parts_norm(b, h, &l->mlp_post_norm);
        norm(b, r, x, &l->router_norm);
        project(b, fit, r, &l->router);
        norm(b, r, x, &l->experts_norm);
        experts(b, e, r, fit, &l->experts);
        residual_norm(b, h, e, &l->experts_post_norm); /* h += norm(e) */
        residual_norm(b, x, h, &l->ffn_post_norm);

        /* Its own input; most members have none. */
        project(b, u, x, &l->input_gate);
        gelu_times(b, u, inputs, (c->first_layer + p->layer) * c->ple_width);
        project(b, told, u, &l->input_proj);
        residual_norm(b, x, told, &l->input_norm);
        scale(b, x, &l->out_scale); /* Gemma 4: all of the stream, times one number */
    }
    norm(b, h, x, &w->final_norm); /* what the head reads */
}

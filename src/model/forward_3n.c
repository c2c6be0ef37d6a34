/* SPDX-License-Identifier: Apache-2.0 */
/* forward_3n.c: Gemma 3n as prose, out of the same verbs as the others (forward.c). It has four residual
 * streams, of which a layer works on a prediction of the first; what that became then corrects all of them
 * (AltUp), and the layer's own input (PLE) is added to the other three. A second, narrow way runs beside
 * attention (LAuReL), and some layers cut their gates off. The last step, from here to logits, is head.c. */
#include "model/forward.h"

/* Every row by itself goes through a wider layer, of which few values are left where gates are cut off. */
static void feed_forward(struct ct_pass *p, const struct ct_layer *l, ct_mat h)
{
    struct ct_backend *b = p->backend;
    const ct_mat ffn = made_by(&l->gate, p->ffn), up = made_by(&l->up, p->up); /* [rows][ffn] */

    if (l->c.cutoff > 0) {
        project(b, ffn, h, &l->gate);
        cutoff(b, ffn, l->c.cutoff);
        project(b, up, h, &l->up);
        gelu_times(b, ffn, up, 0);
    } else {
        project_geglu(b, ffn, h, &l->gate, &l->up, &l->down);
    }
    project(b, h, ffn, &l->down);
}

void ct_forward_3n(struct ct_pass *p, const struct ct_rows *rows, const struct ct_watch *watch)
{
    struct ct_backend *b = p->backend;
    const struct ct_weights *w = p->weights;
    const struct ct_config *c = p->config;
    const ct_mat *const s = p->stream; /* [CT_STREAMS] of [rows][hidden] */
    const ct_mat x = p->x;             /* [rows][hidden] what a layer works on */
    const ct_mat h = p->h;             /* [rows][hidden] what a block reads, then what it gives */
    const ct_mat side = p->side;       /* [rows][hidden] what LAuReL gives, to be added to attention */

    p->layer = 0;
    begin_pass(b, rows, watch);
    embed(b, s[0], &w->embed, c->embed_scale);
    ct_tell_inputs(p, rows, s[0]);
    for (int i = 1; i < CT_STREAMS; i++) {
        project(b, s[i], s[0], &w->stream_proj[i - 1]);
        altup_match(b, s[i], s[0]); /* as large as the first */
    }

    for (; p->layer < c->n_layer; p->layer++) {
        const struct ct_layer *l = &w->layer[p->layer];
        const ct_mat q = made_by(&l->q, p->q); /* as in forward.c */
        const ct_mat k = made_by(&l->k, p->k);
        const ct_mat v = made_by(&l->v, p->v);
        const ct_mat a = made_by(&l->q, p->a);
        const ct_mat narrow = made_by(&l->laurel_left, p->narrow); /* [rows][laurel_rank] */
        const ct_mat u = made_by(&l->input_gate, p->u);            /* [rows][ple_width] */

        /* What each stream will be; x is the first. */
        altup_predict(b, x, s, &l->altup_norm, &l->altup_router, &l->altup_predict);

        /* Attention, and beside it a way of a low rank for the same input. */
        norm(b, h, x, &l->attn_norm);
        project_qkv(b, q, k, v, h, &l->q, &l->k, &l->v);
        project(b, narrow, h, &l->laurel_left);
        project(b, side, narrow, &l->laurel_right);
        residual_norm(b, h, side, &l->laurel_norm);
        qk_norm(b, q, &l->q_norm);
        qk_norm(b, k, &l->k_norm);
        parts_norm(b, v, &l->v_norm);
        rope(b, q, l->c.attn_type);
        rope(b, k, l->c.attn_type);
        kv_write(b, l->kv, k, v);
        if (p->layer == p->last_kv) /* every K and V is written: only rows that want logits go on */
            select_rows(b, 8, (const ct_mat[]){s[0], s[1], s[2], s[3], x, h, q, p->inputs});
        attend(b, a, q, l->kv, l->c.attn_type, l->c.attn_scale, l->c.attn_cap);
        project(b, side, a, &l->o);
        residual_norm(b, x, side, &l->attn_post_norm);
        residual_norm(b, x, h, &l->no_norm);
        scale(b, x, &l->halves); /* of two of the same size: 1 / sqrt(2) */

        norm(b, h, x, &l->ffn_norm);
        feed_forward(p, l, h);
        residual_norm(b, x, h, &l->ffn_post_norm);

        /* What x became corrects what was predicted; then the other streams hear of the layer's input. */
        altup_correct(b, x, s, &l->altup_norm, &l->altup_router, &l->altup_correct, &l->altup_scale);
        project(b, u, x, &l->input_gate);
        gelu_times(b, u, p->inputs, (c->first_layer + p->layer) * c->ple_width);
        project(b, h, u, &l->input_proj);
        residual_norm(b, s[1], h, &l->input_norm); /* h is normed now */
        residual_norm(b, s[2], h, &l->no_norm);
        residual_norm(b, s[3], h, &l->no_norm);
    }

    /* The streams become one again, their mean. Each is made into the place of one that was read before. */
    const ct_mat made[] = {h, s[1], s[2]};
    for (int i = 1; i < CT_STREAMS; i++) {
        project(b, made[i - 1], s[i], &w->stream_unproj[i - 1]);
        altup_match(b, made[i - 1], s[0]);
    }
    for (int i = 1; i < CT_STREAMS; i++)
        residual_norm(b, s[0], made[i - 1], &w->no_norm);
    scale(b, s[0], &w->quarter);
    norm(b, h, s[0], &w->final_norm); /* what the head reads */
}

/* SPDX-License-Identifier: Apache-2.0 */
/* verify_shapes.c: whether a model that has the depth and width of a published member of the family is that
 * one in every other number too. */
#include "check/verify.h"

#include <stdio.h>

struct fact {
    const char *name; /* as config.json and GGUF call it */
    double found, expected;
};

/* The first fact that differs by more than rounding to float32. */
static const struct fact *first_difference(const struct fact *f, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(__builtin_fabs(f[i].found - f[i].expected) <= 1e-6 * __builtin_fabs(f[i].expected)))
            return &f[i];
    return NULL;
}

bool ct_member_differs(const struct ct_member *m, const struct ct_config *c, char *out, size_t capacity)
{
    const struct ct_architecture *a = m->architecture;
    const struct ct_attn *global = &c->attn[CT_GLOBAL], *local = &c->attn[CT_LOCAL];
    const struct fact whole[] = {
        {"rope_theta (rope.freq_base)", global->rope_base, a->rope_base},
        {"rope_scaling.factor (rope.scaling.factor)", global->rope_factor, m->rope_factor},
        {"final_logit_softcapping", (double)c->logit_cap, (double)CT_MAX(a->logit_cap, a->gguf_logit_cap)},
        {"rms_norm_eps (attention.layer_norm_rms_epsilon)", (double)c->norm_eps, CT_NORM_EPS},
        {"hidden_size_per_layer_input (embedding_length_per_layer_input)", c->ple_width, m->newer.ple_width},
        {"how many pairs of a global head turn", global->rotated, (int)(a->rotated * global->head_dim / 2)},
        /* the rest asks nothing of a model whose layers are all global */
        {"sliding_window (attention.sliding_window)", m->window ? local->window : 0, m->window},
        {"rope_local_base_freq (rope.freq_base_swa)", m->window ? local->rope_base : 1,
         m->window ? a->rope_base_local : 1},
        {"the factor of local rope", m->window ? local->rope_factor : 1, 1},
    };
    const struct fact *f = first_difference(whole, CT_COUNT(whole));

    if (f)
        snprintf(out, capacity, "%s is %g, expected %g", f->name, f->found, f->expected);
    for (int i = 0; i < c->n_layer && !f; i++) {
        const struct ct_layer_config *l = &c->layer[i], e = ct_member_layer(m, i);
        const struct fact layer[] = {
            {"intermediate_size (feed_forward_length)", l->ffn, e.ffn},
            {"num_attention_heads (attention.head_count)", l->n_head, e.n_head},
            {"num_key_value_heads (attention.head_count_kv)", l->n_kv_head, e.n_kv_head},
            {"head_dim (attention.key_length)", l->head_dim, e.head_dim},
            {"the attention scale (query_pre_attn_scalar)", (double)l->attn_scale, (double)e.attn_scale},
            {"attn_logit_softcapping", (double)l->attn_cap, (double)e.attn_cap},
            {"whether the layer is local", l->attn_type == CT_LOCAL, e.attn_type == CT_LOCAL},
            {"whether K and V are another layer's", l->kv_layer != i, e.kv_layer != i},
            {"whether V is K", l->v_is_k, e.v_is_k},
            {"num_experts (expert_count)", l->n_expert, e.n_expert},
            {"top_k_experts (expert_used_count)", l->n_used, e.n_used},
            {"moe_intermediate_size (expert_feed_forward_length)", l->expert_ffn, e.expert_ffn},
        };
        f = first_difference(layer, CT_COUNT(layer));
        if (f)
            snprintf(out, capacity, "in layer %d %s is %g, expected %g", i, f->name, f->found, f->expected);
    }
    return f != NULL;
}

carat_status ct_verify_shapes(struct ct_verify *v, int *verdict, carat_error *err)
{
    const struct ct_config *c = &v->model->config;
    const struct ct_member *m = ct_member_find(c);
    const struct ct_weights *w = &v->model->weights;
    char difference[256];

    (void)err;
    if (!m) {
        ct_verify_say(v, "no published %s model has %d layers of width %d", c->architecture, c->n_layer,
                      c->hidden);
        return CARAT_OK;
    }
    *verdict = CT_FAILED;
    if (ct_member_differs(m, c, difference, sizeof difference)) {
        ct_verify_say(v, "the model has the depth and width of %s, but %s", m->name, difference);
        return CARAT_OK;
    }
    /* The rows of the vocabulary may differ: converters cut padding off, and people add tokens. */
    uint64_t row = (uint64_t)c->hidden, rows = (uint64_t)c->n_vocab,
             expected = m->n_parameter - (uint64_t)m->n_vocab * row + rows * row * (w->tied ? 1 : 2);
    if (w->n_parameter != expected) {
        ct_verify_say(v, "the model has the shapes of %s, but %llu parameters, expected %llu", m->name,
                      (unsigned long long)w->n_parameter, (unsigned long long)expected);
        return CARAT_OK;
    }
    ct_verify_say(v, "%s: %llu parameters", m->name, (unsigned long long)w->n_parameter);
    if (c->n_vocab != m->n_vocab)
        ct_verify_say(v, "; %llu were published, with %d rows of vocabulary instead of %d",
                      (unsigned long long)m->n_parameter, m->n_vocab, c->n_vocab);
    if (!w->tied)
        ct_verify_say(v, "; the head is apart from the embedding, unlike the published one");
    *verdict = CT_PASSED;
    return CARAT_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* keys.c: see keys.h. Which keys there are, and what readers take for those that are absent, is MODEL.md's
 * subject; config_gguf.c reads them back. */
#include "convert/keys.h"

#include <math.h>
#include <stdlib.h>

#include "text/chat/chat.h"
#include "text/tokenizer/vocab_write.h"

#define DRAFTER "gemma4-assistant" /* as llama.cpp calls one */

struct keys {
    struct ct_new_head *h;
    const struct ct_config *c;
    const char *architecture;
    char key[128];
};

static const char *named(struct keys *k, const char *name)
{
    snprintf(k->key, sizeof k->key, "%s.%s", k->architecture, name);
    return k->key;
}

static void put_uint(struct keys *k, const char *name, int v)
{
    ct_gguf_put_uint(k->h, named(k, name), (uint32_t)v);
}

static void put_float(struct keys *k, const char *name, double v)
{
    ct_gguf_put_float(k->h, named(k, name), (float)v);
}

/* A member of ct_layer_config: one number where all layers have the same, unless each is to be told, else
 * one for each. */
static void put_counts(struct keys *k, const char *name, size_t at, bool each)
{
    uint32_t v[CT_MAX_LAYERS];
    bool same = !each;

    for (int i = 0; i < k->c->n_layer; i++) {
        v[i] = (uint32_t) * (const int *)((const uint8_t *)&k->c->layer[i] + at);
        same = same && v[i] == v[0];
    }
    if (same)
        put_uint(k, name, (int)v[0]);
    else
        ct_gguf_put_uints(k->h, named(k, name), v, (size_t)k->c->n_layer);
}

/* Writes the widths of the heads of one kind of layers. Where some pairs do not turn, rope_freqs says so, not
 * a dimension. */
static void put_widths(struct keys *k, const char *kind, const struct ct_attn *a)
{
    static const char *const names[] = {"attention.key_length", "attention.value_length",
                                        "rope.dimension_count"};
    char name[64];

    for (int i = 0; i < (k->c->out_scales ? 3 : 2); i++) {
        snprintf(name, sizeof name, "%s%s", names[i], kind);
        put_uint(k, name, a->head_dim);
    }
}

/* Writes what only Gemma 3n has. */
static void put_altup(struct keys *k)
{
    const struct ct_config *c = k->c;
    float deviations[CT_MAX_LAYERS];

    for (int i = 0; i < c->n_layer; i++)
        deviations[i] = c->layer[i].cutoff > 0 ? c->layer[i].cutoff : -INFINITY;
    put_uint(k, "altup.active_idx", 0);
    put_uint(k, "altup.num_inputs", CT_STREAMS);
    ct_gguf_put_floats(k->h, named(k, "activation_sparsity_scale"), deviations, (size_t)c->n_layer);
}

/* Writes what Gemma 3n and 4 have beside attention. */
static void put_newer(struct keys *k)
{
    const struct ct_config *c = k->c;
    int shared = 0;

    while (shared < c->n_layer && c->layer[c->n_layer - 1 - shared].kv_layer != c->n_layer - 1 - shared)
        shared++;
    put_uint(k, "attention.shared_kv_layers", shared);
    put_uint(k, "embedding_length_per_layer_input", c->ple_width);
    if (c->layer[0].n_expert) {
        put_uint(k, "expert_count", c->layer[0].n_expert);
        put_uint(k, "expert_used_count", c->layer[0].n_used);
        put_uint(k, "expert_feed_forward_length", c->layer[0].expert_ffn);
    }
}

/* Writes what an embedder has behind its layers, and that rows see those behind them. */
static void put_embedder(struct keys *k)
{
    enum { MEAN = 1 };
    const struct ct_config *c = k->c;
    char name[32];

    put_uint(k, "pooling_type", MEAN);
    if (c->vector_inside)
        put_uint(k, "embedding_length_out", c->dense[0]);
    for (int i = 0; i < c->n_dense && !c->vector_inside; i++) {
        snprintf(name, sizeof name, "dense_%d_feat_in", i + 2);
        put_uint(k, name, i ? c->dense[i - 1] : c->hidden);
        snprintf(name, sizeof name, "dense_%d_feat_out", i + 2);
        put_uint(k, name, c->dense[i]);
    }
}

/* Writes what a drafter says of the model that it reads, and of the groups of its vocabulary. */
static void put_drafter(struct keys *k)
{
    const struct ct_config *c = k->c;

    put_uint(k, "embedding_length_out", c->backbone);
    put_uint(k, "nextn_predict_layers", c->n_layer);
    if (c->n_centroid) {
        put_uint(k, "n_centroids", c->n_centroid);
        put_uint(k, "centroid_top_k", c->n_near);
    }
}

static void put_attention(struct keys *k)
{
    const struct ct_config *c = k->c;
    const struct ct_attn *local = &c->attn[CT_LOCAL], *global = &c->attn[CT_GLOBAL];
    bool pattern[CT_MAX_LAYERS], any_local = false;

    put_counts(k, "attention.head_count", offsetof(struct ct_layer_config, n_head), false);
    put_counts(k, "attention.head_count_kv", offsetof(struct ct_layer_config, n_kv_head), false);
    put_float(k, "attention.layer_norm_rms_epsilon", (double)c->norm_eps);
    put_widths(k, "", global);
    for (int i = 0; i < c->n_layer; i++) {
        pattern[i] = c->layer[i].attn_type == CT_LOCAL;
        any_local = any_local || pattern[i];
    }
    put_float(k, "rope.freq_base", global->rope_base);
    if (any_local && c->out_scales)
        put_widths(k, "_swa", local);
    if (any_local) {
        /* of an embedder it is on both sides, and which layers have it is the family's */
        put_uint(k, "attention.sliding_window", c->embeds ? 2 * (local->window - 1) : local->window);
        if (!c->embeds || c->v_norms)
            ct_gguf_put_bools(k->h, named(k, "attention.sliding_window_pattern"), pattern,
                              (size_t)c->n_layer);
        if (local->rope_base != global->rope_base)
            put_float(k, "rope.freq_base_swa", local->rope_base);
    }
    if (global->rope_factor != 1) {
        ct_gguf_put_string(k->h, named(k, "rope.scaling.type"), ct_str_of("linear"));
        put_float(k, "rope.scaling.factor", global->rope_factor);
    }
    if (c->layer[0].attn_cap > 0)
        put_float(k, "attn_logit_softcapping", (double)c->layer[0].attn_cap);
    if (c->logit_cap > 0)
        put_float(k, "final_logit_softcapping", (double)c->logit_cap);
}

/* The embedding is multiplied by the root of its width in BF16 where no key says another factor. */
static void put_embedding_scale(struct keys *k, float times)
{
    const float usual = ct_bf16_to_f32(ct_f32_to_bf16(sqrtf((float)k->c->hidden)));

    if (k->c->embed_scale * times != usual)
        ct_gguf_put_float(k->h, "carat.embedding_scale", k->c->embed_scale * times);
}

/* Writes what generation_config.json recommends. */
static void put_sampling(struct ct_new_head *h, const carat_sampling *s)
{
    ct_gguf_put_uint(h, "general.sampling.top_k", (uint32_t)s->top_k);
    ct_gguf_put_float(h, "general.sampling.top_p", s->top_p);
    ct_gguf_put_float(h, "general.sampling.temp", s->temperature);
    if (s->min_p > 0)
        ct_gguf_put_float(h, "general.sampling.min_p", s->min_p);
}

carat_status ct_put_tokenizer_keys(struct ct_new_head *h, const struct carat_model *m, carat_error *err)
{
    char *template;

    if (m->tokenizer)
        CT_TRY(ct_tokenizer_put_gguf(m->tokenizer, h, err));
    CT_TRY(ct_chat_source(&template, m->tokenizer_file ? m->tokenizer_file : m->file, err));
    if (template)
        ct_gguf_put_string(h, "tokenizer.chat_template", ct_str_of(template));
    free(template);
    return CARAT_OK;
}

carat_status ct_put_keys(struct ct_new_head *h, const struct carat_model *m, uint32_t file_type,
                         float embed_times, carat_error *err)
{
    const struct ct_config *c = &m->config;
    struct keys k = {.h = h, .c = c, .architecture = c->backbone ? DRAFTER : c->architecture};

    ct_gguf_put_string(h, "general.architecture", ct_str_of(k.architecture));
    ct_gguf_put_string(h, "general.type", ct_str_of("model"));
    if (m->name)
        ct_gguf_put_string(h, "general.name", ct_str_of(m->name));
    put_uint(&k, "context_length", c->max_context);
    put_uint(&k, "embedding_length", c->hidden);
    put_uint(&k, "block_count", c->n_layer);
    put_counts(&k, "feed_forward_length", offsetof(struct ct_layer_config, ffn), c->altup);
    put_attention(&k);
    if (c->v_norms)
        put_newer(&k);
    if (c->altup)
        put_altup(&k);
    if (c->embeds)
        put_embedder(&k);
    if (c->backbone)
        put_drafter(&k);
    put_embedding_scale(&k, embed_times);
    if (ct_file_side(m->file, "generation_config.json").data ||
        ct_file_meta(m->file, "general.sampling.temp"))
        put_sampling(h, &m->sampling);
    ct_gguf_put_uint(h, "general.file_type", file_type);
    ct_gguf_put_uint(h, "general.quantization_version", 2);
    return ct_put_tokenizer_keys(h, m, err);
}

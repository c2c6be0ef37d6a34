/* SPDX-License-Identifier: Apache-2.0 */
/* hf_config.c: config.json, generation_config.json and tokenizer_config.json of a new directory (hf.h), as
 * transformers has them for a model of text. What each key means is MODEL.md's subject; config_hf.c reads
 * them back. */
#include "convert/hf.h"

#include <math.h>
#include <stdlib.h>

#include "model/family.h"
#include "text/tokenizer/vocab_write.h"

struct keys {
    struct ct_new_head *h;
    const struct ct_conversion *v;
    const struct ct_config *c;
    bool follows; /* a member stands before */
};

static void put_name(struct keys *k, const char *key)
{
    ct_new_head_text(k->h, "%s\n  \"%s\": ", k->follows ? "," : "{", key);
    k->follows = true;
}

static void put_int(struct keys *k, const char *key, int v)
{
    put_name(k, key);
    ct_new_head_text(k->h, "%d", v);
}

/* In the fewest digits that are read as the same, where it was a float in the model as the same float. */
static void put_double(struct keys *k, const char *key, double v)
{
    const bool single = (double)(float)v == v;
    char text[40];
    int digits = 1;

    do
        snprintf(text, sizeof text, "%.*g", digits, v);
    while (digits++ < 17 && (single ? strtof(text, NULL) != (float)v : strtod(text, NULL) != v));
    put_name(k, key);
    ct_new_head_text(k->h, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

static void put_string(struct keys *k, const char *key, const char *v)
{
    put_name(k, key);
    ct_new_head_json(k->h, ct_str_of(v));
}

static void put_bool(struct keys *k, const char *key, bool v)
{
    put_name(k, key);
    ct_new_head_text(k->h, v ? "true" : "false");
}

static void put_cap(struct keys *k, const char *key, float v)
{
    if (v > 0) {
        put_double(k, key, (double)v);
    } else {
        put_name(k, key);
        ct_new_head_text(k->h, "null");
    }
}

static void put_ids(struct keys *k, const char *key, const int32_t *id, int n)
{
    if (n == 0)
        return;
    put_name(k, key);
    for (int i = 0; i < n; i++)
        ct_new_head_text(k->h, "%s%d", i ? ", " : n > 1 ? "[" : "", id[i]);
    ct_new_head_text(k->h, n > 1 ? "]" : "");
}

static void put_end(struct keys *k)
{
    ct_new_head_text(k->h, "\n}\n");
}

/* ---- config.json ---- */

static const char *torch_name(enum ct_type type)
{
    return type == CT_F32 ? "float32" : type == CT_F16 ? "float16" : "bfloat16";
}

/* The number whose root divides scores. */
static double query_scalar(float scale)
{
    const double exact = 1 / ((double)scale * (double)scale), whole = round(exact);

    return (float)(1 / sqrt(whole)) == scale ? whole : exact;
}

/* A layer of that kind; NULL: there is none. */
static const struct ct_layer_config *layer_of(const struct ct_config *c, int kind)
{
    for (int i = 0; i < c->n_layer; i++)
        if (c->layer[i].attn_type == kind)
            return &c->layer[i];
    return NULL;
}

static int shared_layers(const struct ct_config *c)
{
    int n = 0;

    while (n < c->n_layer && c->layer[c->n_layer - 1 - n].kv_layer != c->n_layer - 1 - n)
        n++;
    return n;
}

static void put_layer_types(struct keys *k)
{
    put_name(k, "layer_types");
    for (int i = 0; i < k->c->n_layer; i++)
        ct_new_head_text(k->h, "%s\n    \"%s\"", i ? "," : "[",
                         k->c->layer[i].attn_type == CT_LOCAL ? "sliding_attention" : "full_attention");
    ct_new_head_text(k->h, "\n  ]");
}

static void put_angles(struct keys *k)
{
    const struct ct_attn *local = &k->c->attn[CT_LOCAL], *global = &k->c->attn[CT_GLOBAL];

    put_double(k, "rope_theta", global->rope_base);
    if (k->c->qk_norms)
        put_double(k, "rope_local_base_freq", local->rope_base);
    put_name(k, "rope_scaling");
    if (global->rope_factor == 1)
        ct_new_head_text(k->h, "null");
    else
        ct_new_head_text(k->h, "{\"rope_type\": \"linear\", \"factor\": %.17g}", global->rope_factor);
}

/* Gemma 3n; its layers have lists of widths and of the shares that are cut off. */
static void put_altup(struct keys *k)
{
    const struct ct_config *c = k->c;

    put_name(k, "intermediate_size");
    for (int i = 0; i < c->n_layer; i++)
        ct_new_head_text(k->h, "%s%d", i ? ", " : "[", c->layer[i].ffn);
    ct_new_head_text(k->h, "]");
    put_name(k, "activation_sparsity_pattern");
    for (int i = 0; i < c->n_layer; i++)
        ct_new_head_text(k->h, "%s%s", i ? ", " : "[", c->layer[i].cutoff > 0 ? "0.95" : "0.0");
    ct_new_head_text(k->h, "]");
    put_int(k, "altup_num_inputs", CT_STREAMS);
    put_int(k, "altup_active_idx", 0);
    put_double(k, "altup_coef_clip", 120);
    put_bool(k, "altup_correct_scale", c->altup_scales);
    put_int(k, "laurel_rank", c->laurel_rank);
    put_angles(k);
}

/* The angles of a kind of layers; shares: a share of their pairs may turn. */
static void put_kind(struct keys *k, const struct ct_attn *a, bool shares)
{
    ct_new_head_text(k->h, "{\"rope_type\": \"%s\", ",
                     shares                ? "proportional"
                     : a->rope_factor == 1 ? "default"
                                           : "linear");
    if (shares)
        ct_new_head_text(k->h, "\"partial_rotary_factor\": %.17g, ", 2.0 * a->rotated / a->head_dim);
    if (a->rope_factor != 1)
        ct_new_head_text(k->h, "\"factor\": %.17g, ", a->rope_factor);
    ct_new_head_text(k->h, "\"rope_theta\": %.17g}", a->rope_base);
}

/* Gemma 4. */
static void put_newer(struct keys *k)
{
    const struct ct_config *c = k->c;
    const struct ct_layer_config *global = layer_of(c, CT_GLOBAL), *local = layer_of(c, CT_LOCAL);
    const struct ct_attn *a = &c->attn[CT_GLOBAL];
    const int first_ffn = c->layer[0].ffn;

    put_int(k, "intermediate_size", first_ffn);
    put_bool(k, "use_double_wide_mlp", c->layer[c->n_layer - 1].ffn == 2 * first_ffn);
    put_int(k, "global_head_dim", a->head_dim);
    const bool fewer = global && local && global->n_kv_head != local->n_kv_head;
    /* a drafter has no K and V, and does not say otherwise how many heads those of its model have */
    put_bool(k, "attention_k_eq_v", global && (global->v_is_k || (fewer && c->backbone)));
    if (fewer)
        put_int(k, "num_global_key_value_heads", global->n_kv_head);
    put_bool(k, "enable_moe_block", c->layer[0].n_expert > 0);
    if (c->layer[0].n_expert) {
        put_int(k, "num_experts", c->layer[0].n_expert);
        put_int(k, "top_k_experts", c->layer[0].n_used);
        put_int(k, "moe_intermediate_size", c->layer[0].expert_ffn);
    }
    put_name(k, "rope_parameters");
    ct_new_head_text(k->h, "{\n    \"sliding_attention\": ");
    put_kind(k, &c->attn[CT_LOCAL], false);
    ct_new_head_text(k->h, ",\n    \"full_attention\": ");
    put_kind(k, a, !c->embeds);
    ct_new_head_text(k->h, "\n  }");
}

/* Writes what Gemma 3n and 4 both have. */
static void put_inputs(struct keys *k)
{
    const struct ct_config *c = k->c;

    put_int(k, "num_kv_shared_layers", c->backbone ? c->n_layer : shared_layers(c));
    put_int(k, "hidden_size_per_layer_input", c->ple_width);
    put_int(k, "vocab_size_per_layer_input", c->ple_width ? c->ple_rows : c->n_vocab);
}

static void put_older(struct keys *k)
{
    const struct ct_config *c = k->c;

    put_int(k, "intermediate_size", c->layer[0].ffn);
    if (c->post_norms) {
        const double scalar = query_scalar(c->layer[0].attn_scale);
        put_name(k, "query_pre_attn_scalar");
        ct_new_head_text(k->h, "%.9g", scalar);
        put_cap(k, "attn_logit_softcapping", c->layer[0].attn_cap);
    }
    put_angles(k);
}

static void put_special_ids(struct keys *k)
{
    const struct carat_model *m = k->v->m;
    const int32_t bos = m->tokenizer ? ct_tokenizer_bos(m->tokenizer) : 2,
                  pad = m->tokenizer ? ct_tokenizer_id(m->tokenizer, "<pad>") : 0;

    put_ids(k, "bos_token_id", &bos, bos >= 0);
    put_ids(k, "eos_token_id", m->stop, m->n_stop);
    put_ids(k, "pad_token_id", &pad, pad >= 0);
}

/* Writes what is said of the layers, in an object that is the whole or a part of it. */
static void write_text(struct keys *k, const char *model_type)
{
    const struct ct_config *c = k->c;
    const struct ct_architecture *a = ct_architecture_named(ct_str_of(c->architecture));
    const struct ct_layer_config *local = layer_of(c, CT_LOCAL), *usual = local ? local : &c->layer[0];

    put_string(k, "model_type", model_type);
    put_int(k, "vocab_size", c->n_vocab);
    put_int(k, "hidden_size", c->hidden);
    put_int(k, "num_hidden_layers", c->n_layer);
    put_int(k, "num_attention_heads", usual->n_head);
    put_int(k, "num_key_value_heads", usual->n_kv_head);
    put_int(k, "head_dim", usual->head_dim);
    put_string(k, "hidden_activation", "gelu_pytorch_tanh");
    put_int(k, "max_position_embeddings", c->max_context);
    put_double(k, "rms_norm_eps", (double)c->norm_eps);
    put_bool(k, "attention_bias", false);
    put_bool(k, "tie_word_embeddings", k->v->m->weights.tied && !k->v->recipe.head_apart);
    put_cap(k, "final_logit_softcapping", c->logit_cap);
    if (a->hf.window) {
        const int window = local ? c->attn[CT_LOCAL].window : a->hf.window;
        /* an embedder's reaches to both sides: one class counts both of them, the other one */
        const int sides = !local || !c->embeds ? 0 : c->vector_inside ? 1 : 2;
        put_int(k, "sliding_window", sides ? sides * (window - 1) : window);
        put_layer_types(k);
    }
    if (c->embeds && !c->vector_inside)
        put_bool(k, "use_bidirectional_attention", true);
    if (c->vector_inside)
        put_int(k, "embedding_dim", c->dense[0]);
    if (c->altup)
        put_altup(k);
    else if (c->v_norms)
        put_newer(k);
    else
        put_older(k);
    if (c->v_norms)
        put_inputs(k);
}

/* Writes what a drafter has beside its layers. */
static void write_drafter(struct keys *k)
{
    const struct ct_config *c = k->c;

    put_int(k, "backbone_hidden_size", c->backbone);
    put_bool(k, "use_ordered_embeddings", c->n_centroid > 0);
    if (c->n_centroid) {
        put_int(k, "num_centroids", c->n_centroid);
        put_int(k, "centroid_intermediate_top_k", c->n_near);
    }
    put_bool(k, "tie_word_embeddings", k->v->m->weights.tied);
}

static void write_config(struct keys *k)
{
    /* by architectures, the class in transformers, and where their layers are a part of it, its model_type */
    static const struct {
        const char *architecture, *class, *whole;
        bool drafts;
    } classes[] = {{"gemma", "GemmaForCausalLM", NULL, false},
                   {"gemma2", "Gemma2ForCausalLM", NULL, false},
                   {"gemma3", "Gemma3ForCausalLM", NULL, false},
                   {"gemma3n", "Gemma3nForCausalLM", NULL, false},
                   {"gemma4", "Gemma4ForCausalLM", NULL, false},
                   {"gemma4", "Gemma4AssistantForCausalLM", "gemma4_assistant", true},
                   {"gemma-embedding", "Gemma3TextModel", NULL, false},
                   {"gemma-embedding2", "EmbeddingGemma2Model", "embedding_gemma2", false}};
    const struct ct_config *c = k->c;
    const struct ct_architecture *a = ct_architecture_named(ct_str_of(c->architecture));
    const char *const type = a->model_type ? a->model_type : "gemma3_text";
    size_t i = 0;

    while (i + 1 < CT_COUNT(classes) &&
           (strcmp(classes[i].architecture, c->architecture) != 0 || classes[i].drafts != (c->backbone > 0)))
        i++;
    put_name(k, "architectures");
    ct_new_head_text(k->h, "[\"%s\"]", classes[i].class);
    put_string(k, "torch_dtype", torch_name(ct_hf_embedding(k->v)));
    if (c->backbone)
        write_drafter(k);
    if (classes[i].whole) {
        put_string(k, "model_type", classes[i].whole);
        put_name(k, "text_config");
        k->follows = false;
    }
    write_text(k, type);
    if (classes[i].whole)
        ct_new_head_text(k->h, "\n  }");
    if (!c->embeds && !c->backbone)
        put_special_ids(k);
    put_end(k);
}

/* A place in the config.json of the source, and what stands there in the new one. */
struct edit {
    size_t at, n; /* bytes that go */
    const char *text;
};
enum { MOST_EDITS = 6 };

static int compare_edits(const void *a, const void *b)
{
    const struct edit *x = a, *y = b;

    return (x->at > y->at) - (x->at < y->at);
}

/* That the head is a tensor of its own, said first in the object where nothing says so. */
static struct edit untie(const struct ct_json_value *object, const char *text)
{
    static const char key[] = "tie_word_embeddings";
    const struct ct_json_value *tied = ct_json_get(object, key);

    if (tied)
        return (struct edit){(size_t)(tied->s - text), ct_json_is(tied, CT_JSON_FALSE) ? 5 : 4, "false"};
    return (struct edit){(size_t)(object->s - text) + 1, 0, "\"tie_word_embeddings\": false, "};
}

/* The config.json of the source, with the name of the new type in place of the old one, and a head that is
 * said to be the embedding, and is none. */
static void copy_config(struct ct_new_head *h, const struct ct_conversion *v,
                        const struct ct_json_value *root)
{
    const struct ct_bytes text = ct_file_side(v->m->file, "config.json");
    const char *const from = (const char *)text.data;
    const struct ct_json_value *const object[] = {root, ct_json_get(root, "text_config")};
    static const char *const keys[] = {"torch_dtype", "dtype"};
    const bool changes = ct_hf_embedding(v) != v->m->weights.embed.type,
               untied = v->recipe.head_apart || (v->m->config.tied && !v->m->weights.tied);
    struct edit edit[MOST_EDITS];
    size_t at = 0;
    int n = 0;

    for (size_t i = 0; i < CT_COUNT(object); i++) {
        for (size_t k = 0; k < CT_COUNT(keys) && changes; k++) {
            const struct ct_json_value *type = ct_json_get(object[i], keys[k]);
            if (ct_json_is(type, CT_JSON_STRING) && !type->escaped)
                edit[n++] = (struct edit){(size_t)(type->s - from), type->n, torch_name(ct_hf_embedding(v))};
        }
        if (untied && ct_json_is(object[i], CT_JSON_OBJECT))
            edit[n++] = untie(object[i], from);
    }
    qsort(edit, (size_t)n, sizeof *edit, compare_edits);
    for (int i = 0; i < n; i++) {
        ct_new_head_put(h, from + at, edit[i].at - at);
        ct_new_head_text(h, "%s", edit[i].text);
        at = edit[i].at + edit[i].n;
    }
    ct_new_head_put(h, from + at, text.size - at);
}

carat_status ct_hf_put_config(struct ct_new_head *h, const struct ct_conversion *v, carat_error *err)
{
    struct keys k = {.h = h, .v = v, .c = &v->m->config};
    const struct ct_json_value *root;

    if (!ct_hf_keeps_config(v)) {
        write_config(&k);
        return CARAT_OK;
    }
    CT_TRY(ct_file_json(v->m->file, "config.json", "config.json", &root, err));
    copy_config(h, v, root);
    return CARAT_OK;
}

/* ---- beside it ---- */

carat_status ct_hf_put_generation(struct ct_new_head *h, const struct ct_conversion *v, carat_error *err)
{
    struct keys k = {.h = h, .v = v, .c = &v->m->config};
    const carat_sampling *s = &v->m->sampling;

    (void)err;
    put_special_ids(&k);
    put_bool(&k, "do_sample", s->temperature > 0);
    if (s->temperature > 0) {
        put_double(&k, "temperature", (double)s->temperature);
        put_int(&k, "top_k", s->top_k);
        put_double(&k, "top_p", (double)s->top_p);
    }
    put_end(&k);
    return CARAT_OK;
}

static void put_piece(struct keys *k, const char *key, int32_t id)
{
    if (id < 0)
        return;
    put_name(k, key);
    ct_new_head_json(k->h, ct_tokenizer_piece(k->v->m->tokenizer, id));
}

carat_status ct_hf_put_tokenizer_config(struct ct_new_head *h, const struct ct_conversion *v,
                                        carat_error *err)
{
    struct keys k = {.h = h, .v = v, .c = &v->m->config};
    const struct carat_model *m = v->m;
    const struct ct_tokenizer *t = m->tokenizer;
    char *template = NULL;
    int32_t end = -1;

    CT_TRY(ct_chat_source(&template, m->tokenizer_file ? m->tokenizer_file : m->file, err));
    put_string(&k, "tokenizer_class", "GemmaTokenizer");
    put_bool(&k, "add_bos_token", true);
    put_bool(&k, "add_eos_token", m->config.embeds);
    put_bool(&k, "clean_up_tokenization_spaces", false);
    ct_tokenizer_end_ids(t, &end, 1); /* the one that the source names first: <end_of_turn> in a chat's */
    put_piece(&k, "bos_token", ct_tokenizer_bos(t));
    put_piece(&k, "eos_token", end);
    put_piece(&k, "pad_token", ct_tokenizer_id(t, "<pad>"));
    put_piece(&k, "unk_token", ct_tokenizer_control(t, CT_CONTROL_UNK));
    put_name(&k, "added_tokens_decoder");
    ct_new_head_text(h, "{");
    ct_tokenizer_put_added(t, h);
    ct_new_head_text(h, "\n  }");
    if (template)
        put_string(&k, "chat_template", template);
    free(template);
    put_end(&k);
    return CARAT_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* config_sbs.c: the configuration inside a gemma.cpp file. Generation, shapes, windows and caps follow
 * from its fields. No field states linear RoPE, nor the query scale of Gemma 3 27B, where gemma.cpp
 * departs from the trained model (MODEL.md): both follow from the model's number. */
#include "model/family.h"

#include "file/sbs.h"

struct reader {
    const struct ct_sbs_config *s;
    const struct ct_member *member; /* by its number; NULL: one that the fields say all of */
    const char *path;
    carat_status status;
    carat_error *err;
};

static int sbs_count(struct reader *r, const char *field, uint32_t v, uint32_t hi)
{
    if ((v == 0 || v > hi) && !r->status)
        r->status = ct_fail(r->err, CARAT_E_FORMAT, "%s: blob \"config\": %s is %u, expected 1 to %u",
                            r->path, field, (unsigned)v, (unsigned)hi);
    return r->status ? 1 : (int)v;
}

static float sbs_cap(struct reader *r, const char *field, float v)
{
    if (!(v >= 0 && v <= 1e6f) && !r->status)
        r->status =
            ct_fail(r->err, CARAT_E_FORMAT, "%s: blob \"config\": %s is %g, expected a number from 0 to 1e6",
                    r->path, field, (double)v);
    return v;
}

/* Refuses models of gemma.cpp that are no text models of Gemma 1 to 3. */
static carat_status sbs_refuse(const struct reader *r)
{
    const struct ct_sbs_config *s = r->s;
    const char *why = NULL;

    if ((s->model >= CT_SBS_PALIGEMMA_FIRST && s->model <= CT_SBS_PALIGEMMA_LAST) ||
        s->wrapping == CT_SBS_WRAP_PALIGEMMA)
        why = "this is PaliGemma, which answers about images; carat runs text models";
    else if (s->model == 5)
        why = "this is RecurrentGemma (Griffin), which carat does not run";
    else if (s->model == 6 || s->model == 8 || s->model == 9)
        why = "its model number is one that gemma.cpp itself no longer supports";
    else if (s->absolute_pe)
        why = "absolute_pe is true; Gemma has rotary positions";
    else if (s->norm_num_groups > 1)
        why = "norm_num_groups is above 1; Gemma normalises whole rows";
    return why ? ct_fail(r->err, CARAT_E_UNSUPPORTED, "%s: blob \"config\": model %u: %s", r->path,
                         (unsigned)s->model, why)
               : CARAT_OK;
}

static void sbs_layer(struct reader *r, struct ct_config *c, int i)
{
    const struct ct_sbs_layer *s = (const struct ct_sbs_layer *)r->s->layer_configs.element + i,
                              *first = r->s->layer_configs.element;
    struct ct_layer_config *l = &c->layer[i];

    l->kv_layer = i;
    const char *why = NULL;

    l->n_head = sbs_count(r, "heads", s->heads, 1024);
    l->n_kv_head = sbs_count(r, "kv_heads", s->kv_heads, 1024);
    l->head_dim = sbs_count(r, "qkv_dim", s->qkv_dim, 1024);
    l->ffn = sbs_count(r, "ff_hidden_dim", s->ff_hidden_dim, 1 << 20);
    if (s->model_dim != r->s->model_dim)
        why = "model_dim differs from the model's";
    else if (s->qkv_dim != first->qkv_dim || s->post_norm != first->post_norm ||
             s->use_qk_norm != first->use_qk_norm)
        why = "qkv_dim, post_norm or use_qk_norm differs from layer 0";
    else if (s->type != 0)
        why = "an attention of a vision tower";
    else if (s->post_qk != 0)
        why = "half of each head rotated";
    else if (s->ff_biases)
        why = "biases in the feed-forward";
    if (why && !r->status)
        r->status =
            ct_fail(r->err, CARAT_E_UNSUPPORTED,
                    "%s: blob \"config\": layer_configs[%d] has %s, which no Gemma that carat runs has",
                    r->path, i, why);
    bool by_width =
        r->s->query_scale == CT_SBS_BY_WIDTH || (r->member && r->member->query_scalar != r->member->head_dim);
    l->attn_scale = (float)(1 / __builtin_sqrt(by_width ? (double)c->hidden / l->n_head : l->head_dim));
    l->attn_cap = c->layer[0].attn_cap;
}

/* A layer is global when its window is the longest sequence; all others share one window. */
static void sbs_windows(struct reader *r, struct ct_config *c)
{
    const struct ct_sbs_vector *v = &r->s->attention_window_sizes;
    const uint32_t *window = v->element;

    if (v->n != r->s->num_layers && !r->status)
        r->status =
            ct_fail(r->err, CARAT_E_FORMAT,
                    "%s: blob \"config\": attention_window_sizes has %u entries, expected num_layers = %u",
                    r->path, (unsigned)v->n, (unsigned)r->s->num_layers);
    for (int i = 0; i < c->n_layer && !r->status; i++) {
        int w = sbs_count(r, "a window of attention_window_sizes", window[i], 1 << 24);
        c->layer[i].attn_type = w == c->max_context ? CT_GLOBAL : CT_LOCAL;
        if (c->layer[i].attn_type == CT_GLOBAL)
            continue;
        if (c->attn[CT_LOCAL].window && c->attn[CT_LOCAL].window != w && !r->status)
            r->status = ct_fail(
                r->err, CARAT_E_UNSUPPORTED,
                "%s: blob \"config\": attention_window_sizes[%d] is %d after %d; carat runs one local window",
                r->path, i, w, c->attn[CT_LOCAL].window);
        c->attn[CT_LOCAL].window = w;
    }
}

carat_status ct_config_read_sbs(struct ct_config *c, const struct ct_file *f, carat_error *err)
{
    const struct ct_sbs_config *s = ct_file_sbs(f);
    struct reader r = {s, ct_member_of_sbs(s->model), ct_file_path(f), CARAT_OK, err};
    const struct ct_sbs_layer *first = s->layer_configs.element;

    CT_TRY(sbs_refuse(&r));
    c->tied = 1;
    c->norm_plus_one = true;
    c->norm_eps = (float)CT_NORM_EPS;
    c->n_layer = sbs_count(&r, "num_layers", s->num_layers, CT_MAX_LAYERS);
    if (s->layer_configs.n != s->num_layers && !r.status)
        r.status = ct_fail(err, CARAT_E_FORMAT,
                           "%s: blob \"config\": layer_configs has %u entries, expected num_layers = %u",
                           r.path, (unsigned)s->layer_configs.n, (unsigned)s->num_layers);
    c->hidden = sbs_count(&r, "model_dim", s->model_dim, 1 << 17);
    c->n_vocab = sbs_count(&r, "vocab_size", s->vocab_size, 1 << 24);
    c->max_context = sbs_count(&r, "max_seq_len", s->max_seq_len, 1 << 24);
    c->logit_cap = sbs_cap(&r, "final_cap", s->final_cap);
    c->layer[0].attn_cap = sbs_cap(&r, "att_cap", s->att_cap);
    CT_TRY(r.status);

    c->post_norms = first->post_norm != 0;
    c->qk_norms = first->use_qk_norm;
    const struct ct_architecture *a = ct_architecture_with(c->post_norms, c->qk_norms);
    if (!a)
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "%s: blob \"config\": use_qk_norm without post_norm, which no Gemma has", r.path);
    c->architecture = a->name;
    for (int i = 0; i < c->n_layer; i++)
        sbs_layer(&r, c, i);
    int head_dim = c->layer[0].head_dim;
    c->attn[CT_GLOBAL] =
        (struct ct_attn){0, head_dim, head_dim / 2, a->rope_base, r.member ? r.member->rope_factor : 1};
    c->attn[CT_LOCAL] = (struct ct_attn){0, head_dim, head_dim / 2, a->rope_base_local, 1};
    sbs_windows(&r, c);
    c->multimodal = s->vit_config.layer_configs.n > 0;
    if (a->n_text_vocab && c->n_vocab > a->n_text_vocab) /* rows of padding behind it */
        c->n_text_vocab = a->n_text_vocab;
    return r.status;
}

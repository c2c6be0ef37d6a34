/* SPDX-License-Identifier: Apache-2.0 */
/* config_drafter.c: see config_drafter.h. */
#include "model/config_drafter.h"

#include "model/family.h"
#include "model/refuse.h"

enum { MOST_BACKBONE = 1 << 17, MOST_CENTROIDS = 1 << 20, MOST_CONFIG = 1 << 20 };

/* ---- config.json ---- */

carat_status ct_drafter_config_hf(struct ct_config *c, struct ct_hf_reader *top)
{
    const int width = top->class == CT_HF_UNIFIED_ASSISTANT ? 3840 : 1536;

    c->backbone = ct_hf_count(top, "backbone_hidden_size", width, MOST_BACKBONE);
    c->n_centroid = ct_hf_count(top, "num_centroids", 2048, MOST_CENTROIDS);
    c->n_near = ct_hf_count(top, "centroid_intermediate_top_k", 32, MOST_CENTROIDS);
    if (!ct_hf_flag(top, "use_ordered_embeddings", false))
        c->n_centroid = c->n_near = 0; /* the numbers are there all the same */
    return *top->status;
}

/* ---- GGUF ---- */

/* The keys of llama.cpp, and of ik_llama.cpp. */
static const struct dialect {
    const char *architecture, *backbone, *centroids, *near, *tensor;
} dialects[] = {
    {"gemma4-assistant", "embedding_length_out", "n_centroids", "centroid_top_k",
     "masked_embd_centroids.weight"},
    {"gemma4_mtp", "backbone_embedding_length", "centroid_count", "centroid_top_k", "mtp_centroids.weight"},
};

static const struct dialect *dialect_named(struct ct_str architecture)
{
    for (size_t i = 0; i < CT_COUNT(dialects); i++)
        if (ct_str_is(architecture, dialects[i].architecture))
            return &dialects[i];
    return NULL;
}

bool ct_drafter_named(struct ct_str architecture)
{
    return dialect_named(architecture) != NULL;
}

static carat_status meta_count(const struct ct_file *f, const struct dialect *d, const char *name, int most,
                               bool needed, int *value, carat_error *err)
{
    char key[128];
    int64_t n = *value;

    snprintf(key, sizeof key, "%s.%s", d->architecture, name);
    if (needed && !ct_file_meta(f, key))
        return ct_fail(err, CARAT_E_FORMAT,
                       "%s: metadata key \"%s\" is missing; an integer from 1 to %d was expected",
                       ct_file_path(f), key, most);
    CT_TRY(ct_file_meta_int(f, key, 1, most, &n, err));
    *value = (int)n;
    return CARAT_OK;
}

/* Converters leave the centroids out, and mostly what says of them: the tensor decides. Their number is that
 * of its rows, unless a key says another, which is then refused. */
carat_status ct_drafter_config_gguf(struct ct_config *c, const struct ct_file *f, carat_error *err)
{
    const struct ct_meta *arch = ct_file_meta(f, "general.architecture");
    const struct dialect *d = dialect_named(arch->s);
    const struct ct_tensor *t = ct_file_find(f, d->tensor);

    CT_TRY(meta_count(f, d, d->backbone, MOST_BACKBONE, true, &c->backbone, err));
    if (!t)
        return CARAT_OK;
    c->n_centroid = t->n_dim == 2 && t->dim[0] >= 1 && t->dim[0] <= MOST_CENTROIDS ? (int)t->dim[0] : 2048;
    c->n_near = CT_MIN(32, c->n_centroid);
    CT_TRY(meta_count(f, d, d->centroids, MOST_CENTROIDS, false, &c->n_centroid, err));
    return meta_count(f, d, d->near, MOST_CENTROIDS, false, &c->n_near, err);
}

/* ---- in the file of its model ---- */

/* Rows of a matrix, or values of a vector, of the drafter; 0: there is none, or too many. */
static int extent_beside(const struct ct_file *f, int layer, const char *slot)
{
    char name[96];

    if (layer < 0)
        snprintf(name, sizeof name, "nextn.%s.weight", slot);
    else
        snprintf(name, sizeof name, "nextn.blk.%d.%s.weight", layer, slot);
    const struct ct_tensor *t = ct_file_find(f, name);
    return t && t->dim[0] >= 1 && t->dim[0] <= 1 << 24 ? (int)t->dim[0] : 0;
}

/* A layer has the kind whose heads are as wide as its own; where both are, the last one is global. */
static carat_status layer_beside(struct ct_config *c, int i, const struct ct_config *model,
                                 const struct ct_file *f, carat_error *err)
{
    const int head_dim = extent_beside(f, i, "attn_q_norm"), q = extent_beside(f, i, "attn_q"),
              ffn = extent_beside(f, i, "ffn_gate");
    const bool both = model->attn[CT_GLOBAL].head_dim == model->attn[CT_LOCAL].head_dim,
               global = both ? i == c->n_layer - 1 : head_dim == model->attn[CT_GLOBAL].head_dim;
    const int kind = global ? CT_GLOBAL : CT_LOCAL, at = ct_drafter_owner(model, kind);

    if (at < 0 || head_dim != model->layer[at].head_dim || q % head_dim || q / head_dim < 1 || ffn < 1 ||
        q / head_dim > 1024 || ffn > 1 << 20 || q / head_dim % model->layer[at].n_kv_head)
        return ct_fail(
            err, CARAT_E_FORMAT,
            "%s: layer %d of the drafter has %d rows of queries for heads of %d and a feed-forward "
            "of %d, expected whole groups of the heads of a layer of the model",
            ct_file_path(f), i, q, head_dim, ffn);
    c->layer[i] = model->layer[at];
    c->layer[i].n_head = q / head_dim;
    c->layer[i].ffn = ffn;
    c->layer[i].n_expert = c->layer[i].n_used = c->layer[i].expert_ffn = 0;
    return CARAT_OK;
}

carat_status ct_drafter_config_beside(struct ct_config *c, const struct ct_config *model,
                                      const struct ct_file *f, carat_error *err)
{
    enum { NEAR = 32 };

    *c = *model;
    c->backbone = model->hidden;
    c->hidden = extent_beside(f, -1, "pre_projection");
    c->n_layer = 0;
    while (c->n_layer < CT_MAX_LAYERS && extent_beside(f, c->n_layer, "attn_q"))
        c->n_layer++;
    if (ct_file_kind(f) != CT_FILE_GGUF || c->hidden < 1 || c->n_layer < 1)
        return ct_fail(err, CARAT_E_NOT_FOUND,
                       "%s: there is no drafter beside the model: tensors nextn.pre_projection.weight, "
                       "nextn.blk.0.attn_q.weight and so on are missing",
                       ct_file_path(f));
    c->tied = 1;
    c->ple_width = c->ple_rows = c->ple_layers = 0;
    c->n_centroid = extent_beside(f, -1, "masked_embd_centroids");
    c->n_near = CT_MIN(NEAR, c->n_centroid);
    for (int i = 0; i < c->n_layer; i++)
        CT_TRY(layer_beside(c, i, model, f, err));
    ct_drafter_shares_all(c);
    return ct_drafter_config_check(c, ct_file_path(f), err);
}

/* ---- either ---- */

carat_status ct_drafter_refuse(const struct ct_file *f, carat_error *err)
{
    const struct ct_meta *arch = ct_file_meta(f, "general.architecture");
    const struct ct_json_value *root = NULL;
    char path[4096];

    if (ct_file_kind(f) == CT_FILE_GGUF && arch && arch->type == CT_META_STRING && ct_drafter_named(arch->s))
        return ct_refuse_name(ct_file_path(f), "general.architecture", arch->s, err);
    const struct ct_bytes config = ct_file_side(f, "config.json");
    if (ct_file_kind(f) != CT_FILE_HF || !config.data || config.size > MOST_CONFIG)
        return CARAT_OK; /* or it is refused for that */
    snprintf(path, sizeof path, "%s/config.json", ct_file_path(f));
    CT_TRY(ct_file_json(f, "config.json", path, &root, err));
    const struct ct_str type = ct_json_str(ct_json_given(root, "model_type"));
    return ct_architecture_in_assistant(type) ? ct_refuse_name(path, "model_type", type, err) : CARAT_OK;
}

/* ---- the rest of it ---- */

void ct_drafter_shares_all(struct ct_config *c)
{
    for (int i = 0; i < c->n_layer; i++) {
        c->layer[i].kv_layer = -1;
        c->layer[i].v_is_k = false;
    }
}

carat_status ct_drafter_config_check(struct ct_config *c, const char *path, carat_error *err)
{
    const bool experts = c->layer[0].n_expert > 0;

    c->logit_cap = 0; /* as in the reference: its logits are compared with each other alone */
    if (experts || c->ple_width)
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "%s: the drafter has %s, but those that carat runs have none", path,
                       experts ? "experts" : "inputs of its layers");
    if (c->n_near > c->n_centroid)
        return ct_fail(err, CARAT_E_FORMAT, "%s: %d of %d centroids are to be scored, expected at most all",
                       path, c->n_near, c->n_centroid);
    return CARAT_OK;
}

/* ---- the model that it drafts for ---- */

int ct_drafter_owner(const struct ct_config *model, int attn_type)
{
    int i = model->n_layer - 1;

    while (i >= 0 && (model->layer[i].kv_layer != i || model->layer[i].attn_type != attn_type))
        i--;
    return i;
}

static const char *kind_name(int attn_type)
{
    return attn_type == CT_GLOBAL ? "global" : "local";
}

/* Layer i reads K and V as they are: it must have the heads, and turn them as the owner does. */
static carat_status layer_suits(const struct ct_config *d, int i, const struct ct_config *m, const char *path,
                                carat_error *err)
{
    const struct ct_layer_config *l = &d->layer[i];
    const int at = ct_drafter_owner(m, l->attn_type);
    const struct ct_attn *a = &d->attn[l->attn_type], *of_model = &m->attn[l->attn_type];

    if (at < 0)
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "%s: layer %d of the drafter is %s, but the model has no such layer", path, i,
                       kind_name(l->attn_type));
    const struct ct_layer_config *o = &m->layer[at];
    if (l->head_dim != o->head_dim || l->n_kv_head != o->n_kv_head)
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "%s: layer %d of the drafter reads %d KV heads of %d, expected %d of %d, as layer %d "
                       "of the model has them",
                       path, i, l->n_kv_head, l->head_dim, o->n_kv_head, o->head_dim, at);
    if (a->window != of_model->window || a->rotated != of_model->rotated ||
        a->rope_base != of_model->rope_base || a->rope_factor != of_model->rope_factor)
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "%s: %s layers of the drafter have window %d, rope base %g, factor %g and %d pairs "
                       "that turn, expected %d, %g, %g and %d, as those of the model",
                       path, kind_name(l->attn_type), a->window, a->rope_base, a->rope_factor, a->rotated,
                       of_model->window, of_model->rope_base, of_model->rope_factor, of_model->rotated);
    return CARAT_OK;
}

carat_status ct_drafter_suits(const struct ct_config *d, const struct ct_config *m, const char *path,
                              carat_error *err)
{
    if (d->embeds || m->embeds)
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "%s: %s gives vectors of texts, expected models that generate", path,
                       d->embeds ? "the drafter" : "the model that it is to draft for");
    if (d->n_text_vocab != m->n_text_vocab)
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "%s: the drafter has a vocabulary of %d ids, expected %d, as the model has", path,
                       d->n_text_vocab, m->n_text_vocab);
    if (!d->backbone)
        return CARAT_OK;
    if (strcmp(d->architecture, m->architecture) != 0)
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "%s: the drafter is made for models of architecture \"%s\", expected \"%s\"", path,
                       d->architecture, m->architecture);
    if (d->backbone != m->hidden)
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "%s: the drafter reads states of %d values, expected %d, as the model has", path,
                       d->backbone, m->hidden);
    if (d->norm_eps != m->norm_eps)
        return ct_fail(err, CARAT_E_UNSUPPORTED, "%s: norms of the drafter add %g, expected %g", path,
                       (double)d->norm_eps, (double)m->norm_eps);
    for (int i = 0; i < d->n_layer; i++)
        CT_TRY(layer_suits(d, i, m, path, err));
    return CARAT_OK;
}

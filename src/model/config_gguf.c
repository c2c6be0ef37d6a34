/* SPDX-License-Identifier: Apache-2.0 */
/* config_gguf.c: GGUF metadata of the architectures gemma, gemma2 and gemma3. Several facts are not stored
 * in such files and come from the family: attention scale, local rope base, the pattern of local layers. */
#include "model/family.h"
#include "model/refuse.h"

struct reader {
    const struct ct_file *f;
    const struct ct_architecture *arch;
    carat_status status;
    carat_error *err;
};

static const char *gguf_key(const struct reader *r, const char *name, char key[128])
{
    snprintf(key, 128, "%s.%s", r->arch->name, name);
    return key;
}

/* required: fallback < 0 */
static int gguf_count(struct reader *r, const char *name, int fallback, int hi)
{
    char key[128];
    int64_t v = fallback;

    if (r->status)
        return 1;
    gguf_key(r, name, key);
    if (!ct_file_meta(r->f, key) && fallback < 0)
        r->status = ct_fail(r->err, CARAT_E_FORMAT,
                            "%s: metadata key \"%s\" is missing; an integer from 1 to %d was expected",
                            ct_file_path(r->f), key, hi);
    else
        r->status = ct_file_meta_int(r->f, key, 1, hi, &v, r->err);
    return r->status ? 1 : (int)v;
}

static double gguf_number_at(struct reader *r, const char *key, double fallback, double lo, double hi)
{
    double v = fallback;

    if (!r->status)
        r->status = ct_file_meta_float(r->f, key, &v, r->err);
    if (!r->status && ct_file_meta(r->f, key) && !(v >= lo && v <= hi))
        r->status =
            ct_fail(r->err, CARAT_E_FORMAT,
                    "%s: metadata key \"%s\" is %.9g at byte %llu, but must be from %.15g to %.15g",
                    ct_file_path(r->f), key, v, (unsigned long long)ct_file_meta(r->f, key)->offset, lo, hi);
    return r->status ? fallback : v;
}

static double gguf_number(struct reader *r, const char *name, double fallback, double lo, double hi)
{
    char key[128];
    return gguf_number_at(r, gguf_key(r, name, key), fallback, lo, hi);
}

/* A bool array (true = local), a period, or the architecture's own period when the key is absent. */
static void gguf_pattern(struct reader *r, struct ct_config *c)
{
    int period = r->arch->period;
    char key[128];
    const struct ct_meta *m = ct_file_meta(r->f, gguf_key(r, "attention.sliding_window_pattern", key));

    if (m && m->type != CT_META_ARRAY)
        period = gguf_count(r, "attention.sliding_window_pattern", period, 1 << 16);
    for (int i = 0; i < c->n_layer; i++)
        c->layer[i].attn_type = (i + 1) % period == 0 ? CT_GLOBAL : CT_LOCAL;
    if (!m || m->type != CT_META_ARRAY || r->status)
        return;
    if (m->count != (uint64_t)c->n_layer || m->elem == CT_META_STRING || m->elem == CT_META_ARRAY) {
        r->status = ct_fail(
            r->err, CARAT_E_FORMAT,
            "%s: metadata key \"%s\" at byte %llu has %llu entries, expected one bool for each of %d layers",
            ct_file_path(r->f), key, (unsigned long long)m->offset, (unsigned long long)m->count, c->n_layer);
        return;
    }
    for (int i = 0; i < c->n_layer; i++)
        c->layer[i].attn_type = ct_meta_number(m, (uint64_t)i) != 0 ? CT_LOCAL : CT_GLOBAL;
}

/* The architecture that the file states, when carat runs it. */
static carat_status gguf_architecture(const struct ct_file *f, const struct ct_architecture **known,
                                      carat_error *err)
{
    const char *path = ct_file_path(f);
    const struct ct_meta *arch = ct_file_meta(f, "general.architecture");
    const struct ct_meta *type = ct_file_meta(f, "general.type"); /* "model", or a part of one */
    char key[64];

    if (type && type->type == CT_META_STRING && ct_refuse_knows(type->s))
        return ct_refuse_name(path, "general.type", type->s, err);
    if (!arch || arch->type != CT_META_STRING)
        return ct_fail(err, CARAT_E_FORMAT, "%s: metadata key \"general.architecture\" is %s", path,
                       arch ? "not a string" : "missing");
    *known = ct_architecture_named(arch->s);
    if (!*known || (*known)->v_norms) /* of Gemma 4 the directories of Hugging Face alone are read so far */
        return ct_refuse_name(path, "general.architecture", arch->s, err);
    snprintf(key, sizeof key, "%s.attention.causal", (*known)->name);
    const struct ct_meta *causal = ct_file_meta(f, key);
    if (causal && causal->type == CT_META_BOOL && !causal->u)
        return ct_refuse_bidirectional(path, key, err);
    return CARAT_OK;
}

/* Tensors that change the angles of the rotary embedding pair by pair, as no Gemma 1 to 3 was made. */
static carat_status gguf_refuse_angles(const struct ct_file *f, carat_error *err)
{
    static const char *const names[] = {"rope_freqs.weight", "rope_factors_long.weight",
                                        "rope_factors_short.weight"};
    for (size_t i = 0; i < CT_COUNT(names); i++) {
        const struct ct_tensor *t = ct_file_find(f, names[i]);
        if (t)
            return ct_fail(
                err, CARAT_E_UNSUPPORTED,
                "%s: tensor %s at byte %llu gives each angle of the rotary embedding a factor of its "
                "own, which carat does not apply to Gemma 1, 2 and 3",
                t->file, t->name, (unsigned long long)t->offset);
    }
    return CARAT_OK;
}

/* The sizes that all layers share. */
static void gguf_layers(struct reader *r, struct ct_config *c)
{
    struct ct_layer_config l = {0};

    l.ffn = gguf_count(r, "feed_forward_length", -1, 1 << 20);
    l.n_head = gguf_count(r, "attention.head_count", -1, 1024);
    l.n_kv_head = gguf_count(r, "attention.head_count_kv", l.n_head, 1024);
    l.head_dim = gguf_count(r, "attention.key_length", CT_MAX(1, c->hidden / l.n_head), 1 << 16);
    int value_length = gguf_count(r, "attention.value_length", l.head_dim, 1 << 16);
    if (!r->status && value_length != l.head_dim)
        r->status = ct_fail(r->err, CARAT_E_UNSUPPORTED,
                            "%s: metadata key \"%s.attention.value_length\" is %d, expected key_length = %d",
                            ct_file_path(r->f), r->arch->name, value_length, l.head_dim);
    bool by_width = ct_member_scales_by_width(r->arch, c->n_layer);
    l.attn_scale = (float)(1 / __builtin_sqrt(by_width ? (double)c->hidden / l.n_head : l.head_dim));
    l.attn_cap = (float)gguf_number(r, "attn_logit_softcapping", (double)r->arch->attn_cap, 0, 1e6);
    for (int i = 0; i < c->n_layer; i++) {
        c->layer[i] = l;
        c->layer[i].kv_layer = i;
    }
}

/* Window and rotary embedding of local and of global layers. */
static void gguf_kinds(struct reader *r, struct ct_config *c)
{
    const double least_base = 1.0001;
    const struct ct_architecture *a = r->arch;
    int window = a->window ? gguf_count(r, "attention.sliding_window", a->window, 1 << 24) : 0;
    double base = gguf_number(r, "rope.freq_base", a->rope_base, least_base, 1e12);
    double local =
        a->qk_norms ? gguf_number(r, "rope.local.freq_base", a->rope_base_local, least_base, 1e12) : base;
    int head_dim = c->layer[0].head_dim;
    char key[128];

    local = gguf_number(r, "rope.freq_base_swa", local, least_base, 1e12);
    c->attn[CT_GLOBAL] = (struct ct_attn){0, head_dim, head_dim / 2, base, 1};
    c->attn[CT_LOCAL] = (struct ct_attn){window, head_dim, head_dim / 2, local, 1};

    const struct ct_meta *type = ct_file_meta(r->f, gguf_key(r, "rope.scaling.type", key));
    if (type && type->type == CT_META_STRING && ct_str_is(type->s, "linear"))
        c->attn[CT_GLOBAL].rope_factor = gguf_number(r, "rope.scaling.factor", 1, 1e-3, 1e5);
    else if (type && !(type->type == CT_META_STRING && ct_str_is(type->s, "none")) && !r->status)
        r->status = ct_fail(r->err, CARAT_E_UNSUPPORTED,
                            "%s: metadata key \"%s\" at byte %llu is not \"linear\" or \"none\"",
                            ct_file_path(r->f), key, (unsigned long long)type->offset);
}

/* Every token needs a row: its id comes from the tokenizer and is not looked at again. */
static void gguf_vocabulary(struct reader *r, struct ct_config *c)
{
    const struct ct_meta *tokens = ct_file_meta(r->f, "tokenizer.ggml.tokens");
    const struct ct_tensor *embed = ct_file_find(r->f, "token_embd.weight");

    if (!tokens || tokens->type != CT_META_ARRAY)
        return;
    if (!r->status && embed && tokens->count > (uint64_t)embed->dim[0])
        r->status = ct_fail(
            r->err, CARAT_E_FORMAT,
            "%s: tensor token_embd.weight at byte %llu has %lld rows, expected at least %llu, one for "
            "each entry of metadata key \"tokenizer.ggml.tokens\"",
            ct_file_path(r->f), (unsigned long long)embed->offset, (long long)embed->dim[0],
            (unsigned long long)tokens->count);
    if (tokens->count < 1 << 24)
        c->n_text_vocab = (int)tokens->count;
    if (r->arch->n_text_vocab) /* older files of 4B and up keep 64 rows of padding */
        c->n_text_vocab = CT_MIN(c->n_text_vocab, r->arch->n_text_vocab);
}

carat_status ct_config_read_gguf(struct ct_config *c, const struct ct_file *f, carat_error *err)
{
    struct reader r = {f, NULL, CARAT_OK, err};

    CT_TRY(gguf_architecture(f, &r.arch, err));
    CT_TRY(gguf_refuse_angles(f, err));
    c->architecture = r.arch->name;
    c->post_norms = r.arch->post_norms;
    c->qk_norms = r.arch->qk_norms;
    c->tied = 1;
    c->n_layer = gguf_count(&r, "block_count", -1, CT_MAX_LAYERS);
    c->hidden = gguf_count(&r, "embedding_length", -1, 1 << 17);
    c->max_context = gguf_count(&r, "context_length", 8192, 1 << 24);
    c->norm_eps = (float)gguf_number(&r, "attention.layer_norm_rms_epsilon", CT_NORM_EPS, 0, 1);
    c->logit_cap = (float)gguf_number(&r, "final_logit_softcapping", (double)r.arch->logit_cap, 0, 1e6);
    gguf_layers(&r, c);
    gguf_pattern(&r, c);
    gguf_kinds(&r, c);
    c->embed_scale_override = gguf_number_at(&r, "carat.embedding_scale", 0, 0, 1e6);
    gguf_vocabulary(&r, c);
    return r.status;
}

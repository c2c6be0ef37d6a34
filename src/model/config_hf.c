/* SPDX-License-Identifier: Apache-2.0 */
/* config_hf.c: config.json in all its spellings. A released multimodal config leaves out what equals the
 * class default, so every field starts from the family's default and is overlaid. */
#include "model/config_drafter.h"
#include "model/config_int4.h"
#include "model/family.h"
#include "model/refuse.h"

enum { MOST_WIDTH = 1 << 20 }; /* of a feed-forward */

/* A reader over one object that keeps its first error, so that reading is straight-line. */
struct reader {
    const char *path;
    struct ct_bytes text;
    const struct ct_json_value *o;
    const char *within; /* leads to o from the root: "", "text_config.", ... */
    carat_status status;
    carat_error *err;
};

/* Refuses a value, to which key leads from r->o, unless there is an error already. */
static void hf_refuse_value(struct reader *r, carat_status code, const struct ct_json_value *value,
                            const char *key, const char *expected)
{
    char whole[128];

    if (r->status)
        return;
    snprintf(whole, sizeof whole, "%s%s", r->within, key);
    r->status = ct_json_refuse(r->err, code, r->path, r->text, value, whole, "%s", expected);
}

/* A reader of the object under key. */
static struct reader hf_inside(const struct reader *r, const char *key, const struct ct_json_value *o,
                               char within[64])
{
    snprintf(within, 64, "%s%s.", r->within, key);
    return (struct reader){r->path, r->text, o, within, r->status, r->err};
}

static void hf_refuse_key(struct reader *r, carat_status code, const char *key, const char *expected)
{
    hf_refuse_value(r, code, ct_json_given(r->o, key), key, expected);
}

static double hf_number(struct reader *r, const char *key, double fallback, double lo, double hi)
{
    const struct ct_json_value *v = ct_json_given(r->o, key);

    if (!v || r->status)
        return fallback;
    double d = ct_json_double(v);
    if (!ct_json_is(v, CT_JSON_NUMBER) || !(d >= lo && d <= hi)) {
        char expected[96];
        snprintf(expected, sizeof expected, "expected a number from %.15g to %.15g", lo, hi);
        hf_refuse_key(r, CARAT_E_FORMAT, key, expected);
        return fallback;
    }
    return d;
}

static int hf_integer(struct reader *r, const char *key, int fallback, int lo, int hi)
{
    const struct ct_json_value *v = ct_json_given(r->o, key);
    int64_t n;

    if (!v || r->status)
        return fallback;
    if (!ct_json_integer(v, &n) || n < lo || n > hi) {
        char expected[64];
        snprintf(expected, sizeof expected, "expected an integer from %d to %d", lo, hi);
        hf_refuse_key(r, CARAT_E_FORMAT, key, expected);
        return fallback;
    }
    return (int)n;
}

static int hf_count(struct reader *r, const char *key, int fallback, int hi)
{
    return hf_integer(r, key, fallback, 1, hi);
}

/* Of what a model may do without: 0, or an explicit null. */
static int hf_size(struct reader *r, const char *key, int fallback, int hi)
{
    const bool none = ct_json_is(ct_json_get(r->o, key), CT_JSON_NULL);
    return none ? 0 : hf_integer(r, key, fallback, 0, hi);
}

/* A value of one kind; NULL when absent. */
static const struct ct_json_value *hf_typed(struct reader *r, const char *key, enum ct_json_token kind,
                                            const char *expected)
{
    const struct ct_json_value *v = ct_json_given(r->o, key);

    if (!v || r->status || ct_json_is(v, kind))
        return r->status ? NULL : v;
    hf_refuse_key(r, CARAT_E_FORMAT, key, expected);
    return NULL;
}

static bool hf_flag(struct reader *r, const char *key, bool fallback)
{
    const struct ct_json_value *v = ct_json_given(r->o, key);

    if (v && !ct_json_is_bool(v))
        hf_refuse_key(r, CARAT_E_FORMAT, key, "expected true or false");
    return v && !r->status ? ct_json_is(v, CT_JSON_TRUE) : fallback;
}

static const struct ct_json_value *hf_string(struct reader *r, const char *key)
{
    return hf_typed(r, key, CT_JSON_STRING, "expected a string");
}

static const struct ct_json_value *hf_object(struct reader *r, const char *key)
{
    return hf_typed(r, key, CT_JSON_OBJECT, "expected an object");
}

/* {"rope_theta": .., "rope_type": "linear", "factor": ..} in either dialect, under key. */
static void hf_rope(struct reader *r, const char *key, const struct ct_json_value *o, struct ct_attn *kind)
{
    if (!o || r->status)
        return;
    char within[64];
    struct reader sub = hf_inside(r, key, o, within);
    const char *name = ct_json_given(o, "rope_type") ? "rope_type" : "type";
    const struct ct_json_value *type = hf_string(&sub, name);
    kind->rope_base = hf_number(&sub, "rope_theta", kind->rope_base, 1.0001, 1e12);
    if (ct_json_is_text(type, "linear")) {
        if (!ct_json_given(o, "factor")) /* transformers needs it too */
            hf_refuse_key(&sub, CARAT_E_FORMAT, name, "which needs a factor beside it");
        kind->rope_factor = hf_number(&sub, "factor", 1, 1e-3, 1e5);
    } else if (ct_json_is_text(type, "proportional")) { /* the first pairs turn, as if all did */
        const double share = hf_number(&sub, "partial_rotary_factor", 1, 0, 1);
        kind->rotated = (int)(share * kind->head_dim / 2);
    } else if (ct_json_is_text(type, "default")) {
        kind->rotated = kind->head_dim / 2;
    } else if (type) {
        hf_refuse_key(&sub, CARAT_E_UNSUPPORTED, name,
                      "but carat runs \"default\", \"linear\" and \"proportional\" only");
    }
    r->status = sub.status;
}

/* The list under key, which has a value for each layer; NULL: it is absent, or refused. */
static const struct ct_json_value *hf_layer_list(struct reader *r, const char *key, int n_layer)
{
    const struct ct_json_value *list = ct_json_given(r->o, key);
    char expected[96];

    if (!list || r->status || (ct_json_is(list, CT_JSON_ARRAY) && ct_json_count(list) == (size_t)n_layer))
        return r->status ? NULL : list;
    snprintf(expected, sizeof expected, "expected a list with num_hidden_layers = %d entries", n_layer);
    hf_refuse_key(r, CARAT_E_FORMAT, key, expected);
    return NULL;
}

/* Refuses value i of such a list. */
static void hf_refuse_item(struct reader *r, carat_status code, const struct ct_json_value *value,
                           const char *key, int i, const char *expected)
{
    char item[64];

    snprintf(item, sizeof item, "%s[%d]", key, i);
    hf_refuse_value(r, code, value, item, expected);
}

static void hf_layer_kinds(struct reader *r, struct ct_config *c, int pattern)
{
    int i = 0;

    for (int k = 0; k < c->n_layer; k++)
        c->layer[k].attn_type = pattern > 0 && (k + 1) % pattern == 0 ? CT_GLOBAL : CT_LOCAL;
    CT_JSON_EACH(type, hf_layer_list(r, "layer_types", c->n_layer))
    {
        const bool global = ct_json_is_text(type, "full_attention");
        if (!global && !ct_json_is_text(type, "sliding_attention"))
            hf_refuse_item(r, CARAT_E_FORMAT, type, "layer_types", i,
                           "expected \"full_attention\" or \"sliding_attention\"");
        c->layer[i++].attn_type = global ? CT_GLOBAL : CT_LOCAL;
    }
}

/* A cap on scores or logits; an explicit null switches it off. */
static float hf_cap(struct reader *r, const char *key, float fallback)
{
    bool off = ct_json_is(ct_json_get(r->o, key), CT_JSON_NULL);
    return off ? 0 : (float)hf_number(r, key, (double)fallback, 0, 1e6);
}

/* The sizes that all layers share. */
static void hf_layers(struct reader *r, struct ct_config *c, const struct ct_architecture *a)
{
    struct ct_layer_config l = {0};

    if (!a->altup || !ct_json_is(ct_json_given(r->o, "intermediate_size"), CT_JSON_ARRAY))
        l.ffn = hf_count(r, "intermediate_size", a->hf.ffn, MOST_WIDTH);
    l.n_head = hf_count(r, "num_attention_heads", a->hf.n_head, 1024);
    l.n_kv_head = hf_count(r, "num_key_value_heads", a->hf.n_kv_head, 1024);
    l.head_dim = hf_count(r, "head_dim", a->hf.head_dim, 1 << 16);
    l.attn_cap = hf_cap(r, "attn_logit_softcapping", a->attn_cap);
    double scalar = a->hf.query_scalar > 0 ? a->hf.query_scalar : l.head_dim;
    if (a->hf.query_scalar > 1)
        scalar = hf_number(r, "query_pre_attn_scalar", a->hf.query_scalar, 1e-6, 1e9);
    l.attn_scale = (float)(1 / __builtin_sqrt(scalar));
    for (int i = 0; i < c->n_layer; i++) {
        c->layer[i] = l;
        c->layer[i].kv_layer = i;
    }
}

/* The last layers may read K and V of the last one of their type before them; then they may be twice as
 * wide. */
static void hf_shared_layers(struct reader *r, struct ct_config *c, const struct ct_architecture *a)
{
    if (c->backbone) { /* a drafter's do so all, and the model that it drafts for is another */
        ct_drafter_shares_all(c);
        return;
    }
    const int n = a->v_norms ? hf_size(r, "num_kv_shared_layers", a->hf.n_shared, 1 << 20) : 0;
    const int first = CT_MAX(c->n_layer - n, 0), without = ct_family_share_kv(c, n);
    const bool double_wide = a->v_norms && hf_flag(r, "use_double_wide_mlp", false);

    if (without >= 0) {
        char expected[128];
        snprintf(expected, sizeof expected,
                 "but layer %d then finds no %s layer before layer %d to share with", without,
                 c->layer[without].attn_type == CT_GLOBAL ? "global" : "local", first);
        hf_refuse_key(r, CARAT_E_FORMAT, "num_kv_shared_layers", expected);
    }
    for (int i = first; i < c->n_layer; i++)
        c->layer[i].ffn *= double_wide ? 2 : 1;
}

/* The input of each layer, of a token's row in a table of its own. */
static void hf_layer_inputs(struct reader *r, struct ct_config *c, const struct ct_architecture *a)
{
    if (!a->hf.ple_width)
        return;
    c->ple_width = hf_size(r, "hidden_size_per_layer_input", c->backbone ? 0 : a->hf.ple_width, 1 << 16);
    if (!c->ple_width)
        return;
    c->ple_layers = c->n_layer;
    if (!a->hf.ple_rows) /* they are made of the stream alone */
        return;
    c->ple_rows = hf_count(r, "vocab_size_per_layer_input", a->hf.ple_rows, 1 << 24);
    if (a->altup) { /* ids beyond the table stand for pictures and sounds */
        c->n_text_vocab = CT_MIN(c->ple_rows, c->n_vocab);
    } else if (!r->status && c->ple_rows < c->n_vocab) {
        char expected[96];
        snprintf(expected, sizeof expected, "expected at least vocab_size = %d", c->n_vocab);
        hf_refuse_key(r, CARAT_E_FORMAT, "vocab_size_per_layer_input", expected);
    }
}

/* Widths of Gemma 3n's layers: one for all, or a list. */
static void hf_widths(struct reader *r, struct ct_config *c)
{
    const char *const key = "intermediate_size";
    const struct ct_json_value *list = NULL;
    int64_t width;
    int i = 0;

    if (ct_json_is(ct_json_given(r->o, key), CT_JSON_ARRAY))
        list = hf_layer_list(r, key, c->n_layer);
    CT_JSON_EACH(value, list)
    {
        const bool whole = ct_json_integer(value, &width) && width >= 1 && width <= MOST_WIDTH;
        if (!whole)
            hf_refuse_item(r, CARAT_E_FORMAT, value, key, i, "expected an integer from 1 to 1048576");
        c->layer[i++].ffn = whole ? (int)width : 1;
    }
}

/* Which layers cut their gates off, as shares of values that become 0; the first ten where config.json says
 * nothing. */
static void hf_cutoffs(struct reader *r, struct ct_config *c)
{
    const char *const key = "activation_sparsity_pattern";
    const struct ct_json_value *list = hf_layer_list(r, key, c->n_layer);
    const double sparse = 0.95;
    int i = 0;

    ct_family_cut_off(c);
    CT_JSON_EACH(value, list)
    {
        const double share = ct_json_is(value, CT_JSON_NUMBER) ? ct_json_double(value) : -1;
        if (share != 0 && share != sparse)
            hf_refuse_item(r, CARAT_E_UNSUPPORTED, value, key, i, "but carat runs 0 and 0.95 only");
        c->layer[i++].cutoff = share == sparse ? CT_CUTOFF : 0;
    }
}

/* What Gemma 3n alone has. */
static void hf_altup(struct reader *r, struct ct_config *c, const struct ct_architecture *a)
{
    c->altup = a->altup;
    if (!a->altup)
        return;
    if (hf_size(r, "altup_num_inputs", CT_STREAMS, 1 << 20) != CT_STREAMS)
        hf_refuse_key(r, CARAT_E_UNSUPPORTED, "altup_num_inputs", "but carat runs models with 4 only");
    if (hf_size(r, "altup_active_idx", 0, 1 << 20) != 0)
        hf_refuse_key(r, CARAT_E_UNSUPPORTED, "altup_active_idx", "but carat runs models with 0 only");
    if (!r->status && !c->ple_width)
        hf_refuse_key(r, CARAT_E_UNSUPPORTED, "hidden_size_per_layer_input",
                      "but carat runs Gemma 3n with inputs of each layer only");
    c->altup_scales = hf_flag(r, "altup_correct_scale", true);
    c->laurel_rank = hf_count(r, "laurel_rank", a->hf.laurel_rank, 1 << 16);
    hf_widths(r, c);
    hf_cutoffs(r, c);
}

/* A count that the class leaves open. */
static int hf_needed(struct reader *r, const char *key, const char *by, int hi)
{
    if (!r->status && !ct_json_given(r->o, key))
        r->status =
            ct_fail(r->err, CARAT_E_FORMAT, "%s: %s%s is missing, which %s needs: an integer from 1 to %d",
                    r->path, r->within, key, by, hi);
    return hf_count(r, key, 1, hi);
}

/* Feed-forwards beside that of a layer, of which a router chooses some for each row. */
static void hf_experts(struct reader *r, struct ct_config *c, const struct ct_architecture *a)
{
    const char *const by = "enable_moe_block";

    if (!a->v_norms || !hf_flag(r, by, false))
        return;
    const int n = hf_needed(r, "num_experts", by, CT_MOST_EXPERTS);
    const int used = hf_needed(r, "top_k_experts", by, CT_MOST_EXPERTS);
    const int ffn = hf_needed(r, "moe_intermediate_size", by, 1 << 20);
    if (!r->status && used > n) {
        char expected[64];
        snprintf(expected, sizeof expected, "expected at most num_experts = %d", n);
        hf_refuse_key(r, CARAT_E_FORMAT, "top_k_experts", expected);
    }
    ct_family_give_experts(c, n, used, ffn);
}

/* What global layers of Gemma 4 have of their own; in what transformers saves again it stands layer by
 * layer. */
static void hf_global_layers(struct reader *r, struct ct_config *c, const struct ct_architecture *a)
{
    if (!a->global_head_dim)
        return;
    const bool v_is_k = hf_flag(r, "attention_k_eq_v", false);
    const int head_dim = hf_count(r, "global_head_dim", a->global_head_dim, 1 << 16);
    const int as_others = a->n_kv_head_global ? a->n_kv_head_global : c->layer[0].n_kv_head;
    const int n_kv_head = hf_count(r, "num_global_key_value_heads", as_others, 1024);
    const struct ct_json_value *layers = hf_object(r, "per_layer_config");
    char of_layers[64], of_layer[64], key[16];
    struct reader each = hf_inside(r, "per_layer_config", layers, of_layers);

    c->made_global = c->layer[c->n_layer - 1].attn_type != CT_GLOBAL;
    c->layer[c->n_layer - 1].attn_type = CT_GLOBAL; /* whatever is said: the reference makes it so */
    for (int i = 0; i < c->n_layer; i++) {
        struct ct_layer_config *l = &c->layer[i];
        const bool global = l->attn_type == CT_GLOBAL;
        snprintf(key, sizeof key, "%d", i);
        const struct ct_json_value *own = layers ? hf_object(&each, key) : NULL;
        struct reader layer = hf_inside(&each, key, own, of_layer);
        l->v_is_k = global && v_is_k;
        if (own) {
            l->head_dim = hf_count(&layer, "head_dim", l->head_dim, 1 << 16);
            l->n_kv_head = hf_count(&layer, "num_key_value_heads", l->n_kv_head, 1024);
        } else if (global && !layers) {
            l->head_dim = head_dim;
            l->n_kv_head = v_is_k || a->n_kv_head_global ? n_kv_head : l->n_kv_head;
        }
        each.status = layer.status;
    }
    r->status = each.status;
}

/* Layers of one kind turn their heads by one table. */
static void hf_check_kinds(struct reader *r, const struct ct_config *c)
{
    for (int i = 0; i < c->n_layer && !r->status; i++) {
        const struct ct_layer_config *l = &c->layer[i];
        const int of_kind = c->attn[l->attn_type].head_dim;
        if (l->head_dim != of_kind)
            r->status = ct_fail(r->err, CARAT_E_UNSUPPORTED,
                                "%s: layer %d has heads of %d values, others of its kind have %d", r->path, i,
                                l->head_dim, of_kind);
    }
}

/* Window and rotary embedding of local and of global layers, in the older spelling and in that of
 * rope_parameters. */
static void hf_kinds(struct reader *r, struct ct_config *c, const struct ct_architecture *a)
{
    int head_dim[CT_ATTN_TYPES] = {c->layer[0].head_dim, c->layer[0].head_dim}, window = 0;
    struct ct_attn *global = &c->attn[CT_GLOBAL], *local = &c->attn[CT_LOCAL];

    for (int i = 0; i < c->n_layer; i++)
        head_dim[c->layer[i].attn_type] = c->layer[i].head_dim;

    if (a->hf.window)
        window = hf_count(r, "sliding_window", a->hf.window, 1 << 24);
    if (a->embeds) /* keys on one side; of both, as files say it, but for one class of EmbeddingGemma 2 */
        window = 1 + (a->vector && !ct_json_given(r->o, "use_bidirectional_attention") ? window : window / 2);
    *global = (struct ct_attn){0, head_dim[CT_GLOBAL], (int)(a->rotated * head_dim[CT_GLOBAL] / 2), 0, 1};
    *local = (struct ct_attn){window, head_dim[CT_LOCAL], head_dim[CT_LOCAL] / 2, 0, 1};
    global->rope_base = hf_number(r, "rope_theta", a->rope_base, 1.0001, 1e12);
    local->rope_base = a->qk_norms ? hf_number(r, "rope_local_base_freq", a->rope_base_local, 1.0001, 1e12)
                                   : global->rope_base;
    hf_rope(r, "rope_scaling", hf_object(r, "rope_scaling"), global);

    const struct ct_json_value *rope = hf_object(r, "rope_parameters");
    char within[64];
    struct reader kinds = hf_inside(r, "rope_parameters", rope, within);
    const struct ct_json_value *full = hf_object(&kinds, "full_attention"),
                               *sliding = hf_object(&kinds, "sliding_attention");
    if (full || sliding) {
        hf_rope(&kinds, "full_attention", full, global);
        hf_rope(&kinds, "sliding_attention", sliding, local);
    }
    r->status = kinds.status;
    if (!full && !sliding) {
        hf_rope(r, "rope_parameters", rope, global);
        if (!a->qk_norms)
            local->rope_base = global->rope_base;
    }
}

static void hf_text(struct reader *r, struct ct_config *c, const struct ct_architecture *a)
{
    c->architecture = a->name;
    c->norm_plus_one = !a->norms_as_stored;
    c->post_norms = a->post_norms;
    c->qk_norms = a->qk_norms;
    c->v_norms = a->v_norms;
    c->out_scales = a->out_scales;
    c->embeds = a->embeds;
    c->n_vocab = hf_count(r, "vocab_size", a->hf.n_vocab, 1 << 24);
    c->hidden = hf_count(r, "hidden_size", a->hf.hidden, 1 << 17);
    c->n_layer = hf_count(r, "num_hidden_layers", a->hf.n_layer, CT_MAX_LAYERS);
    c->max_context = hf_count(r, "max_position_embeddings", a->hf.max_context, 1 << 24);
    c->norm_eps = (float)hf_number(r, "rms_norm_eps", CT_NORM_EPS, 0, 1);
    c->logit_cap = hf_cap(r, "final_logit_softcapping", a->logit_cap);
    c->tied = hf_flag(r, "tie_word_embeddings", true);
    hf_layers(r, c, a);
    int period = hf_count(r, "sliding_window_pattern",
                          hf_count(r, "_sliding_window_pattern", a->period, 1 << 16), 1 << 16);
    hf_layer_kinds(r, c, a->hf.window ? period : 1);
    hf_global_layers(r, c, a);
    hf_shared_layers(r, c, a);
    hf_layer_inputs(r, c, a);
    hf_altup(r, c, a);
    hf_experts(r, c, a);
    hf_kinds(r, c, a);
    hf_check_kinds(r, c);
}

/* config.json is a few kilobytes. */
enum { MAX_CONFIG = 1 << 20 };

/* Quantisation that config.json states: MLX writes "quantization", everyone else "quantization_config". One
 * form is read: *int4. */
static carat_status hf_refuse_quantised(const struct reader *r, const struct ct_json_value *root,
                                        const struct ct_json_value *text, bool *int4)
{
    static const char *const keys[] = {"quantization_config", "compression_config", "quantization"};
    for (size_t i = 0; i < CT_COUNT(keys); i++) {
        const struct ct_json_value *q =
            ct_json_given(root, keys[i]) ? ct_json_given(root, keys[i]) : ct_json_given(text, keys[i]);
        if (!q)
            continue;
        *int4 = ct_int4_is(q);
        if (*int4)
            return ct_int4_check(q, r->path, r->text, keys[i], r->err);
        struct ct_str method = ct_json_str(ct_json_given(q, "quant_method")),
                      detail = ct_json_str(ct_json_given(q, "format"));
        int64_t bits = 0;
        char width[16];
        if (ct_json_is(ct_json_given(q, "load_in_4bit"), CT_JSON_TRUE))
            bits = 4;
        else if (ct_json_is(ct_json_given(q, "load_in_8bit"), CT_JSON_TRUE))
            bits = 8;
        else
            ct_json_integer(ct_json_given(q, "bits"), &bits);
        if (!detail.n && bits > 0 && bits <= 16) {
            snprintf(width, sizeof width, "%d bits", (int)bits);
            detail = ct_str_of(width);
        }
        if (!method.n)
            method = ct_str_of(ct_json_given(q, "group_size") ? "MLX" : "an unnamed method");
        return ct_refuse_quantised(r->path, keys[i], method, detail, r->err);
    }
    return CARAT_OK;
}

/* Refuses a checkpoint whose model_type is right and which carat must not run for another reason. One that
 * sees both ways is another architecture. */
static carat_status hf_refuse(struct reader *r, const struct ct_json_value *root,
                              const struct ct_architecture **a, bool *int4)
{
    const struct ct_json_value *activation = hf_string(r, "hidden_activation"),
                               *bidirectional = ct_json_given(r->o, "use_bidirectional_attention");

    CT_TRY(hf_refuse_quantised(r, root, r->o, int4));
    if (activation && !ct_json_is_text(activation, "gelu_pytorch_tanh"))
        hf_refuse_key(r, CARAT_E_UNSUPPORTED, "hidden_activation", "expected \"gelu_pytorch_tanh\"");
    if (hf_flag(r, "attention_bias", false))
        hf_refuse_key(r, CARAT_E_UNSUPPORTED, "attention_bias", "but Gemma models have no biases");
    /* "vision" concerns tokens of images only */
    if (r->status || (*a)->embeds || !bidirectional || ct_json_is(bidirectional, CT_JSON_FALSE) ||
        ct_json_is_text(bidirectional, "vision"))
        return r->status;
    if (!(*a)->embeds_as)
        return ct_refuse_bidirectional(r->path, "use_bidirectional_attention", r->err);
    *a = ct_architecture_named(ct_str_of((*a)->embeds_as));
    return CARAT_OK;
}

/* The architecture by model_type, which nests in a multimodal config and in that of a drafter; the model_type
 * of text_config then counts too. */
static carat_status hf_architecture(struct reader *r, const struct ct_json_value *root, struct ct_config *c,
                                    const struct ct_architecture **a, bool *nested)
{
    const struct ct_json_value *type = hf_string(r, "model_type"),
                               *class = ct_json_first(ct_json_given(root, "architectures"));
    const char *key = "model_type";

    if (!type)
        return r->status ? r->status : ct_fail(r->err, CARAT_E_FORMAT, "%s: model_type is missing", r->path);
    struct ct_str name = ct_json_str(type);
    const struct ct_architecture *inner = ct_architecture_within(name),
                                 *drafts = ct_architecture_in_assistant(name);
    *nested = inner != NULL;
    if (drafts) {
        CT_TRY(ct_drafter_config_hf(c, root, r->path, r->text, r->err));
        inner = drafts;
    }
    if (inner) {
        const struct ct_json_value *text = hf_object(r, "text_config");
        if (!text)
            return r->status ? r->status
                             : ct_fail(r->err, CARAT_E_FORMAT, "%s: text_config is missing", r->path);
        r->o = text;
        r->within = "text_config.";
        type = ct_json_given(r->o, "model_type");
        key = "model_type in text_config";
        name = ct_json_is(type, CT_JSON_STRING) ? ct_json_str(type) : ct_str_of(inner->model_type);
    }
    *a = ct_architecture_of_type(name);
    const struct ct_str made_as = ct_json_is(class, CT_JSON_STRING) ? ct_json_str(class) : ct_str_of("");
    if (*a && (drafts ? strcmp((*a)->name, drafts->name) == 0 : !ct_refuse_drafts(made_as)))
        return CARAT_OK;
    if (drafts)
        return ct_refuse_name(r->path, key, name, r->err);
    if (*a || (!ct_refuse_knows(name) && ct_refuse_knows(made_as)))
        return ct_refuse_name(r->path, "architectures", made_as, r->err);
    return ct_refuse_name(r->path, key, name, r->err);
}

/* *vector: of an embedder, what one matrix makes. */
static carat_status hf_root(struct reader *r, const struct ct_json_value *root, struct ct_config *c,
                            bool *int4, int *vector)
{
    const struct ct_architecture *a = NULL;
    bool nested = false;

    CT_TRY(hf_architecture(r, root, c, &a, &nested));
    CT_TRY(hf_refuse(r, root, &a, int4));
    hf_text(r, c, a);
    if (c->backbone && !r->status)
        return ct_drafter_config_check(c, r->path, r->err);
    *vector = a->vector ? hf_count(r, "embedding_dim", a->vector, 1 << 16) : 0;
    c->multimodal = nested;
    if (nested && a->pictures_last) {
        r->o = root;
        r->within = "";
        int first = a->n_text_vocab ? a->n_text_vocab : c->n_vocab;
        c->n_text_vocab =
            hf_count(r, "image_token_index", hf_count(r, "image_token_id", first, 1 << 24), 1 << 24);
    }
    return r->status;
}

carat_status ct_config_read_hf(struct ct_config *c, const struct ct_file *f, carat_error *err)
{
    struct ct_bytes bytes = ct_file_side(f, "config.json");
    char path[4096];
    const struct ct_json_value *root;

    snprintf(path, sizeof path, "%s/config.json", ct_file_path(f));
    if (!bytes.data)
        return ct_fail(err, CARAT_E_NOT_FOUND, "%s: there is no config.json", ct_file_path(f));
    if (bytes.size > MAX_CONFIG)
        return ct_fail(err, CARAT_E_FORMAT, "%s has %zu bytes; the limit is %d", path, bytes.size,
                       MAX_CONFIG);
    CT_TRY(ct_file_json(f, "config.json", path, &root, err));
    struct reader r = {path, bytes, root, "", CARAT_OK, err};
    bool int4 = false;
    int vector = 0;
    CT_TRY(hf_root(&r, root, c, &int4, &vector));
    if (c->embeds)
        CT_TRY(ct_config_embed_hf(c, f, vector, err));
    return ct_refuse_tensors(f, int4, err);
}

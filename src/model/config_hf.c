/* SPDX-License-Identifier: Apache-2.0 */
/* config_hf.c: config.json in all its spellings. A released multimodal config leaves out what equals the
 * class default, so every field starts from the family's default and is overlaid. */
#include "model/config_drafter.h"
#include "model/config_hf.h"
#include "model/refuse.h"

enum { MOST_WIDTH = 1 << 20 }; /* of a feed-forward */

/* True when the class of the object has such a key; a key of another one says nothing there. */
static bool hf_declares(const struct ct_hf_reader *r, const char *key)
{
    return ct_hf_standard(r->class, ct_str_of(key)) != NULL;
}

/* Two classes read how far global layers are apart, one of them where it needs that. */
static int hf_period(struct ct_hf_reader *r, const struct ct_architecture *a)
{
    const char *const key = "sliding_window_pattern";
    const bool needs =
        r->class == CT_HF_EMBED2 || (r->class == CT_HF_GEMMA3 && !ct_json_given(r->o, "layer_types"));

    if (!needs)
        return a->hf.window ? a->period : 1;
    if (ct_json_is(ct_hf_get(r, key), CT_JSON_NULL))
        ct_hf_refuse_key(r, CARAT_E_FORMAT, key, "expected an integer");
    return ct_hf_count(r, key, a->period, 1 << 16);
}

/* Which layers are local. */
static void hf_layer_kinds(struct ct_hf_reader *r, struct ct_config *c, const struct ct_architecture *a)
{
    const char *const key = "layer_types";
    const int period = hf_period(r, a);
    int i = 0;

    for (int k = 0; k < c->n_layer; k++)
        c->layer[k].attn_type = (k + 1) % period == 0 ? CT_GLOBAL : CT_LOCAL;
    CT_JSON_EACH(type, hf_declares(r, key) ? ct_hf_layer_list(r, key, c->n_layer) : NULL)
    {
        const bool global =
            ct_json_is_text(type, "full_attention") || ct_json_is_text(type, CT_HF_OLDER_GLOBAL);
        if (!global && !ct_json_is_text(type, "sliding_attention"))
            ct_hf_refuse_item(r, CARAT_E_FORMAT, type, key, i,
                              "expected \"full_attention\" or \"sliding_attention\"");
        c->layer[i++].attn_type = global ? CT_GLOBAL : CT_LOCAL;
    }
}

/* A cap on scores or logits; an explicit null switches it off. */
static float hf_cap(struct ct_hf_reader *r, const char *key, float fallback)
{
    const bool off = ct_json_is(ct_json_get(r->o, key), CT_JSON_NULL);
    const double cap = ct_hf_number(r, key, (double)fallback, 0, 1e6);
    return off ? 0 : (float)cap;
}

/* The sizes that all layers share. */
static void hf_layers(struct ct_hf_reader *r, struct ct_config *c, const struct ct_architecture *a)
{
    struct ct_layer_config l = {0};

    if (!a->altup || !ct_json_is(ct_hf_get(r, "intermediate_size"), CT_JSON_ARRAY))
        l.ffn = ct_hf_count(r, "intermediate_size", a->hf.ffn, MOST_WIDTH);
    l.n_head = ct_hf_count(r, "num_attention_heads", a->hf.n_head, 1024);
    l.n_kv_head = ct_hf_count(r, "num_key_value_heads", a->hf.n_kv_head, 1024);
    l.head_dim = ct_hf_count(r, "head_dim", a->hf.head_dim, 1 << 16);
    if (a->attn_cap > 0) /* Gemma 3 has the key and does not apply it */
        l.attn_cap = hf_cap(r, "attn_logit_softcapping", a->attn_cap);
    double scalar = a->hf.query_scalar > 0 ? a->hf.query_scalar : l.head_dim;
    if (hf_declares(r, "query_pre_attn_scalar"))
        scalar = ct_hf_count(r, "query_pre_attn_scalar", (int)a->hf.query_scalar, 1 << 30);
    l.attn_scale = (float)(1 / __builtin_sqrt(scalar));
    for (int i = 0; i < c->n_layer; i++) {
        c->layer[i] = l;
        c->layer[i].kv_layer = i;
    }
}

/* The last layers may read K and V of the last one of their type before them; then they may be twice as
 * wide. */
static void hf_shared_layers(struct ct_hf_reader *r, struct ct_config *c, const struct ct_architecture *a)
{
    const char *const key = "num_kv_shared_layers", *const wide = "use_double_wide_mlp";
    const int n = hf_declares(r, key) ? ct_hf_integer(r, key, a->hf.n_shared, 0, 1 << 20) : 0;
    const bool double_wide = hf_declares(r, wide) && ct_hf_flag(r, wide, false);

    if (c->backbone) { /* a drafter's do so all, and the model that it drafts for is another */
        if (n && n != c->n_layer)
            ct_hf_refuse_key(r, CARAT_E_FORMAT, key, "expected all layers of a drafter");
        if (double_wide)
            ct_hf_refuse_key(r, CARAT_E_UNSUPPORTED, wide, "but the layers of a drafter are alike");
        ct_drafter_shares_all(c);
        return;
    }
    const int first = CT_MAX(c->n_layer - n, 0), without = ct_family_share_kv(c, n);

    if (without >= 0) {
        char expected[128];
        snprintf(expected, sizeof expected,
                 "but layer %d then finds no %s layer before layer %d to share with", without,
                 c->layer[without].attn_type == CT_GLOBAL ? "global" : "local", first);
        ct_hf_refuse_key(r, CARAT_E_FORMAT, key, expected);
    }
    for (int i = first; i < c->n_layer; i++)
        c->layer[i].ffn *= double_wide ? 2 : 1;
}

/* The input of each layer, of a token's row in a table of its own. */
static void hf_layer_inputs(struct ct_hf_reader *r, struct ct_config *c, const struct ct_architecture *a)
{
    if (!a->hf.ple_width)
        return;
    c->ple_width =
        ct_hf_integer(r, "hidden_size_per_layer_input", c->backbone ? 0 : a->hf.ple_width, 0, 1 << 16);
    if (!c->ple_width) {
        (void)ct_hf_get(r, "vocab_size_per_layer_input"); /* of a table that there is not */
        return;
    }
    c->ple_layers = c->n_layer;
    if (!a->hf.ple_rows) /* they are made of the stream alone */
        return;
    c->ple_rows = ct_hf_count(r, "vocab_size_per_layer_input", a->hf.ple_rows, 1 << 24);
    if (a->altup) { /* ids beyond the table stand for pictures and sounds */
        c->n_text_vocab = CT_MIN(c->ple_rows, c->n_vocab);
    } else if (!*r->status && c->ple_rows < c->n_vocab) {
        char expected[96];
        snprintf(expected, sizeof expected, "expected at least vocab_size = %d", c->n_vocab);
        ct_hf_refuse_key(r, CARAT_E_FORMAT, "vocab_size_per_layer_input", expected);
    }
}

/* Widths of Gemma 3n's layers: one for all, or a list. */
static void hf_widths(struct ct_hf_reader *r, struct ct_config *c)
{
    const char *const key = "intermediate_size";
    const struct ct_json_value *list = NULL;
    int64_t width;
    int i = 0;

    if (ct_json_is(ct_hf_get(r, key), CT_JSON_ARRAY))
        list = ct_hf_layer_list(r, key, c->n_layer);
    CT_JSON_EACH(value, list)
    {
        const bool whole = ct_json_integer(value, &width) && width >= 1 && width <= MOST_WIDTH;
        if (!whole)
            ct_hf_refuse_item(r, CARAT_E_FORMAT, value, key, i, "expected an integer from 1 to 1048576");
        c->layer[i++].ffn = whole ? (int)width : 1;
    }
}

/* Which layers cut their gates off, as shares of values that become 0; the first ten where config.json says
 * nothing. */
static void hf_cutoffs(struct ct_hf_reader *r, struct ct_config *c)
{
    const char *const key = "activation_sparsity_pattern";
    const struct ct_json_value *list = ct_hf_layer_list(r, key, c->n_layer);
    const double sparse = 0.95;
    int i = 0;

    ct_family_cut_off(c);
    CT_JSON_EACH(value, list)
    {
        const double share = ct_json_is(value, CT_JSON_NUMBER) ? ct_json_double(value) : -1;
        if (share != 0 && share != sparse)
            ct_hf_refuse_item(r, CARAT_E_UNSUPPORTED, value, key, i, "but carat runs 0 and 0.95 only");
        c->layer[i++].cutoff = share == sparse ? CT_CUTOFF : 0;
    }
}

/* What Gemma 3n alone has. */
static void hf_altup(struct ct_hf_reader *r, struct ct_config *c, const struct ct_architecture *a)
{
    c->altup = a->altup;
    if (!a->altup)
        return;
    if (ct_hf_integer(r, "altup_num_inputs", CT_STREAMS, 0, 1 << 20) != CT_STREAMS)
        ct_hf_refuse_key(r, CARAT_E_UNSUPPORTED, "altup_num_inputs", "but carat runs models with 4 only");
    if (ct_hf_integer(r, "altup_active_idx", 0, 0, 1 << 20) != 0)
        ct_hf_refuse_key(r, CARAT_E_UNSUPPORTED, "altup_active_idx", "but carat runs models with 0 only");
    if (!*r->status && !c->ple_width)
        ct_hf_refuse_key(r, CARAT_E_UNSUPPORTED, "hidden_size_per_layer_input",
                         "but carat runs Gemma 3n with inputs of each layer only");
    c->altup_scales = ct_hf_flag(r, "altup_correct_scale", true);
    c->laurel_rank = ct_hf_count(r, "laurel_rank", a->hf.laurel_rank, 1 << 16);
    hf_widths(r, c);
    hf_cutoffs(r, c);
}

/* A count that the class leaves open. */
static int hf_needed(struct ct_hf_reader *r, const char *key, const char *by, int hi)
{
    if (!*r->status && !ct_json_given(r->o, key))
        *r->status =
            ct_fail(r->err, CARAT_E_FORMAT, "%s: %s%s is missing, which %s needs: an integer from 1 to %d",
                    r->path, r->within, key, by, hi);
    return ct_hf_count(r, key, 1, hi);
}

/* Feed-forwards beside that of a layer, of which a router chooses some for each row. */
static void hf_experts(struct ct_hf_reader *r, struct ct_config *c)
{
    const char *const by = "enable_moe_block";

    if (!hf_declares(r, by) || !ct_hf_flag(r, by, false))
        return;
    const int n = hf_needed(r, "num_experts", by, CT_MOST_EXPERTS);
    const int used = hf_needed(r, "top_k_experts", by, CT_MOST_EXPERTS);
    const int ffn = hf_needed(r, "moe_intermediate_size", by, 1 << 20);
    if (!*r->status && used > n) {
        char expected[64];
        snprintf(expected, sizeof expected, "expected at most num_experts = %d", n);
        ct_hf_refuse_key(r, CARAT_E_FORMAT, "top_k_experts", expected);
    }
    ct_family_give_experts(c, n, used, ffn);
}

static void hf_text(struct ct_hf_reader *r, struct ct_config *c, const struct ct_architecture *a, bool nested)
{
    c->architecture = a->name;
    c->norm_plus_one = !a->norms_as_stored;
    c->post_norms = a->post_norms;
    c->qk_norms = a->qk_norms;
    c->v_norms = a->v_norms;
    c->out_scales = a->out_scales;
    c->embeds = a->embeds;
    c->n_vocab = ct_hf_count(r, "vocab_size", a->hf.n_vocab, 1 << 24);
    c->hidden = ct_hf_count(r, "hidden_size", a->hf.hidden, 1 << 17);
    c->n_layer = ct_hf_count(r, "num_hidden_layers", a->hf.n_layer, CT_MAX_LAYERS);
    c->max_context = ct_hf_count(r, "max_position_embeddings", a->hf.max_context, 1 << 24);
    c->norm_eps = (float)ct_hf_number(r, "rms_norm_eps", CT_NORM_EPS, 0, 1);
    /* Gemma 3 has the key also with pictures, and does not apply it there */
    if (hf_declares(r, "final_logit_softcapping") && !(nested && r->class == CT_HF_GEMMA3))
        c->logit_cap = hf_cap(r, "final_logit_softcapping", a->logit_cap);
    hf_layers(r, c, a);
    hf_layer_kinds(r, c, a);
    ct_hf_own_layers(r, c, a);
    hf_shared_layers(r, c, a);
    hf_layer_inputs(r, c, a);
    hf_altup(r, c, a);
    hf_experts(r, c);
    ct_hf_kinds(r, c, a);
}

/* config.json is a few kilobytes. */
enum { MAX_CONFIG = 1 << 20 };

/* Quantisation that config.json states: MLX writes "quantization", everyone else "quantization_config". One
 * form is read: *int4. */
static carat_status hf_refuse_quantised(struct ct_hf_reader *r, struct ct_hf_reader *top, bool *int4)
{
    static const char *const keys[] = {"quantization_config", "compression_config", "quantization"};
    for (size_t i = 0; i < CT_COUNT(keys); i++) {
        const struct ct_json_value *around = ct_hf_given(top, keys[i]), *own = ct_hf_given(r, keys[i]),
                                   *q = around ? around : own;
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

/* True when rows see those behind them. Later classes have words for it, of which "vision" is about pictures
 * only. */
static bool hf_sees_both_ways(struct ct_hf_reader *r, const struct ct_architecture *a)
{
    const char *const key = "use_bidirectional_attention";

    if (a->embeds || !hf_declares(r, key))
        return false;
    if (!a->global_head_dim)
        return ct_hf_flag(r, key, false);
    const struct ct_json_value *said = ct_hf_given(r, key);
    const bool all = ct_json_is_text(said, "all");
    if (said && !all && !ct_json_is_text(said, "vision"))
        ct_hf_refuse_key(r, CARAT_E_FORMAT, key, "expected null, \"vision\" or \"all\"");
    return all;
}

/* The one activation, in the words of the class. */
static void hf_check_activation(struct ct_hf_reader *r)
{
    const char *const older = "hidden_act", *const key = hf_declares(r, older) ? older : "hidden_activation";
    const struct ct_json_value *said = ct_hf_string(r, key);

    if (!said || ct_json_is_text(said, "gelu_pytorch_tanh") ||
        (key == older && ct_json_is_text(said, "gelu")))
        return;
    ct_hf_refuse_key(r, CARAT_E_UNSUPPORTED, key, "expected \"gelu_pytorch_tanh\"");
}

/* Refuses a checkpoint whose model_type is right and which carat must not run for another reason. One that
 * sees both ways is another architecture. */
static carat_status hf_refuse(struct ct_hf_reader *r, struct ct_hf_reader *top,
                              const struct ct_architecture **a, bool *int4)
{
    CT_TRY(hf_refuse_quantised(r, top, int4));
    hf_check_activation(r);
    if (ct_hf_flag(r, "attention_bias", false))
        ct_hf_refuse_key(r, CARAT_E_UNSUPPORTED, "attention_bias", "but Gemma models have no biases");
    if (!hf_sees_both_ways(r, *a) || *r->status)
        return *r->status;
    if (!(*a)->embeds_as)
        return ct_refuse_bidirectional(r->path, "use_bidirectional_attention", r->err);
    *a = ct_architecture_named(ct_str_of((*a)->embeds_as));
    return CARAT_OK;
}

/* The object with the layers, which nests in a multimodal config and in that of a drafter. */
static carat_status hf_nested(struct ct_hf_reader *top, struct ct_hf_reader *r)
{
    const struct ct_json_value *text = ct_hf_object(top, "text_config");

    if (!text && !*r->status)
        return ct_fail(r->err, CARAT_E_FORMAT, "%s: text_config is missing", r->path);
    r->o = text;
    r->within = "text_config.";
    return *r->status;
}

/* The architecture by model_type; around its layers, that of text_config must suit. */
static carat_status hf_architecture(struct ct_hf_reader *top, struct ct_hf_reader *r, struct ct_config *c,
                                    const struct ct_architecture **a, bool *nested)
{
    const struct ct_json_value *type = ct_hf_string(top, "model_type"),
                               *class = ct_json_first(ct_hf_get(top, "architectures"));
    const char *key = "model_type";

    if (!type)
        return *r->status ? *r->status
                          : ct_fail(r->err, CARAT_E_FORMAT, "%s: model_type is missing", r->path);
    struct ct_str name = ct_json_str(type);
    const struct ct_architecture *inner = ct_architecture_within(name),
                                 *drafts = ct_architecture_in_assistant(name);
    top->class = ct_hf_class_around(name);
    *nested = inner != NULL;
    if (drafts)
        CT_TRY(ct_drafter_config_hf(c, top));
    if (inner || drafts) {
        CT_TRY(hf_nested(top, r));
        type = ct_hf_get(r, "model_type");
        key = "model_type in text_config";
        name = ct_json_is(type, CT_JSON_STRING) ? ct_json_str(type)
                                                : ct_str_of((inner ? inner : drafts)->model_type);
    }
    *a = ct_architecture_of_type(name);
    if (*a && inner && *a != inner)
        return ct_json_refuse(r->err, CARAT_E_UNSUPPORTED, r->path, r->text, type, "text_config.model_type",
                              "but %s has layers of \"%s\"", ct_hf_class_name(top->class), inner->model_type);
    if (*a)
        r->class = ct_hf_class_of(*a);
    const struct ct_str made_as = ct_json_is(class, CT_JSON_STRING) ? ct_json_str(class) : ct_str_of("");
    if (*a && (drafts ? strcmp((*a)->name, drafts->name) == 0 : !ct_refuse_drafts(made_as)))
        return CARAT_OK;
    if (drafts)
        return ct_refuse_name(r->path, key, name, r->err);
    if (*a || (!ct_refuse_knows(name) && ct_refuse_knows(made_as)))
        return ct_refuse_name(r->path, "architectures", made_as, r->err);
    return ct_refuse_name(r->path, key, name, r->err);
}

/* Whether a model without a tensor for its head has the embedding there: the object around the layers says it
 * first. */
static int hf_tied(struct ct_hf_reader *top, struct ct_hf_reader *r)
{
    const char *const key = "tie_word_embeddings";
    const bool tied = ct_hf_flag(r, key, true);

    if (!hf_declares(top, key) || !ct_json_get(top->o, key))
        return tied;
    return ct_hf_flag(top, key, false);
}

/* *vector: of an embedder, what one matrix makes. */
static carat_status hf_root(struct ct_hf_reader *top, struct ct_config *c, bool *int4, int *vector,
                            enum ct_hf_class *layers)
{
    const struct ct_architecture *a = NULL;
    struct ct_hf_reader r = *top;
    bool nested = false;

    CT_TRY(hf_architecture(top, &r, c, &a, &nested));
    *layers = r.class;
    CT_TRY(hf_refuse(&r, top, &a, int4));
    hf_text(&r, c, a, nested);
    c->tied = hf_tied(top, &r);
    if (c->backbone && !*r.status)
        return ct_drafter_config_check(c, r.path, r.err);
    *vector = a->vector ? ct_hf_count(&r, "embedding_dim", a->vector, 1 << 16) : 0;
    c->multimodal = nested;
    if (nested && ct_hf_given(top, "per_layer_config"))
        ct_hf_refuse_key(top, CARAT_E_FORMAT, "per_layer_config", "expected in text_config, with the layers");
    if (nested && a->pictures_last) {
        const int first = a->n_text_vocab ? a->n_text_vocab : c->n_vocab;
        c->n_text_vocab = ct_hf_count(top, "image_token_index",
                                      ct_hf_count(top, "image_token_id", first, 1 << 24), 1 << 24);
    }
    return *top->status;
}

static carat_status hf_open(const struct ct_file *f, char path[4096], struct ct_bytes *bytes,
                            const struct ct_json_value **root, carat_error *err)
{
    *bytes = ct_file_side(f, "config.json");
    snprintf(path, 4096, "%s/config.json", ct_file_path(f));
    if (!bytes->data)
        return ct_fail(err, CARAT_E_NOT_FOUND, "%s: there is no config.json", ct_file_path(f));
    if (bytes->size > MAX_CONFIG)
        return ct_fail(err, CARAT_E_FORMAT, "%s has %zu bytes; the limit is %d", path, bytes->size,
                       MAX_CONFIG);
    return ct_file_json(f, "config.json", path, root, err);
}

carat_status ct_config_see_hf(struct ct_config *c, const struct ct_file *f, uint8_t *seen,
                              enum ct_hf_class *around, enum ct_hf_class *layers, carat_error *err)
{
    carat_status status = CARAT_OK;
    char path[4096];
    struct ct_hf_reader top = {
        .path = path, .within = "", .class = CT_HF_NO_CLASS, .seen = seen, .status = &status, .err = err};
    bool int4 = false;
    int vector = 0;

    CT_TRY(hf_open(f, path, &top.text, &top.root, err));
    top.o = top.root;
    CT_TRY(hf_root(&top, c, &int4, &vector, layers));
    *around = top.class == CT_HF_NO_CLASS ? *layers : top.class;
    if (c->embeds)
        CT_TRY(ct_config_embed_hf(c, f, vector, err));
    return ct_refuse_tensors(f, int4, err);
}

carat_status ct_config_read_hf(struct ct_config *c, const struct ct_file *f, carat_error *err)
{
    enum ct_hf_class around, layers;

    return ct_config_see_hf(c, f, NULL, &around, &layers, err);
}

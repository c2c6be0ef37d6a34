/* config_hf.c: config.json in all its spellings. A released multimodal config leaves out what equals the class default,
 * so every field starts from the family's default and is overlaid. */
#include "model/config.h"

#include <jansson.h>

/* The members carat runs, and the defaults of their transformers classes. */
struct family {
    const char *model_type, *architecture;
    int vocab, hidden, ffn, layers, heads, kv_heads, max_context, window;
    int pattern; /* layer i is global iff (i + 1) % pattern == 0; 1: all are */
    double rope_base, rope_base_local, query_scalar, attn_cap, logit_cap;
    bool post_norms, qk_norms;
};
static const struct family families[] = {
    {"gemma", "gemma", 256000, 3072, 24576, 28, 16, 16, 8192, 0, 1, 1e4, 1e4, 0, 0, 0, false, false},
    {"gemma2", "gemma2", 256000, 2304, 9216, 26, 8, 4, 8192, 4096, 2, 1e4, 1e4, 256, 50, 30, true, false},
    {"gemma3_text", "gemma3", 262208, 2304, 9216, 26, 8, 4, 131072, 4096, 6, 1e6, 1e4, 256, 0, 0, true, true},
};
#define DEFAULT_HEAD_DIM 256

/* A reader over one object that keeps its first error, so that reading is straight-line. */
struct reader {
    const char *path;
    json_t *o;
    carat_status status;
    carat_error *err;
};

/* JSON null counts as absent, as in transformers. */
static json_t *get(json_t *o, const char *key)
{
    json_t *v = json_object_get(o, key);
    return json_is_null(v) ? NULL : v;
}

static double number(struct reader *r, const char *key, double fallback, double lo, double hi)
{
    json_t *v = get(r->o, key);

    if (!v || r->status)
        return fallback;
    double d = json_number_value(v);
    if (!json_is_number(v) || !(d >= lo && d <= hi)) {
        char *found = json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT);
        r->status =
            ct_fail(r->err, CARAT_E_FORMAT, "%s/config.json: %s is %.64s, expected a number from %g to %g",
                    r->path, key, found ? found : "?", lo, hi);
        free(found);
        return fallback;
    }
    return d;
}

static int count(struct reader *r, const char *key, int fallback, int hi)
{
    json_t *v = get(r->o, key);

    if (v && !r->status && !json_is_integer(v))
        r->status = ct_fail(r->err, CARAT_E_FORMAT, "%s/config.json: %s is not an integer", r->path, key);
    return (int)number(r, key, fallback, 1, hi);
}

static bool flag(struct reader *r, const char *key, bool fallback)
{
    json_t *v = get(r->o, key);
    return json_is_boolean(v) ? json_is_true(v) : fallback;
}

/* {"rope_theta": .., "rope_type": "linear", "factor": ..} in either dialect. */
static void read_rope(struct reader *r, json_t *o, struct ct_kind *kind)
{
    if (!json_is_object(o) || r->status)
        return;
    struct reader sub = {r->path, o, CARAT_OK, r->err};
    const char *type = json_string_value(get(o, "rope_type"));
    if (!type)
        type = json_string_value(get(o, "type"));
    kind->rope_base = number(&sub, "rope_theta", kind->rope_base, 1.0001, 1e12);
    if (type && strcmp(type, "linear") == 0)
        kind->rope_factor = number(&sub, "factor", 1, 1e-3, 1e5);
    else if (type && strcmp(type, "default") != 0)
        sub.status = ct_fail(r->err, CARAT_E_UNSUPPORTED,
                             "%s/config.json: rope_type is \"%.64s\"; carat runs \"default\" and \"linear\"",
                             r->path, type);
    r->status = sub.status;
}

static void read_layer_kinds(struct reader *r, struct ct_config *c, int pattern)
{
    json_t *types = get(r->o, "layer_types");

    for (int i = 0; i < c->n_layer; i++)
        c->layer[i].kind = pattern > 0 && (i + 1) % pattern == 0 ? CT_GLOBAL : CT_LOCAL;
    if (!types || r->status)
        return;
    if (!json_is_array(types) || json_array_size(types) != (size_t)c->n_layer) {
        r->status = ct_fail(r->err, CARAT_E_FORMAT,
                            "%s/config.json: layer_types has %zu entries, expected num_hidden_layers = %d",
                            r->path, json_array_size(types), c->n_layer);
        return;
    }
    for (int i = 0; i < c->n_layer; i++) {
        const char *s = json_string_value(json_array_get(types, (size_t)i));
        if (s && strcmp(s, "full_attention") == 0)
            c->layer[i].kind = CT_GLOBAL;
        else if (s && strcmp(s, "sliding_attention") == 0)
            c->layer[i].kind = CT_LOCAL;
        else {
            r->status = ct_fail(r->err, CARAT_E_FORMAT,
                                "%s/config.json: layer_types[%d] is \"%.64s\", expected \"full_attention\" "
                                "or \"sliding_attention\"",
                                r->path, i, s ? s : "not a string");
            return;
        }
    }
}

static void read_text(struct reader *r, struct ct_config *c, const struct family *fam)
{
    struct ct_layer_config l = {0};

    c->architecture = fam->architecture;
    c->norm_plus_one = true;
    c->post_norms = fam->post_norms;
    c->qk_norms = fam->qk_norms;
    c->n_vocab = count(r, "vocab_size", fam->vocab, 1 << 24);
    c->hidden = count(r, "hidden_size", fam->hidden, 1 << 17);
    c->n_layer = count(r, "num_hidden_layers", fam->layers, CT_MAX_LAYERS);
    c->max_context = count(r, "max_position_embeddings", fam->max_context, 1 << 24);
    c->norm_eps = (float)number(r, "rms_norm_eps", 1e-6, 0, 1);
    c->logit_cap = (float)number(r, "final_logit_softcapping", fam->logit_cap, 0, 1e6);
    c->tied = flag(r, "tie_word_embeddings", true);
    l.ffn = count(r, "intermediate_size", fam->ffn, 1 << 20);
    l.n_head = count(r, "num_attention_heads", fam->heads, 1024);
    l.n_kv_head = count(r, "num_key_value_heads", fam->kv_heads, 1024);
    l.head_dim = count(r, "head_dim", DEFAULT_HEAD_DIM, 1 << 16);
    l.attn_cap = (float)number(r, "attn_logit_softcapping", fam->attn_cap, 0, 1e6);
    double scalar =
        fam->query_scalar ? number(r, "query_pre_attn_scalar", fam->query_scalar, 1e-6, 1e9) : l.head_dim;
    l.attn_scale = (float)(1 / __builtin_sqrt(scalar));
    if (get(r->o, "attn_logit_softcapping") == NULL && json_object_get(r->o, "attn_logit_softcapping"))
        l.attn_cap = 0; /* an explicit null switches the cap off */
    if (get(r->o, "final_logit_softcapping") == NULL && json_object_get(r->o, "final_logit_softcapping"))
        c->logit_cap = 0;
    for (int i = 0; i < c->n_layer; i++)
        c->layer[i] = l;

    int pattern = count(r, "sliding_window_pattern",
                        count(r, "_sliding_window_pattern", fam->pattern, 1 << 16), 1 << 16);
    read_layer_kinds(r, c, fam->window ? pattern : 1);
    for (int i = 0; i < CT_KINDS; i++)
        c->kind[i] = (struct ct_kind){0, l.head_dim, l.head_dim / 2,
                                      i == CT_LOCAL ? fam->rope_base_local : fam->rope_base, 1};
    c->kind[CT_LOCAL].window = fam->window ? count(r, "sliding_window", fam->window, 1 << 24) : 0;
    c->kind[CT_GLOBAL].rope_base = number(r, "rope_theta", fam->rope_base, 1.0001, 1e12);
    c->kind[CT_LOCAL].rope_base = fam->qk_norms
                                      ? number(r, "rope_local_base_freq", fam->rope_base_local, 1.0001, 1e12)
                                      : c->kind[CT_GLOBAL].rope_base;
    read_rope(r, get(r->o, "rope_scaling"), &c->kind[CT_GLOBAL]);
    json_t *rope = get(r->o, "rope_parameters");
    if (get(rope, "full_attention") || get(rope, "sliding_attention")) {
        read_rope(r, get(rope, "full_attention"), &c->kind[CT_GLOBAL]);
        read_rope(r, get(rope, "sliding_attention"), &c->kind[CT_LOCAL]);
    } else {
        read_rope(r, rope, &c->kind[CT_GLOBAL]);
        if (!fam->qk_norms)
            c->kind[CT_LOCAL].rope_base = c->kind[CT_GLOBAL].rope_base;
    }
}

/* What makes a checkpoint of the right model_type one that carat must not run. */
static carat_status refuse(const char *path, json_t *root, json_t *text, carat_error *err)
{
    const char *activation = json_string_value(get(text, "hidden_activation"));

    if (get(root, "quantization_config"))
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "%s/config.json: the checkpoint is quantised (quantization_config); carat reads plain "
                       "BF16, F16 or F32 safetensors, or a GGUF file",
                       path);
    if (activation && strcmp(activation, "gelu_pytorch_tanh") != 0)
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "%s/config.json: hidden_activation is \"%.64s\", expected \"gelu_pytorch_tanh\"", path,
                       activation);
    if (json_is_true(get(text, "attention_bias")))
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "%s/config.json: attention_bias is true; Gemma models have no biases", path);
    if (json_is_true(get(text, "use_bidirectional_attention")))
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "%s/config.json: use_bidirectional_attention is true: this is an embedding model, "
                       "carat runs generators",
                       path);
    return CARAT_OK;
}

carat_status ct_config_read_hf(struct ct_config *c, const struct ct_file *f, carat_error *err)
{
    const char *path = ct_file_path(f);
    struct ct_bytes bytes = ct_file_side(f, "config.json");
    json_error_t at;

    if (!bytes.data)
        return ct_fail(err, CARAT_E_NOT_FOUND, "%s: there is no config.json", path);
    json_t *root = json_loadb((const char *)bytes.data, bytes.size, JSON_REJECT_DUPLICATES, &at);
    if (!json_is_object(root)) {
        json_decref(root);
        return ct_fail(err, CARAT_E_FORMAT, "%s/config.json: at byte %d: %.200s, expected a JSON object",
                       path, at.position, root ? "another value" : at.text);
    }
    const char *type = json_string_value(get(root, "model_type"));
    bool nested = type && strcmp(type, "gemma3") == 0;
    json_t *text = nested ? get(root, "text_config") : root;
    if (nested)
        type = "gemma3_text";
    const struct family *fam = NULL;
    for (size_t i = 0; i < CT_COUNT(families) && type; i++)
        if (strcmp(type, families[i].model_type) == 0)
            fam = &families[i];

    carat_status status = CARAT_OK;
    if (!type)
        status = ct_fail(err, CARAT_E_FORMAT, "%s/config.json: model_type is missing", path);
    else if (!fam)
        status = ct_fail(err, CARAT_E_UNSUPPORTED,
                         "%s/config.json: model_type is \"%.64s\"; carat runs gemma, gemma2, gemma3_text and "
                         "the text of gemma3",
                         path, type);
    else if (!json_is_object(text))
        status = ct_fail(err, CARAT_E_FORMAT, "%s/config.json: text_config is missing", path);
    else
        status = refuse(path, root, text, err);
    if (!status) {
        struct reader r = {path, text, CARAT_OK, err};
        read_text(&r, c, fam);
        status = r.status;
        c->multimodal = nested;
        if (nested) { /* rows from the image token on are padding */
            r.o = root;
            c->n_text_vocab =
                count(&r, "image_token_index", count(&r, "image_token_id", 262144, 1 << 24), 1 << 24);
            status = r.status;
        }
    }
    json_decref(root);
    return status;
}

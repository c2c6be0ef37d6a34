/* SPDX-License-Identifier: Apache-2.0 */
/* config_layers.c: what layers have of their own in config.json: heads of global layers where a class has
 * them, and per_layer_config, which any class may have and transformers writes from 5.23 on. Its keys are
 * decimal numbers of layers, with zeros before them to the width of the largest. Some classes have heads that
 * differ; every other attribute is refused unless it says what the model says. */
#include "model/config_hf.h"
#include "model/config_keys.h"

enum { MOST_HEAD_DIM = 1 << 16, MOST_HEADS = 1024 };

/* The layer that a key names; -1: none. */
static int layer_named(struct ct_str key, int n_layer)
{
    int n = 0;

    for (size_t i = 0; i < key.n; i++) {
        if (key.s[i] < '0' || key.s[i] > '9')
            return -1;
        n = n * 10 + (key.s[i] - '0');
        if (n >= n_layer)
            return -1;
    }
    return key.n ? n : -1;
}

/* The text of a key of the file, as far as a message shows it. */
static const char *shown(struct ct_str key, char text[64])
{
    const size_t n = CT_MIN(key.n, (size_t)48);

    for (size_t i = 0; i < n; i++)
        text[i] = ct_json_shown(key.s[i]);
    text[n] = 0;
    return text;
}

/* True when the model says the same of an attribute, in the file or by its class. */
static bool as_the_model(const struct ct_hf_reader *r, struct ct_str attribute, const struct ct_json_value *v)
{
    const struct ct_json_value *given = ct_json_find(r->o, attribute);
    const char *standard = ct_hf_standard(r->class, attribute);

    return given ? ct_hf_same(given, v) : standard && ct_hf_is_standard(v, standard);
}

/* What a layer says of itself. r reads the model, in the layer's object. */
static void read_own(struct ct_hf_reader *r, struct ct_hf_reader *in, struct ct_layer_config *l,
                     bool own_heads)
{
    char name[64], expected[160];

    CT_JSON_EACH(key, in->o)
    {
        const struct ct_str attribute = ct_json_str(key);
        const struct ct_json_value *v = ct_json_of_key(key);
        shown(attribute, name);
        if (ct_str_is(attribute, "skip")) {
            if (!ct_json_is(v, CT_JSON_ARRAY) || ct_json_count(v))
                ct_hf_refuse_value(in, CARAT_E_UNSUPPORTED, v, name,
                                   "but carat runs layers with all of their parts only");
        } else if (own_heads && ct_str_is(attribute, "head_dim")) {
            l->head_dim = ct_hf_count(in, "head_dim", l->head_dim, MOST_HEAD_DIM);
        } else if (own_heads && ct_str_is(attribute, "num_key_value_heads")) {
            l->n_kv_head = ct_hf_count(in, "num_key_value_heads", l->n_kv_head, MOST_HEADS);
        } else if (!as_the_model(r, attribute, v)) {
            snprintf(expected, sizeof expected,
                     "but a layer of %s has no such attribute of its own: expected what the model says",
                     ct_hf_class_name(r->class));
            ct_hf_refuse_value(in, CARAT_E_UNSUPPORTED, v, name, expected);
        }
        if (own_heads && ct_json_is(v, CT_JSON_NULL) && !ct_str_is(attribute, "skip") &&
            (ct_str_is(attribute, "head_dim") || ct_str_is(attribute, "num_key_value_heads")))
            ct_hf_refuse_value(in, CARAT_E_FORMAT, v, name, "expected an integer");
    }
}

static void read_layers(struct ct_hf_reader *r, struct ct_config *c, const struct ct_json_value *layers,
                        bool own_heads)
{
    bool has[CT_MAX_LAYERS] = {false};
    char of_layers[64], of_layer[64], name[64], expected[64];
    struct ct_hf_reader each = ct_hf_inside(r, "per_layer_config", layers, of_layers);

    CT_JSON_EACH(key, layers)
    {
        const struct ct_json_value *v = ct_json_of_key(key);
        const int i = layer_named(ct_json_str(key), c->n_layer);
        shown(ct_json_str(key), name);
        if (i < 0) {
            snprintf(expected, sizeof expected, "expected keys from \"0\" to \"%d\"", c->n_layer - 1);
            ct_hf_refuse_value(&each, CARAT_E_FORMAT, v, name, expected);
        } else if (has[i]) {
            ct_hf_refuse_value(&each, CARAT_E_FORMAT, v, name, "but another key names that layer, too");
        } else if (!ct_json_is(v, CT_JSON_OBJECT)) {
            ct_hf_refuse_value(&each, CARAT_E_FORMAT, v, name, "expected an object");
        } else {
            struct ct_hf_reader in = ct_hf_inside(&each, name, v, of_layer);
            has[i] = true;
            read_own(r, &in, &c->layer[i], own_heads);
        }
        if (*r->status)
            return;
    }
}

/* The heads of global layers by keys of their own, which count where nothing is said layer by layer. */
static void read_global(struct ct_hf_reader *r, struct ct_config *c, const struct ct_architecture *a,
                        bool v_is_k)
{
    static const char head_dim[] = "global_head_dim", n_kv_head[] = "num_global_key_value_heads";
    const bool apart = a->n_kv_head_global > 0;
    const int width = ct_hf_count(r, head_dim, a->global_head_dim, MOST_HEAD_DIM),
              n = ct_hf_count(r, n_kv_head, apart ? a->n_kv_head_global : c->layer[0].n_kv_head, MOST_HEADS);

    if (ct_json_is(ct_json_get(r->o, head_dim), CT_JSON_NULL))
        ct_hf_refuse_key(r, CARAT_E_FORMAT, head_dim, "expected an integer");
    if (apart && ct_json_is(ct_json_get(r->o, n_kv_head), CT_JSON_NULL))
        ct_hf_refuse_key(r, CARAT_E_FORMAT, n_kv_head, "expected an integer");
    const struct ct_json_value *type = ct_json_first(ct_hf_get(r, "layer_types"));
    for (int i = 0; i < c->n_layer; i++, type = type ? ct_json_after(type) : NULL) {
        struct ct_layer_config *l = &c->layer[i];
        /* a layer of the older name becomes global when this is over, but for the last one */
        if (l->attn_type != CT_GLOBAL || (i + 1 < c->n_layer && ct_json_is_text(type, CT_HF_OLDER_GLOBAL)))
            continue;
        l->head_dim = width;
        l->n_kv_head = v_is_k || apart ? n : l->n_kv_head;
    }
}

/* Layers of one kind are alike: they turn their heads by one table. */
static void check_alike(struct ct_hf_reader *r, const struct ct_config *c)
{
    const struct ct_layer_config *of_kind[CT_ATTN_TYPES] = {NULL};

    for (int i = 0; i < c->n_layer && !*r->status; i++) {
        const struct ct_layer_config *l = &c->layer[i], **first = &of_kind[l->attn_type];
        *first = *first ? *first : l;
        if (l->head_dim != (*first)->head_dim || l->n_kv_head != (*first)->n_kv_head)
            *r->status =
                ct_fail(r->err, CARAT_E_UNSUPPORTED,
                        "%s: layer %d has %d KV heads of %d, expected %d of %d, as layer %d of its kind has",
                        r->path, i, l->n_kv_head, l->head_dim, (*first)->n_kv_head, (*first)->head_dim,
                        (int)(*first - c->layer));
    }
}

void ct_hf_own_layers(struct ct_hf_reader *r, struct ct_config *c, const struct ct_architecture *a)
{
    const char *const key = "per_layer_config";
    const bool own_heads = a->global_head_dim > 0, given = ct_hf_get(r, key) != NULL;
    const struct ct_json_value *layers = ct_hf_object(r, key);

    if (own_heads) {
        const bool v_is_k = !a->n_kv_head_global && ct_hf_flag(r, "attention_k_eq_v", false);
        c->made_global = c->layer[c->n_layer - 1].attn_type != CT_GLOBAL;
        c->layer[c->n_layer - 1].attn_type = CT_GLOBAL; /* whatever is said: the reference makes it so */
        for (int i = 0; i < c->n_layer; i++)
            c->layer[i].v_is_k = v_is_k && c->layer[i].attn_type == CT_GLOBAL;
        if (!given)
            read_global(r, c, a, v_is_k);
    }
    read_layers(r, c, layers, own_heads);
    check_alike(r, c);
}

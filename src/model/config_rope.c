/* SPDX-License-Identifier: Apache-2.0 */
/* config_rope.c: window and rotary embedding of local and of global layers, as the classes of transformers
 * read them out of config.json. Three ways of reading: Gemma 1 and 2 have one table of angles for all layers;
 * Gemma 3 and 3n one for each kind, where rope_scaling changes that of global layers; later classes need both
 * kinds complete, and rope_scaling takes the place of rope_parameters. */
#include "model/config_hf.h"

static const double least_base = 1.0001, most_base = 1e12;

/* What says the angles of a kind of layers. */
struct angles {
    struct ct_hf_reader in, over; /* the object, and one whose keys go before its own; o NULL: none */
    bool is_default;              /* the class has put its rope_type there, so that "type" does not count */
    const struct ct_json_value *theta; /* outside, for an object without one, null included */
    const char *theta_key;             /* "": the object needs one */
    double base;                       /* where that says none either */
};

/* The reader in which a key is found, the overriding one first. */
static struct ct_hf_reader *says(struct angles *a, const char *key)
{
    return ct_json_get(a->over.o, key) ? &a->over : &a->in;
}

/* A number that is needed if the key is there: null is none. */
static double needed(struct angles *a, const char *key, double fallback, double lo, double hi)
{
    struct ct_hf_reader *r = says(a, key);

    if (ct_json_is(ct_json_get(r->o, key), CT_JSON_NULL))
        ct_hf_refuse_key(r, CARAT_E_FORMAT, key, "expected a number");
    return ct_hf_number(r, key, fallback, lo, hi);
}

static double base_of(struct ct_hf_reader *r, struct angles *a)
{
    double base = a->base;

    if (ct_json_get(says(a, "rope_theta")->o, "rope_theta"))
        return needed(a, "rope_theta", base, least_base, most_base);
    if (!*a->theta_key)
        ct_hf_refuse_key(&a->in, CARAT_E_FORMAT, "rope_theta", "which this class of transformers needs");
    else if (ct_json_is(a->theta, CT_JSON_NULL))
        ct_hf_refuse_key(r, CARAT_E_FORMAT, a->theta_key, "expected a number");
    else
        base = ct_hf_number(r, a->theta_key, base, least_base, most_base);
    return base;
}

/* share: of the pairs that turn, where the object says none. */
static void read_angles(struct ct_hf_reader *r, struct angles *a, struct ct_attn *kind, double share)
{
    const char *name =
        a->is_default || ct_json_get(says(a, "rope_type")->o, "rope_type") ? "rope_type" : "type";
    struct ct_hf_reader *of_type = says(a, name);
    const struct ct_json_value *type = ct_hf_string(of_type, name);

    if (ct_json_is(ct_json_get(of_type->o, name), CT_JSON_NULL))
        ct_hf_refuse_key(of_type, CARAT_E_FORMAT, name, "expected a string");
    kind->rope_base = base_of(r, a);
    kind->rotated = kind->head_dim / 2;
    if (ct_json_is_text(type, "linear")) {
        if (!ct_json_get(says(a, "factor")->o, "factor"))
            ct_hf_refuse_key(of_type, CARAT_E_FORMAT, name, "which needs a factor beside it");
        kind->rope_factor = needed(a, "factor", 1, 1e-3, 1e5);
        if (needed(a, "partial_rotary_factor", share, 0, 1) != 1)
            ct_hf_refuse_key(of_type, CARAT_E_UNSUPPORTED, name,
                             "which turns whole heads, but partial_rotary_factor is not 1");
    } else if (ct_json_is_text(type, "proportional")) { /* the first pairs turn, as if all did */
        kind->rotated = (int)(needed(a, "partial_rotary_factor", share, 0, 1) * kind->head_dim / 2);
        kind->rope_factor = needed(a, "factor", 1, 1e-3, 1e5);
    } else if (type && !ct_json_is_text(type, "default")) {
        ct_hf_refuse_key(of_type, CARAT_E_UNSUPPORTED, name,
                         "but carat runs \"default\", \"linear\" and \"proportional\" only");
    }
}

/* One table for all layers. */
static void one_table(struct ct_hf_reader *r, struct ct_config *c, const struct ct_architecture *a,
                      double share)
{
    static const char *const kinds[] = {"full_attention", "sliding_attention"};
    const struct ct_json_value *scaling = ct_hf_object(r, "rope_scaling");
    const bool scales = ct_json_count(scaling) > 0;
    const char *const key = scales ? "rope_scaling" : "rope_parameters";
    const struct ct_json_value *o = scales ? scaling : ct_hf_object(r, key);
    char within[64];
    struct angles says_all = {.in = ct_hf_inside(r, key, o, within),
                              .theta = ct_hf_get(r, "rope_theta"),
                              .theta_key = "rope_theta",
                              .base = a->rope_base};

    for (size_t i = 0; i < CT_COUNT(kinds) && a->hf.window; i++)
        if (ct_json_get(o, kinds[i]))
            ct_hf_refuse_key(&says_all.in, CARAT_E_UNSUPPORTED, kinds[i],
                             "but this class of transformers has one table for all layers");
    read_angles(r, &says_all, &c->attn[CT_GLOBAL], share);
    const struct ct_attn *global = &c->attn[CT_GLOBAL];
    struct ct_attn *local = &c->attn[CT_LOCAL];
    local->rope_base = global->rope_base;
    local->rope_factor = global->rope_factor;
    local->rotated = global->rotated;
}

/* One for each kind; what is not said is what the class says. */
static void two_tables(struct ct_hf_reader *r, struct ct_config *c, const struct ct_architecture *a,
                       double share)
{
    static const struct {
        const char *kind, *theta;
    } names[CT_ATTN_TYPES] = {[CT_GLOBAL] = {"full_attention", "rope_theta"},
                              [CT_LOCAL] = {"sliding_attention", "rope_local_base_freq"}};
    const double base[CT_ATTN_TYPES] = {[CT_GLOBAL] = a->rope_base, [CT_LOCAL] = a->rope_base_local};
    const struct ct_json_value *scaling = ct_hf_object(r, "rope_scaling"),
                               *both = ct_hf_object(r, "rope_parameters");
    char within[64], inner[64], over[64];
    struct ct_hf_reader in = ct_hf_inside(r, "rope_parameters", both, within);

    for (int i = 0; i < CT_ATTN_TYPES; i++) {
        const struct ct_json_value *o = ct_hf_object(&in, names[i].kind);
        struct angles says_kind = {.in = ct_hf_inside(&in, names[i].kind, o, inner),
                                   .over =
                                       ct_hf_inside(r, "rope_scaling", i == CT_GLOBAL ? scaling : NULL, over),
                                   .is_default = !o,
                                   .theta = ct_hf_get(r, names[i].theta),
                                   .theta_key = names[i].theta,
                                   .base = base[i]};
        if (i == CT_GLOBAL && scaling && both && !o)
            ct_hf_refuse_key(&in, CARAT_E_FORMAT, names[i].kind,
                             "expected an object, which rope_scaling then changes");
        read_angles(r, &says_kind, &c->attn[i], share);
    }
}

static bool has_kind(const struct ct_config *c, int kind)
{
    for (int i = 0; i < c->n_layer; i++)
        if (c->layer[i].attn_type == kind)
            return true;
    return false;
}

/* One for each kind that there is a layer of, complete, or none at all. */
static void whole_tables(struct ct_hf_reader *r, struct ct_config *c, double share)
{
    static const char *const names[CT_ATTN_TYPES] = {
        [CT_GLOBAL] = "full_attention", [CT_LOCAL] = "sliding_attention"};
    const bool scales = ct_hf_get(r, "rope_scaling") != NULL;
    const char *const key = scales ? "rope_scaling" : "rope_parameters";
    const struct ct_json_value *both = ct_hf_object(r, key);
    char within[64], inner[64];
    struct ct_hf_reader in = ct_hf_inside(r, key, both, within);

    if (scales && !both)
        ct_hf_refuse_key(r, CARAT_E_FORMAT, key,
                         "expected an object, for it takes the place of rope_parameters");
    for (int i = 0; i < CT_ATTN_TYPES && both; i++) {
        const struct ct_json_value *o = ct_hf_object(&in, names[i]);
        struct angles says_kind = {.in = ct_hf_inside(&in, names[i], o, inner), .theta_key = ""};
        if (!has_kind(c, i))
            continue;
        if (!o)
            ct_hf_refuse_key(
                &in, CARAT_E_FORMAT, names[i],
                "expected an object: this class of transformers needs one for each kind of layers");
        else
            read_angles(r, &says_kind, &c->attn[i], share);
    }
}

/* Two classes take null, and then their models fail; around one of them, where there are local layers. */
static int window_of(struct ct_hf_reader *r, const struct ct_config *c, const struct ct_architecture *a)
{
    const char *const key = "sliding_window";

    if (!a->hf.window)
        return 0;
    if (ct_json_is(ct_json_get(r->o, key), CT_JSON_NULL) && (!*r->within || has_kind(c, CT_LOCAL)))
        ct_hf_refuse_key(r, CARAT_E_FORMAT, key, "expected an integer");
    const int window = ct_hf_count(r, key, a->hf.window, 1 << 24);
    if (!a->embeds)
        return window;
    /* keys on one side; of both, as files say it, but for one class of EmbeddingGemma 2 */
    return 1 + (a->vector && !ct_hf_given(r, "use_bidirectional_attention") ? window : window / 2);
}

void ct_hf_kinds(struct ct_hf_reader *r, struct ct_config *c, const struct ct_architecture *a)
{
    int head_dim[CT_ATTN_TYPES] = {c->layer[0].head_dim, c->layer[0].head_dim};
    struct ct_attn *global = &c->attn[CT_GLOBAL], *local = &c->attn[CT_LOCAL];

    for (int i = 0; i < c->n_layer; i++)
        head_dim[c->layer[i].attn_type] = c->layer[i].head_dim;
    const int window = window_of(r, c, a);
    *global = (struct ct_attn){0, head_dim[CT_GLOBAL], (int)(a->rotated * head_dim[CT_GLOBAL] / 2),
                               a->rope_base, 1};
    *local = (struct ct_attn){window, head_dim[CT_LOCAL], head_dim[CT_LOCAL] / 2, a->rope_base_local, 1};
    const double share = ct_hf_number(r, "partial_rotary_factor", 1, 0, 1);
    if (!a->qk_norms)
        one_table(r, c, a, share);
    else if (!a->global_head_dim)
        two_tables(r, c, a, share);
    else
        whole_tables(r, c, share);
}

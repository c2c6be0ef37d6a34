/* SPDX-License-Identifier: Apache-2.0 */
/* config_object.c: an object of config.json, read key by key (config_hf.h). A class of transformers takes a
 * value of the type that it declares; null stands for a fallback where it says so, and nowhere else. */
#include "model/config_hf.h"

void ct_hf_refuse_value(struct ct_hf_reader *r, carat_status code, const struct ct_json_value *value,
                        const char *key, const char *expected)
{
    char whole[128];

    if (*r->status)
        return;
    snprintf(whole, sizeof whole, "%s%s", r->within, key);
    *r->status = ct_json_refuse(r->err, code, r->path, r->text, value, whole, "%s", expected);
}

struct ct_hf_reader ct_hf_inside(const struct ct_hf_reader *r, const char *key, const struct ct_json_value *o,
                                 char within[64])
{
    struct ct_hf_reader inside = *r;

    snprintf(within, 64, "%s%s.", r->within, key);
    inside.o = o;
    inside.within = within;
    inside.class = CT_HF_NO_CLASS;
    return inside;
}

const struct ct_json_value *ct_hf_get(struct ct_hf_reader *r, const char *key)
{
    const struct ct_json_value *v = ct_json_get(r->o, key);

    if (v && r->seen)
        r->seen[v - r->root] = 1;
    return v;
}

void ct_hf_refuse_key(struct ct_hf_reader *r, carat_status code, const char *key, const char *expected)
{
    ct_hf_refuse_value(r, code, ct_hf_get(r, key), key, expected);
}

const struct ct_json_value *ct_hf_given(struct ct_hf_reader *r, const char *key)
{
    const struct ct_json_value *v = ct_hf_get(r, key);

    if (!ct_json_is(v, CT_JSON_NULL))
        return v;
    if (ct_hf_standard(r->class, ct_str_of(key)) && !ct_hf_takes_null(r->class, ct_str_of(key)))
        ct_hf_refuse_key(r, CARAT_E_FORMAT, key, "which this class of transformers does not take");
    return NULL;
}

double ct_hf_number(struct ct_hf_reader *r, const char *key, double fallback, double lo, double hi)
{
    const struct ct_json_value *v = ct_hf_given(r, key);

    if (!v || *r->status)
        return fallback;
    double d = ct_json_double(v);
    if (!ct_json_is(v, CT_JSON_NUMBER) || !(d >= lo && d <= hi)) {
        char expected[96];
        snprintf(expected, sizeof expected, "expected a number from %.15g to %.15g", lo, hi);
        ct_hf_refuse_key(r, CARAT_E_FORMAT, key, expected);
        return fallback;
    }
    return d;
}

int ct_hf_integer(struct ct_hf_reader *r, const char *key, int fallback, int lo, int hi)
{
    const struct ct_json_value *v = ct_hf_given(r, key);
    int64_t n;

    if (!v || *r->status)
        return fallback;
    if (!ct_json_integer(v, &n) || n < lo || n > hi) {
        char expected[64];
        snprintf(expected, sizeof expected, "expected an integer from %d to %d", lo, hi);
        ct_hf_refuse_key(r, CARAT_E_FORMAT, key, expected);
        return fallback;
    }
    return (int)n;
}

int ct_hf_count(struct ct_hf_reader *r, const char *key, int fallback, int hi)
{
    return ct_hf_integer(r, key, fallback, 1, hi);
}

/* A value of one kind; NULL when absent. */
static const struct ct_json_value *hf_typed(struct ct_hf_reader *r, const char *key, enum ct_json_token kind,
                                            const char *expected)
{
    const struct ct_json_value *v = ct_hf_given(r, key);

    if (!v || *r->status || ct_json_is(v, kind))
        return *r->status ? NULL : v;
    ct_hf_refuse_key(r, CARAT_E_FORMAT, key, expected);
    return NULL;
}

bool ct_hf_flag(struct ct_hf_reader *r, const char *key, bool fallback)
{
    const struct ct_json_value *v = ct_hf_given(r, key);

    if (v && !ct_json_is_bool(v))
        ct_hf_refuse_key(r, CARAT_E_FORMAT, key, "expected true or false");
    return v && !*r->status ? ct_json_is(v, CT_JSON_TRUE) : fallback;
}

const struct ct_json_value *ct_hf_string(struct ct_hf_reader *r, const char *key)
{
    return hf_typed(r, key, CT_JSON_STRING, "expected a string");
}

const struct ct_json_value *ct_hf_object(struct ct_hf_reader *r, const char *key)
{
    return hf_typed(r, key, CT_JSON_OBJECT, "expected an object");
}

const struct ct_json_value *ct_hf_layer_list(struct ct_hf_reader *r, const char *key, int n_layer)
{
    const struct ct_json_value *list = ct_hf_given(r, key);
    char expected[96];

    if (!list || *r->status || (ct_json_is(list, CT_JSON_ARRAY) && ct_json_count(list) == (size_t)n_layer))
        return *r->status ? NULL : list;
    snprintf(expected, sizeof expected, "expected a list with num_hidden_layers = %d entries", n_layer);
    ct_hf_refuse_key(r, CARAT_E_FORMAT, key, expected);
    return NULL;
}

void ct_hf_refuse_item(struct ct_hf_reader *r, carat_status code, const struct ct_json_value *value,
                       const char *key, int i, const char *expected)
{
    char item[64];

    snprintf(item, sizeof item, "%s[%d]", key, i);
    ct_hf_refuse_value(r, code, value, item, expected);
}

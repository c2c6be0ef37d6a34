/* SPDX-License-Identifier: Apache-2.0 */
/* config_int4.c: compressed-tensors' form "pack-quantized" as config.json states it, for directories that
 * are called w4a16: int4 around 8, with a scale for each 32 values. Tensors that are quantised so tell it by
 * their names; weights_compressed.c reads them. */
#include "model/config_hf.h"

/* What a key must be, where it is given: a number, or a word. */
static const struct fact {
    const char *key;
    bool needed;
    enum { NOTHING, TRUE, NUMBER, WORD } kind; /* NOTHING: null, false or {} */
    int number;
    const char *words[2];
} of_all[] = {{"kv_cache_scheme", false, NOTHING, 0, {NULL}},
              {"transform_config", false, NOTHING, 0, {NULL}}},
  of_sparsity[] = {{"format", false, WORD, 0, {"dense"}}},
  of_group[] = {{"input_activations", false, NOTHING, 0, {NULL}},
                {"output_activations", false, NOTHING, 0, {NULL}},
                {"format", false, WORD, 0, {"pack-quantized"}}},
  of_weights[] = {
      {"num_bits", true, NUMBER, 4, {NULL}},
      {"group_size", true, NUMBER, 32, {NULL}},
      {"symmetric", false, TRUE, 0, {NULL}},
      {"type", false, WORD, 0, {"int"}},
      {"strategy", false, WORD, 0, {"group"}},
      {"dynamic", false, NOTHING, 0, {NULL}},
      {"actorder", false, WORD, 0, {"weight", "static"}}, /* of columns while it was made; not as stored */
};

/* Where checks are, and their first error. */
struct int4 {
    const char *path;
    struct ct_bytes text;
    carat_status status;
    carat_error *err;
};

static bool int4_holds(const struct fact *f, const struct ct_json_value *v)
{
    int64_t n;

    if (!v)
        return !f->needed;
    if (f->kind == NUMBER)
        return ct_json_integer(v, &n) && n == f->number;
    if (f->kind == TRUE)
        return ct_json_is(v, CT_JSON_TRUE);
    for (size_t i = 0; i < CT_COUNT(f->words); i++)
        if (f->words[i] && ct_json_is_text(v, f->words[i]))
            return true;
    return ct_json_is(v, CT_JSON_FALSE) || (ct_json_is(v, CT_JSON_OBJECT) && !ct_json_first(v));
}

/* key: what leads to o. */
static void int4_expect(struct int4 *c, const struct ct_json_value *o, const char *key, const struct fact *f,
                        size_t n)
{
    char whole[160], expected[64] = "which carat does not read";

    for (; n > 0 && c->status == CARAT_OK; n--, f++) {
        const struct ct_json_value *v = ct_json_given(o, f->key);
        if (int4_holds(f, v))
            continue;
        if (f->kind == NUMBER)
            snprintf(expected, sizeof expected, "but carat reads %d only", f->number);
        snprintf(whole, sizeof whole, "%s.%s", key, f->key);
        c->status = ct_json_refuse(c->err, CARAT_E_UNSUPPORTED, c->path, c->text, v, whole, "%s", expected);
    }
}

bool ct_int4_is(const struct ct_json_value *q)
{
    const struct ct_json_value *groups = ct_json_given(q, "config_groups");

    return ct_json_is_text(ct_json_given(q, "quant_method"), "compressed-tensors") &&
           ct_json_is_text(ct_json_given(q, "format"), "pack-quantized") &&
           ct_json_is(groups, CT_JSON_OBJECT) && ct_json_first(groups);
}

carat_status ct_int4_check(const struct ct_json_value *q, const char *path, struct ct_bytes text,
                           const char *key, carat_error *err)
{
    struct int4 c = {path, text, CARAT_OK, err};
    char within[128];
    int i = 0;

    int4_expect(&c, q, key, of_all, CT_COUNT(of_all));
    snprintf(within, sizeof within, "%s.sparsity_config", key);
    int4_expect(&c, ct_json_given(q, "sparsity_config"), within, of_sparsity, CT_COUNT(of_sparsity));
    CT_JSON_EACH(name, ct_json_given(q, "config_groups"))
    {
        const struct ct_json_value *group = ct_json_of_key(name);
        snprintf(within, sizeof within, "%s.config_groups[%d]", key, i);
        int4_expect(&c, group, within, of_group, CT_COUNT(of_group));
        snprintf(within, sizeof within, "%s.config_groups[%d].weights", key, i++);
        int4_expect(&c, ct_json_given(group, "weights"), within, of_weights, CT_COUNT(of_weights));
    }
    return c.status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* config_embed.c: what an embedder says of itself beside a model's configuration: how the rows of a text
 * become one, and by which matrices. carat knows one way, the mean of all rows, then at most two matrices
 * without bias and activation, then length 1. Facts and sources: MODEL.md. */
#include "model/family.h"

enum { MOST_VECTOR = 1 << 16 };

/* What a value of a module's configuration must be. */
static carat_status refuse(const struct ct_module *m, carat_status code, const char *key,
                           const char *expected, carat_error *err)
{
    return ct_json_refuse(err, code, m->path, m->text, ct_json_given(m->config, key), key, "%s", expected);
}

static carat_status check_width(const struct ct_module *m, const char *key, int width, carat_error *err)
{
    const struct ct_json_value *v = ct_json_given(m->config, key);
    int64_t n;
    char expected[64];

    snprintf(expected, sizeof expected, "expected %d, the width of what comes in", width);
    return ct_json_integer(v, &n) && n == width ? CARAT_OK : refuse(m, CARAT_E_FORMAT, key, expected, err);
}

/* The mean over all tokens, and nothing else: by one key for each way, or in the later spelling by one
 * name. */
static carat_status check_pooling(const struct ct_module *m, int hidden, carat_error *err)
{
    static const char mean[] = "pooling_mode_mean_tokens", prefix[] = "pooling_mode_",
                      later[] = "pooling_mode";
    const char *const expected = "but carat pools by the mean of all tokens only";
    const struct ct_json_value *name = ct_json_given(m->config, later);
    const char *width =
        ct_json_given(m->config, "embedding_dimension") ? "embedding_dimension" : "word_embedding_dimension";

    if (name && !ct_json_is_text(name, "mean"))
        return refuse(m, CARAT_E_UNSUPPORTED, later, expected, err);
    if (!name && !ct_json_is(ct_json_given(m->config, mean), CT_JSON_TRUE))
        return refuse(m, CARAT_E_UNSUPPORTED, mean, expected, err);
    CT_JSON_EACH(key, m->config)
    {
        const struct ct_str s = ct_json_str(key);
        const struct ct_json_value *v = ct_json_of_key(key);
        if (s.n < sizeof prefix || memcmp(s.s, prefix, sizeof prefix - 1) != 0 || ct_str_is(s, mean))
            continue;
        if (ct_json_is(v, CT_JSON_TRUE))
            return ct_json_refuse(err, CARAT_E_UNSUPPORTED, m->path, m->text, v, "a pooling_mode_", "%s",
                                  expected);
    }
    if (ct_json_is(ct_json_given(m->config, "include_prompt"), CT_JSON_FALSE))
        return refuse(m, CARAT_E_UNSUPPORTED, "include_prompt", "but carat counts the prompt's tokens too",
                      err);
    return check_width(m, width, hidden, err);
}

/* A matrix alone, from `width` values; *out: to how many. */
static carat_status check_dense(const struct ct_module *m, int width, int *out, carat_error *err)
{
    const struct ct_json_value *activation = ct_json_given(m->config, "activation_function");
    static const char identity[] = "torch.nn.modules.linear.Identity", key[] = "out_features";
    int64_t n;
    char expected[64];

    CT_TRY(check_width(m, "in_features", width, err));
    if (!ct_json_is(ct_json_given(m->config, "bias"), CT_JSON_FALSE)) /* it has one by default */
        return refuse(m, CARAT_E_UNSUPPORTED, "bias", "but carat runs dense modules without a bias only",
                      err);
    if (!ct_json_is_text(activation, identity)) /* tanh by default */
        return refuse(m, CARAT_E_UNSUPPORTED, "activation_function",
                      "but carat runs dense modules with \"torch.nn.modules.linear.Identity\" only", err);
    snprintf(expected, sizeof expected, "expected an integer from 1 to %d", MOST_VECTOR);
    if (!ct_json_integer(ct_json_given(m->config, key), &n) || n < 1 || n > MOST_VECTOR)
        return refuse(m, CARAT_E_FORMAT, key, expected, err);
    *out = (int)n;
    return CARAT_OK;
}

/* A packed file has no modules any more: they were looked at when it was made, and its weights are there. */
static void count_packed(struct ct_config *c, const struct ct_file *f)
{
    static const char *const names[CT_MOST_DENSE] = {"dense_2.weight", "dense_3.weight"};

    for (; c->n_dense < CT_MOST_DENSE; c->n_dense++) {
        const struct ct_tensor *t = ct_file_weight(f, names[c->n_dense]);
        if (!t)
            return;
        c->dense[c->n_dense] = (int)CT_MIN(t->dim[0], (int64_t)MOST_VECTOR);
    }
}

carat_status ct_config_embed_hf(struct ct_config *c, const struct ct_file *f, int one, carat_error *err)
{
    const struct ct_modules *m = NULL;

    c->vector_inside = one > 0;
    c->n_dense = one > 0;
    c->dense[0] = one;
    if (ct_file_is_packed(f)) {
        if (!one)
            count_packed(c, f);
        return CARAT_OK;
    }
    CT_TRY(ct_file_modules(f, &m, err));
    if (!m)
        return CARAT_OK;
    if (!m->normalizes || !m->pooling.config)
        return ct_fail(
            err, CARAT_E_UNSUPPORTED,
            "%s/modules.json: there is no module Pooling, or no Normalize at the end, expected both",
            ct_file_path(f));
    CT_TRY(check_pooling(&m->pooling, c->hidden, err));
    if (one && m->n_dense)
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "%s: a dense module, expected none beside the matrix of an EmbeddingGemma 2",
                       m->dense[0].path);
    for (int i = 0, width = c->hidden; i < m->n_dense; i++, width = c->dense[i - 1]) {
        CT_TRY(check_dense(&m->dense[i], width, &c->dense[i], err));
        c->n_dense = i + 1;
    }
    return CARAT_OK;
}

/* The matrix of that name; how many values it makes is what the key says, or else its rows. */
static carat_status gguf_dense(struct ct_config *c, const struct ct_file *f, const char *name,
                               const char *prefix, const char *key, carat_error *err)
{
    const struct ct_tensor *t = ct_file_find(f, name);
    char whole[128];

    if (!t)
        return CARAT_OK;
    int64_t n = CT_MIN(CT_MAX(t->dim[0], (int64_t)1), (int64_t)MOST_VECTOR);
    snprintf(whole, sizeof whole, "%s.%s", prefix, key);
    CT_TRY(ct_file_meta_int(f, whole, 1, MOST_VECTOR, &n, err));
    c->dense[c->n_dense++] = (int)n;
    return CARAT_OK;
}

carat_status ct_config_embed_gguf(struct ct_config *c, const struct ct_file *f, const char *prefix,
                                  carat_error *err)
{
    enum { MEAN = 1 };
    int64_t pooling = MEAN;
    char key[128];

    snprintf(key, sizeof key, "%s.pooling_type", prefix);
    CT_TRY(ct_file_meta_int(f, key, 0, 1 << 10, &pooling, err));
    if (pooling != MEAN)
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "%s: metadata key \"%s\" is %d, but carat pools by the mean (1) only", ct_file_path(f),
                       key, (int)pooling);
    const struct ct_architecture *a = ct_architecture_named(ct_str_of(c->architecture));
    c->vector_inside = a->vector > 0;
    if (c->vector_inside)
        return gguf_dense(c, f, "output.weight", prefix, "embedding_length_out", err);
    CT_TRY(gguf_dense(c, f, "dense_2.weight", prefix, "dense_2_feat_out", err));
    return gguf_dense(c, f, "dense_3.weight", prefix, "dense_3_feat_out", err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_bad_int4.c: directories in compressed-tensors' form "pack-quantized" whose config.json says more than
 * carat reads, or whose tensors contradict each other. That sound ones give the right bits is in
 * test/model/test_int4.c; other ways to quantise are refused by name in test_refused.c. */
#include "cli/model/bad_hf.h"
#include "model/int4_build.h"

struct int4 {
    struct damage damage;
    const char *entry;   /* one tensor more */
    uint64_t rows, cols; /* that weight_shape says of k_proj */
    bool experts;        /* as a Gemma 4 with experts */
};

static void int4(struct bad_place *p, const void *with)
{
    const struct int4 *c = with;
    struct i4_model m = {.entry = c ? c->entry : NULL,
                         .rows = c ? c->rows : 0,
                         .cols = c ? c->cols : 0,
                         .gemma4 = c && c->experts};
    const char *config = m.gemma4 ? I4_CONFIG4 : I4_CONFIG;
    i4_build(&m);
    bad_model(p, "");
    finish(p, c ? &c->damage : NULL, "config.json", config, strlen(config), NULL);
    finish(p, c ? &c->damage : NULL, WHOLE, m.header.p, m.header.n, &m.data);
    i4_free(&m);
}

/* A directory of plain BF16, as one that was quantised and opened again. */
static void plain(struct bad_place *p, const void *with)
{
    const struct damage *d = with;
    struct parts parts = {{0}, {0}};
    sides(p, d);
    for (size_t i = 0; i < CT_COUNT(ends); i++)
        add(&parts, ends[i].name, &ends[i]);
    for (int i = 0; i < LAYERS; i++)
        add_layer(&parts, i);
    finish_parts(p, d, WHOLE, &parts);
}

#define WITH(...)                                                                                            \
    int4, &(const struct int4)                                                                               \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }
#define EDITED(...)       WITH(.damage = {{__VA_ARGS__}}), 4
#define SAID(from, to)    EDITED({"config.json", from, to})
#define RENAMED(from, to) EDITED({WHOLE, from, to})
#define GROUP             "/config.json: quantization_config.config_groups[0]."
#define PLAIN             "open the original or a GGUF of it"
#define OF_EXPERTS(name)                                                                                     \
    WITH(.damage = {{{"config.json", "{",                                                                    \
                      "{\"enable_moe_block\":true,\"num_experts\":4,\"top_k_experts\":2,"                    \
                      "\"moe_intermediate_size\":32,"}}},                                                    \
         .entry = name, .experts = true),                                                                    \
        4,                                                                                                   \
    {                                                                                                        \
        "tensor " name " at byte ", " shows experts in int4, and in safetensors carat reads those of F32, "  \
                                    "F16 and BF16 only; " PLAIN                                              \
    }
#define K "model.layers.0.self_attn.k_proj.weight"

static const struct bad_case sound[] = {
    {"int4", "as published", int4, NULL, 0, {NULL}, LOGITS},
    {"int4",
     "columns that were ordered while it was made",
     WITH(.damage = {{{"config.json", "\"actorder\":null", "\"actorder\":\"static\""}}}),
     0,
     {NULL},
     LOGITS},
    {"int4",
     "opened again",
     plain,
     &(const struct damage){{{"config.json", "{", "{\"quantization_config\":null,"}}},
     0,
     {NULL},
     LOGITS},
};

static const struct bad_case configs[] = {
    {"int4",
     "eight bits",
     SAID("\"num_bits\":4", "\"num_bits\":8"),
     {GROUP "weights.num_bits at byte ", " is 8, but carat reads 4 only"}},
    {"int4",
     "no bits",
     SAID("\"num_bits\":4", "\"bits\":4"),
     {GROUP "weights.num_bits", "but carat reads 4 only"}},
    {"int4",
     "no size of groups",
     SAID("\"group_size\":32", "\"size\":32"),
     {GROUP "weights.group_size", "but carat reads 32 only"}},
    {"int4",
     "larger groups",
     SAID("\"group_size\":32", "\"group_size\":128"),
     {GROUP "weights.group_size at byte ", " is 128, but carat reads 32 only"}},
    {"int4",
     "zero points",
     SAID("\"symmetric\":true", "\"symmetric\":false"),
     {GROUP "weights.symmetric at byte ", " is false, which carat does not read"}},
    {"int4",
     "floats",
     SAID("\"type\":\"int\"", "\"type\":\"float\""),
     {GROUP "weights.type at byte ", " is \"float\", which carat does not read"}},
    {"int4",
     "a scale for each row",
     SAID("\"strategy\":\"group\"", "\"strategy\":\"channel\""),
     {GROUP "weights.strategy at byte ", "\"channel\", which"}},
    {"int4",
     "columns in another order",
     SAID("\"actorder\":null", "\"actorder\":\"group\""),
     {GROUP "weights.actorder at byte ", "\"group\", which"}},
    {"int4",
     "scales made anew",
     SAID("\"dynamic\":false", "\"dynamic\":true"),
     {GROUP "weights.dynamic at byte ", "true, which"}},
    {"int4",
     "activations, too",
     SAID("\"input_activations\":null", "\"input_activations\":{\"num_bits\":8}"),
     {GROUP "input_activations at byte ", "which carat does not read"}},
    {"int4",
     "no weights",
     SAID("\"weights\"", "\"biases\""),
     {GROUP "weights.num_bits", "but carat reads 4 only"}},
    {"int4",
     "K and V, too",
     SAID("\"kv_cache_scheme\":null", "\"kv_cache_scheme\":{\"num_bits\":8}"),
     {"quantization_config.kv_cache_scheme at byte "}},
    {"int4",
     "half of them are zero",
     SAID("\"sparsity_config\":{}", "\"sparsity_config\":{\"format\":\"sparse-24-bitmask\"}"),
     {"quantization_config.sparsity_config.format at byte "}},
    {"int4",
     "another format",
     SAID("\"format\":\"pack-quantized\"", "\"format\":\"marlin-24\""),
     {"quantised with compressed-tensors (marlin-24); ", PLAIN}},
    {"int4",
     "no groups",
     SAID("\"config_groups\"", "\"groups\""),
     {"quantised with compressed-tensors (pack-quantized); ", PLAIN}},
    {"int4",
     "nothing said",
     SAID("\"quantization_config\"", "\"quantised\""),
     {"weight_packed shows that the checkpoint is quantised with compressed-tensors; ", PLAIN}},
    {"int4",
     "a group that is a number",
     SAID("\"config_groups\":{", "\"config_groups\":{\"a\":1,"),
     {GROUP "weights.num_bits", "but carat reads 4 only"}},
};

static const struct bad_case tensors[] = {
    {"int4", "each expert", OF_EXPERTS("model.layers.0.experts.0.gate_proj.weight_packed")},
    {"int4", "all experts", OF_EXPERTS("model.layers.0.experts.gate_up_proj_packed")},
    {"int4", "down of all experts", OF_EXPERTS("model.layers.0.experts.down_proj_packed")},
    {"int4",
     "a shape of more rows",
     WITH(.rows = 33),
     4,
     {"tensor " K "_packed at byte ",
      "has shape [32 x 8] and type I32, expected [33 x 8] of type I32, as _shape says"}},
    {"int4",
     "a shape of half a group",
     WITH(.cols = 65),
     4,
     {"tensor " K "_shape at byte ", "says [32 x 65], expected rows of whole groups of 32"}},
    {"int4",
     "a shape of no rows",
     WITH(.rows = 1ull << 63),
     4,
     {"tensor " K "_shape at byte ",
      "says [-9223372036854775808 x 64], expected rows of whole groups of 32"}},
    {"int4",
     "integers in another shape",
     RENAMED("_packed\":{\"dtype\":\"I32\",\"shape\":[64,8]",
             "_packed\":{\"dtype\":\"I32\",\"shape\":[32,16]"),
     {"q_proj.weight_packed at byte ", "[32 x 16]", "expected [64 x 8] of type I32"}},
    {"int4",
     "integers without a sign",
     RENAMED("\"I32\"", "\"U32\""),
     {"q_proj.weight_packed at byte ", "type U32, expected [64 x 8] of type I32"}},
    {"int4",
     "scales in another shape",
     RENAMED("_scale\":{\"dtype\":\"BF16\",\"shape\":[64,2]",
             "_scale\":{\"dtype\":\"BF16\",\"shape\":[32,4]"),
     {"q_proj.weight_scale at byte ", "[32 x 4]",
      "expected [64 x 2] of type BF16, one for each group of 32"}},
    {"int4",
     "scales of f16",
     RENAMED("_scale\":{\"dtype\":\"BF16\"", "_scale\":{\"dtype\":\"F16\""),
     {"q_proj.weight_scale at byte ", "type F16, expected [64 x 2] of type BF16"}},
    {"int4",
     "a shape of floats",
     RENAMED("\"I64\"", "\"F64\""),
     {"q_proj.weight_shape at byte ", "[2] and type F64, expected [2] of type I64"}},
    {"int4",
     "no scales",
     RENAMED("k_proj.weight_scale", "k_proj.weight_scald"),
     {"tensor " K "_scale is missing beside " K "_packed"}},
    {"int4",
     "no shape",
     RENAMED("k_proj.weight_shape", "k_proj.weight_shade"),
     {"tensor " K "_shape is missing beside " K "_packed"}},
    {"int4",
     "zero points",
     WITH(.entry = K "_zero_point"),
     4,
     {"tensor " K "_zero_point at byte ", "stands beside " K "_packed; carat reads symmetric groups"}},
    {"int4",
     "an order of columns",
     WITH(.entry = K "_g_idx"),
     4,
     {"tensor " K "_g_idx at byte ", "stands beside"}},
    {"int4",
     "both forms",
     WITH(.entry = K),
     4,
     {"tensor " K " at byte ", "stands beside " K "_packed", "one form of a tensor"}},
    {"int4",
     "a wider feed-forward",
     SAID("\"intermediate_size\":96", "\"intermediate_size\":128"),
     {"mlp.gate_proj.weight_packed at byte ", "shape [96 x 64], expected [128 x 64]",
      "(intermediate_size x hidden_size)"}},
    {"int4",
     "a norm",
     RENAMED("k_norm.weight", "k_norm.bias"),
     {"1 tensor is missing: model.layers.0.self_attn.k_norm.weight;"}},
};

static void sound_directories(void **state)
{
    (void)state;
    BAD_RUN(sound);
}
static void configuration_says_more(void **state)
{
    (void)state;
    BAD_RUN(configs);
}
static void tensors_disagree(void **state)
{
    (void)state;
    BAD_RUN(tensors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_directories),
        cmocka_unit_test(configuration_says_more),
        cmocka_unit_test(tensors_disagree),
    };
    return cmocka_run_group_tests_name("model: bad directories of int4", tests, NULL, NULL);
}

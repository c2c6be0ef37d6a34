/* SPDX-License-Identifier: Apache-2.0 */
/* test_bad_gemma4.c: rows of the list of bad inputs that Gemma 4 alone can have: what config.json says of
 * single layers and of experts, and tensors that other members lack. The base is a small random dense model
 * whose second layer is global and has one weight for K and V. What config.json of every member may say wrong
 * is in test_bad_config.c, members that do not run yet are in test_refused.c. */
#include "cli/model/bad_hf.h"

#define CONFIG4                                                                                              \
    "\"model_type\":\"gemma4_text\",\"vocab_size\":64,\"hidden_size\":16,\"intermediate_size\":32,"          \
    "\"num_hidden_layers\":2,\"num_attention_heads\":2,\"num_key_value_heads\":1,\"head_dim\":8,"            \
    "\"global_head_dim\":16,\"num_global_key_value_heads\":1,\"attention_k_eq_v\":true,"                     \
    "\"hidden_size_per_layer_input\":0,\"sliding_window\":32,"                                               \
    "\"layer_types\":[\"sliding_attention\",\"full_attention\"],\"rope_parameters\":{\"full_attention\":"    \
    "{\"rope_type\":\"proportional\",\"partial_rotary_factor\":0.25,\"rope_theta\":1000000.0},"              \
    "\"sliding_attention\":{\"rope_theta\":10000.0}},\"bos_token_id\":2,"                                    \
    "\"eos_token_id\":1}"

/* Of a layer; Q, K and heads are twice as wide in the global one, which has no v_proj. */
static void add_layer4(struct parts *p, int layer, int scales)
{
    const int w = layer ? 2 : 1;
    const struct tensor tensors[] = {{"input_layernorm.weight", 0, HIDDEN},
                                     {"self_attn.q_proj.weight", Q * w, HIDDEN},
                                     {"self_attn.k_proj.weight", KV * w, HIDDEN},
                                     {layer ? NULL : "self_attn.v_proj.weight", KV, HIDDEN},
                                     {"self_attn.o_proj.weight", HIDDEN, Q * w},
                                     {"self_attn.q_norm.weight", 0, HEAD * w},
                                     {"self_attn.k_norm.weight", 0, HEAD * w},
                                     {"post_attention_layernorm.weight", 0, HIDDEN},
                                     {"pre_feedforward_layernorm.weight", 0, HIDDEN},
                                     {"mlp.gate_proj.weight", FFN, HIDDEN},
                                     {"mlp.up_proj.weight", FFN, HIDDEN},
                                     {"mlp.down_proj.weight", HIDDEN, FFN},
                                     {"post_feedforward_layernorm.weight", 0, HIDDEN},
                                     {"layer_scalar", 0, scales}};
    for (size_t i = 0; i < CT_COUNT(tensors); i++) {
        char name[128];
        snprintf(name, sizeof name, "model.layers.%d.%s", layer, tensors[i].name);
        if (tensors[i].name)
            add(p, name, &tensors[i]);
    }
}

enum { EXPERTS = 4, EXPERT_FFN = 8 };
#define CONFIG_EXPERTS                                                                                       \
    "\"enable_moe_block\":true,\"num_experts\":4,\"top_k_experts\":2,\"moe_intermediate_size\":8,"

/* What a layer has beside that. */
static void add_experts(struct parts *p, int layer)
{
    static const struct {
        const char *name, *shape;
        int n;
        bool is_norm;
    } tensors[] = {{"post_feedforward_layernorm_1.weight", "16", HIDDEN, true},
                   {"post_feedforward_layernorm_2.weight", "16", HIDDEN, true},
                   {"pre_feedforward_layernorm_2.weight", "16", HIDDEN, true},
                   {"router.scale", "16", HIDDEN, true},
                   {"router.per_expert_scale", "4", EXPERTS, true},
                   {"experts.gate_up_proj", "4,16,16", EXPERTS * 2 * EXPERT_FFN * HIDDEN, false},
                   {"experts.down_proj", "4,16,8", EXPERTS * HIDDEN * EXPERT_FFN, false},
                   {"router.proj.weight", "4,16", EXPERTS * HIDDEN, false}};
    for (size_t i = 0; i < CT_COUNT(tensors); i++) {
        char name[128];
        snprintf(name, sizeof name, "model.layers.%d.%s", layer, tensors[i].name);
        add_shaped(p, name, tensors[i].shape, (size_t)tensors[i].n, tensors[i].is_norm);
    }
}

enum { INPUT = 4 };
#define NO_INPUTS   "\"hidden_size_per_layer_input\":0"
#define WITH_INPUTS "\"hidden_size_per_layer_input\":4,\"vocab_size_per_layer_input\":64"

/* What a model has whose layers have inputs of their own. */
static void add_inputs(struct parts *p)
{
    static const struct tensor once[] = {{"model.embed_tokens_per_layer.weight", 64, 2 * INPUT},
                                         {"model.per_layer_model_projection.weight", 2 * INPUT, HIDDEN},
                                         {"model.per_layer_projection_norm.weight", 0, INPUT}},
                               each[] = {{"per_layer_input_gate.weight", INPUT, HIDDEN},
                                         {"per_layer_projection.weight", HIDDEN, INPUT},
                                         {"post_per_layer_input_norm.weight", 0, HIDDEN}};
    for (size_t i = 0; i < CT_COUNT(once); i++)
        add(p, once[i].name, &once[i]);
    for (size_t i = 0; i < 2 * CT_COUNT(each); i++) {
        char name[128];
        snprintf(name, sizeof name, "model.layers.%zu.%s", i % 2, each[i / 2].name);
        add(p, name, &each[i / 2]);
    }
}

/* One more tensor, and one value of layer 1's layer_scalar, or with experts the last one of its router. */
struct more {
    const char *entry; /* its name */
    int rows, cols;
    uint16_t scalar; /* as bf16; 0: it stays */
    int scales;      /* how many values layer_scalar has; 0: one */
    bool experts, inputs;
    struct damage damage;
};

static void gemma4(struct bad_place *p, const void *with)
{
    const struct more *more = with;
    const struct damage *d = more ? &more->damage : NULL;
    static const struct tensor last = {"model.norm.weight", 0, HIDDEN},
                               embedding = {"model.embed_tokens.weight", 64, HIDDEN};
    struct parts parts = {{0}, {0}};
    bad_model(p, "");
    const char *const config = more && more->experts ? "{" CONFIG_EXPERTS CONFIG4 : "{" CONFIG4;
    finish(p, d, "config.json", config, strlen(config), NULL);
    if (more && more->inputs)
        add_inputs(&parts);
    add(&parts, last.name, &last);
    add(&parts, embedding.name, &embedding);
    for (int i = 0; i < 2; i++) {
        add_layer4(&parts, i, more && more->scales ? more->scales : 1);
        if (more && more->experts)
            add_experts(&parts, i);
    }
    if (more && more->scalar)
        memcpy(parts.data.p + parts.data.n - 2, &more->scalar, 2);
    if (more && more->entry) {
        const struct tensor t = {more->entry, more->rows, more->cols};
        add(&parts, more->entry, &t);
    }
    finish_parts(p, d, WHOLE, &parts);
}

#define WHERE "/config.json: "
#define WITH(...)                                                                                            \
    gemma4, &(const struct more)                                                                             \
    {                                                                                                        \
        .damage = { {__VA_ARGS__} }                                                                          \
    }
#define CHANGED(from, to) WITH({"config.json", from, to}), 4
#define RENAMED(from, to) WITH({WHOLE, from, to}), 4
#define PER_LAYER(text)   CHANGED("{", "{\"per_layer_config\":" text ",")
#define GLOBAL_HEADS(n)   CHANGED("\"global_head_dim\":16", "\"global_head_dim\":" n)
#define ROTARY(share)     CHANGED("_rotary_factor\":0.25", "_rotary_factor\":" share)
#define PLACE             "rope_parameters.full_attention.partial_rotary_factor at byte "

static const struct bad_case sound[] = {
    {"C4", "the base", gemma4, NULL, 0, {NULL}, LOGITS},
    {"C4",
     "global heads as they are saved again",
     WITH({"config.json", "\"global_head_dim\":16,\"num_global_key_value_heads\":1",
           "\"per_layer_config\":{\"1\":{\"head_dim\":16,\"num_key_value_heads\":1}}"}),
     0,
     {NULL},
     LOGITS},
    {"C4",
     "a last layer that is said to be local",
     WITH({"config.json", "full_attention\"]", "sliding_attention\"]"}),
     0,
     {"config.json says that the last layer is local; as in the reference, it is global"},
     LOGITS},
    {"C4",
     "a V that nobody needs",
     gemma4,
     &(const struct more){.entry = "model.layers.1.self_attn.v_proj.weight", .rows = KV * 2, .cols = HIDDEN},
     0,
     {"1 tensor in the file is no part of the model: model.layers.1.self_attn.v_proj.weight"},
     LOGITS},
};

static const struct bad_case configs[] = {
    {"C4",
     "layers of a wrong type",
     PER_LAYER("[]"),
     {WHERE "per_layer_config at byte ", " is [], expected an obj"}},
    {"C4",
     "a layer of a wrong type",
     PER_LAYER("{\"1\":16}"),
     {WHERE "per_layer_config.1 at byte ", " is 16, expected an object"}},
    {"C4",
     "a head of a wrong type",
     PER_LAYER("{\"1\":{\"head_dim\":\"16\"}}"),
     {WHERE "per_layer_config.1.head_dim at byte ", " is \"16\", expected an integer"}},
    {"C4",
     "no K and V",
     PER_LAYER("{\"1\":{\"num_key_value_heads\":0}}"),
     {WHERE "per_layer_config.1.num_key_value_heads at byte ", " is 0, expected an integer"}},
    {"C4",
     "layers of a kind with other heads",
     WITH({"config.json", "{", "{\"per_layer_config\":{\"0\":{\"head_dim\":32},\"1\":{\"head_dim\":16}},"},
          {"config.json", "[\"sliding_attention\"", "[\"full_attention\""}),
     4,
     {WHERE "layer 1 has 1 KV heads of 16, expected 1 of 32, as layer 0 of its kind has"}},
    {"C4",
     "another head than the tensors have",
     PER_LAYER("{\"1\":{\"head_dim\":32}}"),
     {"tensor model.layers.1.self_attn.q_proj.weight", "[32 x 16], expected [64 x 16]", "head_dim"}},
    {"C4", "a share below 0", ROTARY("-0.25"), {WHERE PLACE, " is -0.25, expected a number from 0 to 1"}},
    {"C4", "a share above 1", ROTARY("1.5"), {WHERE PLACE, " is 1.5, expected a number from 0 to 1"}},
    {"C4", "a share in words", ROTARY("\"all\""), {WHERE PLACE, " is \"all\", expected a number"}},
    {"C4", "heads of 0", GLOBAL_HEADS("0"), {WHERE "global_head_dim at byte ", " is 0, expected an integer"}},
    {"C4", "huge heads", GLOBAL_HEADS("100000"), {WHERE "global_head_dim at byte ", " is 100000, expected"}},
    {"C4", "wide heads", GLOBAL_HEADS("4096"), {"head_dim is 4096; carat runs even ones up to "}},
    {"C4", "odd heads", GLOBAL_HEADS("15"), {"head_dim is 15; carat runs even ones up to "}},
    {"C4",
     "K and V that no heads share",
     CHANGED("num_global_key_value_heads\":1", "num_global_key_value_heads\":3"),
     {"2 query heads cannot share 3 KV heads evenly"}},
    {"C4",
     "not a flag",
     CHANGED("attention_k_eq_v\":true", "attention_k_eq_v\":1"),
     {WHERE "attention_k_eq_v at byte ", " is 1, expected true or false"}},
    {"C4",
     "V that is not K, and is missing",
     CHANGED("attention_k_eq_v\":true", "attention_k_eq_v\":false"),
     {"1 tensor is missing: model.layers.1.self_attn.v_proj.weight;"}},
};

static const struct bad_case tensors[] = {
    {"C4",
     "two scales",
     gemma4,
     &(const struct more){.scales = 2},
     4,
     {"tensor model.layers.0.layer_scalar at byte ", "has shape [2], expected [1]"}},
    {"C4",
     "no scale",
     RENAMED("model.layers.0.layer_scalar", "model.layers.0.layer_scaler"),
     {"1 tensor is missing: model.layers.0.layer_scalar;"}},
    {"C4",
     "a scale that is not a number",
     gemma4,
     &(const struct more){.scalar = 0x7fc0},
     4,
     {WHOLE ": tensor model.layers.1.layer_scalar at byte ", " is NaN, expected a finite number"}},
    {"C4",
     "a scale without an end",
     gemma4,
     &(const struct more){.scalar = 0xff80},
     4,
     {WHOLE ": tensor model.layers.1.layer_scalar at byte ", " is infinity, expected a finite number"}},
};

#define EXPERTS_WITH(...)                                                                                    \
    gemma4, &(const struct more)                                                                             \
    {                                                                                                        \
        .experts = true, .damage = { {__VA_ARGS__} }                                                         \
    }
#define EXPERTS_SAID(from, to) EXPERTS_WITH({"config.json", from, to}), 4
#define EXPERTS_HELD(from, to) EXPERTS_WITH({WHOLE, from, to}), 4
#define LAYER0                 "model.layers.0."

static const struct bad_case experts[] = {
    {"experts", "the base", gemma4, &(const struct more){.experts = true}, 0, {NULL}, LOGITS},
    {"experts",
     "nobody says how many",
     EXPERTS_SAID("\"num_experts\":4,", ""),
     {WHERE "num_experts is missing, which enable_moe_block needs: an integer from 1 to 1024"}},
    {"experts",
     "nor how many a row takes",
     EXPERTS_SAID("\"top_k_experts\":2,", "\"top_k_experts\":null,"),
     {WHERE "top_k_experts is missing, which enable_moe_block needs: an integer from 1 to 1024"}},
    {"experts",
     "nor how wide they are",
     EXPERTS_SAID("\"moe_intermediate_size\":8,", ""),
     {WHERE "moe_intermediate_size is missing, which enable_moe_block needs: an integer from 1 to 1048576"}},
    {"experts",
     "more of a row than there are",
     EXPERTS_SAID("\"top_k_experts\":2", "\"top_k_experts\":5"),
     {WHERE "top_k_experts at byte ", " is 5, expected at most num_experts = 4"}},
    {"experts",
     "none of a row",
     EXPERTS_SAID("\"top_k_experts\":2", "\"top_k_experts\":0"),
     {WHERE "top_k_experts at byte ", " is 0, expected an integer from 1 to 1024"}},
    {"experts",
     "too many",
     EXPERTS_SAID("\"num_experts\":4", "\"num_experts\":1000000000"),
     {WHERE "num_experts at byte ", " is 1000000000, expected an integer from 1 to 1024"}},
    {"experts",
     "narrower ones",
     EXPERTS_SAID("\"moe_intermediate_size\":8", "\"moe_intermediate_size\":4"),
     {"tensor " LAYER0 "experts.gate_up_proj at byte ",
      "has shape [4 x 16 x 16], expected [4 x 8 x 16] from the configuration (num_experts x 2 * "
      "moe_intermediate_size x hidden_size)"}},
    {"experts",
     "other gate rows",
     EXPERTS_HELD("[4,16,16]", "[4,32,8]"),
     {"tensor " LAYER0 "experts.gate_up_proj at byte ", "[4 x 32 x 8], expected [4 x 16 x 16]"}},
    {"experts",
     "another number of them",
     EXPERTS_HELD("[4,16,8]", "[8,16,4]"),
     {"tensor " LAYER0 "experts.down_proj at byte ",
      "[8 x 16 x 4], expected [4 x 16 x 8] from the configuration (num_experts x hidden_size x "
      "moe_intermediate_size)"}},
    {"experts",
     "one matrix",
     EXPERTS_HELD("[4,16,16]", "[64,16]"),
     {"tensor " LAYER0 "experts.gate_up_proj at byte ", "[64 x 16], expected [4 x 16 x 16]"}},
    {"experts",
     "a router of others",
     EXPERTS_SAID("\"num_experts\":4", "\"num_experts\":3"),
     {"tensor " LAYER0 "router.proj.weight at byte ", "[4 x 16], expected [3 x 16]", "(num_experts x "}},
    {"experts",
     "too few scales",
     EXPERTS_HELD("\"shape\":[4],", "\"shape\":[2,2],"),
     {"tensor " LAYER0 "router.per_expert_scale at byte ", "has shape [2 x 2], expected [4]"}},
    {"experts",
     "no scale of the router",
     EXPERTS_HELD(LAYER0 "router.scale", LAYER0 "router.scaler"),
     {"1 tensor is missing: " LAYER0 "router.scale;"}},
    {"experts",
     "no gates",
     EXPERTS_HELD(LAYER0 "experts.gate_up_proj", LAYER0 "experts.gate_up_prof"),
     {"1 tensor is missing: " LAYER0 "experts.gate_up_proj;"}},
    {"experts",
     "a router that is not a number for one that no row takes",
     gemma4,
     &(const struct more){.scalar = 0x7fc0, .experts = true},
     4,
     {"E_NUMERIC", WHOLE ": tensor model.layers.1.router.proj.weight has NaN in row 3, column 15"},
     LOGITS},
};

#define INPUTS_SAID(text)                                                                                    \
    gemma4, &(const struct more)                                                                             \
    {                                                                                                        \
        .inputs = true, .damage = { {{"config.json", NO_INPUTS, text}} }                                     \
    }
#define INPUTS_HELD(from, to)                                                                                \
    gemma4,                                                                                                  \
        &(const struct more){.inputs = true,                                                                 \
                             .damage = {{{"config.json", NO_INPUTS, WITH_INPUTS}, {WHOLE, from, to}}}},      \
        4
#define TABLE "tensor model.embed_tokens_per_layer.weight at byte "

static const struct bad_case inputs[] = {
    {"inputs", "the base", INPUTS_SAID(WITH_INPUTS), 0, {NULL}, LOGITS},
    {"inputs",
     "a table of fewer rows than ids, as said",
     INPUTS_SAID("\"hidden_size_per_layer_input\":4,\"vocab_size_per_layer_input\":63"),
     4,
     {WHERE "vocab_size_per_layer_input at byte ", " is 63, expected at least vocab_size = 64"}},
    {"inputs",
     "a table of fewer rows than said",
     INPUTS_HELD("[64,8]", "[32,16]"),
     {TABLE, "has shape [32 x 16], expected [64 x 8]"}},
    {"inputs",
     "a table whose width is none of all layers",
     INPUTS_SAID("\"hidden_size_per_layer_input\":5,\"vocab_size_per_layer_input\":64"),
     4,
     {TABLE, "has shape [64 x 8], expected [64 x 10] from the configuration (vocab_size_per_layer_input x "
             "num_hidden_layers * hidden_size_per_layer_input)"}},
};

#define SHARED(n) CHANGED(NO_INPUTS, NO_INPUTS ",\"num_kv_shared_layers\":" n)

static const struct bad_case sharing[] = {
    {"sharing",
     "all layers",
     SHARED("2"),
     {WHERE "num_kv_shared_layers at byte ", " is 2, but layer 0 then finds no local layer before layer 0"}},
    {"sharing",
     "no global layer before",
     SHARED("1"),
     {WHERE "num_kv_shared_layers at byte ", " is 1, but layer 1 then finds no global layer before layer 1"}},
    {"sharing", "more than all", SHARED("3"), {WHERE "num_kv_shared_layers at byte ", " is 3, "}},
    {"sharing", "fewer than none", SHARED("-1"), {WHERE "num_kv_shared_layers at byte ", " is -1, expected"}},
};

static void sound_models(void **state)
{
    (void)state;
    BAD_RUN(sound);
}
static void bad_configs(void **state)
{
    (void)state;
    BAD_RUN(configs);
}
static void bad_tensors(void **state)
{
    (void)state;
    BAD_RUN(tensors);
}

static void bad_experts(void **state)
{
    (void)state;
    BAD_RUN(experts);
}

static void bad_inputs(void **state)
{
    (void)state;
    BAD_RUN(inputs);
}

static void bad_sharing(void **state)
{
    (void)state;
    BAD_RUN(sharing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sound_models), cmocka_unit_test(bad_configs),
                                       cmocka_unit_test(bad_tensors),  cmocka_unit_test(bad_experts),
                                       cmocka_unit_test(bad_inputs),   cmocka_unit_test(bad_sharing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

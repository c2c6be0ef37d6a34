/* SPDX-License-Identifier: Apache-2.0 */
/* test_bad_gemma4.c: rows of the list of bad inputs that Gemma 4 alone can have: what config.json says of
 * single layers, and tensors that other members lack. The base is a small random dense model whose second
 * layer is global and has one weight for K and V. What config.json of every member may say wrong is in
 * test_bad_config.c, members that do not run yet are in test_refused.c. */
#include "cli/model/bad_hf.h"

#define CONFIG4                                                                                              \
    "{\"model_type\":\"gemma4_text\",\"vocab_size\":64,\"hidden_size\":16,\"intermediate_size\":32,"         \
    "\"num_hidden_layers\":2,\"num_attention_heads\":2,\"num_key_value_heads\":1,\"head_dim\":8,"            \
    "\"global_head_dim\":16,\"num_global_key_value_heads\":1,\"attention_k_eq_v\":true,"                     \
    "\"hidden_size_per_layer_input\":0,\"sliding_window\":32,"                                               \
    "\"layer_types\":[\"sliding_attention\",\"full_attention\"],\"rope_parameters\":{\"full_attention\":"    \
    "{\"rope_type\":\"proportional\",\"partial_rotary_factor\":0.25}},\"bos_token_id\":2,"                   \
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

/* One more tensor, and one value of layer 1's layer_scalar. */
struct more {
    const char *entry; /* its name */
    int rows, cols;
    uint16_t scalar; /* as bf16; 0: it stays */
    int scales;      /* how many values layer_scalar has; 0: one */
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
    finish(p, d, "config.json", CONFIG4, strlen(CONFIG4), NULL);
    add(&parts, last.name, &last);
    add(&parts, embedding.name, &embedding);
    for (int i = 0; i < 2; i++)
        add_layer4(&parts, i, more && more->scales ? more->scales : 1);
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
     {WHERE "layer 0 has heads of 32 values, others of its kind have 16"}},
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
     1,
     {"E_NUMERIC", WHOLE ": tensor model.layers.1.layer_scalar has NaN in row 0, column 0"},
     LOGITS},
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sound_models), cmocka_unit_test(bad_configs),
                                       cmocka_unit_test(bad_tensors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

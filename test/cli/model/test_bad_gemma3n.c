/* SPDX-License-Identifier: Apache-2.0 */
/* test_bad_gemma3n.c: rows of the list of bad inputs that Gemma 3n alone can have: what config.json says of
 * streams, inputs of layers and sparse layers, and their tensors. The base is a small random model of four
 * layers, of which the last two share K and V. What others can have wrong too is in test_bad_config.c and
 * test_bad_gemma4.c. */
#include "cli/model/bad_hf.h"

enum { PLE_ROWS = 60, PLE = 4, RANK = 6, N_LAYER = 4 };

#define CONFIG3N                                                                                             \
    "{\"model_type\":\"gemma3n_text\",\"vocab_size\":64,\"vocab_size_per_layer_input\":60,"                  \
    "\"hidden_size\":16,\"intermediate_size\":[32,32,32,32],\"num_hidden_layers\":4,"                        \
    "\"num_attention_heads\":2,\"num_key_value_heads\":1,\"head_dim\":8,"                                    \
    "\"hidden_size_per_layer_input\":4,\"sliding_window\":32,\"laurel_rank\":6,"                             \
    "\"num_kv_shared_layers\":2,\"altup_num_inputs\":4,\"altup_active_idx\":0,"                              \
    "\"altup_correct_scale\":true,\"activation_sparsity_pattern\":[0.95,0.0,0.95,0],"                        \
    "\"layer_types\":[\"sliding_attention\",\"full_attention\",\"sliding_attention\",\"full_attention\"],"   \
    "\"bos_token_id\":2,\"eos_token_id\":1}"

static const struct tensor of_model[] = {
    {"norm.weight", 0, HIDDEN},
    {"embed_tokens.weight", 64, HIDDEN},
    {"embed_tokens_per_layer.weight", PLE_ROWS, N_LAYER *PLE},
    {"per_layer_model_projection.weight", N_LAYER *PLE, HIDDEN},
    {"per_layer_projection_norm.weight", 0, PLE},
    {"altup_projections.0.weight", HIDDEN, HIDDEN},
    {"altup_projections.1.weight", HIDDEN, HIDDEN},
    {"altup_projections.2.weight", HIDDEN, HIDDEN},
    {"altup_unembed_projections.0.weight", HIDDEN, HIDDEN},
    {"altup_unembed_projections.1.weight", HIDDEN, HIDDEN},
    {"altup_unembed_projections.2.weight", HIDDEN, HIDDEN},
};

static const struct tensor of_3n[] = {
    {"per_layer_input_gate.weight", PLE, HIDDEN},    {"per_layer_projection.weight", HIDDEN, PLE},
    {"post_per_layer_input_norm.weight", 0, HIDDEN}, {"altup.router_norm.weight", 0, HIDDEN},
    {"altup.modality_router.weight", 4, HIDDEN},     {"altup.prediction_coefs.weight", 16, 4},
    {"altup.correction_coefs.weight", 4, 4},         {"altup.correct_output_scale", 0, HIDDEN},
    {"laurel.linear_left.weight", RANK, HIDDEN},     {"laurel.linear_right.weight", HIDDEN, RANK},
    {"laurel.post_laurel_norm.weight", 0, HIDDEN},
};

static void gemma3n(struct bad_place *p, const void *with)
{
    const struct damage *d = with;
    struct parts parts = {{0}, {0}};
    char name[128];

    bad_model(p, "");
    finish(p, d, "config.json", CONFIG3N, strlen(CONFIG3N), NULL);
    for (size_t i = 0; i < CT_COUNT(of_model); i++) {
        snprintf(name, sizeof name, "model.%s", of_model[i].name);
        add(&parts, name, &of_model[i]);
    }
    for (int layer = 0; layer < N_LAYER; layer++) {
        add_layer(&parts, layer);
        for (size_t i = 0; i < CT_COUNT(of_3n); i++) {
            snprintf(name, sizeof name, "model.layers.%d.%s", layer, of_3n[i].name);
            add(&parts, name, &of_3n[i]);
        }
    }
    finish_parts(p, d, WHOLE, &parts);
}

#define WHERE "/config.json: "
#define WITH(...)                                                                                            \
    gemma3n, &(const struct damage)                                                                          \
    {                                                                                                        \
        {                                                                                                    \
            __VA_ARGS__                                                                                      \
        }                                                                                                    \
    }
#define CHANGED(from, to) WITH({"config.json", from, to}), 4
#define HEADER(from, to)  WITH({WHOLE, from, to}), 4
#define SHARES            "0.95,0.0,0.95,0]"
#define WIDTHS            "[32,32,32,32]"

static const struct bad_case sound[] = {
    {"C3n", "the base", gemma3n, NULL, 0, {NULL}, LOGITS},
    {"C3n",
     "as a model that also sees and hears",
     WITH({"config.json", "{", "{\"model_type\":\"gemma3n\",\"text_config\":{"},
          {"config.json", "\"eos_token_id\":1}", "\"eos_token_id\":1}}"}),
     0,
     {"only its text tower is used"},
     LOGITS},
    {"C3n", "one width for all layers", WITH({"config.json", WIDTHS, "32"}), 0, {NULL}, LOGITS},
    {"C3n",
     "no scale of what inputs are mixed with",
     WITH({"config.json", "scale\":true", "scale\":false"}),
     0,
     {"4 tensors in the file are no part of the model: model.layers.0.altup.correct_output_scale"},
     LOGITS},
};

static const struct bad_case configs[] = {
    {"C3n",
     "three streams",
     CHANGED("num_inputs\":4", "num_inputs\":3"),
     {WHERE "altup_num_inputs at byte ", " is 3, but carat runs models with 4 only"}},
    {"C3n",
     "no number of streams",
     CHANGED("num_inputs\":4", "num_inputs\":\"4\""),
     {WHERE "altup_num_inputs at byte ", " is \"4\", expected an integer from 0"}},
    {"C3n",
     "another stream to work on",
     CHANGED("active_idx\":0", "active_idx\":1"),
     {WHERE "altup_active_idx at byte ", " is 1, but carat runs models with 0 only"}},
    {"C3n",
     "not a flag",
     CHANGED("correct_scale\":true", "correct_scale\":1"),
     {WHERE "altup_correct_scale at byte ", " is 1, expected true or false"}},
    {"C3n",
     "shares of too few layers",
     CHANGED(SHARES, "0.95,0.0,0.95]"),
     {WHERE "activation_sparsity_pattern at byte ", "expected a list with num_hidden_layers = 4 entries"}},
    {"C3n",
     "shares of too many layers",
     CHANGED(SHARES, "0.95,0.0,0.95,0,0]"),
     {WHERE "activation_sparsity_pattern at byte ", "expected a list with num_hidden_layers = 4 entries"}},
    {"C3n",
     "one share",
     CHANGED("[" SHARES, "0.95"),
     {WHERE "activation_sparsity_pattern at byte ", " is 0.95, expected a list"}},
    {"C3n",
     "another share",
     CHANGED(SHARES, "0.95,0.0,0.5,0]"),
     {WHERE "activation_sparsity_pattern[2] at byte ", " is 0.5, but carat runs 0 and 0.95 only"}},
    {"C3n",
     "a share in words",
     CHANGED(SHARES, "0.95,\"0\",0.95,0]"),
     {WHERE "activation_sparsity_pattern[1] at byte ", " is \"0\", but carat runs 0 and 0.95 only"}},
    {"C3n",
     "widths of too few layers",
     CHANGED(WIDTHS, "[32,32,32]"),
     {WHERE "intermediate_size at byte ", "expected a list with num_hidden_layers = 4 entries"}},
    {"C3n",
     "a width of 0",
     CHANGED(WIDTHS, "[32,32,0,32]"),
     {WHERE "intermediate_size[2] at byte ", " is 0, expected an integer from 1 to 1048576"}},
    {"C3n",
     "another width than the tensors have",
     CHANGED(WIDTHS, "[32,48,32,32]"),
     {"tensor model.layers.1.mlp.gate_proj.weight", "[32 x 16], expected [48 x 16]", "intermediate_size"}},
    {"C3n",
     "a rank of 0",
     CHANGED("laurel_rank\":6", "laurel_rank\":0"),
     {WHERE "laurel_rank at byte ", " is 0, expected an integer from 1"}},
    {"C3n",
     "another rank than the tensors have",
     CHANGED("laurel_rank\":6", "laurel_rank\":8"),
     {"tensor model.layers.0.laurel.linear_left.weight", "[6 x 16], expected [8 x 16]", "laurel_rank"}},
    {"C3n",
     "no inputs of layers",
     CHANGED("size_per_layer_input\":4", "size_per_layer_input\":0"),
     {WHERE "hidden_size_per_layer_input at byte ", " is 0, but carat runs Gemma 3n with inputs of each"}},
    {"C3n",
     "nobody to share with",
     CHANGED("shared_layers\":2", "shared_layers\":3"),
     {WHERE "num_kv_shared_layers at byte ", "layer 1 then finds no global layer before layer 1"}},
};

static const struct bad_case tensors[] = {
    {"C3n",
     "a router of three streams",
     HEADER("layers.0.altup.modality_router.weight\":{\"dtype\":\"BF16\",\"shape\":[4,16]",
            "layers.0.altup.modality_router.weight\":{\"dtype\":\"BF16\",\"shape\":[8,8]"),
     {"tensor model.layers.0.altup.modality_router.weight", "[8 x 8], expected [4 x 16]",
      "altup_num_inputs"}},
    {"C3n",
     "coefficients that are transposed",
     HEADER("layers.3.altup.prediction_coefs.weight\":{\"dtype\":\"BF16\",\"shape\":[16,4]",
            "layers.3.altup.prediction_coefs.weight\":{\"dtype\":\"BF16\",\"shape\":[4,16]"),
     {"tensor model.layers.3.altup.prediction_coefs.weight", "[4 x 16], expected [16 x 4]"}},
    {"C3n",
     "a table of fewer rows than said",
     CHANGED("per_layer_input\":60", "per_layer_input\":61"),
     {"tensor model.embed_tokens_per_layer.weight", "[60 x 16], expected [61 x 16]"}},
    {"C3n",
     "no way back for a stream",
     HEADER("model.altup_unembed_projections.1.weight", "model.altup_unembed_projections.3.weight"),
     {"1 tensor is missing: model.altup_unembed_projections.1.weight;"}},
    {"C3n",
     "no second way",
     HEADER("model.layers.2.laurel.linear_left.weight", "model.layers.2.laurel.linear_last.weight"),
     {"1 tensor is missing: model.layers.2.laurel.linear_left.weight;"}},
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

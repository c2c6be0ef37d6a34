/* SPDX-License-Identifier: Apache-2.0 */
/* test_bad_config.c: the rows C1 and C2 of the list of bad inputs: config.json that is broken or contradicts
 * the weights, given to the command. Rows S are in test_bad_hf.c, the dialects of config.json in
 * test/model/test_config.c. */
#include "cli/model/bad_hf.h"

static const struct bad_case sound[] = {
    {"C1",
     "a key that nobody knows",
     whole,
     D({"config.json", "{", "{\"colour\":[1,{\"a\":null}],"}),
     0,
     {NULL},
     LOGITS},
};

static void config_of_spaces(struct bad_place *p, const void *with)
{
    struct buf b = {0};
    whole(p, with);
    repeat(&b, "                ", 1 << 20);
    bad_write(p, "config.json", b.p, b.n);
    buf_free(&b);
}
#define JSON(text) whole, D({"config.json", NULL, text}), 4
#define WHERE      "/config.json: "

static const struct bad_case configs[] = {
    {"C1", "missing", whole, D({"config.json", NULL, NULL}), 4, {"has weights but no config.json"}},
    {"C1", "empty", JSON(""), {WHERE, "at byte 0"}},
    {"C1", "a list", JSON("[]"), {WHERE, "expected a JSON object"}},
    {"C1", "cut short", IN("config.json", "\"eos_token_id\":1}", "\"eos_token_id\":1"), {WHERE, "at byte "}},
    {"C1", "not JSON", JSON("model_type: gemma3"), {WHERE, "at byte "}},
    {"C1", "more after it", IN("config.json", "1}", "1} {}"), {WHERE, "at byte "}},
    {"C1", "16 MB", config_of_spaces, NULL, 4, {"/config.json has 16777216 bytes; the limit is"}},
    {"C1", "nested 3000 deep", JSON("{\"a\":[[[[[[[[[["), {WHERE, "at byte "}},
    {"C1",
     "a key twice",
     IN("config.json", "{", "{\"hidden_size\":1,"),
     {WHERE, "at byte ", "duplicate key"}},
    {"C1", "no model_type", IN("config.json", "model_type", "type"), {WHERE "model_type is missing"}},
    {"C1",
     "a wrong type",
     SET("model_type", "\"gemma3_text\"", "3"),
     {WHERE "model_type at byte ", " is 3, expected a string"}},
    {"C1",
     "0 layers",
     SET("num_hidden_layers", "2", "0"),
     {WHERE "num_hidden_layers at byte ", " is 0, expected an integer from 1 to 256"}},
    {"C1",
     "1e9 layers",
     SET("num_hidden_layers", "2", "1000000000"),
     {"num_hidden_layers at byte ", " is 1000000000, expected"}},
    {"C1",
     "1e9 as a float",
     SET("num_hidden_layers", "2", "1e9"),
     {"num_hidden_layers at byte ", " is 1e9, expected an integer"}},
    {"C1",
     "negative",
     SET("hidden_size", "16", "-16"),
     {WHERE "hidden_size at byte ", " is -16, expected an integer"}},
    {"C1",
     "2^31",
     SET("vocab_size", "1024", "2147483648"),
     {WHERE "vocab_size at byte ", " is 2147483648, expected an integer from 1 to 16777216"}},
    {"C1",
     "2^64",
     SET("vocab_size", "1024", "18446744073709551616"),
     {WHERE "vocab_size at byte ", " is 18446744073709551616, exp"}},
    {"C1", "1e400", SET("rope_theta", "1000000.0", "1e400"), {WHERE, "at byte ", "beyond the range"}},
    {"C1", "NaN", SET("rms_norm_eps", "1e-06", "NaN"), {WHERE, "at byte ", "expected a value, found 'N'"}},
    {"C1",
     "a base of 0",
     SET("rope_theta", "1000000.0", "0"),
     {WHERE "rope_theta at byte ", " is 0, expected a number from 1.0001 to 1000000000000"}},
    {"C1",
     "a string",
     SET("head_dim", "8", "\"8\""),
     {WHERE "head_dim at byte ", " is \"8\", expected an integer"}},
    {"C1",
     "a list",
     SET("head_dim", "8", "[8]"),
     {WHERE "head_dim at byte ", " is [8], expected an integer"}},
    {"C1",
     "a fraction",
     SET("head_dim", "8", "8.5"),
     {WHERE "head_dim at byte ", " is 8.5, expected an integer"}},
    {"C1",
     "not a flag",
     SET("tie_word_embeddings", "true", "\"yes\""),
     {WHERE "tie_word_embeddings at byte ", " is \"yes\", expected true or false"}},
    {"C1", "odd heads", SET("num_attention_heads", "2", "3"), {"tensor", "q_proj", "num_attention_heads"}},
    {"C1",
     "scaling of a wrong type",
     IN("config.json", "{", "{\"rope_scaling\":3,"),
     {WHERE "rope_scaling at byte 16 is 3, expected an object"}},
    {"C1",
     "layers of no kind",
     IN("config.json", "{", "{\"layer_types\":[1,2],"),
     {WHERE "layer_types[0] at byte 16 is 1, exp"}},
    {"C1",
     "layers of one kind",
     IN("config.json", "{", "{\"layer_types\":7,"),
     {WHERE "layer_types at byte 15 is 7, expected a list with num_hidden_layers = 2 entries"}},
    {"C1",
     "linear scaling without a factor",
     IN("config.json", "{", "{\"rope_scaling\":{\"rope_type\":\"linear\"},"),
     {WHERE "rope_scaling.rope_type at byte 29 is \"linear\", which needs a factor beside it"}},
    {"C1",
     "the same as it was spelled before",
     IN("config.json", "{",
        "{\"rope_parameters\":{\"full_attention\":{\"type\":\"linear\",\"factor\":null}},"),
     {WHERE "rope_parameters.full_attention.factor at byte 63 is null, expected a number"}},
    {"C1",
     "scaling that carat has not",
     IN("config.json", "{", "{\"rope_parameters\":{\"full_attention\":{\"rope_type\":\"yarn\"}},"),
     {WHERE "rope_parameters.full_attention.rope_type at byte 50 is \"yarn\", but"}},
    {"C2",
     "vocab_size",
     SET("vocab_size", "1024", "1000"),
     {"embed_tokens.weight", "[1000 x 16]", "vocab_size"}},
    {"C2",
     "hidden_size",
     SET("hidden_size", "16", "32"),
     {"embed_tokens.weight", "[1024 x 32]", "hidden_size"}},
    {"C2",
     "intermediate_size",
     SET("intermediate_size", "32", "48"),
     {"tensor model.layers.0.mlp.gate_proj.weight", "[32 x 16], expected [48 x 16]", "intermediate_size"}},
    {"C2",
     "num_key_value_heads",
     SET("num_key_value_heads", "1", "2"),
     {"tensor model.layers.0.self_attn.k_proj.weight", "[8 x 16], expected [16 x 16]",
      "num_key_value_heads"}},
    {"C2", "head_dim", SET("head_dim", "8", "16"), {"self_attn.q_proj.weight", "[32 x 16]", "head_dim"}},
    {"C2",
     "too many layers",
     SET("num_hidden_layers", "2", "3"),
     {"13 tensors are missing: model.layers.2.input_layernorm.weight, ", "num_hidden_layers"}},
    {"C2",
     "too few layers",
     SET("num_hidden_layers", "2", "1"),
     {"tensor model.layers.1.input_layernorm.weight", "num_hidden_layers"}},
    {"C2",
     "a head",
     SET("tie_word_embeddings", "true", "false"),
     {"lm_head.weight is missing", "tie_word_em"}},
};

static void sound_configs(void **state)
{
    (void)state;
    BAD_RUN(sound);
}
static void bad_configs(void **state)
{
    (void)state;
    BAD_RUN(configs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sound_configs), cmocka_unit_test(bad_configs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

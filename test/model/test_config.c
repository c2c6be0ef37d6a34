/* SPDX-License-Identifier: Apache-2.0 */
/* test_config.c: config.json in its dialects, the defaults that released files rely on, refusals by name,
 * and the arithmetic of the KV cache. GGUF keys are covered with whole files in
 * test/engine/test_reference.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "model/kv_cache.h"

static carat_status read_config(struct ct_config *c, const char *json, carat_error *err)
{
    static const uint8_t weights[] = {2, 0, 0, 0, 0, 0, 0, 0, '{', '}'};
    const struct ct_part part[] = {
        {"config.json", {(const uint8_t *)json, strlen(json)}},
        {"model.safetensors", {weights, sizeof weights}},
    };
    struct ct_file *f = NULL;
    CT_TRY(ct_file_open_memory(&f, part, 2, err));
    carat_status status = ct_config_read(c, f, err);
    ct_file_close(f);
    return status;
}

static struct ct_config accept(const char *json)
{
    struct ct_config c;
    carat_error err;
    if (read_config(&c, json, &err))
        fail_msg("%s: %s", json, err.message);
    return c;
}

static void refuse(const char *json, carat_status status, const char *part)
{
    struct ct_config c;
    carat_error err;
    assert_int_equal(read_config(&c, json, &err), status);
    if (!strstr(err.message, part))
        fail_msg("\"%s\" does not name %s", err.message, part);
}

static void test_gemma1(void **unused)
{
    struct ct_config c = accept(
        "{\"model_type\":\"gemma\",\"hidden_act\":\"gelu\",\"num_hidden_layers\":18,\"hidden_size\":2048,"
        "\"intermediate_size\":16384,\"num_attention_heads\":8,\"num_key_value_heads\":1,\"head_dim\":256}");
    (void)unused;
    assert_string_equal(c.architecture, "gemma");
    assert_false(c.post_norms || c.qk_norms);
    assert_int_equal(c.n_vocab, 256000);
    assert_int_equal(c.max_context, 8192);
    assert_true(c.layer[17].attn_scale == 0.0625f && c.layer[17].attn_cap == 0 && c.logit_cap == 0);
    for (int i = 0; i < c.n_layer; i++)
        assert_int_equal(c.layer[i].attn_type, CT_GLOBAL);
    /* its class has no local layers, whatever is said */
    c = accept("{\"model_type\":\"gemma\",\"num_hidden_layers\":2,\"layer_types\":[\"full_attention\","
               "\"sliding_attention\"]}");
    assert_int_equal(c.layer[1].attn_type, CT_GLOBAL);
}

static void test_gemma2(void **unused)
{
    struct ct_config c =
        accept("{\"model_type\":\"gemma2\",\"query_pre_attn_scalar\":144,\"num_hidden_layers\":4}");
    (void)unused;
    assert_true(c.layer[0].attn_cap == 50 && c.logit_cap == 30);
    assert_true(c.layer[0].attn_scale == 1.0f / 12);
    assert_int_equal(c.attn[CT_LOCAL].window, 4096);
    assert_int_equal(c.layer[0].attn_type, CT_LOCAL);
    assert_int_equal(c.layer[1].attn_type, CT_GLOBAL);
    /* an explicit null switches a cap off */
    c = accept(
        "{\"model_type\":\"gemma2\",\"attn_logit_softcapping\":null,\"final_logit_softcapping\":null}");
    assert_true(c.layer[0].attn_cap == 0 && c.logit_cap == 0);
}

/* The released 4B config states little; the rest are the class defaults. */
static void test_gemma3_sparse(void **unused)
{
    struct ct_config c = accept(
        "{\"model_type\":\"gemma3\",\"image_token_index\":262144,\"text_config\":{\"hidden_size\":2560,"
        "\"intermediate_size\":10240,\"num_hidden_layers\":34,\"sliding_window\":1024,"
        "\"rope_scaling\":{\"factor\":8.0,\"rope_type\":\"linear\"}}}");
    (void)unused;
    assert_true(c.multimodal && c.qk_norms && c.post_norms && c.tied);
    assert_int_equal(c.n_vocab, 262208);
    assert_int_equal(c.n_text_vocab, 262144);
    assert_int_equal(c.max_context, 131072);
    assert_int_equal(c.layer[0].n_head, 8);
    assert_int_equal(c.layer[0].n_kv_head, 4);
    assert_int_equal(c.layer[0].head_dim, 256);
    for (int i = 0; i < c.n_layer; i++)
        assert_int_equal(c.layer[i].attn_type, (i + 1) % 6 ? CT_LOCAL : CT_GLOBAL);
    assert_true(c.attn[CT_GLOBAL].rope_base == 1e6 && c.attn[CT_GLOBAL].rope_factor == 8);
    assert_true(c.attn[CT_LOCAL].rope_base == 1e4 && c.attn[CT_LOCAL].rope_factor == 1);
}

static void test_gemma3_dialects(void **unused)
{
    struct ct_config old =
        accept("{\"model_type\":\"gemma3_text\",\"num_hidden_layers\":3,\"sliding_window_pattern\":3,"
               "\"rope_theta\":500000,\"rope_local_base_freq\":20000,\"sliding_window\":512}");
    struct ct_config now = accept(
        "{\"model_type\":\"gemma3_text\",\"num_hidden_layers\":3,\"_sliding_window_pattern\":6,"
        "\"layer_types\":[\"sliding_attention\",\"sliding_attention\",\"full_attention\"],"
        "\"rope_parameters\":{\"full_attention\":{\"rope_theta\":500000,\"rope_type\":\"default\"},"
        "\"sliding_attention\":{\"rope_theta\":20000,\"rope_type\":\"default\"}},\"sliding_window\":512}");
    (void)unused;
    assert_memory_equal(old.attn, now.attn, sizeof old.attn);
    assert_memory_equal(old.layer, now.layer, 3 * sizeof old.layer[0]);
    assert_int_equal(now.layer[2].attn_type, CT_GLOBAL);
}

#define GEMMA4(more) "{\"model_type\":\"gemma4_text\",\"hidden_size_per_layer_input\":0" more "}"

/* The released 31B config: global layers have heads of their own, and V is what K is before its norm. */
static void test_gemma4(void **unused)
{
    struct ct_config c = accept(
        "{\"model_type\":\"gemma4\",\"image_token_id\":258880,\"text_config\":{\"hidden_size\":5376,"
        "\"intermediate_size\":21504,\"num_hidden_layers\":60,\"num_attention_heads\":32,"
        "\"num_key_value_heads\":16,\"num_global_key_value_heads\":4,\"sliding_window\":1024,"
        "\"attention_k_eq_v\":true,\"hidden_size_per_layer_input\":0,\"final_logit_softcapping\":30.0}}");
    (void)unused;
    assert_string_equal(c.architecture, "gemma4");
    assert_true(c.multimodal && c.post_norms && c.qk_norms && c.v_norms && c.tied);
    assert_false(c.norm_plus_one || c.made_global);
    assert_int_equal(c.n_text_vocab, 0); /* what stands for pictures lies among the ids, and ends nothing */
    assert_true(c.logit_cap == 30);
    for (int i = 0; i < c.n_layer; i++) {
        const struct ct_layer_config *l = &c.layer[i];
        const bool global = (i + 1) % 6 == 0;
        assert_int_equal(l->attn_type, global ? CT_GLOBAL : CT_LOCAL);
        assert_int_equal(l->head_dim, global ? 512 : 256);
        assert_int_equal(l->n_kv_head, global ? 4 : 16);
        assert_true(l->v_is_k == global && l->attn_scale == 1 && l->attn_cap == 0);
    }
    assert_int_equal(c.attn[CT_GLOBAL].rotated, 64);
    assert_int_equal(c.attn[CT_LOCAL].rotated, 128);
    assert_true(c.attn[CT_GLOBAL].rope_base == 1e6 && c.attn[CT_LOCAL].rope_base == 1e4);
    c = accept(GEMMA4(",\"num_global_key_value_heads\":2")); /* which counts only where V is K */
    assert_true(c.layer[5].n_kv_head == 4 && c.layer[5].head_dim == 512 && !c.layer[5].v_is_k);
    c = accept(GEMMA4(",\"query_pre_attn_scalar\":256")); /* which the reference does not know here */
    assert_true(c.layer[0].attn_scale == 1);
}

/* What transformers saves again says the same layer by layer. */
static void test_gemma4_dialects(void **unused)
{
    struct ct_config old = accept(
        GEMMA4(",\"num_hidden_layers\":3,\"attention_k_eq_v\":true,\"global_head_dim\":32,\"head_dim\":16,"
               "\"num_global_key_value_heads\":2,\"layer_types\":[\"sliding_attention\",\"full_attention\","
               "\"sliding_attention\"]"));
    struct ct_config now =
        accept(GEMMA4(",\"num_hidden_layers\":3,\"attention_k_eq_v\":true,\"head_dim\":16,\"layer_types\":"
                      "[\"sliding_attention\",\"full_attention\",\"full_attention\"],\"per_layer_config\":"
                      "{\"1\":{\"head_dim\":32,\"num_key_value_heads\":2},\"2\":{\"head_dim\":32,\"num_key_"
                      "value_heads\":2}}"));
    (void)unused;
    assert_memory_equal(old.attn, now.attn, sizeof old.attn);
    assert_memory_equal(old.layer, now.layer, 3 * sizeof old.layer[0]);
    assert_int_equal(now.layer[2].head_dim, 32);
    assert_true(old.made_global && !now.made_global);
    assert_int_equal(old.layer[2].attn_type, CT_GLOBAL);
}

/* Heads of layers by what says them last, and tables of angles where there is something to turn. */
static void test_own_layers(void **unused)
{
    struct ct_config c = accept(GEMMA4(",\"num_hidden_layers\":2,\"global_head_dim\":32,\"head_dim\":16,"
                                       "\"layer_types\":[\"sliding_attention\",\"attention\"]"));
    (void)unused;
    assert_int_equal(c.layer[1].attn_type, CT_GLOBAL); /* by the older name, the last one */
    assert_int_equal(c.layer[1].head_dim, 32);
    assert_int_equal(c.layer[0].head_dim, 16);
    refuse(
        GEMMA4(",\"num_hidden_layers\":2,\"layer_types\":[\"full_attention\",\"full_attention\"],"
               "\"per_layer_config\":{\"0\":{\"num_key_value_heads\":2},\"1\":{\"num_key_value_heads\":1}}"),
        CARAT_E_UNSUPPORTED, "as layer 0 of its kind has");
    /* there is no local layer, so none needs a table */
    c = accept(GEMMA4(",\"num_hidden_layers\":1,\"layer_types\":[\"full_attention\"],\"rope_parameters\":"
                      "{\"full_attention\":{\"rope_type\":\"default\",\"rope_theta\":5e5}}"));
    assert_true(c.attn[CT_GLOBAL].rope_base == 5e5);
    /* an empty object takes no other one's place */
    c = accept("{\"model_type\":\"gemma2\",\"rope_scaling\":{},\"rope_parameters\":{\"rope_theta\":5e5}}");
    assert_true(c.attn[CT_GLOBAL].rope_base == 5e5 && c.attn[CT_LOCAL].rope_base == 5e5);
}

/* A share of the pairs turns; the others' number is cut to a whole one. */
static void test_gemma4_shares(void **unused)
{
    static const struct {
        const char *share;
        int rotated;
    } rows[] = {{"0", 0}, {"0.25", 64}, {"0.2519", 64}, {"1", 256}};
    (void)unused;
    for (size_t i = 0; i < CT_COUNT(rows); i++) {
        char json[256];
        snprintf(json, sizeof json,
                 GEMMA4(",\"rope_parameters\":{\"full_attention\":{\"rope_type\":\"proportional\","
                        "\"partial_rotary_factor\":%s,\"rope_theta\":1e6},\"sliding_attention\":"
                        "{\"rope_theta\":1e4}}"),
                 rows[i].share);
        struct ct_config c = accept(json);
        assert_int_equal(c.attn[CT_GLOBAL].rotated, rows[i].rotated);
        assert_int_equal(c.attn[CT_GLOBAL].head_dim, 512);
        assert_int_equal(c.attn[CT_LOCAL].rotated, 128);
    }
}

/* The released E2B config: lists of widths and of sparse layers, and ids beyond the table of inputs. */
static void test_gemma3n(void **unused)
{
    char json[4096], widths[512] = "8192", shares[512] = "0.95";
    for (int i = 1; i < 30; i++) {
        strcat(widths, ",8192");
        strcat(shares, i < 10 ? ",0.95" : ",0.0");
    }
    snprintf(json, sizeof json,
             "{\"model_type\":\"gemma3n\",\"text_config\":{\"num_hidden_layers\":30,"
             "\"intermediate_size\":[%s],\"activation_sparsity_pattern\":[%s],\"num_kv_shared_layers\":10,"
             "\"vocab_size\":262400,\"altup_coef_clip\":120.0,\"laurel_rank\":64}}",
             widths, shares);
    struct ct_config c = accept(json);
    (void)unused;
    assert_string_equal(c.architecture, "gemma3n");
    assert_true(c.multimodal && c.altup && c.altup_scales && c.v_norms && !c.out_scales && !c.norm_plus_one);
    assert_true(c.n_vocab == 262400 && c.n_text_vocab == 262144 && c.ple_rows == 262144 &&
                c.ple_width == 256);
    assert_true(c.hidden == 2048 && c.laurel_rank == 64 && c.logit_cap == 30 && !c.made_global);
    for (int i = 0; i < 30; i++) {
        const struct ct_layer_config *l = &c.layer[i];
        const bool global = (i + 1) % 5 == 0;
        assert_true(l->ffn == 8192 && l->head_dim == 256 && l->n_head == 8 && l->n_kv_head == 2);
        assert_true(l->attn_scale == 1 && l->attn_type == (global ? CT_GLOBAL : CT_LOCAL));
        assert_true(l->cutoff == (i < 10 ? 1.6448536f : 0));
        assert_int_equal(l->kv_layer, i < 20 ? i : global ? 19 : 18);
    }
    assert_true(c.attn[CT_GLOBAL].rotated == 128 && c.attn[CT_LOCAL].rotated == 128);
    assert_true(c.attn[CT_GLOBAL].rope_base == 1e6 && c.attn[CT_LOCAL].rope_base == 1e4);

    /* what is left out is what the class says: E4B */
    struct ct_config bare = accept("{\"model_type\":\"gemma3n_text\",\"altup_correct_scale\":false}");
    assert_true(bare.n_layer == 35 && bare.layer[34].ffn == 16384 && bare.layer[34].kv_layer == 19);
    assert_true(bare.layer[9].cutoff > 0 && bare.layer[10].cutoff == 0 && !bare.altup_scales);
    struct ct_config few = accept("{\"model_type\":\"gemma3n_text\",\"num_hidden_layers\":10,"
                                  "\"num_kv_shared_layers\":0,\"vocab_size\":1000}");
    assert_true(few.layer[0].cutoff == 0 && few.n_text_vocab == 1000);
}

static void test_refusals(void **unused)
{
    (void)unused;
    refuse("{\"model_type\":\"gemma4\"}", CARAT_E_FORMAT, "text_config is missing");
    refuse("{\"model_type\":\"gemma4_unified_assistant\"}", CARAT_E_FORMAT, "text_config is missing");
    refuse("{}", CARAT_E_FORMAT, "model_type");
    refuse("[1]", CARAT_E_FORMAT, "JSON object");
    refuse("{\"model_type\":\"gemma\",", CARAT_E_FORMAT, "config.json");
    refuse("{\"model_type\":\"gemma3\"}", CARAT_E_FORMAT, "text_config");
    refuse("{\"model_type\":\"gemma\",\"hidden_size\":-5}", CARAT_E_FORMAT, "hidden_size");
    refuse("{\"model_type\":\"gemma\",\"hidden_size\":1e30}", CARAT_E_FORMAT, "hidden_size");
    refuse("{\"model_type\":\"gemma\",\"num_hidden_layers\":\"3\"}", CARAT_E_FORMAT, "num_hidden_layers");
    refuse("{\"model_type\":\"gemma\",\"num_hidden_layers\":100000}", CARAT_E_FORMAT, "num_hidden_layers");
    refuse("{\"model_type\":\"gemma\",\"num_attention_heads\":16,\"num_key_value_heads\":3}", CARAT_E_FORMAT,
           "heads");
    refuse("{\"model_type\":\"gemma\",\"head_dim\":33}", CARAT_E_UNSUPPORTED, "head_dim");
    refuse("{\"model_type\":\"gemma\",\"quantization_config\":{}}", CARAT_E_UNSUPPORTED,
           "quantization_config");
    refuse("{\"model_type\":\"gemma2\",\"hidden_activation\":\"silu\"}", CARAT_E_UNSUPPORTED, "silu");
    refuse("{\"model_type\":\"gemma2\",\"use_bidirectional_attention\":true}", CARAT_E_UNSUPPORTED,
           "embedding");
    refuse("{\"model_type\":\"gemma3_text\",\"layer_types\":[\"full_attention\"]}", CARAT_E_FORMAT,
           "layer_types");
    refuse("{\"model_type\":\"gemma3_text\",\"num_hidden_layers\":1,\"layer_types\":[\"odd\"]}",
           CARAT_E_FORMAT, "odd");
    refuse("{\"model_type\":\"gemma3_text\",\"rope_scaling\":{\"rope_type\":\"yarn\"}}", CARAT_E_UNSUPPORTED,
           "yarn");
}

/* Every key that is read, with every kind of value that it cannot have: the key is named. */
static void test_wrong_values(void **unused)
{
    static const struct {
        const char *key,
            *good; /* a value of the right type; kinds of values below are matched by its first byte */
    } keys[] = {{"vocab_size", "1"},
                {"hidden_size", "1"},
                {"num_hidden_layers", "1"},
                {"max_position_embeddings", "1"},
                {"intermediate_size", "1"},
                {"num_attention_heads", "1"},
                {"num_key_value_heads", "1"},
                {"head_dim", "1"},
                {"sliding_window", "1"},
                {"sliding_window_pattern", "1"},
                {"rms_norm_eps", "0.1"},
                {"final_logit_softcapping", "0.1"},
                {"query_pre_attn_scalar", "1"},
                {"rope_theta", "0.1"},
                {"rope_local_base_freq", "0.1"},
                {"tie_word_embeddings", "t"},
                {"attention_bias", "t"},
                {"hidden_activation", "\""},
                {"rope_scaling", "{"},
                {"rope_parameters", "{"},
                {"layer_types", "["}};
    static const char *const values[] = {"-1",   "1e300", "99999999999", "-1e-300",   "0.5",
                                         "true", "\"x\"", "[1, 2]",      "{\"a\": 1}"};
    (void)unused;
    for (size_t k = 0; k < CT_COUNT(keys); k++)
        for (size_t v = 0; v < CT_COUNT(values); v++) {
            bool number = strchr("-019", values[v][0]) != NULL,
                 wants_number = strchr("01", keys[k].good[0]) != NULL;
            bool integer = strcmp(keys[k].good, "1") == 0;
            if ((!wants_number &&
                 keys[k].good[0] == values[v][0]) || /* of its type, so judged by its value */
                (wants_number && number && !integer))
                continue;
            char json[256];
            snprintf(json, sizeof json, "{\"model_type\":\"gemma3_text\",\"%s\":%s}", keys[k].key, values[v]);
            struct ct_config c;
            carat_error err;
            carat_status status = read_config(&c, json, &err);
            if (status != CARAT_E_FORMAT || !strstr(err.message, keys[k].key))
                fail_msg("%s: status %d, %s", json, status, status ? err.message : "accepted");
        }
    refuse("{\"model_type\":\"gemma3_text\",\"rope_theta\":-1}", CARAT_E_FORMAT,
           "rope_theta at byte 41 is -1, expected a number from 1.0001 to 1000000000000");
    refuse("{\"model_type\":\"gemma3_text\",\"rms_norm_eps\":2}", CARAT_E_FORMAT,
           "rms_norm_eps at byte 43 is 2, exp");
    refuse("{\"model_type\":\"gemma3_text\",\"rope_parameters\":{\"full_attention\":[]}}", CARAT_E_FORMAT,
           "rope_parameters.full_attention at byte 64 is [], expected an object");
    refuse("{\"model_type\":\"gemma3_text\",\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":0}}",
           CARAT_E_FORMAT, "rope_scaling.factor at byte 74 is 0, expected a number from 0.001 to 100000");
    refuse("{\"model_type\":\"gemma3\",\"text_config\":[]}", CARAT_E_FORMAT,
           "text_config at byte 37 is [], expected an object");
    refuse("{\"model_type\":[]}", CARAT_E_FORMAT, "model_type at byte 14 is [], expected a string");
}

static void test_every_prefix(void **unused)
{
    static const char whole[] =
        "{\"model_type\":\"gemma3\",\"image_token_index\":262144,\"text_config\":{\"hidden_size\":2560,"
        "\"layer_types\":null,\"rope_scaling\":{\"factor\":8.0,\"rope_type\":\"linear\"}}}";
    char text[sizeof whole];
    (void)unused;
    accept(whole);
    for (size_t n = 0; n + 1 < sizeof whole; n++) {
        memcpy(text, whole, n);
        text[n] = 0;
        refuse(text, CARAT_E_FORMAT, "config.json");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gemma1),        cmocka_unit_test(test_gemma2),
        cmocka_unit_test(test_gemma3_sparse), cmocka_unit_test(test_gemma3_dialects),
        cmocka_unit_test(test_gemma4),        cmocka_unit_test(test_gemma4_dialects),
        cmocka_unit_test(test_gemma4_shares), cmocka_unit_test(test_gemma3n),
        cmocka_unit_test(test_own_layers),    cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_wrong_values),  cmocka_unit_test(test_every_prefix),
    };
    return cmocka_run_group_tests_name("model: config", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_config_keys.c: every key that a class of transformers declares (test/data/config_keys.json) has the
 * default of that class here, and does something: another value of it makes another model, or is refused, or
 * is told as one that does not count, or is listed as one that says nothing about numbers. */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/config_keys.h"

static json_t *classes, *dropped;

static int load(void **unused)
{
    json_t *all = json_load_file(CT_TEST_DATA "/config_keys.json", 0, NULL);
    (void)unused;
    classes = json_incref(json_object_get(all, "classes"));
    dropped = json_incref(json_object_get(all, "dropped"));
    json_decref(all);
    return classes && dropped ? 0 : -1;
}

static int unload(void **unused)
{
    (void)unused;
    json_decref(classes);
    json_decref(dropped);
    return 0;
}

static enum ct_hf_class class_named(const char *name)
{
    int i = 0;
    while (i < CT_HF_CLASSES && strcmp(ct_hf_class_name((enum ct_hf_class)i), name) != 0)
        i++;
    return (enum ct_hf_class)i;
}

static bool is_text(enum ct_hf_class class)
{
    return (int)class < (int)CT_HF_TEXT_CLASSES;
}

static void test_defaults(void **unused)
{
    const char *name, *key;
    json_t *each, *row;
    (void)unused;
    assert_int_equal(json_object_size(classes), CT_HF_CLASSES);
    json_object_foreach(classes, name, each)
    {
        const enum ct_hf_class class = class_named(name);
        assert_true(class < CT_HF_CLASSES);
        json_object_foreach(json_object_get(each, "keys"), key, row)
        {
            const struct ct_str k = ct_str_of(key);
            char *expected = json_dumps(json_object_get(row, "default"), JSON_ENCODE_ANY);
            const char *standard = ct_hf_standard(class, k);
            json_t *got = standard ? json_loads(standard, JSON_DECODE_ANY, NULL) : NULL;
            if (!json_equal(got, json_object_get(row, "default")))
                fail_msg("%s: %s is %s, expected %s", name, key, standard ? standard : "nothing", expected);
            if (ct_hf_takes_null(class, k) != (bool)json_is_true(json_object_get(row, "null")))
                fail_msg("%s: whether %s may be null", name, key);
            free(expected);
            json_decref(got);
        }
        /* and no other */
        const char *other;
        json_t *of_other;
        json_object_foreach(classes, other, of_other)
        {
            json_object_foreach(json_object_get(of_other, "keys"), key, row)
            {
                if (!json_object_get(json_object_get(each, "keys"), key) &&
                    ct_hf_standard(class, ct_str_of(key)))
                    fail_msg("%s has no key %s", name, key);
            }
        }
    }
    size_t i;
    json_array_foreach(dropped, i, row)
    {
        assert_true(ct_hf_no_effect(ct_str_of(json_string_value(row))));
    }
}

struct asked {
    const char *key;
    bool told, known;
};

static int hear(void *user, const char *key, const char *class_name, bool known)
{
    struct asked *a = user;
    const size_t n = strlen(key), m = strlen(a->key);
    if (n >= m && strcmp(key + n - m, a->key) == 0) {
        assert_true(*class_name);
        a->told = true;
        a->known = known;
    }
    return 0;
}

static carat_status read_config(struct ct_config *c, const json_t *config, struct asked *a)
{
    static const uint8_t weights[] = {2, 0, 0, 0, 0, 0, 0, 0, '{', '}'};
    char *text = json_dumps(config, 0);
    const struct ct_part part[] = {
        {"config.json", {(const uint8_t *)text, strlen(text)}},
        {"model.safetensors", {weights, sizeof weights}},
    };
    struct ct_file *f = NULL;
    carat_error err;
    memset(c, 0, sizeof *c);
    assert_int_equal(ct_file_open_memory(&f, part, 2, &err), CARAT_OK);
    carat_status status = ct_config_read(c, f, &err);
    if (!status)
        assert_int_equal(ct_config_unread(f, hear, a, &err), CARAT_OK);
    ct_file_close(f);
    free(text);
    return status;
}

/* What a key needs beside it to say something. */
static json_t *beside(const char *key)
{
    static const struct {
        const char *key, *value;
    } rows[] = {
#define EXPERTS                                                                                              \
    "{\"enable_moe_block\":true,\"num_experts\":4,\"top_k_experts\":2,\"moe_intermediate_size\":8}"
        {"use_double_wide_mlp", "{\"num_kv_shared_layers\":2}"},
        {"enable_moe_block", EXPERTS},
        {"num_experts", EXPERTS},
        {"top_k_experts", EXPERTS},
        {"moe_intermediate_size", EXPERTS},
        {"num_centroids", "{\"use_ordered_embeddings\":true}"},
        {"centroid_intermediate_top_k", "{\"use_ordered_embeddings\":true}"},
    };
    for (size_t i = 0; i < CT_COUNT(rows); i++)
        if (strcmp(key, rows[i].key) == 0)
            return json_loads(rows[i].value, 0, NULL);
    return json_object();
}

/* A model of the class that says nothing more. */
static json_t *config_of(enum ct_hf_class class, const char *model_type)
{
    json_t *config = json_pack("{s:s}", "model_type", model_type), *text = json_object();
    if (!is_text(class)) {
        if (class == CT_HF_ASSISTANT)
            json_object_set_new(text, "hidden_size_per_layer_input", json_integer(0));
        json_object_set(config, "text_config", text);
    }
    json_decref(text);
    return config;
}

/* A value that the class takes and that is not its default. */
static json_t *another_value(const char *key, const json_t *standard)
{
    static const struct {
        const char *key, *value;
    } samples[] = {
        {"rope_parameters", "{\"full_attention\":{\"rope_type\":\"default\",\"rope_theta\":3e5},"
                            "\"sliding_attention\":{\"rope_type\":\"default\",\"rope_theta\":3e4},"
                            "\"rope_theta\":3e5,\"rope_type\":\"default\"}"},
        {"layer_types", "[\"full_attention\"]"},
        {"max_position_embeddings", "100"},
        {"final_logit_softcapping", "5.0"},
        {"attn_logit_softcapping", "5.0"},
        {"use_bidirectional_attention", "true"},
        {"activation_sparsity_pattern", "[0.0]"},
        {"text_config", "{\"hidden_size\":64,\"hidden_size_per_layer_input\":0}"},
        {"vision_config", "{\"hidden_size\":64}"},
        {"audio_config", "{\"hidden_size\":64}"},
        {"architectures", "[\"Gemma4AssistantForCausalLM\"]"},
    };
    for (size_t i = 0; i < CT_COUNT(samples); i++)
        if (strcmp(key, samples[i].key) == 0)
            return json_loads(samples[i].value, JSON_DECODE_ANY, NULL);
    if (json_is_boolean(standard))
        return json_boolean(!json_is_true(standard));
    if (json_is_integer(standard))
        return json_integer(json_integer_value(standard) ? 2 * json_integer_value(standard) : 2);
    if (json_is_real(standard))
        return json_real(2 * json_real_value(standard) + 0.001);
    return json_is_string(standard) ? json_string("another") : json_integer(3);
}

static void test_every_key(void **unused)
{
    static struct ct_config plain, other;
    const char *name, *key;
    json_t *each, *row;
    int n_read = 0, n_told = 0;
    (void)unused;
    json_object_foreach(classes, name, each)
    {
        const enum ct_hf_class class = class_named(name);
        const char *type = json_string_value(json_object_get(each, "model_type"));
        json_object_foreach(json_object_get(each, "keys"), key, row)
        {
            struct asked a = {key, false, false};
            json_t *config = config_of(class, type), *needs = beside(key);
            json_object_update(config, needs);
            const json_t *given = json_object_get(config, key);
            json_t *value = another_value(key, given ? given : json_object_get(row, "default")),
                   *changed = config_of(class, type);
            json_object_update(changed, needs);
            json_object_set(changed, key, value);
            json_decref(needs);
            assert_int_equal(read_config(&plain, config, &a), CARAT_OK);
            const carat_status status = read_config(&other, changed, &a);
            /* which class it is counts where it is not a drafter's, whose model_type says all */
            const bool drafter = (int)class >= (int)CT_HF_ASSISTANT && strcmp(key, "architectures") == 0;
            const bool read = drafter || status != CARAT_OK || memcmp(&plain, &other, sizeof plain) != 0,
                       nothing = ct_hf_no_effect(ct_str_of(key));
            if (read + a.told + nothing != 1)
                fail_msg("%s: %s is read %d, told %d, without effect %d", name, key, read, a.told, nothing);
            assert_true(a.known || !a.told);
            n_read += read;
            n_told += a.told;
            json_decref(config);
            json_decref(changed);
            json_decref(value);
        }
    }
    print_message("%d keys are read, %d told\n", n_read, n_told);
    assert_true(n_read > 150 && n_told > 0);
}

/* What each class says by itself is what it says in words. */
static void test_all_defaults(void **unused)
{
    static struct ct_config plain, said;
    const char *name, *key;
    json_t *each, *row;
    (void)unused;
    json_object_foreach(classes, name, each)
    {
        const enum ct_hf_class class = class_named(name);
        const char *type = json_string_value(json_object_get(each, "model_type"));
        struct asked a = {"", false, false};
        json_t *config = config_of(class, type);
        assert_int_equal(read_config(&plain, config, &a), CARAT_OK);
        assert_false(a.told);
        json_object_foreach(json_object_get(each, "keys"), key, row)
        {
            if (strcmp(key, "text_config") != 0)
                json_object_set(config, key, json_object_get(row, "default"));
        }
        if (read_config(&said, config, &a) || memcmp(&plain, &said, sizeof plain) != 0)
            fail_msg("%s: its defaults make another model", name);
        assert_false(a.told);
        json_decref(config);
    }
}

/* A key of a release to come, at each level; and those that count in other classes, or elsewhere. */
static void test_told(void **unused)
{
    static const struct {
        const char *config, *key;
        bool known;
    } rows[] = {
        {"{\"model_type\":\"gemma2\",\"new_key\":1}", "new_key", false},
        {"{\"model_type\":\"gemma3\",\"text_config\":{\"new_key\":{\"a\":1}}}", "text_config.new_key", false},
        {"{\"model_type\":\"gemma3\",\"new_key\":[],\"text_config\":{}}", "new_key", false},
        {"{\"model_type\":\"gemma2\",\"sliding_window_pattern\":3}", "sliding_window_pattern", true},
        {"{\"model_type\":\"gemma4_text\",\"rope_theta\":5e5}", "rope_theta", true},
        {"{\"model_type\":\"gemma4_text\",\"per_layer_config\":{},\"global_head_dim\":64}", "global_head_dim",
         true},
        {"{\"model_type\":\"gemma3_text\",\"attn_logit_softcapping\":50.0}", "attn_logit_softcapping", true},
        {"{\"model_type\":\"gemma3\",\"text_config\":{\"final_logit_softcapping\":30.0}}",
         "text_config.final_logit_softcapping", true},
        {"{\"model_type\":\"gemma3_text\",\"rope_parameters\":{\"rope_theta\":5e5}}",
         "rope_parameters.rope_theta", true},
        {"{\"model_type\":\"gemma3_text\",\"rope_scaling\":{\"type\":\"linear\",\"factor\":8.0}}",
         "rope_scaling.type", true},
        {"{\"model_type\":\"gemma\",\"rope_parameters\":{\"rope_theta\":5e5},\"rope_scaling\":{\"rope_type\":"
         "\"linear\",\"factor\":8.0}}",
         "rope_parameters", true},
        {"{\"model_type\":\"gemma3_text\",\"rope_parameters\":{\"full_attention\":{\"factor\":8.0}}}",
         "rope_parameters.full_attention.factor", true},
        {"{\"model_type\":\"gemma\",\"final_logit_softcapping\":30.0}", "final_logit_softcapping", true},
        {"{\"model_type\":\"gemma\",\"hidden_activation\":\"silu\"}", "hidden_activation", true},
        {"{\"model_type\":\"gemma3\",\"text_config\":{},\"sliding_window\":64}", "sliding_window", true},
    };
    static struct ct_config c;
    (void)unused;
    for (size_t i = 0; i < CT_COUNT(rows); i++) {
        struct asked a = {rows[i].key, false, false};
        json_t *config = json_loads(rows[i].config, 0, NULL);
        assert_int_equal(read_config(&c, config, &a), CARAT_OK);
        if (!a.told || a.known != rows[i].known)
            fail_msg("%s: %s", rows[i].config, a.told ? "said of another kind" : "nothing is told");
        json_decref(config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_every_key),
        cmocka_unit_test(test_all_defaults),
        cmocka_unit_test(test_told),
    };
    return cmocka_run_group_tests_name("model: keys of config.json", tests, load, unload);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_config_embed.c: what embedders say of themselves: windows in their spellings, ways of pooling,
 * matrices behind the mean; and what carat refuses of that by file, object, found and expected. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "model/config.h"

#define EMBED1                                                                                               \
    "{\"model_type\":\"gemma3_text\",\"use_bidirectional_attention\":true,\"hidden_size\":4,"                \
    "\"num_hidden_layers\":6,\"sliding_window\":513}"
#define CLASS(path, name) "{\"path\":\"" path "\",\"type\":\"sentence_transformers.models." name "\"}"
#define MEAN              "{\"word_embedding_dimension\":4,\"pooling_mode_mean_tokens\":true"
#define MATRIX(in, out)   "{\"in_features\":" in ",\"out_features\":" out
#define PLAIN             ",\"bias\":false,\"activation_function\":\"torch.nn.modules.linear.Identity\"}"

struct texts {
    const char *config, *modules, *pooling, *first, *second;
};
static const struct texts sound = {
    EMBED1,
    "[" CLASS("", "Transformer") "," CLASS("1_Pooling", "Pooling") "," CLASS("2_Dense", "Dense") "," CLASS(
        "3_Dense", "Dense") "," CLASS("4_Normalize", "Normalize") "]",
    MEAN "}", MATRIX("4", "8") PLAIN, MATRIX("8", "6") PLAIN};

static carat_status read_embedder(struct ct_config *c, const struct texts *t, carat_error *err)
{
    static const uint8_t weights[] = {2, 0, 0, 0, 0, 0, 0, 0, '{', '}'};
    const char *const text[] = {t->config, t->pooling, t->first, t->second, t->modules};
    static const char *const name[] = {"config.json", "1_Pooling/config.json", "2_Dense/config.json",
                                       "3_Dense/config.json", "modules.json"};
    struct ct_part part[8] = {{"model.safetensors", {weights, sizeof weights}},
                              {"2_Dense/model.safetensors", {weights, sizeof weights}},
                              {"3_Dense/model.safetensors", {weights, sizeof weights}}};
    struct ct_file *f = NULL;
    int n = 3;

    for (size_t i = 0; i < CT_COUNT(text); i++)
        if (text[i])
            part[n++] = (struct ct_part){name[i], {(const uint8_t *)text[i], strlen(text[i])}};
    CT_TRY(ct_file_open_memory(&f, part, n, err));
    carat_status status = ct_config_read(c, f, err);
    ct_file_close(f);
    return status;
}

static struct ct_config accept(const struct texts *t)
{
    struct ct_config c;
    carat_error err;

    if (read_embedder(&c, t, &err))
        fail_msg("%s", err.message);
    return c;
}

static void matrices_follow_the_mean(void **state)
{
    struct texts t = sound;
    struct ct_config c = accept(&t);

    (void)state;
    assert_string_equal(c.architecture, "gemma-embedding");
    assert_true(c.embeds && c.n_dense == 2 && c.dense[0] == 8 && c.dense[1] == 6 && !c.vector_inside);
    assert_int_equal(c.attn[CT_LOCAL].window, 257); /* 256 keys before, and the row's own */
    assert_int_equal(c.max_context, 2048);
    t.modules = NULL; /* the body alone gives the raw mean */
    assert_int_equal(accept(&t).n_dense, 0);
    t = sound;
    t.pooling = "{\"embedding_dimension\":4,\"pooling_mode\":\"mean\"}"; /* a later spelling */
    assert_int_equal(accept(&t).n_dense, 2);
    t.modules = "[" CLASS("", "Transformer") "," CLASS("1_Pooling", "Pooling") "," CLASS("", "Normalize") "]";
    assert_int_equal(accept(&t).n_dense, 0);
}

#define EMBED2(more) "{\"model_type\":\"embedding_gemma2\",\"text_config\":{\"sliding_window\":512" more "}}"

static void windows_have_two_spellings(void **state)
{
    struct texts t = {EMBED2(""), NULL, NULL, NULL, NULL};
    struct ct_config c = accept(&t);

    (void)state;
    assert_string_equal(c.architecture, "gemma-embedding2");
    assert_true(c.embeds && c.vector_inside && c.n_dense == 1 && c.dense[0] == 768);
    assert_int_equal(c.attn[CT_LOCAL].window, 513);
    assert_true(c.ple_width == 512 && c.ple_rows == 0 && c.max_context == 8192);
    assert_true(c.layer[5].head_dim == 512 && c.layer[5].n_kv_head == 1 && !c.layer[5].v_is_k);
    assert_true(c.layer[4].head_dim == 256 && c.layer[4].n_kv_head == 2);
    assert_true(c.attn[CT_GLOBAL].rotated == 256 && c.attn[CT_LOCAL].rotated == 128);
    t.config = EMBED2(",\"attention_k_eq_v\":true"); /* which this class does not know */
    c = accept(&t);
    assert_true(c.layer[5].n_kv_head == 1 && !c.layer[5].v_is_k);
    t.config = EMBED2(",\"use_bidirectional_attention\":\"all\",\"embedding_dim\":64");
    c = accept(&t);
    assert_int_equal(c.attn[CT_LOCAL].window, 257);
    assert_int_equal(c.dense[0], 64);
}

static void other_ways_are_refused(void **state)
{
    static const struct {
        struct texts t; /* NULL: as in `sound` */
        carat_status status;
        const char *message;
    } rows[] = {
        {{.pooling = "{\"word_embedding_dimension\":4,\"pooling_mode_cls_token\":true}"},
         CARAT_E_UNSUPPORTED,
         "1_Pooling/config.json: pooling_mode_mean_tokens: but carat pools by the mean"},
        {{.pooling = MEAN ",\"pooling_mode_max_tokens\":true}"},
         CARAT_E_UNSUPPORTED,
         "but carat pools by the mean of all tokens only"},
        {{.pooling = "{\"embedding_dimension\":4,\"pooling_mode\":\"lasttoken\"}"},
         CARAT_E_UNSUPPORTED,
         "pooling_mode at byte 40 is \"lasttoken\", but carat pools"},
        {{.pooling =
              "{\"word_embedding_dimension\":4,\"pooling_mode_mean_tokens\":true,\"include_prompt\":false}"},
         CARAT_E_UNSUPPORTED,
         "include_prompt"},
        {{.pooling = "{\"word_embedding_dimension\":5,\"pooling_mode_mean_tokens\":true}"},
         CARAT_E_FORMAT,
         "word_embedding_dimension at byte 28 is 5, expected 4"},
        {{.first = MATRIX("4", "8") ",\"bias\":true}"},
         CARAT_E_UNSUPPORTED,
         "2_Dense/config.json: bias at byte 41 is true, but carat runs dense modules without a bias"},
        {{.first = MATRIX("4", "8") "}"}, CARAT_E_UNSUPPORTED, "bias"},
        {{.second = MATRIX(
              "8", "6") ",\"bias\":false,\"activation_function\":\"torch.nn.modules.activation.Tanh\"}"},
         CARAT_E_UNSUPPORTED,
         "3_Dense/config.json: activation_function at byte"},
        {{.second = MATRIX("9", "6") PLAIN}, CARAT_E_FORMAT, "in_features at byte 15 is 9, expected 8"},
        {{.first = MATRIX("4", "0") PLAIN}, CARAT_E_FORMAT, "out_features at byte 32 is 0"},
        {{.first = MATRIX("4", "1e9") PLAIN}, CARAT_E_FORMAT, "out_features"},
        {{.modules = "[" CLASS("", "Transformer") "," CLASS("1_Pooling", "Pooling") "]"},
         CARAT_E_UNSUPPORTED,
         "modules.json: there is no module Pooling, or no Normalize at the end"},
        {{.modules = "[" CLASS("0_Other", "Transformer") "," CLASS("1_Pooling", "Pooling") "," CLASS(
              "2_Normalize", "Normalize") "]"},
         CARAT_E_UNSUPPORTED,
         "modules.json: [0].path at byte 9 is \"0_Other\", expected \"\": the model beside modules.json"},
        {{.modules = "[" CLASS("", "Transformer") "," CLASS("../x", "Pooling") "]"},
         CARAT_E_FORMAT,
         "[1].path"},
        {{.config = EMBED2(",\"hidden_size\":4")},
         CARAT_E_UNSUPPORTED,
         "2_Dense/config.json: a dense module, expected none"},
    };

    (void)state;
    for (size_t i = 0; i < CT_COUNT(rows); i++) {
        struct texts t = rows[i].t;
        struct ct_config c;
        carat_error err = {CARAT_OK, ""};
        t.config = t.config ? t.config : sound.config;
        t.modules = t.modules ? t.modules : sound.modules;
        t.pooling = t.pooling ? t.pooling : sound.pooling;
        t.first = t.first ? t.first : sound.first;
        t.second = t.second ? t.second : sound.second;
        assert_int_equal(read_embedder(&c, &t, &err), rows[i].status);
        if (!strstr(err.message, rows[i].message))
            fail_msg("'%s' does not say '%s'", err.message, rows[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrices_follow_the_mean),
        cmocka_unit_test(windows_have_two_spellings),
        cmocka_unit_test(other_ways_are_refused),
    };
    return cmocka_run_group_tests_name("model: embedders' configurations", tests, NULL, NULL);
}

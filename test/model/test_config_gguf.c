/* SPDX-License-Identifier: Apache-2.0 */
/* test_config_gguf.c: the facts that GGUF does not store and the configuration derives: the query scale,
 * the pattern of local layers, windows, bases of the rotary embedding, rows that are never generated.
 * Whole files are opened elsewhere. */
#include "file/file_build.h"

#include <math.h>

#include "model/config.h"

/* One key and its value, as GGUF stores it. */
struct key {
    const char *name;
    uint32_t type;
    double value;
};
enum { U32 = 4, F32 = 6, ARRAY = 9, BOOL = 7, STRING = 8 };

/* Values of rope.scaling.type, by their number. */
enum { LINEAR, NONE, YARN };
static const char *const scalings[] = {"linear", "none", "yarn"};

static void put_key(struct buf *b, const char *architecture, const struct key *k)
{
    char name[96];
    float f = (float)k->value;
    uint32_t u = (uint32_t)k->value;
    const bool whole = strncmp(k->name, "carat.", 6) == 0;
    snprintf(name, sizeof name, "%s%s%s", whole ? "" : architecture, whole ? "" : ".", k->name);
    if (k->type == STRING) {
        put_str(b, name);
        put_u32(b, STRING);
        put_str(b, scalings[(int)k->value]);
        return;
    }
    if (k->type == BOOL) {
        put_meta(b, name, BOOL, &u, 1);
        return;
    }
    put_meta(b, name, k->type, k->type == F32 ? (void *)&f : &u, 4);
}

/* Reads a file without tensors: the five keys that every model has, then more, which a NULL name ends.
 * tokens: entries of the vocabulary, all empty. */
static carat_status read_gguf(struct ct_config *c, const char *architecture, int layers,
                              const struct key *more, uint64_t tokens, carat_error *err)
{
    const struct key keys[] = {{"block_count", U32, layers},
                               {"embedding_length", U32, 4608},
                               {"feed_forward_length", U32, 64},
                               {"attention.head_count", U32, 32},
                               {"attention.key_length", U32, 128}};
    struct buf b = {0};
    struct ct_file *f = NULL;
    size_t n_more = 0;
    while (more && more[n_more].name)
        n_more++;
    put_header(&b, 3, 0, CT_COUNT(keys) + n_more + 1 + (tokens != 0));
    put_str(&b, "general.architecture");
    put_u32(&b, STRING);
    put_str(&b, architecture);
    for (size_t i = 0; i < CT_COUNT(keys); i++)
        put_key(&b, architecture, &keys[i]);
    for (size_t i = 0; i < n_more; i++)
        put_key(&b, architecture, &more[i]);
    if (tokens) {
        put_str(&b, "tokenizer.ggml.tokens");
        put_u32(&b, ARRAY);
        put_u32(&b, STRING);
        put_u64(&b, tokens);
        for (uint64_t i = 0; i < tokens; i++)
            put_u64(&b, 0);
    }
    const struct ct_part part = {"m.gguf", {b.p, b.n}};
    carat_status status = ct_file_open_memory(&f, &part, 1, err);
    if (!status)
        status = ct_config_read(c, f, err);
    ct_file_close(f);
    buf_free(&b);
    return status;
}

static struct ct_config accept(const char *architecture, int layers, const struct key *more, uint64_t tokens)
{
    struct ct_config c;
    carat_error err;
    if (read_gguf(&c, architecture, layers, more, tokens, &err))
        fail_msg("%s: %s", architecture, err.message);
    return c;
}

/* The 27B of Gemma 2 and of Gemma 3 are known by their depth. */
static void query_scale(void **state)
{
    (void)state;
    static const struct {
        const char *architecture;
        int layers;
        double scaled_by;
    } rows[] = {{"gemma2", 46, 144}, {"gemma2", 62, 128}, {"gemma2", 42, 128}, {"gemma3", 62, 144},
                {"gemma3", 46, 128}, {"gemma3", 48, 128}, {"gemma", 46, 128},  {"gemma", 62, 128}};
    for (size_t i = 0; i < CT_COUNT(rows); i++) {
        struct ct_config c = accept(rows[i].architecture, rows[i].layers, NULL, 0);
        float expected = (float)(1 / sqrt(rows[i].scaled_by));
        if (c.layer[0].attn_scale != expected || c.layer[rows[i].layers - 1].attn_scale != expected)
            fail_msg("%s, %d layers: scale %g", rows[i].architecture, rows[i].layers, c.layer[0].attn_scale);
    }
}

static void generations(void **state)
{
    (void)state;
    static const struct {
        const char *architecture;
        int period, window;
        double base, local_base;
        float attn_cap, logit_cap;
        bool post_norms, qk_norms;
    } rows[] = {{"gemma", 1, 0, 1e4, 1e4, 0, 0, false, false},
                {"gemma2", 2, 4096, 1e4, 1e4, 50, 30, true, false},
                {"gemma3", 6, 512, 1e6, 1e4, 0, 0, true, true},
                {"gemma4", 6, 512, 1e6, 1e4, 0, 30, true, true}};
    for (size_t i = 0; i < CT_COUNT(rows); i++) {
        struct ct_config c = accept(rows[i].architecture, 12, NULL, 0);
        assert_string_equal(c.architecture, rows[i].architecture);
        assert_int_equal(c.attn[CT_LOCAL].window, rows[i].window);
        assert_int_equal(c.max_context, 8192);
        assert_true(c.attn[CT_GLOBAL].rope_base == rows[i].base &&
                    c.attn[CT_LOCAL].rope_base == rows[i].local_base);
        assert_true(c.layer[0].attn_cap == rows[i].attn_cap && c.logit_cap == rows[i].logit_cap);
        assert_true(c.post_norms == rows[i].post_norms && c.qk_norms == rows[i].qk_norms);
        for (int l = 0; l < 12; l++)
            assert_int_equal(c.layer[l].attn_type, (l + 1) % rows[i].period ? CT_LOCAL : CT_GLOBAL);
    }
}

/* What a file says counts, in every generation. */
static void facts_that_are_said(void **state)
{
    (void)state;
    static const char *const all[] = {"gemma", "gemma2", "gemma3", "gemma4"};
    const struct key said[] = {{"context_length", U32, 4096},
                               {"attention.layer_norm_rms_epsilon", F32, 1e-5},
                               {"final_logit_softcapping", F32, 20},
                               {"carat.embedding_scale", F32, 7.5},
                               {NULL, 0, 0}};
    for (size_t i = 0; i < CT_COUNT(all); i++) {
        const struct ct_config c = accept(all[i], 12, said, 0);
        assert_int_equal(c.max_context, 4096);
        assert_true(c.norm_eps == 1e-5f && c.logit_cap == 20 && c.embed_scale_override == 7.5);
    }
}

/* A local layer without a window would see nothing. */
static void local_without_window(void **state)
{
    (void)state;
    struct ct_config c;
    carat_error err;
    const struct key period[] = {{"attention.sliding_window_pattern", U32, 2}, {NULL, 0, 0}};
    assert_int_equal(read_gguf(&c, "gemma", 2, period, 0, &err), CARAT_E_FORMAT);
    assert_non_null(strstr(err.message, "layer 0 is said to be local"));
    const struct key none[] = {{"attention.sliding_window_pattern", U32, 1}, {NULL, 0, 0}};
    accept("gemma", 2, none, 0);
}

/* Of the last six layers each reads K and V of the last one of its type before them; global heads have the
 * width that is said, local ones that of all members, and a quarter of the pairs turns. */
static void gemma4_layers(void **state)
{
    (void)state;
    const struct key keys[] = {
        {"attention.shared_kv_layers", U32, 6}, {"embedding_length_per_layer_input", U32, 16}, {NULL, 0, 0}};
    struct ct_config c = accept("gemma4", 12, keys, 0);
    static const int kv_layer[12] = {0, 1, 2, 3, 4, 5, 4, 4, 4, 4, 4, 5};
    for (int i = 0; i < 12; i++) {
        const struct ct_layer_config *l = &c.layer[i];
        assert_int_equal(l->kv_layer, kv_layer[i]);
        assert_int_equal(l->head_dim, i % 6 == 5 ? 128 : 256);
        assert_true(l->attn_scale == 1 && l->ffn == 64);
        assert_int_equal(l->v_is_k, i % 6 == 5); /* there is no attn_v */
    }
    assert_int_equal(c.attn[CT_GLOBAL].rotated, 16);
    assert_int_equal(c.attn[CT_LOCAL].rotated, 128);
    assert_int_equal(c.ple_width, 16);
    assert_int_equal(c.ple_layers, 12);
    assert_true(c.v_norms && !c.norm_plus_one);
}

/* Writers spell the base of local layers in three ways. */
static void local_bases(void **state)
{
    (void)state;
    static const char *const names[] = {"rope.freq_base_swa", "rope.local.freq_base", "rope.freq_base_local"};
    for (size_t i = 0; i < CT_COUNT(names); i++) {
        const struct key base[] = {{names[i], F32, 20000}, {NULL, 0, 0}};
        assert_true(accept("gemma3", 2, base, 0).attn[CT_LOCAL].rope_base == 20000);
        assert_true(accept("gemma4", 2, base, 0).attn[CT_LOCAL].rope_base == 20000);
        assert_true(accept("gemma4", 2, base, 0).attn[CT_GLOBAL].rope_base == 1e6);
    }
}

/* Ids from 262144 on are no text in Gemma 3; other generations generate all that they have names for. */
static void rows_of_text(void **state)
{
    (void)state;
    assert_int_equal(accept("gemma3", 2, NULL, 262208).n_text_vocab, 262144);
    assert_int_equal(accept("gemma3", 2, NULL, 262145).n_text_vocab, 262144);
    assert_int_equal(accept("gemma3", 2, NULL, 262143).n_text_vocab, 262143);
    assert_int_equal(accept("gemma2", 2, NULL, 262208).n_text_vocab, 262208);
    assert_int_equal(accept("gemma3", 2, NULL, 0).n_text_vocab, 0);
}

/* A factor is linear where no type is named, and older files spell it otherwise; Gemma 1 and 2 have one table
 * for all layers. */
static void rope_factors(void **state)
{
    (void)state;
    static const struct {
        struct key keys[3];
        double factor;
    } rows[] = {
        {{{"rope.scale_linear", F32, 4}}, 4},
        {{{"rope.scaling.factor", F32, 4}}, 4},
        {{{"rope.scaling.type", STRING, LINEAR}, {"rope.scaling.factor", F32, 8}}, 8},
        {{{"rope.scaling.type", STRING, LINEAR}, {"rope.scale_linear", F32, 8}}, 8},
        {{{"rope.scale_linear", F32, 2}, {"rope.scaling.factor", F32, 8}}, 8},
        {{{"rope.scaling.type", STRING, NONE}, {"rope.scaling.factor", F32, 8}}, 1},
        {{{"rope.scaling.type", STRING, NONE}, {"rope.scale_linear", F32, 8}}, 1},
        {{{"rope.scaling.type", STRING, LINEAR}}, 1},
    };
    for (size_t i = 0; i < CT_COUNT(rows); i++) {
        static const char *const all[] = {"gemma", "gemma2", "gemma3", "gemma3", "gemma4"};
        for (size_t k = 0; k < CT_COUNT(all); k++) {
            const struct ct_config c = accept(all[k], 12, rows[i].keys, 0);
            assert_true(c.attn[CT_GLOBAL].rope_factor == rows[i].factor);
            assert_true(c.attn[CT_LOCAL].rope_factor == (k < 2 ? rows[i].factor : 1));
        }
    }
    assert_true(accept("gemma3", 2, (struct key[]){{"rope.global.freq_base", F32, 30000}, {NULL, 0, 0}}, 0)
                    .attn[CT_GLOBAL]
                    .rope_base == 30000);
}

/* A key that changes numbers is read, says what is so anyway, or is refused by its name. */
static void keys_that_nobody_reads(void **state)
{
    (void)state;
    static const struct key refused[] = {
        {"rope.scaling.type", STRING, YARN},
        {"rope.scaling.alpha", F32, 2},
        {"rope.scaling.attn_factor", F32, 1.5},
        {"rope.scaling.yarn_beta_fast", F32, 32},
        {"rope.dimension_count", U32, 64},
        {"rope.dimension_count_swa", U32, 64},
        {"rope.dimension_sections", U32, 1},
        {"rope.scaling.new", F32, 1},
        {"rope.new", U32, 0},
        {"attention.new", U32, 0},
        {"attention.scale", F32, 0.5},
        {"attention.clamp_kqv", F32, 8},
        {"attention.max_alibi_bias", F32, 8},
        {"attention.layer_norm_epsilon", F32, 1e-5},
        {"attention.temperature_scale", F32, 2},
        {"attention.output_scale", F32, 2},
        {"attention.shared_kv_layers", U32, 1},
        {"attention.key_length_swa", U32, 64},
        {"logit_scale", F32, 2},
        {"residual_scale", F32, 2},
        {"embedding_scale", F32, 2},
    };
    static const struct key neutral[] = {{"rope.scaling.attn_factor", F32, 1},
                                         {"rope.scaling.original_context_length", U32, 4096},
                                         {"rope.scaling.finetuned", BOOL, 1},
                                         {"rope.dimension_count", U32, 128},
                                         {"attention.clamp_kqv", F32, 0},
                                         {"attention.causal", BOOL, 1},
                                         {"attention.shared_kv_layers", U32, 0},
                                         {"attention.key_length_swa", U32, 128},
                                         {"attention.scale", F32, 0.08838834764831845},
                                         {"logit_scale", F32, 1},
                                         {"vision.block_count", U32, 1}};
    struct ct_config c;
    carat_error err;
    for (size_t i = 0; i < CT_COUNT(refused); i++) {
        const struct key keys[] = {refused[i], {NULL, 0, 0}};
        char name[96];
        snprintf(name, sizeof name, "\"gemma3.%s\"", refused[i].name);
        assert_int_equal(read_gguf(&c, "gemma3", 12, keys, 0, &err), CARAT_E_UNSUPPORTED);
        if (!strstr(err.message, name))
            fail_msg("%s", err.message);
    }
    for (size_t i = 0; i < CT_COUNT(neutral); i++)
        accept("gemma3", 12, (struct key[]){neutral[i], {NULL, 0, 0}}, 0);
}

/* What llama.cpp's converter and ollama's write. */
static void published_keys(void **state)
{
    (void)state;
    static const struct {
        const char *architecture;
        struct key keys[14];
    } files[] = {
        {"gemma",
         {{"attention.head_count_kv", U32, 16},
          {"attention.value_length", U32, 128},
          {"attention.layer_norm_rms_epsilon", F32, 1e-6},
          {"rope.freq_base", F32, 10000}}},
        {"gemma2",
         {{"attention.head_count_kv", U32, 16},
          {"attention.value_length", U32, 128},
          {"attention.layer_norm_rms_epsilon", F32, 1e-6},
          {"attention.sliding_window", U32, 4096},
          {"attn_logit_softcapping", F32, 50},
          {"final_logit_softcapping", F32, 30}}},
        {"gemma3",
         {{"attention.head_count_kv", U32, 16},
          {"attention.value_length", U32, 128},
          {"attention.layer_norm_rms_epsilon", F32, 1e-6},
          {"attention.sliding_window", U32, 1024},
          {"attention.sliding_window_pattern", U32, 6},
          {"rope.freq_base", F32, 1000000},
          {"rope.freq_base_swa", F32, 10000},
          {"rope.scaling.type", STRING, LINEAR},
          {"rope.scaling.factor", F32, 8}}},
        {"gemma3",
         {{"attention.sliding_window", U32, 1024},
          {"rope.local.freq_base", F32, 10000},
          {"rope.global.freq_base", F32, 1000000},
          {"rope.scaling.factor", F32, 8},
          {"vision.attention.head_count", U32, 16},
          {"mm.tokens_per_image", U32, 256}}},
        {"gemma3n",
         {{"attention.head_count_kv", U32, 16},
          {"attention.value_length", U32, 128},
          {"attention.sliding_window", U32, 512},
          {"attention.sliding_window_pattern", U32, 5},
          {"attention.shared_kv_layers", U32, 2},
          {"embedding_length_per_layer_input", U32, 16},
          {"altup.active_idx", U32, 0},
          {"altup.num_inputs", U32, 4},
          {"rope.freq_base", F32, 1000000},
          {"rope.freq_base_swa", F32, 10000}}},
        {"gemma4",
         {{"attention.head_count_kv", U32, 16},
          {"attention.value_length", U32, 128},
          {"attention.key_length_swa", U32, 256},
          {"attention.value_length_swa", U32, 256},
          {"attention.sliding_window", U32, 512},
          {"attention.sliding_window_pattern", U32, 6},
          {"attention.shared_kv_layers", U32, 0},
          {"rope.freq_base", F32, 1000000},
          {"rope.freq_base_swa", F32, 10000},
          {"rope.dimension_count", U32, 128},
          {"rope.dimension_count_swa", U32, 256},
          {"final_logit_softcapping", F32, 30}}},
        {"gemma4-assistant",
         {{"embedding_length_out", U32, 1536},
          {"nextn_predict_layers", U32, 12},
          {"attention.value_length", U32, 128},
          {"attention.shared_kv_layers", U32, 12},
          {"rope.freq_base", F32, 1000000},
          {"rope.dimension_count", U32, 128}}},
        {"gemma-embedding",
         {{"attention.head_count_kv", U32, 16},
          {"attention.value_length", U32, 128},
          {"attention.causal", BOOL, 0},
          {"attention.sliding_window", U32, 512},
          {"rope.freq_base", F32, 1000000},
          {"rope.freq_base_swa", F32, 10000},
          {"pooling_type", U32, 1}}},
    };
    for (size_t i = 0; i < CT_COUNT(files); i++)
        accept(files[i].architecture, 12, files[i].keys, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(query_scale),
        cmocka_unit_test(generations),
        cmocka_unit_test(facts_that_are_said),
        cmocka_unit_test(local_without_window),
        cmocka_unit_test(gemma4_layers),
        cmocka_unit_test(local_bases),
        cmocka_unit_test(rows_of_text),
        cmocka_unit_test(rope_factors),
        cmocka_unit_test(keys_that_nobody_reads),
        cmocka_unit_test(published_keys),
    };
    return cmocka_run_group_tests_name("model: config of GGUF", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_bisect.c: carat_bisect finds damage where it is, and flags nothing where two engines may differ. What
 * it refuses, and how it ends, is test_bisect_calls.c's. */
#include "bisect_util.h"

/* The same with a damaged copy as the test. */
static struct told *bisect_copy(struct copy *c)
{
    copy_open(c);
    struct told *t = bisect_models(tiny, c->model, (struct mode){0}, (struct mode){0});
    copy_close(c);
    return t;
}

static void negate_row(uint16_t *w, int row, int cols)
{
    for (int i = 0; i < cols; i++)
        w[row * cols + i] ^= 0x8000;
}

/* ---- found ---- */

static void a_negated_row(void **state)
{
    (void)state;
    struct copy c = copy_tiny();
    negate_row(copy_tensor(&c, "model.layers.3.mlp.down_proj.weight"), 17, HIDDEN);
    struct told *t = bisect_copy(&c);
    assert_string_equal(t->first.tensor, "model.layers.3.mlp.down_proj.weight");
    assert_true(t->first.channel_error > 1.9 && t->first.channel_error < 2.1);
    assert_true(t->first.own < 0.3 && t->flagged == 1);
    bool behind = false; /* what reads it has no error of its own, and carries this one */
    for (int i = 0; i < t->n; i++) {
        bool here = t->of[i].layer == 3 && strcmp(t->of[i].operation, "down") == 0;
        assert_true((t->of[i].own > 0) == here && (t->of[i].carried > 0) == (here || behind));
        behind |= here;
    }
    found(t, 3, "down", 17);
}

static void a_negated_row_of_every_matrix(void **state)
{
    static const struct {
        const char *tensor, *operation;
    } matrix[] = {
        {"self_attn.q_proj", "q"}, {"self_attn.k_proj", "k"}, {"self_attn.v_proj", "v"},
        {"self_attn.o_proj", "o"}, {"mlp.gate_proj", "gate"}, {"mlp.up_proj", "up"},
        {"mlp.down_proj", "down"},
    };
    (void)state;
    for (int i = 0; i < 7; i += SANITIZED ? 3 : 1) {
        char name[128];
        struct copy c = copy_tiny();
        snprintf(name, sizeof name, "model.layers.%d.%s.weight", i % 6, matrix[i].tensor);
        negate_row(copy_tensor(&c, name), 5 + i, HIDDEN);
        found(bisect_copy(&c), i % 6, matrix[i].operation, 5 + i);
    }
}

static void two_columns_swapped(void **state)
{
    (void)state;
    struct copy c = copy_tiny();
    uint16_t *w = copy_tensor(&c, "model.layers.2.mlp.up_proj.weight");
    for (int r = 0; r < HIDDEN; r++) {
        uint16_t first = w[r * HIDDEN + 40];
        w[r * HIDDEN + 40] = w[r * HIDDEN + 41];
        w[r * HIDDEN + 41] = first;
    }
    found(bisect_copy(&c), 2, "up", -1);
}

static float of_bf16(uint16_t v)
{
    uint32_t bits = (uint32_t)v << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint16_t to_bf16(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)((bits + 0x8000) >> 16);
}

static void a_norm_with_one_added_twice(void **state)
{
    static const char *const norm[][2] = {{"input_layernorm", "attn_norm"},
                                          {"post_attention_layernorm", "attn_post_norm"},
                                          {"pre_feedforward_layernorm", "ffn_norm"},
                                          {"post_feedforward_layernorm", "ffn_post_norm"},
                                          {"self_attn.q_norm", "q_norm"},
                                          {"self_attn.k_norm", "k_norm"}};
    (void)state;
    for (int i = 0; i < 6; i += SANITIZED ? 2 : 1) {
        char name[128];
        struct copy c = copy_tiny();
        snprintf(name, sizeof name, "model.layers.%d.%s.weight", i, norm[i][0]);
        uint16_t *w = copy_tensor(&c, name);
        for (int k = 0; k < (i < 4 ? HIDDEN : 64); k++)
            w[k] = to_bf16(of_bf16(w[k]) + 1);
        found(bisect_copy(&c), i, norm[i][1], -1);
    }
}

/* Gains of every layer times a factor; gains are 1 more than what is stored. */
static struct told *scaled_gains(const char *norm, float factor)
{
    struct copy c = copy_tiny();
    for (int i = 0; i < 6; i++) {
        char name[128];
        snprintf(name, sizeof name, "model.layers.%d.%s.weight", i, norm);
        uint16_t *w = copy_tensor(&c, name);
        for (int k = 0; k < HIDDEN; k++)
            w[k] = to_bf16((of_bf16(w[k]) + 1) * factor - 1);
    }
    return bisect_copy(&c);
}

/* No layer stands out from the others; and what a norm adds to the stream is the measure, not the stream. */
static void a_little_in_every_layer(void **state)
{
    static const char *const norm[][2] = {{"pre_feedforward_layernorm", "ffn_norm"},
                                          {"post_attention_layernorm", "attn_post_norm"},
                                          {"post_feedforward_layernorm", "ffn_post_norm"}};
    (void)state;
    for (int i = 0; i < (SANITIZED ? 1 : 3); i++) {
        struct told *t = scaled_gains(norm[i][0], 1.25F);
        for (int k = 0; k < t->n; k++)
            if (strcmp(t->of[k].operation, norm[i][1]) == 0)
                assert_float_equal(t->of[k].own, 0.25, 0.02);
        found(t, 0, norm[i][1], -1);
    }
}

static void every_norm_with_one_added_twice(void **state)
{
    (void)state;
    struct copy c = copy_tiny();
    for (int i = 0; i < 6; i++) {
        char name[128];
        snprintf(name, sizeof name, "model.layers.%d.pre_feedforward_layernorm.weight", i);
        uint16_t *w = copy_tensor(&c, name);
        for (int k = 0; k < HIDDEN; k++)
            w[k] = to_bf16(of_bf16(w[k]) + 1);
    }
    found(bisect_copy(&c), 0, "ffn_norm", -1);
}

static void another_base_of_rope(void **state)
{
    (void)state;
    struct copy c = copy_tiny();
    copy_configure(&c, "\"rope_local_base_freq\": 10000.0", "\"rope_local_base_freq\": 11000.0");
    found(bisect_copy(&c), 0, "q_rope", -1);
    c = copy_tiny();
    copy_configure(&c, "\"rope_theta\": 1000000.0", "\"rope_theta\": 100000.0");
    found(bisect_copy(&c), 5, "q_rope", -1);
}

static void a_window_one_less(void **state)
{
    (void)state;
    struct copy c = copy_tiny();
    copy_configure(&c, "\"sliding_window\": 64", "\"sliding_window\": 63");
    found(bisect_copy(&c), 0, "attend", -1);
}

static void another_query_scalar(void **state)
{
    (void)state;
    struct copy c = copy_tiny();
    copy_configure(&c, "\"query_pre_attn_scalar\": 64", "\"query_pre_attn_scalar\": 60");
    found(bisect_copy(&c), 0, "attend", -1);
}

static void a_zeroed_head_of_k(void **state)
{
    (void)state;
    struct copy c = copy_tiny();
    memset(copy_tensor(&c, "model.layers.4.self_attn.k_proj.weight") + 64 * HIDDEN, 0, 64 * HIDDEN * 2);
    struct told *t = bisect_copy(&c);
    assert_true(t->first.channel >= 64);
    found(t, 4, "k", -1);
}

static void a_negated_row_among_coarser_ones(void **state)
{
    static const enum ct_type types[] = {CT_Q4_0, CT_Q8_0, CT_Q5_0};
    (void)state;
    for (int i = 0; i < (SANITIZED ? 1 : 3); i++) {
        struct copy c = copy_tiny();
        negate_row(copy_tensor(&c, "model.layers.3.mlp.down_proj.weight"), 17, HIDDEN);
        copy_open(&c);
        copy_encode(&c, types[i]);
        found(bisect_models(tiny, c.model, (struct mode){0}, (struct mode){0}), 3, "down", 17);
        copy_close(&c);
    }
}

/* ---- not flagged ---- */

static void other_types_are_no_damage(void **state)
{
    static const enum ct_type types[] = {CT_Q8_0, CT_Q4_0, CT_Q5_0};
    (void)state;
    for (int i = 0; i < (SANITIZED ? 1 : 3); i++)
        for (int exact = 0; exact < 2; exact++) {
            struct copy c = copy_tiny();
            copy_open(&c);
            copy_encode(&c, types[i]);
            found_nothing(bisect_models(tiny, c.model, (struct mode){.exact = exact}, (struct mode){0}),
                          ct_type_info(types[i])->name);
            found_nothing(bisect_models(c.model, tiny, (struct mode){.exact = exact}, (struct mode){0}),
                          ct_type_info(types[i])->name);
            copy_close(&c);
        }
}

static void other_modes_are_no_damage(void **state)
{
    static const carat_kv kv[] = {CARAT_KV_BF16, CARAT_KV_F16, CARAT_KV_F32, CARAT_KV_Q8};
    (void)state;
    for (int exact = 0; exact < 2; exact++)
        for (int i = SANITIZED ? exact : 0; i < 4; i += SANITIZED ? 2 : 1)
            found_nothing(bisect_models(tiny, tiny, (struct mode){.exact = 1, .kv = CARAT_KV_F32},
                                        (struct mode){.exact = exact, .kv = kv[i]}),
                          carat_kv_name(kv[i]));
    found_nothing(bisect_models(tiny, tiny, (struct mode){0}, (struct mode){.kv = CARAT_KV_Q8}), "q8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_negated_row),
        cmocka_unit_test(a_negated_row_of_every_matrix),
        cmocka_unit_test(two_columns_swapped),
        cmocka_unit_test(a_norm_with_one_added_twice),
        cmocka_unit_test(a_little_in_every_layer),
        cmocka_unit_test(every_norm_with_one_added_twice),
        cmocka_unit_test(another_base_of_rope),
        cmocka_unit_test(a_window_one_less),
        cmocka_unit_test(another_query_scalar),
        cmocka_unit_test(a_zeroed_head_of_k),
        cmocka_unit_test(a_negated_row_among_coarser_ones),
        cmocka_unit_test(other_types_are_no_damage),
        cmocka_unit_test(other_modes_are_no_damage),
    };
    return cmocka_run_group_tests_name("check: bisecting", tests, open_tiny, close_tiny);
}

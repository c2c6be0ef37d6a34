/* SPDX-License-Identifier: Apache-2.0 */
/* test_bisect_experts.c: carat_bisect finds damage in what Gemma 4 has around and in its experts, at the
 * operation that it is in: the reference's router chooses for both engines. The rest is test_bisect.c's. */
#include "bisect_util.h"

#define GEMMA4 CT_TEST_DATA "/vectors/models/gemma4-moe"

static carat_model *sound;

static int open_sound(void **state)
{
    (void)state;
    OK(carat_model_open(&sound, GEMMA4, NULL, err));
    return 0;
}

static int close_sound(void **state)
{
    (void)state;
    carat_model_close(sound);
    return 0;
}

/* n values of a tensor are negated, from value `at` on. */
static struct told *damaged(const char *tensor, int at, int n)
{
    struct copy c = copy_folder(GEMMA4);
    char name[128];

    snprintf(name, sizeof name, "model.language_model.%s", tensor);
    uint16_t *w = copy_tensor(&c, name);
    for (int i = 0; i < n; i++)
        w[at + i] ^= 0x8000;
    copy_open(&c);
    struct told *t = bisect_models(sound, c.model, (struct mode){0}, (struct mode){0});
    copy_close(&c);
    return t;
}

static void damage_is_found(void **state)
{
    static const struct {
        const char *tensor;
        int at, values, layer;
        const char *operation;
    } rows[] = {
        {"layers.1.post_feedforward_layernorm_1.weight", 0, 48, 1, "mlp_post_norm"},
        {"layers.0.router.scale", 0, 48, 0, "router_norm"},
        {"layers.2.router.proj.weight", 48, 48, 2, "router"},
        {"layers.1.pre_feedforward_layernorm_2.weight", 0, 48, 1, "experts_norm"},
        {"layers.0.router.per_expert_scale", 0, 10, 0, "experts"},
        {"layers.1.experts.gate_up_proj", 3 * 48 * 48, 48 * 24, 1, "experts"}, /* gate of expert 3 */
        {"layers.2.experts.gate_up_proj", 4 * 48 * 48 + 24 * 48, 48 * 24, 2, "experts"}, /* up of expert 4 */
        {"layers.0.experts.down_proj", 9 * 48 * 24, 48 * 24, 0, "experts"},
        {"layers.2.post_feedforward_layernorm_2.weight", 0, 48, 2, "experts_post_norm"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i += SANITIZED ? 4 : 1)
        found(damaged(rows[i].tensor, rows[i].at, rows[i].values), rows[i].layer, rows[i].operation, -1);
}

/* Both arithmetics compute the router in f32. */
static void nothing_is_found(void **state)
{
    (void)state;
    struct told *t = bisect_models(sound, sound, (struct mode){.exact = 1}, (struct mode){0});
    int routers = 0;
    for (int i = 0; i < t->n; i++)
        if (strncmp(t->of[i].operation, "router", 6) == 0) {
            assert_true(t->of[i].own == 0);
            routers++;
        }
    assert_int_equal(routers, 2 * 3);
    found_nothing(t, "exact against fast");
    found_nothing(bisect_models(sound, sound, (struct mode){.threads = 2, .chunk = 32, .context = 256},
                                (struct mode){.kv = CARAT_KV_F16, .chunk = 7, .context = 512}),
                  "another KV type");
}

/* Weights alone do not make a model: how many experts a row takes does, too. */
static void another_number_is_another_model(void **state)
{
    char a[33], b[33];
    struct copy c = copy_folder(GEMMA4);
    const int32_t ids[] = {2, 5, 7, 9};
    carat_operation_error first = {.size = sizeof first};
    carat_error refusal;

    (void)state;
    copy_configure(&c, "\"top_k_experts\": 3", "\"top_k_experts\": 2");
    copy_open(&c);
    OK(carat_model_content(sound, NULL, NULL, a, err));
    OK(carat_model_content(c.model, NULL, NULL, b, err));
    assert_string_not_equal(a, b);
    carat_engine *ref = engine_of(sound, (struct mode){0}), *test = engine_of(c.model, (struct mode){0});
    assert_int_equal(carat_bisect(ref, test, ids, 4, NULL, &first, &refusal), CARAT_E_UNSUPPORTED);
    assert_non_null(
        strstr(refusal.message, "in layer 0 the reference has experts of a row: 3 and the test 2"));
    carat_engine_close(ref);
    carat_engine_close(test);
    copy_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(damage_is_found), cmocka_unit_test(nothing_is_found),
                                       cmocka_unit_test(another_number_is_another_model)};
    return cmocka_run_group_tests_name("check: bisecting experts", tests, open_sound, close_sound);
}

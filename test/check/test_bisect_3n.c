/* SPDX-License-Identifier: Apache-2.0 */
/* test_bisect_3n.c: carat_bisect of Gemma 3n finds damage in what it has beside the other members: streams,
 * the way beside attention, inputs of layers and gates that are cut off; and flags nothing where two engines
 * may differ. The rest is test_bisect.c's. */
#include "bisect_util.h"

#define GEMMA3N CT_TEST_DATA "/vectors/models/gemma3n"

static carat_model *sound;

static int open_sound(void **state)
{
    (void)state;
    OK(carat_model_open(&sound, GEMMA3N, NULL, err));
    return 0;
}

static int close_sound(void **state)
{
    (void)state;
    carat_model_close(sound);
    return 0;
}

/* The first n values of a tensor are negated. */
static struct told *damaged(const char *tensor, int n)
{
    struct copy c = copy_folder(GEMMA3N);
    char name[128];

    snprintf(name, sizeof name, "model.language_model.%s", tensor);
    uint16_t *w = copy_tensor(&c, name);
    for (int i = 0; i < n; i++)
        w[i] ^= 0x8000;
    copy_open(&c);
    struct told *t = bisect_models(sound, c.model, (struct mode){0}, (struct mode){0});
    copy_close(&c);
    if (t->first.operation && strcmp(t->first.tensor, name) != 0)
        fail_msg("%s is flagged, expected %s", t->first.tensor, name);
    return t;
}

static void damage_is_found(void **state)
{
    static const struct {
        const char *tensor;
        int values, layer; /* values: of a row */
        const char *operation;
    } rows[] = {
        {"per_layer_model_projection.weight", 64, -1, "inputs_proj"},
        {"altup_projections.0.weight", 64, -1, "altup_proj"},
        {"layers.2.altup.prediction_coefs.weight", 64, 2, "altup_predict"},
        {"layers.1.laurel.linear_left.weight", 64, 1, "laurel_left"},
        {"layers.6.laurel.linear_right.weight", 64, 6, "laurel_right"},
        {"layers.5.laurel.post_laurel_norm.weight", 64, 5, "laurel_norm"},
        {"layers.1.mlp.gate_proj.weight", 64, 1, "gate"}, /* cut off, each by itself */
        {"layers.2.mlp.up_proj.weight", 64, 2, "up"},
        {"layers.4.mlp.gate_proj.weight", 64, 4, "gate"}, /* with up */
        {"layers.7.altup.correction_coefs.weight", 16, 7, "altup_correct"},
        {"layers.3.per_layer_input_gate.weight", 64, 3, "input_gate"},
        {"layers.8.per_layer_projection.weight", 8, 8, "input_proj"},
        {"layers.9.post_per_layer_input_norm.weight", 64, 9, "input_norm"},
        {"altup_unembed_projections.0.weight", 64, -1, "altup_unproj"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i += SANITIZED ? 4 : 1)
        found(damaged(rows[i].tensor, rows[i].values), rows[i].layer, rows[i].operation, -1);
}

/* Both arithmetics compute the streams in f32: only products differ. */
static void nothing_is_found(void **state)
{
    (void)state;
    struct told *t = bisect_models(sound, sound, (struct mode){.exact = 1}, (struct mode){0});
    for (int i = 0; i < t->n; i++)
        if (strcmp(t->of[i].operation, "altup_predict") == 0 ||
            strcmp(t->of[i].operation, "altup_correct") == 0)
            assert_true(t->of[i].own == 0);
    found_nothing(t, "exact against fast");
    found_nothing(bisect_models(sound, sound, (struct mode){.threads = 2, .chunk = 32, .context = 256},
                                (struct mode){.kv = CARAT_KV_F16, .chunk = 7, .context = 512}),
                  "another KV type");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(damage_is_found), cmocka_unit_test(nothing_is_found)};
    return cmocka_run_group_tests_name("check: bisecting Gemma 3n", tests, open_sound, close_sound);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_tensor.c: engines whose prompts are summed by units for matrices, on an emulated GPU with units of all
 * kinds (test/emu/unit.c): logits are near those of fast, whatever the passes are, and passes of few rows
 * have its bits. What would have to be computed again is refused. Products one by one, and their bound:
 * test/kernel/test_gpu_tensor.c. */
#define _POSIX_C_SOURCE 200809L
#include <carat_generate.h>
#include <carat_receipt.h>
#include <math.h>
#include <unistd.h>

#include "cuda_util.h"
#include "tier.h"

#define VECTORS CT_TEST_DATA "/vectors/models/"

enum { PROMPT = 36, LATER = 2, IDS = PROMPT + LATER };

/* Of the largest logit. The least that a sum differs turns roundings of activations to bf16, whose step is
 * 2^-8; what is measured is up to 0.0053, of models with random weights. */
static const float near = 0.02f;

static const char *const sound[] = {"in-order", "backwards", "fours", "eights", "whole"};
static const char *const models[] = {
    VECTORS "gemma3-bf16", VECTORS "gemma3-f16-untied", CT_TEST_DATA "/../../models/tiny",
    VECTORS "gemma2-bf16", VECTORS "gemma4-dense",      VECTORS "gemma4-moe",
    VECTORS "gemma3n"};
static carat_model *small; /* the first */
/* In the deep tier: others than the first two, and all units, which take minutes of a processor. */
static bool all;

static int open_small(void **unused)
{
    carat_engine_options o = cuda_options();
    carat_plan plan = {.size = sizeof plan};
    carat_error why = {CARAT_OK, ""};

    (void)unused;
    OK(carat_model_open(&small, models[0], NULL, err));
    carat_plan_engine(small, &o, &plan, &why);
    if (why.code && strstr(why.message, "without clang")) {
        print_message("%s\n", why.message);
        skip();
    }
    return why.code;
}

static int close_small(void **unused)
{
    (void)unused;
    carat_model_close(small);
    return 0;
}

static carat_engine_options tensor_options(void)
{
    carat_engine_options o = cuda_options();

    o.context = 256;
    o.sessions = 2;
    o.tensor = 1;
    return o;
}

/* All logits of a prompt in two sessions side by side, and of ids behind it one by one. */
static float *logits_of(carat_model *model, const carat_engine_options *o)
{
    struct rig r = rig_open(model, o);
    struct ids ids = scattered_ids(IDS, model_info(model).n_text_vocab, 17);
    const size_t row = (size_t)r.n_vocab, whole = IDS * row;
    float *logits = calloc(2 * whole, sizeof *logits);
    carat_row rows[2];

    assert_non_null(logits);
    for (int at = 0, n = PROMPT; at < IDS; at += n, n = 1) {
        for (int s = 0; s < 2; s++)
            rows[s] = (carat_row){.session = r.session[s],
                                  .tokens = ids.id + at,
                                  .n = n,
                                  .logits = logits + (size_t)s * whole + (size_t)at * row};
        OK(carat_step(r.engine, rows, sizeof *rows, 2, err));
    }
    free(ids.id);
    rig_close(&r);
    return logits;
}

/* The largest difference, of the largest logit. */
static float farthest(carat_model *model, const float *x, const float *y)
{
    const size_t n = 2 * IDS * (size_t)model_info(model).n_vocab;
    float largest = 0, most = 0;

    for (size_t i = 0; i < n; i++) {
        assert_true(isfinite(x[i]));
        largest = fmaxf(largest, fabsf(y[i]));
        most = fmaxf(most, fabsf(x[i] - y[i]));
    }
    return most / largest;
}

static float measure(carat_model *model, const float *fast, const char *unit, int chunk, int layers)
{
    carat_engine_options o = tensor_options();

    o.chunk = chunk;
    o.gpu_layers = layers;
    setenv("EMU_UNIT", unit, 1);
    float *logits = logits_of(model, &o);
    unsetenv("EMU_UNIT");
    const float far = farthest(model, logits, fast);
    free(logits);
    return far;
}

static void check_model(carat_model *model, const char *name)
{
    static const int chunks[] = {256, 64, 40}, layers[] = {0, 2, 0};
    carat_engine_options o = tensor_options();

    o.tensor = 0;
    float *fast = logits_of(model, &o);
    for (size_t u = all ? 0 : sizeof sound / sizeof *sound - 1; u < sizeof sound / sizeof *sound; u++) {
        const float far = measure(model, fast, sound[u], chunks[u % 3], layers[u % 3]);
        if (!(far < near))
            fail_msg("%s, %s: %g", name, sound[u], (double)far);
    }
    assert_true(measure(model, fast, "drops", 256, 0) > 5 * near);
    if (all)
        assert_true(measure(model, fast, "swaps", 256, 0) > 5 * near);
    free(fast);
}

static void logits_are_near_those_of_fast(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < (all ? sizeof models / sizeof *models : 2); i++) {
        carat_model *model = NULL;
        OK(carat_model_open(&model, models[i], NULL, err));
        const bool runs = runs_on_gpu(model);
        assert_true(runs || i > 2);
        if (runs)
            check_model(model, models[i]);
        carat_model_close(model);
    }
}

/* Passes of up to 32 rows are those of fast, bit for bit. */
static void few_rows_have_the_bits_of_fast(void **unused)
{
    carat_engine_options o = tensor_options();

    (void)unused;
    o.chunk = 32;
    float *logits = logits_of(small, &o);
    o.tensor = 0;
    float *fast = logits_of(small, &o);
    assert_memory_equal(logits, fast, 2 * IDS * (size_t)model_info(small).n_vocab * sizeof *fast);
    free(logits);
    free(fast);
}

static void refuse(const carat_engine_options *o, carat_status status, const char *why)
{
    carat_engine *engine = NULL;
    carat_plan plan = {.size = sizeof plan};
    carat_error err = {CARAT_OK, ""};

    assert_int_equal(carat_engine_create(&engine, small, o, &err), status);
    assert_non_null(strstr(err.message, why));
    assert_int_equal(carat_plan_engine(small, o, &plan, &err), status);
    assert_non_null(strstr(err.message, why));
}

static void other_devices_and_two_arithmetics_are_refused(void **unused)
{
    carat_engine_options o = tensor_options();

    (void)unused;
    o.device = NULL;
    refuse(&o, CARAT_E_ARGUMENT, "for the device cuda alone, not for cpu");
    o.device = "auto";
    refuse(&o, CARAT_E_ARGUMENT, "for the device cuda alone, not for auto");
    o = tensor_options();
    o.exact = 1;
    refuse(&o, CARAT_E_ARGUMENT, "exact and tensor are both set, expected one arithmetic");
    o.exact = 0;
    o.fast8 = 1;
    refuse(&o, CARAT_E_ARGUMENT, "fast8 and tensor are both set, expected one arithmetic");
    o.fast8 = 0;
    setenv("EMU_DEVICES", "7.5", 1);
    refuse(&o, CARAT_E_UNSUPPORTED, "needs a GPU of capability 8.0 or more");
    unsetenv("EMU_DEVICES");
}

static void what_would_be_computed_again_is_refused(void **unused)
{
    char path[] = "/tmp/carat_tensor_XXXXXX";
    carat_engine_options o = tensor_options();
    carat_error why = {CARAT_OK, ""};
    carat_receipt *receipt = NULL;
    struct ids ids = scattered_ids(IDS, model_info(small).n_text_vocab, 17);

    (void)unused;
    close(mkstemp(path));
    for (int tensor = 0; tensor < 2; tensor++) {
        o.tensor = tensor;
        struct rig r = rig_open(small, &o);
        carat_generation *g = NULL;
        carat_generation_options go = {.size = sizeof go, .max_tokens = 2};
        OK(carat_sync(r.session[0], ids.id, IDS, NULL, err));
        if (tensor) {
            assert_int_equal(carat_load(r.session[1], path, NULL, NULL, &why), CARAT_E_UNSUPPORTED);
            assert_non_null(strstr(why.message, "is a timeline of fast arithmetic, expected tensor"));
        }
        assert_int_equal(carat_save(r.session[0], path, NULL, 0, &why),
                         tensor ? CARAT_E_UNSUPPORTED : CARAT_OK);
        OK(carat_generation_create(&g, r.session[0], &go, err));
        assert_int_equal(carat_receipt_begin(&receipt, g, NULL, &why), tensor ? CARAT_E_ARGUMENT : CARAT_OK);
        if (!tensor)
            carat_receipt_close(receipt);
        OK(carat_generate(g, err));
        carat_generation_close(g);
        rig_close(&r);
    }
    assert_non_null(strstr(why.message, "the arithmetic is tensor"));
    unlink(path);
    free(ids.id);
}

int main(void)
{
    all = tier_is_deep();

    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logits_are_near_those_of_fast),
        cmocka_unit_test(few_rows_have_the_bits_of_fast),
        cmocka_unit_test(other_devices_and_two_arithmetics_are_refused),
        cmocka_unit_test(what_would_be_computed_again_is_refused),
    };
    return cmocka_run_group_tests_name("engine: tensor on cuda, emulated", tests, open_small, close_small);
}

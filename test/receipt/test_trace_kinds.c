/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace_kinds.c: traces of Gemma 3n, of Gemma 4 dense and with layer inputs, and of experts: every
 * operation of every layer that such a model has is told of, with the same hash whatever computes it, and a
 * bit that it gets wrong, once, is named by it, its layer and its position. */
#include "receipt/trace_util.h"

/* An answer to ids alone: these models have no template. */
static void open_kind(const char *name)
{
    char path[PATH_SIZE];
    int32_t ids[20];
    static const int32_t none;
    const carat_engine_options o = tiny_options(1, NULL, 0);
    carat_sampling sampling;
    carat_generation_options options;
    carat_session *session = NULL;
    carat_generation *g = NULL;
    carat_replay t;

    snprintf(path, sizeof path, "%s/vectors/models/%s", CT_TEST_DATA, name);
    OK(carat_model_open(&tiny, path, NULL, err));
    OK(carat_engine_create(&engine, tiny, &o, err));
    OK(carat_session_create(&session, engine, NULL, err));
    for (int i = 0; i < 20; i++)
        ids[i] = 3 + 7 * i % 50;
    carat_sampling_default(tiny, &sampling);
    sampling.temperature = 0;
    carat_generation_options_default(&options);
    options.sampling = &sampling;
    options.max_tokens = 20;
    options.stop_ids = &none;
    OK(carat_sync(session, ids, 20, NULL, err));
    OK(carat_generation_create(&g, session, &options, err));
    OK(carat_receipt_begin(&receipt, g, NULL, err));
    OK(carat_generate(g, err));
    OK(carat_receipt_finish(receipt, err));
    carat_generation_close(g);
    carat_session_close(session);
    carat_engine_close(engine);
    engine = engine_for(receipt, tiny_options(1, NULL, 0));
    right = traced(engine, FIRST, TRACED, &t);
    assert_true(t.confirmed);
}

static void close_kind(void)
{
    free(right.of);
    carat_engine_close(engine);
    carat_receipt_close(receipt);
    carat_model_close(tiny);
}

/* The operation that a trace calls so. */
static int op_named(const char *name)
{
    int op = 0;

    while (strcmp(ct_operations[op].name, name) != 0)
        op++;
    return op;
}

static bool tells_of(const char *name)
{
    for (int i = 0; i < right.n; i++)
        if (strcmp(right.of[i].operation, name) == 0)
            return true;
    return false;
}

static void plant_in_all(void)
{
    const int n = right.n / TRACED; /* operations */

    for (int i = 0; i < n - 1; i++) { /* the last one is the head, which has a test of its own */
        const carat_operation_hash *of = &right.of[i];
        struct fault f = {
            .op = op_named(of->operation), .layer = of->layer, .position = FIRST + i * 7 % TRACED};
        struct told t = with_fault(&f, plant);
        const int at = first_difference(&t);
        if (at < 0 || strcmp(t.of[at].operation, of->operation) != 0 || t.of[at].layer != of->layer ||
            t.of[at].position != FIRST + i * 7 % TRACED)
            fail_msg("%s of layer %d at position %d: found %s of layer %d at position %d", of->operation,
                     of->layer, FIRST + i * 7 % TRACED, at < 0 ? "none" : t.of[at].operation,
                     at < 0 ? 0 : t.of[at].layer, at < 0 ? 0 : t.of[at].position);
        free(t.of);
    }
    print_message("%d operations\n", n - 1);
}

/* What a kind has that the others have not. */
static void named_in(const char *name, const char *const *own)
{
    open_kind(name);
    for (; *own; own++)
        if (!tells_of(*own))
            fail_msg("%s: nothing is told of %s", name, *own);
    expect_the_same_in_every_way();
    plant_in_all();
    close_kind();
}

static void gemma_3n(void **state)
{
    static const char *const own[] = {"altup_predict", NULL};

    (void)state;
    named_in("gemma3n", own);
}

static void gemma_4_dense(void **state)
{
    static const char *const own[] = {"v_norm", "out_scale", NULL};

    (void)state;
    named_in("gemma4-dense", own);
}

static void gemma_4_with_layer_inputs(void **state)
{
    static const char *const own[] = {"inputs", NULL};

    (void)state;
    named_in("gemma4-e", own);
}

static void mixture_of_experts(void **state)
{
    static const char *const own[] = {"router", "experts", NULL};

    (void)state;
    named_in("gemma4-moe", own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gemma_3n),
        cmocka_unit_test(gemma_4_dense),
        cmocka_unit_test(gemma_4_with_layer_inputs),
        cmocka_unit_test(mixture_of_experts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_sizes.c: programs that were built with an older carat.h. Their structs end earlier: options that they
 * lack have their defaults, results are written as far as they fit and no byte further. A struct that is
 * larger than the library knows is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <carat_generate.h>
#include <carat_tools.h>
#include <cmocka.h>

static carat_model *tiny;
static carat_error err;

#define OK(call) assert_int_equal(call, CARAT_OK)

static int open_tiny(void **state)
{
    (void)state;
    return carat_model_open(&tiny, CT_TEST_DATA "/../../models/tiny", NULL, &err);
}

static int close_tiny(void **state)
{
    (void)state;
    carat_model_close(tiny);
    return 0;
}

/* carat_engine_options as a first version could have had it. */
struct old_options {
    size_t size;
    int threads, context;
};

static void old_options_are_completed(void **state)
{
    struct {
        struct old_options o;
        unsigned char behind[sizeof(carat_engine_options)];
    } old = {{sizeof(struct old_options), 1, 512}, {0}};
    carat_engine_options o;
    carat_plan by_old, by_new;

    (void)state;
    memset(old.behind, 0xff, sizeof old.behind); /* what lies there is somebody else's */
    carat_engine_options_default(&o);
    o.threads = 1;
    o.context = 512;
    carat_plan_default(&by_old);
    carat_plan_default(&by_new);
    OK(carat_plan_engine(tiny, (const carat_engine_options *)&old.o, &by_old, &err));
    OK(carat_plan_engine(tiny, &o, &by_new, &err));
    assert_memory_equal(&by_old, &by_new, sizeof by_old);

    old.o.context = 0;
    OK(carat_fit_engine(tiny, (carat_engine_options *)&old.o, (size_t)64 << 20,
                        &err)); /* writes into the struct */
    assert_true(old.o.context > 0);
    assert_int_equal(old.o.size, sizeof old.o);
    for (size_t i = 0; i < sizeof old.behind; i++)
        assert_int_equal(old.behind[i], 0xff);
}

/* Runs an old program's turn: engine, session and sampling with structs that end early. */
static void an_old_program_runs(void **state)
{
    struct old_options o = {sizeof o, 1, 512};
    struct {
        size_t size;
        uint32_t number;
    } session_options = {sizeof session_options, 3};
    struct {
        size_t size;
        float temperature;
        int top_k;
    } cold = {sizeof cold, 0, 1};
    carat_engine *engine;
    carat_session *session;
    carat_tokens ids = {0};
    int32_t first, second;

    (void)state;
    OK(carat_tokenize(tiny, "Turn on the lights", 18, CARAT_BOS, &ids, &err));
    OK(carat_engine_create(&engine, tiny, (const carat_engine_options *)&o, &err));
    OK(carat_session_create(&session, engine, (const carat_session_options *)&session_options, &err));
    OK(carat_sync(session, ids.ids, ids.n, NULL, &err));
    OK(carat_sample(session, (const carat_sampling *)&cold, &first,
                    &err)); /* top_p and the rest are the model's */
    carat_sampling greedy;
    carat_sampling_default(tiny, &greedy);
    greedy.temperature = 0;
    OK(carat_sample(session, &greedy, &second, &err));
    assert_int_equal(first, second);
    carat_tokens_free(&ids);
    carat_session_close(session);
    carat_engine_close(engine);
}

static void results_fit_into_old_structs(void **state)
{
    struct {
        size_t size;
        carat_model_kind kind;
        const char *architecture;
        unsigned char behind[64];
    } info = {offsetof(carat_model_info, container), CARAT_TOKENIZER_ONLY, NULL, {0}};

    (void)state;
    memset(info.behind, 0xee, sizeof info.behind);
    OK(carat_model_get_info(tiny, (carat_model_info *)&info, &err));
    assert_int_equal(info.size, offsetof(carat_model_info, container));
    assert_int_equal(info.kind, CARAT_GENERATOR);
    assert_string_equal(info.architecture, "gemma3");
    for (size_t i = 0; i < sizeof info.behind; i++)
        assert_int_equal(info.behind[i], 0xee);
}

/* A message of role and content alone is smaller than carat_message. */
static void arrays_of_old_elements(void **state)
{
    struct {
        const char *role, *content;
    } old[] = {{"user", "hello"}, {"assistant", "Hello! How can I help you?"}, {"user", "thanks"}};
    carat_message now[] = {
        {"user", "hello", NULL}, {"assistant", old[1].content, NULL}, {"user", "thanks", NULL}};
    char *by_old, *by_new;

    (void)state;
    OK(carat_render(tiny, (const carat_message *)old, sizeof *old, 3, NULL, NULL, &by_old, &err));
    OK(carat_render(tiny, now, sizeof *now, 3, NULL, NULL, &by_new, &err));
    assert_string_equal(by_old, by_new);
    carat_free(by_old);
    carat_free(by_new);
    assert_int_equal(carat_render(tiny, now, sizeof *now + 8, 1, NULL, NULL, &by_new, &err),
                     CARAT_E_ARGUMENT);
    assert_non_null(strstr(err.message, "carat_message has size"));
}

/* Statistics of an older program end earlier, and so does a table of costs that it gives. */
static void statistics_fit_into_old_structs(void **state)
{
    enum { SIZE = offsetof(carat_engine_stats, seconds) };
    carat_costs costs, got;
    carat_costs_default(&costs);
    carat_costs_default(&got);
    carat_engine_options o;
    carat_engine_options_default(&o);
    carat_engine *engine;
    unsigned char stats[sizeof(carat_engine_stats)];

    (void)state;
    costs.of[0][0][0] = (carat_cost){1, 2e6, 8};
    costs.of[0][0][1] = (carat_cost){2, 3e6, 8};
    costs.size = offsetof(carat_costs, of) + sizeof(carat_cost);
    o.costs = &costs;
    o.threads = 1;
    OK(carat_engine_create(&engine, tiny, &o, &err));
    OK(carat_engine_get_costs(engine, &got, &err));
    assert_true(got.of[0][0][0].nanoseconds > 1e6 && got.of[0][0][1].passes == 0);
    memset(stats, 0xee, sizeof stats);
    memcpy(stats, &(size_t){SIZE}, sizeof(size_t));
    OK(carat_engine_get_stats(engine, (carat_engine_stats *)(void *)stats, &err));
    assert_true(stats[sizeof(size_t)] == 0);
    for (size_t i = SIZE; i < sizeof stats; i++)
        assert_int_equal(stats[i], 0xee);
    carat_engine_close(engine);
}

static void larger_structs_are_refused(void **state)
{
    struct {
        carat_engine_options o;
        int newer;
    } larger = {{0}, 1};
    carat_plan plan;

    (void)state;
    carat_plan_default(&plan);
    larger.o.size = sizeof larger;
    assert_int_equal(carat_plan_engine(tiny, &larger.o, &plan, &err), CARAT_E_ARGUMENT);
    assert_non_null(strstr(err.message, "carat_engine_options has size"));
    plan.size = sizeof plan + 1;
    assert_int_equal(carat_plan_engine(tiny, NULL, &plan, &err), CARAT_E_ARGUMENT);
    plan.size = sizeof(size_t) - 1;
    assert_int_equal(carat_plan_engine(tiny, NULL, &plan, &err), CARAT_E_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_options_are_completed),       cmocka_unit_test(an_old_program_runs),
        cmocka_unit_test(results_fit_into_old_structs),    cmocka_unit_test(arrays_of_old_elements),
        cmocka_unit_test(statistics_fit_into_old_structs), cmocka_unit_test(larger_structs_are_refused),
    };
    return cmocka_run_group_tests(tests, open_tiny, close_tiny);
}

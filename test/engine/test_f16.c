/* SPDX-License-Identifier: Apache-2.0 */
/* test_f16.c: with activations in f16 every operation gives numbers of f16, also to those who listen, the
 * same bits at every level of kernels, for any threads and chunks; what does not fit is named. */
#include "engine/engine.h"

#include <carat_quality.h>
#include <math.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/base.h"
#include "engine/vector_util.h"

enum { N = 40, VOCAB = 1024 };

static carat_model *tiny;
static struct ids ids;
static carat_error why; /* of the last run */

static int open_model(void **state)
{
    (void)state;
    OK(carat_model_open(&tiny, CT_TEST_DATA "/../../models/tiny", NULL, err));
    ids = scattered_ids(N, VOCAB, 7);
    return 0;
}

static int close_model(void **state)
{
    (void)state;
    carat_model_close(tiny);
    free(ids.id);
    return 0;
}

struct way {
    int exact, threads, chunk;
    const char *isa;
};

static void open_engine(const struct way *w, carat_engine **engine, carat_session **session)
{
    carat_engine_options o;

    carat_engine_options_default(&o);
    o.exact = w->exact;
    o.threads = w->threads;
    o.chunk = w->chunk;
    o.isa = w->isa;
    o.context = 64;
    o.activations_f16 = 1;
    OK(carat_engine_create(engine, tiny, &o, err));
    OK(carat_session_create(session, *engine, NULL, err));
}

/* Evaluates ids. Returns the status; the message is in `why`. */
static carat_status evaluate(carat_engine *engine, carat_session *session, float *logits)
{
    carat_row row = {.session = session, .tokens = ids.id, .n = N, .logits = logits};
    return carat_step(engine, &row, sizeof row, 1, &why);
}

/* tap: NULL, or who listens. */
static void run(const struct way *w, carat_tap_callback tap, float *logits)
{
    carat_engine *engine;
    carat_session *session;

    open_engine(w, &engine, &session);
    if (tap)
        OK(carat_tap_begin(engine, tap, NULL, err));
    if (evaluate(engine, session, logits))
        fail_msg("%s", why.message);
    carat_session_close(session);
    carat_engine_close(engine);
}

static float logits[N * VOCAB];

static void every_level_gives_the_same(void **state)
{
    static const struct way ways[] = {
#if defined(__aarch64__)
        {1, 1, 0, "ref"},
        {0, 1, 0, "ref"},
        {1, 2, 7, NULL},
        {0, 2, 7, NULL},
#else
        {1, 1, 0, "ref"},
        {0, 1, 0, "ref"},
        {1, 3, 3, "avx2"},
        {0, 1, 7, "avx2"},
        {1, 2, 0, "avx512"},
        {0, 3, 1, "avx512"},
        {0, 2, 16, "vnni"},
        {1, 2, 5, NULL},
        {0, 1, 9, NULL},
#endif
    };
    /* As NUMERICS.md section 14 has them. */
    static const unsigned long long expected[] = {0xd3534cdb11bc22c5ull, 0x2cff8f9e3e263777ull};

    (void)state;
    for (size_t i = 0; i < CT_COUNT(ways); i++) {
        run(&ways[i], NULL, logits);
        const unsigned long long hash = XXH3_64bits(logits, sizeof logits);
        if (hash != expected[ways[i].exact])
            fail_msg("way %zu, exact %d: %016llx", i, ways[i].exact, hash);
    }
}

static int operations;

static void all_are_f16(void *user, const carat_tap *tap)
{
    (void)user;
    operations++;
    for (int i = 0; i < tap->rows * tap->width; i++)
        if (ct_f16_to_f32(ct_f32_to_f16(tap->values[i])) != tap->values[i])
            fail_msg("%s %s, layer %d: %.9g is no number of f16", tap->operation, tap->name, tap->layer,
                     (double)tap->values[i]);
}

static void listeners_hear_rounded_values(void **state)
{
    (void)state;
    operations = 0;
    run(&(struct way){.exact = 1, .chunk = 16}, all_are_f16, logits);
    assert_true(operations > 3 * 15 * 6);
    for (int i = 0; i < N * VOCAB; i++)
        assert_true(ct_f16_to_f32(ct_f32_to_f16(logits[i])) == logits[i]);
}

/* Makes two values too large for the sum of the next layer, the second one later. */
static void push(void *user, const carat_tap *tap)
{
    const int first = *(const int *)user;
    char name[2][32];

    for (int i = 0; i < 2; i++) {
        snprintf(name[i], sizeof name[i], "layer.%d", first + 2 * i);
        if (strcmp(tap->name, name[i]) == 0)
            tap->values[i * 5 * tap->width] = 1e30f; /* of the sixth row, which sees the first one's */
    }
}

static void overflow_is_named(void **state)
{
    carat_engine *engine;
    carat_session *session;
    char expected[200];
    int first;

    (void)state;
    open_engine(&(struct way){.exact = 1}, &engine, &session);
    OK(carat_tap_begin(engine, push, &first, err));
    for (first = 2; first >= 0; first -= 2) {
        assert_int_equal(evaluate(engine, session, logits), CARAT_E_NUMERIC);
        snprintf(
            expected, sizeof expected,
            "residual_norm in layer %d made 1e+30, and the largest number of f16 is 65504: with activations "
            "in f16 the logits hold NaN or infinity",
            first + 1);
        if (strcmp(why.message, expected) != 0)
            fail_msg("%s", why.message);
    }
    carat_tap_end(engine);
    if (evaluate(engine, session, logits))
        fail_msg("%s", why.message);
    carat_session_close(session);
    carat_engine_close(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_level_gives_the_same),
        cmocka_unit_test(listeners_hear_rounded_values),
        cmocka_unit_test(overflow_is_named),
    };
    return cmocka_run_group_tests_name("engine: activations in f16", tests, open_model, close_model);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace.c: a trace sees every verb of a pass and changes no bit. What it hears of values:
 * engine/test_tap.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/engine.h"

struct seen {
    int verbs, adds;
    int left; /* rows of the last verb */
    double seconds;
};

static void hook(void *user, struct ct_backend *b, const struct ct_event *event)
{
    struct seen *s = user;

    s->verbs++;
    s->seconds += event->seconds;
    s->left = b->verb.cost(b, event).rows;
    s->adds += strcmp(event->verb, "residual_norm") == 0;
}

/* Logits of every one of n rows, through the trace when seen is given. */
static float *run(const char *path, const int32_t *ids, int n, struct seen *seen, int *layers)
{
    carat_model *model = NULL;
    carat_engine *engine = NULL;
    carat_session *session = NULL;
    carat_error err;
    carat_engine_options o;
    carat_engine_options_default(&o);
    o.exact = 1;
    if (carat_model_open(&model, path, NULL, &err) || carat_engine_create(&engine, model, &o, &err) ||
        carat_session_create(&session, engine, NULL, &err))
        fail_msg("%s", err.message);
    struct ct_trace trace = {.hook = hook, .user = seen};
    if (seen)
        ct_trace_begin(engine->backend, &trace);
    float *logits = malloc((size_t)n * (size_t)model->config.n_vocab * sizeof *logits);
    assert_non_null(logits);
    carat_row row = {.session = session, .tokens = ids, .n = n, .logits = logits};
    if (carat_step(engine, &row, sizeof(carat_row), 1, &err))
        fail_msg("%s", err.message);
    *layers = model->config.n_layer;
    carat_session_close(session);
    carat_engine_close(engine);
    carat_model_close(model);
    return logits;
}

static void test_trace_changes_nothing(void **unused)
{
    const int32_t ids[] = {2, 105, 300, 301, 302, 107};
    struct seen seen = {0};
    int layers;

    (void)unused;
    float *plain = run(CT_TEST_DATA "/../../models/tiny", ids, 6, NULL, &layers);
    float *traced = run(CT_TEST_DATA "/../../models/tiny", ids, 6, &seen, &layers);
    assert_memory_equal(plain, traced, 6 * 1024 * sizeof *plain);
    /* begin_pass, embed, 14 verbs a layer, select_rows, final norm, logits */
    assert_int_equal(seen.verbs, 2 + 14 * layers + 1 + 2);
    assert_int_equal(seen.adds, 2 * layers);
    assert_int_equal(seen.left, 6);
    assert_true(seen.seconds > 0);
    free(plain);
    free(traced);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_trace_changes_nothing)};
    return cmocka_run_group_tests_name("backend: trace", tests, NULL, NULL);
}

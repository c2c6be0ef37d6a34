/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace.c: a trace sees every verb of a pass and changes no bit; through it, the residual stream of the
 * reference's taps is checked layer by layer where CARAT_SHARED names the vectors. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/engine.h"

struct seen {
    int verbs, adds, rows, hidden;
    int left;      /* rows of the last verb */
    float *stream; /* [layers + 1][rows][hidden]; NULL: only count */
    double seconds;
};

static void hook(void *user, struct ct_backend *b, const struct ct_event *event)
{
    struct seen *s = user;

    s->verbs++;
    s->seconds += event->seconds;
    s->left = b->verb.cost(b, event).rows;
    /* the second residual_norm of a layer leaves the residual stream; the last layer holds only selected
     * rows, all of them here */
    if (strcmp(event->verb, "residual_norm") == 0 && ++s->adds % 2 == 0 && s->stream)
        for (int row = 0; row < s->rows; row++)
            b->verb.copy_out(b,
                             s->stream + ((size_t)(s->adds / 2 - 1) * (size_t)s->rows + (size_t)row) *
                                             (size_t)s->hidden,
                             event->out[0], row);
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
    struct ct_trace trace = {hook, seen, NULL};
    if (seen) {
        ct_trace_begin(engine->backend, &trace);
        seen->hidden = model->config.hidden;
    }
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

/* The data of a NumPy file of version 1.0 with float32 in C order, after its header. */
static float *read_npy(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("%s: cannot be opened", path);
    uint8_t head[10];
    assert_int_equal(fread(head, 1, 10, f), 10);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    long begin = 10 + head[8] + 256 * head[9], end = ftell(f);
    *n = (size_t)(end - begin) / sizeof(float);
    float *x = malloc(*n * sizeof *x);
    assert_non_null(x);
    assert_int_equal(fseek(f, begin, SEEK_SET), 0);
    assert_int_equal(fread(x, sizeof *x, *n, f), *n);
    fclose(f);
    return x;
}

static void test_taps(void **unused)
{
    static const char *const cases[] = {"gemma1-f32", "gemma2-bf16", "gemma3-f32-old"};
    const char *shared = getenv("CARAT_SHARED");

    (void)unused;
    if (!shared)
        skip();
    for (size_t i = 0; i < CT_COUNT(cases); i++) {
        char path[4096], text[8192] = {0};
        const char *const prompts[] = {"p17", "wp1", "w2p1", "w", "w5", "p5", "long"};
        const char *found = NULL;
        for (size_t p = 0; p < CT_COUNT(prompts) && !found; p++) {
            snprintf(path, sizeof path, "%s/expect/%s/%s.json", shared, cases[i], prompts[p]);
            FILE *f = fopen(path, "rb");
            if (!f)
                continue;
            text[fread(text, 1, sizeof text - 1, f)] = 0;
            fclose(f);
            found = strstr(text, "\"taps\"") ? prompts[p] : NULL;
        }
        if (!found)
            fail_msg("%s: no prompt has taps", cases[i]);
        int32_t ids[512];
        int n = 0, layers;
        const char *at = strstr(text, "\"ids\"");
        assert_non_null(at);
        for (at = strchr(at, '[') + 1; n < 512; at++) {
            ids[n++] = (int32_t)strtol(at, (char **)&at, 10);
            at += strspn(at, " \n");
            if (*at != ',')
                break;
        }
        size_t count;
        snprintf(path, sizeof path, "%s/expect/%s/taps.npy", shared, cases[i]);
        float *right = read_npy(path, &count);
        struct seen seen = {.rows = n, .stream = malloc(count * sizeof(float))};
        assert_non_null(seen.stream);
        snprintf(path, sizeof path, "%s/models/%s", shared, cases[i]);
        free(run(path, ids, n, &seen, &layers));
        assert_int_equal(count, (size_t)(layers + 1) * (size_t)n * (size_t)seen.hidden);
        for (int layer = 0; layer < layers; layer++) {
            size_t size = (size_t)n * (size_t)seen.hidden;
            double worst = 0, top = 0;
            for (size_t k = layer * size; k < (layer + 1) * size; k++) {
                worst = fmax(worst, fabs((double)right[k] - seen.stream[k]));
                top = fmax(top, fabs((double)right[k]));
            }
            assert_true(worst <= 1e-4 * top); /* the bound that NUMERICS.md section 9 sets for logits */
        }
        free(right);
        free(seen.stream);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_trace_changes_nothing),
                                       cmocka_unit_test(test_taps)};
    return cmocka_run_group_tests_name("backend: trace", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_project.c: every output row of a product is computed by some thread, whatever the number of threads,
 * rows and outputs; and how far rows of activations lie apart. What a product is: test/kernel/. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/cpu/cpu_backend.h"
#include "kernel/layout/panel.h"

enum { COLS = 64, MOST_ROWS = 2500, TOKENS = 11 };

static uint32_t state_of_random = 1;

static float random_value(void)
{
    state_of_random = state_of_random * 1664525u + 1013904223u;
    return (float)(int32_t)(state_of_random >> 8 & 0xffff) / 32768 - 1;
}

static struct ct_weight random_weight(int rows)
{
    float *data = malloc((size_t)rows * COLS * sizeof *data);

    assert_non_null(data);
    for (int i = 0; i < rows * COLS; i++)
        data[i] = random_value();
    return (struct ct_weight){.type = CT_F32,
                              .layout = CT_LAYOUT_ROWS,
                              .rows = rows,
                              .cols = COLS,
                              .row_bytes = COLS * sizeof *data,
                              .scale = 1,
                              .data = data};
}

struct rig {
    struct ct_backend *b;
    ct_mat in, out[3], ffn;
};

static struct rig rig_open(int threads, int max_ffn)
{
    const struct ct_attn attn = {.head_dim = COLS, .rotated = COLS / 2, .rope_base = 10000, .rope_factor = 1};
    const struct ct_backend_options o = {
        .threads = threads,
        .norm_eps = 1e-6f,
        .max_input = COLS,
        .max_ffn = max_ffn,
        .max_heads = 1,
        .max_head_dim = COLS,
        .n_vocab = MOST_ROWS,
        .attn = {attn, attn},
    };
    struct rig r;
    carat_error err;

    assert_int_equal(ct_backend_create_cpu(&r.b, &o, &err), CARAT_OK);
    ct_cpu(r.b)->widest[CT_INPUT_F32] = COLS; /* as a planned weight says */
    for (int reserved = 0; reserved <= 1; reserved++) {
        r.b->verb.lay_out(r.b, &(struct ct_extent){TOKENS, 256, 1});
        r.in = r.b->verb.alloc(r.b, TOKENS, COLS);
        for (int i = 0; i < 3; i++)
            r.out[i] = r.b->verb.alloc(r.b, TOKENS, MOST_ROWS);
        r.ffn = r.b->verb.alloc(r.b, TOKENS, MOST_ROWS);
        if (!reserved)
            assert_int_equal(r.b->verb.reserve(r.b, &err), CARAT_OK);
    }
    return r;
}

/* Sets in, and everything that is computed to what no product gives. */
static void rig_fill(struct rig *r)
{
    for (int t = 0; t < TOKENS; t++) {
        for (int i = 0; i < COLS; i++)
            ct_row(r->in, t)[i] = random_value();
        for (int i = 0; i < 3; i++)
            memset(ct_row(r->out[i], t), 0xff, MOST_ROWS * sizeof(float));
        memset(ct_row(r->ffn, t), 0xff, MOST_ROWS * sizeof(float));
    }
}

/* One product by one call of the kernel; the rest of a row stays as rig_fill made it. */
static void want(float *out, const struct rig *r, const struct ct_weight *w, int n)
{
    const struct ct_kernel *k = &ct_cpu(r->b)->kernel;
    struct ct_prepared p = {.n = n, .cols = COLS};
    float *scratch = malloc(CT_SCRATCH(COLS) * sizeof *scratch);

    p.value = aligned_alloc(64, (TOKENS + CT_LANES) * COLS * sizeof(float));
    assert_true(p.value && scratch);
    for (int t = 0; t < n; t += CT_LANES)
        k->prepare_input(&p, CT_INPUT_F32, r->in.handle, (size_t)r->in.stride, t, t + CT_LANES);
    memset(out, 0xff, (size_t)TOKENS * MOST_ROWS * sizeof *out);
    k->project(out, MOST_ROWS, w, 0, w->rows, &p, CT_INPUT_F32, scratch, NULL);
    free(p.value);
    free(scratch);
}

static void same(const float *wanted, ct_mat got, int n)
{
    for (int t = 0; t < n; t++)
        assert_memory_equal(ct_row(got, t), wanted + (size_t)t * MOST_ROWS, MOST_ROWS * sizeof(float));
}

static void check(struct rig *r, const int rows[3], int n)
{
    static const int32_t zero[TOKENS];
    static const struct ct_seen seen[TOKENS];
    bool wanted[TOKENS];
    struct ct_weight w[3];
    float *out = malloc((size_t)TOKENS * MOST_ROWS * sizeof *out), *to[TOKENS];
    float *logits = malloc((size_t)TOKENS * MOST_ROWS * sizeof *logits);

    assert_true(out && logits);
    for (int t = 0; t < TOKENS; t++) {
        wanted[t] = true;
        to[t] = logits + (size_t)t * MOST_ROWS;
    }
    memset(logits, 0xff, (size_t)TOKENS * MOST_ROWS * sizeof *logits);
    for (int i = 0; i < 3; i++)
        w[i] = random_weight(rows[i]);
    rig_fill(r);
    begin_pass(r->b, &(struct ct_rows){n, zero, zero, zero, {seen, seen}, wanted, false},
               &(struct ct_watch){0});
    project_qkv(r->b, r->out[0], r->out[1], r->out[2], r->in, &w[0], &w[1], &w[2]);
    for (int i = 0; i < 3; i++) {
        want(out, r, &w[i], n);
        same(out, r->out[i], n);
    }
    project_logits(r->b, r->in, 0, n, to, &w[0], 0);
    want(out, r, &w[0], n);
    assert_memory_equal(logits, out, (size_t)n * MOST_ROWS * sizeof *out);
    if (ct_cpu(r->b)->o.max_ffn < rows[0]) {
        assert_true(end_pass(r->b));
        goto done;
    }
    project_geglu(r->b, r->ffn, r->in, &w[0], &w[0]);
    for (int t = 0; t < n; t++)
        ct_cpu(r->b)->kernel.geglu(out + (size_t)t * MOST_ROWS, logits + (size_t)t * MOST_ROWS, rows[0]);
    same(out, r->ffn, n);
    assert_true(end_pass(r->b));
done:
    for (int i = 0; i < 3; i++)
        free((void *)(uintptr_t)w[i].data);
    free(out);
    free(logits);
}

static void every_row_is_computed_once_at_least(void **state)
{
    static const int rows[][3] = {{1, 1, 1},      {63, 64, 65},     {130, 1, 200},    {192, 256, 255},
                                  {1024, 256, 1}, {2049, 1000, 31}, {2500, 2500, 640}};
    static const int threads[] = {1, 2, 3, 7}, tokens[] = {1, 8, TOKENS};

    (void)state;
    for (size_t t = 0; t < CT_COUNT(threads); t++) {
        struct rig r = rig_open(threads[t], MOST_ROWS);
        for (size_t i = 0; i < CT_COUNT(rows); i++)
            for (size_t n = 0; n < CT_COUNT(tokens); n++)
                check(&r, rows[i], tokens[n]);
        r.b->verb.destroy(r.b);
    }
}

/* Logits of some rows are computed beside where they belong, as many as fit. */
static void logits_need_no_wide_layer(void **state)
{
    static const int rows[3] = {MOST_ROWS, 1, 1};
    struct rig r = rig_open(2, CT_PANEL_ROWS);

    (void)state;
    for (int n = 1; n <= TOKENS; n++)
        check(&r, rows, n);
    r.b->verb.destroy(r.b);
}

/* A column of a matrix must not fall into one set of the first cache. */
static void rows_lie_on_lines_and_never_pages_apart(void **state)
{
    (void)state;
    for (int cols = 1; cols < 22000; cols++) {
        int stride = ct_stride(cols);
        assert_true(stride >= cols && stride <= cols + 31);
        assert_int_equal(stride % 16, 0);
        assert_int_not_equal(stride * (int)sizeof(float) % 4096, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_computed_once_at_least),
        cmocka_unit_test(logits_need_no_wide_layer),
        cmocka_unit_test(rows_lie_on_lines_and_never_pages_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

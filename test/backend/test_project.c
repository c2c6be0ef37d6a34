/* SPDX-License-Identifier: Apache-2.0 */
/* test_project.c: every output row of a product is computed by some thread, whatever the number of threads,
 * rows and outputs, and once where two outputs have the same weight; what is prepared for the next product
 * gives what floats give; and how far rows of activations lie apart. What a product is: test/kernel/. */
#include <setjmp.h>
#include <stdarg.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/cpu/cpu_backend.h"
#include "layout/panel.h"

enum { COLS = 64, MOST_ROWS = 2500, TOKENS = 24 };

static uint32_t state_of_random = 1;

static float random_value(void)
{
    state_of_random = state_of_random * 1664525u + 1013904223u;
    return (float)(int32_t)(state_of_random >> 8 & 0xffff) / 32768 - 1;
}

static struct ct_weight random_weight(int rows, int cols)
{
    float *data = malloc((size_t)rows * (size_t)cols * sizeof *data);

    assert_non_null(data);
    for (int i = 0; i < rows * cols; i++)
        data[i] = random_value();
    return (struct ct_weight){.type = CT_F32,
                              .layout = CT_LAYOUT_ROWS,
                              .rows = rows,
                              .cols = cols,
                              .row_bytes = (size_t)cols * sizeof *data,
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
        .max_input = MOST_ROWS,
        .max_ffn = max_ffn,
        .max_heads = 1,
        .max_head_dim = COLS,
        .n_vocab = MOST_ROWS,
        .attn = {attn, attn},
    };
    struct rig r;
    carat_error err;

    assert_int_equal(ct_backend_create_cpu(&r.b, &o, &err), CARAT_OK);
    ct_cpu(r.b)->widest[CT_INPUT_F32] = MOST_ROWS; /* as planned weights say */
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
        k->prepare_input(&p, CT_INPUT_F32, ct_row(r->in, t), (size_t)r->in.stride,
                         ct_input_of_tokens(&p, t, t + CT_LANES));
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

/* Random ranges of whole panels; of the last panel of w what it has. */
static int some_ranges(const struct ct_weight *w, struct ct_range *range)
{
    int n = 0, at = 0;

    for (int first = 0, end; first < w->rows; first = end) {
        int panels = 1 + (int)(fabsf(random_value()) * 9);
        end = CT_MIN(first + CT_PANEL_ROWS * panels, w->rows);
        if (random_value() > 0 && (n || end < w->rows))
            continue;
        range[n++] = (struct ct_range){first, end, at};
        at += end - first;
    }
    return n;
}

/* What ranges of rows give are the values of a whole product, and nothing is written beside them. */
static void check_some(struct rig *r, const struct ct_weight *w, int n, const float *whole)
{
    struct ct_range range[MOST_ROWS / CT_PANEL_ROWS + 1];
    float *some = malloc((size_t)TOKENS * MOST_ROWS * sizeof *some), *to[TOKENS];
    int n_ranges = some_ranges(w, range);

    assert_non_null(some);
    for (int t = 0; t < TOKENS; t++)
        to[t] = some + (size_t)t * MOST_ROWS;
    memset(some, 0xff, (size_t)TOKENS * MOST_ROWS * sizeof *some);
    for (int first = 0; first < n; first += n / 2 + 1) { /* in two slices */
        int slice = CT_MIN(n / 2 + 1, n - first);
        project_some(r->b, r->in, first, slice, to + first, w, n_ranges, range);
    }
    for (int t = 0; t < n; t++) {
        const struct ct_range *last = &range[n_ranges - 1];
        const uint32_t untouched = 0xffffffff;
        for (int i = 0; i < n_ranges; i++)
            assert_memory_equal(to[t] + range[i].at, whole + (size_t)t * MOST_ROWS + range[i].first,
                                (size_t)(range[i].end - range[i].first) * sizeof *some);
        if (last->at + last->end - last->first < MOST_ROWS)
            assert_memory_equal(to[t] + last->at + last->end - last->first, &untouched, sizeof untouched);
    }
    free(some);
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
        w[i] = random_weight(rows[i], COLS);
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
    check_some(r, &w[0], n, out);
    if (ct_cpu(r->b)->o.max_ffn < rows[0]) {
        assert_true(end_pass(r->b));
        goto done;
    }
    project_geglu(r->b, r->ffn, r->in, &w[0], &w[0], &(struct ct_weight){0});
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

static _Atomic int multiplied; /* rows of weights */

static void project_counted(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                            const struct ct_prepared *x, enum ct_input form, float *scratch,
                            const struct ct_panels_next *next)
{
    struct ct_kernel k;
    const struct ct_cpu none = {0};

    assert_true(ct_kernel_choose(&k, &none, "ref"));
    multiplied += r1 - r0;
    k.project(out, ldo, w, r0, r1, x, form, scratch, next);
}

static void note_bytes(void *user, struct ct_backend *b, const struct ct_event *event)
{
    if (strcmp(event->verb, "project") == 0)
        *(uint64_t *)user = b->verb.cost(b, event).bytes;
}

/* Of layers whose V is K: the same matrix is multiplied, and counted, once. One that only begins where the
 * other does, or has another factor, is not the same. */
static void equal_weights_are_multiplied_once(void **state)
{
    static const int32_t zero[TOKENS];
    static const struct ct_seen seen[TOKENS];
    static const bool wanted[TOKENS];
    static const int tokens[] = {1, 8, 9, TOKENS};
    float *out = malloc((size_t)TOKENS * MOST_ROWS * sizeof *out);
    uint64_t bytes = 0;

    (void)state;
    assert_non_null(out);
    for (int threads = 1; threads <= 3; threads++)
        for (size_t i = 0; i < 3 * CT_COUNT(tokens); i++) {
            const int n = tokens[i / 3];
            struct ct_trace trace = {.hook = note_bytes, .user = &bytes};
            struct rig r = rig_open(threads, MOST_ROWS);
            struct ct_weight w[] = {random_weight(500, COLS), random_weight(333, COLS), {0}};
            w[2] = w[1];
            w[2].rows -= i % 3 == 1;
            w[2].scale += i % 3 == 2;
            rig_fill(&r);
            ct_cpu(r.b)->kernel.project = project_counted;
            multiplied = 0;
            ct_trace_begin(r.b, &trace);
            begin_pass(r.b, &(struct ct_rows){n, zero, zero, zero, {seen, seen}, wanted, false},
                       &(struct ct_watch){0});
            project_qkv(r.b, r.out[0], r.out[1], r.out[2], r.in, &w[0], &w[1], &w[2]);
            assert_true(end_pass(r.b));
            const int once = w[0].rows + w[1].rows, all = once + (i % 3 ? w[2].rows : 0);
            assert_int_equal(multiplied, all);
            assert_int_equal(bytes, (size_t)all * COLS * sizeof(float));
            for (int k = 0; k < 3; k++) {
                want(out, &r, &w[k], n);
                same(out, r.out[k], n);
            }
            r.b->verb.destroy(r.b);
            for (int k = 0; k < 2; k++)
                free((void *)(uintptr_t)w[k].data);
        }
    free(out);
}

static void hear_nothing(void *user, struct ct_backend *b, const struct ct_event *event)
{
    (void)user, (void)b, (void)event;
}

/* down of gelu(gate) * up, into out, with or without being told of down before; ffn is what a listener sees
 * between. */
static void feed_forward(struct rig *r, const struct ct_weight w[3], int n, bool told, bool heard, float *ffn,
                         float *out)
{
    static const int32_t zero[TOKENS];
    static const struct ct_seen seen[TOKENS];
    static const bool wanted[TOKENS];
    const struct ct_weight none = {0};
    struct ct_trace trace = {.hook = hear_nothing, .reads = heard};

    ct_trace_begin(r->b, &trace);
    begin_pass(r->b, &(struct ct_rows){n, zero, zero, zero, {seen, seen}, wanted, false},
               &(struct ct_watch){0});
    project_geglu(r->b, r->ffn, r->in, &w[0], &w[1], told ? &w[2] : &none);
    for (int t = 0; t < n; t++)
        memcpy(ffn + (size_t)t * MOST_ROWS, ct_row(r->ffn, t), (size_t)w[0].rows * sizeof *ffn);
    project(r->b, r->out[0], (ct_mat){r->ffn.handle, w[0].rows, r->ffn.stride}, &w[2]);
    for (int t = 0; t < n; t++)
        memcpy(out + (size_t)t * COLS, ct_row(r->out[0], t), COLS * sizeof *out);
    assert_true(end_pass(r->b));
    assert_true(ct_trace_end(r->b, &trace));
}

/* The result of many rows may lie as its reader wants it, but not where somebody looks at it. */
static void a_reader_gets_what_floats_give(void **state)
{
    static const int rows[] = {1, 31, 64, 100, 640, MOST_ROWS};
    struct rig r = rig_open(3, MOST_ROWS);
    static float plain[TOKENS * MOST_ROWS], heard[TOKENS * MOST_ROWS], kept[TOKENS * MOST_ROWS];
    float want[TOKENS * COLS], got[TOKENS * COLS];
    int prepared = 0;

    (void)state;
    for (size_t i = 0; i < CT_COUNT(rows); i++) {
        const struct ct_weight w[] = {random_weight(rows[i], COLS), random_weight(rows[i], COLS),
                                      random_weight(COLS, rows[i])};
        for (int n = 1; n <= TOKENS; n++) {
            rig_fill(&r);
            memset(plain, 0, sizeof plain);
            memset(heard, 0, sizeof heard);
            memset(kept, 0, sizeof kept);
            feed_forward(&r, w, n, false, false, plain, want);
            feed_forward(&r, w, n, true, true, heard, got);
            assert_memory_equal(heard, plain, sizeof plain);
            assert_memory_equal(got, want, (size_t)n * COLS * sizeof *got);
            rig_fill(&r);
            feed_forward(&r, w, n, false, false, plain, want);
            feed_forward(&r, w, n, true, false, kept, got);
            assert_memory_equal(got, want, (size_t)n * COLS * sizeof *got);
            prepared += memcmp(kept, plain, sizeof plain) != 0;
        }
        for (int k = 0; k < 3; k++)
            free((void *)(uintptr_t)w[k].data);
    }
    assert_true(prepared > 0); /* else nothing was tried */
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
        cmocka_unit_test(equal_weights_are_multiplied_once),
        cmocka_unit_test(a_reader_gets_what_floats_give),
        cmocka_unit_test(rows_lie_on_lines_and_never_pages_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

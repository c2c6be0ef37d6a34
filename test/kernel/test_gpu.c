/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpu.c: the kernels for GPUs, as host C on fibres (test/emu), against ref, bit for bit: with hard
 * values, and with threads that take turns in three orders. Products: test_gpu_products.c; attention:
 * test_gpu_attend.c; what is read of logits: test_gpu_best.c. What a compiler makes of them for a device, and
 * the backend around them, are left to others. */
#include "gpu_util.h"

enum { TOKENS = 3 };

/* ---- rows ---- */

static void norms_have_the_bits_of_ref(void **unused)
{
    enum { PARTS = 3, MOST = 5376 };
    static const int lengths[] = {1, 31, 64, 256, 257, 640, MOST};

    (void)unused;
    state = 4711;
    for (size_t l = 0; l < CT_COUNT(lengths); l++) {
        const int n = lengths[l];
        float *x = values((size_t)(PARTS * n), hard), *w = values((size_t)n, mild),
              *before = values((size_t)(PARTS * n), mild);
        float *out = room((size_t)(PARTS * n) * sizeof(float)), *expected = room((size_t)n * sizeof(float)),
              *normed = room((size_t)(PARTS * n) * sizeof(float));
        for (ORDERS(order))
            for (int add = 0; add < 2; add++) {
                memcpy(normed, x, (size_t)(PARTS * n) * sizeof(float));
                memcpy(out, add ? before : x, (size_t)(PARTS * n) * sizeof(float));
                fibre_run(norm_thread,
                          &(struct ct_gpu_norm){
                              .out = out, .x = add ? normed : out, .w = w, .n = n, .add = add, .eps = 1e-6f},
                          PARTS, 1);
                for (int p = 0; p < PARTS; p++) {
                    ref.norm(expected, x + p * n, w, n, 1e-6f);
                    if (add) {
                        float *sum = before + p * n, *made = expected;
                        assert_memory_equal(normed + p * n, expected, (size_t)n * sizeof(float));
                        for (int i = 0; i < n; i++)
                            made[i] = sum[i] + made[i];
                    }
                    assert_memory_equal(out + p * n, expected, (size_t)n * sizeof(float));
                }
            }
        free(x);
        free(w);
        free(before);
        free(out);
        free(expected);
        free(normed);
    }
}

/* Streams of one row and what a layer made of the first, behind one another. */
static void check_altup(int n, bool corrects, const float *rows, const float *norm, const float *router,
                        const float *coefs, const float *scale)
{
    const size_t bytes = (size_t)n * sizeof(float);
    float *got = room((CT_STREAMS + 1) * bytes), *expected = room((CT_STREAMS + 1) * bytes),
          *y = got + CT_STREAMS * n;
    float coef[CT_STREAMS * CT_STREAMS], *made = expected + CT_STREAMS * n;
    float *const stream[CT_STREAMS] = {expected, expected + n, expected + 2 * n, expected + 3 * n};
    const struct ct_altup w = {norm, router, coefs, corrects ? CT_STREAMS : CT_STREAMS * CT_STREAMS};

    memcpy(got, rows, (CT_STREAMS + 1) * bytes);
    memcpy(expected, rows, (CT_STREAMS + 1) * bytes);
    fibre_run(altup_thread,
              &(struct ct_gpu_altup){.y = y,
                                     .stream = {got, got + n, got + 2 * n, got + 3 * n},
                                     .norm = norm,
                                     .router = router,
                                     .coefs = coefs,
                                     .scale = scale,
                                     .n = n,
                                     .corrects = corrects,
                                     .eps = 1e-6f},
              1, 1);
    ref.altup_coefs(coef, corrects ? made : expected, &w, n, 1e-6f);
    if (corrects)
        ref.altup_correct(stream, made, coef, n);
    else
        ref.altup_predict(stream, coef, n);
    for (int i = 0; i < n; i++)
        made[i] = scale ? expected[i] * scale[i] : expected[i];
    assert_memory_equal(got, expected, (CT_STREAMS + 1) * bytes);
    free(got);
    free(expected);
}

static void streams_have_the_bits_of_ref(void **unused)
{
    static const int lengths[] = {2, 33, 96, 2048, 2600};

    (void)unused;
    state = 2026;
    for (size_t l = 0; l < CT_COUNT(lengths); l++) {
        const int n = lengths[l];
        const size_t bytes = (size_t)n * sizeof(float);
        float *rows = values((CT_STREAMS + 1) * (size_t)n, mild), *norm = values((size_t)n, mild),
              *router = values(CT_STREAMS * (size_t)n, mild), *scale = values((size_t)n, mild),
              *coefs = values(CT_STREAMS * CT_STREAMS * CT_STREAMS, mild), *x = room(bytes), *y = room(bytes);
        for (ORDERS(order)) {
            check_altup(n, false, rows, norm, router, coefs, NULL);
            check_altup(n, true, rows, norm, router, coefs, scale);
            memcpy(x, rows, bytes);
            memcpy(y, rows, bytes);
            ref.scale(x, order ? 1 : 0x1p-12f, n); /* as small as a row is taken for at least, and below */
            ref.scale(y, order ? 1 : 0x1p-12f, n);
            fibre_run(altup_match_thread, &(struct ct_gpu_altup_match){.y = x, .x = rows + n, .n = n}, 1, 1);
            ref.altup_match(y, rows + n, n);
            assert_memory_equal(x, y, bytes);
            fibre_run(cutoff_thread, &(struct ct_gpu_cutoff){.x = x, .n = n, .deviations = 0.3f}, 1, 1);
            ref.cutoff(y, 0.3f, n);
            assert_memory_equal(x, y, bytes);
            fibre_run(add_rows_thread, &(struct ct_gpu_add_rows){.x = x, .from = rows, .n = n, .times = 0.7f},
                      (n + 255) / 256, 1);
            ref.add(y, rows, n);
            ref.scale(y, 0.7f, n);
            assert_memory_equal(x, y, bytes);
        }
        free(rows);
        free(norm);
        free(router);
        free(scale);
        free(coefs);
        free(x);
        free(y);
    }
}

static void vectors_have_the_bits_of_ref(void **unused)
{
    enum { N = 700, HEADS = 5, DIM = 128, PAIRS = 50 };

    (void)unused;
    state = 99;
    float *gate = values(N, mild), *up = values(N, hard), *other = room(N * sizeof(float));
    memcpy(other, gate, N * sizeof(float));
    fibre_order = FIBRE_DOWN;
    fibre_run(geglu_thread, &(struct ct_gpu_geglu){.gate = gate, .up = up, .n = N}, 3, 1);
    ref.geglu(other, up, N);
    assert_memory_equal(gate, other, N * sizeof(float));

    fibre_run(scale_thread, &(struct ct_gpu_scale){.x = gate, .by = up, .n = N}, 3, 1);
    ref.scale(other, up[0], N);
    assert_memory_equal(gate, other, N * sizeof(float));

    float *x = values(HEADS * DIM, mild), *cosine = values(PAIRS, mild), *sine = values(PAIRS, mild);
    float *y = room(HEADS * DIM * sizeof(float));
    memcpy(y, x, HEADS * DIM * sizeof(float));
    fibre_run(rope_thread,
              &(struct ct_gpu_rope){
                  .x = x, .cosine = cosine, .sine = sine, .heads = HEADS, .dim = DIM, .pairs = PAIRS},
              1, 1);
    for (int h = 0; h < HEADS; h++)
        ref.rope(y + h * DIM, cosine, sine, PAIRS, DIM);
    assert_memory_equal(x, y, HEADS * DIM * sizeof(float));
    free(gate);
    free(up);
    free(other);
    free(x);
    free(y);
    free(cosine);
    free(sine);
}

static void logits_are_capped_and_looked_at(void **unused)
{
    enum { N = 600 };
    const int32_t origin[TOKENS] = {2, 0, 1};

    (void)unused;
    state = 5;
    float *x = values(TOKENS * N, mild), *expected = room(TOKENS * N * sizeof(float));
    for (int capped = 0; capped < 2; capped++) {
        int32_t bad[TOKENS] = {0};
        x[N + 599] = NAN; /* of the row that was the first of the pass */
        memcpy(expected, x, TOKENS * N * sizeof(float));
        fibre_run(logits_thread,
                  &(struct ct_gpu_logits){
                      .x = x, .origin = origin, .bad = bad, .ldx = N, .n = N, .cap = capped ? 30.0f : 0.0f},
                  3, TOKENS);
        for (int t = 0; t < TOKENS; t++)
            assert_int_equal(bad[t], t == 0);
        if (capped)
            ref.softcap(expected, 30.0f, TOKENS * N);
        expected[N + 599] = x[N + 599] = 0; /* which NaN it is does not matter */
        assert_memory_equal(x, expected, TOKENS * N * sizeof(float));
    }
    free(x);
    free(expected);
}

static void rows_that_go_on_close_up(void **unused)
{
    enum { N = 300, LD = 320, ALL = 6 };
    const int32_t from[] = {1, 2, 5};
    float x[ALL * LD];

    (void)unused;
    for (ORDERS(order)) {
        for (int i = 0; i < ALL * LD; i++)
            x[i] = (float)i;
        fibre_run(select_rows_thread,
                  &(struct ct_gpu_select){.x = x, .from = from, .ldx = LD, .cols = N, .n = 3}, 2, 1);
        for (int r = 0; r < ALL; r++)
            for (int i = 0; i < N; i++)
                assert_true(x[r * LD + i] == (float)((r < 3 ? from[r] : r) * LD + i));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_have_the_bits_of_ref), cmocka_unit_test(norms_have_the_bits_of_ref),
        cmocka_unit_test(vectors_have_the_bits_of_ref), cmocka_unit_test(logits_are_capped_and_looked_at),
        cmocka_unit_test(rows_that_go_on_close_up),
    };
    return cmocka_run_group_tests_name("kernel: gpu, emulated", tests, choose, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_altup.c: the verbs of Gemma 3n do with every current row what the kernels do with one, whatever the
 * number of threads, and nothing with rows that are not current. What the kernels do: test/kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "backend/cpu/cpu_backend.h"

enum { ROWS = 11, MOST = 13, COLS = 40, COEFS = CT_STREAMS * CT_STREAMS };

static void done_with(void *user, const void *p, size_t bytes)
{
    (void)user;
    (void)p;
    (void)bytes;
}

/* A number that tells row and column. */
static float value(int matrix, int row, int col)
{
    return (float)((matrix * 31 + row * 17 + col * 7) % 64) / 16 - 2;
}

static float norms[COLS], router[CT_STREAMS][COLS], coefs[COEFS][CT_STREAMS], scales[COLS];
#define VECTOR(values)                                                                                       \
    {                                                                                                        \
        CT_F32, CT_LAYOUT_ROWS, 1, sizeof(values) / sizeof(float), sizeof(values), values, 1, false, NULL    \
    }
static const struct ct_weight norm_w = VECTOR(norms), router_w = VECTOR(router), predict_w = VECTOR(coefs),
                              scale_w = VECTOR(scales), no_scale = {.type = CT_F32};
static const struct ct_weight correct_w = {
    CT_F32, CT_LAYOUT_ROWS, 1, CT_STREAMS *CT_STREAMS, CT_STREAMS * sizeof *coefs, coefs, 1, false, NULL};

struct place {
    struct ct_backend *b;
    ct_mat y, stream[CT_STREAMS];
};

static void fill(const struct place *p)
{
    for (int row = 0; row < MOST; row++)
        for (int col = 0; col < COLS; col++) {
            for (int i = 0; i < CT_STREAMS; i++)
                ct_row(p->stream[i], row)[col] = value(i, row, col);
            ct_row(p->y, row)[col] = value(CT_STREAMS, row, col);
        }
}

/* What the verbs did with y and the streams against the kernels on the same rows. */
static void compare(const struct place *p, int what)
{
    const struct ct_kernel *k = &ct_cpu(p->b)->kernel;

    for (int row = 0; row < MOST; row++) {
        float x[CT_STREAMS][COLS], y[COLS], coef[COEFS];
        float *const stream[] = {x[0], x[1], x[2], x[3]};
        for (int col = 0; col < COLS; col++) {
            for (int i = 0; i < CT_STREAMS; i++)
                x[i][col] = value(i, row, col);
            y[col] = value(CT_STREAMS, row, col);
        }
        if (row < ROWS && what == 0) {
            k->altup_coefs(coef, x[0], &(struct ct_altup){norms, router[0], coefs[0], COEFS}, COLS, 1e-6f);
            k->altup_predict(stream, coef, COLS);
            memcpy(y, x[0], sizeof y);
        } else if (row < ROWS && what <= 2) {
            k->altup_coefs(coef, y, &(struct ct_altup){norms, router[0], coefs[0], CT_STREAMS}, COLS, 1e-6f);
            k->altup_correct(stream, y, coef, COLS);
            for (int col = 0; col < COLS; col++)
                y[col] = what == 1 ? x[0][col] * scales[col] : x[0][col];
        } else if (row < ROWS && what == 3) {
            k->altup_match(y, x[1], COLS);
        } else if (row < ROWS) {
            k->cutoff(y, 1.5f, COLS);
        }
        assert_memory_equal(ct_row(p->y, row), y, sizeof y);
        for (int i = 0; i < CT_STREAMS; i++)
            assert_memory_equal(ct_row(p->stream[i], row), x[i], sizeof x[i]);
    }
}

static void rows_by_themselves(void **state)
{
    static const int32_t number[MOST] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, sequence[MOST] = {0};
    static const struct ct_seen all[MOST];
    static const bool wanted[MOST];

    (void)state;
    for (int i = 0; i < COLS; i++) {
        norms[i] = value(7, 0, i);
        scales[i] = value(8, 0, i);
        for (int j = 0; j < CT_STREAMS; j++)
            router[j][i] = value(9, j, i) * 9;
    }
    for (int i = 0; i < COEFS; i++)
        for (int j = 0; j < CT_STREAMS; j++)
            coefs[i][j] = value(10, i, j);
    for (int threads = 1; threads <= 3; threads++) {
        const struct ct_backend_options o = {
            .threads = threads,
            .norm_eps = 1e-6f,
            .max_input = COLS,
            .max_ffn = COLS,
            .max_heads = 1,
            .max_head_dim = 8,
            .n_vocab = COLS,
            .attn = {{.head_dim = 8, .rotated = 4, .rope_base = 10000, .rope_factor = 1},
                     {.head_dim = 8, .rotated = 4, .rope_base = 10000, .rope_factor = 1}},
            .done_with = done_with,
        };
        struct place p;
        carat_error err;
        assert_int_equal(ct_backend_create_cpu(&p.b, &o, &err), CARAT_OK);
        for (int reserved = 0; reserved <= 1; reserved++) {
            p.b->verb.lay_out(p.b, &(struct ct_extent){MOST, 256, 1});
            p.y = p.b->verb.alloc(p.b, MOST, COLS);
            for (int i = 0; i < CT_STREAMS; i++)
                p.stream[i] = p.b->verb.alloc(p.b, MOST, COLS);
            if (!reserved)
                assert_int_equal(p.b->verb.reserve(p.b, &err), CARAT_OK);
        }
        begin_pass(p.b, &(struct ct_rows){ROWS, number, number, sequence, {all, all}, wanted, false},
                   &(struct ct_watch){0});
        for (int what = 0; what <= 4; what++) {
            fill(&p);
            if (what == 0)
                altup_predict(p.b, p.y, p.stream, &norm_w, &router_w, &predict_w);
            else if (what <= 2)
                altup_correct(p.b, p.y, p.stream, &norm_w, &router_w, &correct_w,
                              what == 1 ? &scale_w : &no_scale);
            else if (what == 3)
                altup_match(p.b, p.y, p.stream[1]);
            else
                cutoff(p.b, p.y, 1.5f);
            compare(&p, what);
        }
        assert_true(end_pass(p.b));
        p.b->verb.destroy(p.b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_by_themselves)};
    return cmocka_run_group_tests_name("backend: AltUp", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_altup.c: verbs of Gemma 3n alone on the CPU: its four streams, and the cut-off of gates. Each row is
 * worked on by itself, by one thread. */
#include "backend/cpu/cpu_backend.h"

enum { ROWS = 4 }; /* of an item */

struct job {
    struct ct_cpu_backend *b;
    void (*row)(const struct job *j, int row);
    ct_mat y, x;
    const ct_mat *stream;             /* [CT_STREAMS] */
    const struct ct_weight *const *w; /* coefficients, norm, router, and the scale of what is corrected */
    float deviations;
};

static void rows_item(void *arg, int item, int thread)
{
    const struct job *j = arg;

    (void)thread;
    for (int row = item * ROWS; row < CT_MIN((item + 1) * ROWS, j->b->rows.n); row++)
        j->row(j, row);
}

static void run_rows(struct job *j)
{
    ct_pool_run(j->b->pool, (j->b->rows.n + ROWS - 1) / ROWS, rows_item, j);
}

/* The coefficients that a row asks for. The matrices are vectors, in f32 in both arithmetics. */
static void coefficients(const struct job *j, const float *row, float *coef)
{
    const struct ct_weight *const *w = j->w;
    const struct ct_altup altup = {w[1]->data, w[2]->data, w[0]->data, w[0]->cols / CT_STREAMS};

    j->b->kernel.altup_coefs(coef, row, &altup, j->y.cols, j->b->o.norm_eps);
}

static void row_of_streams(const struct job *j, int row, float *stream[CT_STREAMS])
{
    for (int i = 0; i < CT_STREAMS; i++)
        stream[i] = ct_row(j->stream[i], row);
}

static void predict_row(const struct job *j, int row)
{
    float *stream[CT_STREAMS], coef[CT_STREAMS * CT_STREAMS];

    row_of_streams(j, row, stream);
    coefficients(j, stream[0], coef);
    j->b->kernel.altup_predict(stream, coef, j->y.cols);
    memcpy(ct_row(j->y, row), stream[0], (size_t)j->y.cols * sizeof(float));
}

static void correct_row(const struct job *j, int row)
{
    float *stream[CT_STREAMS], coef[CT_STREAMS], *y = ct_row(j->y, row);
    const float *scale = j->w[3]->data;

    row_of_streams(j, row, stream);
    coefficients(j, y, coef);
    j->b->kernel.altup_correct(stream, y, coef, j->y.cols);
    for (int i = 0; i < j->y.cols; i++)
        y[i] = scale ? stream[0][i] * scale[i] : stream[0][i];
}

/* Weights that make n coefficients for rows of that width. */
static void check_weights(const struct ct_weight *const *w, int n, int cols)
{
    assert(w[0]->type == CT_F32 && w[0]->cols == n * CT_STREAMS);
    assert(w[1]->type == CT_F32 && w[1]->cols == cols);
    assert(w[2]->type == CT_F32 && w[2]->cols == CT_STREAMS * cols);
    (void)w, (void)n, (void)cols;
}

static void cpu_altup_predict(struct ct_backend *b, ct_mat y, const ct_mat stream[CT_STREAMS],
                              const struct ct_weight *const w[3])
{
    check_weights(w, CT_STREAMS * CT_STREAMS, y.cols);
    run_rows(&(struct job){.b = ct_cpu(b), .row = predict_row, .y = y, .stream = stream, .w = w});
}

static void cpu_altup_correct(struct ct_backend *b, ct_mat y, const ct_mat stream[CT_STREAMS],
                              const struct ct_weight *const w[4])
{
    check_weights(w, CT_STREAMS, y.cols);
    assert(!w[3]->data || (w[3]->type == CT_F32 && w[3]->cols == y.cols));
    run_rows(&(struct job){.b = ct_cpu(b), .row = correct_row, .y = y, .stream = stream, .w = w});
}

static void match_row(const struct job *j, int row)
{
    j->b->kernel.altup_match(ct_row(j->y, row), ct_row(j->x, row), j->y.cols);
}

static void cpu_altup_match(struct ct_backend *b, ct_mat y, ct_mat x)
{
    assert(y.cols == x.cols);
    run_rows(&(struct job){.b = ct_cpu(b), .row = match_row, .y = y, .x = x});
}

static void cutoff_row(const struct job *j, int row)
{
    j->b->kernel.cutoff(ct_row(j->y, row), j->deviations, j->y.cols);
}

static void cpu_cutoff(struct ct_backend *b, ct_mat x, float deviations)
{
    run_rows(&(struct job){.b = ct_cpu(b), .row = cutoff_row, .y = x, .deviations = deviations});
}

void ct_cpu_altup_verbs(struct ct_verbs *v)
{
    v->altup_predict = cpu_altup_predict;
    v->altup_correct = cpu_altup_correct;
    v->altup_match = cpu_altup_match;
    v->cutoff = cpu_cutoff;
}

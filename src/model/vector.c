/* SPDX-License-Identifier: Apache-2.0 */
/* vector.c: see vector.h. Sums over a text and over a vector are a few thousand additions, so they are
 * plain C, in the order of NUMERICS.md; matrices are the backend's. */
#include "model/vector.h"

#include <math.h>

void ct_vectors_lay_out(struct ct_vectors *v, struct ct_backend *b, const struct ct_config *c, int most)
{
    const size_t n = (size_t)most;
    int widest = c->hidden;

    *v = (struct ct_vectors){0};
    if (!c->embeds)
        return;
    v->in = b->verb.alloc(b, most, c->hidden);
    for (int i = 0; i < c->n_dense; i++) {
        v->made[i] = b->verb.alloc(b, most, c->dense[i]);
        widest = CT_MAX(widest, c->dense[i]);
    }
    v->mean = b->verb.alloc_host(b, n * (size_t)c->hidden * sizeof *v->mean);
    v->row = b->verb.alloc_host(b, (size_t)widest * sizeof *v->row);
    v->nothing = b->verb.alloc_host(b, n * sizeof *v->nothing);
    v->itself = b->verb.alloc_host(b, n * sizeof *v->itself);
    v->wanted = b->verb.alloc_host(b, n * sizeof *v->wanted);
}

static float *mean_of(const struct ct_vectors *v, const struct ct_pass *p, int i)
{
    return v->mean + (size_t)i * (size_t)p->config->hidden;
}

void ct_vector_mean(struct ct_vectors *v, const struct ct_pass *p, int i, int first, int n)
{
    const int hidden = p->config->hidden;
    float *mean = mean_of(v, p, i);

    memset(mean, 0, (size_t)hidden * sizeof *mean);
    for (int row = first; row < first + n; row++) {
        p->backend->verb.copy_out(p->backend, v->row, p->h, row);
        for (int k = 0; k < hidden; k++)
            mean[k] = mean[k] + v->row[k];
    }
    for (int k = 0; k < hidden; k++)
        mean[k] = mean[k] / (float)n;
}

void ct_vectors_project(struct ct_vectors *v, const struct ct_pass *p, int n, const struct ct_watch *watch)
{
    struct ct_backend *b = p->backend;
    const struct ct_rows rows = {n,         v->nothing, v->nothing, v->nothing, {v->itself, v->itself},
                                 v->wanted, false};

    begin_pass(b, &rows, watch);
    for (int i = 0; i < n; i++)
        b->verb.copy_in(b, v->in, i, mean_of(v, p, i));
    for (int i = 0; i < p->config->n_dense; i++)
        project(b, v->made[i], i ? v->made[i - 1] : v->in, &p->weights->dense[i]);
}

/* The reduction of NUMERICS.md section 3. */
static float sum_of_squares(const float *x, int n)
{
    float sum[32] = {0};

    for (int i = 0; i < n; i++)
        sum[i % 32] = fmaf(x[i], x[i], sum[i % 32]);
    for (int half = 16; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            sum[i] = sum[i] + sum[i + half];
    return sum[0];
}

static void make_length_1(float *x, int n)
{
    const float length = CT_MAX(__builtin_sqrtf(sum_of_squares(x, n)), 1e-12f);

    for (int i = 0; i < n; i++)
        x[i] = x[i] / length;
}

bool ct_vector_give(const struct ct_vectors *v, const struct ct_pass *p, int i, bool raw, float *to, int dim)
{
    const struct ct_config *c = p->config;
    const int width = ct_vector_width(c, raw);
    bool finite = true;

    if (raw || c->n_dense == 0)
        memcpy(v->row, mean_of(v, p, i), (size_t)width * sizeof *v->row);
    else
        p->backend->verb.copy_out(p->backend, v->row, v->made[c->n_dense - 1], i);
    make_length_1(v->row, width);
    if (dim < width)
        make_length_1(v->row, dim);
    for (int k = 0; k < dim; k++)
        finite &= isfinite(v->row[k]) != 0;
    memcpy(to, v->row, (size_t)dim * sizeof *to);
    return finite;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* ref_altup.c: what Gemma 3n computes beside the other members: AltUp's four streams and the cut-off of gates
 * (NUMERICS.md section 6). Its large products are those of ref_project.c. */
#include "kernel/ref/ref.h"

/* Section 3 of the squares of what x has over a value. */
static float sum_of_squares(const float *x, float over, int n)
{
    float p[32] = {0};
    int i = 0;

    for (; i + 32 <= n; i += 32)
        for (int j = 0; j < 32; j++) {
            const float d = x[i + j] - over;
            p[j] = ct_fma(d, d, p[j]);
        }
    for (; i < n; i++) {
        const float d = x[i] - over;
        p[i % 32] = ct_fma(d, d, p[i % 32]);
    }
    return ct_fold(p);
}

/* A group of the router's products for x times r, normed and divided by n: what it adds to each mode. `pairs`
 * of values is a constant for all groups but the last. */
static inline __attribute__((always_inline)) void route_group(float mode[CT_STREAMS], const float *x,
                                                              const struct ct_altup *w, int g, int n, float r,
                                                              const int pairs)
{
    const float share = 1.0f / (float)n;
    const float *const row = w->router + g;
    float e[CT_STREAMS] = {0}, o[CT_STREAMS] = {0};

    for (int k = 0; k < 2 * pairs; k += 2) {
        const float even = x[g + k] * r * w->norm[g + k] * share;
        const float odd = x[g + k + 1] * r * w->norm[g + k + 1] * share;
#pragma GCC unroll 4
        for (int j = 0; j < CT_STREAMS; j++) { /* eight chains side by side */
            e[j] = ct_fma(row[j * n + k], even, e[j]);
            o[j] = ct_fma(row[j * n + k + 1], odd, o[j]);
        }
    }
    if (2 * pairs < CT_MIN(CT_GROUP, n - g)) /* an odd one */
        for (int j = 0; j < CT_STREAMS; j++)
            e[j] = ct_fma(row[j * n + n - g - 1], x[n - 1] * r * w->norm[n - 1] * share, e[j]);
    for (int j = 0; j < CT_STREAMS; j++)
        mode[j] = mode[j] + (e[j] + o[j]);
}

/* The three products are those of section 3 with f32 activations; the input of the first is made on the way,
 * so that nobody needs room for it. */
void CT_NAME(ct_altup_coefs)(float *out, const float *x, const struct ct_altup *w, int n, float eps)
{
    const float r = 1.0f / __builtin_sqrtf(sum_of_squares(x, 0, n) / (float)n + eps);
    float mode[CT_STREAMS] = {0};
    int g = 0;

    for (; g + CT_GROUP <= n; g += CT_GROUP)
        route_group(mode, x, w, g, n, r, CT_GROUP / 2);
    if (g < n)
        route_group(mode, x, w, g, n, r, (n - g) / 2);
    for (int j = 0; j < CT_STREAMS; j++)
        mode[j] = ct_tanh(mode[j]);
    for (int i = 0; i < w->n_coef; i++) {
        const float *c = w->coefs + (size_t)i * CT_STREAMS;
        const float e = ct_fma(c[2], mode[2], ct_fma(c[0], mode[0], 0));
        const float o = ct_fma(c[3], mode[3], ct_fma(c[1], mode[1], 0));
        out[i] = 0 + (e + o);
    }
}

/* The value that one stream is predicted to have, from values of all. */
static inline float predicted(const float *c, float h0, float h1, float h2, float h3, float own)
{
    return ct_fma(c[3], h3, ct_fma(c[2], h2, ct_fma(c[1], h1, ct_fma(c[0], h0, 0)))) + own;
}

/* Streams lie apart, which compilers must know to make vectors of the loop. */
void CT_NAME(ct_altup_predict)(float *const stream[CT_STREAMS], const float *coef, int n)
{
    float *restrict a = stream[0], *restrict b = stream[1], *restrict c = stream[2], *restrict d = stream[3];
    float k[CT_STREAMS * CT_STREAMS];

    memcpy(k, coef, sizeof k);
    for (int i = 0; i < n; i++) {
        const float h0 = a[i], h1 = b[i], h2 = c[i], h3 = d[i];
        a[i] = predicted(k, h0, h1, h2, h3, h0);
        b[i] = predicted(k + 4, h0, h1, h2, h3, h1);
        c[i] = predicted(k + 8, h0, h1, h2, h3, h2);
        d[i] = predicted(k + 12, h0, h1, h2, h3, h3);
    }
}

void CT_NAME(ct_altup_correct)(float *const stream[CT_STREAMS], const float *active, const float *coef, int n)
{
    float *restrict a = stream[0], *restrict b = stream[1], *restrict c = stream[2], *restrict d = stream[3];
    const float *restrict made = active;
    const float ka = coef[0] + 1, kb = coef[1] + 1, kc = coef[2] + 1, kd = coef[3] + 1;

    for (int i = 0; i < n; i++) {
        const float innovation = made[i] - a[i];
        a[i] = ct_fma(innovation, ka, a[i]);
        b[i] = ct_fma(innovation, kb, b[i]);
        c[i] = ct_fma(innovation, kc, c[i]);
        d[i] = ct_fma(innovation, kd, d[i]);
    }
}

void CT_NAME(ct_altup_match)(float *y, const float *x, int n)
{
    const float want = __builtin_sqrtf(sum_of_squares(x, 0, n) / (float)n);
    const float have = __builtin_sqrtf(CT_MAX(sum_of_squares(y, 0, n) / (float)n, 1e-5f));

    for (int i = 0; i < n; i++)
        y[i] = y[i] * want / have;
}

void CT_NAME(ct_cutoff)(float *x, float deviations, int n)
{
    const float mean = ct_sum(x, n) / (float)n;
    const float deviation = __builtin_sqrtf(sum_of_squares(x, mean, n) / (float)n);
    const float bar = mean + deviations * deviation;

    for (int i = 0; i < n; i++) {
        const float above = x[i] - bar;
        x[i] = above < 0 ? 0 : above; /* NaN stays */
    }
}

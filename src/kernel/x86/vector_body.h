/* SPDX-License-Identifier: Apache-2.0 */
/* vector_body.h: the small operators that compilers do not turn into good vectors, once for every width of vector.h.
 * vector_X.c includes this and puts them into its level's table; what is not here is good as ref*.c have it. */
#ifndef CT_VECTOR_BODY_H
#define CT_VECTOR_BODY_H

#include "kernel/x86/vector.h"

/* Section 3: 32 partial sums, which stand side by side in as many vectors as they need. */
static void norm(float *y, const float *x, const float *w, int n, float eps)
{
    enum { ACROSS = 32 / VEC };
    vec sum[ACROSS];
    float last[32] = {0}, p[VEC];
    int whole = n / 32 * 32, i = 0;

    for (int j = 0; j < ACROSS; j++)
        sum[j] = vec_all(0);
    for (; i < whole; i += 32)
        for (int j = 0; j < ACROSS; j++) {
            vec v = vec_load(x + i + j * VEC);
            sum[j] = vec_fma(v, v, sum[j]);
        }
    if (i < n) { /* a square of 0 changes no sum of squares */
        memcpy(last, x + i, (size_t)(n - i) * sizeof *x);
        for (int j = 0; j < ACROSS; j++) {
            vec v = vec_load(last + j * VEC);
            sum[j] = vec_fma(v, v, sum[j]);
        }
    }
    for (int half = ACROSS / 2; half >= 1; half /= 2)
        for (int j = 0; j < half; j++)
            sum[j] = vec_add(sum[j], sum[j + half]);
    vec_store(p, sum[0]);
    for (int half = VEC / 2; half >= 1; half /= 2)
        for (int j = 0; j < half; j++)
            p[j] += p[j + half];

    float r = 1.0f / __builtin_sqrtf(p[0] / (float)n + eps);
    for (i = 0; i + VEC <= n; i += VEC)
        vec_store(y + i, vec_mul(vec_mul(vec_load(x + i), vec_all(r)), vec_load(w + i)));
    for (; i < n; i++)
        y[i] = (x[i] * r) * w[i];
}

VECTOR vec gelu_times(vec x, vec up)
{
    vec cube = vec_fma(vec_mul(vec_mul(vec_all(0.044715f), x), x), x, x);
    vec u = vec_mul(vec_all(0.7978845608f), cube);
    vec e = vec_exp(vec_mul(vec_all(-2.0f), u));
    return vec_mul(vec_div(x, vec_add(vec_all(1.0f), e)), up);
}

static void geglu(float *gate, const float *up, int n)
{
    int i = 0;

    for (; i + VEC <= n; i += VEC)
        vec_store(gate + i, gelu_times(vec_load(gate + i), vec_load(up + i)));
    if (i < n) {
        float x[VEC] = {0}, y[VEC] = {0};
        memcpy(x, gate + i, (size_t)(n - i) * sizeof *x);
        memcpy(y, up + i, (size_t)(n - i) * sizeof *y);
        vec_store(x, gelu_times(vec_load(x), vec_load(y)));
        memcpy(gate + i, x, (size_t)(n - i) * sizeof *x);
    }
}

static void softcap(float *x, float cap, int n)
{
    vec c = vec_all(cap);
    int i = 0;

    for (; i + VEC <= n; i += VEC)
        vec_store(x + i, vec_mul(c, vec_tanh(vec_div(vec_load(x + i), c))));
    if (i < n) {
        float last[VEC] = {0};
        memcpy(last, x + i, (size_t)(n - i) * sizeof *x);
        vec_store(last, vec_mul(c, vec_tanh(vec_div(vec_load(last), c))));
        memcpy(x + i, last, (size_t)(n - i) * sizeof *x);
    }
}

#endif

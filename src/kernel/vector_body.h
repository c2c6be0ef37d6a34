/* SPDX-License-Identifier: Apache-2.0 */
/* vector_body.h: the small operators that compilers do not turn into good vectors, once for every width.
 * vector_X.c includes a simd_X.h and this, which puts them into its level's table; what is not here is good
 * as ref*.c have it. */
#ifndef CT_VECTOR_BODY_H
#define CT_VECTOR_BODY_H

enum { SUMS = 32 / VEC }; /* vectors that hold the 32 partial sums of NUMERICS.md section 3 */

static void vector_norm(float *y, const float *x, const float *w, int n, float eps)
{
    fvec sum[SUMS] = {0};
    float last[32] = {0};
    int whole = n / 32 * 32, i = 0;

    memcpy(last, x + whole, (size_t)(n - whole) * sizeof *x); /* a square of 0 changes no sum of squares */
    for (; i < n; i += 32)
        for (int j = 0; j < SUMS; j++) {
            fvec v = fvec_load((i < whole ? x + i : last) + j * VEC);
            sum[j] = fvec_fma(v, v, sum[j]);
        }
    const float r = 1.0f / __builtin_sqrtf(fvec_sum(sum, SUMS) / (float)n + eps);
    for (i = 0; i + VEC <= n; i += VEC)
        fvec_store(y + i, fvec_load(x + i) * r * fvec_load(w + i));
    for (; i < n; i++)
        y[i] = (x[i] * r) * w[i];
}

/* What lies beyond the end weighs 0, which changes no sum of positive numbers. */
static float log_sum(const float *x, int n, float *top)
{
    fvec most[SUMS], sum[SUMS] = {0};
    float last[32];
    int whole = n / 32 * 32;

    for (int j = 0; j < 32; j++)
        last[j] = -__builtin_inff();
    memcpy(last, x + whole, (size_t)(n - whole) * sizeof *x);
    for (int j = 0; j < SUMS; j++)
        most[j] = fvec_load(last + j * VEC);
    for (int i = 0; i < whole; i += 32)
        for (int j = 0; j < SUMS; j++)
            most[j] = fvec_max(most[j], fvec_load(x + i + j * VEC));
    for (int j = 1; j < SUMS; j++)
        most[0] = fvec_max(most[0], most[j]);
    *top = fvec_largest(most[0]) + 0.0f;
    for (int i = 0; i < n; i += 32)
        for (int j = 0; j < SUMS; j++)
            sum[j] += fvec_exp(fvec_load((i < whole ? x + i : last) + j * VEC) - *top);
    return ct_log(fvec_sum(sum, SUMS));
}

INLINE fvec gelu_times(fvec x, fvec up)
{
    const fvec u = 0.7978845608f * fvec_fma(0.044715f * x * x, x, x);
    return x / (1.0f + fvec_exp(-2.0f * u)) * up;
}

static void geglu(float *gate, const float *up, int n)
{
    int i = 0;

    for (; i + VEC <= n; i += VEC)
        fvec_store(gate + i, gelu_times(fvec_load(gate + i), fvec_load(up + i)));
    if (i < n) {
        float x[VEC] = {0}, y[VEC] = {0};
        memcpy(x, gate + i, (size_t)(n - i) * sizeof *x);
        memcpy(y, up + i, (size_t)(n - i) * sizeof *y);
        fvec_store(x, gelu_times(fvec_load(x), fvec_load(y)));
        memcpy(gate + i, x, (size_t)(n - i) * sizeof *x);
    }
}

static void softcap(float *x, float cap, int n)
{
    int i = 0;

    for (; i + VEC <= n; i += VEC)
        fvec_store(x + i, cap * fvec_tanh(fvec_load(x + i) / cap));
    if (i < n) {
        float last[VEC] = {0};
        memcpy(last, x + i, (size_t)(n - i) * sizeof *x);
        fvec_store(last, cap * fvec_tanh(fvec_load(last) / cap));
        memcpy(x + i, last, (size_t)(n - i) * sizeof *x);
    }
}

void CT_NAME(ct_vector_init)(struct ct_kernel *k);
void CT_NAME(ct_vector_init)(struct ct_kernel *k)
{
    k->norm = vector_norm;
    k->log_sum = log_sum;
    k->geglu = geglu;
    k->softcap = softcap;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* vector_body.h: the small operators that compilers do not turn into good vectors, once for every width.
 * vector_X.c includes a simd_X.h and this, and puts them into its level's table; what is not here is good as
 * ref*.c have it. */
#ifndef CT_VECTOR_BODY_H
#define CT_VECTOR_BODY_H

/* Section 3: 32 partial sums, which stand side by side in as many vectors as they need. */
static void vector_norm(float *y, const float *x, const float *w, int n, float eps)
{
    enum { ACROSS = 32 / VEC };
    fvec sum[ACROSS];
    float last[32] = {0};
    int whole = n / 32 * 32, i = 0;

    for (int j = 0; j < ACROSS; j++)
        sum[j] = fvec_all(0);
    for (; i < whole; i += 32)
        for (int j = 0; j < ACROSS; j++) {
            fvec v = fvec_load(x + i + j * VEC);
            sum[j] = fvec_fma(v, v, sum[j]);
        }
    if (i < n) { /* a square of 0 changes no sum of squares */
        memcpy(last, x + i, (size_t)(n - i) * sizeof *x);
        for (int j = 0; j < ACROSS; j++) {
            fvec v = fvec_load(last + j * VEC);
            sum[j] = fvec_fma(v, v, sum[j]);
        }
    }
    for (int half = ACROSS / 2; half >= 1; half /= 2)
        for (int j = 0; j < half; j++)
            sum[j] = fvec_add(sum[j], sum[j + half]);

    float r = 1.0f / __builtin_sqrtf(fvec_fold(sum[0]) / (float)n + eps);
    for (i = 0; i + VEC <= n; i += VEC)
        fvec_store(y + i, fvec_mul(fvec_mul(fvec_load(x + i), fvec_all(r)), fvec_load(w + i)));
    for (; i < n; i++)
        y[i] = (x[i] * r) * w[i];
}

/* Section 3 again; what lies beyond the end weighs 0, which changes no sum of positive numbers. */
static float log_sum(const float *x, int n, float *top)
{
    enum { ACROSS = 32 / VEC };
    fvec most[ACROSS], sum[ACROSS];
    float last[32], m[VEC];
    int whole = n / 32 * 32, i = 0;

    for (int j = 0; j < 32; j++)
        last[j] = -__builtin_inff();
    memcpy(last, x + whole, (size_t)(n - whole) * sizeof *x);
    for (int j = 0; j < ACROSS; j++) {
        most[j] = fvec_load(last + j * VEC);
        sum[j] = fvec_all(0);
    }
    for (; i < whole; i += 32)
        for (int j = 0; j < ACROSS; j++)
            most[j] = fvec_max(most[j], fvec_load(x + i + j * VEC));
    for (int j = 1; j < ACROSS; j++)
        most[0] = fvec_max(most[0], most[j]);
    fvec_store(m, most[0]);
    for (int j = 1; j < VEC; j++)
        m[0] = m[j] > m[0] ? m[j] : m[0];
    *top = m[0] + 0.0f;
    for (i = 0; i < whole; i += 32)
        for (int j = 0; j < ACROSS; j++)
            sum[j] = fvec_add(sum[j], fvec_exp(fvec_sub(fvec_load(x + i + j * VEC), fvec_all(m[0]))));
    for (int j = 0; j < ACROSS; j++)
        sum[j] = fvec_add(sum[j], fvec_exp(fvec_sub(fvec_load(last + j * VEC), fvec_all(m[0]))));
    for (int half = ACROSS / 2; half >= 1; half /= 2)
        for (int j = 0; j < half; j++)
            sum[j] = fvec_add(sum[j], sum[j + half]);
    return ct_log(fvec_fold(sum[0]));
}

INLINE fvec gelu_times(fvec x, fvec up)
{
    fvec cube = fvec_fma(fvec_mul(fvec_mul(fvec_all(0.044715f), x), x), x, x);
    fvec u = fvec_mul(fvec_all(0.7978845608f), cube);
    fvec e = fvec_exp(fvec_mul(fvec_all(-2.0f), u));
    return fvec_mul(fvec_div(x, fvec_add(fvec_all(1.0f), e)), up);
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
    fvec c = fvec_all(cap);
    int i = 0;

    for (; i + VEC <= n; i += VEC)
        fvec_store(x + i, fvec_mul(c, fvec_tanh(fvec_div(fvec_load(x + i), c))));
    if (i < n) {
        float last[VEC] = {0};
        memcpy(last, x + i, (size_t)(n - i) * sizeof *x);
        fvec_store(last, fvec_mul(c, fvec_tanh(fvec_div(fvec_load(last), c))));
        memcpy(x + i, last, (size_t)(n - i) * sizeof *x);
    }
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* test_altup.c: what Gemma 3n computes beside the other members, at each level against the rules of
 * NUMERICS.md section 6 spelled out, bit for bit, and against float64. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kernel/kernel.h"

#define CT_ISA test
#include "kernel/ref/ref_math.h"

enum { MOST = 300 };

static uint64_t state = 88172645463325252u;
static void fill(float *x, size_t n, float scale)
{
    for (size_t i = 0; i < n; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        x[i] = scale * ((float)(state >> 40) * 0x1p-23f - 1);
    }
}

/* The levels this CPU runs, the baseline first. */
static struct ct_kernel level[2];
static int find_levels(void **unused)
{
    struct ct_cpu cpu;

    (void)unused;
    ct_cpu_detect(&cpu);
    return !ct_kernel_choose(&level[0], &cpu, "ref") || !ct_kernel_choose(&level[1], &cpu, NULL);
}
#define EACH_LEVEL(k) for (const struct ct_kernel *k = level; k < level + CT_COUNT(level); k++)

static void same_bits(const float *got, const float *right, int n)
{
    for (int i = 0; i < n; i++)
        assert_int_equal(ct_f32_bits(got[i]), ct_f32_bits(right[i]));
}

static void close_to(double got, double right, double limit)
{
    if (!(fabs(got - right) <= limit))
        fail_msg("%.9g, not %.9g", got, right);
}

/* Section 3: a reduction of n values that may be squared. */
static float reduced(const float *x, float over, bool squares, int n)
{
    float p[32] = {0};

    for (int i = 0; i < n; i++)
        p[i % 32] = squares ? fmaf(x[i] - over, x[i] - over, p[i % 32]) : p[i % 32] + x[i];
    for (int half = 16; half; half /= 2)
        for (int j = 0; j < half; j++)
            p[j] += p[j + half];
    return p[0];
}

/* Section 3: a product of k values, padded with zeros. */
static float product(const float *w, const float *x, int n)
{
    float acc = 0;

    for (int g = 0; g < n; g += 32) {
        float chain[2] = {0, 0};
        for (int k = g; k < g + 32; k++)
            chain[k % 2] = fmaf(k < n ? w[k] : 0, k < n ? x[k] : 0, chain[k % 2]);
        acc = acc + (chain[0] + chain[1]);
    }
    return acc;
}

static void coefficients(void **unused)
{
    float x[MOST], norm[MOST], router[4 * MOST], coefs[16 * 4], v[MOST], mode[4], right[16], got[16];

    (void)unused;
    for (int n = 1; n <= MOST; n += n < 40 ? 1 : 37)
        for (int n_coef = 4; n_coef <= 16; n_coef += 12) {
            const struct ct_altup w = {norm, router, coefs, n_coef};
            double wide[4];
            fill(x, (size_t)n, 3);
            fill(norm, (size_t)n, 2);
            fill(router, 4 * (size_t)n, 1.0f * (float)n);
            fill(coefs, CT_COUNT(coefs), 2);
            const float r = 1.0f / sqrtf(reduced(x, 0, true, n) / (float)n + 1e-6f);
            double ss = 0;
            for (int i = 0; i < n; i++) {
                v[i] = ((x[i] * r) * norm[i]) * (1.0f / (float)n);
                ss += (double)x[i] * x[i];
            }
            for (int j = 0; j < 4; j++) {
                mode[j] = ct_tanh(product(router + j * n, v, n));
                wide[j] = 0;
                for (int i = 0; i < n; i++)
                    wide[j] += (double)router[j * n + i] * x[i] / sqrt(ss / n + 1e-6) * norm[i] / n;
            }
            for (int i = 0; i < n_coef; i++)
                right[i] = product(coefs + i * 4, mode, 4);
            EACH_LEVEL(k)
            {
                k->altup_coefs(got, x, &w, n, 1e-6f);
                same_bits(got, right, n_coef);
            }
            for (int i = 0; i < n_coef; i++) {
                double c = 0;
                for (int j = 0; j < 4; j++)
                    c += coefs[i * 4 + j] * tanh(wide[j]);
                close_to(got[i], c, 1e-4);
            }
        }
}

static void predictions(void **unused)
{
    float h[4][MOST], got[4][MOST], right[4][MOST], coef[16];
    float *const stream[4] = {got[0], got[1], got[2], got[3]};

    (void)unused;
    for (int n = 1; n <= MOST; n += 23) {
        fill(h[0], 4 * MOST, 5);
        fill(coef, 16, 2);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < 4; j++) {
                float s = 0;
                double wide = h[j][i];
                for (int k = 0; k < 4; k++) { /* C[k][j] */
                    s = fmaf(coef[4 * j + k], h[k][i], s);
                    wide += (double)coef[4 * j + k] * h[k][i];
                }
                right[j][i] = s + h[j][i];
                close_to(right[j][i], wide, 1e-5);
            }
        EACH_LEVEL(k)
        {
            memcpy(got, h, sizeof got);
            k->altup_predict(stream, coef, n);
            for (int j = 0; j < 4; j++) {
                same_bits(got[j], right[j], n);
                same_bits(got[j] + n, h[j] + n, MOST - n);
            }
        }
    }
}

static void corrections(void **unused)
{
    float h[4][MOST], got[4][MOST], right[4][MOST], made[MOST], coef[4];
    float *const stream[4] = {got[0], got[1], got[2], got[3]};

    (void)unused;
    for (int n = 1; n <= MOST; n += 23) {
        fill(h[0], 4 * MOST, 5);
        fill(made, MOST, 5);
        fill(coef, 4, 2);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < 4; j++) {
                right[j][i] = fmaf(made[i] - h[0][i], coef[j] + 1, h[j][i]);
                close_to(right[j][i], h[j][i] + ((double)made[i] - h[0][i]) * (coef[j] + 1.0), 1e-5);
            }
        EACH_LEVEL(k)
        {
            memcpy(got, h, sizeof got);
            k->altup_correct(stream, made, coef, n);
            for (int j = 0; j < 4; j++) {
                same_bits(got[j], right[j], n);
                same_bits(got[j] + n, h[j] + n, MOST - n);
            }
        }
    }
}

static void magnitudes(void **unused)
{
    static const float scale[] = {1, 1e-4f, 0}; /* below the least mean square and at nothing, too */
    float x[MOST], y[MOST], got[MOST], right[MOST];

    (void)unused;
    for (int n = 1; n <= MOST; n += 23)
        for (size_t s = 0; s < CT_COUNT(scale); s++) {
            fill(x, MOST, 7);
            fill(y, MOST, scale[s]);
            const float m0 = sqrtf(reduced(x, 0, true, n) / (float)n);
            const float m = sqrtf(fmaxf(reduced(y, 0, true, n) / (float)n, 1e-5f));
            for (int i = 0; i < n; i++)
                right[i] = (y[i] * m0) / m;
            EACH_LEVEL(k)
            {
                memcpy(got, y, sizeof got);
                k->altup_match(got, x, n);
                same_bits(got, right, n);
            }
            if (scale[s] == 1)
                close_to(sqrt((double)reduced(got, 0, true, n) / n), (double)m0, 1e-5);
        }
}

static void cut_offs(void **unused)
{
    float g[MOST], got[MOST], right[MOST];
    int left = 0, of = 0;

    (void)unused;
    for (int n = 1; n <= MOST; n += 23) {
        fill(g, MOST, 2);
        for (int i = 0; i < MOST; i++)
            g[i] += 1;
        const float mean = reduced(g, 0, false, n) / (float)n;
        const float bar = mean + 1.6448536f * sqrtf(reduced(g, mean, true, n) / (float)n);
        double wide = 0, squares = 0;
        for (int i = 0; i < n; i++) {
            right[i] = g[i] - bar > 0 ? g[i] - bar : 0;
            wide += (double)g[i] / n;
        }
        for (int i = 0; i < n; i++)
            squares += (g[i] - wide) * (g[i] - wide) / n;
        close_to(bar, wide + 1.6448536 * sqrt(squares), 1e-5);
        EACH_LEVEL(k)
        {
            memcpy(got, g, sizeof got);
            k->cutoff(got, 1.6448536f, n);
            same_bits(got, right, n);
            same_bits(got + n, g + n, MOST - n);
        }
        for (int i = 0; i < n; i++)
            left += got[i] > 0;
        of += n;
    }
    assert_true(left > 0 && left < of / 10);
    g[7] = NAN;
    EACH_LEVEL(k)
    {
        memcpy(got, g, sizeof got);
        k->cutoff(got, 1.6448536f, MOST);
        for (int i = 0; i < MOST; i++)
            assert_true(isnan(got[i])); /* an error is not cut off */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(coefficients), cmocka_unit_test(predictions),
                                       cmocka_unit_test(corrections), cmocka_unit_test(magnitudes),
                                       cmocka_unit_test(cut_offs)};
    return cmocka_run_group_tests_name("kernel: AltUp", tests, find_levels, NULL);
}

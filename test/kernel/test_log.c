/* SPDX-License-Identifier: Apache-2.0 */
/* test_log.c: the logarithm of NUMERICS.md section 6 over every float, in a sample a third of them, and
 * log-softmax against long double. Levels are compared bit for bit by kcheck. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kernel/kernel.h"

#define CT_ISA test
#include "kernel/ref/ref_math.h"
#include "tier.h"

enum { BLOCK = 4096 };

/* In units of the last place of the result; the bits of a double, which order as it does, NaN on top. */
static inline int64_t log_error(float y, double right)
{
    union {
        double d;
        uint64_t u;
    } of = {right}, unit, error;
    unit.u = (2046 + 23 - (of.u >> 52 & 2047)) << 52; /* 2 ^ (23 - exponent) */
    error.d = right == 0 ? (y == 0 ? 0 : INFINITY) : fabs((double)y - right) * unit.d;
    return (int64_t)error.u;
}

/* The worst of a block of floats from `first` on, whose logarithms are of_m and (e + up) log 2: loops that
 * compilers make vectors of. */
static inline int64_t log_block(uint32_t first, const double *of_m, const double *up, int e)
{
    int64_t worst = 0;
    float y[BLOCK];

    for (uint32_t k = 0; k < BLOCK; k++)
        y[k] = ct_log(ct_f32_from_bits(first + k));
    for (int k = 0; k < BLOCK; k++)
        worst = CT_MAX(worst, log_error(y[k], of_m[k] + (e + up[k]) * 0x1.62e42fefa39efp-1));
    return worst;
}

/* Every stride-th block of mantissas of every positive float, the smallest ones as what they are. log(m 2^e)
 * is that of m, and e times log 2, so that one logarithm of the C library serves all exponents. */
static inline double log_sweep(uint32_t stride)
{
    static double of_m[BLOCK], up[BLOCK], of_tiny[BLOCK], not_up[BLOCK];
    int64_t worst = 0;
    double result;

    for (uint32_t first = 0; first < 1u << 23; first += stride * BLOCK) {
        for (uint32_t k = 0, m = first; k < BLOCK; k++, m++) {
            /* from sqrt 1/2 to sqrt 2, so that what is added to log m has its sign or is far larger */
            up[k] = m > 0x3504f3;
            of_m[k] = log(((double)m * 0x1p-23 + 1) / (m > 0x3504f3 ? 2 : 1));
            of_tiny[k] = log((double)m) - 149 * 0x1.62e42fefa39efp-1;
        }
        for (int e = -126; e < 128; e++)
            worst = CT_MAX(worst, log_block((uint32_t)(e + 127) << 23 | first, of_m, up, e));
        if (first > 0)
            worst = CT_MAX(worst, log_block(first, of_tiny, not_up, 0));
        for (uint32_t m = 1; m < BLOCK && first == 0; m++) /* zero is a special value */
            worst = CT_MAX(worst, log_error(ct_log(ct_f32_from_bits(m)), of_tiny[m]));
    }
    memcpy(&result, &worst, sizeof result);
    return result;
}

/* All of them where fma is an instruction and nothing is checked at each step. */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
__attribute__((target("avx2,fma"), flatten)) static double log_sweep_all(void)
{
    return log_sweep(tier_is_deep() ? 1 : 3);
}
static double log_sweep_many(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? log_sweep_all() : log_sweep(61);
}
#else
static double log_sweep_many(void)
{
    return log_sweep(61);
}
#endif

static void test_log_of_all(void **unused)
{
    double worst = log_sweep_many();

    (void)unused;
    assert_true(worst > 0.5 && worst <= 1);
}

static void test_log_of_special_values(void **unused)
{
    (void)unused;
    assert_int_equal(ct_f32_bits(ct_log(1.0f)), 0);
    assert_true(ct_log(0.0f) == -INFINITY && ct_log(-0.0f) == -INFINITY);
    assert_true(ct_log(INFINITY) == INFINITY);
    assert_true(isnan(ct_log(-0x1p-149f)) && isnan(ct_log(-1)) && isnan(ct_log(-INFINITY)));
    assert_true(isnan(ct_log(NAN)));
}

static void check_log_sum(const float *x, int n)
{
    struct ct_cpu cpu;
    struct ct_kernel k;
    long double most = -INFINITY, sum = 0;
    float top;

    ct_cpu_detect(&cpu);
    assert_true(ct_kernel_choose(&k, &cpu, NULL));
    float got = k.log_sum(x, n, &top);
    for (int i = 0; i < n; i++)
        most = fmaxl(most, x[i]);
    for (int i = 0; i < n; i++)
        sum += expl(x[i] - most);
    assert_true(top == (float)most);
    assert_true(fabsl(got - logl(sum)) <= 2e-6L * fmaxl(1, logl(sum)));
}

static void test_log_sum(void **unused)
{
    enum { N = 262144 };
    static float x[N];
    uint32_t random = 1;

    (void)unused;
    for (int i = 0; i < N; i++) {
        random = random * 1664525u + 1013904223u;
        x[i] = (float)(random >> 8) * 0x1p-19f - 16;
    }
    const int n[] = {1, 2, 31, 32, 33, 1000, 262143, N};
    for (size_t i = 0; i < CT_COUNT(n); i++)
        check_log_sum(x, n[i]);
    x[N - 1] = 3e38f; /* all others weigh nothing */
    check_log_sum(x, N);
    for (int i = 0; i < N; i++)
        x[i] = -3e38f;
    check_log_sum(x, N);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log_of_all),
        cmocka_unit_test(test_log_of_special_values),
        cmocka_unit_test(test_log_sum),
    };
    return cmocka_run_group_tests_name("kernel: log", tests, NULL, NULL);
}

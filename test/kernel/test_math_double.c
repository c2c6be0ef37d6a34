/* SPDX-License-Identifier: Apache-2.0 */
/* test_math_double.c: exp and log in double (NUMERICS.md section 13) against long double over their whole
 * range, with the bounds that section states, and against values of mpmath, with the bits that every platform
 * gives. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kernel/kernel.h"

#define CT_ISA test
#include "kernel/ref/ref_math.h"

/* ---- values: x, the result to the bit, and what is right (mpmath with 200 bits, rounded to nearest) ---- */

struct value {
    double x, bits, right;
};

static const struct value of_exp[] = {
    {0x0p+0, 0x1p+0, 0x1p+0},
    {-0x0p+0, 0x1p+0, 0x1p+0},
    {0x1.56e1fc2f8f359p-997, 0x1p+0, 0x1p+0},
    {0x1p-54, 0x1p+0, 0x1p+0},
    {-0x1p-53, 0x1.fffffffffffffp-1, 0x1.fffffffffffffp-1},
    {0x1.62e42fefa39efp-2, 0x1.6a09e667f3bccp+0, 0x1.6a09e667f3bccp+0},
    {-0x1.62e42fefa39fp-2, 0x1.6a09e667f3bccp-1, 0x1.6a09e667f3bccp-1},
    {0x1p-1, 0x1.a61298e1e069cp+0, 0x1.a61298e1e069cp+0},
    {-0x1p+0, 0x1.78b56362cef38p-2, 0x1.78b56362cef38p-2},
    {0x1.5bf0a8b145769p+1, 0x1.e4efb75e4527ap+3, 0x1.e4efb75e4527ap+3},
    {0x1.62e42fefa39efp-1, 0x1p+1, 0x1p+1},
    {-0x1.4p+3, 0x1.7cd79b5647c9ap-15, 0x1.7cd79b5647c9bp-15},
    {0x1.9p+6, 0x1.3494a9b171bf5p+144, 0x1.3494a9b171bf5p+144},
    {-0x1.599999999999ap+8, 0x1.52df10f35391fp-499, 0x1.52df10f35391fp-499},
    {0x1.5d8p+9, 0x1.5c36fb1036d55p+1008, 0x1.5c36fb1036d55p+1008},
    {-0x1.5d8p+9, 0x1.78694fe9f73ccp-1009, 0x1.78694fe9f73ccp-1009},
};
static const struct value of_weight[] = {
    {0x0p+0, 0x1p+0, 0x1p+0},
    {-0x0p+0, 0x1p+0, 0x1p+0},
    {-0x1.56e1fc2f8f359p-997, 0x1p+0, 0x1p+0},
    {-0x1p-54, 0x1p+0, 0x1p+0},
    {-0x1p-53, 0x1.fffffffffffffp-1, 0x1.fffffffffffffp-1},
    {-0x1.62e42fefa39efp-2, 0x1.6a09e667f3bccp-1, 0x1.6a09e667f3bcdp-1},
    {-0x1.62e42fefa39fp-2, 0x1.6a09e667f3bccp-1, 0x1.6a09e667f3bccp-1},
    {-0x1p-1, 0x1.368b2fc6f960ap-1, 0x1.368b2fc6f960ap-1},
    {-0x1p+0, 0x1.78b56362cef38p-2, 0x1.78b56362cef38p-2},
    {-0x1.62e42fefa39efp-1, 0x1p-1, 0x1p-1},
    {-0x1.4p+3, 0x1.7cd79b5647c9ap-15, 0x1.7cd79b5647c9bp-15},
    {-0x1.259999999999ap+5, 0x1.0998b04bdd19p-53, 0x1.0998b04bdd19p-53},
    {-0x1.91p+6, 0x1.4acd31e167ebbp-145, 0x1.4acd31e167ebbp-145},
    {-0x1.599999999999ap+8, 0x1.52df10f35391fp-499, 0x1.52df10f35391fp-499},
    {-0x1.5ep+9, 0x1.14f2b0fb9307fp-1010, 0x1.14f2b0fb9307fp-1010},
    {-0x1.62p+9, 0x1.7c8ab2288c9acp-1022, 0x1.7c8ab2288c9abp-1022},
};
static const struct value of_log[] = {
    {0x1p+0, 0x0p+0, 0x0p+0},
    {0x1.0000000000001p+0, 0x1p-52, 0x1.fffffffffffffp-53},
    {0x1.fffffffffffffp-1, -0x1p-53, -0x1p-53},
    {0x1.6a09e667f3bcdp+0, 0x1.62e42fefa39f1p-2, 0x1.62e42fefa39fp-2},
    {0x1.6a09e667f3bcep+0, 0x1.62e42fefa39f3p-2, 0x1.62e42fefa39f3p-2},
    {0x1.6a09e667f3bccp-1, -0x1.62e42fefa39f1p-2, -0x1.62e42fefa39f1p-2},
    {0x1.6a09e667f3bcdp-1, -0x1.62e42fefa39edp-2, -0x1.62e42fefa39eep-2},
    {0x1p-1, -0x1.62e42fefa39efp-1, -0x1.62e42fefa39efp-1},
    {0x1p+1, 0x1.62e42fefa39efp-1, 0x1.62e42fefa39efp-1},
    {0x1.5bf0a8b145769p+1, 0x1p+0, 0x1p+0},
    {0x1.4p+3, 0x1.26bb1bbb55516p+1, 0x1.26bb1bbb55516p+1},
    {0x1.f4p+9, 0x1.ba18a998fffap+2, 0x1.ba18a998fffap+2},
    {0x1p+18, 0x1.8f40b5ed9812dp+3, 0x1.8f40b5ed9812dp+3},
    {0x1.e848p+19, 0x1.ba18a998fffap+3, 0x1.ba18a998fffap+3},
    {0x1p-1022, -0x1.6232bdd7abcd2p+9, -0x1.6232bdd7abcd2p+9},
    {0x1.fffffffffffffp+1023, 0x1.62e42fefa39efp+9, 0x1.62e42fefa39efp+9},
};

static void check_values(const struct value *v, size_t n, double (*function)(double), double most)
{
    for (size_t i = 0; i < n; i++) {
        double y = function(v[i].x), ulp = nextafter(fabs(v[i].right), INFINITY) - fabs(v[i].right);
        if (memcmp(&y, &v[i].bits, sizeof y) != 0)
            fail_msg("of %a it is %a, expected %a", v[i].x, y, v[i].bits);
        assert_true(fabs(y - v[i].right) <= most * ulp);
    }
}

static void test_values(void **unused)
{
    (void)unused;
    check_values(of_exp, CT_COUNT(of_exp), ct_exp_double, 1);
    check_values(of_weight, CT_COUNT(of_weight), ct_exp_weight, 1);
    check_values(of_log, CT_COUNT(of_log), ct_log_double, 2);
}

/* ---- everywhere ---- */

static uint64_t seed = 1;

static double uniform(double low, double high)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(seed >> 11) * 0x1p-53;
}

/* In units of the last place of the result. */
static double error_of(double y, long double right)
{
    int exponent;
    if (right == 0)
        return y == 0 ? 0 : INFINITY;
    frexpl(right, &exponent);
    return (double)(fabsl(y - right) / ldexpl(1, exponent - 53));
}

/* x uniform in [low, high], and uniform in size from 2^-60 to 1. */
static double exp_error(double (*function)(double), double low, double high, int n)
{
    double worst = 0;
    for (int i = 0; i < n; i++) {
        double x = uniform(low, high), small = copysign(exp2(uniform(-60, 0)), i % 2 && high > 0 ? 1 : -1);
        worst = fmax(worst, error_of(function(x), expl(x)));
        worst = fmax(worst, error_of(function(small), expl(small)));
    }
    return worst;
}

static void test_exp_everywhere(void **unused)
{
    double worst = exp_error(ct_exp_double, -700, 700, 100000);
    (void)unused;
    if (!(worst > 0.5 && worst <= 1.25))
        fail_msg("exp is %.3f ulp off", worst);
}

static void test_weights_everywhere(void **unused)
{
    double worst = fmax(exp_error(ct_exp_weight, -708, 0, 100000), exp_error(ct_exp_weight, -1, 0, 100000));
    (void)unused;
    if (!(worst > 0.5 && worst <= 1.25))
        fail_msg("the exp of weights is %.3f ulp off", worst);
}

/* What is too small to be a normal number is 0. */
static void test_weights_that_vanish(void **unused)
{
    static const double x[] = {-708.0000000000001, -708.4,   -745, -746, -1e4, -1e9, -6.8e38,
                               -1.7e308,           -INFINITY};
    double before = 0;

    (void)unused;
    for (size_t i = 0; i < CT_COUNT(x); i++) {
        double y = ct_exp_weight(x[i]);
        assert_true(y == 0 && !signbit(y));
    }
    assert_true(ct_exp_weight(-708) >= 0x1p-1022);
    for (double at = -708; at <= 0; at += 0.0625) { /* it grows */
        double y = ct_exp_weight(at);
        assert_true(y > before);
        before = y;
    }
}

static void test_log_everywhere(void **unused)
{
    double worst = 0, of_sums = 0;

    (void)unused;
    for (int i = 0; i < 100000; i++) {
        double x = ldexp(uniform(1, 2), (int)uniform(-1022, 1024)), near = uniform(0.5, 2),
               sum = uniform(1, 3e5);
        double close = 1 + copysign(exp2(uniform(-52, -1)), i % 2 ? 1 : -1);
        worst = fmax(worst, error_of(ct_log_double(x), logl(x)));
        worst = fmax(worst, error_of(ct_log_double(near), logl(near)));
        worst = fmax(worst, error_of(ct_log_double(close), logl(close)));
        of_sums = fmax(of_sums, error_of(ct_log_double(sum), logl(sum)));
    }
    if (!(worst > 0.5 && worst <= 3.25))
        fail_msg("log is %.3f ulp off", worst);
    assert_true(of_sums <= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_exp_everywhere),
        cmocka_unit_test(test_weights_everywhere),
        cmocka_unit_test(test_weights_that_vanish),
        cmocka_unit_test(test_log_everywhere),
    };
    return cmocka_run_group_tests_name("kernel: math in double", tests, NULL, NULL);
}

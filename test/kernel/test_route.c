/* SPDX-License-Identifier: Apache-2.0 */
/* test_route.c: which experts a row goes through, against a sort and against softmax in float64. Levels are
 * compared by kcheck. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kernel/kernel.h"

enum { MOST = 200 };

static struct ct_kernel kernel;
static uint32_t state = 7;

static uint32_t below(uint32_t n)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % n;
}

static int choose_kernel(void **unused)
{
    struct ct_cpu cpu;

    (void)unused;
    ct_cpu_detect(&cpu);
    return ct_kernel_choose(&kernel, &cpu, "ref") ? 0 : -1;
}

static const float *sorted;
static int by_logit(const void *a, const void *b)
{
    const int32_t i = *(const int32_t *)a, j = *(const int32_t *)b;
    return sorted[i] != sorted[j] ? (sorted[i] < sorted[j] ? 1 : -1) : i - j;
}

static int by_number(const void *a, const void *b)
{
    return *(const int32_t *)a - *(const int32_t *)b;
}

/* The k first of all ids sorted by (logit descending, id ascending), then by id; softmax over those alone. */
static void check(const float *z, int n, int k, const float *scale)
{
    int32_t order[MOST], id[MOST];
    float weight[MOST];
    double sum = 0;

    for (int i = 0; i < n; i++)
        order[i] = i;
    sorted = z;
    qsort(order, (size_t)n, sizeof *order, by_logit);
    qsort(order, (size_t)k, sizeof *order, by_number);
    for (int i = 0; i < k; i++)
        sum += exp((double)z[order[i]]);
    kernel.route(id, weight, z, n, k, scale);
    assert_memory_equal(id, order, (size_t)k * sizeof *id);
    for (int i = 0; i < k; i++) {
        const double want = exp((double)z[id[i]]) / sum * (double)scale[id[i]];
        assert_true(fabs((double)weight[i] - want) <= 1e-6 * want);
    }
}

static void random_rows(void **unused)
{
    float z[MOST], scale[MOST];

    (void)unused;
    for (int turn = 0; turn < 2000; turn++) {
        const int n = 1 + (int)below(turn % 4 ? 20 : MOST), k = 1 + (int)below((uint32_t)n);
        for (int i = 0; i < n; i++) { /* of every second row many are equal */
            z[i] = turn % 2 ? (float)below(4) : ((float)below(1 << 16) - 32768) / 4096;
            scale[i] = 0.5f + (float)below(100) / 64;
        }
        check(z, n, k, scale);
    }
}

static void equal_logits_go_by_id(void **unused)
{
    static const float z[] = {1, 3, -0.0f, 3, 0, 3, 1}, scale[] = {1, 1, 1, 1, 1, 1, 1};
    static const int32_t two[] = {1, 3}, four[] = {0, 1, 3, 5}, six[] = {0, 1, 2, 3, 5, 6};
    int32_t id[7];
    float weight[7];

    (void)unused;
    kernel.route(id, weight, z, 7, 2, scale);
    assert_memory_equal(id, two, sizeof two);
    assert_true(weight[0] == 0.5f && weight[1] == 0.5f);
    kernel.route(id, weight, z, 7, 4, scale);
    assert_memory_equal(id, four, sizeof four);
    kernel.route(id, weight, z, 7, 6, scale);
    assert_memory_equal(id, six, sizeof six);
}

/* Wherever it is, and though its expert is not chosen, the row tells of it. */
static void what_is_not_finite_spoils_the_row(void **unused)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    static const float scale[] = {1, 2, 3, 4};

    (void)unused;
    for (int i = 0; i < 12; i++) {
        float z[] = {4, 3, 2, 1}, weight[2];
        int32_t id[2];
        z[i % 4] = bad[i / 4];
        kernel.route(id, weight, z, 4, 2, scale);
        assert_true(isnan(weight[0]) && isnan(weight[1]));
        assert_true(id[0] >= 0 && id[0] < id[1] && id[1] < 4);
    }
    float z[] = {NAN, NAN, NAN, NAN}, weight[2];
    int32_t id[2];
    kernel.route(id, weight, z, 4, 2, scale);
    assert_true(id[0] >= 0 && id[0] < id[1] && id[1] < 4 && isnan(weight[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_rows),
        cmocka_unit_test(equal_logits_go_by_id),
        cmocka_unit_test(what_is_not_finite_spoils_the_row),
    };
    return cmocka_run_group_tests(tests, choose_kernel, NULL);
}

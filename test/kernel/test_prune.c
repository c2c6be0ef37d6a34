/* SPDX-License-Identifier: Apache-2.0 */
/* test_prune.c: the definition of what prunes a head (NUMERICS.md section 12) against loops written from that
 * page: the test of scores, norms of an input, the k best, and the bar below a soft-cap. That every level
 * agrees with the definition is kcheck's business. */
#include <setjmp.h>
#include <stdarg.h>
#include <math.h>
#include <stdlib.h>

#include "kernel/kernel.h"

#include <cmocka.h>

enum { MOST = 4096 };

static struct ct_kernel best_kernel(void)
{
    struct ct_kernel k;
    struct ct_cpu cpu;
    ct_cpu_detect(&cpu);
    assert_true(ct_kernel_choose(&k, &cpu, NULL));
    return k;
}

static uint32_t prune_random(void)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33);
}
static float prune_uniform(float most)
{
    return ((float)prune_random() * 0x1p-30f - 1) * most;
}

/* ---- the test of scores ---- */

static void expect_panels(const struct ct_kernel *k, const struct ct_prune *p)
{
    static int32_t panels[MOST / 16];
    int rows, n = k->prune(panels, &rows, p), found = 0, stay = 0;

    for (int first = 0; first < p->n; first += 16) {
        int here = 0;
        if (p->finished && p->finished[first / 16 / 32] >> (first / 16 % 32) & 1)
            continue;
        for (int r = first; r < CT_MIN(first + 16, p->n); r++) {
            double a = (double)ct_f16_to_f32(p->bound[r].residual),
                   m = (double)ct_f16_to_f32(p->bound[r].norm);
            double slack = (a * p->token.x + m * p->token.y) * (1 + 0x1p-40) + 0x1p-120;
            here += !((double)p->score[r] + slack < (double)p->bar);
        }
        if (here) {
            assert_true(found < n);
            assert_int_equal(panels[found++], first / 16);
        }
        stay += here;
    }
    assert_int_equal(found, n);
    assert_int_equal(stay, rows);
}

static void panels_are_those_of_the_rule(void **state)
{
    static const float bars[] = {0, 1, -3, 1e-30f, -0x1p-149f, 1e30f, INFINITY, -INFINITY, NAN};
    static const double tokens[] = {0, 1e-310, 1e-30, 1e-3, 1, 1e30, 1e300, INFINITY, NAN};
    static float score[MOST];
    static struct ct_row_bound bound[MOST];
    uint32_t finished[MOST / 512];
    struct ct_kernel k = best_kernel();

    (void)state;
    for (int turn = 0; turn < 600; turn++) {
        struct ct_prune p = {score,  bound, 1 + (int)(prune_random() % (turn % 9 ? 400 : MOST)),
                             {0, 0}, 0,     NULL};
        p.bar = turn % 3 ? prune_uniform(3) : bars[prune_random() % CT_COUNT(bars)];
        p.token.x = turn % 5 ? (double)fabsf(prune_uniform(20)) : tokens[prune_random() % CT_COUNT(tokens)];
        p.token.y = turn % 7 ? (double)fabsf(prune_uniform(1)) : tokens[prune_random() % CT_COUNT(tokens)];
        for (int i = 0; i < p.n; i++) {
            bound[i] = (struct ct_row_bound){ct_f32_to_f16(fabsf(prune_uniform(0.1f))),
                                             ct_f32_to_f16(fabsf(prune_uniform(1)))};
            if (turn % 4 == 0)
                bound[i] = (struct ct_row_bound){prune_random() % 64, prune_random() % 3};
            if (prune_random() % 99 == 0)
                bound[i].norm = 0x7c00;
            /* At the edge to a double and a little beside it, where the test in float32 must not decide. */
            double a = (double)ct_f16_to_f32(bound[i].residual), m = (double)ct_f16_to_f32(bound[i].norm);
            float edge = (float)((double)p.bar - (a * p.token.x + m * p.token.y));
            score[i] = prune_random() % 4 == 0 ? nextafterf(edge, prune_random() % 2 ? INFINITY : -INFINITY)
                       : prune_random() % 2    ? edge
                                               : p.bar + prune_uniform(5);
            if (prune_random() % 299 == 0)
                score[i] = prune_random() % 2 ? NAN : INFINITY;
        }
        for (size_t i = 0; i < CT_COUNT(finished); i++)
            finished[i] = prune_random() & prune_random() & prune_random();
        if (turn % 2)
            p.finished = finished;
        expect_panels(&k, &p);
    }
}

/* A tie stays, and so does what is not a number, or has no bound. */
static void what_stays(void **state)
{
    float score[16];
    struct ct_row_bound bound[16] = {{0, 0}};
    int32_t panels[1];
    int rows;
    struct ct_kernel k = best_kernel();
    struct ct_prune p = {score, bound, 16, {0, 0}, 2, NULL};

    (void)state;
    for (int i = 0; i < 16; i++)
        score[i] = nextafterf(2, -1);
    assert_int_equal(k.prune(panels, &rows, &p), 0);
    assert_int_equal(rows, 0);
    score[3] = 2;
    score[9] = NAN;
    bound[12].residual = 0x7c00; /* times 0 */
    assert_int_equal(k.prune(panels, &rows, &p), 1);
    assert_int_equal(rows, 3);
    p.token.y = 1;
    bound[5].norm = 0x7c00;
    assert_int_equal(k.prune(panels, &rows, &p), 1);
    assert_int_equal(rows, 4);
    for (int i = 0; i < 16; i++)
        score[i] = i == 3 ? 2 : -1e30f;
    score[9] = -1e30f;
    assert_int_equal(k.prune(panels, &rows, &p), 1);
    assert_int_equal(rows, 3);
    score[3] = -1e30f;
    bound[5].norm = 0;
    p.token.y = 0;
    assert_int_equal(k.prune(panels, &rows, &p), 1); /* for the twelfth alone */
    assert_int_equal(rows, 1);
    score[3] = 2;
    p.n = 4; /* a panel that is not full */
    assert_int_equal(k.prune(panels, &rows, &p), 1);
    assert_int_equal(rows, 1);
    p.n = 3;
    assert_int_equal(k.prune(panels, &rows, &p), 0);
}

/* ---- norms ---- */

static void norms_are_those_of_the_values(void **state)
{
    static float x[MOST];
    struct ct_kernel k = best_kernel();

    (void)state;
    for (int turn = 0; turn < 200; turn++) {
        const int n = 1 + (int)(prune_random() % 1500);
        double int8 = 0, apart[2] = {0}, dense[2] = {0};
        struct ct_input_norms got;
        for (int i = 0; i < n; i++)
            x[i] = prune_uniform(1) * ldexpf(1, i / 32 % 5 ? i / 32 % 5 * turn % 40 : -100);
        for (int first = 0; first < n; first += 32) {
            const int end = CT_MIN(first + 32, n);
            float most = 0;
            for (int i = first; i < end; i++)
                most = fmaxf(most, fabsf(x[i]));
            const bool zero = most < 0x1p-90f;
            for (int i = first; i < end; i++) {
                float q = zero ? 0 : rintf(x[i] * (127 / most)),
                      used[2] = {x[i], ct_bf16_to_f32(ct_f32_to_bf16(x[i]))};
                used[1] = fabsf(used[1]) < 0x1p-50f ? 0 : used[1];
                double quantised = zero ? 0 : (double)(most / 127) * (double)q;
                int8 += quantised * quantised;
                for (int j = 0; j < 2; j++) {
                    dense[j] += (double)used[j] * (double)used[j];
                    apart[j] += ((double)used[j] - quantised) * ((double)used[j] - quantised);
                }
            }
        }
        for (int form = 0; form < CT_INPUT_COUNT; form++) {
            const bool bf16 = form == CT_INPUT_BF16 || form == CT_INPUT_BF16_LANES,
                       f32 = form == CT_INPUT_F32;
            k.input_norms(&got, x, n, (enum ct_input)form);
            assert_true(fabs(got.int8 - sqrt(int8)) <= 1e-13 * sqrt(int8));
            double want = f32 ? sqrt(dense[0]) : bf16 ? sqrt(dense[1]) : sqrt(int8);
            assert_true(fabs(got.dense - want) <= 1e-13 * want);
            want = f32 ? sqrt(apart[0]) : bf16 ? sqrt(apart[1]) : 0;
            assert_true(fabs(got.apart - want) <= 1e-13 * want);
        }
    }
    x[3] = NAN;
    struct ct_input_norms got;
    for (int form = 0; form < CT_INPUT_COUNT; form++) {
        k.input_norms(&got, x, 40, (enum ct_input)form);
        assert_true(isnan(got.int8) && isnan(got.dense));
    }
}

/* ---- the k best ---- */

static const struct ct_logits *sorted;
static int best_first(const void *a, const void *b)
{
    int32_t i = *(const int32_t *)a, j = *(const int32_t *)b;
    float x = isnan(sorted->value[i]) ? -INFINITY : sorted->value[i],
          y = isnan(sorted->value[j]) ? -INFINITY : sorted->value[j];
    return x > y ? -1 : x < y ? 1 : i < j ? -1 : 1;
}

static void the_best_are_those_of_a_sort(void **state)
{
    static float value[MOST];
    static int32_t id[MOST], order[MOST], got[MOST], spare[MOST];
    struct ct_kernel k = best_kernel();

    (void)state;
    for (int turn = 0; turn < 400; turn++) {
        struct ct_logits l = {value, turn % 2 ? id : NULL,
                              1 + (int)(prune_random() % (turn % 5 ? 300 : MOST))};
        int32_t excluded[7];
        int kept = 0, most = 1 + (int)(prune_random() % (unsigned)(turn % 3 ? 20 : l.n + 2));
        for (int i = 0; i < l.n; i++) {
            value[i] = turn % 4 ? prune_uniform(9) : (float)((int)(prune_random() % 9) - 4);
            if (prune_random() % 50 == 0)
                value[i] = turn % 8 ? -0.0f : prune_random() % 2 ? NAN : -INFINITY;
            id[i] = (i ? id[i - 1] : 0) + 1 + (int32_t)(prune_random() % 3);
        }
        for (size_t i = 0; i < CT_COUNT(excluded); i++)
            excluded[i] = (int32_t)(prune_random() % (unsigned)(2 * l.n));
        for (int32_t i = 0; i < l.n; i++) {
            bool out = false;
            for (size_t j = 0; j < CT_COUNT(excluded); j++)
                out |= excluded[j] == ct_logits_id(&l, i);
            if (!out)
                order[kept++] = i;
        }
        sorted = &l;
        qsort(order, (size_t)kept, sizeof *order, best_first);
        for (int sorts = 0; sorts < 2; sorts++) {
            int n = k.select(got, &l, most, excluded, (int)CT_COUNT(excluded), sorts ? spare : NULL);
            assert_int_equal(n, CT_MIN(kept, most));
            assert_memory_equal(got, order, (size_t)n * sizeof *got);
        }
    }
}

/* ---- the soft-cap ---- */

/* The proof needs a computed cap within 2^-21 cap of the true one. */
static void the_cap_is_near(void **state)
{
    static const float caps[] = {30, 50, 1, 0.37f, 1e4f};
    static float x[1024], y[1024];
    struct ct_kernel k = best_kernel();

    (void)state;
    for (size_t c = 0; c < CT_COUNT(caps); c++)
        for (uint32_t bits = 0x30000000u; bits < 0x4b000000u; bits += 1024 * 97) {
            for (uint32_t i = 0; i < 1024; i++)
                y[i] = x[i] = ct_f32_from_bits(bits + 97 * i);
            k.softcap(y, caps[c], 1024);
            for (int i = 0; i < 1024; i++) {
                double cap = (double)caps[c], true_value = cap * tanh((double)x[i] / cap);
                assert_true(fabs((double)y[i] - true_value) <= 0x1p-21 * cap);
            }
        }
}

/* Nothing below reaches the value: a stretch right below, and floats of all sizes. */
static void nothing_below_reaches_the_bar(void **state)
{
    static const float caps[] = {30, 50, 1, 0.37f, 1e4f};
    static float x[8192], y[8192];
    struct ct_kernel k = best_kernel();

    (void)state;
    for (int turn = 0; turn < 1500; turn++) {
        const float cap = caps[turn % (int)CT_COUNT(caps)];
        float bar = prune_uniform(turn % 3 ? cap * 12 : cap), capped = bar;
        k.softcap(&capped, cap, 1);
        const float lowest = k.uncap(capped, cap);
        assert_true(lowest <= bar);
        if (fabsf(bar) < 3 * cap)
            assert_true(bar - lowest <= 0x1p-11f * cap);
        if (!(lowest > -INFINITY))
            continue;
        for (int i = 0; i < 8192; i++) {
            x[i] = i == 0 ? nextafterf(lowest, -INFINITY) : nextafterf(x[i - 1], -INFINITY);
            if (i >= 6000)
                x[i] = lowest - fabsf(prune_uniform(cap)) * ldexpf(1, -(i % 30));
        }
        memcpy(y, x, sizeof y);
        k.softcap(y, cap, 8192);
        for (int i = 0; i < 8192; i++)
            assert_true(y[i] < capped || x[i] >= lowest);
    }
    assert_true(k.uncap(-30, 30) == -INFINITY); /* what everything reaches */
    assert_true(k.uncap(NAN, 30) == -INFINITY);
}

/* The computed cap falls here and there, from a float to the next. */
static void descents_do_no_harm(void **state)
{
    enum { STRETCH = 8192 };
    static float x[STRETCH], y[STRETCH];
    struct ct_kernel k = best_kernel();
    int descents = 0;

    (void)state;
    for (uint32_t bits = 0x3f800000u; bits < 0x40000000u; bits += STRETCH) { /* 1 to 2 */
        for (uint32_t i = 0; i < STRETCH; i++)
            y[i] = x[i] = ct_f32_from_bits(bits + i);
        k.softcap(y, 30, STRETCH);
        for (int i = 1; i < STRETCH; i++)
            if (y[i] < y[i - 1]) {
                descents++;
                assert_true(k.uncap(y[i - 1], 30) <= x[i - 1]);
            }
    }
    assert_true(descents > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(panels_are_those_of_the_rule),
        cmocka_unit_test(what_stays),
        cmocka_unit_test(norms_are_those_of_the_values),
        cmocka_unit_test(the_best_are_those_of_a_sort),
        cmocka_unit_test(the_cap_is_near),
        cmocka_unit_test(nothing_below_reaches_the_bar),
        cmocka_unit_test(descents_do_no_harm),
    };
    return cmocka_run_group_tests_name("prune", tests, NULL, NULL);
}

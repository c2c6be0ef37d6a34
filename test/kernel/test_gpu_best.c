/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpu_best.c: what kernels for GPUs find in logits, as host C on fibres (test/emu), against ref: the
 * best ids with ties, zeros of both signs and infinities, and ids that stand apart. All other kernels:
 * test_gpu.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fibre.h"
#include "kernel/gpu/gpu.h"
#include "kernel/kernel.h"

void apart_thread(const void *all), best_thread(const void *all), best_planted(const void *all);

enum { ROWS = 2, MOST = 5000, APART = 5, CANDIDATES = CT_GPU_SORTED };

static struct ct_kernel ref;
static uint32_t state;

static int choose(void **unused)
{
    struct ct_cpu cpu;

    (void)unused;
    ct_cpu_detect(&cpu);
    return !ct_kernel_choose(&ref, &cpu, "ref");
}

static uint32_t bits(void)
{
    state ^= state << 13;
    state ^= state >> 17;
    return state ^= state << 5;
}

/* Few different values, so that many are alike, and those of both ends. */
static float logit(void)
{
    static const float edges[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 0x1p-149f, 0x1.fffffep127f};
    const uint32_t u = bits();

    return u % 64 == 0 ? edges[u / 64 % CT_COUNT(edges)] : ((float)(u >> 8 & 1023) - 700.0f) * 0.125f;
}

/* Runs blocks until there is one; `found` gets the candidates of all rows. */
static void find(uint64_t *found, const struct ct_gpu_best *of)
{
    static uint64_t keys[2][ROWS * MOST];
    struct ct_gpu_best a = *of;

    for (int turn = 0; !a.ends; turn ^= 1) {
        const int blocks = (a.n + CT_GPU_SORTED - 1) / CT_GPU_SORTED;
        a.ends = blocks == 1;
        a.to = a.ends ? found : keys[turn];
        fibre_run(best_thread, &a, blocks, ROWS);
        a.from = keys[turn];
        a.n = blocks * a.k;
    }
}

struct row {
    float x[MOST], before[MOST];
    int32_t apart[APART];
};
static struct row *row;

static void make_rows(int n)
{
    for (int r = 0; r < ROWS; r++) {
        for (int i = 0; i < n; i++)
            row[r].before[i] = row[r].x[i] = logit();
        for (int i = 0; i < APART; i++)
            row[r].apart[i] = n / APART * i + r;  /* ascending */
        row[r].apart[APART - 1] = r ? n + 3 : -1; /* of the other rows none, or outside */
    }
}

/* Candidates of a row by id ascending: what ref selects, and what stands apart. */
static int expected_of(uint64_t *expected, const struct row *of, int n, int k)
{
    static int32_t place[MOST];
    const struct ct_logits all = {of->before, NULL, n};
    int found = ref.select(place, &all, k, of->apart, APART, NULL);

    for (int i = 0; i < APART - 1; i++)
        place[found++] = of->apart[i];
    for (int i = 0; i < found; i++) {
        const uint64_t c = (uint64_t)place[i] << 32 | ct_f32_bits(of->before[place[i]]);
        int at = i;
        for (; at > 0 && expected[at - 1] > c; at--)
            expected[at] = expected[at - 1];
        expected[at] = c;
    }
    return found;
}

/* How many candidates are not those of ref. */
static int wrong_candidates(int n, int k)
{
    static uint64_t found[ROWS * CANDIDATES], expected[CANDIDATES], apart[ROWS * APART];
    int32_t id[ROWS * APART];
    int wrong = 0;

    make_rows(n);
    for (int r = 0; r < ROWS; r++)
        memcpy(id + r * APART, row[r].apart, sizeof row[r].apart);
    memset(found, 0xa5, sizeof found);
    const int ld = (int)(sizeof *row / sizeof(float));
    fibre_run(apart_thread,
              &(struct ct_gpu_apart){.x = row->x, .id = id, .to = apart, .ldx = ld, .n = n, .ids = APART}, 1,
              ROWS);
    find(found, &(struct ct_gpu_best){.x = row->x, .apart = apart, .ldx = ld, .n = n, .k = k, .ids = APART});
    for (int r = 0; r < ROWS; r++) {
        const uint64_t *own = found + r * (k + APART);
        const int most = expected_of(expected, &row[r], n, k);
        for (int i = 0; i < most; i++)
            wrong += own[i] != expected[i];
        for (int i = most; i < k + APART; i++)
            wrong += (int32_t)(own[i] >> 32) != -1;
    }
    return wrong;
}

static void the_best_are_those_of_ref(void **unused)
{
    static const int sizes[][2] = {{1024, 1}, {1000, 64}, {300, 256}, {1025, 1}, {5000, 256}, {4097, 40}};

    (void)unused;
    state = 2463534242u;
    for (int order = 0; order < FIBRE_ORDERS; order++) {
        fibre_order = (enum fibre_order)order;
        for (size_t i = 0; i < CT_COUNT(sizes); i++)
            if (wrong_candidates(sizes[i][0], sizes[i][1]))
                fail_msg("%d of %d, order %d", sizes[i][1], sizes[i][0], order);
    }
}

static void a_missing_barrier_is_seen(void **unused)
{
    enum { K = 64 };
    uint64_t keys[ROWS * K], planted[ROWS * K];
    int differ = 0;

    (void)unused;
    state = 88675123;
    make_rows(1000);
    struct ct_gpu_best a = {
        .x = row->x, .to = keys, .ldx = (int)(sizeof *row / sizeof(float)), .n = 1000, .k = K};
    fibre_order = FIBRE_SCATTERED;
    fibre_run(best_thread, &a, 1, ROWS);
    a.to = planted;
    fibre_run(best_planted, &a, 1, ROWS);
    for (int i = 0; i < ROWS * K; i++)
        differ += keys[i] != planted[i];
    assert_true(differ > ROWS * K / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_are_those_of_ref),
        cmocka_unit_test(a_missing_barrier_is_seen),
    };

    row = calloc(ROWS, sizeof *row);
    const int failed = row ? cmocka_run_group_tests_name("kernel: what GPUs find", tests, choose, NULL) : 1;
    free(row);
    return failed;
}

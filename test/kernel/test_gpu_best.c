/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpu_best.c: what kernels for GPUs find in logits, as host C on fibres (test/emu), against ref: the
 * best ids with ties, zeros of both signs and infinities, ids that stand apart, and the ids that are drawn
 * from the best. All other kernels: test_gpu.c. */
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

/* ---- draws ---- */

enum { PADDED = 4 }; /* rows that get an id, those behind ROWS that of the first */

/* Settings of every kind, at their edges too. */
static struct ct_gpu_draw settings(void)
{
    static const float temperature[] = {0, 1, 0.7f, 1.5f, 0x1p-30f, 40, 1},
                       top_p[] = {1, 0.95f, 0.5f, 0.01f, 0, 1, 0x1.fffffep-1f},
                       min_p[] = {0, 0.05f, 1, 0, 0.5f, 0, 0x1p-20f};
    static const int k[] = {1, 2, 7, 31, 32, 33, 40, 64, 200, 256};

    return (struct ct_gpu_draw){.temperature = temperature[bits() % CT_COUNT(temperature)],
                                .top_p = top_p[bits() % CT_COUNT(top_p)],
                                .min_p = min_p[bits() % CT_COUNT(min_p)],
                                .k = k[bits() % CT_COUNT(k)],
                                .seed = {bits(), bits()},
                                .position = bits(),
                                .number = bits() % 3};
}

/* Logits of a row: some of them, alike, spread or of one value. */
static void make_drawn(struct row *of, int n)
{
    const uint32_t kind = bits() % 5;
    const bool odd = bits() % 2;

    for (int i = 0; i < n; i++) {
        const float spread = ((float)(bits() >> 8) * 0x1p-24f - 0.5f) * (kind == 1 ? 2 : 30);
        of->x[i] = kind == 0                          ? (bits() % 2 ? 0.0f : -0.0f)
                   : kind == 2 && bits() % 64         ? -INFINITY
                   : kind == 3                        ? (float)(bits() % 4)
                   : kind == 4 && (i != n / 2 || odd) ? -INFINITY /* one id is left, or none */
                                                      : spread;
    }
    memcpy(of->before, of->x, (size_t)n * sizeof *of->x);
    for (int i = 0; i < APART; i++)
        of->apart[i] = n / APART * i;
}

static int32_t drawn_by_ref(const struct row *of, int n, const struct ct_gpu_draw *g)
{
    static int32_t order[3][MOST];
    static float value[3][MOST];
    struct ct_draw_room room = {order[0], order[1], order[2], value[0], value[1], value[2]};
    const struct ct_logits all = {of->before, NULL, n};

    return ref.draw(&all,
                    &(struct ct_draw){.temperature = g->temperature,
                                      .top_p = g->top_p,
                                      .min_p = g->min_p,
                                      .top_k = g->k,
                                      .seed = (uint64_t)g->seed[1] << 32 | g->seed[0],
                                      .position = g->position,
                                      .number = g->number,
                                      .banned = of->apart,
                                      .n_banned = APART},
                    &room);
}

/* How many ids are not those that ref draws out of all logits. */
static int wrong_draws(int n, int *different)
{
    static uint64_t found[ROWS * CANDIDATES], apart[ROWS * APART];
    static int32_t last;
    const int ld = (int)(sizeof *row / sizeof(float));
    struct ct_gpu_draw draw[ROWS];
    int32_t id[ROWS * APART], token[PADDED], wrong = 0;
    int k = 0;

    for (int r = 0; r < ROWS; r++) {
        make_drawn(&row[r], n);
        memcpy(id + r * APART, row[r].apart, sizeof row[r].apart);
        draw[r] = settings();
        k = draw[r].k > k ? draw[r].k : k;
    }
    fibre_run(apart_thread,
              &(struct ct_gpu_apart){.x = row->x, .id = id, .to = apart, .ldx = ld, .n = n, .ids = APART}, 1,
              ROWS);
    find(found, &(struct ct_gpu_best){.x = row->x,
                                      .apart = apart,
                                      .draw = draw,
                                      .token = token,
                                      .ldx = ld,
                                      .n = n,
                                      .k = k,
                                      .ids = APART,
                                      .drawn = ROWS,
                                      .padded = PADDED});
    for (int r = 0; r < PADDED; r++) {
        const int from = r < ROWS ? r : 0;
        const int32_t expected = drawn_by_ref(&row[from], n, &draw[from]);
        wrong += token[r] != (expected < 0 ? 0 : expected);
        *different += token[r] != last;
        last = token[r];
    }
    return wrong;
}

static void draws_are_those_of_ref(void **unused)
{
    static const int sizes[] = {9, 100, 300, 1000, 1500};
    int different = 0;

    (void)unused;
    state = 314159265;
    for (int i = 0; i < 1000; i++) {
        const int n = sizes[(size_t)i % CT_COUNT(sizes)];
        fibre_order = (enum fibre_order)(i % FIBRE_ORDERS);
        if (wrong_draws(n, &different))
            fail_msg("draw %d, of %d logits", i, n);
    }
    assert_true(different > 1000);
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
        cmocka_unit_test(draws_are_those_of_ref),
        cmocka_unit_test(a_missing_barrier_is_seen),
    };

    row = calloc(ROWS, sizeof *row);
    const int failed = row ? cmocka_run_group_tests_name("kernel: what GPUs find", tests, choose, NULL) : 1;
    free(row);
    return failed;
}

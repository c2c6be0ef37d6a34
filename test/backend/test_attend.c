/* SPDX-License-Identifier: Apache-2.0 */
/* test_attend.c: attention of the CPU backend gives the bits of one query alone, block after block, by the reference
 * kernel: for rows of one or several sequences, few or many, with and without a window, split over threads or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "backend/backend.h"

enum {
    SEQUENCES = 3,
    CAPACITY = 1536,
    POSITIONS = 2000,
    WINDOW = 700,
    MAX_ROWS = 48,
    GROUP = 3,
    KV_HEADS = 2
};

static uint32_t state = 1;
static float uniform(void)
{
    state = state * 1664525u + 1013904223u;
    return (float)(int32_t)state * 0x1p-31f;
}

static void *take(size_t bytes)
{
    void *p = aligned_alloc(64, ct_round_up(bytes, 64));
    assert_non_null(p);
    memset(p, 0, bytes);
    return p;
}

/* K and V of every sequence: all slots hold something, as after POSITIONS tokens. */
static struct ct_kv random_kv(const struct ct_kernel *k, enum ct_kv_type type, int dim)
{
    size_t bytes = ct_round_up(ct_kv_bytes(type, CAPACITY, dim), 64);
    struct ct_kv kv = {type, CAPACITY, KV_HEADS, dim, bytes, KV_HEADS * bytes, NULL, NULL};
    float key[CT_MAX_HEAD_DIM], value[CT_MAX_HEAD_DIM];

    kv.k = take(SEQUENCES * kv.sequence_bytes);
    kv.v = take(SEQUENCES * kv.sequence_bytes);
    for (size_t head = 0; head < SEQUENCES * KV_HEADS; head++) {
        struct ct_kv_head one = {type, CAPACITY, dim, kv.k + head * bytes, kv.v + head * bytes};
        for (int slot = 0; slot < CAPACITY; slot++) {
            for (int d = 0; d < dim; d++) {
                key[d] = uniform();
                value[d] = uniform();
            }
            ct_kv_store(k, &one, slot, key, value);
        }
    }
    return kv;
}

/* One query over keys [lo, hi], block after block. */
static void alone(float *out, const struct ct_kernel *k, const float *q, const struct ct_kv_head *kv, int lo,
                  int hi)
{
    static _Alignas(64) float at[3][CT_MAX_HEAD_DIM], scratch[CT_ATTEND_SCRATCH];
    float max[2], sum[2] = {0};
    struct ct_queries tile = {1, {lo}, {hi}, at[0]};
    struct ct_attended all = {&max[0], &sum[0], at[1]}, block = {&max[1], &sum[1], at[2]};

    k->attend_query(&tile, 0, q, kv);
    for (int b = lo / CT_KEY_BLOCK; b <= hi / CT_KEY_BLOCK; b++) {
        ct_kv_attend(k, &block, &tile, kv, b, 0.25f, 0, scratch);
        k->attend_merge(&all, &block, 1, kv->head_dim);
    }
    k->attend_finish(out, &all, 0, kv->head_dim);
}

/* So many rows of each sequence, up to a last position. */
static const struct pass {
    const char *name;
    int rows[SEQUENCES], last[SEQUENCES];
} passes[] = {
    {"a row of a long context", {1}, {POSITIONS}},
    {"a row of a short one", {0, 1}, {0, 9}},
    {"rows of several", {1, 1, 1}, {POSITIONS, 300, 0}},
    {"a few rows", {5}, {1030}},
    {"a prompt", {MAX_ROWS}, {600}},
    {"a prompt beside rows", {20, 1, 2}, {515, POSITIONS, 256}},
};

static void check(enum ct_kv_type type, int dim, int threads)
{
    struct ct_cpu cpu;
    struct ct_kernel ref, best;
    struct ct_pool *pool;
    carat_error err;
    ct_cpu_detect(&cpu);
    assert_true(ct_kernel_choose(&ref, &cpu, "ref") && ct_kernel_choose(&best, &cpu, NULL));
    assert_int_equal(ct_pool_create(&pool, threads, &err), CARAT_OK);
    struct ct_cpu_options o = {
        .kernel = &best,
        .pool = pool,
        .threads = threads,
        .max_rows = MAX_ROWS,
        .max_inputs = 32,
        .max_ffn = 32,
        .max_heads = GROUP * KV_HEADS,
        .max_head_dim = dim,
        .context = POSITIONS + 1,
        .kind = {{.head_dim = 2, .rope_base = 10000, .rope_factor = 1},
                 {.window = WINDOW, .head_dim = 2, .rope_base = 10000, .rope_factor = 1}},
    };
    struct ct_memory plan = {0}, none = {0}, memory = {0};
    struct ct_cpu_backend b;
    ct_cpu_backend_init(&b, &o, &plan, &none);
    memory.base = take(plan.used);
    ct_cpu_backend_init(&b, &o, &memory, &none);
    assert_int_equal(memory.used, plan.used);

    struct ct_kv kv = random_kv(&best, type, dim);
    int cols = GROUP * KV_HEADS * dim;
    float *q = take(sizeof(float) * (size_t)(MAX_ROWS * cols)),
          *out = take(sizeof(float) * (size_t)(MAX_ROWS * cols));
    for (int i = 0; i < MAX_ROWS * cols; i++)
        q[i] = 8 * uniform();
    for (size_t i = 0; i < CT_COUNT(passes) * CT_KINDS; i++) {
        const struct pass *p = &passes[i / CT_KINDS];
        int kind = (int)i % CT_KINDS, n = 0;
        int32_t position[MAX_ROWS], sequence[MAX_ROWS], token[MAX_ROWS] = {0};
        uint8_t want[MAX_ROWS] = {0};
        if (kind == 0 && p->last[0] >= CAPACITY) /* no longer there without a window */
            kind = 1;
        for (int s = 0; s < SEQUENCES; s++)
            for (int row = p->rows[s] - 1; row >= 0; row--, n++) {
                position[n] = p->last[s] - row;
                sequence[n] = s;
            }
        begin(&b.base, &(struct ct_rows){n, token, position, sequence, want});
        attend(&b.base, (ct_mat){out, cols}, (ct_mat){q, cols}, &kv, kind, 0.25f, 0);
        for (int row = 0; row < n; row++)
            for (int h = 0; h < GROUP * KV_HEADS; h++) {
                size_t at = (size_t)sequence[row] * kv.sequence_bytes + (size_t)(h / GROUP) * kv.head_bytes;
                struct ct_kv_head head = {type, CAPACITY, dim, kv.k + at, kv.v + at};
                float right[CT_MAX_HEAD_DIM];
                int lo = kind ? CT_MAX(0, position[row] - WINDOW + 1) : 0;
                alone(right, &ref, q + row * cols + h * dim, &head, lo, position[row]);
                if (memcmp(right, out + row * cols + h * dim, sizeof(float) * (size_t)dim) != 0)
                    fail_msg("%s, %d threads, KV type %d, head of %d, kind %d: row %d, head %d differs",
                             p->name, threads, type, dim, kind, row, h);
            }
    }
    free(kv.k);
    free(kv.v);
    free(q);
    free(out);
    free(memory.base);
    ct_pool_destroy(pool);
}

static void test_splits(void **unused)
{
    (void)unused;
    for (int threads = 1; threads <= 6; threads += threads == 1 ? 1 : 2) { /* 1, 2, 4, 6 */
        check(CT_KV_BF16, 64, threads);
        check(CT_KV_F16, 40, threads);
        check(CT_KV_F32, 32, threads);
        check(CT_KV_Q8, 64, threads);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_splits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

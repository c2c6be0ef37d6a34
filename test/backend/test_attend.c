/* SPDX-License-Identifier: Apache-2.0 */
/* test_attend.c: attention of the CPU backend over blocks gives the bits of one query alone over a head that
 * lies in one piece, by the reference kernel: for rows of one or several sequences, few or many, with and
 * without a window, split over threads or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "backend/cpu/cpu_backend.h"
#include "check/kernel_cases.h"
#include "tier.h"

enum {
    SEQUENCES = 3,
    CAPACITY = 1536,
    POSITIONS = 2000,
    WINDOW = 700,
    MAX_ROWS = 48,
    GROUP = 3,
    KV_HEADS = 2,
    LENGTH = CAPACITY / CT_KEY_BLOCK, /* blocks of a sequence */
};

static uint32_t state = 1;
static float uniform(void)
{
    state = state * 1664525u + 1013904223u;
    return (float)(int32_t)state * 0x1p-31f;
}

/* Fills K and V of every sequence: all slots hold something, as after POSITIONS tokens. whole gets the same
 * in one piece for each head. */
static void fill(const struct ct_cpu_backend *b, const struct ct_kv *kv, struct ct_kv_head *whole)
{
    float key[CT_MAX_HEAD_DIM], value[CT_MAX_HEAD_DIM];
    size_t bytes = ct_kv_bytes(kv->type, CAPACITY, kv->head_dim);

    for (int i = 0; i < SEQUENCES * KV_HEADS; i++) {
        whole[i] = (struct ct_kv_head){kv->type, CAPACITY, kv->head_dim, aligned_alloc(64, bytes), NULL};
        whole[i].v = aligned_alloc(64, bytes);
        assert_non_null(whole[i].k);
        assert_non_null(whole[i].v);
        memset(whole[i].k, 0, bytes);
        memset(whole[i].v, 0, bytes);
        for (int slot = 0; slot < CAPACITY; slot++) {
            struct ct_kv_head head = ct_cpu_kv_head(b, kv, i / KV_HEADS, slot / CT_KEY_BLOCK, i % KV_HEADS);
            for (int d = 0; d < kv->head_dim; d++) {
                key[d] = uniform();
                value[d] = uniform();
            }
            ct_kv_write(&b->kernel, &head, slot % CT_KEY_BLOCK, key, value);
            ct_kv_write(&b->kernel, &whole[i], slot, key, value);
        }
    }
}

/* One query over keys [lo, hi], block after block. */
static void alone(float *out, const struct ct_kernel *k, const float *q, const struct ct_kv_head *kv, int lo,
                  int hi)
{
    static _Alignas(64) float at[3][CT_MAX_HEAD_DIM], scratch[CT_ATTEND_SCRATCH];
    float max[2], sum[2] = {0};
    struct ct_queries tile = {1, {lo}, {hi}, at[0]};
    struct ct_attended all = {&max[0], &sum[0], at[1]}, block = {&max[1], &sum[1], at[2]};

    ct_call_attend(k, &all, &block, &tile, q, kv, lo, hi, 0.25f, 0, scratch);
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
    struct ct_kernel ref;
    struct ct_backend *b;
    int32_t table[SEQUENCES * LENGTH];
    struct ct_kv_pool pool = {.n_blocks = SEQUENCES * LENGTH, .length = LENGTH, .table = table};
    struct ct_kv kv = {.type = type, .n_kv_head = KV_HEADS, .head_dim = dim, .pool = &pool};
    struct ct_kv_head whole[SEQUENCES * KV_HEADS];
    struct ct_mat q, out;
    const int cols = GROUP * KV_HEADS * dim;
    carat_plan plan[2];
    carat_error err;
    ct_cpu_detect(&cpu);
    assert_true(ct_kernel_choose(&ref, &cpu, "ref"));
    const struct ct_backend_options o = {
        .threads = threads,
        .max_input = 32,
        .max_ffn = 32,
        .max_heads = GROUP * KV_HEADS,
        .max_head_dim = dim,
        .attn = {{.head_dim = 2, .rope_base = 10000, .rope_factor = 1},
                 {.window = WINDOW, .head_dim = 2, .rope_base = 10000, .rope_factor = 1}},
    };
    assert_int_equal(ct_backend_create_cpu(&b, &o, &err), CARAT_OK);
    for (int reserved = 0; reserved <= 1; reserved++) {
        b->verb.lay_out(b, &(struct ct_extent){MAX_ROWS, POSITIONS + 1, SEQUENCES});
        b->verb.alloc_kv(b, &pool, 1, &kv);
        q = b->verb.alloc(b, MAX_ROWS, cols);
        out = b->verb.alloc(b, MAX_ROWS, cols);
        b->verb.count(b, &plan[reserved]);
        if (!reserved)
            assert_int_equal(b->verb.reserve(b, &err), CARAT_OK);
    }
    assert_int_equal(plan[0].work_bytes, plan[1].work_bytes);
    assert_int_equal(plan[0].kv_bytes, plan[1].kv_bytes);
    for (int i = 0; i < SEQUENCES * LENGTH; i++)
        table[i] = i * 7 % (SEQUENCES * LENGTH); /* in no order */
    fill(ct_cpu(b), &kv, whole);

    for (int i = 0; i < MAX_ROWS * cols; i++)
        ct_row(q, 0)[i] = 8 * uniform();
    for (size_t i = 0; i < CT_COUNT(passes) * CT_ATTN_TYPES; i++) {
        const struct pass *p = &passes[i / CT_ATTN_TYPES];
        int attn_type = (int)i % CT_ATTN_TYPES, n = 0;
        int32_t position[MAX_ROWS], sequence[MAX_ROWS], token[MAX_ROWS] = {0};
        struct ct_seen seen[CT_ATTN_TYPES][MAX_ROWS];
        bool wanted[MAX_ROWS] = {false};
        for (int s = 0; s < SEQUENCES; s++)
            if (p->last[s] >= CAPACITY) /* no longer there without a window */
                attn_type = 1;
        for (int s = 0; s < SEQUENCES; s++)
            for (int row = p->rows[s] - 1; row >= 0; row--, n++) {
                position[n] = p->last[s] - row;
                sequence[n] = s;
                seen[0][n] = (struct ct_seen){0, position[n]};
                seen[1][n] = (struct ct_seen){CT_MAX(0, position[n] - WINDOW + 1), position[n]};
            }
        begin_pass(b, &(struct ct_rows){n, token, position, sequence, {seen[0], seen[1]}, wanted, false},
                   &(struct ct_watch){0});
        attend(b, out, q, &kv, attn_type, 0.25f, 0);
        assert_true(end_pass(b));
        for (int row = 0; row < n; row++)
            for (int h = 0; h < GROUP * KV_HEADS; h++) {
                float right[CT_MAX_HEAD_DIM];
                alone(right, &ref, ct_row(q, row) + h * dim, &whole[sequence[row] * KV_HEADS + h / GROUP],
                      seen[attn_type][row].first, position[row]);
                if (memcmp(right, ct_row(out, row) + h * dim, sizeof(float) * (size_t)dim) != 0)
                    fail_msg("%s, %d threads, KV type %d, head of %d, attn_type %d: row %d, head %d differs",
                             p->name, threads, type, dim, attn_type, row, h);
            }
    }
    for (int i = 0; i < SEQUENCES * KV_HEADS; i++) {
        free(whole[i].k);
        free(whole[i].v);
    }
    b->verb.destroy(b);
}

static void test_splits(void **unused)
{
    (void)unused;
    for (int threads = 1; threads <= 6; threads += threads == 1 ? 1 : 2) { /* 1, 2, 4, 6 */
        if (threads > 1 && !tier_takes((unsigned)threads / 2 - 1, 3))
            continue;
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

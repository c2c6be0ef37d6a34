/* SPDX-License-Identifier: Apache-2.0 */
/* test_kv.c: blocks of K and V of the CPU backend: positions come out in the layout of files and go back in,
 * a copy has the first positions and nothing else has changed, and what is not finite is not stored. Who
 * holds a block is test/model/test_kv_cache.c's. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "backend/cpu/cpu_backend.h"

enum { BLOCKS = 3, HEADS = 3, ROWS = 40, LAYERS = 2 };

/* Two layers of one pool, so that neither may touch the other. */
struct bench {
    struct ct_backend *b;
    struct ct_kv_pool pool;
    struct ct_kv kv[LAYERS];
    int32_t table[BLOCKS];
    ct_mat k, v;
};

static void bench_open(struct bench *t, enum ct_kv_type type, int dim, int threads)
{
    const struct ct_backend_options o = {
        .threads = threads,
        .max_input = 32,
        .max_ffn = 32,
        .max_heads = HEADS,
        .max_head_dim = dim,
        .attn = {{.head_dim = 2, .rope_base = 10000, .rope_factor = 1},
                 {.head_dim = 2, .rope_base = 10000, .rope_factor = 1}},
    };
    carat_error err;

    *t = (struct bench){.pool = {.n_blocks = BLOCKS, .length = BLOCKS}};
    t->pool.table = t->table;
    for (int i = 0; i < BLOCKS; i++)
        t->table[i] = (i + 1) % BLOCKS;
    for (int i = 0; i < LAYERS; i++)
        t->kv[i] = (struct ct_kv){.type = type, .n_kv_head = HEADS, .head_dim = dim, .pool = &t->pool};
    assert_int_equal(ct_backend_create_cpu(&t->b, &o, &err), CARAT_OK);
    for (int reserved = 0; reserved <= 1; reserved++) {
        t->b->verb.lay_out(t->b, &(struct ct_extent){ROWS, BLOCKS * CT_KEY_BLOCK, 1});
        t->b->verb.alloc_kv(t->b, &t->pool, LAYERS, t->kv);
        t->k = t->b->verb.alloc(t->b, ROWS, HEADS * dim);
        t->v = t->b->verb.alloc(t->b, ROWS, HEADS * dim);
        if (!reserved)
            assert_int_equal(t->b->verb.reserve(t->b, &err), CARAT_OK);
    }
}

static void bench_close(struct bench *t)
{
    t->b->verb.destroy(t->b);
}

static struct ct_kv_head head_of(const struct bench *t, int layer, int number, int head)
{
    return ct_cpu_kv_head(ct_cpu(t->b), &t->kv[layer], 0, number, head);
}

/* Eighths that every type holds exactly: the largest of each group of 32 is 127. what: 0 for K, 1 for V. */
static int eighths(int what, int layer, int position, int head, int d)
{
    uint32_t x = (uint32_t)(((what * LAYERS + layer) * 1000 + position) * HEADS + head) * 512 + (uint32_t)d;

    x = (x ^ x >> 7) * 2654435761u;
    return d % 32 == 0 ? 127 : (int)((x >> 16) % 255) - 127;
}

/* Writes all positions of an entry of the table, as a pass does. */
static void fill(struct bench *t, int layer, int number)
{
    float k[CT_MAX_HEAD_DIM], v[CT_MAX_HEAD_DIM];

    for (int i = 0; i < CT_KEY_BLOCK * HEADS; i++) {
        struct ct_kv_head head = head_of(t, layer, number, i % HEADS);
        int position = number * CT_KEY_BLOCK + i / HEADS;
        for (int d = 0; d < head.head_dim; d++) {
            k[d] = (float)eighths(0, layer, position, i % HEADS, d) / 8;
            v[d] = (float)eighths(1, layer, position, i % HEADS, d) / 8;
        }
        ct_kv_write(&ct_cpu(t->b)->kernel, &head, position % CT_KEY_BLOCK, k, v);
    }
}

/* Whether a row of a file has these eighths: channels in order; q8 in groups of 32, a scale of 1/8 first,
 * and zeros for channels that the head lacks. */
static bool is_row(const uint8_t *row, enum ct_kv_type type, int dim, int what, int layer, int position,
                   int head)
{
    for (int d = 0; d < (type == CT_KV_Q8 ? (dim + 31) / 32 * 32 : dim); d++) {
        int expected = d < dim ? eighths(what, layer, position, head, d) : 0;
        uint16_t half;
        float value;
        if (type == CT_KV_Q8) {
            memcpy(&half, row + (size_t)(d / 32) * 34, 2);
            value = ct_f16_to_f32(half) * (float)(int8_t)row[d / 32 * 34 + 2 + d % 32];
        } else if (type == CT_KV_F32) {
            memcpy(&value, row + 4 * (size_t)d, 4);
        } else {
            memcpy(&half, row + 2 * (size_t)d, 2);
            value = type == CT_KV_F16 ? ct_f16_to_f32(half) : ct_bf16_to_f32(half);
        }
        if (value * 8 != (float)expected)
            return false;
    }
    return true;
}

static const int dims[] = {2, 12, 14, 32, 34, 40, 64, 78, 256};

/* Calls one for every type and head. */
static void for_each_head(void (*one)(struct bench *t, enum ct_kv_type type, int dim))
{
    for (int type = 0; type < CT_KV_TYPE_COUNT; type++)
        for (size_t i = 0; i < CT_COUNT(dims); i++) {
            struct bench t;
            bench_open(&t, (enum ct_kv_type)type, dims[i], 1);
            for (int k = 0; k < LAYERS * BLOCKS; k++)
                fill(&t, k % LAYERS, k / LAYERS);
            one(&t, (enum ct_kv_type)type, dims[i]);
            bench_close(&t);
        }
}

/* All bytes of the pool, to be compared. */
static uint8_t *bytes_of_pool(const struct bench *t)
{
    const struct ct_cpu_backend *b = ct_cpu(t->b);
    uint8_t *bytes = calloc(BLOCKS, t->pool.block_bytes);

    assert_non_null(bytes);
    for (int i = 0; i < BLOCKS * LAYERS; i++)
        for (int h = 0; h < HEADS; h++) {
            struct ct_kv_head head = head_of(t, i % LAYERS, i / LAYERS, h);
            size_t n = ct_kv_bytes(head.type, CT_KEY_BLOCK, head.head_dim);
            memcpy(bytes + ((uint8_t *)head.k - b->kv.base - t->pool.at), head.k, n);
            memcpy(bytes + ((uint8_t *)head.v - b->kv.base - t->pool.at), head.v, n);
        }
    return bytes;
}

/* Rows of a file: [positions][HEADS], K and V apart. */
struct rows {
    size_t bytes; /* of a row */
    uint8_t *k, *v;
};

static struct rows take_rows(const struct bench *t, int layer, int block, int first, int n)
{
    struct rows r = {ct_kv_bytes(t->kv[layer].type, 1, t->kv[layer].head_dim), NULL, NULL};

    r.k = malloc((size_t)n * HEADS * r.bytes + 1);
    r.v = malloc((size_t)n * HEADS * r.bytes + 1);
    assert_true(r.k && r.v);
    t->b->verb.kv_get(t->b, &t->kv[layer], block, first, n, r.k, r.v);
    return r;
}

static void drop_rows(struct rows *r)
{
    free(r->k);
    free(r->v);
}

static void get_one(struct bench *t, enum ct_kv_type type, int dim)
{
    static const int spans[][2] = {{0, CT_KEY_BLOCK}, {0, 1}, {17, 50}, {255, 1}};

    for (size_t i = 0; i < CT_COUNT(spans) * LAYERS * BLOCKS; i++) {
        int layer = (int)i % LAYERS, number = (int)i / LAYERS % BLOCKS;
        int first = spans[i / (LAYERS * BLOCKS)][0], n = spans[i / (LAYERS * BLOCKS)][1];
        struct rows r = take_rows(t, layer, t->table[number], first, n);
        for (int k = 0; k < n * HEADS; k++) {
            int position = number * CT_KEY_BLOCK + first + k / HEADS;
            const uint8_t *at[2] = {r.k + (size_t)k * r.bytes, r.v + (size_t)k * r.bytes};
            for (int what = 0; what < 2; what++)
                if (!is_row(at[what], type, dim, what, layer, position, k % HEADS))
                    fail_msg("KV type %d, head of %d: %s of position %d, head %d is not the row of a file",
                             type, dim, what ? "V" : "K", position, k % HEADS);
        }
        drop_rows(&r);
    }
}

static void a_file_has_rows(void **unused)
{
    (void)unused;
    for_each_head(get_one);
}

/* What was taken out and put back gives the same bytes; before, they are others. */
static void put_one(struct bench *t, enum ct_kv_type type, int dim)
{
    static const int spans[][2] = {{0, CT_KEY_BLOCK}, {3, 1}, {30, 100}};

    (void)type;
    (void)dim;
    for (size_t i = 0; i < CT_COUNT(spans); i++) {
        int first = spans[i][0], n = spans[i][1];
        struct rows r = take_rows(t, 1, 2, first, n), other = take_rows(t, 1, 1, first, n);
        uint8_t *before = bytes_of_pool(t);
        t->b->verb.kv_put(t->b, &t->kv[1], 2, first, n, other.k, other.v);
        uint8_t *between = bytes_of_pool(t);
        assert_memory_not_equal(between, before, BLOCKS * t->pool.block_bytes);
        struct rows back = take_rows(t, 1, 2, first, n);
        assert_memory_equal(back.k, other.k, (size_t)n * HEADS * r.bytes);
        assert_memory_equal(back.v, other.v, (size_t)n * HEADS * r.bytes);
        t->b->verb.kv_put(t->b, &t->kv[1], 2, first, n, r.k, r.v);
        uint8_t *after = bytes_of_pool(t);
        assert_memory_equal(after, before, BLOCKS * t->pool.block_bytes);
        free(before);
        free(between);
        free(after);
        drop_rows(&r);
        drop_rows(&other);
        drop_rows(&back);
    }
}

static void what_is_put_back_is_the_same(void **unused)
{
    (void)unused;
    for_each_head(put_one);
}

/* The first n positions are copied; beyond their panel of 16 keys, in other blocks and in the other layer
 * nothing changes. */
static void copy_one(struct bench *t, enum ct_kv_type type, int dim)
{
    static const int counts[] = {1, 2, 15, 16, 17, 100, 255, 256};

    (void)type;
    (void)dim;
    for (size_t i = 0; i < CT_COUNT(counts); i++) {
        int n = counts[i], rest = (n + 15) / 16 * 16;
        struct rows from = take_rows(t, 0, 1, 0, CT_KEY_BLOCK), to = take_rows(t, 0, 2, 0, CT_KEY_BLOCK);
        struct rows other = take_rows(t, 1, 2, 0, CT_KEY_BLOCK), third = take_rows(t, 0, 0, 0, CT_KEY_BLOCK);
        size_t all = CT_KEY_BLOCK * HEADS * from.bytes, copied = (size_t)n * HEADS * from.bytes;
        size_t behind = (size_t)rest * HEADS * from.bytes;
        t->b->verb.kv_copy(t->b, &t->kv[0], 2, 1, n);
        struct rows now[] = {take_rows(t, 0, 1, 0, CT_KEY_BLOCK), take_rows(t, 0, 2, 0, CT_KEY_BLOCK),
                             take_rows(t, 1, 2, 0, CT_KEY_BLOCK), take_rows(t, 0, 0, 0, CT_KEY_BLOCK)};
        assert_true(memcmp(now[0].k, from.k, all) == 0 && memcmp(now[0].v, from.v, all) == 0);
        assert_true(memcmp(now[1].k, from.k, copied) == 0 && memcmp(now[1].v, from.v, copied) == 0);
        assert_true(memcmp(now[1].k + behind, to.k + behind, all - behind) == 0);
        assert_true(memcmp(now[1].v + behind, to.v + behind, all - behind) == 0);
        assert_true(memcmp(now[2].k, other.k, all) == 0 && memcmp(now[2].v, other.v, all) == 0);
        assert_true(memcmp(now[3].k, third.k, all) == 0 && memcmp(now[3].v, third.v, all) == 0);
        t->b->verb.kv_put(t->b, &t->kv[0], 2, 0, CT_KEY_BLOCK, to.k, to.v);
        drop_rows(&from);
        drop_rows(&to);
        drop_rows(&other);
        drop_rows(&third);
        for (size_t k = 0; k < CT_COUNT(now); k++)
            drop_rows(&now[k]);
    }
}

static void a_copy_has_the_first_positions(void **unused)
{
    (void)unused;
    for_each_head(copy_one);
}

static void discard_one(struct bench *t, enum ct_kv_type type, int dim)
{
    struct rows before = take_rows(t, 1, 2, 0, CT_KEY_BLOCK);
    size_t all = CT_KEY_BLOCK * HEADS * before.bytes;

    t->b->verb.kv_discard(t->b, &t->pool, 1);
    struct rows after = take_rows(t, 1, 2, 0, CT_KEY_BLOCK);
    assert_memory_equal(after.k, before.k, all);
    assert_memory_equal(after.v, before.v, all);
    fill(t, 0, 0); /* entry 0 is block 1: it can be written again */
    drop_rows(&before);
    drop_rows(&after);
    before = take_rows(t, 0, t->table[0], 5, 1);
    assert_true(is_row(before.k, type, dim, 0, 0, 5, 0));
    drop_rows(&before);
}

static void a_discarded_block_is_usable(void **unused)
{
    (void)unused;
    for_each_head(discard_one);
}

/* Rows whose K or V are no numbers, or too large for the type, are zero and not finite; their neighbours are
 * what they are. */
static void what_is_not_finite_is_not_stored(void **unused)
{
    static const struct {
        enum ct_kv_type type;
        float largest, beyond;
    } types[] = {{CT_KV_BF16, 0x1.fep127f, 0x1.ffp127f},
                 {CT_KV_F16, 65504, 65520},
                 {CT_KV_F32, 0x1.fffffep127f, INFINITY},
                 {CT_KV_Q8, 0x1.fffffep127f, INFINITY}};

    (void)unused;
    for (size_t i = 0; i < 3 * CT_COUNT(types); i++) {
        enum { DIM = 40, FIRST = 100 };
        const float bad[] = {NAN, -INFINITY, types[i / 3].beyond, -types[i / 3].beyond};
        int32_t position[ROWS], token[ROWS] = {0}, sequence[ROWS] = {0};
        struct ct_seen seen[ROWS];
        bool wanted[ROWS] = {false};
        struct bench t;
        bench_open(&t, types[i / 3].type, DIM, 1 + (int)i % 3);
        fill(&t, 0, 0);
        for (int r = 0; r < ROWS; r++) {
            position[r] = FIRST + r;
            seen[r] = (struct ct_seen){0, position[r]};
            for (int c = 0; c < HEADS * DIM; c++)
                ct_row(t.k, r)[c] = ct_row(t.v, r)[c] = r % 2 ? types[i / 3].largest : 0.5f;
            if (r % 5 == 0) /* one value of K or of V, in any head */
                ct_row(r % 2 ? t.k : t.v, r)[r * 7 % (HEADS * DIM)] = bad[r / 5 % 4];
        }
        begin_pass(t.b, &(struct ct_rows){ROWS, token, position, sequence, {seen, seen}, wanted, false},
                   &(struct ct_watch){0});
        kv_write(t.b, &t.kv[0], t.k, t.v);
        for (int r = 0; r < ROWS; r++) {
            assert_int_equal(t.b->verb.is_finite(t.b, r), r % 5 != 0);
            struct rows now = take_rows(&t, 0, t.table[0], FIRST + r, 1);
            int zeros = 0;
            for (size_t k = 0; k < HEADS * now.bytes; k++)
                zeros += (now.k[k] == 0) + (now.v[k] == 0);
            assert_int_equal(zeros == 2 * HEADS * (int)now.bytes, r % 5 == 0);
            drop_rows(&now);
        }
        assert_true(end_pass(t.b));
        bench_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_has_rows),
        cmocka_unit_test(what_is_put_back_is_the_same),
        cmocka_unit_test(a_copy_has_the_first_positions),
        cmocka_unit_test(a_discarded_block_is_usable),
        cmocka_unit_test(what_is_not_finite_is_not_stored),
    };
    return cmocka_run_group_tests_name("backend: kv", tests, NULL, NULL);
}

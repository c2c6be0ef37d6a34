/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpu_attend.c: K and V stored and attention over them by the kernels for GPUs, as host C on fibres
 * (test/emu), against ref, bit for bit: every type, heads of many widths, groups of query heads that fill a
 * block or not, rows of two sequences side by side, windows, spans that begin and end anywhere, and blocks of
 * keys that are split among blocks of threads or not. The other kernels: test_gpu.c. */
#include "gpu_util.h"
#include "tier.h"

#include "layout/kv.h"

enum { KV_HEADS = 2, ENTRIES = 3, BLOCKS = 5, SEQUENCES = 2, ROWS = 9, STORED = 700 };

/* Block 0 is the same one of both sequences. */
static const int32_t table[SEQUENCES * ENTRIES] = {2, 0, 1, 4, 0, 3};

struct memory {
    enum ct_kv_type type;
    int dim;
    uint8_t *at; /* [BLOCKS] of K and then V */
    size_t half, block_bytes;
};

static struct memory make_memory(enum ct_kv_type type, int dim)
{
    struct memory m = {.type = type, .dim = dim, .half = KV_HEADS * ct_kv_bytes(type, 256, dim)};

    m.block_bytes = 2 * m.half;
    m.at = room(BLOCKS * m.block_bytes);
    return m;
}

/* Of the entry that a block of keys has in the table. */
static struct ct_kv_head head_of(const struct memory *m, uint8_t *memory, int sequence, int number, int head)
{
    const int32_t block = table[sequence * ENTRIES + number % ENTRIES];
    uint8_t *at = memory + (size_t)block * m->block_bytes + (size_t)head * ct_kv_bytes(m->type, 256, m->dim);

    return (struct ct_kv_head){m->type, 256, m->dim, at, at + m->half};
}

static struct ct_gpu_kv kv_of(const struct memory *m, const int32_t *sequence)
{
    return (struct ct_gpu_kv){.k = m->at,
                              .v = m->at + m->half,
                              .table = table,
                              .sequence = sequence,
                              .block_bytes = m->block_bytes,
                              .head_bytes = ct_kv_bytes(m->type, 256, m->dim),
                              .length = ENTRIES,
                              .dim = (uint32_t)m->dim,
                              .type = (uint32_t)m->type};
}

/* ---- storing ---- */

/* Positions [0, STORED) of a sequence through the kernel, and through ref, which must give the same bytes. In
 * the second one keys are so much alike that many weigh something. */
static void store(const struct memory *m, int sequence_of_all)
{
    const int width = KV_HEADS * m->dim;
    float *k = values((size_t)(STORED * width), sequence_of_all ? mild : hard),
          *v = values((size_t)(STORED * width), hard);
    int32_t *position = room(STORED * 4), *sequence = room(STORED * 4), *origin = room(STORED * 4),
            *bad = room(STORED * 4);
    uint8_t *expected = room(BLOCKS * m->block_bytes);
    const int32_t kept[SEQUENCES] = {3, 3};

    memcpy(expected, m->at, BLOCKS * m->block_bytes);
    for (int i = 0; i < STORED * width && m->type == CT_KV_F16; i++) { /* beyond it a row is not whole, too */
        k[i] = fabsf(k[i]) < 0x1p15f ? k[i] : -65504.0f;
        v[i] = fabsf(v[i]) < 0x1p15f ? v[i] : 65504.0f;
    }
    k[5 * width + 1] = INFINITY;
    v[9 * width] = NAN;
    for (int i = 0; i < STORED; i++) {
        position[i] = origin[i] = i;
        sequence[i] = sequence_of_all;
    }
    fibre_run(kv_write_thread,
              &(struct ct_gpu_kv_write){.kv = kv_of(m, sequence),
                                        .k = k,
                                        .v = v,
                                        .position = position,
                                        .kept = kept,
                                        .origin = origin,
                                        .bad = bad,
                                        .ldk = width,
                                        .ldv = width,
                                        .heads = KV_HEADS,
                                        .limit = ct_kv_info(m->type)->limit},
              1, STORED);
    for (int i = 0; i < STORED; i++) {
        const bool whole = i != 5 && i != 9;
        assert_int_equal(bad[i], !whole);
        for (int d = 0; d < width && !whole; d++)
            k[i * width + d] = v[i * width + d] = 0;
        for (int h = 0; h < KV_HEADS && i >= kept[0]; h++) {
            struct ct_kv_head head = head_of(m, expected, sequence_of_all, i / 256, h);
            ref.kv_write(&head, i % 256, k + i * width + h * m->dim, v + i * width + h * m->dim);
        }
    }
    assert_memory_equal(m->at, expected, BLOCKS * m->block_bytes);
    free(k);
    free(v);
    free(position);
    free(sequence);
    free(origin);
    free(bad);
    free(expected);
}

/* ---- attention ---- */

/* Rows of two sequences: what they see begins and ends in blocks and at their ends, or lies around the end
 * of the table. */
static const int32_t sequence_of[ROWS] = {0, 0, 0, 0, 1, 1, 0, 1, 1};
static const int32_t seen[ROWS * 2] = {0,   699, 450, 699, 256, 511, 3,   3,   255,
                                       256, 0,   31,  300, 900, 511, 767, 100, 612};

/* How the work is cut. */
struct cut {
    int group, rows, splits; /* query heads of a KV head; rows of a block */
    float cap;
};

static int heads_of_block(const struct cut *c)
{
    return CT_MIN(c->group, CT_GPU_QUERIES / c->rows);
}

static void attend(float *out, const struct memory *m, const float *q, const struct cut *c, bool planted)
{
    const int heads = heads_of_block(c), all = KV_HEADS * c->group, chunks = (c->group + heads - 1) / heads;
    const size_t parts = (size_t)(ROWS * all * ENTRIES) * (size_t)(m->dim + 2) * sizeof(float);
    float *part = room(parts);

    memset(part, 0xff, parts); /* a part that is read and was not written is NaN */
    memset(out, 0xa5, (size_t)(ROWS * all * m->dim) * sizeof *out);
    fibre_run(planted ? attend_planted : attend_thread,
              &(struct ct_gpu_attend){.kv = kv_of(m, sequence_of),
                                      .out = out,
                                      .q = q,
                                      .seen = seen,
                                      .part = part,
                                      .ldo = all * m->dim,
                                      .ldq = all * m->dim,
                                      .n = ROWS,
                                      .all = all,
                                      .group = c->group,
                                      .rows = c->rows,
                                      .heads = heads,
                                      .splits = c->splits,
                                      .scale = 0.0625f,
                                      .cap = c->cap},
              KV_HEADS * chunks * c->splits, (ROWS + c->rows - 1) / c->rows);
    if (c->splits > 1)
        fibre_run(attend_merge_thread,
                  &(struct ct_gpu_attend_merge){.out = out,
                                                .part = part,
                                                .seen = seen,
                                                .ldo = all * m->dim,
                                                .all = all,
                                                .dim = m->dim,
                                                .length = ENTRIES},
                  all, ROWS);
    free(part);
}

/* Of one row and head. */
static void attend_by_ref(float *out, const struct memory *m, const float *q, int row, int kv_head, float cap)
{
    const size_t bytes = (size_t)m->dim * sizeof(float);
    struct ct_attended all = {room(64), room(64), room(bytes)}, block = {room(64), room(64), room(bytes)};
    struct ct_queries t = {.n = 1, .q = room(CT_QUERIES * bytes)};
    float *scratch = room(CT_ATTEND_SCRATCH * sizeof(float));

    t.lo[0] = seen[row * 2];
    t.hi[0] = seen[row * 2 + 1];
    for (int b = t.lo[0] / 256; b <= t.hi[0] / 256; b++) {
        const struct ct_kv_head kv = head_of(m, m->at, sequence_of[row], b, kv_head);
        ref.attend_query(&t, 0, q, &kv);
        ref.attend_block(&block, &t, &kv, b, 0.0625f, cap, scratch);
        ref.attend_merge(&all, &block, 1, m->dim);
    }
    ref.attend_finish(out, &all, 0, m->dim);
    free(all.max);
    free(all.sum);
    free(all.out);
    free(block.max);
    free(block.sum);
    free(block.out);
    free(t.q);
    free(scratch);
}

/* In the deep tier: what takes long, too. */
static bool all;

/* In an order of threads that is another one each time, or in all. */
static void check(const struct memory *m, const struct cut *c)
{
    static int turn;
    const int heads = KV_HEADS * c->group;
    const size_t n = (size_t)(ROWS * heads * m->dim);
    float *q = values(n, mild), *out = room(n * sizeof(float)), *expected = room(n * sizeof(float));

    for (int i = 0; i < ROWS * heads; i++)
        attend_by_ref(expected + i * m->dim, m, q + i * m->dim, i / heads, i % heads / c->group, c->cap);
    for (ORDERS(order)) {
        if (!all && order != turn % FIBRE_ORDERS)
            continue;
        attend(out, m, q, c, false);
        for (size_t i = 0; i < n; i++)
            if (ct_f32_bits(out[i]) != ct_f32_bits(expected[i]))
                fail_msg("K and V %d, head %d, groups of %d, %d rows, %d splits, cap %g, order %d: row %zu, "
                         "head %zu, channel %zu: %a, expected %a",
                         (int)m->type, m->dim, c->group, c->rows, c->splits, (double)c->cap, order,
                         i / (size_t)(heads * m->dim), i / (size_t)m->dim % (size_t)heads, i % (size_t)m->dim,
                         (double)out[i], (double)expected[i]);
    }
    turn++;
    free(q);
    free(out);
    free(expected);
}

static const enum ct_kv_type types[] = {CT_KV_BF16, CT_KV_F16, CT_KV_F32, CT_KV_Q8};

/* Each way to cut the work with some types and widths, or with all. */
static void attention_has_the_bits_of_ref(void **unused)
{
    static const int dims[] = {32, 72, 256, 512, 64, 128}; /* the last two of all */
    static const struct cut cuts[] = {{1, 1, 1, 0}, {1, 8, 1, 50}, {2, 4, 1, 0},  {3, 2, 1, 0}, {2, 1, 3, 0},
                                      {8, 1, 1, 0}, {4, 1, 2, 50}, {11, 1, 4, 0}, {1, 3, 2, 0}};

    (void)unused;
    for (size_t i = 0; i < (all ? CT_COUNT(dims) : 4) * CT_COUNT(types); i++) {
        struct memory m = make_memory(types[i % CT_COUNT(types)], dims[i / CT_COUNT(types)]);
        state = 1 + i;
        store(&m, 0);
        store(&m, 1);
        for (size_t c = 0; c < CT_COUNT(cuts); c++)
            if (all || (m.dim < 100 ? (c + i) % 4 == 0 : c == i % 5))
                check(&m, &cuts[c]);
        free(m.at);
    }
}

/* Threads that do not wait for each other give others. */
static void a_missing_barrier_is_seen(void **unused)
{
    const struct cut c = {.group = 2, .rows = 4, .splits = 1};
    const struct memory m = make_memory(CT_KV_BF16, 64);
    const size_t n = (size_t)(ROWS * KV_HEADS * c.group * m.dim);
    float *q = values(n, mild), *whole = room(n * sizeof(float)), *out = room(n * sizeof(float));

    (void)unused;
    state = 8;
    store(&m, 0);
    store(&m, 1);
    attend(whole, &m, q, &c, false);
    for (ORDERS(order)) {
        size_t differ = 0;
        attend(out, &m, q, &c, true);
        for (size_t i = 0; i < n; i++)
            differ += ct_f32_bits(out[i]) != ct_f32_bits(whole[i]);
        assert_true(differ > n / 2);
    }
    free(m.at);
    free(q);
    free(whole);
    free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_has_the_bits_of_ref),
        cmocka_unit_test(a_missing_barrier_is_seen),
    };

    all = tier_is_deep();
    return cmocka_run_group_tests_name("kernel: attention of gpu, emulated", tests, choose, NULL);
}

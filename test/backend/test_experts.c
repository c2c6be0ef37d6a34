/* SPDX-License-Identifier: Apache-2.0 */
/* test_experts.c: what a row gets from its experts is, bit for bit, what it gets when it goes alone through
 * one expert after another, by the reference kernels on weights as they are stored: whatever the threads, the
 * other rows of the pass and how many take the same expert. Which experts those are: test/kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/cpu/cpu_backend.h"
#include "tier.h"

enum { MOST = 40, EXPERTS = 16, USED = 4, WIDE = 320 };

static uint32_t state_of_random = 1;

static float random_value(void)
{
    state_of_random = state_of_random * 1664525u + 1013904223u;
    return (float)(int32_t)(state_of_random >> 8 & 0xffff) / 32768 - 1;
}

/* Random blocks of a type whose scales are small, or values. */
static struct ct_weight random_weight(enum ct_type type, int rows, int cols)
{
    struct ct_weight w = {.type = type, .layout = CT_LAYOUT_ROWS, .rows = rows, .cols = cols, .scale = 1};
    const struct ct_type_info *info = ct_type_info(type);

    assert_true(ct_type_row_bytes(type, (size_t)cols, &w.row_bytes));
    const size_t bytes = (size_t)rows * w.row_bytes;
    uint8_t *data = malloc(bytes);
    assert_non_null(data);
    for (size_t at = 0; at < bytes; at += (size_t)info->bytes) {
        const float value = random_value();
        const uint16_t scale = ct_f32_to_f16(0.01f + fabsf(value) / 64), half = ct_f32_to_bf16(value);
        for (int i = 0; i < info->bytes; i++)
            data[at + (size_t)i] = (uint8_t)(state_of_random >> (8 + i % 3));
        if (type == CT_F32)
            memcpy(data + at, &value, sizeof value);
        else /* of TQ2_0 it stands behind all else */
            memcpy(data + at + (type == CT_TQ2_0 ? info->bytes - 2 : 0), type == CT_BF16 ? &half : &scale, 2);
    }
    w.data = data;
    return w;
}

struct shape {
    enum ct_type wide, down;
    int cols, ffn;
};

struct rig {
    struct ct_backend *b;
    struct ct_expert stored[EXPERTS], packed[EXPERTS];
    struct ct_experts e;
    float scale[EXPERTS];
    ct_mat in, out, route;
    struct ct_kernel ref;
    bool exact;
};

static void each_weight(struct rig *r, void (*visit)(struct rig *r, struct ct_weight *stored, int k, int i))
{
    for (int i = 0; i < EXPERTS; i++) {
        struct ct_weight *const w[] = {&r->stored[i].gate, &r->stored[i].up, &r->stored[i].down};
        for (int k = 0; k < 3; k++)
            visit(r, w[k], k, i);
    }
}

static void plan(struct rig *r, struct ct_weight *w, int k, int i)
{
    carat_error err;
    (void)k, (void)i;
    assert_int_equal(r->b->verb.plan_weight(r->b, w, &err), CARAT_OK);
}

static void load(struct rig *r, struct ct_weight *w, int k, int i)
{
    struct ct_weight *const to[] = {&r->packed[i].gate, &r->packed[i].up, &r->packed[i].down};
    *to[k] = r->b->verb.pack_weight(r->b, *w);
}

static void drop(struct rig *r, struct ct_weight *w, int k, int i)
{
    (void)r, (void)k, (void)i;
    free((void *)(uintptr_t)w->data);
}

static void nobody_needs_it(void *user, const void *p, size_t bytes)
{
    (void)user, (void)p, (void)bytes;
}

static void rig_open(struct rig *r, const struct shape *s, int threads, bool exact, int most)
{
    const struct ct_attn attn = {.head_dim = 8, .rotated = 4, .rope_base = 10000, .rope_factor = 1};
    const struct ct_backend_options o = {
        .threads = threads,
        .exact = exact,
        .norm_eps = 1e-6f,
        .max_input = WIDE,
        .max_ffn = 1,
        .max_heads = 1,
        .max_head_dim = 8,
        .max_experts = {EXPERTS, USED, s->cols, s->ffn},
        .n_vocab = 1,
        .attn = {attn, attn},
        .done_with = nobody_needs_it,
    };
    struct ct_cpu cpu;
    carat_error err;

    *r = (struct rig){.e = {EXPERTS, USED, r->packed, {0}}, .exact = exact};
    ct_cpu_detect(&cpu);
    assert_true(ct_kernel_choose(&r->ref, &cpu, "ref"));
    for (int i = 0; i < EXPERTS; i++) {
        r->stored[i] = (struct ct_expert){random_weight(s->wide, s->ffn, s->cols),
                                          random_weight(s->wide, s->ffn, s->cols),
                                          random_weight(s->down, s->cols, s->ffn)};
        r->scale[i] = 1 + random_value() / 4;
    }
    r->e.scale = (struct ct_weight){.type = CT_F32, .rows = 1, .cols = EXPERTS, .data = r->scale, .scale = 1};
    assert_int_equal(ct_backend_create_cpu(&r->b, &o, &err), CARAT_OK);
    each_weight(r, plan);
    for (int reserved = 0; reserved <= 1; reserved++) {
        r->b->verb.lay_out(r->b, &(struct ct_extent){most, 256, 1});
        r->in = r->b->verb.alloc(r->b, most, s->cols);
        r->out = r->b->verb.alloc(r->b, most, s->cols);
        r->route = r->b->verb.alloc(r->b, most, EXPERTS);
        if (!reserved)
            assert_int_equal(r->b->verb.reserve(r->b, &err), CARAT_OK);
    }
    r->b->verb.load_begin(r->b, NULL, NULL);
    each_weight(r, load);
    assert_true(r->b->verb.load_end(r->b));
}

static void rig_close(struct rig *r)
{
    r->b->verb.destroy(r->b);
    each_weight(r, drop);
}

/* One row through one weight. */
static void multiply(const struct rig *r, float *out, const struct ct_weight *w, const float *x)
{
    static _Alignas(64) float value[WIDE], scale[WIDE], scratch[8 * WIDE];
    static int8_t q[WIDE];
    static int32_t sum[WIDE];
    struct ct_prepared p = {.n = 1, .cols = w->cols, .value = value, .q = q, .scale = scale, .sum = sum};
    const enum ct_input form = ct_input_form(w, r->exact);

    assert_true(CT_SCRATCH(w->cols) <= CT_COUNT(scratch));

    r->ref.prepare_input(&p, form, x, (size_t)w->cols, ct_input_of_tokens(&p, 0, CT_LANES));
    r->ref.project(out, (size_t)w->rows, w, 0, w->rows, &p, form, scratch, NULL);
}

static void want(const struct rig *r, float *out, int row)
{
    int32_t id[USED];
    float weight[USED], gate[WIDE], up[WIDE], y[WIDE];

    r->ref.route(id, weight, ct_row(r->route, row), EXPERTS, USED, r->scale);
    memset(out, 0, (size_t)r->out.cols * sizeof *out);
    for (int i = 0; i < USED; i++) {
        const struct ct_expert *e = &r->stored[id[i]];
        multiply(r, gate, &e->gate, ct_row(r->in, row));
        multiply(r, up, &e->up, ct_row(r->in, row));
        r->ref.geglu(gate, up, e->gate.rows);
        multiply(r, y, &e->down, gate);
        r->ref.add_scaled(out, weight[i], y, r->out.cols);
    }
}

/* How rows choose: as they like; all the same; half of them one that nobody else takes. */
enum choice { ANY, ALL_ALIKE, TWO_KINDS, CHOICES };

static void fill(struct rig *r, int n, enum choice choice)
{
    for (int row = 0; row < n; row++) {
        for (int i = 0; i < r->in.cols; i++)
            ct_row(r->in, row)[i] = random_value();
        for (int i = 0; i < EXPERTS; i++)
            ct_row(r->route, row)[i] = choice == ANY         ? random_value() * 3
                                       : choice == ALL_ALIKE ? (float)i / 8
                                                             : (float)(i % 2 == row % 2) + (float)i / 64;
        memset(ct_row(r->out, row), 0xff, (size_t)r->out.cols * sizeof(float));
    }
}

static void check(struct rig *r, int n, enum choice choice)
{
    static const int32_t zero[MOST];
    static const struct ct_seen seen[MOST];
    static const bool wanted[MOST];
    float out[WIDE];

    fill(r, n, choice);
    begin_pass(r->b, &(struct ct_rows){n, zero, zero, zero, {seen, seen}, wanted, n == 1},
               &(struct ct_watch){0});
    experts(r->b, r->out, r->in, r->route, &r->e);
    assert_true(end_pass(r->b));
    for (int row = 0; row < n; row++) {
        want(r, out, row);
        assert_memory_equal(ct_row(r->out, row), out, (size_t)r->out.cols * sizeof *out);
    }
}

static void rows_get_what_they_get_alone(void **state)
{
    static const struct shape shapes[] = {
        {CT_F32, CT_F32, 70, 24},        {CT_BF16, CT_BF16, 64, 24},    {CT_BF16, CT_BF16, 160, 100},
        {CT_Q4_0, CT_Q8_0, 320, 96},     {CT_Q8_0, CT_BF16, 32, 200},   {CT_BF16, CT_Q4_0, 33, 160},
        {CT_IQ2_XXS, CT_NVFP4, 256, 64}, {CT_IQ1_S, CT_Q1_0, 256, 128}, {CT_TQ2_0, CT_IQ3_S, 256, 256}};
    static const int threads[] = {1, 2, 3}, rows[] = {1, 2, 7, 8, 9, 17, MOST};
    static struct rig r;

    (void)state;
    for (size_t i = 0; i < CT_COUNT(shapes); i++)
        for (size_t t = 0; t < CT_COUNT(threads); t++) {
            if (!tier_reaches((unsigned)(i + t) % 3, 3))
                continue;
            rig_open(&r, &shapes[i], threads[t], (i + t) % 3 == 2, MOST);
            for (size_t n = 0; n < CT_COUNT(rows); n++)
                for (int choice = 0; choice < CHOICES; choice++)
                    check(&r, rows[n], (enum choice)choice);
            rig_close(&r);
        }
}

/* Memory for one row is enough for one row. */
static void an_engine_may_have_room_for_few_rows(void **state)
{
    static const struct shape shape = {CT_Q4_0, CT_Q4_0, 320, 160};
    static struct rig r;

    (void)state;
    for (int most = 1; most <= 9; most += 4) {
        rig_open(&r, &shape, 2, false, most);
        for (int choice = 0; choice < CHOICES; choice++)
            check(&r, most, (enum choice)choice);
        rig_close(&r);
    }
}

static int expert_bytes(const struct rig *r)
{
    return (int)(2 * ct_weight_bytes(&r->packed[0].gate) + ct_weight_bytes(&r->packed[0].down));
}

static struct ct_cost heard;
static void hear(void *user, struct ct_backend *b, const struct ct_event *event)
{
    (void)user;
    if (strcmp(event->verb, "experts") == 0)
        heard = b->verb.cost(b, event);
}

/* Only experts that some row takes are read, and each once. */
static void chosen_experts_are_read_once(void **state)
{
    static const struct shape shape = {CT_Q4_0, CT_Q4_0, 320, 160};
    struct ct_trace trace = {.hook = hear};
    static struct rig r;

    (void)state;
    rig_open(&r, &shape, 2, false, MOST);
    ct_trace_begin(r.b, &trace);
    check(&r, 1, ANY);
    assert_int_equal(heard.bytes, USED * expert_bytes(&r));
    check(&r, MOST, ALL_ALIKE);
    assert_int_equal(heard.bytes, USED * expert_bytes(&r));
    check(&r, MOST, TWO_KINDS);
    assert_int_equal(heard.bytes, 2 * USED * expert_bytes(&r));
    assert_int_equal(heard.operations[CARAT_BY_INT4], 2 * 3 * 320 * 160 * USED * MOST);
    ct_trace_end(r.b, &trace);
    rig_close(&r);
}

/* What a listener heard inside: of each expert its rows' values, and how often each column. */
static struct {
    float value[EXPERTS][MOST][WIDE];
    int rows[EXPERTS], times[EXPERTS][WIDE];
} inside;

static void hear_inside(void *user, const struct ct_inner *inner)
{
    const int e = inner->expert;

    (void)user;
    assert_true(e >= 0 && e < EXPERTS && inner->rows <= MOST && inner->first + inner->cols <= WIDE);
    for (int row = 0; row < inner->rows; row++)
        memcpy(inside.value[e][row] + inner->first, inner->x + row * inner->stride,
               (size_t)inner->cols * sizeof *inner->x);
    for (int c = inner->first; c < inner->first + inner->cols; c++)
        inside.times[e][c]++;
    inside.rows[e] = inner->rows;
}

/* Rows are told in their order, every column once, as f32 whatever down reads; and who took what is known. */
static void experts_tell_what_down_reads(void **state)
{
    static const struct shape shapes[] = {{CT_BF16, CT_Q4_0, 33, 256}, {CT_Q4_0, CT_F32, 320, 200}};
    static const int rows[] = {1, 9};
    struct ct_trace trace = {.hook = hear, .inner = hear_inside};
    static struct rig r;
    float gate[WIDE], up[WIDE];

    (void)state;
    for (size_t i = 0; i < CT_COUNT(shapes); i++) {
        rig_open(&r, &shapes[i], 3, i == 1, MOST);
        ct_trace_begin(r.b, &trace);
        for (int k = 0; k < (int)CT_COUNT(rows) * CHOICES; k++) {
            int taken[EXPERTS] = {0};
            memset(&inside, 0, sizeof inside);
            check(&r, rows[k / CHOICES], (enum choice)(k % CHOICES));
            for (int row = 0; row < rows[k / CHOICES]; row++)
                for (int u = 0; u < USED; u++) {
                    const int e = r.b->verb.chosen(r.b, row)[u];
                    multiply(&r, gate, &r.stored[e].gate, ct_row(r.in, row));
                    multiply(&r, up, &r.stored[e].up, ct_row(r.in, row));
                    r.ref.geglu(gate, up, shapes[i].ffn);
                    assert_memory_equal(gate, inside.value[e][taken[e]++],
                                        (size_t)shapes[i].ffn * sizeof *gate);
                }
            for (int e = 0; e < EXPERTS; e++) {
                assert_int_equal(taken[e], inside.rows[e]);
                for (int c = 0; c < shapes[i].ffn; c++)
                    assert_int_equal(inside.times[e][c], taken[e] > 0);
            }
        }
        ct_trace_end(r.b, &trace);
        rig_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_get_what_they_get_alone),
        cmocka_unit_test(an_engine_may_have_room_for_few_rows),
        cmocka_unit_test(chosen_experts_are_read_once),
        cmocka_unit_test(experts_tell_what_down_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

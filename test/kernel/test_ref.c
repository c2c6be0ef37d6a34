/* SPDX-License-Identifier: Apache-2.0 */
/* test_ref.c: the reference kernels against float64 arithmetic, and each compiled level against the
 * baseline bit for bit: sections 3 to 8 of NUMERICS.md. Logits of whole models are compared in test/api. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kernel/kernel.h"
#include "block_oracle.h"

#define CT_ISA test
#include "kernel/ref/ref_math.h"

static uint64_t state = 88172645463325252u;
static uint32_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32);
}
static float uniform(float lo, float hi)
{
    return lo + (hi - lo) * ((float)(next_random() >> 8) * 0x1p-24f);
}
static void fill(float *x, size_t n, float scale)
{
    for (size_t i = 0; i < n; i++)
        x[i] = uniform(-scale, scale);
}

/* The levels this CPU runs, the baseline first. */
static int levels(const struct ct_kernel *k[2])
{
    static struct ct_kernel table[2];
    if (!table[0].isa) { /* asking the processor takes long in a virtual machine */
        struct ct_cpu cpu;
        ct_cpu_detect(&cpu);
        assert_true(ct_kernel_choose(&table[0], &cpu, "ref") && ct_kernel_choose(&table[1], &cpu, NULL));
    }
    k[0] = &table[0];
    k[1] = &table[1];
    return strcmp(table[0].isa, table[1].isa) == 0 ? 1 : 2;
}

/* ---- exp over every float ---- */

enum { BLOCK = 4096 }; /* floats that share sign, exponent and the upper 11 bits of the mantissa */

struct sweep {
    int64_t
        worst; /* error in units of the last place: bits of a double, which order as it does, NaN on top */
    uint64_t wrong;
};

/* In units of the last place of exp(x) as a normal number. */
static inline int64_t exp_error(float y, double right)
{
    union {
        double d;
        uint64_t u;
    } of = {right}, unit, error;
    unit.u = (2046 + 23 - (of.u >> 52)) << 52; /* 2 ^ (23 - exponent) */
    error.d = fabs((double)y - right) * unit.d;
    return (int64_t)error.u;
}

enum exp_is { ZERO, NUMBER, INFINITE, NOTHING };
static enum exp_is exp_is(float x)
{
    return x != x                                   ? NOTHING
           : x < -87.33655f                         ? ZERO
           : x >= 88.72284f /* more than FLT_MAX */ ? INFINITE
                                                    : NUMBER;
}

/* A block of one kind: loops that compilers make vectors of. exp of a float is that of the first of its
 * block, times that of what it has beyond that one: the C library is asked once a block. beyond is NULL where
 * 1 + x is near enough. */
static inline void exp_block(struct sweep *s, uint32_t first, enum exp_is is, const double *beyond)
{
    float y[BLOCK];
    const double of_first = exp((double)ct_f32_from_bits(first));
    int32_t wrong = 0;

    for (uint32_t k = 0; k < BLOCK; k++)
        y[k] = ct_exp(ct_f32_from_bits(first + k));
    if (is == NUMBER && beyond)
        for (int k = 0; k < BLOCK; k++)
            s->worst = CT_MAX(s->worst, exp_error(y[k], of_first * beyond[k]));
    else if (is == NUMBER)
        for (uint32_t k = 0; k < BLOCK; k++)
            s->worst = CT_MAX(s->worst, exp_error(y[k], 1.0 + (double)ct_f32_from_bits(first + k)));
    else if (is == NOTHING)
        for (int k = 0; k < BLOCK; k++)
            wrong += y[k] == y[k];
    else
        for (int k = 0; k < BLOCK; k++)
            wrong += y[k] != (is == ZERO ? 0.0f : INFINITY);
    s->wrong += (uint64_t)wrong;
}

/* A block in which one kind ends and another begins. */
static void exp_mixed_block(struct sweep *s, uint32_t first)
{
    for (uint32_t u = first; u < first + BLOCK; u++) {
        float x = ct_f32_from_bits(u), y = ct_exp(x);
        enum exp_is is = exp_is(x);
        if (is == NUMBER)
            s->worst = CT_MAX(s->worst, exp_error(y, exp((double)x)));
        else
            s->wrong += is == NOTHING ? y == y : y != (is == ZERO ? 0.0f : INFINITY);
    }
}

/* Every stride-th block, and those where something begins. */
static inline struct sweep exp_sweep(uint32_t stride)
{
    static double beyond[BLOCK];
    struct sweep s = {0, 0};

    for (uint32_t high = 0; high < 512; high++) { /* sign and exponent */
        const int exponent = (int)(high & 255) - 127;
        const bool small = exponent<-25, large = exponent> 6;
        for (int k = 0; k < BLOCK && !small && !large; k++)
            beyond[k] = exp(ldexp(high & 256 ? -k : k, exponent - 23));
        for (uint32_t block = 0; block < 2048; block++) {
            const uint32_t first = high << 23 | block * BLOCK;
            const enum exp_is is = exp_is(ct_f32_from_bits(first));
            if (is != exp_is(ct_f32_from_bits(first + BLOCK - 1)))
                exp_mixed_block(&s, first);
            else if (block % stride == 0)
                exp_block(&s, first, is, small ? NULL : beyond);
        }
    }
    return s;
}

/* All of them, where that takes seconds: with an fma that is an instruction, which gives the same bits as
 * the function, and without a sanitizer, which changes no number. */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
__attribute__((target("avx2,fma"), flatten)) static struct sweep exp_sweep_all(void)
{
    return exp_sweep(1);
}

static struct sweep exp_sweep_many(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? exp_sweep_all() : exp_sweep(61);
}
#else
static struct sweep exp_sweep_many(void)
{
    return exp_sweep(61);
}
#endif

/* NUMERICS.md section 6: at most 2 ulp, over every f32, and the exact cases. */
static void test_exp(void **unused)
{
    struct sweep s = exp_sweep_many();
    double worst;

    (void)unused;
    memcpy(&worst, &s.worst, sizeof worst);
    assert_int_equal(s.wrong, 0);
    assert_true(worst > 0.5 && worst <= 2);
    assert_true(ct_exp(0.0f) == 1.0f && ct_exp(-0.0f) == 1.0f);
}

/* NUMERICS.md section 6 to the bit: x and e^x, computed from that page in exact fractions with one
 * rounding an operation. The first rows are chosen in pairs: one of each shows a unit in the last place
 * more, the other one less, of 1/2, 1/6, 1/24, 1/120, 1/720, of 1/5040 (eight units) and of the second
 * part of ln 2. */
static const struct {
    float x, y;
} exp_bits[] = {
    {0x1.386418p+6f, 0x1.97a9bep+112f},
    {-0x1.4dc60cp+6f, 0x1.88847cp-121f},
    {-0x1.002128p+6f, 0x1.89a8d0p-93f},
    {0x1.e577a8p+5f, 0x1.7633fcp+87f},
    {0x1.5d02a2p+4f, 0x1.628478p+31f},
    {-0x1.19cfb6p+6f, 0x1.481c04p-102f},
    {0x1.ee0becp+4f, 0x1.762220p+44f},
    {-0x1.cf485cp+5f, 0x1.5e7262p-84f},
    {0x1.ae7ca4p+5f, 0x1.8ce86ap+77f},
    {-0x1.54e3dcp+5f, 0x1.705a82p-62f},
    {0x1.a8434ap+5f, 0x1.6c9dfap+76f},
    {-0x1.192e50p+6f, 0x1.801f7cp-102f},
    {0x1.5235a2p+6f, 0x1.fa1aeap+121f},
    {0x1.cc34c4p+5f, 0x1.fd3766p+82f},
    {0.0f, 1.0f},
    {-0.0f, 1.0f},
    {1.0f, 0x1.5bf0a8p+1f},
    {-1.0f, 0x1.78b564p-2f},
    {-87.0f, 0x1.666d0ep-126f},
    {88.5f, 0x1.99b986p+127f},
    {0x1.62e430p-2f, 0x1.6a09e6p+0f},
};

static void test_exp_bits(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < CT_COUNT(exp_bits); i++) {
        float y = ct_exp(exp_bits[i].x);
        if (ct_f32_bits(y) != ct_f32_bits(exp_bits[i].y))
            fail_msg("e^%a is %a, expected %a", (double)exp_bits[i].x, (double)y, (double)exp_bits[i].y);
    }
}

static void test_tanh(void **unused)
{
    (void)unused;
    assert_int_equal(ct_f32_bits(ct_tanh(0.0f)), 0);
    assert_int_equal(ct_f32_bits(ct_tanh(-0.0f)), 0x80000000u);
    for (int i = 0; i < 100000; i++) {
        float x = uniform(-12, 12);
        assert_true(ct_tanh(-x) == -ct_tanh(x));
        assert_true(fabs((double)ct_tanh(x) - tanh((double)x)) <= 2e-7); /* exp's 2 ulp near u = 1, twice */
    }
}

static void test_bf16_round(void **unused)
{
    (void)unused;
    assert_true(ct_bf16_round(0x1.01p0f) == 1.0f);      /* tie to even, down */
    assert_true(ct_bf16_round(0x1.03p0f) == 0x1.04p0f); /* tie to even, up */
    assert_true(ct_bf16_round(0x1p-50f) == 0x1p-50f);
    assert_int_equal(ct_f32_bits(ct_bf16_round(-0x1.fcp-51f)), 0);
    assert_true(isinf(ct_bf16_round(3.4e38f)));
    assert_true(isnan(ct_bf16_round(NAN)));
    for (int i = 0; i < 100000; i++) {
        float x = uniform(-100, 100), y = ct_bf16_round(x);
        assert_true(fabsf(x - y) <= fabsf(x) * 0x1p-8f);
        assert_int_equal(ct_f32_to_bf16(y), ct_f32_to_bf16(x));
    }
}

static void test_rope_table(void **unused)
{
    const struct ct_kernel *k[2];
    double inv[128];
    float c[128], s[128];

    (void)unused;
    levels(k);
    for (int base = 0; base < 2; base++) {
        k[0]->rope_frequencies(inv, 256, base ? 1e6 : 1e4, base ? 8 : 1);
        for (int i = 0; i < 128; i++)
            assert_true(fabs(inv[i] * (base ? 8 : 1) * pow(base ? 1e6 : 1e4, 2.0 * i / 256) - 1) < 1e-14);
        for (int position = 0; position < 200000; position += position < 3000 ? 1 : 997) {
            k[0]->rope_table(c, s, inv, 128, position);
            for (int i = 0; i < 128; i += 9) {
                /* half an ulp of f32 plus what double angles leave at 200000 radians */
                assert_true(fabs((double)c[i] - cos(position * inv[i])) < 6.1e-8);
                assert_true(fabs((double)s[i] - sin(position * inv[i])) < 6.1e-8);
            }
        }
    }
}

/* Where the f16 factors of a block lie (bf16 for I8); the rest may be any bits. */
static void set_factors(enum ct_type type, uint8_t *block, float d, float m)
{
    static const int at[CT_TYPE_COUNT][2] = {
        [CT_Q8_0] = {0, -1},    [CT_Q4_0] = {0, -1},    [CT_Q4_1] = {0, 2},    [CT_Q5_0] = {0, -1},
        [CT_Q5_1] = {0, 2},     [CT_Q2_K] = {80, 82},   [CT_Q3_K] = {108, -1}, [CT_Q4_K] = {0, 2},
        [CT_Q5_K] = {0, 2},     [CT_Q6_K] = {208, -1},  [CT_IQ4_NL] = {0, -1}, [CT_IQ4_XS] = {0, -1},
        [CT_MXFP4] = {-1, -1},  [CT_IQ2_XXS] = {0, -1}, [CT_IQ2_XS] = {0, -1}, [CT_IQ2_S] = {0, -1},
        [CT_IQ3_XXS] = {0, -1}, [CT_IQ3_S] = {0, -1},   [CT_IQ1_S] = {0, -1},  [CT_IQ1_M] = {-1, -1},
        [CT_TQ1_0] = {52, -1},  [CT_TQ2_0] = {64, -1},  [CT_Q1_0] = {0, -1},   [CT_Q2_0] = {0, -1},
        [CT_NVFP4] = {-1, -1},  [CT_I8] = {0, 2}};
    const float value[2] = {d, m};

    for (int i = 0; i < 2; i++) {
        uint16_t half = type == CT_I8 ? ct_f32_to_bf16(value[i]) : ct_f32_to_f16(value[i]);
        if (at[type][i] >= 0)
            memcpy(block + at[type][i], &half, 2);
    }
    if (type == CT_MXFP4)
        block[0] = (uint8_t)(110 + next_random() % 20);
    for (int i = 0; i < 4 && type == CT_NVFP4; i++)
        block[i] = (uint8_t)(next_random() % 127);
    for (int i = 0; i < 4 && type == CT_IQ1_M; i++) /* the bits of d are spread */
        block[49 + 2 * i] = (uint8_t)((block[49 + 2 * i] & 15) | (ct_f32_to_f16(d) >> 4 * i & 15) << 4);
}

/* Random rows of a stored type, extremes included; every column count that the type allows. */
static struct ct_weight random_weight(enum ct_type type, int rows, int cols)
{
    const struct ct_type_info *t = ct_type_info(type);
    size_t row_bytes;
    assert_true(ct_type_row_bytes(type, (size_t)cols, &row_bytes));
    size_t size = row_bytes * (size_t)rows;
    uint8_t *data = malloc(size + 1);
    assert_non_null(data);
    uint8_t *p = data + 1; /* unaligned: files promise nothing */

    if (t->block == 1 && type != CT_SFP) {
        for (int i = 0; i < rows * cols; i++) {
            float v = uniform(-1, 1) * (next_random() % 16 ? 1 : 0x1p-52f);
            uint16_t half = type == CT_BF16 ? ct_f32_to_bf16(v) : ct_f32_to_f16(v);
            memcpy(p + (size_t)(i * t->bytes), type == CT_F32 ? (void *)&v : &half, (size_t)t->bytes);
        }
        return (struct ct_weight){type, CT_LAYOUT_ROWS, rows, cols, row_bytes, p, 1, false, NULL};
    }
    for (size_t at = 0; at < size; at += (size_t)t->bytes) {
        static const uint8_t same[] = {0x00, 0xff, 0x80, 0x7f};
        uint32_t kind = next_random() % 12; /* some blocks are extreme throughout */
        for (int i = 0; i < t->bytes; i++)
            p[at + (size_t)i] = kind < 4 ? same[kind] : next_random() % 5 ? (uint8_t)next_random() : 0x80;
        float subnormal = next_random() % 8 ? 1 : 0x1p-13f;
        if (type != CT_SFP)
            set_factors(type, p + at, uniform(-0.1f, 0.1f) * subnormal, uniform(-0.1f, 0.1f));
    }
    return (struct ct_weight){type, CT_LAYOUT_ROWS, rows, cols, row_bytes, p, 1, false, NULL};
}

static void prepared_alloc(struct ct_prepared *p, int n, int cols)
{
    size_t k = (size_t)ct_pad_group(cols), lanes = ct_round_up((size_t)n, CT_LANES);
    *p = (struct ct_prepared){n,
                              cols,
                              malloc(lanes * k * 4),
                              malloc((size_t)n * k),
                              malloc((size_t)n * k / 32 * 4),
                              malloc((size_t)n * k / 16 * 4)};
    assert_true(p->value && p->q && p->scale && p->sum);
}
static void prepared_free(struct ct_prepared *p)
{
    free(p->value);
    free(p->q);
    free(p->scale);
    free(p->sum);
}

/* One output by the page: groups of 32, written from the rules and not from the kernel. */
static float by_the_rules(const struct ct_weight *w, int row, const float *x, bool exact)
{
    const uint8_t *stored = (const uint8_t *)w->data + (size_t)row * w->row_bytes;
    float acc = 0;
    if (ct_input_form(w, exact) == CT_INPUT_Q8)
        return product_of_integers(w->type, stored, x, w->cols) * w->scale;
    float *wide = malloc((size_t)w->cols * 4);
    assert_non_null(wide);
    ct_dequantize(w->type, wide, stored, (size_t)w->cols);

    for (int g = 0; g < w->cols; g += 32) {
        int n = w->cols - g < 32 ? w->cols - g : 32;
        float e = 0, o = 0;
        for (int i = 0; i < n; i++) {
            float wv = wide[g + i], xv = x[g + i];
            if (w->type == CT_BF16 || w->type == CT_SFP) {
                wv = fabsf(wv) < 0x1p-50f ? 0 : wv;
                if (!exact) {
                    xv = ct_bf16_to_f32(ct_f32_to_bf16(xv));
                    xv = fabsf(xv) < 0x1p-50f ? 0 : xv;
                }
            }
            if (i % 2)
                o = fmaf(wv, xv, o);
            else
                e = fmaf(wv, xv, e);
        }
        acc = acc + (e + o);
    }
    free(wide);
    return acc * w->scale;
}

static void test_project(void **unused)
{
    static const int columns[] = {8, 24, 32, 56, 64, 72, 160, 256, 512};
    static const int tokens[] = {1, 2, 8, 9};
    const struct ct_kernel *k[2];
    int n_level = levels(k);

    (void)unused;
    for (size_t a = 0; a < CT_TYPE_COUNT * CT_COUNT(columns) * CT_COUNT(tokens) * 2; a++) {
        bool exact = a % 2;
        enum ct_type type = (enum ct_type)(a / 2 % CT_TYPE_COUNT);
        int cols = columns[a / 2 / CT_TYPE_COUNT % CT_COUNT(columns)];
        int n = tokens[a / 2 / CT_TYPE_COUNT / CT_COUNT(columns)], rows = 7;
        if (cols % ct_type_info(type)->block || type == CT_NUQ)
            continue;
        struct ct_weight w = random_weight(type, rows, cols);
        struct ct_prepared x;
        float in[9 * 512], out[2][9 * 7], scratch[CT_SCRATCH(512)], wide[2][512], plain[512];
        enum ct_input form = ct_input_form(&w, exact);
        w.scale = n == 8 ? 0.37f : 1;
        prepared_alloc(&x, n, cols);
        fill(in, (size_t)(n * cols), 3);
        in[0] = 0x1p-60f;
        for (int i = 0; i < cols && n > 1; i++)
            in[cols + i] *= 0x1p-100f; /* groups below the threshold */
        for (int level = 0; level < n_level; level++) {
            k[level]->prepare_input(&x, form, in, (size_t)cols,
                                    ct_input_of_tokens(&x, 0, (int)ct_round_up((size_t)n, CT_LANES)));
            k[level]->project(out[level], (size_t)rows, &w, 0, 3, &x, form, scratch, NULL);
            k[level]->project(out[level], (size_t)rows, &w, 3, rows, &x, form, scratch, NULL);
            k[level]->dequantize_row(wide[level], &w, 5, scratch);
        }
        ct_dequantize(type, plain, (const uint8_t *)w.data + 5 * w.row_bytes, (size_t)cols);
        for (int i = 0; i < cols; i++) {
            float right = (type == CT_BF16 && fabsf(plain[i]) < 0x1p-50f ? 0 : plain[i]) * w.scale;
            for (int level = 0; level < n_level; level++)
                assert_int_equal(ct_f32_bits(wide[level][i]), ct_f32_bits(right));
        }
        for (int t = 0; t < n; t++)
            for (int r = 0; r < rows; r++) {
                float right = by_the_rules(&w, r, in + t * cols, exact);
                for (int level = 0; level < n_level; level++)
                    assert_int_equal(ct_f32_bits(out[level][t * rows + r]), ct_f32_bits(right));
            }
        prepared_free(&x);
        free((uint8_t *)(uintptr_t)w.data - 1);
    }
}

/* Any bits may stand in a file: a NaN or an infinite factor gives such a result, at every level, and
 * nothing worse. */
static void test_project_any_bits(void **unused)
{
    static const uint8_t same[] = {0x00, 0xff, 0x80, 0x7f, 0x7c, 0xfc};
    const struct ct_kernel *k[2];
    int n_level = levels(k);

    (void)unused;
    for (int type = 0; type < CT_TYPE_COUNT; type++)
        for (size_t a = 0; a < CT_COUNT(same) * 2; a++) {
            bool exact = a % 2;
            if (type == CT_NUQ)
                continue;
            struct ct_weight w = random_weight((enum ct_type)type, 2, 512);
            struct ct_prepared x;
            float in[512], out[2][2], scratch[CT_SCRATCH(512)];
            enum ct_input form = ct_input_form(&w, exact);
            memset((uint8_t *)(uintptr_t)w.data, same[a / 2], w.row_bytes);
            fill(in, 512, 3);
            prepared_alloc(&x, 1, 512);
            for (int level = 0; level < n_level; level++) {
                k[level]->prepare_input(&x, form, in, 512, ct_input_of_tokens(&x, 0, CT_LANES));
                k[level]->project(out[level], 2, &w, 0, 2, &x, form, scratch, NULL);
            }
            assert_true(isfinite(out[0][1])); /* the row beside it is as it was */
            assert_int_equal(isnan(out[0][0]), isnan(out[n_level - 1][0]));
            if (!isnan(out[0][0]))
                assert_int_equal(ct_f32_bits(out[0][0]), ct_f32_bits(out[n_level - 1][0]));
            if (same[a / 2] == 0)
                assert_true(out[0][0] == 0);
            prepared_free(&x);
            free((uint8_t *)(uintptr_t)w.data - 1);
        }
}

/* One query over keys [lo, hi], block after block. */
static void attend(float *out, const struct ct_kernel *k, const float *q, const struct ct_kv_head *kv, int lo,
                   int hi, float scale, float cap)
{
    static _Alignas(64) float at[3][CT_MAX_HEAD_DIM], scratch[CT_ATTEND_SCRATCH];
    float max[2], sum[2] = {0};
    struct ct_queries tile = {1, {lo}, {hi}, at[0]};
    struct ct_attended all = {&max[0], &sum[0], at[1]}, block = {&max[1], &sum[1], at[2]};

    k->attend_query(&tile, 0, q, kv);
    for (int b = lo / CT_KEY_BLOCK; b <= hi / CT_KEY_BLOCK; b++) {
        ct_kv_attend(k, &block, &tile, kv, b, scale, cap, scratch);
        k->attend_merge(&all, &block, 1, kv->head_dim);
    }
    k->attend_finish(out, &all, 0, kv->head_dim);
}

/* Attention against float64 softmax; bf16 rounds K, V, q and weights to 8 bits, so its bound is 4
 * roundings of 2^-9 relative to the largest |V|. */
static void test_attend(void **unused)
{
    static const double bound[] = {
        [CT_KV_BF16] = 4 * 0x1p-9 * 4, [CT_KV_F16] = 4 * 0x1p-11 * 4, [CT_KV_F32] = 1e-5};
    const struct ct_kernel *k[2];
    int n_level = levels(k);

    (void)unused;
    for (int type = 0; type < (int)CT_COUNT(bound); type++) /* q8 has test_kv_q8.c */
        for (int dim = 16; dim <= 64; dim += 24)
            for (int window = 0; window < 2; window++) {
                int capacity = window ? 512 : 1024, positions = 900;
                size_t bytes = ct_kv_bytes((enum ct_kv_type)type, capacity, dim);
                struct ct_kv_head kv = {(enum ct_kv_type)type, capacity, dim, calloc(1, bytes),
                                        calloc(1, bytes)};
                float *keys = malloc(sizeof(float) * 900 * 64), *values = malloc(sizeof(float) * 900 * 64),
                      q[64], out[2][64];
                assert_true(kv.k && kv.v && keys && values);
                fill(keys, (size_t)(positions * dim), 1);
                fill(values, (size_t)(positions * dim), 1);
                for (int p = 0; p < positions; p++) {
                    ct_kv_write(k[0], &kv, p, keys + p * dim, values + p * dim);
                    if (p % 53 && p != positions - 1)
                        continue;
                    int lo = window ? CT_MAX(0, p - 200) : 0;
                    fill(q, (size_t)dim, 2);
                    for (int level = 0; level < n_level; level++)
                        attend(out[level], k[level], q, &kv, lo, p, 0.5f, 20);
                    assert_memory_equal(out[0], out[n_level - 1], (size_t)dim * sizeof(float));
                    double right[64] = {0}, sum = 0;
                    for (int j = lo; j <= p; j++) {
                        double s = 0;
                        for (int d = 0; d < dim; d++)
                            s += (double)q[d] * keys[j * dim + d];
                        double e = exp(20 * tanh(s * 0.5 / 20));
                        sum += e;
                        for (int d = 0; d < dim; d++)
                            right[d] += e * values[j * dim + d];
                    }
                    for (int d = 0; d < dim; d++)
                        assert_true(fabs(right[d] / sum - out[0][d]) <= bound[type]);
                }
                free(kv.k);
                free(kv.v);
                free(keys);
                free(values);
            }
}

static void test_vector_levels(void **unused)
{
    const struct ct_kernel *k[2];
    float x[300], y[2][300], w[300];
    int n_level = levels(k);

    (void)unused;
    for (int n = 1; n <= 300; n += 13) {
        fill(x, 300, 4);
        fill(w, 300, 2);
        double ss = 0;
        for (int i = 0; i < n; i++)
            ss += (double)x[i] * x[i];
        for (int level = 0; level < n_level; level++)
            k[level]->norm(y[level], x, w, n, 1e-6f);
        assert_memory_equal(y[0], y[n_level - 1], (size_t)n * sizeof(float));
        for (int i = 0; i < n; i++)
            assert_true(fabs(y[0][i] - x[i] / sqrt(ss / n + 1e-6) * w[i]) <= 1e-5);
        for (int level = 0; level < n_level; level++) {
            memcpy(y[level], x, sizeof x);
            k[level]->geglu(y[level], w, n);
            k[level]->softcap(y[level], 3, n);
        }
        assert_memory_equal(y[0], y[n_level - 1], (size_t)n * sizeof(float));
        for (int i = 0; i < n; i++) {
            double v = x[i], g = 0.5 * v * (1 + tanh(0.7978845608028654 * (v + 0.044715 * v * v * v))) * w[i];
            assert_true(fabs(y[0][i] - 3 * tanh(g / 3)) <= 4e-6);
        }
        assert_true(k[0]->finite(y[0], (size_t)n));
        y[0][n - 1] = INFINITY;
        assert_false(k[0]->finite(y[0], (size_t)n));
    }
}

static int32_t draw(const float *logits, int n, struct ct_draw d)
{
    const struct ct_kernel *k[2];
    int32_t order[3][512], id[2];
    float value[3][512];
    struct ct_draw_room room = {order[0], order[1], order[2], value[0], value[1], value[2]};
    int n_level = levels(k);

    for (int level = 0; level < n_level; level++)
        id[level] = k[level]->draw(&(struct ct_logits){.value = logits, .n = n}, &d, &room);
    assert_int_equal(id[0], id[n_level - 1]);
    return id[0];
}

static void test_draw(void **unused)
{
    float logits[512];
    int seen[512] = {0};

    (void)unused;
    fill(logits, 512, 5);
    logits[77] = logits[300] = 9;
    const struct ct_draw greedy = {.temperature = 0, .top_p = 1, .top_k = 64};
    assert_int_equal(draw(logits, 512, greedy), 77); /* a tie goes to the lowest id */
    assert_int_equal(
        draw(logits, 512, (struct ct_draw){.top_p = 1, .banned = (int32_t[]){77}, .n_banned = 1}), 300);
    assert_int_equal(draw(logits, 1, (struct ct_draw){.top_p = 1, .banned = (int32_t[]){0}, .n_banned = 1}),
                     -1);

    /* frequencies follow softmax: 20000 draws, 5 standard deviations */
    for (int i = 0; i < 512; i++)
        logits[i] = i < 4 ? (float)i : -100;
    double sum = 1 + exp(1) + exp(2) + exp(3);
    for (uint32_t position = 0; position < 20000; position++)
        seen[draw(logits, 512,
                  (struct ct_draw){.temperature = 1, .top_p = 1, .seed = 42, .position = position})]++;
    for (int i = 0; i < 4; i++) {
        double p = exp(i) / sum;
        assert_true(fabs(seen[i] - 20000 * p) < 5 * sqrt(20000 * p * (1 - p)));
    }
    assert_int_equal(seen[0] + seen[1] + seen[2] + seen[3], 20000);

    /* top-k, top-p and min-p each leave what they should: masses .644 .237 .087 .032 */
    for (uint32_t position = 0; position < 2000; position++) {
        assert_true(draw(logits, 512,
                         (struct ct_draw){.temperature = 1, .top_p = 1, .top_k = 2, .position = position}) >=
                    2);
        assert_true(
            draw(logits, 512, (struct ct_draw){.temperature = 1, .top_p = 0.9f, .position = position}) >= 1);
        assert_true(
            draw(logits, 512,
                 (struct ct_draw){.temperature = 1, .top_p = 1, .min_p = 0.3f, .position = position}) >= 2);
        assert_int_equal(
            draw(logits, 512, (struct ct_draw){.temperature = 1, .top_p = 0, .position = position}), 3);
    }
}

/* Known answers of Philox4x32-10 for counter and key zero (Random123's kat_vectors): the first word is
 * 6627e8d5. */
static void test_philox(void **unused)
{
    float logits[256] = {0};
    (void)unused;
    /* equal logits: the draw is floor(u * 256) with u = (x0 >> 8) 2^-24, up to the rounding of 256 sums of
     * 1/256 */
    assert_int_equal(draw(logits, 256, (struct ct_draw){.temperature = 1, .top_p = 1}), 0x66);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exp),
        cmocka_unit_test(test_exp_bits),
        cmocka_unit_test(test_tanh),
        cmocka_unit_test(test_bf16_round),
        cmocka_unit_test(test_rope_table),
        cmocka_unit_test(test_project),
        cmocka_unit_test(test_project_any_bits),
        cmocka_unit_test(test_attend),
        cmocka_unit_test(test_vector_levels),
        cmocka_unit_test(test_draw),
        cmocka_unit_test(test_philox),
    };
    return cmocka_run_group_tests_name("kernel: ref", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_levels.c: products over panels of every level of kernels against ref, bit for bit, on any CPU with
 * AVX2: a level that this one lacks runs in emulation (emulate.h). kcheck searches longer and checks more,
 * on the levels a CPU has. */
#define _DEFAULT_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "check/kernel_cases.h"
#include "kernel/kernel.h"
#include "layout/panel.h"

#if defined(__x86_64__)
void ct_panels_init_emulated_avxvnni(struct ct_kernel *k);
void ct_panels_init_emulated_avx512(struct ct_kernel *k);
void ct_panels_init_emulated_vnni(struct ct_kernel *k);
void ct_panels_init_emulated_amx(struct ct_kernel *k);
static const struct {
    const char *name;
    void (*emulated)(struct ct_kernel *k);
} levels[] = {
    {"avxvnni", ct_panels_init_emulated_avxvnni},
    {"avx512", ct_panels_init_emulated_avx512},
    {"vnni", ct_panels_init_emulated_vnni},
    {"amx", ct_panels_init_emulated_amx},
};
#endif

static const enum ct_type types[] = {CT_Q8_0,   CT_Q5_0, CT_Q5_1, CT_Q4_0, CT_Q4_1,
                                     CT_IQ4_NL, CT_BF16, CT_F16,  CT_F32};

static uint64_t state_of_random = 88172645463325252ull;

static uint32_t random_bits(void)
{
    uint64_t x = state_of_random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    state_of_random = x;
    return (uint32_t)(x >> 16);
}

static int below(int n)
{
    return (int)(random_bits() % (uint32_t)n);
}

/* Memory of just that size on whole lines, so that a sanitizer sees one byte too many. */
static void *room(size_t bytes)
{
    void *p = NULL;
    assert_int_equal(posix_memalign(&p, 64, CT_MAX(bytes, (size_t)1)), 0);
    memset(p, 0xa5, CT_MAX(bytes, (size_t)1));
    return p;
}

/* ---- weights ---- */

/* A finite f16: zeros, subnormals, small and middling ones, either sign. */
static uint16_t any_f16(void)
{
    static const uint16_t special[] = {0, 0x8000, 1, 0x83ff, 0x0400, 0x3c00, 0xbc00};
    if (below(4) == 0)
        return special[below((int)CT_COUNT(special))];
    return (uint16_t)((random_bits() & 0x83ff) | (uint32_t)(4 + below(14)) << 10);
}

/* f32 of either sign whose exponent is moderate, or zero, or denormal, or the bf16 denormal that packing
 * flushes. */
static uint32_t any_f32(void)
{
    uint32_t sign = random_bits() & 0x80000000u, low = random_bits() & 0x007fffffu;
    switch (below(16)) {
    case 0:
        return sign;
    case 1:
        return sign | low;
    case 2:
        return sign | 0x26000000u | low;
    default:
        return sign | (uint32_t)(110 + below(24)) << 23 | low;
    }
}

/* A stored block of 32 values with f16 scale first, perhaps an f16 minimum, and codes: any bits, often the
 * extremes. */
static void fill_block(uint8_t *block, size_t bytes, bool minimum)
{
    int how = below(6);
    for (size_t i = 0; i < bytes; i++)
        block[i] = how == 0   ? 0x80
                   : how == 1 ? 0x7f
                   : how == 2 ? 0xff
                   : how == 3 ? 0
                              : (uint8_t)random_bits();
    for (int i = 0; i < (minimum ? 2 : 1); i++) {
        uint16_t h = any_f16();
        memcpy(block + 2 * i, &h, 2);
    }
}

static struct ct_weight make_weight(enum ct_type type, int rows, int cols)
{
    size_t row = type == CT_F32 ? 4 * (size_t)cols : type == CT_F16 || type == CT_BF16 ? 2 * (size_t)cols : 0;
    static const size_t block[CT_TYPE_COUNT] = {
        [CT_Q8_0] = 34, [CT_Q5_0] = 22, [CT_Q5_1] = 24, [CT_Q4_0] = 18, [CT_Q4_1] = 20, [CT_IQ4_NL] = 18};
    if (!row)
        row = block[type] * (size_t)(cols / CT_GROUP);
    uint8_t *data = room(row * (size_t)rows);
    for (size_t at = 0; at < row * (size_t)rows;)
        if (type == CT_F32) {
            uint32_t v = any_f32();
            memcpy(data + at, &v, 4);
            at += 4;
        } else if (type == CT_F16 || type == CT_BF16) {
            uint16_t v = type == CT_F16 ? any_f16() : (uint16_t)(any_f32() >> 16);
            memcpy(data + at, &v, 2);
            at += 2;
        } else {
            fill_block(data + at, block[type], type == CT_Q5_1 || type == CT_Q4_1);
            at += block[type];
        }
    return (struct ct_weight){type, CT_LAYOUT_ROWS,          rows,  cols, row,
                              data, below(3) ? 1.0f : 0.37f, false, NULL};
}

static struct ct_weight pack(const struct ct_weight *w)
{
    struct ct_weight p = *w;
    p.layout = CT_LAYOUT_PANELS;
    p.row_bytes = ct_panel_bytes(ct_panel_of(w->type), w->cols);
    uint8_t *data = room(ct_weight_bytes(&p));
    for (int r = 0; r < w->rows; r += CT_PANEL_ROWS)
        ct_pack(data + (size_t)(r / CT_PANEL_ROWS) * p.row_bytes, w, r);
    p.data = data;
    return p;
}

/* ---- inputs ---- */

/* Groups of random values, of one magnitude (q is +-127), of zeros, of values too small to count. */
static float *make_input(int n, int cols)
{
    float *x = room((size_t)n * (size_t)cols * sizeof *x);
    for (int t = 0; t < n; t++)
        for (int k = 0; k < cols; k += CT_GROUP) {
            int how = below(6);
            for (int i = k; i < CT_MIN(cols, k + CT_GROUP); i++) {
                float v = ((float)below(20001) - 10000) * 1e-4f;
                x[(size_t)t * (size_t)cols + (size_t)i] = how == 0   ? 0
                                                          : how == 1 ? v * 0x1p-100f
                                                          : how == 2 ? (below(2) ? 3.0f : -3.0f)
                                                          : how == 3 ? 3.0f
                                                                     : v;
            }
        }
    return x;
}

static struct ct_prepared prepare(const struct ct_kernel *k, enum ct_input form, const float *x, int n,
                                  int cols)
{
    size_t values = ct_round_up((size_t)n, CT_LANES) * (size_t)ct_pad_group(cols);
    struct ct_prepared p = {.n = n, .cols = cols};
    if (form == CT_INPUT_Q8 || form == CT_INPUT_LANES) {
        p.q = room(values);
        p.scale = room(values / CT_GROUP * sizeof *p.scale);
        p.sum = room(values / CT_HALF * sizeof *p.sum);
    } else
        p.value = room(values * sizeof *p.value);
    for (int t = 0; t < n; t += CT_LANES)
        ct_call_prepare(k, &p, form, x + (size_t)t * (size_t)cols, (size_t)cols,
                        ct_input_of_tokens(&p, t, t + CT_LANES));
    return p;
}

static void drop(struct ct_prepared *p)
{
    free(p->value);
    free(p->q);
    free(p->scale);
    free(p->sum);
}

/* ---- the comparison ---- */

/* What a product is about: columns in groups, and how far rows of results are apart. */
struct shape {
    int n, groups, rows, ldo;
};

static void compare(const struct ct_kernel *ref, const struct ct_kernel *k, enum ct_type type,
                    struct shape shape)
{
    int n = shape.n, rows = shape.rows, cols = CT_GROUP * shape.groups, ldo = shape.ldo;
    if (type == CT_F32 || type == CT_F16 || type == CT_BF16)
        cols -= below(CT_GROUP);
    struct ct_weight w = make_weight(type, rows, cols), panels = pack(&w);
    float *x = make_input(n, cols), *scratch = room(CT_SCRATCH(cols) * sizeof *scratch);
    bool exact = type == CT_BF16 && below(4) == 0;
    enum ct_input plain = ct_input_form(&w, exact), lanes = ct_input_form(&panels, exact);
    struct ct_prepared px = prepare(ref, plain, x, n, cols), py = prepare(k, lanes, x, n, cols);
    size_t bytes = (size_t)n * (size_t)ldo * sizeof(float);
    int off = below(2) * below(16); /* results may begin anywhere, or a line */
    float *begin = room(bytes + (size_t)off * sizeof *begin), *a = room(bytes), *b = begin + off;
    int r0 = CT_PANEL_ROWS * below((rows + 15) / 16), r1 = r0 + 1 + below(160);
    r1 = CT_MIN(r1, rows);

    ref->project(a, (size_t)ldo, &w, r0, r1, &px, plain, scratch, NULL);
    k->project_panels(b, (size_t)ldo, &panels, r0, r1, &py, lanes, scratch, NULL);
    if (memcmp(a, b, bytes) != 0) /* what no row writes is the same in both too */
        for (int i = 0; i < n * ldo; i++)
            if (memcmp(&a[i], &b[i], sizeof a[i]) != 0)
                fail_msg("%s, %s, %d tokens, rows [%d, %d) of %d, %d columns: token %d row %d is %a, not %a",
                         k->isa, ct_type_info(type)->name, n, r0, r1, rows, cols, i / ldo, i % ldo,
                         (double)b[i], (double)a[i]);
    drop(&px);
    drop(&py);
    free(scratch);
    free(a);
    free(begin);
    free(x);
    free((void *)(uintptr_t)w.data);
    free((void *)(uintptr_t)panels.data);
}

static struct shape any_shape(int n, int groups)
{
    int rows = 1 + below(150);
    return (struct shape){n, groups, rows, rows + below(below(4) ? 3 : 100)};
}

/* More than stays in a cache at once, of tokens, of k, of both; and rows of results as far apart as those of
 * logits. Few rows: ref is slow. */
static struct shape large_shape(int which)
{
    const int rows = below(2) ? 16 : 1 + below(20), ldo = rows == 16 ? 16 : rows + below(3);
    switch (which) {
    case 0:
        return (struct shape){257 + below(20), 41 + below(24), rows, ldo};
    case 1:
        return (struct shape){193 + below(20), 65 + below(16), rows, ldo};
    case 2:
        return (struct shape){129 + below(20), 129 + below(16), rows, ldo};
    case 3:
        return (struct shape){33 + below(16), 73 + below(80), below(2) ? 48 : rows, 48};
    default:
        return (struct shape){13 + below(22), 1 + below(9), below(2) ? 64 : 1 + below(70),
                              16384 + 16 * below(3) + below(2)};
    }
}
enum { LARGE_SHAPES = 5 };

static void equal_ref(void **state)
{
    (void)state;
#if defined(__x86_64__)
    struct ct_cpu cpu;
    struct ct_kernel ref, k;
    ct_cpu_detect(&cpu);
    if (!ct_cpu_usable(&cpu, "avx2+fma+f16c"))
        skip();
    ct_kernel_choose(&ref, &cpu, "ref");
    for (size_t l = 0; l < CT_COUNT(levels); l++) {
        ct_kernel_choose(&k, &cpu, levels[l].name);
        bool native = strcmp(k.isa, levels[l].name) == 0;
        if (!native) {
            ct_kernel_choose(&k, &cpu, "avx2");
            levels[l].emulated(&k);
            k.isa = levels[l].name;
        }
        printf("%s: %s\n", levels[l].name, native ? "native" : "emulated");
        for (size_t i = 0; i < CT_COUNT(types); i++)
            for (int again = 0; again < 3; again++) {
                static const int more[] = {24, 33, 40, 64};
                for (int n = 1; n <= 17; n++)
                    compare(&ref, &k, types[i], any_shape(n, 1 + below(9)));
                for (size_t n = 0; n < CT_COUNT(more); n++)
                    compare(&ref, &k, types[i], any_shape(more[n], 1 + below(9)));
                compare(&ref, &k, types[i], any_shape(17 + below(8), 80 + below(9)));
                compare(&ref, &k, types[i], any_shape(193 + below(60), 1 + below(4)));
                compare(&ref, &k, types[i], large_shape((again + (int)i) % LARGE_SHAPES));
            }
    }
#else
    (void)compare;
    (void)any_shape;
    (void)large_shape;
    (void)types;
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_ref),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

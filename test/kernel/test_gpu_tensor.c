/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpu_tensor.c: products by units for matrices (kernel/gpu/tensor.cu), as host C on fibres, against
 * exact sums, with units that sum in all the ways that NUMERICS.md section 16 lets them: no output is farther
 * away than its bound. Broken units are seen to be, so that the bound is not a wide one. Products with the
 * bits of ref: test_gpu_products.c. */
#include "gpu_util.h"

#include "kernel/gpu/gpu_types.h"
#include "layout/panel.h"
#include "unit.h"

enum { ROWS = 120 };

struct product {
    struct ct_weight w;
    uint16_t *stored;
    uint8_t *panels;
    size_t panel;
    float *x;
    int n;
};

static float extreme(void)
{
    return hard() * (bits() % 2 ? 0x1p38f : 0x1p-38f);
}

/* Little above what counts as 0. */
static float faint(void)
{
    return mild() * 0x1p-80f;
}

/* As trained models have them. */
static float usual(void)
{
    return (float)((int)(bits() % 2001) - 1000) * 0x1p-15f;
}

/* Of f16 that is not infinite, denormals among them. */
static float any_f16(void)
{
    return ct_f16_to_f32((uint16_t)(bits() & 0xfbffu));
}

static struct product make_product(enum ct_type type, int cols, int n, float (*weight)(void),
                                   float (*value)(void))
{
    struct product p = {.w = {.type = type, .rows = ROWS, .cols = cols, .scale = 0.75f},
                        .panel = ct_gpu_panel_bytes(type, cols),
                        .n = n};
    const int panels = (ROWS + CT_PANEL_ROWS - 1) / CT_PANEL_ROWS;
    uint8_t *spare = room(CT_GPU_SPARE(cols));

    assert_true(ct_type_row_bytes(type, (size_t)cols, &p.w.row_bytes));
    p.stored = room((size_t)ROWS * p.w.row_bytes);
    for (int i = 0; i < ROWS * cols; i++) {
        const float w = weight();
        p.stored[i] = type == CT_F16 ? ct_f32_to_f16(w) : (uint16_t)(ct_f32_bits(w) >> 16);
    }
    p.w.data = p.stored;
    p.panels = room((size_t)panels * p.panel);
    for (int i = 0; i < panels; i++)
        ct_gpu_pack(p.panels + (size_t)i * p.panel, &p.w, i * CT_PANEL_ROWS, spare);
    p.x = values((size_t)n * (size_t)cols, value);
    free(spare);
    return p;
}

static void end_product(struct product *p)
{
    free(p->stored);
    free(p->panels);
    free(p->x);
}

static void multiply(const struct product *p, float *out)
{
    const int padded = ct_pad_group(p->w.cols), groups = padded / CT_GROUP;
    const size_t tiled = ct_round_up((size_t)p->n, CT_GPU_TILE) * (size_t)padded;
    float *to = room(tiled * sizeof(float)), *scale = room(tiled / CT_GROUP * sizeof(float));

    fibre_run(prepare_tensor_thread,
              &(struct ct_gpu_prepare){.x = p->x,
                                       .to = to,
                                       .scale = scale,
                                       .ldx = p->w.cols,
                                       .cols = p->w.cols,
                                       .padded = padded,
                                       .bf16 = p->w.type == CT_BF16},
              (padded + 255) / 256, p->n);
    fibre_run(project_tensor_thread,
              &(struct ct_gpu_project){.type = ct_gpu_type_of(p->w.type),
                                       .out = out,
                                       .w = p->panels,
                                       .x = to,
                                       .scale = scale,
                                       .panel = p->panel,
                                       .ldo = ROWS,
                                       .n = p->n,
                                       .rows = ROWS,
                                       .groups = groups,
                                       .factor = p->w.scale},
              (ROWS + CT_GPU_STRIP - 1) / CT_GPU_STRIP, (p->n + CT_GPU_TILE - 1) / CT_GPU_TILE);
    free(to);
    free(scale);
}

/* ---- what is exact, and how far from it an output may be ---- */

/* The values that the product is of: what section 5 makes of bf16, else as they are. */
static double weight_at(const struct product *p, int r, int k)
{
    const uint16_t v = p->stored[r * p->w.cols + k];
    const float bf16 = ct_f32_from_bits((uint32_t)v << 16);

    return p->w.type == CT_F16 ? ct_f16_to_f32(v) : fabsf(bf16) < 0x1p-50f ? 0 : bf16;
}

static double input_at(const struct product *p, int t, int k)
{
    const float v = p->x[t * p->w.cols + k];
    const uint32_t u = ct_f32_bits(v);
    const float bf16 = ct_f32_from_bits((u + 0x7fff + (u >> 16 & 1)) & 0xffff0000u);

    return p->w.type == CT_F16 ? v : fabsf(bf16) < 0x1p-50f ? 0 : bf16;
}

struct sum {
    double exact, bound;
};

/* In double, whose own error is far below the bound. */
static struct sum sum_of(const struct product *p, int t, int r)
{
    const int groups = ct_pad_group(p->w.cols) / CT_GROUP;
    double exact = 0, all = 0, rest = 0;

    for (int first = 0; first < p->w.cols; first += CT_GROUP) {
        double largest = 0, weights = 0;
        for (int k = first; k < CT_MIN(first + CT_GROUP, p->w.cols); k++) {
            const double w = weight_at(p, r, k), x = input_at(p, t, k);
            exact += w * x;
            all += fabs(w * x);
            weights += fabs(w);
            largest = fmax(largest, fabs(x));
        }
        rest += weights * largest;
    }
    const double share = (0x1p-17 + (groups + 6) * 0x1p-24) * (1 + 0x1p-8),
                 of_f16 = p->w.type == CT_F16 ? 0x1p-38 * rest + groups * 0x1p-69 : 0;
    return (struct sum){exact * (double)p->w.scale, (share * all + of_f16) * (double)p->w.scale};
}

/* Of all outputs. */
static struct sum *sums_of(const struct product *p)
{
    struct sum *sums = room((size_t)(p->n * ROWS) * sizeof *sums);

    for (int i = 0; i < p->n * ROWS; i++)
        sums[i] = sum_of(p, i / ROWS, i % ROWS);
    return sums;
}

/* How many outputs are farther away. */
static int wrong_outputs(const struct product *p, const struct sum *sums)
{
    float *out = room((size_t)(p->n * ROWS + 1) * sizeof *out);
    int wrong = 0;

    out[p->n * ROWS] = 4711;
    multiply(p, out);
    for (int i = 0; i < p->n * ROWS; i++)
        wrong += !(fabs((double)out[i] - sums[i].exact) <= sums[i].bound);
    assert_true(out[p->n * ROWS] == 4711);
    free(out);
    return wrong;
}

/* ---- tests ---- */

static const struct {
    const char *what;
    enum ct_type type;
    float (*weight)(void), (*value)(void);
} kinds[] = {
    {"usual bf16", CT_BF16, usual, mild},
    {"hard bf16", CT_BF16, hard, hard},
    {"extreme bf16", CT_BF16, usual, extreme},
    {"usual f16", CT_F16, usual, mild},
    {"any f16", CT_F16, any_f16, hard},
    {"f16 by extremes", CT_F16, any_f16, extreme},
    {"f16 by faint ones", CT_F16, any_f16, faint},
};

static void sums_are_within_their_bound(void **unused)
{
    static const int cols[] = {32, 90, 320}, rows[] = {33, 1, 64, 40};

    (void)unused;
    for (size_t i = 0; i < CT_COUNT(kinds) * CT_COUNT(cols); i++) {
        const size_t kind = i % CT_COUNT(kinds);
        state = 997 + i;
        struct product p = make_product(kinds[kind].type, cols[i / CT_COUNT(kinds)], rows[i % CT_COUNT(rows)],
                                        kinds[kind].weight, kinds[kind].value);
        struct sum *sums = sums_of(&p);
        for (unit = UNIT_IN_ORDER; unit < UNIT_SOUND; unit++) {
            fibre_order = (enum fibre_order)((i + unit) % FIBRE_ORDERS);
            const int wrong = wrong_outputs(&p, sums);
            if (wrong)
                fail_msg("%s, %d columns, unit %d: %d of %d outputs", kinds[kind].what, p.w.cols, (int)unit,
                         wrong, p.n * ROWS);
        }
        free(sums);
        end_product(&p);
    }
}

/* Values that cancel out but for the last bits. */
static void what_cancels_is_within_its_bound(void **unused)
{
    (void)unused;
    state = 5;
    struct product p = make_product(CT_BF16, 256, 40, usual, mild);
    for (int t = 0; t < p.n; t++)
        for (int k = 0; k < p.w.cols; k += 2)
            p.x[t * p.w.cols + k + 1] = -p.x[t * p.w.cols + k];
    for (int i = 0; i < ROWS * p.w.cols; i += 2)
        p.stored[i + 1] = (uint16_t)(p.stored[i] + (bits() % 16 == 0));
    uint8_t *spare = room(CT_GPU_SPARE(p.w.cols));
    for (int i = 0; i * CT_PANEL_ROWS < ROWS; i++)
        ct_gpu_pack(p.panels + (size_t)i * p.panel, &p.w, i * CT_PANEL_ROWS, spare);
    struct sum *sums = sums_of(&p);
    for (unit = UNIT_IN_ORDER; unit < UNIT_SOUND; unit++)
        assert_int_equal(wrong_outputs(&p, sums), 0);
    free(sums);
    free(spare);
    end_product(&p);
}

static void what_is_not_finite_stays_so(void **unused)
{
    static const float bad[] = {INFINITY, -INFINITY, NAN};

    (void)unused;
    for (size_t i = 0; i < 2 * CT_COUNT(bad); i++) {
        state = 71 + i;
        struct product p = make_product(i % 2 ? CT_F16 : CT_BF16, 96, 33, usual, mild);
        float *out = room((size_t)(p.n * ROWS) * sizeof *out);
        p.x[7 * p.w.cols + 50] = bad[i / 2];
        for (unit = UNIT_IN_ORDER; unit < UNIT_SOUND; unit++) {
            multiply(&p, out);
            for (int o = 0; o < p.n * ROWS; o++)
                assert_int_equal(isfinite(out[o]) != 0, o / ROWS != 7);
        }
        free(out);
        end_product(&p);
    }
}

/* Units that sum otherwise give other bits, and broken ones leave the bound almost everywhere. */
static void broken_units_are_seen(void **unused)
{
    (void)unused;
    for (int f16 = 0; f16 < 2; f16++) {
        state = 13;
        struct product p = make_product(f16 ? CT_F16 : CT_BF16, 1152, 32, usual, mild);
        struct sum *sums = sums_of(&p);
        float *in_order = room((size_t)(p.n * ROWS) * sizeof *in_order),
              *whole = room((size_t)(p.n * ROWS) * sizeof *whole);
        unit = UNIT_IN_ORDER;
        multiply(&p, in_order);
        unit = UNIT_WHOLE;
        multiply(&p, whole);
        assert_memory_not_equal(in_order, whole, (size_t)(p.n * ROWS) * sizeof *whole);
        for (unit = UNIT_SOUND; unit < UNIT_COUNT; unit++)
            assert_true(wrong_outputs(&p, sums) > p.n * ROWS / 2);
        free(sums);
        free(in_order);
        free(whole);
        end_product(&p);
    }
    unit = UNIT_IN_ORDER;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_within_their_bound),
        cmocka_unit_test(what_cancels_is_within_its_bound),
        cmocka_unit_test(what_is_not_finite_stays_so),
        cmocka_unit_test(broken_units_are_seen),
    };
    return cmocka_run_group_tests_name("kernel: gpu products by units for matrices, emulated", tests, choose,
                                       NULL);
}

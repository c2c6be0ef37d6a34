/* SPDX-License-Identifier: Apache-2.0 */
/* test_shared.c: rows written by int8 schemes and palettes hold what a plain reading of the scheme gives: the
 * percentile by sorting, the integers by the C library's rounding, each palette by the rows that share it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "convert/shared.h"
#include "quant/blocks.h"
#include "quant/encode.h"

#include <cmocka.h>

enum { ROWS = 11, COLS = 96, BLOCKS = COLS / 32, ROW_BYTES = BLOCKS * (int)sizeof(struct ct_block_q8_0) };

static float x[ROWS][COLS];
static int lost = -1; /* a row that cannot be */

static const float *row_of(void *user, int r)
{
    static float copy[COLS]; /* only the last one holds */

    (void)user;
    assert_true(r >= 0 && r < ROWS);
    memcpy(copy, x[r], sizeof copy);
    return r == lost ? NULL : copy;
}

static int set_values(void **state)
{
    uint64_t s = 3;

    (void)state;
    lost = -1;
    for (int i = 0; i < ROWS * COLS; i++) {
        s = s * 6364136223846793005u + 1442695040888963407u;
        const double u = (double)(s >> 40) / 0x1p23 - 1;
        x[i / COLS][i % COLS] = (float)(u * u * u * (1 + i / COLS));
    }
    x[4][7] = -40; /* far from the others */
    for (int i = 0; i < 32; i++)
        x[6][32 + i] = 0;
    return 0;
}

static int by_size(const void *a, const void *b)
{
    const float p = *(const float *)a, q = *(const float *)b;
    return (p > q) - (p < q);
}

/* The smallest |x| of some columns of some rows that so many percent of them do not exceed. */
static float most_of(int r0, int r1, int c0, int c1, double percent)
{
    static float all[ROWS * COLS];
    int n = 0;

    for (int r = r0; r < r1; r++)
        for (int c = c0; c < c1; c++)
            all[n++] = fabsf(x[r][c]);
    qsort(all, (size_t)n, sizeof *all, by_size);
    for (int i = 0; i < n; i++)
        if ((i + 1) * 100.0 >= percent * n)
            return all[i];
    return all[n - 1];
}

static void expect_integer(const uint8_t *rows, int r, int c, float most, int qmax)
{
    const struct ct_block_q8_0 *b =
        (const struct ct_block_q8_0 *)(const void *)(rows + r * ROW_BYTES) + c / 32;
    const float d = most / (float)qmax, v = d == 0 ? 0 : x[r][c] * (1 / d);
    const int q = (int)fmaxf(fminf(roundf(v), (float)qmax), (float)-qmax);

    if (b->q[c % 32] != q || b->d != ct_f32_to_f16(d))
        fail_msg("row %d, column %d: %d by %04x, expected %d by %04x", r, c, b->q[c % 32], b->d, q,
                 ct_f32_to_f16(d));
}

static void int8_is_clipped_and_rounded(void **state)
{
    static const int shared[] = {0, CT_CHANNEL, 32, 64};
    static const struct ct_clipping clips[] = {{127, 100}, {32, 100}, {127, 99.9},
                                               {7, 95},    {1, 50},   {127, 0.001}};
    static _Alignas(8) uint8_t rows[ROWS * ROW_BYTES];
    const struct ct_rows_of all = {row_of, NULL, 0, ROWS, COLS};

    (void)state;
    for (size_t k = 0; k < CT_COUNT(shared); k++)
        for (size_t i = 0; i < CT_COUNT(clips); i++) {
            const int some = shared[k] ? CT_MIN(shared[k], COLS) : COLS;
            assert_true(ct_write_alike(rows, ROW_BYTES, &all, shared[k], &clips[i]));
            for (int r = 0; r < ROWS; r++)
                for (int c = 0; c < COLS; c++) {
                    const int from = c / some * some;
                    expect_integer(
                        rows, r, c,
                        shared[k] ? most_of(r, r + 1, from, CT_MIN(from + some, COLS), clips[i].percentile)
                                  : most_of(0, ROWS, 0, COLS, clips[i].percentile),
                        clips[i].qmax);
                }
        }
}

/* 127 and no clipping: what `--lm-quant` writes, and for groups of 32 Q8_0 itself. */
static void whole_range_is_q8_0(void **state)
{
    static uint8_t rows[ROWS * ROW_BYTES], want[ROWS * ROW_BYTES];
    const struct ct_rows_of all = {row_of, NULL, 0, ROWS, COLS};
    const struct ct_clipping none = {127, 100};

    (void)state;
    assert_true(ct_write_alike(rows, ROW_BYTES, &all, 32, &none));
    ct_encode(CT_Q8_0, want, x[0], ROWS * COLS);
    assert_memory_equal(rows, want, sizeof want);
}

static void a_lost_row_is_told(void **state)
{
    static uint8_t rows[ROWS * ROW_BYTES];
    static const int shared[] = {0, CT_CHANNEL, 32};
    static const double percent[] = {100, 90};
    const struct ct_rows_of all = {row_of, NULL, 0, ROWS, COLS};
    struct ct_palette_maker maker;
    uint16_t palette[16];
    bool fits;

    (void)state;
    lost = 5;
    for (size_t k = 0; k < 6; k++)
        assert_false(
            ct_write_alike(rows, ROW_BYTES, &all, shared[k / 2], &(struct ct_clipping){127, percent[k % 2]}));
    assert_int_equal(ct_palette_begin(&maker, NULL), CARAT_OK);
    assert_int_equal(ct_write_palette(palette, rows, COLS / 2, false, &all, 4, &maker, &fits, NULL),
                     CARAT_OK);
    assert_false(fits);
    ct_palette_end(&maker);
}

static void indices_stand_for_values(void **state)
{
    static uint8_t rows[ROWS * COLS];
    static uint16_t values[ROWS * COLS], want[COLS];
    const struct ct_rows_of some = {row_of, NULL, 3, 9, COLS};
    struct ct_palette_maker maker;
    uint16_t palette[8], again[8];
    bool fits = false;

    (void)state;
    assert_int_equal(ct_palette_begin(&maker, NULL), CARAT_OK);
    assert_int_equal(ct_write_palette(palette, rows, COLS * 3 / 8, false, &some, 3, &maker, &fits, NULL),
                     CARAT_OK);
    assert_true(fits);
    assert_int_equal(
        ct_write_palette(again, (uint8_t *)values, COLS * 2, true, &some, 3, &maker, &fits, NULL), CARAT_OK);
    assert_memory_equal(palette, again, sizeof again);
    for (int r = 0; r < 6; r++) {
        ct_palette_row(want, rows + r * COLS * 3 / 8, palette, 3, COLS);
        assert_memory_equal(values + r * COLS, want, sizeof want);
        for (int c = 0; c < COLS; c++)
            for (int e = 0; e < 8; e++)
                assert_true(fabsf(ct_f16_to_f32(want[c]) - x[3 + r][c]) <=
                            fabsf(ct_f16_to_f32(palette[e]) - x[3 + r][c]) + 0x1p-10f * fabsf(x[3 + r][c]));
    }
    ct_palette_end(&maker);
}

static void names_are_read(void **state)
{
    static const struct {
        const char *name;
        struct ct_scheme s;
    } good[] = {{"int8:tensor", {CT_ALIKE, 0, 0}},    {"int8:channel", {CT_ALIKE, 0, CT_CHANNEL}},
                {"int8:group=96", {CT_ALIKE, 0, 96}}, {"lut4", {CT_PALETTE, 4, 0}},
                {"lut6g4", {CT_PALETTE, 6, 4}},       {"lut2g999999", {CT_PALETTE, 2, 999999}}};
    static const char *const bad[] = {"",
                                      "int8",
                                      "int8:",
                                      "int8:tensors",
                                      "int8:group=",
                                      "int8:group=0",
                                      "int8:group=33",
                                      "int8:group=32x",
                                      "lut",
                                      "lut1",
                                      "lut5",
                                      "lut7",
                                      "lut9",
                                      "lut4g",
                                      "lut4g0",
                                      "lut4g8x",
                                      "lut4h8",
                                      "lut16",
                                      "lut4g1000000"};
    struct ct_scheme s;

    (void)state;
    for (size_t i = 0; i < CT_COUNT(good); i++) {
        assert_true(ct_scheme_named(ct_str_of(good[i].name), &s));
        assert_memory_equal(&s, &good[i].s, sizeof s);
        assert_int_equal(ct_scheme_type(&s), s.kind == CT_ALIKE ? CT_Q8_0 : CT_F16);
    }
    for (size_t i = 0; i < CT_COUNT(bad); i++)
        if (ct_scheme_named(ct_str_of(bad[i]), &s))
            fail_msg("\"%s\" is taken for a scheme", bad[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(int8_is_clipped_and_rounded, set_values),
        cmocka_unit_test_setup(whole_range_is_q8_0, set_values),
        cmocka_unit_test_setup(a_lost_row_is_told, set_values),
        cmocka_unit_test_setup(indices_stand_for_values, set_values),
        cmocka_unit_test(names_are_read),
    };
    return cmocka_run_group_tests_name("convert: schemes", tests, NULL, NULL);
}

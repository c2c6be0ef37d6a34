/* SPDX-License-Identifier: Apache-2.0 */
/* test_encode_row.c: rows get the bytes of ggml's quantisers (test/data/quant/rows, made by
 * tools/make_quants.py from libggml-base), with and without importance, for the baseline and for AVX2, and
 * the same whatever lies beside a block. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "os/cpu.h"
#include "quant/encode.h"

#include <cmocka.h>

enum { MOST = 1 << 17, COLS = 256 };

static size_t row_slurp(uint8_t to[MOST], const char *name)
{
    char path[512];
    snprintf(path, sizeof path, CT_TEST_DATA "/quant/rows/%s", name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(to, 1, MOST, f);
    fclose(f);
    return n;
}

/* Returns how many values a .npy file has. */
static size_t row_values(float *x, const char *name)
{
    static uint8_t npy[MOST];
    size_t size = row_slurp(npy, name), head = 10 + (size_t)ct_le16(npy + 8);
    assert_true(size > head && (size - head) % (COLS * sizeof *x) == 0);
    memcpy(x, npy + head, size - head);
    return (size - head) / sizeof *x;
}

static float x[MOST / 4], importance[COLS];

/* Both halves of a type's file, a row at a time. */
static void rows_of(enum ct_type type, bool avx2)
{
    static uint8_t want[MOST];
    const struct ct_type_info *t = ct_type_info(type);
    const size_t n = row_values(x, "values.npy"), bytes = COLS / (size_t)t->block * (size_t)t->bytes;
    char name[32];

    assert_int_equal(row_values(importance, "importance.npy"), COLS);
    snprintf(name, sizeof name, "%s.bin", t->name);
    assert_int_equal(row_slurp(want, name), 2 * n / COLS * bytes);
    for (size_t row = 0; row < 2 * n / COLS; row++) {
        const bool weighted = row >= n / COLS;
        uint8_t *got = malloc(bytes + 1); /* at an odd address, with an end that sanitizers see */
        assert_non_null(got);
        ct_encode_row(type, got + 1, x + row % (n / COLS) * COLS, COLS, weighted ? importance : NULL, avx2);
        for (size_t at = 0; at < bytes; at++)
            if (got[1 + at] != want[row * bytes + at])
                fail_msg("%s, row %zu, %s importance, %s: byte %zu is %02x, not %02x", t->name,
                         row % (n / COLS), weighted ? "with" : "without", avx2 ? "avx2" : "baseline", at,
                         got[1 + at], want[row * bytes + at]);
        free(got);
    }
}

static void rows_are_those_of_ggml(void **state)
{
    (void)state;
    for (enum ct_type type = CT_Q8_0; type <= CT_MXFP4; type++) {
        rows_of(type, false);
        if (ct_cpu_has_avx2())
            rows_of(type, true);
    }
}

/* Lanes that lie beside each other do not see each other: any number of blocks gives the same ones. */
static void blocks_stand_alone(void **state)
{
    static uint8_t whole[MOST], part[MOST];

    (void)state;
    row_values(x, "values.npy");
    for (enum ct_type type = CT_Q8_0; type <= CT_MXFP4; type++) {
        const struct ct_type_info *t = ct_type_info(type);
        const size_t block = (size_t)t->block, n = 12 * COLS;
        ct_encode_row(type, whole, x, n, NULL, ct_cpu_has_avx2());
        for (size_t at = 0; at < n; at += block)
            ct_encode_row(type, part + at / block * (size_t)t->bytes, x + at, block, NULL, ct_cpu_has_avx2());
        assert_memory_equal(whole, part, n / block * (size_t)t->bytes);
    }
}

static void plain_types_are_rounded(void **state)
{
    const float v[4] = {1.0f, -0.0f, 1.00390625f, 65520.0f};
    uint16_t half[4];
    float same[4];

    (void)state;
    ct_encode_row(CT_F32, same, v, 4, NULL, false);
    assert_memory_equal(same, v, sizeof v);
    ct_encode_row(CT_BF16, half, v, 4, NULL, false);
    assert_int_equal(half[0], 0x3f80);
    assert_int_equal(half[1], 0x8000);
    assert_int_equal(half[2], 0x3f80); /* the even one of two */
    ct_encode_row(CT_F16, half, v, 4, NULL, false);
    assert_int_equal(half[0], 0x3c00);
    assert_int_equal(half[2], 0x3c04);
    assert_int_equal(half[3], 0x7c00);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_those_of_ggml),
        cmocka_unit_test(blocks_stand_alone),
        cmocka_unit_test(plain_types_are_rounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_encode.c: encoders give the bytes of the gguf package (test/data/quant/encode: values at every scale,
 * at ties, of equal magnitude, subnormal, infinite and of no number), and blocks of one scale those of Q8_0's
 * own rule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <math.h>
#include <stdlib.h>

#include "os/cpu.h"
#include "quant/encode.h"

#include <cmocka.h>

enum { MOST = 1 << 16 };
static const enum ct_type encoded[] = {CT_Q8_0, CT_Q5_0, CT_Q4_0};

static size_t encode_slurp(uint8_t to[MOST], const char *name)
{
    char path[512];
    snprintf(path, sizeof path, CT_TEST_DATA "/quant/encode/%s", name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(to, 1, MOST, f);
    fclose(f);
    return n;
}

/* The values of the vectors; returns how many. */
static size_t encode_values(float x[MOST / 4])
{
    uint8_t npy[MOST];
    size_t size = encode_slurp(npy, "values.npy"), head = 10 + (size_t)ct_le16(npy + 8);
    assert_true(size > head && (size - head) % (32 * sizeof *x) == 0);
    memcpy(x, npy + head, size - head);
    return (size - head) / sizeof *x;
}

static void bytes_are_those_of_gguf(void **state)
{
    float x[MOST / 4];
    size_t n = encode_values(x);

    (void)state;
    for (size_t i = 0; i < CT_COUNT(encoded); i++) {
        const struct ct_type_info *t = ct_type_info(encoded[i]);
        const size_t bytes = n / (size_t)t->block * (size_t)t->bytes;
        char name[32];
        uint8_t want[MOST], *got = malloc(bytes + 1); /* at an odd address, with an end that sanitizers see */
        assert_non_null(got);
        snprintf(name, sizeof name, "%s.bin", t->name);
        assert_int_equal(encode_slurp(want, name), bytes);
        ct_encode(encoded[i], got + 1, x, n);
        for (size_t at = 0; at < bytes; at++)
            if (got[1 + at] != want[at])
                fail_msg("%s: byte %zu of block %zu is %02x, not %02x", t->name, at % (size_t)t->bytes,
                         at / (size_t)t->bytes, got[1 + at], want[at]);
        free(got);
    }
}

/* A block of zeros has the sign of ggml's first maximum, 0, whatever the zeros are. */
static void zeros_are_those_of_ggml(void **state)
{
    float x[32];
    uint8_t block[34];

    (void)state;
    for (int i = 0; i < 32; i++)
        x[i] = i % 2 ? 0.0f : -0.0f;
    ct_encode(CT_Q4_0, block, x, 32);
    assert_int_equal(ct_le16(block), 0x8000);
    assert_int_equal(block[2], 0x88);
    ct_encode(CT_Q5_0, block, x, 32);
    assert_int_equal(ct_le16(block), 0x8000);
    ct_encode(CT_Q8_0, block, x, 32);
    assert_int_equal(ct_le16(block), 0);
}

/* Decoded, a value is within half a step of what it was; at the end that has no code of its own a whole one,
 * and the scale is rounded to f16. */
static void values_come_back(void **state)
{
    static const int steps[] = {127, 16, 8};
    float x[32], back[32];
    uint8_t block[34];
    uint32_t random = 1;

    (void)state;
    for (int turn = 0; turn < 3000; turn++) {
        for (int i = 0; i < 32; i++) {
            random = random * 1664525 + 1013904223;
            x[i] = ldexpf((float)(int32_t)random * 0x1p-31f, turn % 17 - 4);
        }
        for (size_t k = 0; k < CT_COUNT(encoded); k++) {
            float step = ct_largest(x, 32) / (float)steps[k];
            ct_encode(encoded[k], block, x, 32);
            ct_dequantize(encoded[k], back, block, 32);
            for (int i = 0; i < 32; i++) {
                float half = k > 0 && fabsf(x[i]) > ((float)steps[k] - 1.5f) * step ? step : step / 2;
                assert_true(fabsf(back[i] - x[i]) <= half * 1.01f + ct_largest(x, 32) * 0x1p-11f);
            }
        }
    }
}

/* d = largest / 127, q = roundf(x * (1 / d)), whatever the largest is of. */
static void one_scale_for_many_blocks(void **state)
{
    float x[MOST / 4];
    size_t n = encode_values(x);
    uint8_t blocks[MOST], own[MOST];

    (void)state;
    ct_encode(CT_Q8_0, own, x, n);
    for (size_t at = 0; at < n; at += 32) {
        ct_encode_alike(blocks, x + at, 32, ct_largest(x + at, 32), 127);
        assert_memory_equal(blocks, own + at / 32 * 34, 34);
    }
    for (size_t at = 0; at < 64; at++)
        x[at] = (float)at - 20.5f;
    assert_true(ct_largest(x, 64) == 42.5f);
    for (float largest = 42.5f; largest < 1000; largest *= 1.7f) {
        const float d = largest / 127, inverse = 1 / d;
        ct_encode_alike(blocks, x, 64, largest, 127);
        for (size_t at = 0; at < 64; at++) {
            assert_int_equal(ct_le16(blocks + at / 32 * 34), ct_f32_to_f16(d));
            assert_int_equal((int8_t)blocks[at / 32 * 34 + 2 + at % 32], (int)roundf(x[at] * inverse));
        }
    }
    ct_encode_alike(blocks, x, 64, NAN, 127); /* a NaN elsewhere */
    assert_int_equal(ct_le16(blocks), 0x7e00);
    assert_int_equal(ct_le16(blocks + 34), 0x7e00);
    ct_encode_alike(blocks, x, 64, INFINITY, 127);
    assert_int_equal(ct_le16(blocks + 34), 0x7c00);
}

/* To the nearest, and from 0 away in the middle: at every half, and at the values beside it. */
static void integers_are_those_of_roundf(void **state)
{
    uint8_t block[34];
    float x[32];

    (void)state;
    for (int half = -253; half <= 253; half += 2)
        for (int beside = -1; beside <= 1; beside++) {
            for (int i = 0; i < 32; i++)
                x[i] = 0;
            x[0] = 127;
            x[1] = beside ? nextafterf((float)half / 2, (float)beside * INFINITY) : (float)half / 2;
            ct_encode(CT_Q8_0, block, x, 32);
            assert_int_equal((int8_t)block[3], (int)roundf(x[1]));
        }
}

static void largest_of_what_is_no_number(void **state)
{
    const float x[] = {-2, 1, -INFINITY, NAN, 3};

    (void)state;
    assert_true(ct_largest(x, 0) == 0);
    assert_true(ct_largest(x, 2) == 2);
    assert_true(ct_largest(x, 3) == INFINITY);
    assert_true(isnan(ct_largest(x, 4)));
    assert_true(isnan(ct_largest(x, 5)));
}

/* Wherever it stands in a row of whole blocks and a rest. */
static void largest_of_a_row_by_every_level(void **state)
{
    float x[3 * 32 + 5] = {0};
    const size_t n = CT_COUNT(x);

    (void)state;
    for (int avx2 = 0; avx2 <= ct_cpu_has_avx2(); avx2++)
        for (size_t i = 0; i < n; i++) {
            x[i] = -3;
            x[(i + 7) % n] = 2.5f;
            assert_true(ct_row_largest(x, n, avx2) == 3);
            x[i] = NAN;
            assert_true(isnan(ct_row_largest(x, n, avx2)));
            x[i] = x[(i + 7) % n] = 0;
        }
    assert_true(ct_row_largest(x, n, ct_cpu_has_avx2()) == 0);
}

static void three_types_are_written(void **state)
{
    int written = 0;

    (void)state;
    for (int i = 0; i < CT_TYPE_COUNT; i++)
        written += ct_encodes((enum ct_type)i);
    assert_int_equal(written, 3);
    for (size_t i = 0; i < CT_COUNT(encoded); i++)
        assert_true(ct_encodes(encoded[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_those_of_gguf),
        cmocka_unit_test(zeros_are_those_of_ggml),
        cmocka_unit_test(values_come_back),
        cmocka_unit_test(one_scale_for_many_blocks),
        cmocka_unit_test(integers_are_those_of_roundf),
        cmocka_unit_test(largest_of_what_is_no_number),
        cmocka_unit_test(largest_of_a_row_by_every_level),
        cmocka_unit_test(three_types_are_written),
    };
    return cmocka_run_group_tests_name("encode", tests, NULL, NULL);
}

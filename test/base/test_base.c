/* SPDX-License-Identifier: Apache-2.0 */
/* test_base.c: checked arithmetic, error construction and the small float conversions. Every f16 is tried,
 * and rounding is compared with a search over the table of all f16 values rather than with a second formula.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "base/base.h"

static void checked_arithmetic(void **state)
{
    (void)state;
    size_t out = 0;
    assert_true(ct_add(SIZE_MAX - 3, 3, &out));
    assert_true(out == SIZE_MAX);
    assert_false(ct_add(SIZE_MAX - 3, 4, &out));
    assert_true(ct_mul((size_t)1 << 32, ((size_t)1 << 32) - 1, &out));
    assert_true(out == ((size_t)1 << 32) * (((size_t)1 << 32) - 1));
    assert_false(ct_mul((size_t)1 << 32, (size_t)1 << 32, &out));
    assert_true(ct_mul(SIZE_MAX, 0, &out));
    assert_true(out == 0);
    assert_int_equal(ct_round_up(0, 64), 0);
    assert_int_equal(ct_round_up(1, 64), 64);
    assert_int_equal(ct_round_up(64, 64), 64);
    assert_int_equal(ct_round_up(65, 64), 128);
}

static void strings_and_little_endian(void **state)
{
    (void)state;
    const uint8_t bytes[] = {0xff, 1, 2, 3, 4, 5, 6, 7, 8};
    assert_int_equal(ct_le16(bytes + 1), 0x0201);
    assert_int_equal(ct_le32(bytes + 1), 0x04030201);
    assert_true(ct_le64(bytes + 1) == 0x0807060504030201u);
    assert_true(ct_str_is((struct ct_str){"norm.weight", 4}, "norm"));
    assert_false(ct_str_is((struct ct_str){"norm", 4}, "nor"));
    assert_false(ct_str_is((struct ct_str){"norm", 3}, "norm"));
    assert_true(ct_str_is((struct ct_str){"x", 0}, ""));
}

static carat_status fails_inside(carat_error *err)
{
    CT_TRY(CARAT_OK);
    CT_TRY(ct_fail(err, CARAT_E_FORMAT, "%s: tensor %s at byte %d", "a.gguf", "x", 12));
    return CARAT_OK;
}

static void errors(void **state)
{
    (void)state;
    carat_error err = {0};
    assert_int_equal(fails_inside(&err), CARAT_E_FORMAT);
    assert_int_equal(err.code, CARAT_E_FORMAT);
    assert_string_equal(err.message, "a.gguf: tensor x at byte 12");
    assert_int_equal(fails_inside(NULL), CARAT_E_FORMAT);

    ct_fail(&err, CARAT_E_IO, "name\nwith\tcontrol\x7f");
    assert_string_equal(err.message, "name with control ");
}

/* A message that is cut must stay valid UTF-8 for every position of the cut inside a character. */
static void long_errors(void **state)
{
    (void)state;
    carat_error err;
    static const char *const characters[] = {"a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x92\x8e"};
    for (size_t c = 0; c < CT_COUNT(characters); c++) {
        size_t width = strlen(characters[c]);
        for (size_t lead = 0; lead < 4; lead++) {
            char text[2048];
            memset(text, 'x', lead);
            size_t n = lead;
            for (; n + width < sizeof text; n += width)
                memcpy(text + n, characters[c], width);
            text[n] = 0;
            ct_fail(&err, CARAT_E_FORMAT, "%s", text);
            size_t kept = strlen(err.message);
            assert_int_equal(kept, lead + (sizeof err.message - 1 - lead) / width * width);
            assert_memory_equal(err.message, text, kept);
        }
    }
}

static void f16_round_trip(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x10000; h++) {
        float f = ct_f16_to_f32((uint16_t)h);
        uint16_t back = ct_f32_to_f16(f);
        bool nan = (h & 0x7fff) > 0x7c00;
        assert_true(nan == (isnan(f) != 0));
        if (nan)
            assert_true((back & 0x7fff) > 0x7c00 && (back & 0x8000) == (h & 0x8000));
        else
            assert_int_equal(back, h);
    }
    assert_true(ct_f16_to_f32(0x3c00) == 1.0f);
    assert_true(ct_f16_to_f32(0x0001) == 0x1p-24f);
    assert_true(ct_f16_to_f32(0x7bff) == 65504.0f);
    assert_true(ct_f16_to_f32(0xfc00) == -INFINITY);
}

/* Between two neighbours: the middle goes to the even one, one step to either side goes to the nearer. */
static void f16_ties(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x7c00; h++) {
        double low = ct_f16_to_f32((uint16_t)h);
        double high = h == 0x7bff ? 65536.0 : ct_f16_to_f32((uint16_t)(h + 1));
        float middle = (float)((low + high) / 2); /* exact: one bit more than an f16 has */
        assert_true((double)middle * 2 == low + high);
        uint32_t even = h & 1 ? h + 1 : h;
        assert_int_equal(ct_f32_to_f16(middle), even);
        assert_int_equal(ct_f32_to_f16(-middle), even | 0x8000);
        assert_int_equal(ct_f32_to_f16(nextafterf(middle, 0)), h);
        assert_int_equal(ct_f32_to_f16(nextafterf(middle, INFINITY)), h + 1);
        assert_int_equal(ct_f32_to_f16(-nextafterf(middle, INFINITY)), (h + 1) | 0x8000);
    }
    assert_int_equal(ct_f32_to_f16(0x1p-149f), 0);
    assert_int_equal(ct_f32_to_f16(-0x1p-149f), 0x8000);
    assert_int_equal(ct_f32_to_f16(3.4e38f), 0x7c00);
    assert_int_equal(ct_f32_to_f16(-INFINITY), 0xfc00);
}

static void bf16(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x10000; h++) {
        float f = ct_bf16_to_f32((uint16_t)h);
        uint16_t back = ct_f32_to_bf16(f);
        if (isnan(f))
            assert_true((back & 0x7fff) > 0x7f80);
        else
            assert_int_equal(back, h);
        if ((h & 0x7fff) >= 0x7f80)
            continue;
        uint32_t even = h & 1 ? h + 1 : h;
        assert_int_equal(ct_f32_to_bf16(ct_f32_from_bits(h << 16 | 0x8000)), even);
        assert_int_equal(ct_f32_to_bf16(ct_f32_from_bits(h << 16 | 0x7fff)), h);
        assert_int_equal(ct_f32_to_bf16(ct_f32_from_bits(h << 16 | 0x8001)), h + 1);
    }
    assert_true(isnan(ct_bf16_to_f32(ct_f32_to_bf16(ct_f32_from_bits(0x7f800001u)))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checked_arithmetic),
        cmocka_unit_test(strings_and_little_endian),
        cmocka_unit_test(errors),
        cmocka_unit_test(long_errors),
        cmocka_unit_test(f16_round_trip),
        cmocka_unit_test(f16_ties),
        cmocka_unit_test(bf16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

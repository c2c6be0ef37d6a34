/* test_decode.c: the stored types give exactly the float32 values that the gguf package gives (test/data/quant:
 * raw blocks and their values, with the extreme scales), and the tables answer what the formats say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "quant/quant.h"

#include <cmocka.h>

static uint8_t *slurp(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    uint8_t *p = malloc(1 << 20);
    assert_non_null(p);
    *size = fread(p, 1, 1 << 20, f);
    fclose(f);
    return p;
}

static void blocks(enum ct_type type)
{
    const struct ct_type_info *t = ct_type_info(type);
    char path[512];
    size_t n_bin, n_npy;
    snprintf(path, sizeof path, "%s/quant/%s.bin", CT_TEST_DATA, t->name);
    uint8_t *bin = slurp(path, &n_bin);
    snprintf(path, sizeof path, "%s/quant/%s.npy", CT_TEST_DATA, t->name);
    uint8_t *npy = slurp(path, &n_npy);

    assert_int_equal(n_bin % (size_t)t->bytes, 0);
    size_t n = n_bin / (size_t)t->bytes * (size_t)t->block, head = 10 + (size_t)ct_le16(npy + 8);
    assert_true(n >= 64 * 32);
    assert_int_equal(n_npy, head + 4 * n);

    /* at an odd address, as a file may have it */
    uint8_t *odd = malloc(n_bin + 1);
    float *out = malloc(n * sizeof *out);
    assert_non_null(odd);
    assert_non_null(out);
    memcpy(odd + 1, bin, n_bin);
    ct_decode(type, out, odd + 1, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(ct_f32_bits(out[i]), ct_le32(npy + head + 4 * i));
    free(odd);
    free(out);
    free(bin);
    free(npy);
}

static void q8_0_equals_reference(void **state)
{
    (void)state;
    blocks(CT_Q8_0);
}

static void q4_0_equals_reference(void **state)
{
    (void)state;
    blocks(CT_Q4_0);
}

static void plain_types(void **state)
{
    (void)state;
    static const struct {
        uint16_t bits;
        uint32_t f16, bf16;
    } c[] = {
        {0x0000, 0x00000000, 0x00000000}, {0x8000, 0x80000000, 0x80000000}, {0x0001, 0x33800000, 0x00010000},
        {0x03ff, 0x387fc000, 0x03ff0000}, {0x0400, 0x38800000, 0x04000000}, {0x3c00, 0x3f800000, 0x3c000000},
        {0xc500, 0xc0a00000, 0xc5000000}, {0x7bff, 0x477fe000, 0x7bff0000}, {0x7c00, 0x7f800000, 0x7c000000},
        {0xfc00, 0xff800000, 0xfc000000}, {0x7e00, 0x7fc00000, 0x7e000000}, {0xff80, 0xfff00000, 0xff800000},
    };
    uint8_t in[1 + 2 * CT_COUNT(c)];
    float out[CT_COUNT(c)];
    for (size_t i = 0; i < CT_COUNT(c); i++)
        memcpy(in + 1 + 2 * i, &c[i].bits, 2);
    ct_decode(CT_F16, out, in + 1, CT_COUNT(c));
    for (size_t i = 0; i < CT_COUNT(c); i++)
        assert_int_equal(ct_f32_bits(out[i]), c[i].f16);
    ct_decode(CT_BF16, out, in + 1, CT_COUNT(c));
    for (size_t i = 0; i < CT_COUNT(c); i++)
        assert_int_equal(ct_f32_bits(out[i]), c[i].bf16);

    static const uint32_t f32[] = {0, 0x80000000, 1, 0x3f800000, 0x7f800000, 0x7fc00001};
    uint8_t raw[1 + sizeof f32];
    memcpy(raw + 1, f32, sizeof f32);
    ct_decode(CT_F32, out, raw + 1, CT_COUNT(f32));
    assert_memory_equal(out, f32, sizeof f32);
}

static void tables(void **state)
{
    (void)state;
    enum ct_type t;
    for (int i = 0; i < CT_TYPE_COUNT; i++) {
        const struct ct_type_info *info = ct_type_info((enum ct_type)i);
        struct ct_ggml_type g;
        if (info->ggml >= 0) {
            assert_true(ct_type_from_ggml((uint32_t)info->ggml, &t));
            assert_int_equal(t, i);
            assert_true(ct_ggml_type((uint32_t)info->ggml, &g));
            assert_string_equal(g.name, info->name);
        }
        if (info->hf) {
            assert_true(ct_type_from_hf((struct ct_str){info->hf, strlen(info->hf)}, &t));
            assert_int_equal(t, i);
            const char *name;
            assert_int_equal(ct_hf_bits((struct ct_str){info->hf, strlen(info->hf)}, &name), 8 * info->bytes);
            assert_string_equal(name, info->hf);
        }
    }
    /* removed and unknown numbers */
    static const uint32_t none[] = {4, 5, 31, 32, 33, 36, 37, 38, 43, 99, 0x80000000u, 0xffffffffu};
    struct ct_ggml_type g;
    for (size_t i = 0; i < CT_COUNT(none); i++) {
        assert_false(ct_ggml_type(none[i], &g));
        assert_false(ct_type_from_ggml(none[i], &t));
    }
    int known = 0;
    for (uint32_t i = 0; i < 64; i++)
        known += ct_ggml_type(i, &g);
    assert_int_equal(known, 35);
    assert_true(ct_ggml_type(14, &g));
    assert_string_equal(g.name, "Q6_K");
    assert_int_equal(g.block, 256);
    assert_int_equal(g.bytes, 210);
    assert_true(ct_type_from_ggml(14, &t));
    assert_false(ct_type_from_ggml(16, &t)); /* IQ2_XXS: size known, not read */

    const char *name;
    assert_false(ct_type_from_hf((struct ct_str){"Q8_0", 4}, &t));
    assert_int_equal(ct_hf_bits((struct ct_str){"bf16", 4}, &name), 0);
    assert_int_equal(ct_hf_bits((struct ct_str){"", 0}, &name), 0);
    assert_int_equal(ct_hf_bits((struct ct_str){"F4", 2}, &name), 4);
}

static void row_bytes(void **state)
{
    (void)state;
    size_t n = 7;
    assert_true(ct_type_row_bytes(CT_Q4_0, 64, &n));
    assert_int_equal(n, 36);
    assert_false(ct_type_row_bytes(CT_Q4_0, 65, &n));
    assert_false(ct_type_row_bytes(CT_Q8_0, SIZE_MAX - 31, &n)); /* 34/32 of it does not fit */
    assert_false(ct_type_row_bytes(CT_F32, SIZE_MAX / 4 + 1, &n));
    assert_true(ct_type_row_bytes(CT_BF16, 0, &n));
    assert_int_equal(n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(q8_0_equals_reference),
        cmocka_unit_test(q4_0_equals_reference),
        cmocka_unit_test(plain_types),
        cmocka_unit_test(tables),
        cmocka_unit_test(row_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

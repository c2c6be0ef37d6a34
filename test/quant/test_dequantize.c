/* SPDX-License-Identifier: Apache-2.0 */
/* test_dequantize.c: the stored types give exactly the float32 values that the gguf package gives
 * (test/data/quant, and blocks/ of the larger set: raw blocks and their values, with the extreme scales),
 * gemma.cpp's those of its rules; the integers of a group stay within NUMERICS.md section 4; the tables
 * answer what the formats say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

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

/* folder/TYPE.bin against folder/TYPE.npy */
static void check_blocks(const char *folder, enum ct_type type)
{
    const struct ct_type_info *t = ct_type_info(type);
    char path[512];
    size_t n_bin, n_npy;
    snprintf(path, sizeof path, "%s/%s.bin", folder, t->name);
    uint8_t *bin = slurp(path, &n_bin);
    snprintf(path, sizeof path, "%s/%s.npy", folder, t->name);
    uint8_t *npy = slurp(path, &n_npy);

    assert_int_equal(n_bin % (size_t)t->bytes, 0);
    size_t n = n_bin / (size_t)t->bytes * (size_t)t->block, head = 10 + (size_t)ct_le16(npy + 8);
    assert_true(n >= 64 * 32);
    assert_int_equal(n_npy, head + 4 * n);

    /* at an odd address, as a file may have it, and with an end that a sanitizer sees */
    uint8_t *odd = malloc(n_bin + 1);
    float *out = malloc(n * sizeof *out);
    assert_non_null(odd);
    assert_non_null(out);
    memcpy(odd + 1, bin, n_bin);
    ct_dequantize(type, out, odd + 1, n);
    for (size_t i = 0; i < n; i++)
        if (ct_f32_bits(out[i]) != ct_le32(npy + head + 4 * i))
            fail_msg("%s: element %zu is %a", t->name, i, (double)out[i]);
    free(odd);
    free(out);
    free(bin);
    free(npy);
}

static void check_folder(const char *folder, int expected)
{
    int checked = 0;
    for (int i = 0; i < CT_TYPE_COUNT; i++) {
        const struct ct_type_info *t = ct_type_info((enum ct_type)i);
        char path[512];
        snprintf(path, sizeof path, "%s/%s.bin", folder, t->name);
        if (t->ggml >= 0 && t->block > 1 && access(path, R_OK) == 0) {
            check_blocks(folder, (enum ct_type)i);
            checked++;
        }
    }
    assert_int_equal(checked, expected);
}

static void blocks_equal_the_reference(void **state)
{
    (void)state;
    check_folder(CT_TEST_DATA "/quant", 25);
}

static void shared_blocks_equal_the_reference(void **state)
{
    (void)state;
    char folder[512];
    const char *shared = getenv("CARAT_SHARED");
    if (!shared)
        skip();
    snprintf(folder, sizeof folder, "%s/blocks", shared);
    check_folder(folder, 23); /* all but Q1_0 and Q2_0 */
}

/* The rule of the format, by the two bytes of a bf16; all 256 codes. */
static void sfp_codes(void **state)
{
    (void)state;
    uint8_t code[256];
    float out[256];
    for (int i = 0; i < 256; i++)
        code[i] = (uint8_t)i;
    ct_dequantize(CT_SFP, out, code, 256);
    for (int i = 0; i < 256; i++) {
        int sign = i & 0x80, m = i & 0x7f;
        int high = m & 0x40 ? 0x38 + (m >> 4) : 0x34 + (m >> 3),
            low = m & 0x40 ? m << 4 & 0xf0 : m << 5 & 0xe0;
        uint32_t right = m ? (uint32_t)(high | sign) << 24 | (uint32_t)low << 16 : 0;
        assert_int_equal(ct_f32_bits(out[i]), right);
    }
    assert_true(out[1] == 0x1.4p-23f && out[127] == 1.875f && out[255] == -1.875f);
    assert_int_equal(ct_f32_bits(out[0x80]), 0); /* no writer makes it */
    for (int i = 1; i < 128; i++)
        assert_true(out[i] > out[i - 1]);
}

static void nuq_is_sfp(void **state)
{
    (void)state;
    uint8_t block[2 * 144], codes[256];
    float out[512], right[256];
    for (int i = 0; i < 2 * 144; i++)
        block[i] = (uint8_t)(i * 37 + i / 144);
    ct_dequantize(CT_NUQ, out, block, 512);
    for (int b = 0; b < 2; b++) {
        const uint8_t *p = block + 144 * b;
        for (int i = 0; i < 256; i++)
            codes[i] =
                p[i % 2 ? p[16 + i / 2] / 16 : p[16 + i / 2] % 16]; /* the low nibble is the even element */
        ct_dequantize(CT_SFP, right, codes, 256);
        assert_memory_equal(out + 256 * b, right, sizeof right);
    }
    /* a short last group: 5 elements take the centres and 3 bytes */
    uint8_t *cut = malloc(16 + 3), few[6] = {0, 0, 0, 0, 0, 99};
    assert_non_null(cut);
    memcpy(cut, block + 144, 16 + 3);
    ct_nuq_to_sfp(few, cut, 5);
    assert_memory_equal(few, codes, 5);
    assert_int_equal(few[5], 99);
    free(cut);
}

static void i8_values(void **state)
{
    (void)state;
    uint8_t block[2 * 132];
    float out[256];
    for (int i = 0; i < 2 * 132; i++)
        block[i] = (uint8_t)(i * 29);
    const uint16_t factors[2][2] = {{0x3c23, 0xc2f7}, {0x3f81, 0x4300}}; /* inverse scale, zero point: bf16 */
    for (int b = 0; b < 2; b++)
        memcpy(block + 132 * b, factors[b], 4);
    ct_dequantize(CT_I8, out, block, 256);
    for (int i = 0; i < 256; i++) {
        float scale = ct_bf16_to_f32(factors[i / 128][0]), zero = ct_bf16_to_f32(factors[i / 128][1]);
        float right = fmaf(scale, (float)(int8_t)block[132 * (i / 128) + 4 + i % 128], -zero * scale);
        assert_int_equal(ct_f32_bits(out[i]), ct_f32_bits(right));
    }
}

/* The scales of NVFP4 at their ends: 0x7f is none and counts as 0, the eighth bit says nothing. */
static void scales_of_nvfp4(void **state)
{
    (void)state;
    static const struct {
        uint8_t code;
        float scale; /* half of it, as the table has values twice */
    } c[] = {{0x00, 0},   {0x01, 0x1p-10f}, {0x07, 7 * 0x1p-10f}, {0x08, 0x1p-7f},
             {0x7e, 224}, {0x7f, 0},        {0xb8, 0.5f}};
    for (size_t i = 0; i < CT_COUNT(c); i++) {
        uint8_t block[36] = {c[i].code, 0x38, 0x38, 0x38};
        float out[64];
        memset(block + 4, 0x11, 32);
        ct_dequantize(CT_NVFP4, out, block, 64);
        for (int k = 0; k < 64; k++)
            assert_true(out[k] == (k < 16 ? c[i].scale : 0.5f));
    }
}

/* Whatever the bits, a sum of 32 products with activations of at most 127 is below 2^24, so its conversion to
 * float is exact; the worst activations have the signs of the weights. */
static void integers_stay_exact(void **state)
{
    (void)state;
    static const uint8_t same[] = {0x00, 0xff, 0x80, 0x7f, 0x08, 0x0f, 0xf0, 0x20};
    static const struct {
        enum ct_type type;
        int most; /* codebooks: test_grids.c */
    } few_values[] = {{CT_TQ1_0, 32 * 127},
                      {CT_TQ2_0, 32 * 2 * 127},
                      {CT_Q1_0, 32 * 127},
                      {CT_Q2_0, 32 * 2 * 127},
                      {CT_NVFP4, 16 * 12 * 127}};
    uint8_t block[256];
    struct ct_group g[8];
    uint32_t random = 1;
    for (int i = 0; i < CT_TYPE_COUNT; i++) {
        const struct ct_type_info *t = ct_type_info((enum ct_type)i);
        int64_t worst = 0;
        for (int round = 0; t->expand && round < 4000; round++) {
            for (int k = 0; k < t->bytes; k++) {
                random = random * 1664525 + 1013904223;
                block[k] = round < 8            ? same[round]
                           : random >> 24 < 128 ? same[random >> 16 & 7]
                                                : (uint8_t)(random >> 20);
            }
            t->expand(g, block, (size_t)t->block);
            for (int k = 0; k < t->block / 32; k++) {
                int64_t sum = 0, least = 0;
                for (int e = 0; e < 32; e++) {
                    if (t->apart && e == 16) /* the halves are two sums */
                        worst = CT_MAX(worst, sum), sum = 0;
                    sum += llabs((t->halves ? g[k].sc[e / 16] : 1) * (int64_t)g[k].q[e] * 127);
                    least += llabs((t->halves && t->minimum ? g[k].mn[e / 16] : 1) * (int64_t)127);
                }
                worst = CT_MAX(worst, CT_MAX(sum, least));
            }
        }
        assert_true(worst < 1 << 24);
        for (size_t k = 0; k < CT_COUNT(few_values); k++)
            if (few_values[k].type == (enum ct_type)i)
                assert_int_equal(worst, few_values[k].most);
        if (i == CT_Q6_K)
            assert_true(worst == 32 * 32 * 128 * 127);
        if (i == CT_Q8_0 || i == CT_I8)
            assert_true(worst == 32 * 128 * 127); /* the extremes were there */
    }
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
    ct_dequantize(CT_F16, out, in + 1, CT_COUNT(c));
    for (size_t i = 0; i < CT_COUNT(c); i++)
        assert_int_equal(ct_f32_bits(out[i]), c[i].f16);
    ct_dequantize(CT_BF16, out, in + 1, CT_COUNT(c));
    for (size_t i = 0; i < CT_COUNT(c); i++)
        assert_int_equal(ct_f32_bits(out[i]), c[i].bf16);

    static const uint32_t f32[] = {0, 0x80000000, 1, 0x3f800000, 0x7f800000, 0x7fc00001};
    uint8_t raw[1 + sizeof f32];
    memcpy(raw + 1, f32, sizeof f32);
    ct_dequantize(CT_F32, out, raw + 1, CT_COUNT(f32));
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
    assert_false(ct_type_from_ggml(15, &t)); /* Q8_K: size known, not read */

    const char *name;
    assert_false(ct_type_from_hf((struct ct_str){"Q8_0", 4}, &t));
    assert_int_equal(ct_hf_bits((struct ct_str){"bf16", 4}, &name), 0);
    assert_int_equal(ct_hf_bits((struct ct_str){"", 0}, &name), 0);
    assert_int_equal(ct_hf_bits((struct ct_str){"F4", 2}, &name), 4);
}

/* Blocks that nobody chose: of every type the values are finite, small, not all alike, and the same again;
 * every bit of a block is drawn, factors and the exponents of MXFP4 and NVFP4 apart. */
static void made_up_blocks(void **state)
{
    enum { N = 64 * 256 };
    float *v = malloc(N * sizeof *v);
    uint8_t *blocks = malloc(N * sizeof *v), *again = malloc(N * sizeof *v);

    (void)state;
    assert_true(v && blocks && again);
    for (int i = 0; i < CT_TYPE_COUNT; i++) {
        const enum ct_type type = (enum ct_type)i;
        const size_t bytes = (size_t)(N / ct_type_info(type)->block * ct_type_info(type)->bytes);
        float largest = 0, sum = 0;
        if (type == CT_NUQ) /* never a weight */
            continue;
        ct_make_up(type, blocks, N, 7);
        ct_make_up(type, again, N, 7);
        assert_memory_equal(blocks, again, bytes);
        ct_make_up(type, again, N, 8);
        assert_memory_not_equal(blocks, again, bytes);
        ct_dequantize(type, v, blocks, N);
        for (int k = 0; k < N; k++) {
            assert_true(isfinite(v[k]) && fabsf(v[k]) < 8);
            largest = fmaxf(largest, fabsf(v[k]));
            sum += fabsf(v[k]);
        }
        if (largest < 0.125f || sum / N < largest / 64)
            fail_msg("%s: values up to %g, %g on average", ct_type_info(type)->name, (double)largest,
                     (double)sum / N);
        unsigned ones = 0, zeros = 0;
        for (size_t k = 0; k < bytes; k++) {
            ones |= blocks[k];
            zeros |= (unsigned)~blocks[k];
        }
        assert_true((ones & zeros & 255) == 255);
    }
    free(v);
    free(blocks);
    free(again);
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
        cmocka_unit_test(blocks_equal_the_reference),
        cmocka_unit_test(shared_blocks_equal_the_reference),
        cmocka_unit_test(sfp_codes),
        cmocka_unit_test(nuq_is_sfp),
        cmocka_unit_test(i8_values),
        cmocka_unit_test(scales_of_nvfp4),
        cmocka_unit_test(integers_stay_exact),
        cmocka_unit_test(plain_types),
        cmocka_unit_test(tables),
        cmocka_unit_test(made_up_blocks),
        cmocka_unit_test(row_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

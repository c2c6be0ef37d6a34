/* SPDX-License-Identifier: Apache-2.0 */
/* test_lattice.c: blocks of values on a lattice get the scale that trying every number of F16 gives, and
 * other blocks one with no more error than any of these; for the baseline and for AVX2, and the same whatever
 * lies beside a block. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "os/cpu.h"
#include "quant/blocks.h"
#include "quant/lattice.h"

#include <cmocka.h>

enum { VALUES = 32, BLOCKS = 75, LARGEST = 0x7bff };

static float x[BLOCKS][VALUES];
static uint64_t seed;

static double uniform(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) / 0x1p53;
}

static double normal(void)
{
    return sqrt(-2 * log(1 - uniform())) * cos(2 * 3.14159265358979 * uniform());
}

static float stored(double v, enum ct_type type)
{
    return type == CT_F16    ? ct_f16_to_f32(ct_f32_to_f16((float)v))
           : type == CT_BF16 ? ct_bf16_to_f32(ct_f32_to_bf16((float)v))
                             : (float)v;
}

/* Blocks on lattices: of all steps, of few, of a single one, with one sign at the end, sparse, tiny,
 * large. */
static void set_lattices(enum ct_type type, int kind)
{
    seed = 11 + (uint64_t)kind;
    for (int b = 0; b < BLOCKS; b++) {
        const double size = kind == 5 ? 0x1p-11 : kind == 6 ? 3000 : 0.01;
        const float d = ct_f16_to_f32(ct_f32_to_f16((float)(size * (1 + uniform()))));
        const int sign = b % 2 ? -1 : 1;
        for (int i = 0; i < VALUES; i++) {
            int q = (int)floor(uniform() * 16) - 8;
            if (kind == 1)
                q = q / 3;
            if (kind == 2)
                q = q < 0 ? -5 : q > 4 ? 5 : 0;
            if (kind == 3)
                q = q < -5 ? -8 : q > 5 ? 7 : q;
            if (kind == 4)
                q = i == b % VALUES ? 1 + b % 7 : i == 3 ? -4 : 0;
            x[b][i] = stored((double)(d * (float)(sign * q)), type);
        }
    }
}

/* Blocks of weights as they are, with some that are odd. */
static int set_weights(void **state)
{
    (void)state;
    seed = 5;
    for (int b = 0; b < BLOCKS; b++)
        for (int i = 0; i < VALUES; i++) {
            const double n = normal();
            x[b][i] = (float)(0.02 * n);
            if (b % 15 == 1)
                x[b][i] = (float)(0.02 * n * n * n);
            if (b % 15 == 2)
                x[b][i] = i == 7 ? -3 : (float)(1e-3 * n);
            if (b % 15 == 3)
                x[b][i] = (float)(1e-6 * n);
            if (b % 15 == 4)
                x[b][i] = (float)(1e-8 * n);
            if (b % 15 == 5)
                x[b][i] = (float)(1e5 * n);
            if (b % 15 == 6)
                x[b][i] = i % 2 ? 0.3f : -0.3f;
            if (b % 15 == 7)
                x[b][i] = i % 3 ? 0 : (float)fabs(n);
            if (b % 15 == 8)
                x[b][i] = 0.37f;
            if (b % 15 == 9)
                x[b][i] = (float)(1e-4 * n);
            if (b % 15 == 10)
                x[b][i] = i == 0 ? 0.7f : i == 1 ? -0.7f : (float)(0.2 * n);
            if (b % 15 == 11)
                x[b][i] = i < 31 ? 0 : -0.11f;
        }
    return 0;
}

/* The middle scale of those that give all values by the smallest integers; -1: there is none. */
static int scale_of(const float *v, enum ct_type type)
{
    int first = -1, last = -1, least = 9;

    for (int bits = 1; bits <= LARGEST; bits++)
        for (int sign = 0; sign < 2; sign++) {
            const float d = ct_f16_to_f32((uint16_t)(bits | sign << 15));
            int most = 0, i = 0;
            for (; i < VALUES; i++) {
                const float q = rintf(v[i] / d);
                if (!(q >= -8 && q <= 7) || stored((double)(q * d), type) != v[i])
                    break;
                most = abs((int)q) > most ? abs((int)q) : most;
            }
            if (i < VALUES || most > least || (most == least && sign && first < 0x8000 && first >= 0))
                continue;
            if (most < least)
                first = bits | sign << 15;
            least = most;
            last = bits | sign << 15;
        }
    return first < 0 ? -1 : (first + last) / 2;
}

static double error_of(const float *v, float d)
{
    double sum = 0;

    for (int i = 0; i < VALUES; i++) {
        const double q = d == 0 ? 0 : fmax(-8, fmin(7, rint((double)v[i] / (double)d)));
        sum += ((double)v[i] - q * (double)d) * ((double)v[i] - q * (double)d);
    }
    return sum;
}

static struct ct_lattice encode(struct ct_block_q4_0 *to, enum ct_type type)
{
    static struct ct_block_q4_0 base[BLOCKS];
    const struct ct_lattice found = ct_encode_lattice(base, x[0], BLOCKS * VALUES, type, false),
                            avx2 = ct_encode_lattice(to, x[0], BLOCKS * VALUES, type, ct_cpu_has_avx2()),
                            look = ct_encode_lattice(NULL, x[0], BLOCKS * VALUES, type, ct_cpu_has_avx2());

    assert_memory_equal(base, to, sizeof base);
    assert_memory_equal(&found, &avx2, sizeof found);
    assert_memory_equal(&found, &look, sizeof found);
    for (int b = 0; b < BLOCKS; b++) {
        ct_encode_lattice(base, x[b], VALUES, type, ct_cpu_has_avx2());
        assert_memory_equal(base, to + b, sizeof *base);
    }
    return found;
}

static void lattices_are_kept(void **state)
{
    static const enum ct_type types[] = {CT_BF16, CT_F32, CT_F16};
    static struct ct_block_q4_0 blocks[BLOCKS], again[BLOCKS];
    static float decoded[BLOCKS][VALUES];

    (void)state;
    for (int kind = 0; kind < 7; kind++)
        for (size_t t = 0; t < CT_COUNT(types); t++) {
            const enum ct_type type = types[t];
            set_lattices(type, kind);
            const struct ct_lattice found = encode(blocks, type);
            assert_int_equal(found.blocks, BLOCKS);
            assert_int_equal(found.on, BLOCKS);
            assert_int_equal(found.zeros, 0);
            ct_dequantize(CT_Q4_0, decoded[0], blocks, BLOCKS * VALUES);
            for (int b = 0; b < BLOCKS; b++) {
                const int want = scale_of(x[b], type);
                if (blocks[b].d != want)
                    fail_msg("kind %d, %s, block %d: scale %04x, not %04x", kind, ct_type_info(type)->name, b,
                             blocks[b].d, (unsigned)want);
                for (int i = 0; i < VALUES; i++)
                    assert_true(stored((double)decoded[b][i], type) == x[b][i]);
            }
            memcpy(x, decoded, sizeof x);
            encode(again, CT_F32);
            assert_memory_equal(again, blocks, sizeof blocks);
        }
}

static void others_have_the_least_error(void **state)
{
    static struct ct_block_q4_0 blocks[BLOCKS];
    static float decoded[BLOCKS][VALUES];

    (void)state;
    const struct ct_lattice found = encode(blocks, CT_F32);
    assert_true(found.on < BLOCKS / 2 && !found.one_scale);
    ct_dequantize(CT_Q4_0, decoded[0], blocks, BLOCKS * VALUES);
    for (int b = 0; b < BLOCKS; b++) {
        double least = error_of(x[b], 0), sum = 0, got = 0;
        for (int bits = 1; bits <= LARGEST; bits++) {
            const float d = ct_f16_to_f32((uint16_t)bits);
            least = fmin(least, fmin(error_of(x[b], d), error_of(x[b], -d)));
        }
        for (int i = 0; i < VALUES; i++) {
            const double off = (double)decoded[b][i] - (double)x[b][i];
            got += off * off;
            sum += (double)x[b][i] * (double)x[b][i];
        }
        if (!(got <= least + 1e-13 * sum))
            fail_msg("block %d: squared error %.17g, not %.17g of %.17g", b, got, least, sum);
    }
}

static void rows_are_described(void **state)
{
    static struct ct_block_q4_0 blocks[BLOCKS];
    struct ct_lattice found;

    (void)state;
    seed = 3;
    for (int b = 0; b < BLOCKS; b++)
        for (int i = 0; i < VALUES; i++)
            x[b][i] =
                b % 5 == 4 ? (i ? 0 : -0.0f) : stored((floor(uniform() * 16) - 8) * 0.01171875, CT_BF16);
    found = encode(blocks, CT_BF16);
    assert_int_equal(found.on, BLOCKS);
    assert_int_equal(found.zeros, BLOCKS / 5);
    assert_true(found.one_scale);
    assert_int_equal(blocks[4].d, 0);
    for (int i = 0; i < 16; i++)
        assert_int_equal(blocks[4].q[i], 0x88);
    for (int i = 0; i < VALUES; i++) /* another scale */
        x[7][i] = stored((double)x[7][i] * 1.125, CT_BF16);
    found = encode(blocks, CT_BF16);
    assert_int_equal(found.on, BLOCKS);
    assert_false(found.one_scale);
    x[7][5] = x[7][4] = 0; /* two signs at the end, which no scale has */
    for (int i = 0; i < VALUES; i++)
        x[7][i] = stored((i % 17 - 8) * 0.01171875, CT_BF16);
    found = encode(blocks, CT_BF16);
    assert_int_equal(found.on, BLOCKS - 1);
    assert_false(found.one_scale);
    for (int i = 0; i < VALUES; i++) { /* of two signs, but not in one block */
        x[7][i] = stored((i % 16 - 8) * 0.01171875, CT_BF16);
        x[8][i] = -x[7][i];
    }
    found = encode(blocks, CT_BF16);
    assert_int_equal(found.on, BLOCKS);
    assert_false(found.one_scale);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lattices_are_kept),
        cmocka_unit_test_setup(others_have_the_least_error, set_weights),
        cmocka_unit_test(rows_are_described),
    };
    return cmocka_run_group_tests_name("quant: lattices", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_palette.c: palettes, and the clusters behind them: errors are the least that PyPI's kmeans1d finds
 * (test/data/quant/palettes.txt, made by tools/make_palettes.py), and for few values the least of all
 * clusterings; entries are the f16 numbers next to the means; each value gets the nearest. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "quant/kmeans.h"
#include "quant/palette.h"

#include <cmocka.h>

enum { MOST = 20000 };

/* The values of tools/make_palettes.py. */
static void values_of(float *x, int kind, int n)
{
    uint64_t state = 1;

    for (int i = 0; i < n; i++) {
        double u = 0;
        for (int k = 0; k < 4; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            u += (double)(state >> 40);
        }
        u = u / 0x1p25 - 1;
        const double v = kind == 0   ? u
                         : kind == 1 ? fabs(u)
                         : kind == 2 ? floor(u * 8) / 8
                                     : u * u * u * 1000;
        x[i] = ct_f16_to_f32(ct_f32_to_f16((float)v));
    }
}

static int by_size(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* x sorted, each value once. Returns how many there are. */
static int distinct(float *x, uint32_t *count, int n)
{
    int m = 0;

    qsort(x, (size_t)n, sizeof *x, by_size);
    for (int i = 0; i < n; i++) {
        if (m > 0 && x[m - 1] == x[i]) {
            count[m - 1]++;
            continue;
        }
        x[m] = x[i];
        count[m++] = 1;
    }
    return m;
}

static double error_of(const double *mean, int k, const float *x, const uint32_t *count, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++) {
        double least = INFINITY;
        for (int c = 0; c < k; c++)
            least = fmin(least, (x[i] - mean[c]) * (x[i] - mean[c]));
        sum += least * count[i];
    }
    return sum;
}

static double best_error(const float *x, const uint32_t *count, int n, int k)
{
    double mean[CT_PALETTE_MOST];
    void *scratch = malloc(ct_kmeans_scratch(n, k)); /* sanitizers see its end */

    assert_non_null(scratch);
    ct_kmeans(mean, x, count, n, k, scratch);
    free(scratch);
    for (int c = 1; c < k; c++)
        assert_true(mean[c] > mean[c - 1]);
    return error_of(mean, k, x, count, n);
}

static float x[MOST];
static uint32_t count[MOST];

static void test_error_is_the_least_that_a_peer_finds(void **state)
{
    FILE *f = fopen(CT_TEST_DATA "/quant/palettes.txt", "r");
    int kind, n, k, cases = 0;
    double want;

    (void)state;
    assert_non_null(f);
    for (; fscanf(f, "%d %d %d %lf", &kind, &n, &k, &want) == 4; cases++) {
        values_of(x, kind, n);
        const int m = distinct(x, count, n);
        const double got = best_error(x, count, m, k < m ? k : m);
        if (!(fabs(got - want) <= 1e-9 * want))
            fail_msg("kind %d, %d values, %d clusters: error %.17g, not %.17g", kind, n, k, got, want);
    }
    fclose(f);
    assert_int_equal(cases, 32);
}

/* The least error of x[from] .. x[n - 1] in k runs, every way of cutting tried. */
static double tried(const float *v, const uint32_t *times, int from, int n, int k)
{
    double least = INFINITY;

    for (int to = from + 1; to <= n - (k - 1); to++) {
        if (k == 1)
            to = n;
        double number = 0, sum = 0, error = 0;
        for (int i = from; i < to; i++) {
            number += times[i];
            sum += (double)v[i] * times[i];
        }
        for (int i = from; i < to; i++)
            error += (v[i] - sum / number) * (v[i] - sum / number) * times[i];
        least = fmin(least, error + (k == 1 ? 0 : tried(v, times, to, n, k - 1)));
    }
    return least;
}

static void test_no_clustering_is_better(void **state)
{
    uint64_t random = 7;

    (void)state;
    for (int turn = 0; turn < 2000; turn++) {
        float v[9];
        uint32_t times[9];
        random = random * 6364136223846793005u + 1442695040888963407u;
        const int n = 1 + (int)(random >> 33) % 9, k = 1 + (int)(random >> 50) % n;
        for (int i = 0; i < n; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            v[i] = (i ? v[i - 1] : -8) + (float)(1 + (random >> 40) % 100) / 32;
            times[i] = 1 + (uint32_t)(random >> 20) % 5;
        }
        const double want = tried(v, times, 0, n, k), got = best_error(v, times, n, k);
        if (!(fabs(got - want) <= 1e-9 * want + 1e-12))
            fail_msg("turn %d: %d values, %d clusters: error %.17g, not %.17g", turn, n, k, got, want);
    }
}

static struct ct_palette_maker maker;

static int begin(void **state)
{
    (void)state;
    return ct_palette_begin(&maker, NULL);
}

static int end(void **state)
{
    (void)state;
    ct_palette_end(&maker);
    return 0;
}

static void test_few_values_are_kept(void **state)
{
    static const float v[] = {3, -0.5f, -0.0f, 0, 65504, 3, -0.5f};
    uint16_t palette[16];
    uint8_t row[4];
    uint16_t back[7];

    (void)state;
    ct_palette_count(&maker, v, 7);
    assert_int_equal(ct_palette_cluster(&maker, palette, 4, NULL), CARAT_OK);
    static const float want[16] = {-0.5f, 0, 3, 65504};
    for (int i = 0; i < 16; i++)
        assert_true(ct_f16_to_f32(palette[i]) == want[i]);
    ct_palette_indices(&maker, row, 4, v, 7);
    static const uint8_t codes[] = {0x02, 0x11, 0x23, 0x00};
    assert_memory_equal(row, codes, 4); /* the first of a byte is in its low half */
    ct_palette_row(back, row, palette, 4, 7);
    for (int i = 0; i < 7; i++)
        assert_true(ct_f16_to_f32(back[i]) == v[i]);
}

/* The low bits come first, across bytes. */
static void test_bits_are_packed(void **state)
{
    static const int bits[] = {2, 3, 4, 6, 8};
    uint16_t palette[CT_PALETTE_MOST];
    float v[259];
    uint16_t back[259];
    uint8_t row[260];

    (void)state;
    for (size_t b = 0; b < CT_COUNT(bits); b++) {
        const int entries = 1 << bits[b];
        for (int i = 0; i < 259; i++)
            v[i] = (float)(i * 7 % entries) - 1;
        assert_true(ct_palette_bits(bits[b]));
        ct_palette_count(&maker, v, 259);
        assert_int_equal(ct_palette_cluster(&maker, palette, bits[b], NULL), CARAT_OK);
        for (int n = 1; n <= 259; n += 86) {
            const size_t bytes = ct_palette_row_bytes(bits[b], n);
            assert_int_equal(bytes, (bits[b] * n + 7) / 8);
            memset(row, 0xee, sizeof row);
            ct_palette_indices(&maker, row, bits[b], v, n);
            assert_int_equal(row[bytes], 0xee);
            for (int i = 0; i < n * bits[b]; i++)
                assert_int_equal(row[i / 8] >> i % 8 & 1, (i / bits[b]) * 7 % entries >> i % bits[b] & 1);
            if (n * bits[b] % 8)
                assert_int_equal(row[bytes - 1] >> n * bits[b] % 8, 0);
            ct_palette_row(back, row, palette, bits[b], n);
            for (int i = 0; i < n; i++)
                assert_true(ct_f16_to_f32(back[i]) == v[i]);
        }
    }
    for (int i = -1; i < 20; i++)
        assert_int_equal(ct_palette_bits(i), i == 2 || i == 3 || i == 4 || i == 6 || i == 8);
}

/* Means are rounded once: these are so near to the middle of two f16 numbers that float32 says it is there,
 * and a tie would go to the even one, on the other side. */
static void test_entries_are_rounded_once(void **state)
{
    static const float v[] = {1, 1.0009765625f, 1.001953125f, -9, -20, -30};
    uint16_t palette[4];

    (void)state;
    for (int odd = 0; odd < 2; odd++) { /* above the middle of the first two, below that of the next two */
        for (int i = 0; i < 1 << 16; i++)
            ct_palette_count(&maker, v + odd, 2);
        ct_palette_count(&maker, v + 1, 1);
        ct_palette_count(&maker, v + 3, 3);
        assert_int_equal(ct_palette_cluster(&maker, palette, 2, NULL), CARAT_OK);
        assert_int_equal(palette[3], 0x3c01);
    }
}

static void test_each_value_gets_the_nearest(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++)
        for (int bits = 2; bits <= 8; bits += 2) {
            uint16_t palette[CT_PALETTE_MOST];
            static uint8_t row[MOST];
            static uint16_t back[MOST];
            values_of(x, kind, 2560);
            ct_palette_count(&maker, x, 2560);
            assert_int_equal(ct_palette_cluster(&maker, palette, bits, NULL), CARAT_OK);
            ct_palette_indices(&maker, row, bits, x, 2560);
            ct_palette_row(back, row, palette, bits, 2560);
            for (int i = 0; i < 2560; i++)
                for (int e = 0; e < 1 << bits; e++) {
                    const float entry = ct_f16_to_f32(palette[e]);
                    const float value = ct_f16_to_f32(back[i]);
                    const double d = fabs((double)entry - x[i]), got = fabs((double)value - x[i]);
                    assert_true(got <= d);
                    /* What is left over is 0, and no entry: it may be as near. */
                    assert_true(got < d || value <= entry || entry == 0);
                }
        }
}

/* Counts of parts, joined, are those of the whole; what is counted is forgotten. */
static void test_parts_are_joined(void **state)
{
    struct ct_palette_maker other;
    uint16_t whole[16], joined[16];

    (void)state;
    values_of(x, 0, 2560);
    for (int turn = 0; turn < 2; turn++) {
        ct_palette_count(&maker, x, 2560);
        assert_int_equal(ct_palette_cluster(&maker, whole, 4, NULL), CARAT_OK);
        assert_int_equal(ct_palette_begin(&other, NULL), CARAT_OK);
        ct_palette_count(&other, x, 1000);
        ct_palette_count(&maker, x + 1000, 1560);
        ct_palette_join(&maker, &other);
        ct_palette_end(&other);
        assert_int_equal(ct_palette_cluster(&maker, joined, 4, NULL), CARAT_OK);
        assert_memory_equal(whole, joined, sizeof whole);
    }
    assert_int_equal(ct_palette_cluster(&maker, joined, 4, NULL), CARAT_OK);
    assert_memory_equal(joined, (uint16_t[16]){0}, sizeof joined);
}

static void test_nothing_gives_zeros(void **state)
{
    uint16_t palette[4] = {1, 1, 1, 1};

    (void)state;
    assert_int_equal(ct_palette_cluster(&maker, palette, 2, NULL), CARAT_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(palette[i], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error_is_the_least_that_a_peer_finds),
        cmocka_unit_test(test_no_clustering_is_better),
        cmocka_unit_test_setup_teardown(test_few_values_are_kept, begin, end),
        cmocka_unit_test_setup_teardown(test_bits_are_packed, begin, end),
        cmocka_unit_test_setup_teardown(test_entries_are_rounded_once, begin, end),
        cmocka_unit_test_setup_teardown(test_each_value_gets_the_nearest, begin, end),
        cmocka_unit_test_setup_teardown(test_parts_are_joined, begin, end),
        cmocka_unit_test_setup_teardown(test_nothing_gives_zeros, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

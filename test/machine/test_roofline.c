/* SPDX-License-Identifier: Apache-2.0 */
/* test_roofline.c: the loops of tiles, in emulation: they multiply no zeros, in as many k as products of
 * NUMERICS.md can, and as often as they say. Loops of vectors are inline assembly, which only a CPU that has
 * them can run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#if defined(__x86_64__)
#include "kernel/emulate_tiles.h"

/* What the emulated instructions did: pairs of values multiplied, those that were not zero, and the most k of
 * one. */
static long pairs, not_zero;
static int most_k;

static void count_dot(int a, int b, int size)
{
    const int k = ct_tiles.config.row_bytes[a] / size;

    for (int row = 0; row < ct_tiles.config.rows[a]; row++)
        for (int column = 0; column < ct_tiles.config.row_bytes[b] / 4; column++)
            for (int i = 0; i < k * size; i++) {
                bool some = ct_tiles.tile[a][row][i] && ct_tiles.tile[b][i / 4][4 * column + i % 4];
                pairs += i % size == 0;
                not_zero += some && i % size == size - 1; /* of a bf16 the byte of sign and exponent */
            }
    most_k = k > most_k ? k : most_k;
}

#undef CT_TILE_DOT_BYTES
#undef CT_TILE_DOT_BF16
#define CT_TILE_DOT_BYTES(c, a, b) (count_dot(a, b, 1), ct_tile_dot_bytes(c, a, b))
#define CT_TILE_DOT_BF16(c, a, b)  (count_dot(a, b, 2), ct_tile_dot_bf16(c, a, b))
#include "../../src/machine/roofline.c" /* a copy of its own, with these */

static void check_loop(carat_arithmetic arithmetic)
{
    const struct ct_roofline peak = ct_roofline_loop("amx", arithmetic);
    const long turns = 3;

    pairs = not_zero = most_k = 0;
    assert_non_null(peak.run);
    peak.run(turns);
    assert_int_equal(2 * pairs, turns * peak.operations);
    assert_int_equal(most_k, CT_GROUP);
    assert_true(not_zero > pairs / 100 * 98);
}

static void tiles_do_what_products_do(void **state)
{
    (void)state;
    check_loop(CARAT_BY_BF16);
    check_loop(CARAT_BY_INT8);
}
#else
static void tiles_do_what_products_do(void **state)
{
    (void)state;
    skip();
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tiles_do_what_products_do)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

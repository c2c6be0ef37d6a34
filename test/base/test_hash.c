/* SPDX-License-Identifier: Apache-2.0 */
/* test_hash.c: the hash is XXH3 as xxHash itself computes it, in one piece and in any pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static void is_xxh3(void **state)
{
    (void)state;
    uint8_t data[3000], digest[16];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 131 + i / 7);
    for (size_t n = 0; n <= sizeof data; n += n < 300 ? 1 : 97) {
        XXH128_canonical_t expected;
        struct ct_hash h;
        assert_true(ct_hash64(data, n) == XXH3_64bits(data, n));
        XXH128_canonicalFromHash(&expected, XXH3_128bits(data, n));
        for (size_t piece = 1; piece <= n + 1; piece = piece * 5 + 1) {
            ct_hash_begin(&h);
            for (size_t at = 0; at < n; at += piece)
                ct_hash_add(&h, data + at, CT_MIN(piece, n - at));
            assert_true(ct_hash_end64(&h) == XXH3_64bits(data, n));
            ct_hash_end128(&h, digest);
            assert_memory_equal(digest, expected.digest, sizeof digest);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(is_xxh3)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

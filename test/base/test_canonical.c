/* SPDX-License-Identifier: Apache-2.0 */
/* test_canonical.c: canonical JSON as RFC 8785 wants it, floats as ECMAScript prints the shortest decimal
 * that is the same float; and SHA-256 against FIPS 180-4's examples and OpenSSL's results around its
 * blocks. */
#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/canonical.h"
#include "base/json.h"
#include "base/sha256.h"

static void floats(void **state)
{
    static const struct {
        float value;
        const char *spelled;
    } known[] = {
        {0, "0"},
        {-0.0f, "0"},
        {1, "1"},
        {-2.5f, "-2.5"},
        {0.95f, "0.95"},
        {1.1f, "1.1"},
        {1e-6f, "0.000001"},
        {1e-7f, "1e-7"},
        {100, "100"},
        {16777216, "16777216"},
        {123456792, "123456790"},
        {1e20f, "100000000000000000000"},
        {1e21f, "1e+21"},
        {1e38f, "1e+38"},
        {FLT_MAX, "3.4028235e+38"},
        {1.5e-30f, "1.5e-30"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct ct_canonical c = {0};
        ct_canonical_float(&c, known[i].value);
        assert_string_equal(c.text, known[i].spelled);
        free(c.text);
    }
    for (uint32_t bits = 1; bits < 0x7f800000u; bits += 0x3001f) { /* every spelling is read as it was */
        struct ct_canonical c = {0};
        ct_canonical_float(&c, ct_f32_from_bits(bits));
        assert_true((float)ct_json_decimal((struct ct_str){c.text, c.n}) == ct_f32_from_bits(bits));
        char *end = strchr(c.text, 'e');
        if (strchr(c.text, '.')) /* by its fewest digits */
            assert_true((end ? end : c.text + c.n)[-1] != '0');
        free(c.text);
    }
}

static void strings_and_lists(void **state)
{
    static const int32_t ids[] = {2, -1, 2147483647};
    struct ct_canonical c = {0};

    (void)state;
    ct_canonical_put(&c, "{");
    ct_canonical_key(&c, "a");
    ct_canonical_string(&c, (struct ct_str){"\"\\/\b\t\n\f\r\x01\x1f\x7f\xe2\x82\xac\0[", 16});
    ct_canonical_key(&c, "b");
    ct_canonical_ids(&c, ids, 3);
    ct_canonical_key(&c, "c");
    ct_canonical_hex(&c, (const uint8_t *)"\x00\xaf", 2);
    ct_canonical_key(&c, "d");
    ct_canonical_integer(&c, -9007199254740991);
    ct_canonical_put(&c, "}");
    assert_false(c.failed);
    assert_string_equal(c.text, "{\"a\":\"\\\"\\\\/\\b\\t\\n\\f\\r\\u0001\\u001f\x7f\xe2\x82\xac\\u0000[\","
                                "\"b\":[2,-1,2147483647],\"c\":\"00af\",\"d\":-9007199254740991}");
    free(c.text);
}

static void sha256(void **state)
{
    static const struct {
        size_t n;
        const char *hex;
    } of_a[] = {
        {0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
        {56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
        {64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
        {119, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb"},
        {1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
    };
    char *text = malloc(1000000);

    (void)state;
    assert_non_null(text);
    memset(text, 'a', 1000000);
    for (size_t i = 0; i < sizeof of_a / sizeof *of_a; i++)
        for (size_t piece = 1; piece <= 1000; piece = piece * 3 + 1) { /* in pieces of any length */
            struct ct_sha256 s;
            struct ct_canonical c = {0};
            uint8_t digest[CT_SHA256];
            ct_sha256_begin(&s);
            for (size_t at = 0; at < of_a[i].n; at += piece)
                ct_sha256_add(&s, text + at, CT_MIN(piece, of_a[i].n - at));
            ct_sha256_end(&s, digest);
            ct_canonical_hex(&c, digest, sizeof digest);
            assert_memory_equal(c.text + 1, of_a[i].hex, 64);
            free(c.text);
        }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats),
        cmocka_unit_test(strings_and_lists),
        cmocka_unit_test(sha256),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

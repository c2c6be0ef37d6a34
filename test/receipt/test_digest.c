/* SPDX-License-Identifier: Apache-2.0 */
/* test_digest.c: the chain of digests gives what Python's xxhash gives for the bytes that NUMERICS.md section
 * 15 names, and keeps every 64th. */
#include "engine/vector_util.h"

#include "receipt/receipt.h"

static void expect_digest(const ct_digest d, const char *hex)
{
    char found[CT_RECEIPT_HEX + 1];

    for (int i = 0; i < CT_DIGEST; i++)
        snprintf(found + 2 * (size_t)i, 3, "%02x", d[i]);
    assert_string_equal(found, hex);
}

static void known_digests(void **state)
{
    enum { HIDDEN = 640 };
    char header[] = "{\"version\":1}";
    const struct ct_canonical text = {.text = header, .n = strlen(header)};
    const int32_t ids[] = {2, 105, -1, 262143};
    float hidden[HIDDEN];
    ct_digest d;

    (void)state;
    for (int i = 0; i < HIDDEN; i++)
        hidden[i] = (float)i * 0.25f - 3;
    ct_digest_start(d, &text);
    expect_digest(d, "f85b66263cd7c518c39eab4942849ec0");
    ct_digest_prompt(d, ids, 4);
    expect_digest(d, "a4f5f1dabccf7296335f3f96cfbe9f25");
    ct_digest_token(d, 4, 107, hidden, HIDDEN);
    expect_digest(d, "4ef65b65d15524cd2bc4ef5f5b63b287");
    ct_digest_token(d, 5, 1, hidden, HIDDEN);
    expect_digest(d, "ca0f8d64dc55bee1b392e3f6869d803d");
}

static void every_step_is_kept(void **state)
{
    ct_digest kept[3];
    struct ct_digests s = {.kept = kept};
    ct_digest d = {0};

    (void)state;
    for (int i = 1; i <= 3 * CARAT_RECEIPT_STEP - 1; i++) {
        d[0] = (uint8_t)i;
        ct_digests_add(&s, d);
        assert_int_equal(s.n_kept, ct_digests_kept(i));
        assert_int_equal(s.last[0], (uint8_t)i);
    }
    assert_int_equal(s.n_kept, 2);
    assert_int_equal(kept[0][0], 64);
    assert_int_equal(kept[1][0], 128);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_digests),
        cmocka_unit_test(every_step_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

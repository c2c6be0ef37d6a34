/* SPDX-License-Identifier: Apache-2.0 */
/* test_decode_check.c: what `carat decode` says when a strategy that is exact gave another result than dense,
 * or a round another than the first: a failed check, which nothing that works can show. */
#include "../../../cli/model/head_check.c"
#include "../../../cli/steps/decode_check.c"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

static char said[256];

int term_fail(int code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(said, sizeof said, format, args);
    va_end(args);
    return code;
}

#include <cmocka.h> /* which has a fail of its own */

/* Two rounds of three steps. */
static struct decoding rounds_of(struct step *steps)
{
    static const int32_t ids[] = {7, 8, 9};

    for (int i = 0; i < 6; i++)
        steps[i] = (struct step){.id = ids[i % 3]};
    said[0] = 0;
    return (struct decoding){.n_steps = 3,
                             .n_rounds = 2,
                             .steps = steps,
                             .head = {.strategy = CARAT_HEAD_EXACT_PRUNED, .exact = 1, .audits = 5}};
}

static void what_holds_says_nothing(void **state)
{
    struct step steps[6];
    struct decoding d = rounds_of(steps);

    (void)state;
    assert_int_equal(decode_check(&d), DONE);
    assert_string_equal(said, "");
}

static void a_difference_is_an_error_where_a_strategy_is_exact(void **state)
{
    struct step steps[6];
    struct decoding d = rounds_of(steps);

    (void)state;
    d.head.differences = 2;
    assert_int_equal(decode_check(&d), CHECK_FAILED);
    assert_string_equal(said, "--audit: 2 of 5 results of exact-pruned differ from dense");
    d.head.exact = 0; /* it is expected to differ */
    assert_int_equal(decode_check(&d), DONE);
}

static void a_round_that_differs_is_an_error(void **state)
{
    struct step steps[6];

    (void)state;
    for (int i = 3; i < 6; i++) {
        struct decoding d = rounds_of(steps);
        char expected[80];
        steps[i].id += 10;
        snprintf(expected, sizeof expected, "round 2 gave id %d in step %d, where the first gave %d", i + 14,
                 i - 2, i + 4);
        assert_int_equal(decode_check(&d), CHECK_FAILED);
        assert_string_equal(said, expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_holds_says_nothing),
                                       cmocka_unit_test(a_difference_is_an_error_where_a_strategy_is_exact),
                                       cmocka_unit_test(a_round_that_differs_is_an_error)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

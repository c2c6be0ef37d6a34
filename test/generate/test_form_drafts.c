/* SPDX-License-Identifier: Apache-2.0 */
/* test_form_drafts.c: what a form leaves no choice of goes into passes as a draft, as long as that pays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka.h needs the headers above it. */
#include <cmocka.h>

#include "generate/speculate.h"

/* A form's own ids go into passes as long as they are right often enough. */
static int drafts_of_a_form(bool right, int passes)
{
    struct ct_speculation s;
    carat_generation_options o = {.size = sizeof o};
    int last = 0;

    assert_true(ct_speculate_open(&s, &o, 64));
    for (int rows = 1; rows <= 8; rows++)
        ct_account_cost(&s.account, rows, 1e6 * (1 + 0.2 * (rows - 1)));
    for (int i = 0; i < passes; i++) {
        struct ct_draft_pass pass = ct_draft_pass(1, 256);
        last = ct_speculate_given(&s, &pass, 4);
        assert_int_equal(pass.drafts, last);
        assert_true(i > 0 || last > 0);
        ct_speculate_verified(&s, &pass, right ? last : 0, 1e-3 * (1 + 0.2 * last));
    }
    assert_int_equal(s.account.source[CARAT_FROM_TEXT].drafted, 0);
    ct_speculate_close(&s);
    return last;
}

static void a_form_drafts_while_that_pays(void **unused)
{
    struct ct_speculation s;
    carat_generation_options o = {.size = sizeof o, .lookup = CARAT_LOOKUP_OFF};

    (void)unused;
    assert_int_equal(drafts_of_a_form(true, 20), 4);
    assert_int_equal(drafts_of_a_form(false, 20), 0);
    assert_true(ct_speculate_open(&s, &o, 64));
    assert_int_equal(ct_speculate_room(&s, 5), 0);
    ct_speculate_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_form_drafts_while_that_pays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

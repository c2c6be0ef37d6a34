/* SPDX-License-Identifier: Apache-2.0 */
/* test_names.c: the table of what people call members, row by row: the repository of a name with a size has
 * that size, that of a name without one is what the publisher of the names calls latest; and how a name is
 * compared. Names on the command line are test/cli's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

#include "names/names.h"

static const struct ct_family_name *found(const char *name)
{
    return ct_family_name_find(ct_str_of(name));
}

/* Whether a repository has "-SIZE" in it, as a part of its own, in either case. */
static bool has_part(const char *repository, const char *size, size_t n)
{
    for (const char *at = repository; (at = strchr(at, '-')) != NULL;)
        if (strncasecmp(++at, size, n) == 0 && (at[n] == 0 || at[n] == '-'))
            return true;
    return false;
}

static void a_size_in_the_name_is_that_of_the_repository(void **state)
{
    int sized = 0;

    (void)state;
    for (int i = 0; i < ct_family_name_count; i++) {
        const struct ct_family_name *row = &ct_family_names[i];
        const char *size = strchr(row->name, ':');
        if (!size || !row->repository)
            continue;
        sized++;
        if (!has_part(row->repository, size + 1, strcspn(size + 1, "-")))
            fail_msg("%s stands for %s", row->name, row->repository);
        if (row->drafter && !has_part(row->drafter, size + 1, strcspn(size + 1, "-")))
            fail_msg("%s is drafted by %s", row->name, row->drafter);
    }
    assert_true(sized > 20);
}

static void a_name_without_a_size_is_the_latest(void **state)
{
    static const char *const latest[][2] = {{"gemma", "gemma:7b"},
                                            {"codegemma", "codegemma:7b"},
                                            {"gemma2", "gemma2:9b"},
                                            {"gemma3", "gemma3:4b"},
                                            {"functiongemma", "functiongemma:270m"},
                                            {"gemma3n", "gemma3n:e4b"},
                                            {"gemma4", "gemma4:e4b"},
                                            {"embeddinggemma", "embeddinggemma:300m"}};

    (void)state;
    for (size_t i = 0; i < CT_COUNT(latest); i++)
        assert_string_equal(found(latest[i][0])->repository, found(latest[i][1])->repository);
}

static void names_are_compared_without_case_and_separators(void **state)
{
    static const char *const same[][2] = {{"gemma3:1b", "Gemma3_1B"},      {"gemma3:1b", "gemma-3-1b"},
                                          {"gemma3:1b", "gemma-3-1b-it"},  {"gemma3", "gemma3:latest"},
                                          {"gemma1.1:2b", "gemma-1.1-2b"}, {"gemma1.1:2b", "gemma11-2b"}};
    static const char *const unknown[] = {"", "gemma3:2b", "gemma3:1", "gemma3:1bb", "gema3"};

    (void)state;
    for (size_t i = 0; i < CT_COUNT(same); i++)
        assert_ptr_equal(found(same[i][0]), found(same[i][1]));
    for (size_t i = 0; i < CT_COUNT(unknown); i++)
        assert_null(found(unknown[i]));
    assert_null(found("paligemma2-3b-pt-224")->repository); /* known, and not run */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_size_in_the_name_is_that_of_the_repository),
        cmocka_unit_test(a_name_without_a_size_is_the_latest),
        cmocka_unit_test(names_are_compared_without_case_and_separators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

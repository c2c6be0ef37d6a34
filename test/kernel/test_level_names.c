/* SPDX-License-Identifier: Apache-2.0 */
/* test_level_names.c: the level that a table names beside an entry has written it: a table of at most that
 * level has the same function, one of at most the level before has another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "kernel/kernel.h"
#include "kernel/level.h"

static struct ct_kernel table_of(const char *limit)
{
    struct ct_kernel k;
    struct ct_cpu cpu;

    memset(&k, 0xa5, sizeof k); /* a table need not be clean */
    ct_cpu_detect(&cpu);
    assert_true(ct_kernel_choose(&k, &cpu, limit));
    return k;
}

/* The level that this CPU uses below one; NULL: that is the lowest. */
static const char *level_below(const char *isa)
{
    const char *below = NULL;
    struct ct_kernel k;
    struct ct_cpu cpu;

    ct_cpu_detect(&cpu);
    for (int i = 0; strcmp(carat_isa_name(i), isa) != 0; i++)
        if (ct_kernel_choose(&k, &cpu, carat_isa_name(i)) && strcmp(k.isa, carat_isa_name(i)) == 0)
            below = carat_isa_name(i);
    return below;
}

#define CHECK_ENTRY(entry)                                                                                   \
    do {                                                                                                     \
        const char *by = ct_kernel_level_of(&k, offsetof(struct ct_kernel, entry));                          \
        assert_non_null(by);                                                                                 \
        assert_true(table_of(by).entry == k.entry);                                                          \
        if (level_below(by))                                                                                 \
            assert_true(table_of(level_below(by)).entry != k.entry);                                         \
    } while (0)

static void names_are_true(void **state)
{
    struct ct_cpu cpu;

    (void)state;
    ct_cpu_detect(&cpu);
    for (int i = 0; carat_isa_name(i); i++) {
        struct ct_kernel k;
        if (!ct_kernel_choose(&k, &cpu, carat_isa_name(i)))
            continue;
        CHECK_ENTRY(dequantize_row);
        CHECK_ENTRY(prepare_input);
        CHECK_ENTRY(prepare_lanes);
        CHECK_ENTRY(project);
        CHECK_ENTRY(project_panels);
        CHECK_ENTRY(norm);
        CHECK_ENTRY(geglu);
        CHECK_ENTRY(rope);
        CHECK_ENTRY(rope_table);
        CHECK_ENTRY(kv_write);
        CHECK_ENTRY(kv_write_q8);
        CHECK_ENTRY(attend_query);
        CHECK_ENTRY(attend_block);
        CHECK_ENTRY(attend_block_q8);
        CHECK_ENTRY(attend_finish);
        CHECK_ENTRY(input_norms);
        CHECK_ENTRY(prune);
        CHECK_ENTRY(select);
        CHECK_ENTRY(draw);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_are_true)};
    return cmocka_run_group_tests_name("level_names", tests, NULL, NULL);
}

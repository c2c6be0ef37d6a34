/* SPDX-License-Identifier: Apache-2.0 */
/* test_host.c: carat_get_host: every field is filled, agrees with what an engine is planned with, and misuse
 * is refused. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "os/cgroup.h"
#include "carat_tools.h"

/* Every text is terminated inside its array and not empty, whatever lay there before. */
#define HAS_TEXT(field)                                                                                      \
    do {                                                                                                     \
        assert_non_null(memchr(info->field, 0, sizeof info->field));                                         \
        assert_true(info->field[0] != 0);                                                                    \
    } while (0)

static void fills_every_field(void **state)
{
    (void)state;
    carat_host_info *info = malloc(sizeof *info);
    assert_non_null(info);
    memset(info, 0x5a, sizeof *info);
    info->size = sizeof *info;
    assert_int_equal(carat_get_host(info, NULL), CARAT_OK);
    assert_int_equal(info->size, sizeof *info);
    assert_string_equal(info->version, carat_version());
    assert_int_equal(info->numerics, CARAT_NUMERICS_VERSION);
    HAS_TEXT(compiler);
    HAS_TEXT(build);
    HAS_TEXT(system);
    HAS_TEXT(libc);
    HAS_TEXT(cpu);
    HAS_TEXT(vendor);
    HAS_TEXT(isa);
    HAS_TEXT(threads_by);
    HAS_TEXT(huge_pages);
    assert_true(info->threads >= 1 && info->threads == ct_os_cpus());
    assert_true(info->memory_total > 1 << 20);
    size_t n = sizeof info->level / sizeof info->level[0];
    assert_true(info->level[n - 1].name[0] == 0); /* the list always ends */
#if defined(__SANITIZE_ADDRESS__)
    assert_non_null(strstr(info->build, "address sanitizer"));
#endif
    free(info);
}

static void refuses_misuse(void **state)
{
    (void)state;
    carat_host_info info = {.size = sizeof info + 1, .threads = 77};
    carat_error err = {0};
    assert_int_equal(carat_get_host(NULL, &err), CARAT_E_ARGUMENT);
    assert_non_null(strstr(err.message, "NULL"));
    assert_int_equal(carat_get_host(&info, &err), CARAT_E_ARGUMENT);
    assert_non_null(strstr(err.message, "carat_host_info"));
    assert_int_equal(info.threads, 77); /* untouched */
    info.size = 0;
    assert_int_equal(carat_get_host(&info, NULL), CARAT_E_ARGUMENT);
}

/* One processor left in the mask: one thread, and the reason says so where there are more. */
static void follows_the_mask(void **state)
{
    (void)state;
    carat_host_info info = {.size = sizeof info};
    cpu_set_t saved, one;
    int cpu = 0;
    assert_int_equal(sched_getaffinity(0, sizeof saved, &saved), 0);
    while (!CPU_ISSET(cpu, &saved))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(carat_get_host(&info, NULL), CARAT_OK);
    sched_setaffinity(0, sizeof saved, &saved);
    assert_int_equal(info.threads, 1);
    assert_int_equal(info.allowed, 1);
    assert_int_equal(atoi(info.allowed_list), cpu);
    if (info.online > 1)
        assert_true(strcmp(info.threads_by, "affinity") == 0 || strcmp(info.threads_by, "cpuset") == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_every_field),
        cmocka_unit_test(refuses_misuse),
        cmocka_unit_test(follows_the_mask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

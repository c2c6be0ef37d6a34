/* SPDX-License-Identifier: Apache-2.0 */
/* skips.c: a test program of which every case was skipped ends with status 77, so that CTest calls it
 * skipped. cmocka ends it with 0, as if it had passed. One of which some cases ran keeps its status;
 * tools/check.sh counts what it skipped. The linker puts these functions before cmocka's own. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

int __real__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t n,
                                   CMFixtureFunction setup, CMFixtureFunction teardown);
int __wrap__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t n,
                                   CMFixtureFunction setup, CMFixtureFunction teardown);
void __real__skip(const char *file, int line);
void __wrap__skip(const char *file, int line);

static size_t skipped;

void __wrap__skip(const char *file, int line)
{
    skipped++;
    __real__skip(file, line);
}

int __wrap__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t n,
                                   CMFixtureFunction setup, CMFixtureFunction teardown)
{
    const int status = __real__cmocka_run_group_tests(name, tests, n, setup, teardown);
    return status == 0 && skipped == n ? 77 : status;
}

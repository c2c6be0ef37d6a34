/* SPDX-License-Identifier: Apache-2.0 */
/* skips.c: a test program of which every case was skipped ends with status 77, so that CTest calls it
 * skipped. cmocka ends it with 0, as if it had passed. One of which some cases ran keeps its status;
 * tools/check.sh counts what it skipped. Cases that CARAT_TEST_LEAVE_OUT names, "a,b", do not run, and
 * with CARAT_TEST_TURNS=N every N-th does, others after each commit (tier.h). The linker puts
 * these functions before cmocka's own. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tier.h"

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

/* Whether a list has the name, as a whole. */
static int lists(const char *list, const char *name)
{
    const size_t n = strlen(name);

    for (; list; list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL)
        if (strncmp(list, name, n) == 0 && (list[n] == '\0' || list[n] == ','))
            return 1;
    return 0;
}

int __wrap__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t n,
                                   CMFixtureFunction setup, CMFixtureFunction teardown)
{
    const char *left_out = getenv("CARAT_TEST_LEAVE_OUT"), *turns = getenv("CARAT_TEST_TURNS");
    const unsigned every = turns ? (unsigned)strtoul(turns, NULL, 10) : 0;
    struct CMUnitTest *runs = calloc(n + 1, sizeof *runs);
    size_t n_runs = 0;

    if (!runs)
        return 1;
    for (size_t i = 0; i < n; i++)
        if (!lists(left_out, tests[i].name) && (every == 0 || tier_reaches((unsigned)i % every, every)))
            runs[n_runs++] = tests[i];
    const int status = __real__cmocka_run_group_tests(name, runs, n_runs, setup, teardown);
    free(runs);
    return status == 0 && skipped == n_runs ? 77 : status;
}

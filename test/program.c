/* SPDX-License-Identifier: Apache-2.0 */
/* program.c: the main of a room's tests: `test_engine session` runs test/engine/test_session.c. A program of
 * one test needs no name. Without a name that it has it lists those that it has. What a test is, program.h
 * says. */
#include <stdio.h>
#include <string.h>
#define CT_CALLS_TESTS
#include "program.h"

extern const struct ct_test __start_ct_tests[], __stop_ct_tests[];

/* The <thing> of test/<room>/test_<thing>.c; its length is n. */
static const char *thing_of(const char *file, size_t *n)
{
    const char *slash = strrchr(file, '/');
    const char *thing = (slash ? slash + 1 : file) + strlen("test_");

    *n = strlen(thing) - strlen(".c");
    return thing;
}

int main(int argc, char **argv)
{
    size_t n;

    for (const struct ct_test *test = __start_ct_tests; test < __stop_ct_tests; test++) {
        const char *thing = thing_of(test->file, &n);
        if (argc == 2 ? strlen(argv[1]) == n && strncmp(argv[1], thing, n) == 0
                      : argc == 1 && __stop_ct_tests - __start_ct_tests == 1)
            return test->run();
    }
    fprintf(stderr, "usage: %s THING, one of:\n", argv[0]);
    for (const struct ct_test *test = __start_ct_tests; test < __stop_ct_tests; test++) {
        const char *thing = thing_of(test->file, &n);
        fprintf(stderr, "  %.*s\n", (int)n, thing);
    }
    return 2;
}

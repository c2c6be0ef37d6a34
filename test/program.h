/* SPDX-License-Identifier: Apache-2.0 */
/* program.h: what makes a test one of several in the program of its room. cmake/tests.cmake includes it
 * before each test/<room>/test_<thing>.c, which keeps a main of its own: who compiles it alone has a whole
 * program. test/program.c calls them by name. */
#ifndef CT_TEST_PROGRAM_H
#define CT_TEST_PROGRAM_H

/* A test of this program, by the file that it stands in. The linker puts them side by side. */
struct ct_test {
    const char *file;
    int (*run)(void);
};

#ifndef CT_CALLS_TESTS
#define main ct_test_main
static int main(void);
__attribute__((section("ct_tests"), used)) static const struct ct_test ct_test_here = {__BASE_FILE__, main};
#endif

#endif

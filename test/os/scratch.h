/* SPDX-License-Identifier: Apache-2.0 */
/* scratch.h: a directory of its own for a test program, made before its tests and removed with all that is in
 * it after them, and files in it. What the files mean is the tests' business. */
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/room.h"

static char scratch[] = "/dev/shm/carat-test-XXXXXX"; /* the longest of its places */

static int make_scratch_in(const char *place)
{
    snprintf(scratch, sizeof scratch, "%s/carat-test-XXXXXX", place);
    return mkdtemp(scratch) ? 0 : -1;
}
__attribute__((unused)) static int make_scratch(void **state)
{
    (void)state;
    return make_scratch_in(roomy("/tmp", "/dev/shm"));
}
static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st, (void)kind, (void)where;
    return remove(path);
}
static int drop_scratch(void **state)
{
    (void)state;
    return nftw(scratch, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Writes a file at a path below scratch, with the directories it needs. */
__attribute__((unused)) static void write_file(char *path, const char *text, size_t n)
{
    for (char *slash = path + strlen(scratch) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = 0;
        mkdir(path, 0755);
    }
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

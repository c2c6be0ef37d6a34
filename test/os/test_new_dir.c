/* SPDX-License-Identifier: Apache-2.0 */
/* test_new_dir.c: directories that appear whole under their name: which places they take, that one process
 * makes one at a time, what a killed one left, and that what is abandoned is gone. */
#include "scratch.h"

#include <fcntl.h>

#include "os/new_dir.h"

enum { MOST = 512 };

static char *at(char path[MOST], const char *name)
{
    snprintf(path, MOST, "%s/%s", scratch, name);
    return path;
}

static bool exists(const char *name)
{
    char path[MOST];
    struct stat st;
    return lstat(at(path, name), &st) == 0;
}

static void put(const char *name)
{
    char path[MOST];
    write_file(at(path, name), "x", 1);
}

static void places(void **state)
{
    (void)state;
    char path[MOST], link[MOST];
    const char *why;
    assert_true(ct_os_takes_dir(at(path, "nothing"), &why));
    assert_null(why);
    assert_int_equal(mkdir(at(path, "empty"), 0755), 0);
    assert_true(ct_os_takes_dir(path, &why));
    put("full/.hidden");
    assert_false(ct_os_takes_dir(at(path, "full"), &why));
    assert_string_equal(why, "has files in it");
    put("file");
    assert_false(ct_os_takes_dir(at(path, "file"), &why));
    assert_string_equal(why, "is there and is no directory");
    assert_int_equal(symlink(at(path, "empty"), at(link, "link")), 0);
    assert_false(ct_os_takes_dir(link, &why));
    assert_string_equal(why, "is there and is no directory");
    static const char *const unnamed[] = {".", "..", "a/.", "a/.."};
    for (size_t i = 0; i < sizeof unnamed / sizeof *unnamed; i++) {
        assert_false(ct_os_takes_dir(unnamed[i], &why));
        assert_string_equal(why, "is no name that a new directory can have");
    }
}

static void it_appears_whole(void **state)
{
    (void)state;
    struct ct_os_new_dir d;
    carat_error err;
    char path[MOST], name[MOST];
    for (int taken = 0; taken < 2; taken++) { /* a new name, and that of an empty directory */
        at(name, taken ? "empty" : "whole");
        assert_int_equal(ct_os_new_dir_begin(&d, at(path, "part"), &err), CARAT_OK);
        put("part/one");
        assert_int_equal(ct_os_new_dir_folder(&d, "two", &err), CARAT_OK);
        put("part/two/three");
        assert_false(exists("whole/one") && !taken);
        assert_int_equal(ct_os_new_dir_finish(&d, name, &err), CARAT_OK);
        assert_false(exists("part"));
    }
    assert_true(exists("whole/one") && exists("whole/two/three") && exists("empty/one"));
}

static void one_makes_it_at_a_time(void **state)
{
    (void)state;
    struct ct_os_new_dir a, b;
    carat_error err;
    char path[MOST];
    assert_int_equal(ct_os_new_dir_begin(&a, at(path, "busy"), &err), CARAT_OK);
    put("busy/mine");
    assert_int_equal(ct_os_new_dir_begin(&b, path, &err), CARAT_E_BUSY);
    assert_non_null(strstr(err.message, "busy: another process is making it"));
    ct_os_new_dir_abandon(&b);
    assert_true(exists("busy/mine"));
    ct_os_new_dir_abandon(&a);
    assert_false(exists("busy"));
    assert_int_equal(ct_os_new_dir_begin(&b, path, &err), CARAT_OK);
    ct_os_new_dir_abandon(&b);
}

static bool is_link(const char *name)
{
    char path[MOST];
    struct stat st;
    return lstat(at(path, name), &st) == 0 && S_ISLNK(st.st_mode);
}

/* What a directory lacks is seen through links, which are never given. */
static void files_go_to_another(void **state)
{
    (void)state;
    struct ct_os_new_dir d;
    carat_error err;
    char path[MOST], old[MOST], new[MOST];
    put("old/large");
    put("old/text");
    put("old/folder/inner");
    assert_int_equal(ct_os_new_dir_begin(&d, at(new, "new"), &err), CARAT_OK);
    write_file(at(path, "new/text"), "yy", 2);
    assert_int_equal(ct_os_new_dir_borrow(&d, at(old, "old"), &err), CARAT_OK);
    assert_true(is_link("new/large") && is_link("new/folder") && exists("new/folder/inner"));
    assert_false(is_link("new/text"));
    assert_int_equal(ct_os_new_dir_give(&d, old, &err), CARAT_OK);
    assert_false(exists("new"));
    assert_true(exists("old/large") && exists("old/folder/inner") && !is_link("old/large"));
    struct stat st;
    assert_int_equal(stat(at(path, "old/text"), &st), 0);
    assert_int_equal(st.st_size, 2);

    assert_int_equal(ct_os_new_dir_begin(&d, at(new, "new"), &err), CARAT_OK);
    assert_int_equal(ct_os_new_dir_borrow(&d, at(path, "nowhere"), &err), CARAT_E_IO);
    put("new/text");
    assert_int_equal(ct_os_new_dir_give(&d, path, &err), CARAT_E_IO);
    assert_non_null(strstr(err.message, "nowhere: cannot be written"));
    assert_false(exists("new"));
}

static void what_was_left_is_removed(void **state)
{
    (void)state;
    struct ct_os_new_dir d;
    carat_error err;
    char path[MOST], link[MOST];
    put("left/one");
    put("left/two/three");
    put("elsewhere/kept");
    assert_int_equal(symlink(at(path, "elsewhere"), at(link, "left/link")), 0);
    assert_int_equal(ct_os_new_dir_begin(&d, at(path, "left"), &err), CARAT_OK);
    assert_false(exists("left/one") || exists("left/two") || exists("left/link"));
    assert_true(exists("elsewhere/kept"));
    ct_os_new_dir_abandon(&d);
    put("left/a/b/deeper"); /* which no directory of a model has */
    assert_int_equal(ct_os_new_dir_begin(&d, path, &err), CARAT_E_IO);
    assert_non_null(strstr(err.message, "left: what is left there cannot be removed"));
    assert_true(exists("left/a/b/deeper"));
}

static void what_fails_is_gone(void **state)
{
    (void)state;
    struct ct_os_new_dir d;
    carat_error err;
    char path[MOST], name[MOST];
    assert_int_equal(ct_os_new_dir_begin(&d, at(path, "nowhere/x"), &err), CARAT_E_IO);
    assert_int_equal(ct_os_new_dir_begin(&d, at(path, "file"), &err), CARAT_E_IO);
    /* somebody has put files there meanwhile */
    assert_int_equal(ct_os_new_dir_begin(&d, at(path, "late"), &err), CARAT_OK);
    put("late/one");
    assert_int_equal(ct_os_new_dir_finish(&d, at(name, "full"), &err), CARAT_E_IO);
    assert_non_null(strstr(err.message, "full: cannot be written"));
    assert_false(exists("late"));
    assert_true(exists("full/.hidden"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places),
        cmocka_unit_test(it_appears_whole),
        cmocka_unit_test(one_makes_it_at_a_time),
        cmocka_unit_test(files_go_to_another),
        cmocka_unit_test(what_was_left_is_removed),
        cmocka_unit_test(what_fails_is_gone),
    };
    return cmocka_run_group_tests(tests, make_scratch, drop_scratch);
}

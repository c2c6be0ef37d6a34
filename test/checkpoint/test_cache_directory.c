/* SPDX-License-Identifier: Apache-2.0 */
/* test_cache_directory.c: which directories serve as a cache of packed models: one's own, that nobody else
 * may write to; one that cannot be written is read. */
#include "cache_util.h"

#include <sys/wait.h>

static void leaves_out(const char *path, const char *cache, const char *words)
{
    carat_model_options o = cached();
    o.cache = cache;
    struct opened m = open_by(path, o);
    assert_int_equal(m.status, CARAT_OK);
    cut_line(&m.lines, words);
    assert_string_equal(m.lines.text, "");
    assert_int_equal(m.setup.packed, 0);
    close_opened(&m);
}

static void only_ones_own_directory_is_used(void **state)
{
    (void)state;
    const char *path = small(0), *cache = cache_dir();
    char deep[PATH_SIZE], long_path[3 * PATH_SIZE];

    opens(path, MADE, in);
    assert_int_equal(status_of(cache).st_mode & 07777, 0700);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(chmod(cache, i ? 0702 : 0770), 0);
        leaves_out(path, cache, "the cache is not used, because others may write to it");
    }
    assert_int_equal(chmod(cache, 0755), 0);
    opens(path, MAPPED, NULL);
    if (geteuid() == 0) {
        assert_int_equal(chown(cache, 12345, 12345), 0);
        leaves_out(path, cache, "the cache is not used, because it belongs to another user");
        assert_int_equal(chown(cache, 0, 0), 0);
    }
    opens(path, MAPPED, NULL);
    assert_int_equal(count_files("", NULL), 2);

    fresh_cache(NULL);
    strcpy(deep, cache);
    write_file(deep, "x", 1);
    leaves_out(path, cache, "the cache is not used, because it is not a directory");
    leaves_out(path, path_join(deep, cache, "below"), "the cache is not used, because it cannot be made");
    assert_int_equal(unlink(cache), 0);
    assert_int_equal(symlink("nowhere", cache), 0);
    leaves_out(path, cache, "the cache is not used, because it cannot be made");
    assert_int_equal(unlink(cache), 0);
    leaves_out(path, "", "the cache is not used, because it cannot be made");
    memset(long_path, 'a', sizeof long_path);
    long_path[0] = '/';
    long_path[sizeof long_path - 1] = 0;
    leaves_out(path, long_path, "the cache is not used, because it cannot be made");

    path_join(deep, cache, "a/b//c/"); /* parents are made, and a link to a directory is one */
    carat_model_options o = cached();
    o.cache = deep;
    struct opened m = open_by(path, o);
    assert_int_equal(m.setup.made, 1);
    close_opened(&m);
    assert_int_equal(status_of(deep).st_mode & 07777, 0700);
    o.cache = path_join((char[PATH_SIZE]){0}, scratch, "link");
    assert_int_equal(symlink(deep, o.cache), 0);
    m = open_by(path, o);
    assert_int_equal(m.setup.packed && !m.setup.made, 1);
    close_opened(&m);
}

/* In a child that is nobody special; the directory is its own and may not be written. */
static void as_nobody(void (*what)(const char *path), const char *path)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (geteuid() == 0 && (setegid(65534) != 0 || seteuid(65534) != 0))
            _exit(77);
        what(path);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("the child ended with status %x", (unsigned)status);
}

/* In a child assertions cannot report. */
#define HOLDS(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            print_error("line %d: not so: %s\n", __LINE__, #condition);                                      \
            _exit(1);                                                                                        \
        }                                                                                                    \
    } while (0)

static void try_read_only(const char *path)
{
    char packed[PATH_SIZE], stamp[PATH_SIZE];
    struct opened m;

    HOLDS(mkdir(cache_dir(), 0500) == 0);
    m = open_by(path, cached());
    HOLDS(!m.status && !m.setup.packed && strstr(m.lines.text, "cannot be written"));
    close_opened(&m);
    HOLDS(chmod(cache_dir(), 0700) == 0);
    m = open_by(path, cached());
    HOLDS(!m.status && m.setup.made);
    close_opened(&m);
    HOLDS(count_files(".carat", packed) == 1 && count_files(".used", stamp) == 1);
    for (int i = 0; i < 3; i++) { /* used, without a stamp, damaged */
        HOLDS(chmod(cache_dir(), 0700) == 0);
        HOLDS(i != 1 || unlink(stamp) == 0);
        if (i == 2)
            damage(packed);
        HOLDS(chmod(cache_dir(), 0500) == 0);
        m = open_by(path, cached());
        HOLDS(!m.status && m.setup.packed == (i < 2) && !m.setup.made);
        HOLDS(i == 2 ? strstr(m.lines.text, "cannot be written") != NULL : !*m.lines.text);
        close_opened(&m);
    }
    HOLDS(chmod(packed, 0) == 0); /* not even to be read */
    m = open_by(path, cached());
    HOLDS(!m.status && !m.setup.packed && strstr(m.lines.text, "cannot be written"));
    close_opened(&m);
    HOLDS(chmod(cache_dir(), 0700) == 0);
    m = open_by(path, cached());
    HOLDS(!m.status && m.setup.made && strstr(m.lines.text, "; the copy there was unreadable: "));
    close_opened(&m);

    HOLDS(chmod(cache_dir(), 0) == 0);
    m = open_by(path, cached());
    HOLDS(!m.status && !m.setup.packed && *m.lines.text);
    close_opened(&m);
    HOLDS(chmod(cache_dir(), 0700) == 0);
}

static void a_directory_that_cannot_be_written_is_read(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    copy_file(path_join(path, scratch, "model.gguf"), CT_TEST_DATA "/sbs/g3-sfp.sbs");
    assert_int_equal(chmod(scratch, 0777), 0);
    assert_int_equal(chmod(path, 0644), 0);
    as_nobody(try_read_only, path);
    assert_int_equal(chmod(scratch, 0700), 0);
}

static void try_unreadable(const char *path)
{
    carat_model_options plain;
    carat_model_options_default(&plain);
    char copy[PATH_SIZE];
    struct opened a, b;

    path_join(copy, scratch, "mine.gguf");
    copy_file(copy, path);
    b = open_by(copy, cached());
    HOLDS(b.setup.made);
    close_opened(&b);
    HOLDS(chmod(copy, 0) == 0);
    a = open_by(copy, plain);
    b = open_by(copy, cached());
    HOLDS(a.status == CARAT_E_IO && b.status == a.status && strcmp(a.err.message, b.err.message) == 0);
    HOLDS(chmod(copy, 0600) == 0);
    b = open_by(copy, cached());
    HOLDS(b.setup.made); /* changed, for all that can be told */
    close_opened(&b);
}

static void a_model_that_cannot_be_read_is_not_in_the_cache_either(void **state)
{
    (void)state;
    assert_int_equal(chmod(scratch, 0777), 0);
    as_nobody(try_unreadable, CT_TEST_DATA "/sbs/g3-sfp.sbs");
    assert_int_equal(chmod(scratch, 0700), 0);
}

/* What carat_cache_look says of the cache. */
static carat_cache_info look(const char *dir)
{
    carat_cache_info info;
    carat_cache_info_default(&info);
    OK(carat_cache_look(dir, &info, err));
    assert_int_equal(info.size, sizeof info);
    assert_true(info.limit == (uint64_t)4 << 30 && info.disk_reserve == 0.2);
    return info;
}

static void looking_tells_the_rules(void **state)
{
    (void)state;
    char below[PATH_SIZE];
    carat_cache_info info = look(NULL);
    assert_string_equal(info.note, "");
    FAILS(CARAT_E_ARGUMENT, carat_cache_look(cache_dir(), NULL, err));

    info = look(path_join(below, cache_dir(), "a/b/c/"));
    assert_true(!info.exists && !info.usable && info.writable && info.disk > info.disk_free);
    assert_string_equal(info.note, "can be made");
    assert_int_equal(count_files("", NULL), 0); /* nothing is made */
    opens(small(0), MADE, in);
    info = look(cache_dir());
    assert_true(info.exists && info.usable && info.writable && info.disk > info.disk_free);
    assert_string_equal(info.note, "exists");
    assert_int_equal(chmod(cache_dir(), 0702), 0);
    info = look(cache_dir());
    assert_true(info.exists && !info.usable && !info.writable);
    assert_string_equal(info.note, "others may write to it");
    assert_int_equal(chmod(cache_dir(), 0700), 0);
    path_join(below, cache_dir(), "file");
    write_file(below, "x", 1);
    info = look(below);
    assert_true(info.exists && !info.usable && !info.writable);
    assert_string_equal(info.note, "is not a directory");
    info = look(strcat(below, "/c"));
    assert_true(!info.exists && !info.writable);
    assert_string_equal(info.note, "cannot be made");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(only_ones_own_directory_is_used, fresh_cache),
        cmocka_unit_test_setup(looking_tells_the_rules, fresh_cache),
        cmocka_unit_test_setup(a_directory_that_cannot_be_written_is_read, fresh_cache),
        cmocka_unit_test_setup(a_model_that_cannot_be_read_is_not_in_the_cache_either, fresh_cache),
    };
    return MAIN(tests);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_new_file.c: what new_file.c writes: directories of one's own, files that appear whole under their name
 * and are locked until then, small files. What becomes of it when processes are killed is
 * test/checkpoint/test_cache_faults.c's. */
#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <time.h>

#include "os/files.h"
#include "os/new_file.h"

enum { MOST = 512 };

static const char *at(char path[MOST], const char *name)
{
    snprintf(path, MOST, "%s/%s", scratch, name);
    return path;
}

static const char *put(char path[MOST], const char *name, const char *text)
{
    at(path, name);
    write_file(path, text, strlen(text));
    return path;
}

static bool has(const char *path, const char *text)
{
    char found[MOST] = "";
    return ct_os_get(path, found, sizeof found) == strlen(text) && strcmp(found, text) == 0;
}

static bool exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

/* ---- reading the head ---- */

struct sum {
    uint64_t n, value;
};

static void add(void *user, const void *p, size_t n)
{
    struct sum *s = user;
    for (size_t i = 0; i < n; i++)
        s->value = s->value * 31 + ((const uint8_t *)p)[i];
    s->n += n;
}

static void a_head_is_read_whole_or_not(void **state)
{
    (void)state;
    enum { SIZE = 100000 };
    char path[MOST], *text = malloc(SIZE + 1);
    for (int i = 0; i < SIZE; i++)
        text[i] = (char)('a' + i % 23);
    text[SIZE] = 0;
    put(path, "head", text);
    static const size_t sizes[] = {0, 1, 2, 32767, 32768, 32769, 65536, SIZE - 1, SIZE};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t n = sizes[i];
        struct sum found = {0}, expected = {0};
        add(&expected, text, n);
        assert_true(ct_os_read_head(path, n, add, &found));
        assert_int_equal(found.n, n);
        assert_int_equal(found.value, expected.value);
    }
    struct sum sum = {0};
    assert_false(ct_os_read_head(path, SIZE + 1, add, &sum));
    assert_false(ct_os_read_head(at(path, "nothing"), 1, add, &sum));
    assert_false(ct_os_read_head(at(path, "nothing"), 0, add, &sum));
    assert_false(ct_os_read_head(scratch, 1, add, &sum));
    assert_int_equal(mkfifo(at(path, "fifo"), 0600), 0); /* and does not wait */
    assert_false(ct_os_read_head(path, 1, add, &sum));
    free(text);
}

/* ---- what is one's own ---- */

static void refuses(const char *dir, bool make, const char *reason)
{
    const char *why = NULL;
    bool writable = true;
    assert_false(ct_os_own_directory(dir, make, &writable, &why));
    assert_string_equal(why, reason);
}

static void a_directory_is_made_or_refused(void **state)
{
    (void)state;
    const char *why;
    char dir[MOST], file[MOST];
    bool writable = false;
    struct stat st;

    refuses(at(dir, "own/a/b"), false, "it is not there");
    assert_false(exists(at(file, "own")));
    mode_t mask = umask(0);
    assert_true(ct_os_own_directory(dir, true, &writable, &why));
    umask(mask);
    assert_true(writable);
    assert_null(why);
    static const char *const made[] = {"own", "own/a", "own/a/b"};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        assert_int_equal(stat(at(file, made[i]), &st), 0);
        assert_int_equal(st.st_mode & 07777, 0700);
    }
    assert_true(ct_os_own_directory(dir, false, &writable, &why));
    assert_int_equal(chmod(dir, 0770), 0);
    refuses(dir, true, "others may write to it");
    assert_int_equal(chmod(dir, 0707), 0);
    refuses(dir, true, "others may write to it");
    assert_int_equal(chmod(dir, 0755), 0);
    assert_true(ct_os_own_directory(dir, true, &writable, &why));
    put(file, "file", "x");
    refuses(file, true, "it is not a directory");
    refuses(at(dir, "file/below"), true, "it cannot be made");
    refuses("", true, "it cannot be made");
    if (geteuid() != 0)
        refuses("/", true, "it belongs to another user");
}

static void a_file_of_ones_own(void **state)
{
    (void)state;
    char path[MOST], link[MOST];

    assert_false(ct_os_own_file(at(path, "none")));
    assert_true(ct_os_replaceable(path));
    assert_int_equal(chmod(put(path, "mine", "x"), 0644), 0);
    assert_true(ct_os_own_file(path));
    assert_true(ct_os_replaceable(path));
    assert_int_equal(symlink("mine", at(link, "link")), 0);
    assert_false(ct_os_own_file(link));
    assert_true(ct_os_replaceable(link));
    assert_int_equal(chmod(path, 0664), 0);
    assert_false(ct_os_own_file(path));
    assert_int_equal(chmod(path, 0646), 0);
    assert_false(ct_os_own_file(path));
    assert_false(ct_os_own_file(scratch));
    assert_false(ct_os_replaceable(scratch));
    assert_false(ct_os_own_file("/dev/null"));
    assert_false(ct_os_replaceable("/dev/null"));
}

static void a_disk_has_room(void **state)
{
    (void)state;
    uint64_t total = 0, left = 0;
    char path[MOST];
    assert_true(ct_os_disk(scratch, &total, &left));
    assert_true(total > 0 && left <= total);
    struct statvfs before, after;
    do { /* until nobody wrote meanwhile: used and free make the whole, what is reserved is neither */
        assert_int_equal(statvfs(scratch, &before), 0);
        assert_true(ct_os_disk(scratch, &total, &left));
        assert_int_equal(statvfs(scratch, &after), 0);
    } while (before.f_bfree != after.f_bfree || before.f_bavail != after.f_bavail);
    assert_int_equal(total - left, (before.f_blocks - before.f_bfree) * before.f_frsize);
    assert_false(ct_os_disk(at(path, "nothing"), &total, &left));
}

/* ---- a file that appears whole ---- */

static void begin(struct ct_os_new *n, const char *path)
{
    carat_error err = {0};
    if (ct_os_new_begin(n, path, 0600, &err) != CARAT_OK)
        fail_msg("%s", err.message);
}

static void a_file_appears_whole(void **state)
{
    (void)state;
    struct ct_os_new n;
    struct ct_os_id id;
    char part[MOST], name[MOST];
    struct stat st;
    struct timespec now;

    begin(&n, at(part, "new.part"));
    put(name, "new", "old");
    assert_int_equal(ct_os_new_size(&n, 10000, NULL), CARAT_OK);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(n.base[i], 0);
    memcpy(n.base, "hello", 5);
    ct_os_new_written(&n);
    assert_null(n.base);
    assert_true(has(name, "old"));
    assert_int_equal(ct_os_new_finish(&n, name, &id, NULL), CARAT_OK);
    assert_int_equal(n.fd, -1);
    assert_false(exists(part));
    assert_int_equal(stat(name, &st), 0);
    assert_int_equal(st.st_size, 10000);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(id.inode, st.st_ino);
    assert_int_equal(id.changed, (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec);
    clock_gettime(CLOCK_REALTIME, &now);
    assert_true(st.st_mtim.tv_sec < now.tv_sec && st.st_mtim.tv_sec > now.tv_sec - 100);
    assert_true(st.st_ctim.tv_sec > st.st_mtim.tv_sec ||
                (st.st_ctim.tv_sec == st.st_mtim.tv_sec && st.st_ctim.tv_nsec > st.st_mtim.tv_nsec));
    char head[6] = "";
    assert_int_equal(ct_os_get(name, head, 5), 5);
    assert_string_equal(head, "hello");
    assert_false(ct_os_new_held(name)); /* nobody holds it any more */
    begin(&n, part);
    ct_os_new_abandon(&n);
    assert_false(exists(part));
    ct_os_new_abandon(&n); /* once more does no harm */
}

static void one_makes_it_at_a_time(void **state)
{
    (void)state;
    struct ct_os_new one, other;
    struct ct_os_id id;
    carat_error err = {0};
    char part[MOST], name[MOST];

    assert_false(ct_os_new_held(at(part, "busy.part")));
    begin(&one, part);
    assert_true(ct_os_new_held(part));
    assert_int_equal(ct_os_new_begin(&other, part, 0600, &err), CARAT_E_BUSY);
    assert_non_null(strstr(err.message, part));
    assert_int_equal(other.fd, -1);
    ct_os_new_abandon(&other);
    assert_true(exists(part));
    assert_int_equal(ct_os_new_size(&one, 10, NULL), CARAT_OK);
    assert_int_equal(ct_os_new_finish(&one, at(name, "busy"), &id, NULL), CARAT_OK);
    begin(&other, part); /* the one with the lock has gone away under its other name */
    assert_true(exists(name));
    ct_os_new_abandon(&other);
}

/* A process that dies leaves a file that nobody holds. */
static void what_was_left_is_emptied(void **state)
{
    (void)state;
    struct ct_os_new n;
    char part[MOST];
    struct stat st;

    put(part, "left.part", "much that was written before");
    assert_false(ct_os_new_held(part));
    begin(&n, part);
    assert_int_equal(stat(part, &st), 0);
    assert_int_equal(st.st_size, 0);
    assert_int_equal(ct_os_new_size(&n, 3, NULL), CARAT_OK);
    assert_memory_equal(n.base, "\0\0\0", 3);
    ct_os_new_abandon(&n);
}

/* Somebody clears the directory, and somebody else begins the same file. */
static void what_others_began_is_left_alone(void **state)
{
    (void)state;
    struct ct_os_new n;
    struct ct_os_id id;
    carat_error err = {0};
    char part[MOST], name[MOST];

    for (int i = 0; i < 3; i++) {
        begin(&n, at(part, "cleared.part"));
        assert_int_equal(ct_os_new_size(&n, 10, NULL), CARAT_OK);
        assert_int_equal(unlink(part), 0);
        if (i)
            put(part, "cleared.part", "another's");
        if (i < 2) {
            assert_int_equal(ct_os_new_finish(&n, at(name, "cleared"), &id, &err), CARAT_E_IO);
            assert_non_null(strstr(err.message, "removed meanwhile"));
        }
        ct_os_new_abandon(&n);
        assert_false(exists(at(name, "cleared")));
        assert_int_equal(has(part, "another's"), i > 0);
    }
}

static void what_cannot_be_made_says_why(void **state)
{
    (void)state;
    struct ct_os_new n;
    struct ct_os_id id;
    carat_error err = {0};
    char path[MOST], other[MOST];

    assert_int_equal(ct_os_new_begin(&n, at(path, "no/where"), 0600, &err), CARAT_E_IO);
    assert_non_null(strstr(err.message, "No such file"));
    assert_int_equal(ct_os_new_begin(&n, scratch, 0600, &err), CARAT_E_IO);
    put(other, "other", "mine");
    assert_int_equal(symlink("other", at(path, "symbolic")), 0);
    assert_int_equal(ct_os_new_begin(&n, path, 0600, &err), CARAT_E_IO);
    assert_true(has(other, "mine"));
    ct_os_new_abandon(&n);
    assert_true(exists(path));

    begin(&n, at(path, "huge.part"));
    assert_int_equal(ct_os_new_size(&n, (size_t)1 << 60, &err), CARAT_E_IO);
    assert_non_null(strstr(err.message, "there is no room for"));
    assert_null(n.base);
    ct_os_new_abandon(&n);
    assert_false(exists(path));

    begin(&n, path); /* a directory lies where it should go */
    assert_int_equal(ct_os_new_size(&n, 3, NULL), CARAT_OK);
    assert_int_equal(mkdir(at(other, "taken"), 0700), 0);
    assert_int_equal(ct_os_new_finish(&n, other, &id, &err), CARAT_E_IO);
    assert_int_equal(n.fd, -1);
    assert_false(exists(path));
}

static void modes_are_as_asked(void **state)
{
    (void)state;
    struct ct_os_new n;
    char path[MOST];
    struct stat st;
    mode_t mask = umask(022);

    assert_int_equal(ct_os_new_begin(&n, at(path, "mode"), 0666, NULL), CARAT_OK);
    umask(mask);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0644);
    ct_os_new_abandon(&n);
}

/* ---- small files ---- */

static void small_files(void **state)
{
    (void)state;
    char path[MOST], other[MOST], found[4];
    struct stat st;

    assert_int_equal(ct_os_get(at(path, "small"), found, sizeof found), 0);
    assert_true(ct_os_put(path, "abc", 3));
    assert_true(has(path, "abc"));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_true(ct_os_put(path, "defghi", 6));
    assert_int_equal(ct_os_get(path, found, sizeof found), 4);
    assert_memory_equal(found, "defg", 4);
    utimensat(AT_FDCWD, path, (struct timespec[2]){{.tv_sec = 5}, {.tv_sec = 5}}, 0);
    ct_os_touch(path);
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_mtim.tv_sec > 5);

    put(other, "linked", "mine"); /* links are replaced by what is put there, and not read */
    assert_int_equal(symlink("linked", at(path, "small-link")), 0);
    assert_int_equal(ct_os_get(path, found, sizeof found), 0);
    assert_true(ct_os_put(path, "x", 1));
    assert_true(has(path, "x"));
    assert_true(has(other, "mine"));
    assert_true(ct_os_remove(path));
    assert_false(ct_os_remove(path));
    assert_false(ct_os_put(at(path, "no/where"), "x", 1));
    assert_false(ct_os_put(scratch, "x", 1));
}

static void count(void *user, const char *name)
{
    assert_true(strcmp(name, ".") != 0 && strcmp(name, "..") != 0);
    ++*(int *)user;
}

static void names_of_a_directory(void **state)
{
    (void)state;
    char path[MOST];
    int n = 0;

    put(path, "names/a", "");
    put(path, "names/.b", "");
    ct_os_names_in(at(path, "names"), count, &n);
    assert_int_equal(n, 2);
    ct_os_names_in(at(path, "names/a"), count, &n);
    ct_os_names_in(at(path, "nothing"), count, &n);
    assert_int_equal(n, 2);
}

static void absolute_paths(void **state)
{
    (void)state;
    char here[MOST], expected[2 * MOST], found[2 * MOST];
    int back = open(".", O_RDONLY | O_DIRECTORY);
    static const char *const names[][2] = {
        {"a/b", "a/b"}, {"./a", "a"}, {"././a", "a"}, {"../a", "../a"}, {".a", ".a"}};

    assert_int_equal(chdir(scratch), 0);
    assert_non_null(getcwd(here, sizeof here));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(expected, sizeof expected, "%s/%s", here, names[i][1]);
        ct_os_absolute(found, sizeof found, names[i][0]);
        assert_string_equal(found, expected);
    }
    ct_os_absolute(found, sizeof found, "/a/./b");
    assert_string_equal(found, "/a/./b");
    ct_os_absolute(found, 5, "abc"); /* too long */
    assert_string_equal(found, "abc");
    assert_int_equal(chdir("/"), 0);
    ct_os_absolute(found, sizeof found, "a");
    assert_string_equal(found, "/a");
    assert_int_equal(fchdir(back), 0);
    close(back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_head_is_read_whole_or_not),
        cmocka_unit_test(a_directory_is_made_or_refused),
        cmocka_unit_test(a_file_of_ones_own),
        cmocka_unit_test(a_disk_has_room),
        cmocka_unit_test(a_file_appears_whole),
        cmocka_unit_test(one_makes_it_at_a_time),
        cmocka_unit_test(what_was_left_is_emptied),
        cmocka_unit_test(what_others_began_is_left_alone),
        cmocka_unit_test(what_cannot_be_made_says_why),
        cmocka_unit_test(modes_are_as_asked),
        cmocka_unit_test(small_files),
        cmocka_unit_test(names_of_a_directory),
        cmocka_unit_test(absolute_paths),
    };
    return cmocka_run_group_tests(tests, make_scratch, drop_scratch);
}

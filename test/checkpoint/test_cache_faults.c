/* SPDX-License-Identifier: Apache-2.0 */
/* test_cache_faults.c: the cache of packed models when it has company and bad luck: processes that start
 * together, one that is killed at any call into the system, one that sleeps, a system that refuses any call.
 * The linker's --wrap puts this program between the library and the C library (cmake/tests.cmake lists
 * the names). */
#include "cache_util.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* ---- between the library and the system ---- */

enum { NEVER = -1 };
static atomic_long steps;
static atomic_long fault_at = NEVER; /* number of the call that does not go well, from 0 */
static atomic_int fault;             /* SIGKILL, or 0: the call is refused */

/* True when this call is to be refused. */
static bool step(int number)
{
    if (atomic_fetch_add(&steps, 1) != atomic_load(&fault_at))
        return false;
    if (atomic_load(&fault))
        kill(getpid(), atomic_load(&fault));
    errno = number;
    return !atomic_load(&fault);
}

#define WRAP(type, name, parameters, arguments, number)                                                      \
    type __real_##name parameters;                                                                           \
    type __wrap_##name parameters;                                                                           \
    type __wrap_##name parameters                                                                            \
    {                                                                                                        \
        return step(number) ? -1 : __real_##name arguments;                                                  \
    }

/* What happens once: between a file's opening and its lock; before a file is removed. */
static void (*before_lock)(void), (*before_unlink)(void);

int __real_unlink(const char *path);
int __wrap_unlink(const char *path);
int __wrap_unlink(const char *path)
{
    void (*now)(void) = before_unlink;
    before_unlink = NULL;
    if (now)
        now();
    return step(EROFS) ? -1 : __real_unlink(path);
}

int __real_flock(int fd, int what);
int __wrap_flock(int fd, int what);
int __wrap_flock(int fd, int what)
{
    void (*now)(void) = before_lock;
    before_lock = NULL;
    if (now)
        now();
    return step(ENOLCK) ? -1 : __real_flock(fd, what);
}

WRAP(int, fsync, (int fd), (fd), EIO)
WRAP(int, ftruncate, (int fd, off_t size), (fd, size), EIO)
WRAP(int, futimens, (int fd, const struct timespec *times), (fd, times), EROFS)
WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode), ENOSPC)
WRAP(int, rename, (const char *from, const char *to), (from, to), EIO)
WRAP(int, utimensat, (int dir, const char *path, const struct timespec *times, int flags),
     (dir, path, times, flags), EROFS)
WRAP(ssize_t, write, (int fd, const void *data, size_t n), (fd, data, n), ENOSPC)

int __real_posix_fallocate(int fd, off_t at, off_t n);
int __wrap_posix_fallocate(int fd, off_t at, off_t n);
int __wrap_posix_fallocate(int fd, off_t at, off_t n)
{
    return step(0) ? ENOSPC : __real_posix_fallocate(fd, at, n);
}

/* Of files only, which are read or written there. */
void *__real_mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
    return fd >= 0 && step(ENODEV) ? MAP_FAILED : __real_mmap(at, n, protection, flags, fd, offset);
}

int __real_munmap(void *p, size_t n);
int __wrap_munmap(void *p, size_t n);
int __wrap_munmap(void *p, size_t n)
{
    if (atomic_load(&fault))
        step(0); /* it cannot be refused */
    return __real_munmap(p, n);
}

int __real_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg)
{
    return step(0) ? EAGAIN : __real_pthread_create(t, a, fn, arg);
}

/* A clock that sleeping turns; at the third sleep something happens. */
static atomic_bool turned;
static atomic_long slept; /* tenths of a second each */
static void (*at_third_sleep)(void);

int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    int status = __real_clock_gettime(clock, t);
    t->tv_sec += atomic_load(&slept) / 10;
    return status;
}

int __real_nanosleep(const struct timespec *t, struct timespec *left);
int __wrap_nanosleep(const struct timespec *t, struct timespec *left);
int __wrap_nanosleep(const struct timespec *t, struct timespec *left)
{
    if (!atomic_load(&turned))
        return __real_nanosleep(t, left);
    if (atomic_fetch_add(&slept, 1) == 2 && at_third_sleep)
        at_third_sleep();
    return 0;
}

static int quiet_system(void **state)
{
    atomic_store(&fault_at, NEVER);
    atomic_store(&turned, false);
    atomic_store(&slept, 0);
    at_third_sleep = NULL;
    return fresh_cache(state);
}

/* ---- models ---- */

static const char *second(void)
{
    static char path[PATH_SIZE];
    copy_file(path_join(path, scratch, "second.sbs"), CT_TEST_DATA "/sbs/v1/g2-bf16.sbs");
    return path;
}

static char *plain_facts(const char *path)
{
    struct opened m = open_with(path, NULL);
    char *facts = facts_of(m.model, ONE_ENGINE);
    close_opened(&m);
    return facts;
}

static pid_t start(void (*what)(const void *arg), const void *arg)
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        what(arg);
        _exit(0);
    }
    return pid;
}

static int finish(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

/* ---- killed ---- */

static int step_too(void *user, size_t done, size_t total)
{
    (void)user;
    (void)done;
    (void)total;
    step(0);
    return 0;
}

static uint64_t cap; /* of the cache; 0: its default */

static void open_until_killed(const void *path)
{
    carat_model_options o = cached();
    o.cache_bytes = cap;
    o.progress = step_too;
    atomic_store(&steps, 0);
    struct opened m = open_by(path, o);
    if (m.status)
        _exit(1);
    close_opened(&m);
}

/* What the killed process found; n: the number of its files afterwards. */
static void prepare(int what, const char *path, const char *other)
{
    char packed[PATH_SIZE];

    fresh_cache(NULL);
    cap = 0;
    if (what == 0)
        return;
    opens(what == 1 ? path : other, MADE, in);
    assert_int_equal(count_files(".carat", packed), 1);
    if (what == 1)
        damage(packed);
    else /* another one that has to leave */
        cap = 256 << 10;
}

static void a_kill_at_any_moment_is_repaired(void **state)
{
    (void)state;
    const char *path = small(0), *other = second();
    char *facts = plain_facts(path);

    for (int what = 0; what < 3; what++) {
        int status = 1, made = 0;
        for (long n = 0; status; n++) {
            prepare(what, path, other);
            atomic_store(&fault, SIGKILL);
            atomic_store(&fault_at, n);
            pid_t pid = start(open_until_killed, path);
            atomic_store(&fault_at, NEVER);
            status = finish(pid);
            if (status && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
                fail_msg("killed at call %ld it ended with status %x", n, (unsigned)status);
            carat_model_options o = cached();
            o.cache_bytes = cap;
            struct opened m = open_by(path, o);
            assert_int_equal(m.status, CARAT_OK);
            assert_int_equal(m.setup.packed, 1);
            if (m.setup.made)
                cut_line(&m.lines, in);
            assert_string_equal(m.lines.text, "");
            check_facts(m.model, ONE_ENGINE, facts);
            made += m.setup.made;
            close_opened(&m);
            assert_int_equal(count_files("", NULL), 2); /* the file and its stamp */
            m = open_by(path, o);
            assert_int_equal(m.setup.packed && !m.setup.made, 1);
            assert_string_equal(m.lines.text, "");
            close_opened(&m);
        }
        assert_true(made > 20);
    }
    free(facts);
}

/* ---- refused ---- */

static void a_refusal_of_the_system_costs_the_cache_at_most(void **state)
{
    (void)state;
    const char *path = small(0);
    char *facts = plain_facts(path);

    atomic_store(&fault, 0);
    for (int what = 0; what < 2; what++) {
        long n = 0;
        for (bool done = false; !done; n++) {
            prepare(what, path, path);
            atomic_store(&steps, 0);
            atomic_store(&fault_at, n);
            struct opened m = open_by(path, cached());
            if (m.status) { /* the model itself could not be mapped, or no thread be had */
                assert_true(m.status == CARAT_E_IO || m.status == CARAT_E_MEMORY);
            } else {
                char *end = strchr(m.lines.text, '\n');
                assert_true(!end || !end[1]); /* one line at most */
                atomic_store(&fault_at, NEVER);
                check_facts(m.model, ONE_ENGINE, facts);
                if (atomic_load(&steps) <= n)
                    atomic_store(&fault_at, n); /* it may come when the file gets its name */
            }
            close_opened(&m);
            done = atomic_load(&steps) <= n;
            atomic_store(&fault_at, NEVER);
            m = open_by(path, cached());
            assert_int_equal(m.status, CARAT_OK);
            assert_int_equal(m.setup.packed, 1);
            check_facts(m.model, ONE_ENGINE, facts);
            close_opened(&m);
            assert_int_equal(count_files("", NULL), 2);
            opens(path, MAPPED, NULL);
        }
        assert_true(n > 15);
    }
    free(facts);
}

/* ---- while what a head made is kept ---- */

static const char *pruned_model(void)
{
    static char path[PATH_SIZE];
    copy_file(path_join(path, scratch, "pruned.gguf"), CT_TEST_DATA "/vectors/gguf/q8_0.gguf");
    return path;
}

static void keep_until_killed(const void *path)
{
    struct opened m = open_by(path, cached());
    if (m.status)
        _exit(1);
    atomic_store(&steps, 0); /* from now on */
    pruned_engine(m.model, step_too);
    close_opened(&m);
}

/* Opens and computes as ever, and the cache is as it should be behind that. Whether the head was there. */
static int head_is_there(const char *path, const char *facts)
{
    struct opened m = open_by(path, cached());
    assert_int_equal(m.status, CARAT_OK);
    assert_int_equal(m.setup.packed && !m.setup.made, 1);
    cut_line(&m.lines, "the model has no tokenizer");
    assert_string_equal(m.lines.text, "");
    check_facts(m.model, ONE_ENGINE, facts);
    int there = pruned_engine(m.model, NULL);
    close_opened(&m);
    assert_int_equal(count_files("", NULL), 2);
    return there;
}

static void a_kill_while_a_head_is_kept_is_repaired(void **state)
{
    (void)state;
    const char *path = pruned_model();
    char *facts = plain_facts(path);
    int status = 1, without = 0;

    for (long n = 0; status; n++) {
        fresh_cache(NULL);
        opens(path, MADE, in);
        atomic_store(&steps, -1000); /* opening is not counted */
        atomic_store(&fault, SIGKILL);
        atomic_store(&fault_at, n);
        pid_t pid = start(keep_until_killed, path);
        atomic_store(&fault_at, NEVER);
        status = finish(pid);
        if (status && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
            fail_msg("killed at call %ld it ended with status %x", n, (unsigned)status);
        const int there = head_is_there(path, facts);
        assert_true(there || status);
        without += !there;
        assert_int_equal(head_is_there(path, facts), 1);
    }
    assert_true(without > 10);
    free(facts);
}

static void a_refusal_while_a_head_is_kept_costs_that_at_most(void **state)
{
    (void)state;
    const char *path = pruned_model();
    char *facts = plain_facts(path);
    int without = 0;
    bool done = false;

    atomic_store(&fault, 0);
    for (long n = 0; !done; n++) {
        fresh_cache(NULL);
        opens(path, MADE, in);
        struct opened m = open_by(path, cached());
        atomic_store(&steps, 0);
        atomic_store(&fault_at, n);
        pruned_engine(m.model, NULL);
        close_opened(&m);
        done = atomic_load(&steps) <= n;
        atomic_store(&fault_at, NEVER);
        const int there = head_is_there(path, facts);
        assert_true(there || !done);
        without += !there;
        assert_int_equal(head_is_there(path, facts), 1);
    }
    assert_true(without > 5);
    free(facts);
}

static void open_with_a_limit(const void *path)
{
    const struct rlimit limit = {16384, 16384};
    struct opened m;

    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        _exit(77);
    m = open_by(path, cached());
    _exit(m.status || m.setup.packed || !strstr(m.lines.text, "not kept packed: ") ||
          !strstr(m.lines.text, "File too large") || count_files("", NULL));
}

static void a_limit_on_files_is_kept(void **state)
{
    (void)state;
    assert_int_equal(finish(start(open_with_a_limit, small(0))), 0);
}

/* ---- company ---- */

enum { MANY = 8 };

struct crowd {
    const char *path[2];
    char *facts[2];
    int gate[2]; /* pipe whose end all wait for */
    int who;
    uint64_t cap;
};

/* Ends with 1 when it has made the file, 0 when not. */
static void join_in(const void *arg)
{
    const struct crowd *c = arg;
    carat_model_options o = cached();
    char byte;

    o.cache_bytes = c->cap;
    close(c->gate[1]);
    if (read(c->gate[0], &byte, 1) != 0)
        _exit(9);
    struct opened m = open_by(c->path[c->who], o);
    if (m.status || (!m.setup.packed && !c->cap))
        _exit(8);
    char *facts = facts_of(m.model, ONE_ENGINE);
    if (strcmp(facts, c->facts[c->who]) != 0)
        _exit(7);
    bool line = strstr(m.lines.text, "packed") != NULL, made = m.setup.made;
    if (line != (made || !m.setup.packed))
        _exit(6);
    free(facts);
    close_opened(&m);
    _exit(made);
}

/* Returns how many files were made. */
static int let_in(struct crowd *c, int n)
{
    pid_t pid[MANY];
    int made = 0;

    assert_int_equal(pipe(c->gate), 0);
    for (int i = 0; i < n; i++) {
        c->who = c->path[1] ? i % 2 : 0;
        pid[i] = start(join_in, c);
    }
    close(c->gate[0]);
    close(c->gate[1]);
    for (int i = 0; i < n; i++) {
        int status = finish(pid[i]);
        if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
            fail_msg("one of %d ended with status %x", n, (unsigned)status);
        made += WEXITSTATUS(status);
    }
    assert_int_equal(count_files(".part", NULL), 0);
    return made;
}

static void who_starts_together_packs_once(void **state)
{
    (void)state;
    struct crowd c = {.path = {small(0)}};

    c.facts[0] = plain_facts(c.path[0]);
    for (int round = 0; round < 4; round++) {
        fresh_cache(NULL);
        assert_int_equal(let_in(&c, round % 2 ? MANY : 2), 1);
        assert_int_equal(count_files("", NULL), 2);
        assert_int_equal(let_in(&c, MANY), 0);
    }
    free(c.facts[0]);
}

static void together_they_keep_the_cap(void **state)
{
    (void)state;
    struct crowd c = {.path = {small(0), second()}};
    char packed[PATH_SIZE];

    for (int i = 0; i < 2; i++) {
        fresh_cache(NULL);
        c.facts[i] = plain_facts(c.path[i]);
        opens(c.path[i], MADE, in);
        count_files(".carat", packed);
        c.cap += (uint64_t)status_of(packed).st_size;
    }
    c.cap -= 1; /* both do not fit */
    for (int round = 0; round < 6; round++) {
        fresh_cache(NULL);
        let_in(&c, 2 + round % 2 * 4);
        assert_true(count_files(".carat", NULL) <= 1);
    }
    for (int i = 0; i < 2; i++)
        free(c.facts[i]);
}

static void unfinished_goes(void)
{
    char part[PATH_SIZE];
    assert_int_equal(count_files(".part", part), 1);
    assert_int_equal(unlink(part), 0);
}

static void weights_change(void)
{
    char packed[PATH_SIZE];
    assert_int_equal(count_files(".carat", packed), 1);
    flip(packed, (size_t)status_of(packed).st_size / 2, 4);
}

/* The stamp is for the bytes that were read, not for what came since. */
static void a_change_after_the_check_is_found(void **state)
{
    (void)state;
    char stamp[PATH_SIZE];

    opens(small(0), MADE, in);
    assert_int_equal(count_files(".used", stamp), 1);
    assert_int_equal(unlink(stamp), 0);
    before_unlink = weights_change; /* the first thing when a stamp is put there */
    struct opened m = open_by(small(0), cached());
    assert_int_equal(m.setup.packed && !m.setup.made, 1);
    close_opened(&m);
    assert_null(before_unlink);
    opens(small(0), MADE, "; the copy there was damaged: ");
}

/* Who had the lock has given the file its name, or taken it back, when the next one gets it. */
static void a_lock_on_a_file_that_went_is_none(void **state)
{
    (void)state;
    before_lock = unfinished_goes;
    opens(small(0), MADE, in);
    assert_null(before_lock);
    assert_int_equal(count_files("", NULL), 2);
    opens(small(0), MAPPED, NULL);
}

/* ---- one that sleeps ---- */

static pid_t sleeper;

static int stop_while_packing(void *user, size_t done, size_t total)
{
    (void)user;
    if (total > 8 && done > 0) /* counted in KiB */
        raise(SIGSTOP);
    return 0;
}

static void pack_and_stop(const void *path)
{
    carat_model_options o = cached();
    o.progress = stop_while_packing;
    struct opened m = open_by(path, o);
    close_opened(&m);
}

static void begin_sleeper(const char *path)
{
    int status;
    sleeper = start(pack_and_stop, path);
    assert_int_equal(waitpid(sleeper, &status, WUNTRACED), sleeper);
    assert_true(WIFSTOPPED(status));
    atomic_store(&slept, 0);
    atomic_store(&turned, true);
}

static void end_sleeper(void)
{
    kill(sleeper, SIGKILL);
    finish(sleeper);
}

static int cancel_later(void *user, size_t done, size_t total)
{
    (void)user;
    (void)done;
    (void)total;
    return atomic_load(&slept) > 5;
}

static void nobody_waits_for_ever(void **state)
{
    (void)state;
    const char *path = small(0);
    char *facts = plain_facts(path);
    carat_model_options o = cached();

    begin_sleeper(path);
    struct opened m = open_by(path, o);
    assert_int_equal(m.status, CARAT_OK);
    assert_int_equal(m.setup.packed, 0);
    cut_line(&m.lines, "the model is not kept packed: ");
    assert_string_equal(m.lines.text, "");
    check_facts(m.model, ONE_ENGINE, facts);
    close_opened(&m);
    long waited = atomic_load(&slept);
    assert_true(waited >= 600 && waited <= 620); /* a minute */

    for (int i = 0; i < 3; i++) { /* these have nothing to wait for */
        o = cached();
        o.cache_read_only = i == 0;
        o.tokenizer_only = i == 1;
        o.tokenizer = i == 2 ? CT_TEST_DATA "/text/tokenizer.model" : NULL;
        m = open_by(path, o);
        assert_int_equal(m.setup.packed, 0);
        close_opened(&m);
        assert_int_equal(atomic_load(&slept), waited);
    }

    atomic_store(&slept, 0); /* who waits may be told to stop */
    o = cached();
    o.progress = cancel_later;
    m = open_by(path, o);
    assert_int_equal(m.status, CARAT_E_CANCELLED);
    assert_true(atomic_load(&slept) < 10);
    check_sentence(m.err.message);
    end_sleeper();
    atomic_store(&turned, false);
    assert_int_equal(count_files(".part", NULL), 1);
    opens(path, MADE, in);
    assert_int_equal(count_files("", NULL), 2);

    /* it dies while another one waits */
    fresh_cache(NULL);
    begin_sleeper(path);
    at_third_sleep = end_sleeper;
    m = open_by(path, cached());
    assert_int_equal(m.setup.made, 1);
    assert_true(atomic_load(&slept) >= 3 && atomic_load(&slept) < 100);
    check_facts(m.model, ONE_ENGINE, facts);
    close_opened(&m);
    free(facts);
}

static void go_on(void)
{
    kill(sleeper, SIGCONT);
    int status;
    /* every report stops it again */
    while (waitpid(sleeper, &status, WUNTRACED) == sleeper && WIFSTOPPED(status))
        kill(sleeper, SIGCONT);
}

/* It wakes up and is done before the other one has lost patience. */
static void who_waited_maps_what_was_made(void **state)
{
    (void)state;
    const char *path = small(0);

    begin_sleeper(path);
    at_third_sleep = go_on;
    struct opened m = open_by(path, cached());
    assert_int_equal(m.setup.packed && !m.setup.made, 1);
    assert_string_equal(m.lines.text, "");
    close_opened(&m);
    assert_int_equal(count_files("", NULL), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_kill_at_any_moment_is_repaired, quiet_system),
        cmocka_unit_test_setup(a_refusal_of_the_system_costs_the_cache_at_most, quiet_system),
        cmocka_unit_test_setup(a_kill_while_a_head_is_kept_is_repaired, quiet_system),
        cmocka_unit_test_setup(a_refusal_while_a_head_is_kept_costs_that_at_most, quiet_system),
        cmocka_unit_test_setup(a_limit_on_files_is_kept, quiet_system),
        cmocka_unit_test_setup(who_starts_together_packs_once, quiet_system),
        cmocka_unit_test_setup(together_they_keep_the_cap, quiet_system),
        cmocka_unit_test_setup(a_lock_on_a_file_that_went_is_none, quiet_system),
        cmocka_unit_test_setup(a_change_after_the_check_is_found, quiet_system),
        cmocka_unit_test_setup(nobody_waits_for_ever, quiet_system),
        cmocka_unit_test_setup(who_waited_maps_what_was_made, quiet_system),
    };
    return MAIN(tests);
}

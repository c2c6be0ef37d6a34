/* SPDX-License-Identifier: Apache-2.0 */
/* test_os.c: mapping and its refusals, address space, the floating-point environment, threads and their
 * signals. */
#include "scratch.h"

#include <signal.h>
#include <stdatomic.h>

#include "os/clock.h"
#include "os/files.h"
#include "os/fp_environment.h"
#include "os/memory.h"
#include "os/threads.h"
#include "host_fp.h"

/* Writes a file below scratch, with the directories it needs, and returns its path in a static buffer. */
static const char *put(const char *name, const char *text, size_t n)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", scratch, name);
    write_file(path, text, n);
    return path;
}

static void maps_files(void **state)
{
    (void)state;
    struct ct_map m;
    assert_int_equal(ct_os_map(&m, put("five", "abcde", 5), NULL), CARAT_OK);
    assert_int_equal(m.bytes.size, 5);
    assert_memory_equal(m.bytes.data, "abcde", 5);
    ct_os_unmap(&m);
    assert_null(m.bytes.data);
    ct_os_unmap(&m);

    assert_int_equal(ct_os_map(&m, put("empty", "", 0), NULL), CARAT_OK);
    assert_non_null(m.bytes.data);
    assert_int_equal(m.bytes.size, 0);
    ct_os_unmap(&m);
}

static void refuses(const char *path, carat_status status, const char *word)
{
    struct ct_map m;
    carat_error err = {0};
    assert_int_equal(ct_os_map(&m, path, &err), status);
    assert_int_equal(err.code, status);
    assert_non_null(strstr(err.message, path));
    assert_non_null(strstr(err.message, word));
    assert_null(m.bytes.data);
}

static void refuses_what_is_no_file(void **state)
{
    (void)state;
    char path[512];
    snprintf(path, sizeof path, "%s/missing", scratch);
    refuses(path, CARAT_E_NOT_FOUND, "No such file");
    refuses(scratch, CARAT_E_IO, "a directory");
    refuses("/dev/null", CARAT_E_IO, "a device");
    refuses("/dev/zero", CARAT_E_IO, "a device");
    refuses("/proc/self/mem", CARAT_E_IO, "Input/output error"); /* both say that they are empty files */
    refuses("/proc/self/status", CARAT_E_IO, "made by the kernel");
    snprintf(path, sizeof path, "%s/dangling", scratch);
    assert_int_equal(symlink("nowhere", path), 0);
    refuses(path, CARAT_E_NOT_FOUND, "No such file");
    snprintf(path, sizeof path, "%s/circle", scratch);
    assert_int_equal(symlink("circle", path), 0);
    refuses(path, CARAT_E_IO, "symbolic links");
    snprintf(path, sizeof path, "%s/pipe", scratch);
    assert_int_equal(mkfifo(path, 0600), 0);
    refuses(path, CARAT_E_IO, "a pipe"); /* and returns, though nobody writes */
}

static void tells_kinds(void **state)
{
    (void)state;
    assert_int_equal(ct_os_kind(scratch), 2);
    assert_int_equal(ct_os_kind(put("file", "x", 1)), 1);
    assert_int_equal(ct_os_kind("/nowhere/at/all"), 0);
}

/* Nothing is absent but a name that nothing has. */
static void looks_whether_a_file_is_there(void **state)
{
    (void)state;
    static const struct {
        const char *name, *to; /* a link when to is there */
        carat_status status;
        int kind;
        const char *word;
    } cases[] = {
        {"nothing", NULL, CARAT_OK, 0, NULL},
        {"seen", "five", CARAT_OK, 1, NULL},
        {"around", ".", CARAT_OK, 2, NULL},
        {"lost", "nowhere", CARAT_E_NOT_FOUND, 0, "is a link to nowhere, which is not there"},
        {"lost2", "lost", CARAT_E_NOT_FOUND, 0, "is a link to lost, which is not there"},
        {"loop", "loop", CARAT_E_IO, 0, "leads in a circle"},
    };
    char path[512];
    put("five", "abcde", 5);
    for (size_t i = 0; i < CT_COUNT(cases); i++) {
        carat_error err = {0};
        int kind = -1;
        snprintf(path, sizeof path, "%s/%s", scratch, cases[i].name);
        if (cases[i].to)
            assert_int_equal(symlink(cases[i].to, path), 0);
        assert_int_equal(ct_os_look(&kind, path, &err), cases[i].status);
        assert_int_equal(kind, cases[i].kind);
        assert_int_equal(ct_os_absent(path), !cases[i].to);
        if (cases[i].word)
            assert_non_null(strstr(err.message, cases[i].word));
    }
    char *name = path + snprintf(path, sizeof path, "%s/", scratch);
    memset(name, 'x', 300);
    name[300] = 0;
    int kind;
    assert_int_equal(ct_os_look(&kind, path, NULL), CARAT_E_IO); /* too long to be asked for */
}

static void reserves_and_discards(void **state)
{
    (void)state;
    size_t size = (size_t)1 << 36; /* far more than most machines have: only what is touched counts */
    uint8_t *p = ct_os_reserve(size);
#if !defined(__SANITIZE_ADDRESS__)
    assert_non_null(p);
#endif
    if (!p)
        p = ct_os_reserve(size = (size_t)1 << 24);
    assert_non_null(p);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    assert_int_equal((uintptr_t)p % page, 0);
    assert_int_equal(p[size - 1], 0);
    memset(p, 7, 4 * page);
    ct_os_discard(p + 1, 3 * page); /* wholly inside: pages 1 and 2 */
    assert_int_equal(p[page - 1], 7);
    assert_int_equal(p[page], 0);
    assert_int_equal(p[3 * page - 1], 0);
    assert_int_equal(p[3 * page], 7);
    ct_os_discard(p + 1, page); /* no whole page */
    assert_int_equal(p[page - 1], 7);
    ct_os_release(p, size);
    ct_os_release(NULL, 0);
    assert_null(ct_os_reserve(SIZE_MAX / 2));
}

static void tables(void **state)
{
    const size_t size = ((size_t)1 << 24) + 3;
    uint8_t *p = ct_os_alloc(size), *other = ct_os_alloc(1);

    (void)state;
    assert_non_null(p);
    assert_non_null(other);
    assert_int_equal((uintptr_t)p % 64, 0);
    assert_int_equal(p[0] | p[size / 2] | p[size - 1], 0);
    p[0] = p[size - 1] = other[0] = 7;
    ct_os_free(p);
    assert_int_equal(other[0], 7);
    ct_os_free(other);
    ct_os_free(NULL);
    assert_null(ct_os_alloc(SIZE_MAX / 2));
    assert_null(ct_os_alloc(SIZE_MAX - 8));
}

static void clock_and_random(void **state)
{
    (void)state;
    double a = ct_os_seconds(), b = ct_os_seconds();
    assert_true(b >= a && b - a < 60);
    assert_true(ct_os_random() != ct_os_random());
}

static void sets_and_restores_the_environment(void **state)
{
    (void)state;
    volatile float tiny = 0x1p-149f, small = 0x1p-126f, one = 1, bit = 0x1p-30f;
    uint64_t saved = host_fp_enter(), set = host_fp_read();
    ct_fpenv caller = ct_os_fp_enter();
    volatile float a = tiny * 2, b = small / 2, c = one + bit;
    ct_os_fp_leave(caller);
    uint64_t after = host_fp_read();
    volatile float d = tiny * 2, e = one + bit; /* the host has its own arithmetic back */
    host_fp_write(saved);
    assert_int_equal(after, set);
    assert_true(d == 0 && e > 1);
    assert_true(a == 0x1p-148f);
    assert_true(b == 0x1p-127f);
    assert_true(c == 1);
}

static _Atomic uint32_t word;
static void set_word(void *arg)
{
    *(int *)arg = 42;
    atomic_store(&word, 1);
    ct_os_wake_all(&word);
}

static void threads_and_futexes(void **state)
{
    (void)state;
    int answer = 0;
    ct_thread t;
    assert_int_equal(ct_os_thread_start(&t, set_word, &answer, NULL), CARAT_OK);
    while (atomic_load(&word) == 0)
        ct_os_wait(&word, 0, 0);
    ct_os_wait(&word, 0, 0); /* another value: returns at once */
    ct_os_thread_join(t);
    ct_os_thread_join(NULL);
    assert_int_equal(answer, 42);
}

/* A handler of the host must be asked about faults, and about nothing else. */
static void look_at_mask(void *arg)
{
    pthread_sigmask(SIG_SETMASK, NULL, arg);
}
static void threads_take_faults_only(void **state)
{
    (void)state;
    sigset_t set;
    ct_thread t;
    assert_int_equal(ct_os_thread_start(&t, look_at_mask, &set, NULL), CARAT_OK);
    ct_os_thread_join(t);
    assert_int_equal(sigismember(&set, SIGBUS), 0);
    assert_int_equal(sigismember(&set, SIGSEGV), 0);
    assert_int_equal(sigismember(&set, SIGINT), 1);
    assert_int_equal(sigismember(&set, SIGTERM), 1);
    assert_int_equal(sigismember(&set, SIGALRM), 1);
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    assert_int_equal(sigismember(&set, SIGINT), 0); /* the caller's own is as it was */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_files),
        cmocka_unit_test(refuses_what_is_no_file),
        cmocka_unit_test(looks_whether_a_file_is_there),
        cmocka_unit_test(tells_kinds),
        cmocka_unit_test(reserves_and_discards),
        cmocka_unit_test(tables),
        cmocka_unit_test(clock_and_random),
        cmocka_unit_test(sets_and_restores_the_environment),
        cmocka_unit_test(threads_and_futexes),
        cmocka_unit_test(threads_take_faults_only),
    };
    return cmocka_run_group_tests(tests, make_scratch, drop_scratch);
}

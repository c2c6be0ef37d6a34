/* SPDX-License-Identifier: Apache-2.0 */
/* os.c: what asks Linux for something: files, address space, clock, random bits, threads and futexes, the floating-point
 * environment. What Linux tells about the machine and its limits is cgroup.c's. */
#define _GNU_SOURCE
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

/* strerror is not safe with threads and strerror_r has two shapes; this one is constant and in English. */
static const char *reason(int number)
{
    const char *text = strerrordesc_np(number);
    return text ? text : "unknown system error";
}

/* ---- files ---- */

static const char *kind_of(mode_t mode)
{
    return S_ISDIR(mode)    ? "a directory"
           : S_ISFIFO(mode) ? "a pipe"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

/* A path in a message: of a very long one the end, so that the reason still has room. */
struct shown {
    char text[260];
};
static struct shown shown(const char *path)
{
    struct shown s;
    size_t n = strlen(path);
    snprintf(s.text, sizeof s.text, "%s%s", n < sizeof s.text ? "" : "...",
             n < sizeof s.text ? path : path + n - 256);
    return s;
}

static struct ct_os_id id_of(const struct stat *st)
{
    return (struct ct_os_id){st->st_dev, st->st_ino, (uint64_t)st->st_size,
                             (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
                             (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec};
}

bool ct_os_identify(struct ct_os_id *id, const char *path)
{
    struct stat st;
    bool there = stat(path, &st) == 0;
    *id = there ? id_of(&st) : (struct ct_os_id){0};
    return there;
}

carat_status ct_os_map(struct ct_map *m, const char *path, carat_error *err)
{
    static const uint64_t nothing; /* aligned as a mapping is */
    struct stat st;
    carat_status status = CARAT_OK;

    *m = (struct ct_map){0};
    /* Without O_NONBLOCK opening a pipe would wait for a writer. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return ct_fail(err, errno == ENOENT || errno == ENOTDIR ? CARAT_E_NOT_FOUND : CARAT_E_IO,
                       "%s: cannot be opened: %s", shown(path).text, reason(errno));
    if (fstat(fd, &st) != 0) {
        status = ct_fail(err, CARAT_E_IO, "%s: cannot be examined: %s", shown(path).text, reason(errno));
    } else if (!S_ISREG(st.st_mode)) {
        status = ct_fail(err, CARAT_E_IO, "%s: is %s, expected a regular file", shown(path).text,
                         kind_of(st.st_mode));
    } else if (st.st_size == 0) {
        /* Files of /proc say that they are empty and are not. */
        char byte;
        ssize_t n = read(fd, &byte, 1);
        if (n < 0)
            status = ct_fail(err, CARAT_E_IO, "%s: cannot be read: %s", shown(path).text, reason(errno));
        else if (n > 0)
            status = ct_fail(err, CARAT_E_IO, "%s: is made by the kernel on reading, expected a regular file",
                             shown(path).text);
        else
            m->bytes = (struct ct_bytes){(const uint8_t *)&nothing, 0};
    } else {
        size_t size = (size_t)st.st_size;
        void *base = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (base == MAP_FAILED)
            status = ct_fail(err, errno == ENOMEM ? CARAT_E_MEMORY : CARAT_E_IO,
                             "%s: %zu bytes cannot be mapped: %s", shown(path).text, size, reason(errno));
        else
            *m = (struct ct_map){.bytes = {base, size}, .base = base, .length = size};
    }
    if (status == CARAT_OK)
        m->id = id_of(&st);
    close(fd);
    return status;
}

void ct_os_unmap(struct ct_map *m)
{
    if (m->base)
        munmap(m->base, m->length);
    *m = (struct ct_map){0};
}

int ct_os_kind(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return 0;
    return S_ISDIR(st.st_mode) ? 2 : 1;
}

bool ct_os_absent(const char *path)
{
    struct stat st;
    return lstat(path, &st) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

carat_status ct_os_look(int *kind, const char *path, carat_error *err)
{
    char target[256];
    struct stat st;
    bool there = stat(path, &st) == 0;
    const int number = errno;

    *kind = !there ? 0 : S_ISDIR(st.st_mode) ? 2 : 1;
    if (there || ct_os_absent(path))
        return CARAT_OK;
    if (number == ELOOP)
        return ct_fail(err, CARAT_E_IO, "%s: is a link that leads in a circle", shown(path).text);
    ssize_t n = readlink(path, target, sizeof target - 1);
    if (number != ENOENT || n < 0)
        return ct_fail(err, CARAT_E_IO, "%s: cannot be examined: %s", shown(path).text, reason(number));
    target[n] = 0;
    return ct_fail(err, CARAT_E_NOT_FOUND, "%s: is a link to %s, which is not there", shown(path).text,
                   target);
}

void ct_os_absolute(char *out, size_t n, const char *path)
{
    char here[4096];
    bool known = *path != '/' && getcwd(here, sizeof here) && *here == '/';

    while (known && path[0] == '.' && path[1] == '/')
        path += 2;
    if (!known || snprintf(out, n, "%s/%s", strcmp(here, "/") ? here : "", path) >= (int)n)
        snprintf(out, n, "%s", path);
}

carat_status ct_os_enter(const char *dir, carat_error *err)
{
    struct stat st;
    carat_status status = CARAT_OK;
    int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstatat(fd, ".", &st, 0) != 0)
        status = ct_fail(err, CARAT_E_IO, "%s: the directory cannot be searched: %s", shown(dir).text,
                         reason(errno));
    if (fd >= 0)
        close(fd);
    return status;
}

/* ---- address space ---- */

void *ct_os_reserve(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void ct_os_release(void *p, size_t size)
{
    if (p)
        munmap(p, size);
}

size_t ct_os_page(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* The pages that bytes [p, p + size) touch, and advice for them. */
static int advise(const void *p, size_t size, int advice)
{
    uintptr_t page = ct_os_page(), begin = (uintptr_t)p & ~(page - 1);
    return madvise((void *)begin, (uintptr_t)p + size - begin, advice);
}

void ct_os_huge(const void *p, size_t size)
{
    advise(p, size, MADV_HUGEPAGE);
}

void ct_os_fetch(const void *p)
{
#ifndef MADV_POPULATE_READ
    enum { MADV_POPULATE_READ = 22 }; /* Linux 5.14 */
#endif
    advise(p, 1, MADV_POPULATE_READ);
}

size_t ct_os_cache(void)
{
    long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return (size_t)CT_MAX(bytes, 0);
}

void ct_os_discard(void *p, size_t size)
{
    uintptr_t page = ct_os_page();
    uintptr_t begin = ((uintptr_t)p + page - 1) & ~(page - 1), end = ((uintptr_t)p + size) & ~(page - 1);
    if (begin < end)
        madvise((char *)p + (begin - (uintptr_t)p), end - begin, MADV_DONTNEED);
}

void ct_os_read_ahead(const void *p, size_t size)
{
    madvise((void *)(uintptr_t)p, size, MADV_WILLNEED);
}

void ct_os_forget(const void *p, size_t size)
{
    ct_os_discard((void *)(uintptr_t)p, size);
}

/* ---- clock, random bits ---- */

double ct_os_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

uint64_t ct_os_random(void)
{
    uint64_t bits;
    ssize_t n;
    do
        n = getrandom(&bits, sizeof bits, 0);
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t)sizeof bits)
        return bits;
    /* A kernel or a sandbox without the call: the clock is not secret, but a seed need not be. */
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    bits = ((uint64_t)t.tv_sec << 30 ^ (uint64_t)t.tv_nsec ^ (uint64_t)getpid() << 44) * 0x9e3779b97f4a7c15u;
    return bits ^ bits >> 32;
}

/* ---- floating-point environment ---- */

#if defined(__x86_64__)
ct_fpenv ct_os_fp_enter(void)
{
    enum { DAZ = 0x0040, ROUNDING = 0x6000, FTZ = 0x8000, MASKS = 0x1f80 };
    unsigned saved = _mm_getcsr();
    _mm_setcsr((saved & ~(unsigned)(DAZ | ROUNDING | FTZ)) | MASKS);
    return saved;
}
void ct_os_fp_leave(ct_fpenv saved)
{
    _mm_setcsr((unsigned)saved);
}
#elif defined(__aarch64__)
ct_fpenv ct_os_fp_enter(void)
{
    /* Trap enables, half-precision flush, rounding mode, flush to zero, default NaN, alternative half. */
    const uint64_t clear = 0x9f00u | 1u << 19 | 3u << 22 | 1u << 24 | 1u << 25 | 1u << 26;
    uint64_t saved;
    __asm__ volatile("mrs %0, fpcr" : "=r"(saved));
    __asm__ volatile("msr fpcr, %0" : : "r"(saved & ~clear));
    return saved;
}
void ct_os_fp_leave(ct_fpenv saved)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(saved));
}
#else
#error "the floating-point environment of this processor is not known"
#endif

/* ---- threads ---- */

struct ct_thread {
    pthread_t id;
    void (*fn)(void *);
    void *arg;
};

static void *thread_main(void *p)
{
    struct ct_thread *t = p;
    t->fn(t->arg);
    return NULL;
}

carat_status ct_os_thread_start(ct_thread *t, void (*fn)(void *), void *arg, carat_error *err)
{
    struct ct_thread *thread = malloc(sizeof *thread);
    if (!thread)
        return ct_fail(err, CARAT_E_MEMORY, "out of memory while starting a thread");
    *thread = (struct ct_thread){.fn = fn, .arg = arg};

    /* The host's signals are for the host's threads: a new thread inherits the mask of its creator. A fault is of the
     * thread that meets it: were it blocked, the host's handler would not be asked, and a mapped file that shrinks
     * would end the process. */
    static const int faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP};
    sigset_t all, saved;
    sigfillset(&all);
    for (size_t i = 0; i < CT_COUNT(faults); i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &saved);
    /* A stack of known size, so that memory can be planned; one that thread-local data of the host would fill becomes the
     * system's own. */
    pthread_attr_t small;
    int failed = pthread_attr_init(&small);
    if (!failed) {
        pthread_attr_setstacksize(&small, CT_OS_STACK);
        failed = pthread_create(&thread->id, &small, thread_main, thread);
        pthread_attr_destroy(&small);
    }
    if (failed == EINVAL)
        failed = pthread_create(&thread->id, NULL, thread_main, thread);
    pthread_sigmask(SIG_SETMASK, &saved, NULL);
    if (failed) {
        free(thread);
        return ct_fail(err, CARAT_E_MEMORY, "another thread cannot be started: %s", reason(failed));
    }
    *t = thread;
    return CARAT_OK;
}

void ct_os_thread_join(ct_thread t)
{
    if (!t)
        return;
    pthread_join(t->id, NULL);
    free(t);
}

void ct_os_wait(const uint32_t *word, uint32_t expected)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

void ct_os_wait_for(const uint32_t *word, uint32_t expected, double seconds)
{
    const struct timespec most = {.tv_nsec = (long)(seconds * 1e9)};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, &most, NULL, 0);
}

void ct_os_wake_all(const uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

void ct_os_pause(void)
{
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* SPDX-License-Identifier: Apache-2.0 */
/* threads.c: threads and futexes. */
#define _GNU_SOURCE
#include "os/threads.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/files.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

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

    /* The host's signals are for the host's threads: a new thread inherits the mask of its creator. A fault
     * is of the thread that meets it: were it blocked, the host's handler would not be asked, and a mapped
     * file that shrinks would end the process. */
    static const int faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP};
    sigset_t all, saved;
    sigfillset(&all);
    for (size_t i = 0; i < CT_COUNT(faults); i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &saved);
    /* A stack of known size, so that memory can be planned; one that thread-local data of the host would fill
     * becomes the system's own. */
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
        return ct_fail(err, CARAT_E_MEMORY, "another thread cannot be started: %s", ct_os_reason(failed));
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

void ct_os_wait(_Atomic uint32_t *word, uint32_t expected, double seconds)
{
    static_assert(sizeof *word == sizeof(uint32_t), "a futex is a plain 32-bit word");
    const struct timespec most = {.tv_nsec = (long)(seconds * 1e9)};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, seconds > 0 ? &most : NULL, NULL, 0);
}

void ct_os_wake_all(_Atomic uint32_t *word)
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

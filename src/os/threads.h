/* SPDX-License-Identifier: Apache-2.0 */
/* threads.h: threads and waiting for them: thin names for what the pool needs. */
#ifndef CT_THREADS_H
#define CT_THREADS_H

#include <stdatomic.h>

#include "base/base.h"

typedef struct ct_thread *ct_thread;
/* Bytes of a thread's stack, of which pages become memory as they are touched; kernels take up to 40 KiB of
 * it. */
#define CT_OS_STACK ((size_t)512 << 10)
carat_status ct_os_thread_start(ct_thread *t, void (*fn)(void *), void *arg, carat_error *err);
void ct_os_thread_join(ct_thread t);
/* Sleeps while *word == expected, for so many seconds at most, below one; 0: for ever. May return early. */
void ct_os_wait(_Atomic uint32_t *word, uint32_t expected, double seconds);
/* Wakes every sleeper on the word. */
void ct_os_wake_all(_Atomic uint32_t *word);
void ct_os_pause(void);

#endif

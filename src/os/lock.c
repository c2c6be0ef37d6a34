/* SPDX-License-Identifier: Apache-2.0 */
/* lock.c: tickets over a futex; see lock.h for the contract. Sequentially consistent throughout: whoever
 * leaves either sees the ticket of a caller that waits, or that caller sees the new number and does not
 * sleep. */
#include "os/lock.h"

#include "os/threads.h"

void ct_lock_enter(struct ct_lock *lock)
{
    uint32_t mine = atomic_fetch_add(&lock->next, 1), serving;

    while ((serving = atomic_load(&lock->serving)) != mine)
        ct_os_wait(&lock->serving, serving, 0);
}

void ct_lock_leave(struct ct_lock *lock)
{
    uint32_t next = atomic_fetch_add(&lock->serving, 1) + 1;

    if (atomic_load(&lock->next) != next)
        ct_os_wake_all(&lock->serving);
}

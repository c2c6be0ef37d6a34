/* SPDX-License-Identifier: Apache-2.0 */
/* lock.h: a lock that lets its callers in by the order in which they asked. A thread that evaluates token
 * after token asks again at once; with a lock that favours whoever is awake the others would wait for ever.
 * Costs two atomic operations when nobody else is there, allocates nothing and cannot fail. Not recursive. */
#ifndef CT_LOCK_H
#define CT_LOCK_H

#include <stdatomic.h>

#include "base/base.h"

/* Zero-initialise; nothing has to be released. */
struct ct_lock {
    _Atomic uint32_t next;    /* the ticket that the next caller gets */
    _Atomic uint32_t serving; /* the ticket that is inside; others sleep on this word */
};

void ct_lock_enter(struct ct_lock *lock);
void ct_lock_leave(struct ct_lock *lock);

#endif

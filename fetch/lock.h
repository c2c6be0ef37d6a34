/* SPDX-License-Identifier: Apache-2.0 */
/* lock.h: a file that one process at a time has: by flock, and where the file system has none, by making it
 * where it was not, as filelock does, which huggingface_hub locks with. */
#ifndef FETCH_LOCK_H
#define FETCH_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>

enum { LOCK_PATH = 3 * 4096 + 64 };

struct lock {
    int fd;    /* -1: none */
    bool held; /* no other process has it */
    bool made; /* without flock: the file is the lock, and goes with it */
    char path[LOCK_PATH];
};

/* Waits for who has it; *stops ends that, where it is not NULL. may_make: without flock it may be made,
 * written and removed; else nobody holds it then. A code of report.h. */
int lock_take(struct lock *l, const char *path, bool may_make, atomic_bool *stops);
void lock_leave(struct lock *l);

#endif

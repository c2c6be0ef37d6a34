/* SPDX-License-Identifier: Apache-2.0 */
/* store.h: a file on its way into a folder. What has come is always a beginning of it, under another name,
 * until it is whole. Which names these are is the layout's (layout.h). Codes of report.h. */
#ifndef FETCH_STORE_H
#define FETCH_STORE_H

#include "layout.h"

#include <stdatomic.h>
#include <stdbool.h>

/* ---- lock.c ---- */

/* A file that one process at a time has: by flock, and where the file system has none, by making it where
 * it was not, as filelock does, which huggingface_hub locks with. */

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

struct part {
    int fd;
    struct lock lock;
    struct place at;
    int64_t have; /* bytes from its beginning on */
    bool old;     /* some of them lay there before */
};

enum { PRUNED = -1 }; /* of store_finish: somebody has removed it meanwhile */

/* Makes nothing yet. */
void store_open(struct store *s, const struct plan *plan);
/* True: the file is there, whole. */
bool store_has(const struct store *s, const struct wanted *w);
/* Opens what is there of a file; *whole: it is all there, and p->fd reads it; for that the layout has to name
 * its files by hashes, or somebody to look. Takes the file's lock, waiting for who has it. missing: bytes of
 * all files to come, for which there has to be room. */
int store_begin(const struct store *s, struct part *p, const struct wanted *w, int64_t missing, bool *whole);
/* Drops what has come, which is wrong: an empty file takes its place. */
int store_again(struct part *p);
/* Bytes behind those that are there. */
int store_put(struct part *p, const void *data, size_t n);
/* Leaves what was written for the next time, unless it is wrong. */
void store_leave(struct part *p, bool wrong);
/* It is whole and right: gets its name. PRUNED: start again. */
int store_finish(const struct store *s, struct part *p, const struct wanted *w);
/* Makes what leads to the file. */
int store_enter(const struct store *s, const struct wanted *w);
/* All files are there. path[] gets what the command is told. */
int store_end(const struct store *s, char *path, size_t capacity);

#endif

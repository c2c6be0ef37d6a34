/* SPDX-License-Identifier: Apache-2.0 */
/* hasher.h: hashes a file in a thread of its own, close behind who writes it, out of what the disk has. What
 * lay there before is hashed the same way, while more is coming. */
#ifndef FETCH_HASHER_H
#define FETCH_HASHER_H

#include <stdbool.h>
#include <stdint.h>

#include "plan.h"

struct hasher;

struct tap;

/* kind: a hash whose number of digits says which one it is. tap: hears the bytes, too (tap.h), or is NULL.
 * NULL: out of memory. */
struct hasher *hasher_start(int fd, int64_t bytes, const char *kind, struct tap *tap);
/* So many bytes from the beginning on may be read now. */
void hasher_allow(struct hasher *h, int64_t have);
/* The number of bytes that are hashed. */
int64_t hasher_at(struct hasher *h);
/* Waits until all are, or cannot be read. Whoever waits is the only one to end it. */
void hasher_wait(struct hasher *h);
/* After that: false where they could not be read. */
bool hasher_end(struct hasher *h, char hash[PLAN_HASH]);
/* Ends it where it stands; NULL is allowed. */
void hasher_stop(struct hasher *h);

/* A file that lies there whole, in this thread; tell hears how many bytes are done. False: it cannot be read,
 * or memory ran out. */
bool hasher_whole(int fd, int64_t bytes, const char *kind, char hash[PLAN_HASH],
                  void (*tell)(void *user, int64_t done), void *user);
/* SHA-256 of bytes in memory; false: memory ran out. */
bool hasher_text(const void *data, size_t n, char hash[PLAN_HASH]);

#endif

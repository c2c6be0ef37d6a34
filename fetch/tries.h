/* SPDX-License-Identifier: Apache-2.0 */
/* tries.h: what is asked for again, and after which pause. */
#ifndef FETCH_TRIES_H
#define FETCH_TRIES_H

#include "http.h"

enum { MOST_TRIES = 5 }; /* without a new byte */

/* True: the status may be another one the next time. */
bool is_passing(long status);
/* Nanoseconds to wait before try number n (0: bytes came the last time): growing, and by chance. asked_for:
 * Retry-After in seconds, or -1. A patience of 60 seconds is the usual one. */
int64_t pause_before(int n, int64_t asked_for, int64_t patience);
/* Waits; stop says now and then whether to go on at once; may be NULL. */
void wait_for(int64_t nanoseconds, bool (*stop)(void *user), void *user);
double seconds_now(void);

#endif

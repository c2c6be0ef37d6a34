/* SPDX-License-Identifier: Apache-2.0 */
/* tries.c: see tries.h. */
#define _POSIX_C_SOURCE 200809L
#include "tries.h"

#include <stdlib.h>
#include <time.h>

#include "base/base.h"

enum { LONGEST_PAUSE = 300 }; /* seconds that a server may ask for */

bool is_passing(long status)
{
    return status == 408 || status == 425 || status == 429 || status >= 500;
}

int64_t pause_before(int n, int64_t asked_for, int64_t patience)
{
    const int64_t second = 1000000000, unit = second / 60 * patience;
    const int64_t chance = unit / 2 / 1000 * (rand() % 1000);

    if (asked_for >= 0)
        return CT_MIN(asked_for, LONGEST_PAUSE) * second + chance / 8;
    return n > 0 ? (unit << (n - 1)) + chance : chance;
}

void wait_for(int64_t nanoseconds, bool (*stop)(void *user), void *user)
{
    const int64_t slice = 50000000;

    while (nanoseconds > 0 && !(stop && stop(user))) {
        const struct timespec t = {.tv_nsec = (long)CT_MIN(nanoseconds, slice)};
        nanosleep(&t, NULL);
        nanoseconds -= slice;
    }
}

double seconds_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

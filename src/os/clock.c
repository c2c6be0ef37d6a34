/* SPDX-License-Identifier: Apache-2.0 */
/* clock.c: time and random bits. */
#define _GNU_SOURCE
#include "os/clock.h"

#include <errno.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

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

void ct_os_sleep(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

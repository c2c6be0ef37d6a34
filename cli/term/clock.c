/* SPDX-License-Identifier: Apache-2.0 */
/* clock.c: the clock that bars, timings and waits of the command look at. */
#define _POSIX_C_SOURCE 200809L
#include "term/clock.h"

#include <time.h>

double term_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* conditions.h: what slows a machine down for the moment, or by its settings, as /proc and /sys tell it. What
 * it is, and what a process may have of it, comes from carat_get_host. */
#ifndef CONDITIONS_H
#define CONDITIONS_H

#include <stdbool.h>

#include "carat_tools.h"

/* Shares from 0 to 1, -1 where it is not known. */
struct conditions {
    double cpu_waiting;     /* of the last ten seconds, in which a process waited for a processor */
    double memory_waiting;  /* of the last minute, in which a process waited for memory */
    double stolen;          /* of the processors' time since the start, which the hypervisor gave to others */
    double load;            /* processes that ran or wanted to, mean of the last minute */
    double swap, swap_used; /* bytes; swap 0: there is none */
    char governor[32],
        driver[32];           /* of frequency, for the processor that was asked about; "" when not known */
    double hz_most, hz_limit; /* of the processor, and what it is held to; 0: not known */
    bool no_boost;            /* frequencies above the nominal one are switched off */
};
/* `processor` is one that the process may use. */
void conditions_read(struct conditions *c, int processor);

/* Processor time up to now, in seconds: to be asked before and after what is to be judged. */
struct cpu_time {
    double at, own, busy, stolen; /* clock, this process, the whole machine, the hypervisor's others */
    bool known;
};
struct cpu_time cpu_time_now(void);
/* The average number of processors that others kept busy, other guests included; -1: not known. */
double cpu_time_others(const struct cpu_time *before, const struct cpu_time *after);

/* The words for CARAT_BY_... in output. */
extern const char *const arithmetic_names[CARAT_N_ARITHMETIC];

#endif

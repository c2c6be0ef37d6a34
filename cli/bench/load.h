/* SPDX-License-Identifier: Apache-2.0 */
/* load.h: what else happens on the machine while something is timed. */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include <stddef.h>

#include "model/conditions.h"

/* What else happened on the machine while a test ran: shares of the time of all its processors, except for
 * throttled, which is a share of the time that passed. NAN: not known, or too short to be known. */
struct load {
    double foreign, steal, throttled;
    double mhz,
        mhz_most;      /* of the fastest processor right after a run, and the most it can do; 0: not known */
    char governor[32]; /* of its frequency; "" when not known */
};

struct load_mark {
    struct cpu_time time;
    double throttled; /* seconds; NAN: not known */
};
void load_begin(const carat_host_info *host, struct load_mark *m);
void load_end(const carat_host_info *host, const struct load_mark *m, struct load *load);
void load_frequency(struct load *load); /* notes the highest of several calls */
size_t peak_rss(void);

#endif

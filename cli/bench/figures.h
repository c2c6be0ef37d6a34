/* SPDX-License-Identifier: Apache-2.0 */
/* figures.h: what many samples say in a few numbers, and what work costs. */
#ifndef BENCH_FIGURES_H
#define BENCH_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include "carat_tools.h"

/* Samples in a few numbers; NAN where there are too few of them. */
struct spread {
    int n;
    double mean, deviation, median, p90, low, high;
    double noise; /* standard deviation over median, estimated by the median distance from the median */
};
/* False when memory is out. */
bool spread_of(struct spread *s, const double *sample, int n, double scale);

/* What something had to read and compute, and how long it took. */
struct work {
    uint64_t bytes, operations;
    double seconds;
    double gb_s, gop_s;
    double of_read,
        of_compute; /* of what could be done in that time; NAN: nothing to do, or limit not known */
};
struct work work_of(const carat_limits *limits, const carat_operation *o, double seconds);
carat_operation sum_of(const carat_profile *p); /* all operations together */

#endif

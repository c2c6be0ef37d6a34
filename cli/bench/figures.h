/* SPDX-License-Identifier: Apache-2.0 */
/* figures.h: what work costs. */
#ifndef BENCH_FIGURES_H
#define BENCH_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include "carat_tools.h"
#include "model/spread.h"

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

/* SPDX-License-Identifier: Apache-2.0 */
/* spread.h: what many samples say in a few numbers. */
#ifndef MODEL_SPREAD_H
#define MODEL_SPREAD_H

#include <stdbool.h>

/* Samples in a few numbers; NAN where there are too few of them. */
struct spread {
    int n;
    double mean, deviation, median, p90, low, high;
    double noise; /* standard deviation over median, estimated by the median distance from the median */
};
/* False when memory is out. */
bool spread_of(struct spread *s, const double *sample, int n, double scale);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* spread.c: see spread.h. */
#include "model/spread.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(const double *sorted, int n)
{
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/* The median distance from the median estimates a standard deviation that a single odd run does not move:
 * 1.4826 makes it one for normal noise, and the table corrects what few samples fall short of (Croux and
 * Rousseeuw, Time-efficient algorithms for two highly robust estimators of scale, 1992). */
static double robust_deviation(double *sorted, int n, double median)
{
    static const double few[] = {0, 0, 1.196, 1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107};
    double correction = n < 10 ? few[n] : n / (n - 0.8);

    for (int i = 0; i < n; i++)
        sorted[i] = fabs(sorted[i] - median);
    qsort(sorted, (size_t)n, sizeof *sorted, ascending);
    return 1.4826 * correction * median_of(sorted, n);
}

bool spread_of(struct spread *s, const double *sample, int n, double scale)
{
    double *sorted, sum = 0, squares = 0;

    *s = (struct spread){n, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    if (n == 0)
        return true;
    sorted = malloc((size_t)n * sizeof *sorted);
    if (!sorted)
        return false;
    for (int i = 0; i < n; i++) {
        sorted[i] = scale * sample[i];
        sum += sorted[i];
    }
    qsort(sorted, (size_t)n, sizeof *sorted, ascending);
    s->mean = sum / n;
    for (int i = 0; i < n; i++)
        squares += (sorted[i] - s->mean) * (sorted[i] - s->mean);
    s->deviation = n > 1 ? sqrt(squares / (n - 1)) : 0;
    s->median = median_of(sorted, n);
    s->p90 = sorted[(int)ceil(0.9 * n) - 1];
    s->low = sorted[0];
    s->high = sorted[n - 1];
    s->noise = n > 1 ? robust_deviation(sorted, n, s->median) / s->median : NAN;
    free(sorted);
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* kmeans.h: numbers on a line in clusters, so that the squared distances to the clusters' means are least. */
#ifndef CT_KMEANS_H
#define CT_KMEANS_H

#include "base/base.h"

enum { CT_KMEANS_MOST = 65535 }; /* numbers that it takes */

/* Bytes of the scratch for n numbers and k clusters. */
size_t ct_kmeans_scratch(int n, int k);
/* The means of the best k clusters of x[n], which ascends strictly, x[i] counted count[i] >= 1 times. 1 <= k
 * <= n <= CT_KMEANS_MOST; scratch: aligned for doubles. Means ascend. The same bits everywhere. */
void ct_kmeans(double *mean, const float *x, const uint32_t *count, int n, int k, void *scratch);

#endif

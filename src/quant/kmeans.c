/* SPDX-License-Identifier: Apache-2.0 */
/* kmeans.c: see kmeans.h. A cluster of a best clustering is a run of neighbours. So the best j clusters of
 * the first i numbers are the best j - 1 of the first m and one of the rest, for some m, which grows with i
 * and with j (the cost obeys the quadrangle inequality): the middle i is searched first and bounds what lies
 * on both sides of it, and j - 1 bounds j from below. That takes about k n log(n / k) looks instead of
 * k n^2. What is least is the sum over clusters of (sum of x^2) - (sum of x)^2 / number; the first is the
 * same for all clusterings, so the second is what is made largest. */
#include "quant/kmeans.h"

/* One more cluster. */
struct kmeans {
    const double *number, *sum; /* of the first i, counted: [n + 1] */
    const double *before;       /* sum of squares over numbers, best of the first i in a cluster less */
    double *best;               /* and with it */
    const uint16_t *cut_before; /* where the last cluster begins there, in a best clustering: [n + 1] */
    uint16_t *cut;              /* and with one more */
    int last_before;            /* cut_before and before are known up to here */
};

/* Finds best[i] and cut[i] for i in [i0, i1], whose cuts are in [low, high]. */
static void kmeans_cut(const struct kmeans *k, int i0, int i1, int low, int high)
{
    while (i0 <= i1) {
        const int i = (i0 + i1) / 2;
        const int first = CT_MAX(low, (int)k->cut_before[CT_MIN(i, k->last_before)]);
        double most = -1;
        int at = first;

        for (int m = first; m <= high && m < i; m++) {
            const double sum = k->sum[i] - k->sum[m];
            const double v = k->before[m] + sum * sum / (k->number[i] - k->number[m]);
            at = v > most ? m : at;
            most = v > most ? v : most;
        }
        k->best[i] = most;
        k->cut[i] = (uint16_t)at;
        kmeans_cut(k, i0, i - 1, low, at);
        i0 = i + 1;
        low = at;
    }
}

size_t ct_kmeans_scratch(int n, int k)
{
    return ((size_t)n + 1) * (4 * sizeof(double) + (size_t)k * sizeof(uint16_t));
}

void ct_kmeans(double *mean, const float *x, const uint32_t *count, int n, int k, void *scratch)
{
    const size_t row = (size_t)n + 1;
    double *number = scratch, *sum = number + row, *before = sum + row, *best = before + row;
    uint16_t *cuts = (uint16_t *)(best + row); /* [k][row] */

    assert(k >= 1 && k <= n && n <= CT_KMEANS_MOST);
    number[0] = sum[0] = before[0] = 0;
    for (int i = 0; i < n; i++) {
        number[i + 1] = number[i] + count[i];
        sum[i + 1] = sum[i] + (double)x[i] * count[i];
        before[i + 1] = sum[i + 1] * sum[i + 1] / number[i + 1];
        cuts[i + 1] = 0;
    }
    for (int j = 2; j <= k; j++) {
        uint16_t *cut = cuts + (size_t)(j - 1) * row;
        /* Every cluster has a number: so many are left for those to come. */
        const int last = n - (k - j);
        const struct kmeans step = {number, sum, before, best, cut - row, cut, last - 1};
        double *swap = before;

        kmeans_cut(&step, j == k ? n : j, last, j - 1, n - 1);
        before = best;
        best = swap;
    }
    for (int j = k, i = n; j >= 1; j--) {
        const int m = j == 1 ? 0 : cuts[(size_t)(j - 1) * row + (size_t)i];
        mean[j - 1] = (sum[i] - sum[m]) / (number[i] - number[m]);
        i = m;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* head_like.c: how like dense's best ids those of another strategy are: whether the first is the same, how
 * many are found, and the divergence of what is drawn from them. */
#include <math.h>
#include <string.h>

#include "bench/heads.h"

/* The logarithm of the sum of exp of what stands there, best first. */
static double sum_of_best(const carat_candidate *best, int k)
{
    double sum = 0;

    for (int i = 0; i < k; i++)
        sum += exp((double)best[i].logit - (double)best[0].logit);
    return (double)best[0].logit + log(sum);
}

/* The divergence of p', dense's probabilities among its own best, from q, the row's among its best: the sum
 * of q log(q / p'). An id that dense does not have among them has the p' that its logit gives it. */
static double divergence(const float *logits, const carat_candidate *dense, const carat_candidate *best,
                         int k)
{
    const double sum = sum_of_best(best, k), dense_sum = sum_of_best(dense, k);
    double kl = 0;

    for (int i = 0; i < k; i++) {
        double q = (double)best[i].logit - sum, p = (double)logits[best[i].id] - dense_sum;
        kl += exp(q) * (q - p);
    }
    return fmax(kl, 0); /* rounding may leave less */
}

static bool is_among(const carat_candidate *best, int k, int32_t id)
{
    for (int i = 0; i < k; i++)
        if (best[i].id == id)
            return true;
    return false;
}

void heads_liken(const struct heads *h, struct head_row *row, int i, const carat_candidate *best)
{
    const carat_candidate *dense = &h->truth.best[(size_t)i * (size_t)h->k];
    int found = 0;

    for (int j = 0; j < row->k; j++)
        found += is_among(best, row->k, dense[j].id);
    row->compared++;
    row->top1 += best[0].id == dense[0].id;
    row->recall += (double)found / row->k;
    row->kl += divergence(&h->truth.logits[(size_t)i * (size_t)h->info.n_vocab], dense, best, row->k);
    row->same += memcmp(best, dense, (size_t)row->k * sizeof *best) == 0;
}

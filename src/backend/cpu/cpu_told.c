/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_told.c: what is told of logits beside the draw: the best ids, their entropy, logarithms of
 * probabilities. */
#include "backend/cpu/cpu_backend.h"

float ct_cpu_entropy(struct ct_backend *b, const struct ct_logits *l, int k, const int32_t *excluded,
                     int n_excluded)
{
    const struct ct_kernel *kernel = &ct_cpu(b)->kernel;
    int32_t best[CT_MOST_TOLD];
    float value[CT_MOST_TOLD];

    assert(k <= CT_MOST_TOLD);
    ct_fpenv fp = ct_os_fp_enter();
    int n = kernel->select(best, l, k, excluded, n_excluded, NULL);
    for (int i = 0; i < n; i++)
        value[i] = l->value[best[i]];
    float nat = n ? kernel->entropy(value, n) : 0;
    ct_os_fp_leave(fp);
    return nat;
}

float ct_cpu_logprob(struct ct_backend *b, const struct ct_logits *l, int32_t id, carat_logprob *top, int k)
{
    const struct ct_kernel *kernel = &ct_cpu(b)->kernel;
    int32_t best[CT_MOST_TOLD];
    float most;

    assert(!l->id && id < l->n && k <= CT_MOST_TOLD);
    ct_fpenv fp = ct_os_fp_enter();
    float sum = kernel->log_sum(l->value, l->n, &most);
    int n = kernel->select(best, l, k, NULL, 0, NULL);
    for (int i = 0; i < n; i++)
        top[i] = (carat_logprob){best[i], (l->value[best[i]] - most) - sum};
    float own = (l->value[id] - most) - sum;
    ct_os_fp_leave(fp);
    return own;
}

void ct_cpu_top(struct ct_backend *base, const struct ct_logits *l, int k, carat_candidate *out)
{
    struct ct_cpu_backend *b = ct_cpu(base);
    int n = b->kernel.select(b->draw.order, l, k, NULL, 0, b->draw.spare);

    assert(n == k);
    for (int i = 0; i < n; i++)
        out[i] = (carat_candidate){ct_logits_id(l, b->draw.order[i]), l->value[b->draw.order[i]]};
}

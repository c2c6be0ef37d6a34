/* SPDX-License-Identifier: Apache-2.0 */
/* head.c: logits from what the forward pass leaves: a product with the head, which often is the embedding
 * table again, and the soft-cap of Gemma 2. */
#include "model/head.h"

void ct_head(const struct ct_pass *p, int first, int n, float *const *to)
{
    project_logits(p->backend, p->h, first, n, to, &p->weights->head, p->config->logit_cap);
}

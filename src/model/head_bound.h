/* SPDX-License-Identifier: Apache-2.0 */
/* head_bound.h: how far what a sketch says of a row of the head may be from the row's logit (NUMERICS.md
 * section 12). Which rows are left out by that: prune of the kernels; what is then done: model/head.c. */
#ifndef CT_HEAD_BOUND_H
#define CT_HEAD_BOUND_H

#include "quant/logits.h"
#include "quant/weight.h"

/* The bound of a row w[cols] as the head's product sees it, and of its sketch, both decoded. The type of the
 * head has no minimum. */
void ct_head_bound_row(struct ct_row_bound *out, const float *w, const float *sketch, int cols);
/* The part of a token, in the head's product by fast arithmetic. Infinite where numbers are so large that
 * something could overflow. */
struct ct_token_bound ct_head_bound_token(const struct ct_weight *head, const struct ct_input_norms *norms);

#endif

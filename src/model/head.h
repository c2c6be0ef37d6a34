/* SPDX-License-Identifier: Apache-2.0 */
/* head.h: the last step: how well each id of the vocabulary would come next. */
#ifndef CT_HEAD_H
#define CT_HEAD_H

#include "model/forward.h"

/* The logits of rows [first, first + n) of those that want them, after ct_forward and before the end of the
 * pass: row first + i goes to to[i], n_vocab values in memory of the host. */
void ct_head(const struct ct_pass *p, int first, int n, float *const *to);

#endif

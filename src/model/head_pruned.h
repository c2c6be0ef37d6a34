/* SPDX-License-Identifier: Apache-2.0 */
/* head_pruned.h: the strategy that gives what the full head gives for draws that begin with top-k, and reads
 * little more than a sketch of it. Why nothing is lost: NUMERICS.md section 12. */
#ifndef CT_HEAD_PRUNED_H
#define CT_HEAD_PRUNED_H

#include "model/head.h"

extern const struct ct_head_strategy ct_strategy_pruned;

/* Why a head cannot be pruned, a clause; NULL: it can. */
const char *ct_not_pruned(const struct ct_weight *head);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* head_account.h: whether a pruned head pays, by what it took: a pure function of the times it is told. No
 * result depends on it. */
#ifndef CT_HEAD_ACCOUNT_H
#define CT_HEAD_ACCOUNT_H

#include "base/base.h"

enum { CT_HEAD_BUCKETS = 4 }; /* of 1, 2, 3-4 and more rows at a time, which cost otherwise */

struct ct_head_account {
    struct ct_head_times {
        double pruned, dense; /* seconds, moving means; 0: not known */
        bool known, pays;     /* whether enough steps were measured, and what they said last */
        int n_pruned, n_dense;
        bool probes;    /* the next pruned step counts alone */
        int doubts;     /* pruned steps in a row that did not pay */
        int left, rest; /* steps that stay dense; how many the next time */
    } of[CT_HEAD_BUCKETS];
};

/* Whether the next step with n rows is pruned. */
bool ct_head_account_prunes(struct ct_head_account *a, int n);
/* Why a step with n rows was not pruned, a clause. */
const char *ct_head_account_reason(struct ct_head_account *a, int n);
/* It was, or was not, and took so long. What is known of steps with n rows by now. */
const struct ct_head_times *ct_head_account_took(struct ct_head_account *a, int n, bool pruned,
                                                 double seconds);

#endif

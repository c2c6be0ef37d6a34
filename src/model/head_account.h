/* SPDX-License-Identifier: Apache-2.0 */
/* head_account.h: decides whether a pruned head pays, by the times of steps. No result depends on it. */
#ifndef CT_HEAD_ACCOUNT_H
#define CT_HEAD_ACCOUNT_H

#include "base/base.h"

enum { CT_HEAD_BUCKETS = 4 }; /* 1, 2, 3 or 4, and more rows at a time, which differ in cost */

struct ct_head_account {
    struct ct_head_times {
        double pruned, dense; /* seconds, moving means; 0: not known */
        bool known, pays;     /* enough steps were measured; what the last of them said */
        int n_pruned, n_dense;
        bool probes;    /* the next pruned step is judged by itself */
        int doubts;     /* pruned steps in a row that did not pay */
        int left, rest; /* steps that are dense from now on; and after the next failure */
    } of[CT_HEAD_BUCKETS];
};

/* True when the next step with n rows is pruned. */
bool ct_head_account_prunes(struct ct_head_account *a, int n);
/* Why a step with n rows was not pruned, a clause. */
const char *ct_head_account_reason(struct ct_head_account *a, int n);
/* It was, or was not, and took so long. What is known of steps with n rows by now. */
const struct ct_head_times *ct_head_account_took(struct ct_head_account *a, int n, bool pruned,
                                                 double seconds);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* head_audit.h: every so many tokens the whole head is computed beside what a strategy gave. */
#ifndef CT_HEAD_AUDIT_H
#define CT_HEAD_AUDIT_H

#include "model/head.h"

/* Takes memory of the host where the options of the head ask for audits. */
void ct_head_audit_lay_out(struct ct_head *h);
/* Looks at what the strategy gave for rows [first, first + n) of the pass, and counts it in stats. */
void ct_head_audit_rows(struct ct_head *h, const struct ct_pass *p, int first, int n,
                        const struct ct_head_row *row);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* head_check.c: what audits of the head must have found when a verb ends. */
#include "model/head.h"
#include "term/message.h"

int check_audits(const carat_head_stats *head)
{
    if (!head->exact || !head->differences)
        return DONE;
    return term_fail(CHECK_FAILED, "--audit: %llu of %llu results of %s differ from dense",
                     (unsigned long long)head->differences, (unsigned long long)head->audits,
                     carat_head_name(head->strategy));
}

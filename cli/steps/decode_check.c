/* SPDX-License-Identifier: Apache-2.0 */
/* decode_check.c: what must hold at the end of `carat decode`: of audits of the head, and of the rounds. */
#include "model/head.h"
#include "steps/decode.h"
#include "term/exit.h"
#include "term/message.h"

int decode_check(const struct decoding *d)
{
    const size_t n = (size_t)d->n_steps;

    TRY(check_audits(&d->head));
    for (size_t i = n; i < n * (size_t)d->n_rounds; i++) {
        if (d->steps[i].id == d->steps[i % n].id)
            continue;
        return term_fail(CHECK_FAILED, "round %zu gave id %d in step %zu, where the first gave %d", i / n + 1,
                         (int)d->steps[i].id, i % n + 1, (int)d->steps[i % n].id);
    }
    return DONE;
}

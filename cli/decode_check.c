/* SPDX-License-Identifier: Apache-2.0 */
/* decode_check.c: what must hold after the last round of `carat decode`. */
#include "decode.h"

int decode_check(const struct decoding *d)
{
    const size_t n = (size_t)d->n_steps;

    if (d->head.exact && d->head.differences)
        return fail(CHECK_FAILED, "--audit: %llu of %llu results of %s differ from dense",
                    (unsigned long long)d->head.differences, (unsigned long long)d->head.audits,
                    carat_head_name(d->head.strategy));
    for (size_t i = n; i < n * (size_t)d->n_rounds; i++) {
        if (d->steps[i].id == d->steps[i % n].id)
            continue;
        return fail(CHECK_FAILED, "round %zu gave id %d in step %zu, where the first gave %d", i / n + 1,
                    (int)d->steps[i].id, i % n + 1, (int)d->steps[i % n].id);
    }
    return DONE;
}

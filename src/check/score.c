/* SPDX-License-Identifier: Apache-2.0 */
/* score.c: which compilation of the metrics (metrics.c) this processor runs. */
#include "check/score.h"

#include "os/cpu.h"

extern const struct ct_score ct_score_ref;
#if defined(__x86_64__)
extern const struct ct_score ct_score_avx2;
#endif

const struct ct_score *ct_score(void)
{
#if defined(__x86_64__)
    if (ct_cpu_has_avx2())
        return &ct_score_avx2;
#endif
    return &ct_score_ref;
}

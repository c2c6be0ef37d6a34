/* SPDX-License-Identifier: Apache-2.0 */
/* tier.h: whether a test looks at all there is or at a sample. `make check` takes a sample; an entry of CTest
 * whose name ends in _all, and the deeper checks, say CARAT_TIER=deep. */
#ifndef CT_TEST_TIER_H
#define CT_TEST_TIER_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline bool tier_is_deep(void)
{
    const char *tier = getenv("CARAT_TIER");

    return tier && strcmp(tier, "deep") == 0;
}

#endif

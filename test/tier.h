/* SPDX-License-Identifier: Apache-2.0 */
/* tier.h: whether a test looks at all there is or at a sample. `make check` takes a sample; entries of CTest
 * whose names end in _all say CARAT_TIER=deep. A part of the sample is another one after each commit:
 * tools/check.sh gives the number of commits in CARAT_TURN. */
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

/* Which part of what rotates is looked at, from 0. */
static inline unsigned tier_turn(void)
{
    const char *turn = getenv("CARAT_TURN");

    return turn ? (unsigned)strtoul(turn, NULL, 10) : 0;
}

/* Whether the sample has one of n, by its place, that is not always in it: two of them are. */
static inline bool tier_takes(unsigned i, unsigned n)
{
    const unsigned first = 2 * tier_turn() % n;

    return tier_is_deep() || i == first || i == (first + 1) % n;
}

/* Whether it is the turn of one of n cases that take turns in the sample. */
static inline bool tier_reaches(unsigned i, unsigned n)
{
    return tier_is_deep() || tier_turn() % n == i;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* head_util.h: what the tests of heads share: options and counts of a head, and a line that it says. All
 * functions are static and end the running test when something they need is missing. */
#ifndef CT_TEST_HEAD_UTIL_H
#define CT_TEST_HEAD_UTIL_H

#include <carat_generate.h>

#include "invariance.h"

#define TINY CT_TEST_DATA "/../../models/tiny"
enum { SMALL = 64 }; /* rows of a tile: 16 of tiny */

UNUSED static carat_head_options head_options(carat_head strategy, int tile, int capacity)
{
    carat_head_options h;
    carat_head_options_default(&h);
    h.strategy = strategy;
    h.tile = tile;
    h.capacity = capacity;
    return h;
}

UNUSED static carat_head_stats stats_of(carat_engine *engine)
{
    carat_head_stats s = {.size = sizeof s};
    OK(carat_engine_get_head(engine, &s, err));
    return s;
}

UNUSED static void hear_line(void *user, const char *line)
{
    snprintf(user, 256, "%s", line);
}

#endif

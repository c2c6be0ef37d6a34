/* SPDX-License-Identifier: Apache-2.0 */
/* ranges_face.c: the functions of carat_convert.h about ranges of values: arguments are checked here.
 * Measuring is engine/ranges.c's. */
#include "engine/ranges.h"

#include "base/arguments.h"

carat_status carat_ranges_begin(carat_ranges **ranges, carat_engine *engine, carat_error *err)
{
    CT_GIVEN(ranges, err);
    CT_GIVEN(engine, err);
    return ct_ranges_begin(ranges, engine, err);
}

carat_status carat_ranges_visit(const carat_ranges *ranges, carat_range_visit visit, void *user,
                                carat_error *err)
{
    CT_GIVEN(ranges, err);
    CT_GIVEN(visit, err);
    ct_ranges_visit(ranges, visit, user);
    return CARAT_OK;
}

float carat_ranges_scale(const carat_ranges *ranges)
{
    return ranges ? ct_ranges_scale(ranges) : 1;
}

void carat_ranges_end(carat_ranges *ranges)
{
    ct_ranges_end(ranges);
}

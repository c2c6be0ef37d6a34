/* SPDX-License-Identifier: Apache-2.0 */
/* ranges.h: how large values become, measured while an engine evaluates. */
#ifndef CT_RANGES_H
#define CT_RANGES_H

#include "carat_convert.h"
#include "engine/engine.h"

/* What carat_convert.h says of carat_ranges_begin and the others. */
carat_status ct_ranges_begin(carat_ranges **ranges, carat_engine *e, carat_error *err);
void ct_ranges_visit(const carat_ranges *ranges, carat_range_visit visit, void *user);
float ct_ranges_scale(const carat_ranges *ranges);
void ct_ranges_end(carat_ranges *ranges);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* show_ranges.h: `carat show --ranges`. */
#ifndef SHOW_SHOW_RANGES_H
#define SHOW_SHOW_RANGES_H

#include "carat.h"
#include "options/options.h"

/* Evaluates a text and prints how large the values of each operation became. An exit code. */
int show_ranges(const carat_model *model, const struct options *o);

#endif

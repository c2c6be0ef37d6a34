/* SPDX-License-Identifier: Apache-2.0 */
/* show_memory.h: the part of `carat show` about memory. */
#ifndef SHOW_SHOW_MEMORY_H
#define SHOW_SHOW_MEMORY_H

#include <jansson.h>

#include "carat.h"
#include "carat_tools.h"
#include "options/options.h"

/* e is what the plan was made of. */
int show_memory(const carat_model *model, const carat_engine_options *e, const carat_plan *plan,
                const struct options *o);
json_t *show_memory_json(const carat_model *model, const carat_engine_options *e, const carat_plan *plan,
                         const struct options *o);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* column_sums.h: how much each column of a matrix matters, measured while an engine evaluates. */
#ifndef CT_COLUMN_SUMS_H
#define CT_COLUMN_SUMS_H

#include "carat_convert.h"
#include "engine/engine.h"

/* What carat_convert.h says of carat_importance_begin and the others. */
carat_status ct_importance_begin(carat_importance **i, carat_engine *e, carat_error *err);
carat_status ct_importance_write(const carat_importance *i, const char *path, const char *dataset, int chunk,
                                 carat_error *err);
void ct_importance_end(carat_importance *i);

#endif

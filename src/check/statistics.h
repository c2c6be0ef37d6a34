/* SPDX-License-Identifier: Apache-2.0 */
/* statistics.h: what many numbers say together, and whether an answer goes round. */
#ifndef CT_STATISTICS_H
#define CT_STATISTICS_H

#include "base/base.h"
#include "carat_quality.h"

/* Resamples of prompts behind an interval. */
enum { CT_RESAMPLES = 2000 };

/* As carat_summarise and carat_repetition_of, for checked arguments. E_MEMORY. */
carat_status ct_summarise(const double *values, const int64_t *counts, int n_prompts, carat_summary *s,
                          carat_error *err);
carat_status ct_repetition_of(const int32_t *ids, int n, carat_repetition *r, carat_error *err);

#endif

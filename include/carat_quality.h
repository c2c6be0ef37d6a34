/* SPDX-License-Identifier: Apache-2.0 */
/* carat_quality.h: libcarat, how good a model is and how far from another one. carat.h runs a model and has the
 * rules on threads, errors and sizes, which hold here too. QUALITY.md says what each number means. */
#ifndef CARAT_QUALITY_H
#define CARAT_QUALITY_H

#include "carat.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------- summaries ----
 * What many positions of many prompts say together. The tokens of a prompt depend on each other, so the interval
 * is a bootstrap over prompts: 2000 times, as many prompts as there are are drawn again, with the same random
 * numbers everywhere. NUMERICS.md has the arithmetic. */

typedef struct carat_summary {
    size_t size;
    int64_t n;                          /* values that count: NaN is left out */
    double mean, median, p90, p99, max; /* NaN when there are none; quantiles as numpy.quantile's default */
    int has_interval;                   /* 0: fewer than two prompts have values */
    double low, high;                   /* 95 % of the mean; NaN without an interval */
} carat_summary;
CARAT_DEFAULT(carat_summary)
/* values are those of prompt 0, then of prompt 1 and so on; counts[n_prompts] says how many each has. They are read
 * several times and copied nowhere, so that they may be a mapped file. Any thread. CARAT_E_ARGUMENT,
 * CARAT_E_MEMORY. */
CARAT_API carat_status carat_summarise(const double *values, const int64_t *counts, int n_prompts,
                                       carat_summary *summary, carat_error *err);

/* Whether an answer goes round. */
typedef struct carat_repetition {
    size_t size;
    int repeated_4grams; /* places whose four ids stood there before */
    int cycle;           /* shortest period, at most 64, in which it ends, for 3 times and 32 ids; 0: none */
    int cycle_start;     /* place from which on it has that period; 0 without one */
} carat_repetition;
CARAT_DEFAULT(carat_repetition)
/* ids may be NULL when n is 0. Any thread. CARAT_E_ARGUMENT, CARAT_E_MEMORY. */
CARAT_API carat_status carat_repetition_of(const int32_t *ids, int n, carat_repetition *repetition,
                                           carat_error *err);

#ifdef __cplusplus
}
#endif

#endif

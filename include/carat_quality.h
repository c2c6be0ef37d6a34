/* SPDX-License-Identifier: Apache-2.0 */
/* carat_quality.h: libcarat, how good a model is and how far from another one. carat.h runs a model and has the
 * rules on threads, errors and sizes, which hold here too. QUALITY.md says what each number means. */
#ifndef CARAT_QUALITY_H
#define CARAT_QUALITY_H

#include "carat.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --------------------------------------------------------------- metrics ----
 * In double, with natural logarithms, over the ids of the text vocabulary, from logits behind the soft-cap.
 * The same logits give the same bits on every processor. NUMERICS.md section 13 has the formulas. */

typedef struct carat_difference_options {
    size_t size;
    int top;         /* ids of carat_difference.overlap; 0: 10; at most 1024 */
    double near_tie; /* margins of the reference below it are near-ties; 0: 0.05; below 0: none is */
    int has_next;    /* 1: `next` is the id that comes next */
    int32_t next;
    const int32_t *ids; /* [n] of the logits, ascending, where some are left out; NULL: 0 to n - 1 */
} carat_difference_options;
CARAT_DEFAULT(carat_difference_options)
/* How far two rows of logits are apart. p is their softmax. */
typedef struct carat_difference {
    size_t size;
    double kl, kl_reverse; /* KL(ref||test) = sum p_ref (log p_ref - log p_test), and KL(test||ref) */
    double correlation;    /* Pearson's, of the logits */
    double cosine;         /* of the logits */
    double entropy_ref, entropy_test;
    int32_t top_ref, top_test;        /* ids of the highest logits; the lower of two alike */
    int match;                        /* 1: these are the same */
    double margin_ref, margin_test;   /* first minus second logit */
    int near_tie;                     /* 1: margin_ref is small */
    int overlap;                      /* ids that are among the highest of both */
    double largest;                   /* largest absolute difference among the reference's hundred highest */
    double logprob_ref, logprob_test; /* of the id that comes next; 0 without one, or when it is left out */
    double delta_p;                   /* its probability in test minus that in ref */
    int compared, left_out;           /* ids that both rows have, and the rest of the text vocabulary */
} carat_difference;
CARAT_DEFAULT(carat_difference)
/* Of the logits ref[n] and test[n], n at least 2; options may be NULL. left_out is 0: nobody said how many
 * ids there are. Any thread. CARAT_E_ARGUMENT, CARAT_E_NUMERIC (a NaN or infinity; the message says in which,
 * and the id). */
CARAT_API carat_status carat_difference_of(const float *ref, const float *test, int n,
                                           const carat_difference_options *options,
                                           carat_difference *difference, carat_error *err);

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

/* SPDX-License-Identifier: Apache-2.0 */
/* quality.h: what the files behind carat_quality.h give the face and each other: rows are scored by
 * kernel/score.h; here it is said what is compared with what. */
#ifndef CT_QUALITY_H
#define CT_QUALITY_H

#include "carat_quality.h"
#include "kernel/score.h"

enum { CT_REF, CT_TEST, CT_SIDES }; /* of a comparison */

#define CT_DEFAULT_TOP      10
#define CT_DEFAULT_NEAR_TIE 0.05

/* difference.c: the numbers of a pair for ids, of which column i is id[i]; id NULL: i. */
void ct_difference(carat_difference *d, const struct ct_score_pair *pair, const int32_t *id, double near_tie);
/* What carat_quality.h says of carat_difference_of, for checked arguments; options are complete. */
carat_status ct_difference_of(const float *ref, const float *test, int n, const carat_difference_options *o,
                              carat_difference *d, carat_error *err);

#endif

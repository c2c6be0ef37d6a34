/* SPDX-License-Identifier: Apache-2.0 */
/* quality.h: what the functions of carat_quality.h share; those of bisecting have bisect.h. */
#ifndef CT_QUALITY_H
#define CT_QUALITY_H

#include "base/arguments.h"
#include "carat_quality.h"
#include "check/score.h"

enum { CT_REF, CT_TEST, CT_SIDES }; /* of a comparison */

/* For messages. */
static inline const char *ct_side_name(int side)
{
    return side == CT_REF ? "the reference" : "the test";
}

#define CT_DEFAULT_TOP      10
#define CT_DEFAULT_NEAR_TIE 0.05

/* difference.c: the numbers of a pair for ids, of which column i is id[i]; id NULL: i. */
void ct_difference(carat_difference *d, const struct ct_score_pair *pair, const int32_t *id, double near_tie);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* quality.h: the functions behind carat_quality.h, for the face and for each other; those of bisecting are in
 * bisect.h. The face has refused NULL and claimed sessions; all else is checked here. */
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
carat_status ct_difference_of(const float *ref, const float *test, int n,
                              const carat_difference_options *options, carat_difference *difference,
                              carat_error *err);

/* statistics.c */
carat_status ct_summarise(const double *values, const int64_t *counts, int n_prompts, carat_summary *summary,
                          carat_error *err);
carat_status ct_repetition_of(const int32_t *ids, int n, carat_repetition *repetition, carat_error *err);

/* judge.c */
const char *ct_health_name(carat_health health);
carat_quality_limits ct_quality_limits(void);
carat_status ct_judge(const carat_quality *quality, const carat_quality_limits *limits,
                      carat_judgement *judgement, carat_error *err);

/* compare.c */
const char *ct_driver_name(carat_driver driver);
carat_status ct_compare(carat_engine *ref, carat_engine *test, const carat_compare_prompt *prompt,
                        const carat_compare_options *options, carat_error *err);

/* score_ids.c; options are complete. */
carat_status ct_score_ids(carat_session *session, const int32_t *ids, int n, double *logprob,
                          const carat_score_options *options, carat_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h: what compare.c and judge.c give the face: engines are run and compared, and what was found is
 * judged. */
#ifndef CT_COMPARE_H
#define CT_COMPARE_H

#include "carat_quality.h"
#include "engine/engine.h"

/* compare.c */
const char *ct_driver_name(carat_driver driver);
/* What carat_quality.h says of carat_compare; options are
 * complete. */
carat_status ct_compare(carat_engine *ref, carat_engine *test, const carat_compare_prompt *prompt,
                        const carat_compare_options *o, carat_error *err);

/* judge.c */
const char *ct_health_name(carat_health health);
void ct_quality_limits(carat_quality_limits *limits);
carat_status ct_judge(const carat_quality *q, const carat_quality_limits *limits, carat_judgement *j,
                      carat_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* score_ids.h: how likely a model finds ids that somebody else chose. */
#ifndef CT_SCORE_IDS_H
#define CT_SCORE_IDS_H

#include "carat_quality.h"

/* What carat_quality.h says of carat_score; the pointers are no NULL, and n is at least 1. */
carat_status ct_score_ids(carat_session *session, const int32_t *ids, int n, double *logprob,
                          carat_error *err);

#endif

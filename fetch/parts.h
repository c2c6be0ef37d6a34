/* SPDX-License-Identifier: Apache-2.0 */
/* parts.h: parts of files, told instead of kept: what their heads say of a model that is not fetched. */
#ifndef FETCH_PARTS_H
#define FETCH_PARTS_H

#include "http.h"
#include "plan.h"

/* Tells of each file of the plan the bytes from..until, report_part. A code of report.h. */
int parts_tell(struct http *h, struct plan *plan);

#endif

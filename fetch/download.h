/* SPDX-License-Identifier: Apache-2.0 */
/* download.h: the files of a plan, from the hub into the cache. */
#ifndef FETCH_DOWNLOAD_H
#define FETCH_DOWNLOAD_H

#include "http.h"
#include "plan.h"

/* Fetches what is missing, and tells how it goes. A code of report.h. */
int download_all(struct http *h, struct plan *plan);
/* Tells the files of the plan, and which of them are there; makes nothing. */
int download_check(const struct plan *plan);

#endif

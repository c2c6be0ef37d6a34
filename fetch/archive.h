/* SPDX-License-Identifier: Apache-2.0 */
/* archive.h: the files of a plan out of one archive, a tar.gz that has them all, where many are missing. */
#ifndef FETCH_ARCHIVE_H
#define FETCH_ARCHIVE_H

#include "http.h"
#include "plan.h"

/* Does "get" for a source whose `question` asks for the archive where the plan has a tap: fetches single
 * files where few are missing. A code of report.h. */
int archive_get(struct http *h, struct plan *plan);

#endif

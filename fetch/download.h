/* SPDX-License-Identifier: Apache-2.0 */
/* download.h: what becomes of the files of a plan: they are fetched (download.c), parts of them are told
 * instead of kept (parts.c), or those on the disk are hashed, and nobody is asked (rehash.c). */
#ifndef FETCH_DOWNLOAD_H
#define FETCH_DOWNLOAD_H

#include "http.h"
#include "plan.h"

/* Fetches what is missing, and tells how it goes. A code of report.h. */
int download_all(struct http *h, struct plan *plan);
/* Tells the files of the plan, and which of them are there; makes nothing. */
int download_check(const struct plan *plan);

/* ---- parts.c ---- */

/* Tells of each file of the plan the bytes from..until, report_part. A code of report.h. */
int parts_tell(struct http *h, struct plan *plan);

/* ---- rehash.c ---- */

/* Hashes the plan's files below its root, each in the way of the hash that it has there, and tells of each,
 * report_file, what it is; without a hash what cannot be read. A code of report.h. */
int rehash_all(const struct plan *plan);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* rehash.h: what files on the disk are by now. Nobody is asked for anything. */
#ifndef FETCH_REHASH_H
#define FETCH_REHASH_H

#include "plan.h"

/* Hashes the plan's files below its root, each in the way of the hash that it has there, and tells of each,
 * report_file, what it is; without a hash what cannot be read. A code of report.h. */
int rehash_all(const struct plan *plan);

#endif

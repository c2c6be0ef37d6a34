/* SPDX-License-Identifier: Apache-2.0 */
/* remove.h: what removing a model means wherever it lies: the question, a file, the packed copy. */
#ifndef STORE_REMOVE_H
#define STORE_REMOVE_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes of the packed copy of what lies at the path; where `removes`, it goes. */
uint64_t packed_copy(const char *path, bool removes);
/* An exit code; what is not there is no mistake. */
int remove_file(const char *path);
/* Asks, unless `yes`. called: what is removed, for the question. An exit code: DONE means yes. */
int agree_to_remove(const char *called, uint64_t freed, bool yes);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* cache_file.h: small files of the command's own in the cache directory: what was measured, remembered. */
#ifndef CACHE_FILE_H
#define CACHE_FILE_H

#include <stdbool.h>

#include "model/cache_place.h"

enum { CACHE_FILE_WHY = MOST_CACHE_PATH + 128 };

/* A whole file, malloc'd; NULL when another user could have written it, or it has more than `most` bytes. */
char *cache_file_read(const struct cache_place *cache, const char *name, size_t most, size_t *n);
/* Puts text[n] in the place of the file, whole or not at all; with its directory, which has to be this user's
 * alone. lasts: it is on the disk then. False, with the reason in why. */
bool cache_file_write(const struct cache_place *cache, const char *name, const char *text, size_t n,
                      bool lasts, char why[CACHE_FILE_WHY]);

#endif

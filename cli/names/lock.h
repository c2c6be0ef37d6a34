/* SPDX-License-Identifier: Apache-2.0 */
/* lock.h: models.lock of the working directory: which commit of its repository a name stands for there, and
 * the hashes of its files, so that everybody who works in that directory has the same model. */
#ifndef MODEL_LOCK_H
#define MODEL_LOCK_H

#include <jansson.h>

#include "carat_tools.h"

enum { LOCKED_NAME = 1024 };
/* Finds the entry that the file has of a name, for json_decref; NULL: nothing. name[] gets what is locked:
 * OWNER/NAME@COMMIT:PART. An exit code; it is an error when the file is damaged, or has the name for another
 * repository. */
int lock_find(json_t **entry, char name[LOCKED_NAME], const carat_location *at, const char *typed);
/* Checks that what was found by that name has the locked hashes. An exit code. */
int lock_check(const json_t *entry, const carat_location *at, const char *typed);
/* Locks a model that was found, in place of what the file has of that name. An exit code. */
int lock_add(const carat_location *at, const char *typed);

#endif

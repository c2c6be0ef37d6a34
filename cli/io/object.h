/* SPDX-License-Identifier: Apache-2.0 */
/* object.h: a small file that holds an object of JSON. */
#ifndef IO_OBJECT_H
#define IO_OBJECT_H

#include <jansson.h>

enum { OBJECT_WHY = 200 };
/* An empty object where there is no such file; NULL: it is none of at most a megabyte, and why says so. */
json_t *object_read(const char *path, char why[OBJECT_WHY]);

#endif

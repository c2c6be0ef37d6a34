/* SPDX-License-Identifier: Apache-2.0 */
/* json_place.h: where a value stands in the text of JSON. */
#ifndef IO_JSON_PLACE_H
#define IO_JSON_PLACE_H

#include <stddef.h>

#include <jansson.h>

/* The byte at which a member of an object that was read begins, or element i of that list when i >= 0; 0 when
 * it is not found. */
size_t json_member_at(const char *text, size_t n, const char *member, int i);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* json_write.h: JSON written into buffers by patterns. What it writes has no newline in it, and is UTF-8
 * whatever the texts are. */
#ifndef JSON_WRITE_H
#define JSON_WRITE_H

#include <stdint.h>

#include "buffer.h"

/* A pattern is JSON in which ' stands for the double quote, and of what follows it
 *   %s  a const char *, a string; NULL is null
 *   %t  a const char * and a size_t, a string
 *   %r  a const char *, JSON as it is
 *   %d  an int; %l an int64_t; %u a uint64_t; %f a double, null where it is not finite
 *   %b  an int, true or false */
void json_put(struct buffer *b, const char *pattern, ...);
/* A string with its quotes. Bytes that are no UTF-8 become U+FFFD. */
void json_put_string(struct buffer *b, const char *s, size_t n);
/* JSON that was read, without the space between its tokens. */
void json_put_compact(struct buffer *b, const char *s, size_t n);
/* What %f writes as the shortest decimal number that is this float: 0.95. */
double json_short(float value);
/* A list of numbers. */
void json_put_ids(struct buffer *b, const int32_t *ids, int n);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* names.h: hashes that come from others, before anything is done with them. */
#ifndef FETCH_NAMES_H
#define FETCH_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* 40 or 64 hexadecimal digits, in lower case. */
bool is_hash(const char *s, size_t n);
/* That, or 32, or none. */
bool is_any_hash(const char *s, size_t n);

#endif

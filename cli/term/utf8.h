/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.h: UTF-8 as the command checks it. */
#ifndef TERM_UTF8_H
#define TERM_UTF8_H

#include <stddef.h>

/* Offset of the first byte that is not part of well-formed UTF-8; n when all is well. */
size_t utf8_valid(const char *text, size_t n);
/* The text with U+FFFD for every byte that is not UTF-8, malloc'd and terminated; NULL when memory is
 * out. */
char *utf8_clean(const char *text, size_t n, size_t *n_clean);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* compat.h: options of other programs that are none here. */
#ifndef OPTIONS_COMPAT_H
#define OPTIONS_COMPAT_H

#include <stdbool.h>
#include <stddef.h>

struct foreign;
/* NULL when the word of n bytes is not one of them. */
const struct foreign *foreign_find(const char *word, size_t n);
/* Accepts it, or says why not. name is the spelling, attached what followed a = or NULL, next the word after
 * it or NULL; *took_next is set when that was its value. An exit code. */
int foreign_take(const struct foreign *f, const char *verb, const char *name, const char *attached,
                 const char *next, bool *took_next);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* fold.h: where a line is cut that has more characters than there are columns. */
#ifndef TERM_FOLD_H
#define TERM_FOLD_H

#include <stddef.h>

/* The bytes of the line's first `columns` characters: whole words. Where the first one behind `label` does
 * not fit, all of it is the line, so that a path can be copied. */
size_t columns_fit(const char *line, size_t n, int columns, int label);

#endif

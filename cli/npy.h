/* SPDX-License-Identifier: Apache-2.0 */
/* npy.h: writes float32 arrays as NPY version 1.0, row by row, into a file that save.h has opened and closes.
 */
#ifndef NPY_H
#define NPY_H

#include <stddef.h>

#include "save.h"

/* Opens it and writes the header: shape (cols) when rows is 0, else (rows, cols). Exit codes. */
int npy_create(struct save *npy, const char *path, size_t rows, size_t cols);
int npy_row(struct save *npy, const float *row, size_t cols);

#endif

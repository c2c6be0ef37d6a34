/* SPDX-License-Identifier: Apache-2.0 */
/* npy.h: writes float32 arrays as NPY version 1.0, row by row, into a file that save.h has opened and
 * closes; maps arrays of rows that carat or numpy.save wrote. */
#ifndef NPY_H
#define NPY_H

#include <stddef.h>

#include "io/save.h"

/* Opens it and writes the header: shape (cols) when rows is 0, else (rows, cols). Exit codes. */
int npy_create(struct save *npy, const char *path, size_t rows, size_t cols);
int npy_row(struct save *npy, const float *row, size_t cols);

/* A mapped file. */
struct npy_rows {
    const float *value; /* [rows][cols] */
    size_t rows, cols;
    void *base;
    size_t length;
};
/* float32 [rows][cols] in C order, in versions 1.0 to 3.0. BAD_MODEL, with what was found and what is
 * expected, when the file is anything else, has other columns or fewer than least_rows; FAILED when it
 * cannot be read. */
int npy_map(struct npy_rows *n, const char *path, size_t cols, size_t least_rows);
void npy_unmap(struct npy_rows *n); /* also {0} */

#endif

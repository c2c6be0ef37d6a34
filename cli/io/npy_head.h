/* SPDX-License-Identifier: Apache-2.0 */
/* npy_head.h: what the head of an NPY file says. */
#ifndef NPY_HEAD_H
#define NPY_HEAD_H

#include <stdbool.h>
#include <stddef.h>

struct npy_head {
    size_t rows, cols; /* float32, little-endian, in C order */
    size_t data;       /* where the rows begin, a multiple of 4; all of them are there */
    char wrong[200];   /* when it is refused: what was found, and what is expected */
};

/* The head of the file whose bytes are data[size]. False: see wrong. */
bool npy_head(struct npy_head *h, const unsigned char *data, size_t size);

#endif

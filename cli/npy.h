/* npy.h: writes float32 arrays as NPY version 1.0, row by row. A regular file appears under its name only when it
 * is complete. */
#ifndef NPY_H
#define NPY_H

#include <stddef.h>
#include <stdio.h>

struct npy {
    FILE *file;
    const char *path;
    char *partial; /* the name written to, NULL when path itself is (a device, a pipe) */
};

/* Writes the header: shape (cols) when rows is 0, else (rows, cols). Exit codes. */
int npy_create(struct npy *npy, const char *path, size_t rows, size_t cols);
int npy_row(struct npy *npy, const float *row, size_t cols);
int npy_finish(struct npy *npy);
/* Throws away what is unfinished; harmless after npy_finish and on {0}. */
void npy_abandon(struct npy *npy);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* npy.c: the NPY writer, on top of save.c. */
#include "npy.h"

#include <string.h>

#include "cli.h"

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define DESCR "<f4"
#else
#define DESCR ">f4"
#endif

int npy_create(struct save *npy, const char *path, size_t rows, size_t cols)
{
    char header[192], shape[64];
    int code, n;

    if ((code = save_open(npy, path)) != DONE)
        return code;
    if (rows)
        snprintf(shape, sizeof shape, "(%zu, %zu)", rows, cols);
    else
        snprintf(shape, sizeof shape, "(%zu,)", cols);
    /* Magic, version 1.0 and a length of two bytes, then a Python literal padded so that the data starts on
     * 64. */
    n = snprintf(header + 10, sizeof header - 10,
                 "{'descr': '" DESCR "', 'fortran_order': False, 'shape': %s, }", shape);
    n += 10;
    while ((n + 1) % 64)
        header[n++] = ' ';
    header[n++] = '\n';
    memcpy(header, "\x93NUMPY\x01\x00", 8);
    header[8] = (char)((n - 10) & 0xff);
    header[9] = (char)((n - 10) >> 8);
    if (fwrite(header, 1, (size_t)n, npy->file) != (size_t)n) {
        code = save_failed(npy);
        save_abandon(npy);
    }
    return code;
}

int npy_row(struct save *npy, const float *row, size_t cols)
{
    return fwrite(row, sizeof *row, cols, npy->file) == cols ? DONE : save_failed(npy);
}

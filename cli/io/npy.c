/* SPDX-License-Identifier: Apache-2.0 */
/* npy.c: the NPY writer, on top of save.c, and the mapping of files whose head npy_head.c has read. */
#define _POSIX_C_SOURCE 200809L
#include "io/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/npy_head.h"
#include "term/message.h"

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define DESCR "<f4"
#else
#define DESCR ">f4"
#endif

int npy_create(struct save *npy, const char *path, size_t rows, size_t cols)
{
    char header[192], shape[64];
    int n;

    TRY(save_open(npy, path));
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
    if (fwrite(header, 1, (size_t)n, npy->file) == (size_t)n)
        return DONE;
    int code = save_failed(npy);
    save_abandon(npy);
    return code;
}

int npy_row(struct save *npy, const float *row, size_t cols)
{
    return fwrite(row, sizeof *row, cols, npy->file) == cols ? DONE : save_failed(npy);
}

/* Maps a file that is not empty. */
static int map_file(struct npy_rows *n, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK),
        code = DONE; /* a pipe would wait for its writer */
    struct stat s;

    if (fd < 0 || fstat(fd, &s) != 0) {
        code = term_fail(FAILED, "%s: cannot be opened: %s", path, strerror(errno));
    } else if (!S_ISREG(s.st_mode)) {
        code = term_fail(FAILED, "%s: is not a regular file, which recorded logits must be", path);
    } else if (s.st_size > 0) {
        n->length = (size_t)s.st_size;
        n->base = mmap(NULL, n->length, PROT_READ, MAP_PRIVATE, fd, 0);
        if (n->base == MAP_FAILED) {
            n->base = NULL;
            code = term_fail(FAILED, "%s: cannot be mapped: %s", path, strerror(errno));
        }
    }
    if (fd >= 0)
        close(fd);
    return code;
}

int npy_map(struct npy_rows *n, const char *path, size_t cols, size_t least_rows)
{
    struct npy_head head;
    int code;

    *n = (struct npy_rows){0};
    code = map_file(n, path);
    if (code == DONE && !npy_head(&head, n->base, n->length))
        code = fail_as(BAD_MODEL, CARAT_E_FORMAT, "%s: %s", path, head.wrong);
    if (code == DONE && (head.cols != cols || head.rows < least_rows))
        code = fail_as(
            BAD_MODEL, CARAT_E_FORMAT,
            "%s: its shape is (%zu, %zu), expected (%zu or more, %zu): ids, and the model's vocabulary", path,
            head.rows, head.cols, least_rows, cols);
    if (code != DONE) {
        npy_unmap(n);
        return code;
    }
    n->rows = head.rows;
    n->cols = head.cols;
    n->value = (const float *)(const void *)((const char *)n->base + head.data);
    return DONE;
}

void npy_unmap(struct npy_rows *n)
{
    if (n->base)
        munmap(n->base, n->length);
    *n = (struct npy_rows){0};
}

/* npy.c: the NPY writer. "-" is standard output. */
#define _POSIX_C_SOURCE 200809L
#include "npy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define DESCR "<f4"
#else
#define DESCR ">f4"
#endif

static int open_file(struct npy *npy)
{
    struct stat s;
    size_t n = strlen(npy->path) + 32;

    if (strcmp(npy->path, "-") == 0) {
        int fd = dup(STDOUT_FILENO);
        npy->file = fd < 0 ? NULL : fdopen(fd, "wb");
    } else if (stat(npy->path, &s) == 0 && !S_ISREG(s.st_mode)) {
        npy->file = fopen(npy->path, "wb");
    } else {
        npy->partial = malloc(n);
        if (!npy->partial)
            return fail_memory();
        snprintf(npy->partial, n, "%s.%ld.part", npy->path, (long)getpid());
        npy->file = fopen(npy->partial, "wb");
    }
    if (!npy->file)
        return fail(FAILED, "cannot create %s: %s", npy->path, strerror(errno));
    return DONE;
}

static int write_failed(const struct npy *npy)
{
    if (errno == EPIPE && strcmp(npy->path, "-") == 0)
        return PIPE_CLOSED;
    return fail(FAILED, "cannot write %s: %s", npy->path, strerror(errno));
}

int npy_create(struct npy *npy, const char *path, size_t rows, size_t cols)
{
    char header[192], shape[64];
    int code, n;

    *npy = (struct npy){.path = path};
    if ((code = open_file(npy)) != DONE) {
        npy_abandon(npy);
        return code;
    }
    if (rows)
        snprintf(shape, sizeof shape, "(%zu, %zu)", rows, cols);
    else
        snprintf(shape, sizeof shape, "(%zu,)", cols);
    /* Magic, version 1.0 and a length of two bytes, then a Python literal padded so that the data starts on 64. */
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
        code = write_failed(npy);
        npy_abandon(npy);
    }
    return code;
}

int npy_row(struct npy *npy, const float *row, size_t cols)
{
    return fwrite(row, sizeof *row, cols, npy->file) == cols ? DONE : write_failed(npy);
}

int npy_finish(struct npy *npy)
{
    FILE *file = npy->file;
    int code = DONE;

    npy->file = NULL;
    if (fclose(file) != 0 || (npy->partial && rename(npy->partial, npy->path) != 0)) {
        code = write_failed(npy);
        npy_abandon(npy);
    }
    free(npy->partial);
    npy->partial = NULL;
    return code;
}

void npy_abandon(struct npy *npy)
{
    if (npy->file)
        fclose(npy->file);
    if (npy->partial)
        unlink(npy->partial);
    free(npy->partial);
    npy->file = NULL;
    npy->partial = NULL;
}

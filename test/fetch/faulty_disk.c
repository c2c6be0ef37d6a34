/* SPDX-License-Identifier: Apache-2.0 */
/* faulty_disk.c: put before the C library (LD_PRELOAD), a disk that misbehaves as variables say:
 *
 *     FAULTY_WRITE=N   the N-th write to a file fails, and all behind it: it is full
 *     FAULTY_FLOCK=1   flock does nothing, and says that it did
 *     FAULTY_FLOCK=N   flock fails with the error N
 *     FAULTY_RENAME=T  another process renames what has T in its path just before this one
 *     FAULTY_SYMLINK=1 there are no links */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_int writes;

static int is_full(int fd)
{
    const char *limit = getenv("FAULTY_WRITE");
    struct stat st;

    if (!limit || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
        atomic_fetch_add(&writes, 1) + 1 < atoi(limit))
        return 0;
    errno = ENOSPC;
    return 1;
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
{
    static ssize_t (*real)(int, const void *, size_t, off_t);

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "pwrite");
    return is_full(fd) ? -1 : real(fd, data, n, at);
}

ssize_t write(int fd, const void *data, size_t n)
{
    static ssize_t (*real)(int, const void *, size_t);

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "write");
    return is_full(fd) ? -1 : real(fd, data, n);
}

int flock(int fd, int operation)
{
    static int (*real)(int, int);

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "flock");
    const char *fault = getenv("FAULTY_FLOCK");
    if (!fault)
        return real(fd, operation);
    errno = atoi(fault);
    return errno > 1 ? -1 : 0;
}

int rename(const char *from, const char *to)
{
    static int (*real)(const char *, const char *);

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "rename");
    const char *text = getenv("FAULTY_RENAME");
    const int code = real(from, to);
    if (code != 0 || !text || !strstr(from, text))
        return code;
    errno = ENOENT;
    return -1;
}

int symlink(const char *target, const char *path)
{
    static int (*real)(const char *, const char *);

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "symlink");
    errno = EPERM;
    return getenv("FAULTY_SYMLINK") ? -1 : real(target, path);
}

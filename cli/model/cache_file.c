/* SPDX-License-Identifier: Apache-2.0 */
/* cache_file.c: see cache_file.h. A file appears by rename, so that any number of processes may write it at
 * once; what its text may be is its owner's business. */
#define _POSIX_C_SOURCE 200809L
#include "model/cache_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* Why nothing can be remembered. */
static int refuse(char why[CACHE_FILE_WHY], const char *path, const char *reason)
{
    snprintf(why, CACHE_FILE_WHY, "%s: %s", path, reason);
    return -1;
}

/* Opens the directory, which must belong to this user: root leaves no file in another user's home. -1 with
 * the reason. */
static int open_cache(char why[CACHE_FILE_WHY], const struct cache_place *cache)
{
    struct stat st;

    if (!*cache->path) {
        snprintf(why, CACHE_FILE_WHY, "there is no cache directory");
        return -1;
    }
    int fd = open(cache->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return refuse(why, cache->path, strerror(errno));
    bool mine = fstat(fd, &st) == 0 && st.st_uid == geteuid();
    if (mine && !(st.st_mode & (S_IWGRP | S_IWOTH)))
        return fd;
    close(fd);
    return refuse(why, cache->path, mine ? "others may write to it" : "it belongs to another user");
}

/* With the directories above it; what cannot be made is met when it is opened. */
static void make_directory(const char *path)
{
    char part[MOST_CACHE_PATH];

    for (const char *slash = path; *slash;) {
        slash += 1 + strcspn(slash + 1, "/");
        snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        mkdir(part, 0700);
    }
}

char *cache_file_read(const struct cache_place *cache, const char *name, size_t most, size_t *n)
{
    char why[CACHE_FILE_WHY], *text = NULL;
    struct stat st;
    int directory = open_cache(why, cache);

    if (directory < 0)
        return NULL;
    int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    close(directory);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
        !(st.st_mode & (S_IWGRP | S_IWOTH)) && st.st_size > 0 && (size_t)st.st_size <= most &&
        (text = malloc(most)) != NULL) {
        ssize_t got = read(fd, text, most);
        *n = got > 0 ? (size_t)got : 0;
    }
    close(fd);
    return text;
}

/* All of it under its own name, then under the name that counts. */
static bool replace(int directory, const char *target, const char *text, size_t n, bool lasts)
{
    struct timespec t;
    char name[96];

    clock_gettime(CLOCK_REALTIME, &t); /* a process of another container may have the same number */
    snprintf(name, sizeof name, "%s.%ld-%ld.part", target, (long)getpid(), t.tv_nsec);
    int fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    ssize_t written = write(fd, text, n);
    bool good = written == (ssize_t)n && (!lasts || fsync(fd) == 0);
    if (written >= 0 && written < (ssize_t)n)
        errno = ENOSPC;
    int error = errno;
    close(fd);
    if (good && renameat(directory, name, directory, target) == 0)
        return !lasts || fsync(directory) == 0;
    if (good)
        error = errno;
    unlinkat(directory, name, 0);
    errno = error;
    return false;
}

bool cache_file_write(const struct cache_place *cache, const char *name, const char *text, size_t n,
                      bool lasts, char why[CACHE_FILE_WHY])
{
    if (*cache->path)
        make_directory(cache->path);
    int directory = open_cache(why, cache);
    if (directory < 0)
        return false;
    bool good = replace(directory, name, text, n, lasts);
    if (!good)
        refuse(why, cache->path, strerror(errno));
    close(directory);
    return good;
}

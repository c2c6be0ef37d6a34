/* SPDX-License-Identifier: Apache-2.0 */
/* new_dir.c: see new_dir.h. Files in it are new_file.c's. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/new_dir.h"

#include "os/files.h"

static int open_dir(int at, const char *path)
{
    return openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

/* Calls visit with every name in the directory until it returns false; that is then returned. */
static bool each_in(int fd, bool (*visit)(int fd, const char *name, int number), int number)
{
    const int copy = open_dir(fd, ".");
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    const struct dirent *e;
    bool on = dir != NULL;

    if (!dir && copy >= 0)
        close(copy);
    while (on && (e = readdir(dir)) != NULL)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            on = visit(fd, e->d_name, number);
    if (dir)
        closedir(dir);
    return on;
}

static bool nothing(int fd, const char *name, int number)
{
    (void)fd, (void)name, (void)number;
    return false;
}

static bool remove_entry(int fd, const char *name, int depth)
{
    const int inner = depth > 0 ? open_dir(fd, name) : -1;

    if (inner < 0)
        return unlinkat(fd, name, 0) == 0;
    each_in(inner, remove_entry, depth - 1);
    close(inner);
    return unlinkat(fd, name, AT_REMOVEDIR) == 0;
}

bool ct_os_takes_dir(const char *path, const char **why)
{
    struct stat st;
    const char *last = strrchr(path, '/');

    last = last ? last + 1 : path;
    if (strcmp(last, ".") == 0 || strcmp(last, "..") == 0) { /* which cannot be replaced */
        *why = "is no name that a new directory can have";
        return false;
    }
    *why = NULL;
    if (lstat(path, &st) != 0)
        return true;
    const int fd = S_ISDIR(st.st_mode) ? open_dir(AT_FDCWD, path) : -1;
    const bool empty = fd >= 0 && each_in(fd, nothing, 0);
    *why = fd >= 0               ? "has files in it"
           : S_ISDIR(st.st_mode) ? "cannot be read"
                                 : "is there and is no directory";
    if (fd >= 0)
        close(fd);
    return empty;
}

carat_status ct_os_new_dir_begin(struct ct_os_new_dir *d, const char *path, carat_error *err)
{
    *d = (struct ct_os_new_dir){.fd = -1, .path = path};
    for (int attempt = 0; attempt < 100; attempt++) {
        struct stat st, named;
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return ct_fail(err, CARAT_E_IO, "%s: cannot be made: %s", path, ct_os_reason(errno));
        const int fd = open_dir(AT_FDCWD, path);
        if (fd < 0 && errno == ENOENT) /* it just got its name */
            continue;
        if (fd < 0)
            return ct_fail(err, CARAT_E_IO, "%s: cannot be made: %s", path, ct_os_reason(errno));
        if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
            const int number = errno;
            close(fd);
            return number == EWOULDBLOCK
                       ? ct_fail(err, CARAT_E_BUSY, "%s: another process is making it", path)
                       : ct_fail(err, CARAT_E_IO, "%s: cannot be locked: %s", path, ct_os_reason(number));
        }
        /* Who held it before may have given it its name: then the lock is on that, and nothing is here. */
        if (fstat(fd, &st) != 0 || lstat(path, &named) != 0 || st.st_ino != named.st_ino ||
            st.st_dev != named.st_dev) {
            close(fd);
            continue;
        }
        if (!each_in(fd, remove_entry, 1)) {
            close(fd);
            return ct_fail(err, CARAT_E_IO, "%s: what is left there cannot be removed", path);
        }
        d->fd = fd;
        return CARAT_OK;
    }
    return ct_fail(err, CARAT_E_BUSY, "%s: another process keeps making it", path);
}

carat_status ct_os_new_dir_folder(const struct ct_os_new_dir *d, const char *name, carat_error *err)
{
    if (mkdirat(d->fd, name, 0777) == 0 || errno == EEXIST)
        return CARAT_OK;
    return ct_fail(err, CARAT_E_IO, "%s/%s: cannot be made: %s", d->path, name, ct_os_reason(errno));
}

static bool sync_folder(int fd, const char *name, int number)
{
    const int inner = open_dir(fd, name);

    (void)number;
    if (inner < 0)
        return true; /* a file */
    const bool synced = fsync(inner) == 0;
    close(inner);
    return synced;
}

carat_status ct_os_new_dir_finish(struct ct_os_new_dir *d, const char *name, carat_error *err)
{
    char above[4096];
    const char *slash = strrchr(name, '/');

    if (!each_in(d->fd, sync_folder, 0) || fsync(d->fd) != 0 || rename(d->path, name) != 0) {
        carat_status status =
            ct_fail(err, CARAT_E_IO, "%s: cannot be written: %s", name, ct_os_reason(errno));
        ct_os_new_dir_abandon(d);
        return status;
    }
    snprintf(above, sizeof above, "%.*s", slash ? (int)(slash - name) + 1 : 1, slash ? name : ".");
    const int fd = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd); /* so that the new name outlives a power cut */
        close(fd);
    }
    close(d->fd);
    d->fd = -1;
    return CARAT_OK;
}

carat_status ct_os_new_dir_borrow(const struct ct_os_new_dir *d, const char *from, carat_error *err)
{
    char *whole = realpath(from, NULL), target[4096];
    DIR *dir = whole ? opendir(whole) : NULL;
    const struct dirent *e;
    bool linked = dir != NULL;

    while (linked && (e = readdir(dir)) != NULL) {
        const int n = snprintf(target, sizeof target, "%s/%s", whole, e->d_name);
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            linked =
                (size_t)n < sizeof target && (symlinkat(target, d->fd, e->d_name) == 0 || errno == EEXIST);
    }
    carat_status status =
        linked ? CARAT_OK
               : ct_fail(err, CARAT_E_IO, "%s: cannot be read anew: %s", from, ct_os_reason(errno));
    if (dir)
        closedir(dir);
    free(whole);
    return status;
}

static bool give_entry(int fd, const char *name, int to)
{
    struct stat st;

    if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    return !S_ISREG(st.st_mode) || renameat(fd, name, to, name) == 0;
}

carat_status ct_os_new_dir_give(struct ct_os_new_dir *d, const char *to, carat_error *err)
{
    const int fd = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool given = fd >= 0 && each_in(d->fd, give_entry, fd) && fsync(fd) == 0;
    carat_status status =
        given ? CARAT_OK : ct_fail(err, CARAT_E_IO, "%s: cannot be written: %s", to, ct_os_reason(errno));

    if (fd >= 0)
        close(fd);
    ct_os_new_dir_abandon(d);
    return status;
}

void ct_os_new_dir_abandon(struct ct_os_new_dir *d)
{
    if (d->fd < 0)
        return;
    each_in(d->fd, remove_entry, 1);
    rmdir(d->path);
    close(d->fd);
    d->fd = -1;
}

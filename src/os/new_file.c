/* SPDX-License-Identifier: Apache-2.0 */
/* new_file.c: directories, new files that appear whole, small files, the room on a disk. Reading is
 * files.c's; what is written and where, checkpoint/'s. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "os/new_file.h"
#include "os/memory.h"

/* ---- directories ---- */

static bool make_with_parents(const char *dir)
{
    char path[4096];
    size_t n = strlen(dir);

    if (n == 0 || n >= sizeof path)
        return false;
    memcpy(path, dir, n + 1);
    for (char *slash = path + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = 0;
        if (mkdir(path, 0700) != 0 && errno != EEXIST && access(path, F_OK) != 0)
            return false;
        *slash = '/';
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

bool ct_os_replaceable(const char *path)
{
    struct stat st;

    return lstat(path, &st) != 0 || S_ISREG(st.st_mode) || S_ISLNK(st.st_mode);
}

bool ct_os_own_file(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
           (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool ct_os_own_directory(const char *dir, bool make, bool *writable, const char **why)
{
    struct stat st;

    if (stat(dir, &st) != 0 && (errno != ENOENT || !make || !make_with_parents(dir) || stat(dir, &st) != 0)) {
        *why = make ? "it cannot be made" : "it is not there";
        return false;
    }
    *why = !S_ISDIR(st.st_mode)                 ? "it is not a directory"
           : st.st_uid != geteuid()             ? "it belongs to another user"
           : (st.st_mode & (S_IWGRP | S_IWOTH)) ? "others may write to it"
                                                : NULL;
    *writable = !*why && ct_os_takes_files(dir);
    return !*why;
}

bool ct_os_takes_files(const char *dir)
{
    struct stat st;
    return stat(dir, &st) == 0 && S_ISDIR(st.st_mode) &&
           faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS) == 0;
}

bool ct_os_disk(const char *dir, uint64_t *total, uint64_t *left)
{
    struct statvfs st;

    if (statvfs(dir, &st) != 0)
        return false;
    *total = (uint64_t)(st.f_blocks - st.f_bfree + st.f_bavail) * st.f_frsize;
    *left = (uint64_t)st.f_bavail * st.f_frsize;
    return true;
}

bool ct_os_remove(const char *path)
{
    return unlink(path) == 0;
}

void ct_os_remove_empty(const char *dir)
{
    (void)rmdir(dir);
}

/* ---- a file that appears whole ---- */

/* True when the open file has that name now: the directory may have been cleared, and another file begun. */
static bool is_called(int fd, const char *path, struct ct_os_id *id)
{
    struct stat st;

    return ct_os_identify(id, path) && fstat(fd, &st) == 0 && id->inode == st.st_ino &&
           id->device == st.st_dev;
}

/* The lock is on the file itself: when its process dies it is released, and the next process takes over. */
carat_status ct_os_new_begin(struct ct_os_new *n, const char *path, unsigned mode, carat_error *err)
{
    *n = (struct ct_os_new){.fd = -1, .path = path};
    for (int attempt = 0; attempt < 100; attempt++) {
        struct ct_os_id id;
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode);
        if (fd < 0)
            return ct_fail(err, CARAT_E_IO, "%s: cannot be made: %s", path, ct_os_reason(errno));
        if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
            int number = errno;
            close(fd);
            return number == EWOULDBLOCK
                       ? ct_fail(err, CARAT_E_BUSY, "%s: another process is making it", path)
                       : ct_fail(err, CARAT_E_IO, "%s: cannot be locked: %s", path, ct_os_reason(number));
        }
        /* Who held it before may have given it its name: then the lock is on that, and nothing is here. */
        bool same = is_called(fd, path, &id);
        if (same && ftruncate(fd, 0) == 0) {
            n->fd = fd;
            return CARAT_OK;
        }
        int number = errno;
        close(fd);
        if (same)
            return ct_fail(err, CARAT_E_IO, "%s: cannot be emptied: %s", path, ct_os_reason(number));
    }
    return ct_fail(err, CARAT_E_BUSY, "%s: another process keeps making it", path);
}

bool ct_os_new_held(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0;

    if (fd >= 0)
        close(fd);
    return held;
}

/* Beyond this limit a write would not fail but kill (SIGXFSZ). */
static bool may_write(size_t size)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur;
}

carat_status ct_os_new_size(struct ct_os_new *n, size_t size, carat_error *err)
{
    /* Room is taken before a byte is written: a write into a mapping cannot fail, only kill. */
    int number = may_write(size) ? posix_fallocate(n->fd, 0, (off_t)size) : EFBIG;

    if (number)
        return ct_fail(err, CARAT_E_IO, "%s: there is no room for %zu bytes: %s", n->path, size,
                       ct_os_reason(number));
    void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, n->fd, 0);
    if (base == MAP_FAILED)
        return ct_fail(err, errno == ENOMEM ? CARAT_E_MEMORY : CARAT_E_IO,
                       "%s: %zu bytes cannot be mapped: %s", n->path, size, ct_os_reason(errno));
    ct_os_huge(base, size); /* as its pages are made now, later mappings find them */
    n->base = base;
    n->size = size;
    return CARAT_OK;
}

void ct_os_new_written(struct ct_os_new *n)
{
    if (n->base)
        munmap(n->base, n->size);
    n->base = NULL;
}

static void let_go(struct ct_os_new *n)
{
    ct_os_new_written(n);
    if (n->fd >= 0) {
        flock(n->fd, LOCK_UN); /* a mapping of the file would keep the lock */
        close(n->fd);
    }
    n->fd = -1;
}

/* So that the new name outlives a power cut. */
static void sync_directory_of(const char *path)
{
    char dir[4096];
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) + 1 : 0;

    if (n >= sizeof dir)
        return;
    memcpy(dir, n ? path : "./", n ? n : 2);
    dir[n ? n : 2] = 0;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
}

/* Gives the file its name. *id: as ct_os_new_finish says. */
static carat_status new_name(struct ct_os_new *n, const char *name, bool synced, struct ct_os_id *id,
                             carat_error *err)
{
    struct timespec now, times[2] = {{.tv_nsec = UTIME_OMIT}};

    ct_os_new_written(n);
    clock_gettime(CLOCK_REALTIME, &now);
    times[1] = (struct timespec){now.tv_sec - 1, now.tv_nsec};
    bool there = is_called(n->fd, n->path, id);
    if (!there || (synced && (futimens(n->fd, times) != 0 || fsync(n->fd) != 0)) ||
        rename(n->path, name) != 0) {
        carat_status status = ct_fail(err, CARAT_E_IO, "%s: cannot be written: %s", name,
                                      there ? ct_os_reason(errno) : "it was removed meanwhile");
        ct_os_new_abandon(n);
        return status;
    }
    if (!is_called(n->fd, name, id))
        *id = (struct ct_os_id){0};
    if (synced)
        sync_directory_of(name);
    let_go(n);
    return CARAT_OK;
}

carat_status ct_os_new_finish(struct ct_os_new *n, const char *name, struct ct_os_id *id, carat_error *err)
{
    return new_name(n, name, true, id, err);
}

carat_status ct_os_new_rename(struct ct_os_new *n, const char *name, carat_error *err)
{
    struct ct_os_id id;
    return new_name(n, name, false, &id, err);
}

void ct_os_new_abandon(struct ct_os_new *n)
{
    struct ct_os_id id;

    if (n->fd >= 0 && is_called(n->fd, n->path, &id))
        unlink(n->path);
    let_go(n);
}

/* ---- small files ---- */

bool ct_os_put(const char *path, const void *data, size_t n)
{
    unlink(path);
    int fd = may_write(n) ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    if (fd < 0)
        return false;
    bool whole = write(fd, data, n) == (ssize_t)n;
    return close(fd) == 0 && whole;
}

size_t ct_os_get(const char *path, void *data, size_t n)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t got = fd < 0 ? -1 : read(fd, data, n);

    if (fd >= 0)
        close(fd);
    return got < 0 ? 0 : (size_t)got;
}

void ct_os_touch(const char *path)
{
    utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* files.c: maps files and says what lies at a path. Writing is new_file.c's. */
#define _GNU_SOURCE
#include "os/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* strerror is not safe with threads and strerror_r has two shapes; this one is constant and in English. */
const char *ct_os_reason(int number)
{
    const char *text = strerrordesc_np(number);
    return text ? text : "unknown system error";
}

static const char *kind_of(mode_t mode)
{
    return S_ISDIR(mode)    ? "a directory"
           : S_ISFIFO(mode) ? "a pipe"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

/* A path in a message: of a very long one the end, so that the reason still has room. */
struct shown {
    char text[260];
};
static struct shown shown(const char *path)
{
    struct shown s;
    size_t n = strlen(path);
    snprintf(s.text, sizeof s.text, "%s%s", n < sizeof s.text ? "" : "...",
             n < sizeof s.text ? path : path + n - 256);
    return s;
}

/* "PATH: cannot be WHAT: REASON" */
static carat_status files_fail(carat_error *err, carat_status code, const char *path, const char *what,
                               int number)
{
    return ct_fail(err, code, "%s: cannot be %s: %s", shown(path).text, what, ct_os_reason(number));
}

static struct ct_os_id id_of(const struct stat *st)
{
    return (struct ct_os_id){st->st_dev, st->st_ino, (uint64_t)st->st_size,
                             (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
                             (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec};
}

int ct_os_open_file(const char *path, struct ct_os_id *id)
{
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe would wait for its writer */

    if (fd < 0)
        return -1;
    errno = 0;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        *id = id_of(&st);
        posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM); /* no more is read than is asked for */
        return fd;
    }
    const int why = errno;
    close(fd);
    errno = why;
    return -1;
}

int ct_os_share_file(int fd)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

void ct_os_close_file(int fd)
{
    close(fd);
}

bool ct_os_read_at(int fd, void *to, size_t n, uint64_t at, int *error)
{
    for (size_t done = 0; done < n;) {
        const ssize_t got = pread(fd, (uint8_t *)to + done, n - done, (off_t)(at + done));
        if (got < 0 && errno == EINTR)
            continue;
        *error = got < 0 ? errno : 0;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

void ct_os_will_read(int fd, uint64_t at, size_t n)
{
    posix_fadvise(fd, (off_t)at, (off_t)n, POSIX_FADV_WILLNEED);
}

int ct_os_identify(struct ct_os_id *id, const char *path)
{
    struct stat st;
    const bool there = stat(path, &st) == 0;
    *id = there ? id_of(&st) : (struct ct_os_id){0};
    return !there ? 0 : S_ISDIR(st.st_mode) ? 2 : 1;
}

int ct_os_kind(const char *path)
{
    struct ct_os_id id;
    return ct_os_identify(&id, path);
}

carat_status ct_os_map(struct ct_map *m, const char *path, carat_error *err)
{
    static const uint64_t nothing; /* aligned as a mapping is */
    struct stat st;
    carat_status status = CARAT_OK;

    *m = (struct ct_map){0};
    /* Without O_NONBLOCK opening a pipe would wait for a writer. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return files_fail(err, errno == ENOENT || errno == ENOTDIR ? CARAT_E_NOT_FOUND : CARAT_E_IO, path,
                          "opened", errno);
    if (fstat(fd, &st) != 0) {
        status = files_fail(err, CARAT_E_IO, path, "examined", errno);
    } else if (!S_ISREG(st.st_mode)) {
        status = ct_fail(err, CARAT_E_IO, "%s: is %s, expected a regular file", shown(path).text,
                         kind_of(st.st_mode));
    } else if (st.st_size == 0) {
        /* Files of /proc say that they are empty and are not. */
        char byte;
        ssize_t n = read(fd, &byte, 1);
        if (n < 0)
            status = files_fail(err, CARAT_E_IO, path, "read", errno);
        else if (n > 0)
            status = ct_fail(err, CARAT_E_IO, "%s: is made by the kernel on reading, expected a regular file",
                             shown(path).text);
        else
            m->bytes = (struct ct_bytes){(const uint8_t *)&nothing, 0};
    } else {
        size_t size = (size_t)st.st_size;
        void *base = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (base == MAP_FAILED)
            status =
                ct_fail(err, errno == ENOMEM ? CARAT_E_MEMORY : CARAT_E_IO,
                        "%s: %zu bytes cannot be mapped: %s", shown(path).text, size, ct_os_reason(errno));
        else
            *m = (struct ct_map){.bytes = {base, size}, .base = base, .length = size};
    }
    if (status == CARAT_OK)
        m->id = id_of(&st);
    close(fd);
    return status;
}

void ct_os_unmap(struct ct_map *m)
{
    if (m->base)
        munmap(m->base, m->length);
    *m = (struct ct_map){0};
}

bool ct_os_absent(const char *path)
{
    struct stat st;
    return lstat(path, &st) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

bool ct_os_read_link(char *target, size_t n, const char *path)
{
    const ssize_t length = readlink(path, target, n);

    if (length < 0 || (size_t)length >= n)
        return false;
    target[length] = 0;
    return true;
}

carat_status ct_os_look(int *kind, const char *path, carat_error *err)
{
    char target[256];

    *kind = ct_os_kind(path);
    const int number = errno;
    if (*kind || ct_os_absent(path))
        return CARAT_OK;
    if (number == ELOOP)
        return ct_fail(err, CARAT_E_IO, "%s: is a link that leads in a circle", shown(path).text);
    ssize_t n = readlink(path, target, sizeof target - 1);
    if (number != ENOENT || n < 0)
        return files_fail(err, CARAT_E_IO, path, "examined", number);
    target[n] = 0;
    return ct_fail(err, CARAT_E_NOT_FOUND, "%s: is a link to %s, which is not there", shown(path).text,
                   target);
}

void ct_os_absolute(char *out, size_t n, const char *path)
{
    char here[4096];
    bool known = *path != '/' && getcwd(here, sizeof here) && *here == '/';

    while (known && path[0] == '.' && path[1] == '/')
        path += 2;
    if (!known || snprintf(out, n, "%s/%s", strcmp(here, "/") ? here : "", path) >= (int)n)
        snprintf(out, n, "%s", path);
}

carat_status ct_os_enter(const char *dir, carat_error *err)
{
    struct stat st;
    carat_status status = CARAT_OK;
    int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstatat(fd, ".", &st, 0) != 0)
        status = ct_fail(err, CARAT_E_IO, "%s: the directory cannot be searched: %s", shown(dir).text,
                         ct_os_reason(errno));
    if (fd >= 0)
        close(fd);
    return status;
}

bool ct_os_read_head(const char *path, uint64_t n, void (*feed)(void *user, const void *p, size_t n),
                     void *user)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    uint8_t piece[1 << 15];
    uint64_t done = 0;

    while (fd >= 0 && done < n) {
        ssize_t got = read(fd, piece, (size_t)CT_MIN((uint64_t)sizeof piece, n - done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        feed(user, piece, (size_t)got);
        done += (uint64_t)got;
    }
    if (fd >= 0)
        close(fd);
    return fd >= 0 && done == n;
}

void ct_os_names_in(const char *dir, void (*visit)(void *user, const char *name), void *user)
{
    DIR *d = opendir(dir);
    struct dirent *entry;

    while (d && (entry = readdir(d)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            visit(user, entry->d_name);
    if (d)
        closedir(d);
}

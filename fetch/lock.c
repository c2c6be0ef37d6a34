/* SPDX-License-Identifier: Apache-2.0 */
/* lock.c: see store.h. A lock that is a file has the process and the host of who has it in it, by which
 * others find out that he is gone. */
#define _GNU_SOURCE
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "layout.h"
#include "report.h"

enum { LONG = 600 }; /* seconds */

/* True: who made the file is known to be gone. */
static bool is_left(int fd)
{
    char text[512] = "", host[256] = "", own[256] = "";
    long pid = 0;
    const ssize_t n = pread(fd, text, sizeof text - 1, 0);

    if (n <= 0)
        return false;
    const char *named = strstr(text, "\npid="), *of = strstr(text, "\nhost="); /* since filelock 4 */
    gethostname(own, sizeof own - 1);
    if ((!named || !of || sscanf(named, "\npid=%ld", &pid) != 1 || sscanf(of, "\nhost=%255s", host) != 1) &&
        sscanf(text, "%ld\n%255s", &pid, host) != 2)
        return false;
    return pid > 0 && strcmp(host, own) == 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

/* True: the file says nothing of who has it, as before filelock 3.20, and as files do that flock has left. */
static bool is_silent(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && st.st_size == 0 && time(NULL) - st.st_mtime > LONG;
}

static bool is_named(const struct lock *l)
{
    struct stat mine, named;

    return fstat(l->fd, &mine) == 0 && stat(l->path, &named) == 0 && mine.st_ino == named.st_ino;
}

static bool sign(int fd)
{
    char host[256] = "", text[320];

    gethostname(host, sizeof host - 1);
    const int n = snprintf(text, sizeof text, "%ld\n%s\n", (long)getpid(), host);
    return pwrite(fd, text, (size_t)n, 0) == n;
}

/* A new file, or the one that is there. */
static bool open_lock(struct lock *l, bool *new)
{
    const int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC;

    l->fd = open(l->path, flags | O_CREAT | O_EXCL, 0666);
    *new = l->fd >= 0;
    if (l->fd < 0 && errno == EEXIST)
        l->fd = open(l->path, flags, 0666);
    return l->fd >= 0 || errno == ENOENT; /* it has just gone */
}

static int wait_a_little(const atomic_bool *stops)
{
    if (stops && atomic_load(stops))
        return LOCAL; /* why was said */
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    return DONE;
}

/* The descriptor stays open. */
static int take_by_flock(struct lock *l, const atomic_bool *stops, bool *works)
{
    *works = true;
    while (flock(l->fd, LOCK_EX | LOCK_NB) != 0) {
        *works = errno == EINTR || errno == EWOULDBLOCK;
        if (!*works)
            return DONE;
        TRY(wait_a_little(stops));
    }
    l->held = is_named(l); /* who cleans a cache up may remove what others wait for */
    return DONE;
}

int lock_take(struct lock *l, const char *path, bool may_make, atomic_bool *stops)
{
    bool new, works;

    *l = (struct lock){.fd = -1};
    snprintf(l->path, sizeof l->path, "%s", path);
    for (;;) {
        if (!open_lock(l, &new))
            return fail_at(path, "opened");
        if (l->fd < 0)
            continue;
        TRY(take_by_flock(l, stops, &works));
        if (l->held || (!works && (!may_make || (!new &&is_silent(l->fd)))))
            return DONE; /* where nobody can know, what two write is the same */
        if (!works && new) {
            l->held = l->made = sign(l->fd) && is_named(l);
            return DONE;
        }
        if (!works && is_left(l->fd) && is_named(l))
            unlink(path);
        close(l->fd);
        l->fd = -1;
        if (!works)
            TRY(wait_a_little(stops));
    }
}

void lock_leave(struct lock *l)
{
    if (l->made && is_named(l))
        unlink(l->path);
    if (l->fd >= 0)
        close(l->fd);
    *l = (struct lock){.fd = -1};
}

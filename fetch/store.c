/* SPDX-License-Identifier: Apache-2.0 */
/* store.c: see store.h. A file gets its name when its bytes were synced, and what leads to it is made when it
 * is there: at no moment does a name lead to what is not whole. */
#define _GNU_SOURCE
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "report.h"
#include "source.h"

void store_open(struct store *s, const struct plan *plan)
{
    s->plan = plan;
    s->stops = NULL;
    s->layout = *plan->out ? &folder_layout : plan->source->layout;
    s->layout->name(s);
}

static bool is_whole(const struct place *at, const struct wanted *w)
{
    struct stat st;

    return stat(at->whole, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == w->bytes;
}

bool store_has(const struct store *s, const struct wanted *w)
{
    struct place at;

    s->layout->place(&at, s, w);
    return is_whole(&at, w);
}

/* Refuses a file when the disk has no room for what is missing, and 5 % of it beside. */
static int check_room(const struct part *p, int64_t missing)
{
    struct statvfs fs;
    const double free = fstatvfs(p->fd, &fs) == 0 ? (double)fs.f_bavail * (double)fs.f_frsize : INFINITY;

    if (free >= 1.05 * (double)missing)
        return DONE;
    return fetch_refuse(LOCAL, "%s: needs %.2f MB, and the disk has %.2f MB free", p->at.whole,
                        1.05e-6 * (double)missing, 1e-6 * free);
}

static int open_part(struct part *p, const struct wanted *w)
{
    struct stat st;

    if (lstat(p->at.part, &st) != 0 && *p->at.older && lstat(p->at.older, &st) == 0 && S_ISREG(st.st_mode) &&
        st.st_size <= w->bytes)
        rename(p->at.older, p->at.part); /* an older program's half; the hash decides */
    if (lstat(p->at.part, &st) == 0 && (!S_ISREG(st.st_mode) || st.st_size > w->bytes))
        unlink(p->at.part); /* no beginning of this file */
    p->fd = open(p->at.part, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (p->fd < 0 || fstat(p->fd, &st) != 0)
        return fail_at(p->at.part, "opened");
    p->have = st.st_size;
    p->old = p->have > 0;
    return DONE;
}

int store_begin(const struct store *s, struct part *p, const struct wanted *w, int64_t missing, bool *whole)
{
    *p = (struct part){.fd = -1, .lock = {.fd = -1}};
    s->layout->place(&p->at, s, w);
    TRY(make_folders(p->at.whole));
    TRY(make_folders(p->at.part));
    TRY(make_folders(p->at.lock));
    TRY(lock_take(&p->lock, p->at.lock, strcmp(p->at.lock, p->at.part) != 0, s->stops));
    s->layout->place(&p->at, s, w); /* by now it may lie elsewhere */
    *whole = !s->plan->force && is_whole(&p->at, w);
    if (*whole) {
        p->fd = open(p->at.whole, O_RDONLY | O_CLOEXEC);
        return p->fd >= 0 ? DONE : fail_at(p->at.whole, "opened");
    }
    if (!s->layout->by_hash && !s->plan->force && access(p->at.whole, F_OK) == 0)
        return fetch_refuse(LOCAL, "%s: is there, and is another file; --force replaces it", p->at.whole);
    TRY(open_part(p, w));
    TRY(check_room(p, missing - p->have));
    if (fallocate(p->fd, FALLOC_FL_KEEP_SIZE, 0, w->bytes) != 0 && errno == ENOSPC)
        return fail_at(p->at.part, "given its room");
    return DONE;
}

int store_again(struct part *p)
{
    unlink(p->at.part);
    close(p->fd);
    p->have = 0;
    p->old = false;
    p->fd = open(p->at.part, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    return p->fd >= 0 ? DONE : fail_at(p->at.part, "opened");
}

int store_put(struct part *p, const void *data, size_t n)
{
    enum { BEHIND = 32 << 20 };
    const int64_t before = p->have;

    for (size_t at = 0; at < n;) {
        const ssize_t put = pwrite(p->fd, (const char *)data + at, n - at, p->have);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return fetch_refuse(LOCAL, "%s: cannot be written: %s; what has come is kept", p->at.part,
                                strerror(put ? errno : ENOSPC));
        at += (size_t)put;
        p->have += put;
    }
    if (p->have / BEHIND != before / BEHIND) /* the disk begins at once, so that it is soon done in the end */
        sync_file_range(p->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
    return DONE;
}

/* Room that was taken and not used is given back. */
static void give_back_room(const struct part *p)
{
    struct stat st;

    if (p->lock.held && fstat(p->fd, &st) == 0 && st.st_size == p->have)
        (void)!ftruncate(p->fd, st.st_size);
}

void store_leave(struct part *p, bool wrong)
{
    if (p->fd >= 0 && (wrong || (p->lock.held && p->have == 0)))
        unlink(p->at.part);
    else if (p->fd >= 0)
        give_back_room(p);
    if (p->fd >= 0)
        close(p->fd);
    lock_leave(&p->lock);
    p->fd = -1;
}

int store_finish(const struct store *s, struct part *p, const struct wanted *w)
{
    struct stat mine, named;

    if (fsync(p->fd) != 0)
        return fail_at(p->at.part, "synced");
    const bool named_so =
        fstat(p->fd, &mine) == 0 && stat(p->at.part, &named) == 0 && mine.st_ino == named.st_ino;
    if (named_so && rename(p->at.part, p->at.whole) == 0)
        return sync_folder(p->at.whole);
    if (named_so && errno != ENOENT)
        return fail_at(p->at.part, "renamed");
    /* where locks do nothing, another has given it its name, or has written the same */
    return !s->plan->force && is_whole(&p->at, w) ? DONE : PRUNED;
}

int store_enter(const struct store *s, const struct wanted *w)
{
    return s->layout->enter ? s->layout->enter(s, w) : DONE;
}

int store_end(const struct store *s, char *path, size_t capacity)
{
    return s->layout->end(s, path, capacity);
}

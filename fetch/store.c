/* SPDX-License-Identifier: Apache-2.0 */
/* store.c: see store.h. A file gets its name when its bytes were synced, and what leads to it is made when it
 * is there: at no moment does a name lead to what is not whole. */
#define _GNU_SOURCE
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "report.h"
#include "source.h"

void store_open(struct store *s, const struct plan *plan)
{
    s->plan = plan;
    s->layout = *plan->out ? &folder_layout : plan->source->layout;
    s->layout->name(s);
}

bool store_has(const struct store *s, const struct wanted *w)
{
    struct place at;
    struct stat st;

    s->layout->place(&at, s, w);
    return stat(at.whole, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == w->bytes;
}

/* Whether the disk has room for what is missing, and 5 % of it beside. */
static int check_room(const struct part *p, const struct wanted *w)
{
    struct statvfs fs;
    const double missing = (double)(w->bytes - p->have);

    if (fstatvfs(p->fd, &fs) != 0 || (double)fs.f_bavail * (double)fs.f_frsize >= 1.05 * missing)
        return DONE;
    return refuse(LOCAL, "%s: needs %.2f MB, and the disk has %.2f MB free", p->at.whole, 1.05e-6 * missing,
                  1e-6 * (double)fs.f_bavail * (double)fs.f_frsize);
}

int store_begin(const struct store *s, struct part *p, const struct wanted *w, bool *done)
{
    struct stat st;

    *p = (struct part){.fd = -1, .lock = -1};
    s->layout->place(&p->at, s, w);
    TRY(make_folders(p->at.part));
    TRY(make_folders(p->at.lock));
    p->lock = open(p->at.lock, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (p->lock < 0)
        return fail_at(p->at.lock, "opened");
    while (flock(p->lock, LOCK_EX) != 0)
        if (errno != EINTR)
            break; /* a file system without locks: what two write is the same */
    *done = !s->plan->force && store_has(s, w);
    if (*done)
        return DONE;
    if (lstat(p->at.part, &st) == 0 && (!S_ISREG(st.st_mode) || st.st_size > w->bytes))
        unlink(p->at.part); /* no beginning of this file */
    p->fd = open(p->at.part, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (p->fd < 0 || fstat(p->fd, &st) != 0)
        return fail_at(p->at.part, "opened");
    p->have = st.st_size;
    return check_room(p, w);
}

void store_leave(struct part *p, bool wrong)
{
    if (wrong && p->fd >= 0)
        unlink(p->at.part);
    if (p->fd >= 0)
        close(p->fd);
    if (p->lock >= 0)
        close(p->lock);
    p->fd = p->lock = -1;
}

int store_finish(struct part *p)
{
    if (fsync(p->fd) != 0)
        return fail_at(p->at.part, "synced");
    if (rename(p->at.part, p->at.whole) != 0)
        return fail_at(p->at.part, "renamed");
    return sync_folder(p->at.whole);
}

int store_enter(const struct store *s, const struct wanted *w)
{
    return s->layout->enter ? s->layout->enter(s, w) : DONE;
}

int store_end(const struct store *s, char *path, size_t capacity)
{
    return s->layout->end(s, path, capacity);
}

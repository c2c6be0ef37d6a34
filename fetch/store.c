/* SPDX-License-Identifier: Apache-2.0 */
/* store.c: see store.h. A blob gets its name when its bytes were synced, a snapshot its link when the blob is
 * there, a branch its commit when all links are: at no moment does a name lead to what is not whole. */
#define _GNU_SOURCE
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "report.h"

#define UNFINISHED ".carat.incomplete"

static int fail_at(const char *path, const char *what)
{
    return refuse(LOCAL, "%s: cannot be %s: %s", path, what, strerror(errno));
}

/* The folders of a path, without its last part. */
static int make_folders(char *path)
{
    for (char *slash = path + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = 0;
        if (mkdir(path, 0777) != 0 && errno != EEXIST) {
            const int code = fail_at(path, "made");
            *slash = '/';
            return code;
        }
    }
    return DONE;
}

static int sync_folder(const char *path)
{
    char folder[3 * PLAN_PATH];

    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = 0;
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fail_at(folder, "opened");
    fsync(fd);
    close(fd);
    return DONE;
}

/* Backup programs leave a folder out that has this file (bford.info/cachedir). */
static void tag_cache(const char *hub)
{
    static const char text[] = "Signature: 8a477f597d28d172789f06886806bc55\n"
                               "# This file is a cache directory tag, see https://bford.info/cachedir/\n";
    char path[PLAN_PATH + 16];

    snprintf(path, sizeof path, "%s/CACHEDIR.TAG", hub);
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 && write(fd, text, sizeof text - 1) != (ssize_t)sizeof text - 1)
        unlink(path);
    if (fd >= 0)
        close(fd);
}

/* "models--OWNER--NAME" */
static void name_folder(char *out, size_t capacity, const char *repository)
{
    const char *slash = strchr(repository, '/');

    snprintf(out, capacity, "models--%.*s--%s", (int)(slash - repository), repository, slash + 1);
}

int store_open(struct store *s, const struct plan *plan)
{
    static const char *const below[] = {"blobs/", "refs/", "snapshots/"};
    char name[512], path[3 * PLAN_PATH];

    s->plan = plan;
    name_folder(name, sizeof name, plan->repository);
    snprintf(s->folder, sizeof s->folder, "%s/%s", plan->hub, name);
    for (size_t i = 0; i < sizeof below / sizeof below[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", s->folder, below[i]);
        TRY(make_folders(path));
    }
    tag_cache(plan->hub);
    snprintf(path, sizeof path, "%s/.locks/%s/", plan->hub, name);
    return make_folders(path);
}

static void name_blob(char *out, size_t capacity, const struct store *s, const struct wanted *w)
{
    snprintf(out, capacity, "%s/blobs/%s", s->folder, w->hash);
}

bool store_has(const struct store *s, const struct wanted *w)
{
    char path[3 * PLAN_PATH];
    struct stat st;

    name_blob(path, sizeof path, s, w);
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == w->bytes;
}

/* Whether the disk has room for what is missing, and 5 % of it beside. */
static int check_room(const struct part *p, const struct wanted *w)
{
    struct statvfs fs;
    const double missing = (double)(w->bytes - p->have);

    if (fstatvfs(p->fd, &fs) != 0 || (double)fs.f_bavail * (double)fs.f_frsize >= 1.05 * missing)
        return DONE;
    return refuse(LOCAL, "%s: needs %.2f MB, and the disk has %.2f MB free", p->blob, 1.05e-6 * missing,
                  1e-6 * (double)fs.f_bavail * (double)fs.f_frsize);
}

int store_begin(const struct store *s, struct part *p, const struct wanted *w, bool *done)
{
    char name[512], lock[3 * PLAN_PATH];
    struct stat st;

    *p = (struct part){.fd = -1, .lock = -1};
    name_folder(name, sizeof name, s->plan->repository);
    snprintf(lock, sizeof lock, "%s/.locks/%s/%s.lock", s->plan->hub, name, w->hash);
    name_blob(p->blob, sizeof p->blob, s, w);
    snprintf(p->path, sizeof p->path, "%s" UNFINISHED, p->blob);
    p->lock = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (p->lock < 0)
        return fail_at(lock, "opened");
    while (flock(p->lock, LOCK_EX) != 0)
        if (errno != EINTR)
            break; /* a file system without locks: what two write is the same */
    *done = store_has(s, w);
    if (*done)
        return DONE;
    if (lstat(p->path, &st) == 0 && (!S_ISREG(st.st_mode) || st.st_size > w->bytes))
        unlink(p->path); /* no beginning of this file */
    p->fd = open(p->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (p->fd < 0 || fstat(p->fd, &st) != 0)
        return fail_at(p->path, "opened");
    p->have = st.st_size;
    return check_room(p, w);
}

void store_leave(struct part *p, bool wrong)
{
    if (wrong && p->fd >= 0)
        unlink(p->path);
    if (p->fd >= 0)
        close(p->fd);
    if (p->lock >= 0)
        close(p->lock);
    p->fd = p->lock = -1;
}

int store_finish(struct part *p)
{
    if (fsync(p->fd) != 0)
        return fail_at(p->path, "synced");
    if (rename(p->path, p->blob) != 0)
        return fail_at(p->path, "renamed");
    return sync_folder(p->blob);
}

int store_link(const struct store *s, const struct wanted *w)
{
    char path[4 * PLAN_PATH], beside[4 * PLAN_PATH + 32], target[PLAN_PATH] = "../../", old[PLAN_PATH];

    snprintf(path, sizeof path, "%s/snapshots/%s/%s", s->folder, s->plan->commit, w->name);
    TRY(make_folders(path));
    for (const char *slash = w->name; (slash = strchr(slash, '/')); slash++)
        strcat(target, "../");
    strcat(target, "blobs/");
    strcat(target, w->hash);
    if (symlink(target, path) == 0)
        return DONE;
    if (errno != EEXIST)
        return fail_at(path, "linked");
    const ssize_t n = readlink(path, old, sizeof old - 1);
    if (n == (ssize_t)strlen(target) && memcmp(old, target, (size_t)n) == 0)
        return DONE;
    snprintf(beside, sizeof beside, "%s.carat-%ld", path, (long)getpid());
    if (symlink(target, beside) != 0)
        return fail_at(path, "linked");
    return rename(beside, path) == 0 ? DONE : fail_at(path, "linked");
}

int store_ref(const struct store *s, char *path, size_t capacity)
{
    char ref[3 * PLAN_PATH], beside[3 * PLAN_PATH + 32];
    const struct plan *plan = s->plan;

    snprintf(path, capacity, "%s/snapshots/%s", s->folder, plan->commit);
    if (strcmp(plan->revision, plan->commit) == 0)
        return DONE;
    snprintf(ref, sizeof ref, "%s/refs/%s", s->folder, plan->revision);
    TRY(make_folders(ref));
    snprintf(beside, sizeof beside, "%s.carat-%ld", ref, (long)getpid());
    FILE *f = fopen(beside, "we");
    if (!f)
        return fail_at(beside, "made");
    const bool good = fputs(plan->commit, f) >= 0;
    if (fclose(f) != 0 || !good || rename(beside, ref) != 0)
        return fail_at(ref, "written");
    return DONE;
}

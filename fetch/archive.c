/* SPDX-License-Identifier: Apache-2.0 */
/* archive.c: see archive.h. The archive is fetched as any file is, so that it is taken up after an
 * interruption; it is unpacked behind what has come, while it is hashed. Its files get their names, and then
 * their marks, once the hash was right and all are there. What they are is the plan's: an archive that has
 * one of another size, or lacks one, is refused; files that the plan does not name are passed over. */
#define _GNU_SOURCE
#include "archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "download.h"
#include "page.h"
#include "report.h"
#include "source.h"
#include "store.h"
#include "tap.h"
#include "untar.h"

enum {
    MOST_SINGLE = 25,       /* files that are fetched one by one, as kagglehub does */
    SPARE_BYTES = 64 << 20, /* that may be in the archive beside twice what is wanted */
    SPARE_OF_FILE = 8192,
};

/* A file of the plan. */
struct packed {
    const struct wanted *w;
    bool there;
};

struct archive {
    struct tap tap;     /* first: it is cast back */
    struct store store; /* of the files */
    struct plan plan;   /* of the archive */
    struct source source;
    struct wanted whole;
    struct packed *file; /* [n] by name */
    int n, fd;
    struct packed *now;
    int64_t bytes; /* of all files */
    struct untar *untar;
    int code; /* why unpacking ended early, with the message */
    char why[512];
};

typedef char unpacked_path[PLACE_PATH + 48];

static void name_unpacked(unpacked_path path, const struct archive *a, const struct wanted *w)
{
    struct place at;

    a->store.layout->place(&at, &a->store, w);
    snprintf(path, sizeof(unpacked_path), "%s.unpacked", at.part);
}

/* Said at the end: until then nobody knows whether the bytes are right. */
static bool archive_refuse(struct archive *a, int code, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(a->why, sizeof a->why, format, arguments);
    va_end(arguments);
    a->code = code;
    return false;
}

/* ---- its files ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct packed *)a)->w->name, ((const struct packed *)b)->w->name);
}

static bool begin_file(void *user, const char *name, int64_t bytes)
{
    struct archive *a = user;
    struct wanted w = {.bytes = bytes};
    const struct packed key = {.w = &w};
    unpacked_path path;
    char folder[FOLDER_PATH];

    snprintf(w.name, sizeof w.name, "%s", name);
    a->now = bsearch(&key, a->file, (size_t)a->n, sizeof *a->file, by_name);
    if (!a->now)
        return true;
    if (a->now->there)
        return archive_refuse(a, REMOTE, "it has %s twice", name);
    if (a->now->w->bytes != bytes)
        return archive_refuse(a, REMOTE, "its %s has %lld bytes, expected %lld", name, (long long)bytes,
                              (long long)a->now->w->bytes);
    name_unpacked(path, a, a->now->w);
    if (!make_path(folder, path))
        return archive_refuse(a, LOCAL, "%s: cannot be made: %s", folder, strerror(errno));
    a->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    return a->fd >= 0 || archive_refuse(a, LOCAL, "%s: cannot be opened: %s", path, strerror(errno));
}

static bool put_file(void *user, const void *data, size_t n)
{
    struct archive *a = user;

    for (size_t at = 0; a->now && at < n;) {
        const ssize_t put = write(a->fd, (const char *)data + at, n - at);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return archive_refuse(a, LOCAL, "%s: cannot be written: %s; what has come is kept",
                                  a->now->w->name, strerror(put ? errno : ENOSPC));
        at += (size_t)put;
    }
    return true;
}

static bool end_file(void *user)
{
    struct archive *a = user;

    if (!a->now)
        return true;
    a->now->there = true;
    const int closed = close(a->fd);
    a->fd = -1;
    return closed == 0 || archive_refuse(a, LOCAL, "%s: cannot be written: %s; what has come is kept",
                                         a->now->w->name, strerror(errno));
}

/* ---- heard as it comes ---- */

static void stop_unpacking(struct archive *a)
{
    if (a->fd >= 0)
        close(a->fd);
    a->fd = -1;
    untar_close(a->untar);
    a->untar = NULL;
}

static void archive_begin(struct tap *tap)
{
    struct archive *a = (struct archive *)tap;
    const struct untar_listener listener = {begin_file, put_file, end_file, a};

    stop_unpacking(a);
    a->code = DONE;
    for (int i = 0; i < a->n; i++)
        a->file[i].there = false;
    a->untar = untar_open(&listener, 2 * a->bytes + SPARE_BYTES + (int64_t)SPARE_OF_FILE * a->n);
    if (!a->untar)
        archive_refuse(a, NO_MEMORY, "out of memory");
}

static void archive_take(struct tap *tap, const void *data, size_t n)
{
    struct archive *a = (struct archive *)tap;

    if (a->code == DONE && !untar_take(a->untar, data, n) && a->code == DONE)
        archive_refuse(a, REMOTE, "%s", untar_why(a->untar));
}

/* Before anybody hears of it, who may end this process then. */
static void archive_drop(struct tap *tap)
{
    struct archive *a = (struct archive *)tap;
    unpacked_path path;

    stop_unpacking(a);
    for (int i = 0; i < a->n; i++) {
        name_unpacked(path, a, a->file[i].w);
        unlink(path);
    }
}

static int archive_end(struct tap *tap)
{
    struct archive *a = (struct archive *)tap;
    char folder[FOLDER_PATH];

    if (a->code == DONE && !untar_end(a->untar))
        archive_refuse(a, REMOTE, "%s", untar_why(a->untar));
    for (int i = 0; i < a->n && a->code == DONE; i++)
        if (!a->file[i].there)
            archive_refuse(a, REMOTE, "it lacks %s", a->file[i].w->name);
    stop_unpacking(a);
    if (a->code != DONE)
        archive_drop(tap);
    if (a->code != DONE)
        return fetch_refuse(a->code, "the archive of %s: %s", a->store.plan->repository, a->why);
    snprintf(folder, sizeof folder, "%s", a->store.folder);
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || syncfs(fd) != 0)
        return fail_at(folder, "synced");
    close(fd);
    return DONE;
}

/* ---- how it lies, and what leads to its files ---- */

static struct archive *archive_of(const struct store *s)
{
    return (struct archive *)s->plan->tap;
}

static void archive_name(struct store *s)
{
    memcpy(s->folder, archive_of(s)->store.folder, sizeof s->folder);
}

/* kagglehub's half is VERSION.archive. */
static void archive_place(struct place *p, const struct store *s, const struct wanted *w)
{
    snprintf(p->older, sizeof p->older, "%s/%s", s->folder, w->name);
    snprintf(p->whole, sizeof p->whole, "%s/%s.carat", s->folder, w->name);
    snprintf(p->part, sizeof p->part, "%s.incomplete", p->whole);
    snprintf(p->lock, sizeof p->lock, "%s.lock", p->part);
}

static bool is_same(const char *a, const char *b)
{
    static char x[1 << 16], y[sizeof x];
    FILE *f = fopen(a, "re"), *g = fopen(b, "re");
    bool same = f && g;

    for (size_t n = 1; same && n > 0;) {
        n = fread(x, 1, sizeof x, f);
        same = fread(y, 1, sizeof y, g) == n && memcmp(x, y, n) == 0;
    }
    if (f)
        fclose(f);
    if (g)
        fclose(g);
    return same;
}

static int name_file(const struct archive *a, const struct wanted *w)
{
    unpacked_path path;
    struct place at;

    name_unpacked(path, a, w);
    a->store.layout->place(&at, &a->store, w);
    if (!a->store.layout->by_hash && !a->store.plan->force && access(at.whole, F_OK) == 0 &&
        !is_same(path, at.whole))
        return fetch_refuse(LOCAL, "%s: is there, and is another file; --force replaces it", at.whole);
    TRY(make_folders(at.whole));
    return rename(path, at.whole) == 0 ? DONE : fail_at(at.whole, "made");
}

static int archive_enter(const struct store *s, const struct wanted *w)
{
    struct archive *a = archive_of(s);
    struct place at;

    for (int i = 0; i < a->n; i++)
        TRY(name_file(a, a->file[i].w));
    for (int i = 0; i < a->n; i++)
        TRY(store_enter(&a->store, a->file[i].w));
    archive_place(&at, s, w);
    unlink(at.whole);
    unlink(at.lock);
    return DONE;
}

static int archive_end_all(const struct store *s, char *path, size_t capacity)
{
    return store_end(&archive_of(s)->store, path, capacity);
}

static const struct layout archive_layout = {.by_hash = true,
                                             .name = archive_name,
                                             .place = archive_place,
                                             .enter = archive_enter,
                                             .end = archive_end_all};

/* ---- fetching it ---- */

static int find_size(struct http *h, struct archive *a)
{
    const struct source *source = &a->source;
    char url[2 * PLAN_PATH], body[2 * PLAN_PATH];
    struct http_reply reply;

    if (!source->address(url, sizeof url, &a->plan, &a->whole) ||
        !source->question(body, sizeof body, &a->plan, &a->whole))
        return fetch_refuse(WRONG_PLAN, "%s: its address is too long", a->plan.repository);
    TRY(page_peek(h, &a->plan, url, body, "its archive", &reply));
    if (reply.size < 1)
        return fetch_refuse(REMOTE, "%s: the server does not say how many bytes its archive has",
                            a->plan.repository);
    a->whole.bytes = reply.size;
    snprintf(a->whole.hash, sizeof a->whole.hash, "%s", reply.md5);
    return DONE;
}

/* Files of another size are told of before all comes. */
static int look_at_files(const struct archive *a)
{
    struct place at;
    struct stat st;

    for (int i = 0; i < a->n && !a->store.layout->by_hash && !a->store.plan->force; i++) {
        a->store.layout->place(&at, &a->store, a->file[i].w);
        if (stat(at.whole, &st) == 0 && st.st_size != a->file[i].w->bytes)
            return fetch_refuse(LOCAL, "%s: is there, and is another file; --force replaces it", at.whole);
    }
    return DONE;
}

/* Takes up an archive that a process had whole when it was killed: it is looked at again, as kagglehub's
 * would be. */
static void take_up(const struct archive *a)
{
    struct store s = {.plan = &a->plan, .layout = &archive_layout};
    struct place at;

    archive_name(&s);
    archive_place(&at, &s, &a->whole);
    rename(at.whole, at.part);
}

static int get_archive(struct http *h, struct archive *a, const struct plan *plan)
{
    a->tap = (struct tap){.begin = archive_begin,
                          .take = archive_take,
                          .end = archive_end,
                          .drop = archive_drop,
                          .room = a->bytes};
    a->source = *plan->source;
    a->source.layout = &archive_layout;
    a->plan = *plan;
    a->plan.source = &a->source;
    a->plan.tap = &a->tap;
    a->plan.file = &a->whole;
    a->plan.n = 1;
    *a->plan.out = 0;
    snprintf(a->whole.name, sizeof a->whole.name, "%s.archive", plan->commit);
    TRY(look_at_files(a));
    TRY(find_size(h, a));
    take_up(a);
    const int code = download_all(h, &a->plan);
    stop_unpacking(a);
    return code;
}

static int count_missing(const struct archive *a, const struct plan *plan)
{
    int missing = 0;

    for (int i = 0; i < plan->n; i++)
        missing += plan->force || !store_has(&a->store, &plan->file[i]);
    return missing;
}

static int list_files(struct archive *a, const struct plan *plan)
{
    a->n = plan->n;
    a->file = calloc((size_t)a->n, sizeof *a->file);
    if (!a->file)
        return fetch_refuse(NO_MEMORY, "out of memory for %d files", a->n);
    for (int i = 0; i < a->n; i++) {
        a->file[i].w = &plan->file[i];
        if (plan->file[i].bytes > INT64_MAX / 8 - a->bytes)
            return fetch_refuse(WRONG_PLAN, "plan: its files have more bytes than can be counted");
        a->bytes += plan->file[i].bytes;
    }
    qsort(a->file, (size_t)a->n, sizeof *a->file, by_name);
    return DONE;
}

static int list_and_get(struct http *h, struct archive *a, const struct plan *plan)
{
    int code = list_files(a, plan);

    if (code == DONE)
        code = get_archive(h, a, plan);
    free(a->file);
    return code;
}

int archive_get(struct http *h, struct plan *plan)
{
    static struct archive a;
    static struct lock lock;
    char path[PLACE_PATH];

    a.fd = -1;
    store_open(&a.store, plan);
    if (count_missing(&a, plan) <= MOST_SINGLE)
        return download_all(h, plan);
    snprintf(path, sizeof path, "%s/%s.archive.carat.lock", a.store.folder, plan->commit);
    TRY(make_folders(path));
    TRY(lock_take(&lock, path, true, NULL));
    /* whoever had it may have fetched them */
    const int code =
        count_missing(&a, plan) <= MOST_SINGLE ? download_all(h, plan) : list_and_get(h, &a, plan);
    if (code == DONE)
        unlink(path);
    lock_leave(&lock);
    return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* layout.c: what layouts share; and the one of a folder, where files lie at the names that they have in their
 * repository. */
#define _GNU_SOURCE
#include "layout.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report.h"

int fail_at(const char *path, const char *what)
{
    return fetch_refuse(LOCAL, "%s: cannot be %s: %s", path, what, strerror(errno));
}

bool make_path(char folder[FOLDER_PATH], const char *path)
{
    snprintf(folder, FOLDER_PATH, "%s", path);
    for (char *slash = folder + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = 0;
        if (mkdir(folder, 0777) == 0)
            continue;
        const int why = errno; /* looking would say that it is not there */
        if (access(folder, F_OK) != 0) {
            errno = why;
            return false;
        }
    }
    return true;
}

int make_folders(const char *path)
{
    char folder[FOLDER_PATH];

    return make_path(folder, path) ? DONE : fail_at(folder, "made");
}

int sync_folder(const char *path)
{
    char folder[FOLDER_PATH];

    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = 0;
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fail_at(folder, "opened");
    fsync(fd);
    close(fd);
    return DONE;
}

int write_beside(const char *path, const char *beside, const char *text)
{
    FILE *f = fopen(beside, "we");
    if (!f)
        return fail_at(beside, "made");
    const bool good = fputs(text, f) >= 0;
    if (fclose(f) == 0 && good && rename(beside, path) == 0)
        return DONE;
    const int code = fail_at(path, "written");
    unlink(beside);
    return code;
}

int write_small(const char *path, const char *text)
{
    char beside[FOLDER_PATH];

    TRY(make_folders(path));
    snprintf(beside, sizeof beside, "%s.carat-%ld", path, (long)getpid());
    return write_beside(path, beside, text);
}

/* ---- a folder ---- */

static void folder_name(struct store *s)
{
    snprintf(s->folder, sizeof s->folder, "%s", s->plan->out);
}

/* Sets the places of a file. One that is on its way is known by its hash, or by what the file is pinned
 * to. */
static void folder_place(struct place *p, const struct store *s, const struct wanted *w)
{
    snprintf(p->whole, sizeof p->whole, "%s/%s", s->folder, w->name);
    snprintf(p->part, sizeof p->part, "%s.%.8s.carat.incomplete", p->whole,
             *w->hash ? w->hash : s->plan->commit);
    snprintf(p->lock, sizeof p->lock, "%s", p->part);
    *p->older = 0;
}

static int folder_end(const struct store *s, char *path, size_t capacity)
{
    if (s->plan->n == 1)
        snprintf(path, capacity, "%s/%s", s->folder, s->plan->file[0].name);
    else
        snprintf(path, capacity, "%s", s->folder);
    return DONE;
}

const struct layout folder_layout = {.name = folder_name, .place = folder_place, .end = folder_end};

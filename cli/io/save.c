/* SPDX-License-Identifier: Apache-2.0 */
/* save.c: writes a file beside its name and renames it when it is complete. "-" is standard output. */
#define _POSIX_C_SOURCE 200809L
#include "io/save.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "term/message.h"
#include "term/question.h"

/* Checks that path can be written. A regular file is written beside the old one and renamed, which needs the
 * directory; anything else is opened as it is. */
int check_writable(const char *what, const char *path)
{
    struct stat status;
    char directory[4096];
    const char *slash = strrchr(path, '/');
    bool there = stat(path, &status) == 0;

    if (there && S_ISDIR(status.st_mode))
        return term_fail(FAILED, "%s: %s: cannot be written: %s", what, path, strerror(EISDIR));
    snprintf(directory, sizeof directory, "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
    if (access(there && !S_ISREG(status.st_mode) ? path : directory, W_OK) != 0)
        return term_fail(FAILED, "%s: %s: cannot be written: %s", what, path, strerror(errno));
    return DONE;
}

int save_over(const char *path, bool force)
{
    struct stat status;

    if (force || stat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return DONE;
    if (somebody_is_there() && term_agrees("%s is there already: replace it?", path))
        return DONE;
    return term_fail(
        FAILED, "%s is there already and stays as it is: name another file, or --force replaces it", path);
}

static int open_file(struct save *s)
{
    struct stat status;
    size_t n = strlen(s->path) + 32;

    if (strcmp(s->path, "-") == 0) {
        int fd = dup(STDOUT_FILENO);
        s->file = fd < 0 ? NULL : fdopen(fd, "wb");
    } else if (stat(s->path, &status) == 0 && !S_ISREG(status.st_mode)) {
        s->file = fopen(s->path, "wb");
    } else {
        s->partial = malloc(n);
        if (!s->partial)
            return fail_memory();
        snprintf(s->partial, n, "%s.%ld.part", s->path, (long)getpid());
        s->file = fopen(s->partial, "wb");
    }
    if (!s->file)
        return term_fail(FAILED, "cannot create %s: %s", s->path, strerror(errno));
    return DONE;
}

int save_failed(const struct save *s)
{
    if (errno == EPIPE && strcmp(s->path, "-") == 0)
        return PIPE_CLOSED;
    return term_fail(FAILED, "cannot write %s: %s", s->path, strerror(errno));
}

int save_open(struct save *s, const char *path)
{
    int code;

    *s = (struct save){.path = path};
    if ((code = open_file(s)) != DONE)
        save_abandon(s);
    return code;
}

int save_close(struct save *s)
{
    FILE *file = s->file;
    bool written = !ferror(file);
    int code = DONE;

    s->file = NULL;
    if (fclose(file) != 0 || !written || (s->partial && rename(s->partial, s->path) != 0)) {
        code = save_failed(s);
        save_abandon(s);
    }
    free(s->partial);
    s->partial = NULL;
    return code;
}

void save_abandon(struct save *s)
{
    if (s->file)
        fclose(s->file);
    if (s->partial)
        unlink(s->partial);
    free(s->partial);
    s->file = NULL;
    s->partial = NULL;
}

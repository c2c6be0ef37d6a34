/* SPDX-License-Identifier: Apache-2.0 */
/* history.c: the file with the lines that were typed: $XDG_STATE_HOME/carat/history. It is private: made so,
 * and of nobody else. One line is one entry; a newline in it is written \n, a backslash \\. Several processes
 * may add to it at once. */
#define _GNU_SOURCE /* flock */
#include "ask/chat/line.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { MOST_PATH = 1024, MOST_BYTES = 4 << 20 };

/* "" when no place is known. A relative path is to be ignored, as the standard of these variables says. */
static void find_history(char path[MOST_PATH])
{
    const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int n = -1;

    if (xdg && *xdg == '/')
        n = snprintf(path, MOST_PATH, "%s/carat/history", xdg);
    else if (home && *home == '/')
        n = snprintf(path, MOST_PATH, "%s/.local/state/carat/history", home);
    if (n < 0 || n >= MOST_PATH)
        *path = 0;
}

/* The folders above it; what fails shows when the file is opened. */
static void make_folders(char *path)
{
    for (char *p = path + 1; *p; p++) {
        if (*p != '/')
            continue;
        *p = 0;
        mkdir(path, 0700);
        *p = '/';
    }
}

/* Opens the file, which has to be a regular one of this user; -1, and a reason in *why. */
static int open_history(char *path, int flags, const char **why)
{
    struct stat s;
    int fd = open(path, flags | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0600);

    *why = strerror(errno);
    if (fd < 0)
        return -1;
    if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode))
        *why = "it is not a regular file";
    else if (s.st_uid != geteuid())
        *why = "it belongs to somebody else";
    else if ((s.st_mode & 077) == 0 || fchmod(fd, 0600) == 0)
        return fd;
    close(fd);
    return -1;
}

/* The text of an entry, in place. */
static void unescape(char *line)
{
    char *to = line;

    for (const char *p = line; *p; p++) {
        if (*p == '\\' && p[1])
            *to++ = *++p == 'n' ? '\n' : *p;
        else
            *to++ = *p;
    }
    *to = 0;
}

/* The beginning of the last HISTORY_LINES lines of a text. */
static char *last_lines(char *text, size_t n)
{
    int lines = 0;
    char *p = text + n;

    while (p > text && (p[-1] != '\n' || p == text + n || ++lines < HISTORY_LINES))
        p--;
    return p;
}

/* A file that has grown too long begins with its last lines again. Its lock is held. */
static void cut_history(int fd, const char *text)
{
    size_t n = strlen(text);

    if (pwrite(fd, text, n, 0) == (ssize_t)n)
        (void)!ftruncate(fd, (off_t)n);
}

void history_read(void (*take)(void *user, const char *line), void *user, char *why, size_t capacity)
{
    char path[MOST_PATH], *text = malloc(MOST_BYTES + 1), *line, *next;
    const char *reason = "neither XDG_STATE_HOME nor HOME is an absolute path";
    struct stat s;
    int fd = -1;

    *why = 0;
    find_history(path);
    if (*path) {
        make_folders(path);
        fd = open_history(path, O_RDWR, &reason);
    }
    if (fd < 0 || !text || flock(fd, LOCK_EX | LOCK_NB) != 0 || fstat(fd, &s) != 0) {
        if (fd < 0)
            snprintf(why, capacity, "lines are not remembered: %s%s%s", path, *path ? ": " : "", reason);
        else
            close(fd);
        free(text);
        return;
    }
    off_t from = s.st_size > MOST_BYTES ? s.st_size - MOST_BYTES : 0;
    ssize_t n = pread(fd, text, MOST_BYTES, from);
    text[n > 0 ? n : 0] = 0;
    line = last_lines(text, strlen(text));
    if (s.st_size > MOST_BYTES / 2 && line > text)
        cut_history(fd, line);
    close(fd);
    for (; *line; line = next) {
        size_t length = strcspn(line, "\n");
        next = line + length + (line[length] != 0);
        line[length] = 0;
        unescape(line);
        if (*line)
            take(user, line);
    }
    free(text);
}

void history_keep(const char *line)
{
    char path[MOST_PATH], *entry = malloc(2 * strlen(line) + 2), *to = entry;
    const char *reason;

    find_history(path);
    int fd = entry && *path ? open_history(path, O_WRONLY | O_APPEND, &reason) : -1;
    if (fd >= 0) {
        for (const char *p = line; *p; p++) {
            if (*p == '\n' || *p == '\\')
                *to++ = '\\';
            *to++ = *p == '\n' ? 'n' : *p;
        }
        *to++ = '\n';
        (void)flock(fd, LOCK_EX); /* not while another process cuts it */
        (void)!write(fd, entry, (size_t)(to - entry));
        close(fd);
    }
    free(entry);
}

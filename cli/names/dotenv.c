/* SPDX-License-Identifier: Apache-2.0 */
/* dotenv.c: see dotenv.h. Whoever works in a directory of others must not get his secrets from them, nor
 * his command held up: the file is opened as what it is, its size is bounded, and a line that is not
 * understood, or whose value could not stand in a header or a path, says nothing. */
#define _GNU_SOURCE
#include "names/dotenv.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_FILE = 1 << 16 };

/* All that is taken from the file; a line of any other name is none. */
static bool is_taken(const char *name)
{
    static const char *const names[] = {"HF_TOKEN", "KAGGLE_API_TOKEN", "KAGGLE_USERNAME", "KAGGLE_KEY",
                                        "KAGGLE_CONFIG_DIR"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void skip_blanks(const char **at, const char *end)
{
    while (*at < end && is_blank(**at))
        ++*at;
}

/* Takes the value between quotes; \ keeps the next byte within double ones. False: the quotes are not closed,
 * or more stands behind them than a comment. */
static bool take_quoted(char value[MOST_SETTING], const char *at, const char *end)
{
    const char quote = *at++;
    size_t n = 0;

    for (; at < end && *at != quote; at++) {
        if (quote == '"' && *at == '\\' && at + 1 < end)
            at++;
        if (n + 1 == MOST_SETTING)
            return false;
        value[n++] = *at;
    }
    value[n] = 0;
    if (at == end)
        return false;
    at++;
    skip_blanks(&at, end);
    return at == end || *at == '#';
}

/* Up to a # behind a blank, without blanks at the end. */
static bool take_plain(char value[MOST_SETTING], const char *at, const char *end)
{
    const char *last = at;

    for (const char *p = at; p < end && !(*p == '#' && (p == at || is_blank(p[-1]))); p++)
        if (!is_blank(*p))
            last = p + 1;
    if (last - at >= MOST_SETTING)
        return false;
    memcpy(value, at, (size_t)(last - at));
    value[last - at] = 0;
    return true;
}

static bool is_printable(const char *s)
{
    while ((unsigned char)*s >= ' ' && *s != 0x7f)
        s++;
    return !*s;
}

/* NAME=VALUE, perhaps behind export; another line leaves the value alone. */
static void take_setting(char value[MOST_SETTING], const char *name, const char *at, const char *end)
{
    static const char export[] = "export";
    const size_t n = strlen(name), m = strlen(export);
    char found[MOST_SETTING];

    if (memchr(at, 0, (size_t)(end - at)))
        return;
    skip_blanks(&at, end);
    if ((size_t)(end - at) > m && memcmp(at, export, m) == 0 && is_blank(at[m])) {
        at += m;
        skip_blanks(&at, end);
    }
    if ((size_t)(end - at) <= n || memcmp(at, name, n) != 0)
        return;
    at += n;
    skip_blanks(&at, end);
    if (at == end || *at++ != '=')
        return;
    skip_blanks(&at, end);
    const bool quoted = at < end && (*at == '"' || *at == '\'');
    if ((quoted ? take_quoted(found, at, end) : take_plain(found, at, end)) && is_printable(found))
        strcpy(value, found);
}

/* The whole file; NULL: there is none that is the user's. */
static char *read_own(size_t *n)
{
    const int fd = open(".env", O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    char *text = NULL;
    ssize_t got = -1;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
        st.st_size <= MOST_FILE && (text = malloc(MOST_FILE)))
        got = read(fd, text, MOST_FILE);
    if (fd >= 0)
        close(fd);
    if (got >= 0) {
        *n = (size_t)got;
        return text;
    }
    free(text);
    return NULL;
}

bool find_setting(char value[MOST_SETTING], const char *name)
{
    static const char mark[] = "\xef\xbb\xbf"; /* with which editors begin UTF-8 */
    const char *given = getenv(name);
    size_t n = 0;

    *value = 0;
    if (given && *given) {
        if (strlen(given) < MOST_SETTING)
            strcpy(value, given);
        return *value;
    }
    char *text = is_taken(name) ? read_own(&n) : NULL;
    const char *end = text ? text + n : NULL, *at = text;
    if (n >= strlen(mark) && memcmp(at, mark, strlen(mark)) == 0)
        at += strlen(mark);
    for (const char *line = at; line < end; line = at + 1) {
        at = memchr(line, '\n', (size_t)(end - line));
        at = at ? at : end;
        take_setting(value, name, line, at);
    }
    if (text)
        explicit_bzero(text, n);
    free(text);
    return *value;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* message.c: what the command says on stderr, and the exit code that goes with each kind of failure. */
#define _POSIX_C_SOURCE 200809L
#include "term/message.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "term/columns.h"
#include "term/fold.h"
#include "term/progress.h"
#include "term/utf8.h"

/* The code in a message where the command itself, not the library, has found the fault. */
static const char *const fault_names[] = {
    [FAILED] = "E_IO",           [USAGE] = "E_USAGE",      [NOT_FOUND] = "E_NOT_FOUND",
    [BAD_MODEL] = "E_NOT_FOUND", [NO_MEMORY] = "E_MEMORY", [NO_CONNECTION] = "E_CONNECTION",
    [CHECK_FAILED] = "E_CHECK",
};

static enum { AUTO, ALWAYS, NEVER } coloring; /* of --color */

void message_color(const char *when)
{
    coloring = !when || strcmp(when, "auto") == 0                       ? AUTO
               : strcmp(when, "off") == 0 || strcmp(when, "never") == 0 ? NEVER
                                                                        : ALWAYS;
}

static char about[256]; /* what a message about an error begins with */

void message_place(const char *place)
{
    snprintf(about, sizeof about, "%s", place ? place : "");
}

/* NO_COLOR wins over CLICOLOR_FORCE, and --color over both. */
static bool colored(void)
{
    const char *no = getenv("NO_COLOR"), *force = getenv("CLICOLOR_FORCE"), *term = getenv("TERM");

    if (coloring != AUTO)
        return coloring == ALWAYS;
    if (no && *no)
        return false;
    if (force && *force && strcmp(force, "0") != 0)
        return true;
    return isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0);
}

const char *dim_on(void)
{
    return colored() ? "\033[2m" : "";
}

const char *dim_off(void)
{
    return colored() ? "\033[0m" : "";
}

/* A byte of a control character: C0, DEL, or C1 in its two bytes. */
static bool controls(const char *begin, const char *p)
{
    unsigned char c = (unsigned char)p[0], next = (unsigned char)p[1];
    unsigned char before = p > begin ? (unsigned char)p[-1] : 0;

    return c < 0x20 || c == 0x7f || (c == 0xc2 && next < 0xa0) || (before == 0xc2 && c < 0xa0);
}

/* A line, whose lead is coloured; on a terminal no word of it is broken. */
static void put_line(const char *line, size_t n, size_t lead, const char *color)
{
    enum { NARROWEST = 20, INDENT = 2 };
    const int columns = terminal_columns(STDERR_FILENO);
    size_t at = columns < NARROWEST ? n : columns_fit(line, n, columns, (int)lead + 1);

    if (colored())
        fprintf(stderr, "\033[%sm%.*s\033[0m", color, (int)lead, line);
    else
        fprintf(stderr, "%.*s", (int)lead, line);
    fwrite(line + lead, 1, at - lead, stderr);
    while (at + 1 < n || (at < n && line[at] != ' ')) {
        at += line[at] == ' ';
        line += at;
        n -= at;
        at = columns_fit(line, n, columns - INDENT, 0);
        fprintf(stderr, "\n%*s%.*s", INDENT, "", (int)at, line);
    }
    fputc('\n', stderr);
}

/* Text from files and arguments ends up in messages: no byte of it may move the cursor or forge a second
 * line. */
static void say(const char *color, const char *lead, const char *name, const char *format, va_list args)
{
    char raw[2048], line[sizeof raw * 4 + 64];
    size_t n = (size_t)snprintf(line, sizeof line, "%s: %s%s", lead, name, *name ? ": " : "");

    snprintf(raw, sizeof raw, "%s", *name ? about : "");
    vsnprintf(raw + strlen(raw), sizeof raw - strlen(raw), format, args);
    for (const char *p = raw, *valid = raw; *p; p++) {
        unsigned char c = (unsigned char)*p;
        if (p >= valid)
            valid = p + utf8_valid(p, strlen(p));
        if (p >= valid || controls(raw, p))
            n += (size_t)snprintf(line + n, sizeof line - n, "\\x%02x", c);
        else
            line[n++] = (char)c;
    }
    progress_hide();
    put_line(line, n, strlen(lead) + 1, color);
}

int term_fail(int code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say("1;31", "error", fault_names[code], format, args);
    va_end(args);
    return code;
}

int fail_as(int code, carat_status status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say("1;31", "error", carat_status_name(status) + strlen("CARAT_"), format, args);
    va_end(args);
    return code;
}

int fail_memory(void)
{
    return term_fail(NO_MEMORY, "out of memory");
}

void term_note(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say("2", "note", "", format, args);
    va_end(args);
}

void note_line(void *user, const char *line)
{
    (void)user;
    term_note("%s", line);
}

int fail_status(const carat_error *err)
{
    int code = FAILED;

    switch (err->code) {
    case CARAT_E_ARGUMENT:
        code = USAGE;
        break;
    case CARAT_E_NOT_FOUND:
    case CARAT_E_FORMAT:
    case CARAT_E_UNSUPPORTED:
    case CARAT_E_NUMERIC: /* a weight is damaged, or the model's range too large */
        code = BAD_MODEL;
        break;
    case CARAT_E_MEMORY:
        code = NO_MEMORY;
        break;
    case CARAT_E_CANCELLED:
        code = INTERRUPTED;
        break;
    case CARAT_OK:
    case CARAT_E_IO:
    case CARAT_E_CONTEXT:
    case CARAT_E_REWIND:
    case CARAT_E_BUSY:
    case CARAT_E_CONSTRAINT:
        break;
    }
    return fail_as(code, err->code, "%s", err->message);
}

int fail_open(const carat_error *err)
{
    if (err->code == CARAT_E_NOT_FOUND || err->code == CARAT_E_IO)
        return fail_as(NOT_FOUND, err->code, "%s", err->message);
    return fail_status(err);
}

/* Edit distance in which two neighbours that changed places count once, the commonest slip of all. */
static int distance(const char *a, const char *b)
{
    enum { LONGEST = 32 };
    int cost[LONGEST + 1][LONGEST + 1], m = (int)strlen(a), n = (int)strlen(b);

    if (m > LONGEST || n > LONGEST)
        return INT_MAX;
    for (int i = 0; i <= m; i++)
        cost[i][0] = i;
    for (int j = 0; j <= n; j++)
        cost[0][j] = j;
    for (int i = 1; i <= m; i++) {
        for (int j = 1; j <= n; j++) {
            int best = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (cost[i - 1][j] + 1 < best)
                best = cost[i - 1][j] + 1;
            if (cost[i][j - 1] + 1 < best)
                best = cost[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                cost[i - 2][j - 2] + 1 < best)
                best = cost[i - 2][j - 2] + 1;
            cost[i][j] = best;
        }
    }
    return cost[m][n];
}

const char *term_nearest(const char *word, const char *(*next)(void *user, int i), void *user)
{
    const char *best = NULL, *candidate;
    size_t n = strlen(word), letters = n - strspn(word, "-");
    /* A third of the letters may be wrong; more is another word. */
    int limit = (int)(letters + 1) / 3;

    for (int i = 0; (candidate = next(user, i)) != NULL; i++) {
        size_t m = strlen(candidate), common = n < m ? n : m;
        /* One cut short or drawn out, as --temperature for --temp, is a near miss whatever the length. */
        int d =
            letters >= 3 && m > 4 && strncmp(word, candidate, common) == 0 ? 1 : distance(word, candidate);
        if (d <= limit) {
            best = candidate;
            limit = d - 1;
        }
    }
    return best;
}

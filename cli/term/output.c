/* SPDX-License-Identifier: Apache-2.0 */
/* output.c: standard output with its errors remembered, and long lines folded for a terminal. A reader that
 * has gone away ends the command quietly with 141, as it would end any filter; other write errors are
 * reported. */
#define _POSIX_C_SOURCE 200809L
#include "term/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "term/columns.h"
#include "term/fold.h"
#include "term/exit.h"
#include "term/interrupt.h"
#include "term/message.h"
#include "term/progress.h"
#include "term/utf8.h"

static int write_error; /* errno of the first write that failed */

/* jansson fails wrongly when memory runs out: it crashes, or calls what it reads malformed. */
static void *allocate_or_end(size_t n)
{
    void *p = malloc(n ? n : 1);

    if (!p)
        exit(fail_memory());
    return p;
}

void output_start(void)
{
    /* A closed descriptor would be handed to the next file that is opened, and text would be written into it.
     * It is filled the wrong way round for 0 and 1, so that using it is still an error. */
    static const int mode[] = {O_WRONLY, O_RDONLY, O_RDWR};

    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", mode[fd]);
    }
    signal(SIGPIPE, SIG_IGN);
    json_set_alloc_funcs(allocate_or_end, free);
}

static void remember(void)
{
    if (write_error == 0)
        write_error = errno ? errno : EIO;
}

/* Nothing lands behind a bar that stands on the same terminal. */
static void make_room(void)
{
    if (progress_stands() && out_is_terminal())
        progress_hide();
}

static void put_bytes(const void *data, size_t n)
{
    if (write_error == 0 && fwrite(data, 1, n, stdout) != n)
        remember();
}

/* ---- folding ---- */

static struct {
    int columns;       /* 0: nothing is folded */
    int label, indent; /* where the text of a first line begins, and where others do */
    char line[4096];   /* the one under way */
    size_t n;
} fold;

void out_fold(int indent)
{
    enum { NARROW = 60 };

    fold.columns = indent ? terminal_columns(STDOUT_FILENO) : 0;
    fold.label = indent;
    fold.indent = fold.columns < NARROW ? 4 : indent;
    if (fold.columns < 20)
        fold.columns = 0;
}

static void fold_line(void)
{
    const char *line = fold.line;
    size_t n = fold.n, at = columns_fit(line, n, fold.columns, fold.label);

    put_bytes(line, at);
    while (at + 1 < n || (at < n && line[at] != ' ')) {
        at += line[at] == ' ';
        line += at;
        n -= at;
        at = columns_fit(line, n, fold.columns - fold.indent, 0);
        if (write_error == 0 && printf("\n%*s", fold.indent, "") < 0)
            remember();
        put_bytes(line, at);
    }
    fold.n = 0;
}

static void fold_bytes(const char *data, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (fold.n == sizeof fold.line || data[i] == '\n')
            fold_line();
        if (data[i] == '\n')
            put_bytes(data + i, 1);
        else
            fold.line[fold.n++] = data[i];
    }
}

void out_write(const void *data, size_t n)
{
    make_room();
    if (fold.columns)
        fold_bytes(data, n);
    else
        put_bytes(data, n);
}

void out_print(const char *format, ...)
{
    char text[sizeof fold.line];
    va_list args;

    make_room();
    va_start(args, format);
    if (fold.columns) {
        int n = vsnprintf(text, sizeof text, format, args);
        fold_bytes(text, n < 0 ? 0 : n < (int)sizeof text ? (size_t)n : sizeof text - 1);
    } else if (write_error == 0 && vprintf(format, args) < 0) {
        remember();
    }
    va_end(args);
}

bool out_flush(void)
{
    if (write_error == 0 && fflush(stdout) != 0)
        remember();
    return write_error == 0;
}

bool out_is_read(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};

    if (write_error == 0 && poll(&out, 1, 0) > 0 && out.revents & POLLERR)
        write_error = EPIPE;
    return write_error == 0;
}

int out_finish(int code)
{
    if (out_flush() || code == INTERRUPTED)
        return code;
    if (write_error == EINTR && term_interrupted()) /* in front of a reader that does not read */
        return INTERRUPTED;
    if (write_error == EPIPE)
        return code == DONE ? PIPE_CLOSED : code;
    return term_fail(code == DONE ? FAILED : code, "cannot write to standard output: %s",
                     strerror(write_error));
}

bool out_is_terminal(void)
{
    return isatty(STDOUT_FILENO) != 0;
}

/* A control byte that is not obeyed: all of C0 but tab and newline, DEL, and C1 in its two bytes. */
static bool is_control(const char *text, size_t i, size_t n)
{
    unsigned char c = (unsigned char)text[i];

    return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f ||
           (c == 0xc2 && i + 1 < n && (unsigned char)text[i + 1] < 0xa0) ||
           (c < 0xa0 && c >= 0x80 && i > 0 && (unsigned char)text[i - 1] == 0xc2);
}

/* Text for a terminal. */
static void put_shown(void (*put)(const void *data, size_t n), const char *text, size_t n)
{
    size_t from = 0, valid = 0;
    char shown[8];

    for (size_t i = 0; i < n; i++) {
        if (i >= valid)
            valid = i + utf8_valid(text + i, n - i);
        if (i < valid && !is_control(text, i, n))
            continue;
        put(text + from, i - from);
        put(shown, (size_t)snprintf(shown, sizeof shown, "\\x%02x", (unsigned char)text[i]));
        from = i + 1;
    }
    put(text + from, n - from);
}

void out_text(const char *text, size_t n)
{
    if (out_is_terminal())
        put_shown(out_write, text, n);
    else
        out_write(text, n);
}

/* ---- what a model says, a piece at a time ---- */

struct speech {
    struct wrap line;
    int columns; /* 0: nothing is wiped there */
    void (*put)(const void *data, size_t n);
};

static void put_error(const void *data, size_t n)
{
    (void)!fwrite(data, 1, n, stderr);
}

static struct speech answer = {.put = put_bytes}, thought = {.put = put_error}, *speech;

/* The columns of a terminal that can wipe what stands there; else 0. */
static int wiping_columns(int fd)
{
    const char *term = getenv("TERM");
    const int columns = terminal_columns(fd);

    return columns < 20 || !term || strcmp(term, "dumb") == 0 ? 0 : columns;
}

static void put_speech(const void *data, size_t n)
{
    if (speech->columns)
        wrap_put(&speech->line, speech->columns, data, n, speech->put);
    else
        speech->put(data, n);
}

static void speak(struct speech *s, int fd, const char *text, size_t n)
{
    if (!isatty(fd)) {
        s->put(text, n);
        return;
    }
    speech = s;
    s->columns = wiping_columns(fd);
    put_shown(put_speech, text, n);
}

void out_answer(const char *text, size_t n)
{
    make_room();
    speak(&answer, STDOUT_FILENO, text, n);
}

void err_text(const char *text, size_t n)
{
    fputs(dim_on(), stderr);
    speak(&thought, STDERR_FILENO, text, n);
    fputs(dim_off(), stderr);
    fflush(stderr);
}

void err_end_line(void)
{
    thought.line = (struct wrap){0};
    fputc('\n', stderr);
}

void out_name(const char *name, size_t most)
{
    size_t n = strlen(name), end = n < most ? n : most;
    bool text = utf8_valid(name, n) == n;

    for (size_t i = 0; i < end; i++) {
        unsigned char c = (unsigned char)name[i];
        /* terminals obey U+0080 to U+009F, too */
        bool c1 = (c == 0xc2 && (unsigned char)name[i + 1] < 0xa0) ||
                  (c < 0xa0 && c >= 0x80 && i > 0 && (unsigned char)name[i - 1] == 0xc2);
        if (c < 0x20 || c == 0x7f || c1 || (c >= 0x80 && !text))
            out_print("\\x%02x", c);
        else
            out_write(&name[i], 1);
    }
    if (n > most)
        out_print("...");
}

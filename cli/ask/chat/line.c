/* SPDX-License-Identifier: Apache-2.0 */
/* line.c: lines as they come, from a pipe, a file or a terminal that cannot do more. Editing is edit.c's. */
#define _POSIX_C_SOURCE 200809L
#include "ask/chat/line.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/input.h"
#include "term/interrupt.h"
#include "term/message.h"

void lines_open(struct lines *l, edit_word words, bool verbose)
{
    *l = (struct lines){.edit = edit_open(words, verbose)};
    l->prompts = !l->edit && isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

/* More of standard input behind what is there. */
static enum line_end fill_lines(struct lines *l, int *code)
{
    enum { PART = 1 << 16 };

    if (l->at > 0)
        memmove(l->data, l->data + l->at, l->n - l->at);
    l->n -= l->at;
    l->at = 0;
    if (l->n >= INPUT_LIMIT) {
        *code = term_fail(FAILED, "standard input: line %d is longer than %d MiB", l->number + 1,
                          INPUT_LIMIT >> 20);
        return LINE_FAILED;
    }
    if (l->capacity - l->n < PART) {
        size_t capacity = l->capacity * 2 + PART;
        char *larger = realloc(l->data, capacity);
        if (!larger) {
            *code = fail_memory();
            return LINE_FAILED;
        }
        l->data = larger;
        l->capacity = capacity;
    }
    ssize_t got = read_unless_interrupted(STDIN_FILENO, l->data + l->n, PART);
    if (got < 0 && errno == EINTR)
        return term_interrupted() ? LINE_LEFT : LINE_READ;
    if (got < 0) {
        *code = term_fail(FAILED, "standard input: cannot be read: %s", strerror(errno));
        return LINE_FAILED;
    }
    l->over = got == 0;
    l->n += (size_t)got;
    return LINE_READ;
}

static enum line_end read_plain(struct lines *l, char **text, size_t *n, int *code)
{
    size_t searched = 0;
    char *end = NULL;
    enum line_end what;

    while (!(end = l->n > l->at + searched ? memchr(l->data + l->at + searched, '\n', l->n - l->at - searched)
                                           : NULL) &&
           !l->over) {
        searched = l->n - l->at;
        if ((what = fill_lines(l, code)) != LINE_READ)
            return what;
    }
    if (!end && l->n == l->at)
        return LINE_OVER;
    *n = (end ? (size_t)(end - l->data) : l->n) - l->at;
    *text = malloc(*n + 1);
    if (!*text) {
        *code = fail_memory();
        return LINE_FAILED;
    }
    memcpy(*text, l->data + l->at, *n);
    l->at += *n + (end != NULL);
    l->number++;
    if (*n > 0 && (*text)[*n - 1] == '\r') /* of files from elsewhere */
        --*n;
    (*text)[*n] = 0;
    return LINE_READ;
}

enum line_end line_read(struct lines *l, const char *prompt, const char *fill, char **text, size_t *n,
                        int *code)
{
    *text = NULL;
    *code = DONE;
    interrupt_install();
    if (l->edit)
        return edit_read(l->edit, prompt, fill, text, n, code);
    if (l->prompts && l->at == l->n) {
        fputs(prompt, stderr);
        fflush(stderr);
    }
    return read_plain(l, text, n, code);
}

void lines_close(struct lines *l)
{
    edit_close(l->edit);
    free(l->data);
}

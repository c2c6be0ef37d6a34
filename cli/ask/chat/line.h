/* SPDX-License-Identifier: Apache-2.0 */
/* line.h: input lines: edited at a terminal (edit.c), and then remembered (history.c), or as they come
 * through a pipe. */
#ifndef LINE_H
#define LINE_H

#include <stdbool.h>
#include <stddef.h>

/* The ways in which reading a line ends. */
enum line_end {
    LINE_READ,
    LINE_DROPPED, /* Ctrl-C in a line: it is forgotten */
    LINE_LEFT,    /* Ctrl-C in an empty one, or twice within a second */
    LINE_OVER,    /* Ctrl-D, or the end of the file */
    LINE_FAILED,  /* said already; *code is an exit code */
};

/* ---- edit.c ---- */

struct edit;
/* Words that Tab completes: the i-th, NULL after the last. */
typedef const char *(*edit_word)(int i);
/* NULL where standard input and output are not a terminal that lines can be edited on, or libedit is not
 * built in. Lines are remembered where that is possible, and with verbose a note says where it is not. */
struct edit *edit_open(edit_word words, bool verbose);
/* A line that begins with `fill`, which may be NULL, to be changed; *text is for free, and may have newlines
 * when it was pasted or filled so. */
enum line_end edit_read(struct edit *e, const char *prompt, const char *fill, char **text, size_t *n,
                        int *code);
void edit_remember(struct edit *e, const char *text);
void edit_close(struct edit *e);

/* ---- history.c ---- */

/* The lines that were typed, kept from one conversation to the next. */
enum { HISTORY_LINES = 1000 };

/* The kept lines, oldest first, at most HISTORY_LINES; *why gets a sentence when none can be kept. The file
 * and its folders are made when they are missing. */
void history_read(void (*take)(void *user, const char *line), void *user, char *why, size_t capacity);
/* Keeps one more; what cannot be kept is forgotten. */
void history_keep(const char *line);

/* ---- line.c ---- */

struct lines {
    struct edit *edit; /* NULL: as they come */
    bool prompts;      /* a person types, but lines cannot be edited */
    char *data;        /* what was read and not used: [at] to [n] */
    size_t at, n, capacity;
    bool over;
    int number; /* of the line that was read last */
};

void lines_open(struct lines *l, edit_word words, bool verbose);
/* The next line, without its end, terminated; *text is for free. */
enum line_end line_read(struct lines *l, const char *prompt, const char *fill, char **text, size_t *n,
                        int *code);
void lines_close(struct lines *l);

#endif

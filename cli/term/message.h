/* SPDX-License-Identifier: Apache-2.0 */
/* message.h: what the command says on stderr: one line, control bytes escaped, in colours on a terminal. */
#ifndef TERM_MESSAGE_H
#define TERM_MESSAGE_H

#include "carat.h"
#include "term/exit.h"

/* Takes what --color says: on, off, always, never; auto or NULL asks NO_COLOR, CLICOLOR_FORCE and the
 * terminal. */
void message_color(const char *when);
/* The bytes that begin and end a line of the least importance: dim, or nothing. */
const char *dim_on(void);
const char *dim_off(void);

#if defined(__GNUC__)
#define PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define PRINTF(text, first)
#endif
/* Prints "error: E_USAGE: ..." and returns the code, so that `return term_fail(USAGE, ...)` reads in one
 * line. The name follows from the exit code, FAILED being E_IO; fail_as takes it from a library status. */
int term_fail(int code, const char *format, ...) PRINTF(2, 3);
int fail_as(int code, carat_status status, const char *format, ...) PRINTF(3, 4);
int fail_memory(void);
/* From here on these begin with the place in a file that they are about, a copy of it; NULL: no more. */
void message_place(const char *place);
/* Says what the library reported. E_NOT_FOUND means here that the model lacks something (a tokenizer, a
 * template). */
int fail_status(const carat_error *err);
/* fail_status for opening, where E_NOT_FOUND and E_IO mean that there is no model at that path, or no
 * tokenizer. */
int fail_open(const carat_error *err);
/* "note: ..." */
void term_note(const char *format, ...) PRINTF(1, 2);
void note_line(void *user, const char *line); /* a carat_log */
/* Finds the word for a did-you-mean: next(user, i) is word i, NULL after the last. Returns the nearest word
 * when it is near enough to be meant, else NULL. */
const char *term_nearest(const char *word, const char *(*next)(void *user, int i), void *user);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* output.h: everything on stdout goes through here, so that no write error is lost. */
#ifndef TERM_OUTPUT_H
#define TERM_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "term/message.h"

/* Keeps descriptors 0 to 2 from being taken by other files; ignores SIGPIPE; ends the command when JSON finds
 * no memory. */
void output_start(void);
void out_write(const void *data, size_t n);
void out_print(const char *format, ...) PRINTF(1, 2);
/* Text of foreign origin, as a model's: on a terminal a control byte is shown, as \x1b, and not obeyed; what
 * is not UTF-8 likewise. Elsewhere the bytes go out as they are. Text comes in whole characters. */
void out_text(const char *text, size_t n);
/* Likewise, of an answer that comes in pieces: a terminal does not break it inside a word. */
void out_answer(const char *text, size_t n);
/* out_answer to standard error, dim. */
void err_text(const char *text, size_t n);
void err_end_line(void);
/* From here on lines that are wider than the terminal go on in the next one, below column `indent`, between
 * words; 0: no more. A call of out_print is at most 4 KiB meanwhile. Nothing but a terminal is folded for. */
void out_fold(int indent);
/* A name out of a file: no byte of it may move the cursor or forge a line, and a long one says no more than
 * `most`. */
void out_name(const char *name, size_t most);
bool out_flush(void); /* false once a write has failed */
/* For long work without a word: false once the reader of a pipe has gone away, or a write has failed. */
bool out_is_read(void);
/* Last word of a verb: the given code, or the code of a write error, which it reports. */
int out_finish(int code);
bool out_is_terminal(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* input.h: whole files, lists of ids and JSON, read with a limit and strictly; and a model that comes through
 * standard input. */
#ifndef IO_INPUT_H
#define IO_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "carat.h"

enum { INPUT_LIMIT = 64 << 20 };
/* The name that messages use for what is read from path: "-" is standard input. */
const char *input_name(const char *path);
/* All of a file ("-" is stdin) as one malloc'd, terminated string. Returns an exit code. */
int read_input(const char *path, char **data, size_t *n);
/* Can the file be read? Opens nothing. what names the option in the message. An exit code. */
int check_readable(const char *what, const char *path, bool may_be_directory);
/* As read_input for text that the library takes as a terminated string: a NUL byte is refused. */
int read_json_text(const char *path, char **data);
/* Ids separated by commas or white space, or as JSON. `what` names their origin in messages. Returns an exit
 * code. */
int parse_ids(const char *text, size_t n, const char *what, carat_tokens *out);
/* Reads ids from the value of an option: ids, @FILE, or - for standard input. */
int read_ids(const char *value, const char *what, carat_tokens *out);
/* A list of ids, or an object that has one under "ids". */
int ids_of_json(const json_t *value, const char *what, carat_tokens *out);
/* NULL, with *code set, when n bytes of text are no JSON or memory is out. */
json_t *parse_json(const char *text, size_t n, const char *what, int *code);
/* One more id; false when memory is out. */
bool push_id(carat_tokens *t, int32_t id);
/* Refuses text that is not UTF-8, with the offset, unless it may be lossy. `what` names it in the message. */
int check_utf8(const char *what, const char *text, size_t n, bool lossy);
/* Refuses what is not UTF-8, or when it may be lossy replaces it in place. */
int settle_utf8(const char *what, char **text, size_t *n, bool lossy);

/* ---- stdin.c ---- */

/* A model that comes through standard input, as carat_model_open. */
carat_status open_stdin(carat_model **model, const carat_model_options *options, carat_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* json_lines.h: a file with a JSON value in every line, read as a whole before anything is done with it. */
#ifndef JSON_LINES_H
#define JSON_LINES_H

#include <stdbool.h>

#include <jansson.h>

#include "term/message.h"

struct json_lines {
    const char *name; /* of the file, for messages */
    char *text;
    size_t n, next;
    const char *line; /* [n_line] the one that was read last, without its end */
    size_t n_line;
    long number; /* of it, from 1 */
};

/* Reads the file; "-" is standard input. An empty one is refused. Start from {0}. An exit code. */
int json_lines_open(struct json_lines *l, const char *path);
/* Goes to the next line; false: there is none. */
bool json_lines_next(struct json_lines *l);
/* The value of the line, an object or a list; NULL when it is none, with *code set. */
json_t *json_lines_value(const struct json_lines *l, int *code);
/* Says what is wrong in the line at a byte of it, from 0, and returns USAGE. */
int json_lines_fail(const struct json_lines *l, size_t byte, const char *format, ...) PRINTF(3, 4);
/* The place where a member of the line's object begins, or element i of that list when i >= 0; 0 when it is
 * not there. */
size_t json_lines_byte(const struct json_lines *l, const char *member, int i);
void json_lines_close(struct json_lines *l);

#endif

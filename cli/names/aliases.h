/* SPDX-License-Identifier: Apache-2.0 */
/* aliases.h: names that the user has given to models, with carat cp: an object of JSON in the folder of
 * settings, a name and what it stands for. */
#ifndef MODEL_ALIASES_H
#define MODEL_ALIASES_H

#include <stdbool.h>

#include <jansson.h>

enum { MOST_ALIAS = 200, MOST_TARGET = 4096 };

/* Finds what the name stands for; false: nobody has given it. A file that cannot be read says so in a
 * note. */
bool alias_target(char target[MOST_TARGET], const char *name);
/* All of them, an object; empty where there are none; NULL: no memory. */
json_t *aliases_read(void);
/* Keeps these. An exit code. */
int aliases_write(const json_t *aliases);
/* The path of the file that keeps them; false: no place is known. */
bool aliases_path(char *path, size_t capacity);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* history.h: the lines that were typed, kept from one conversation to the next. */
#ifndef HISTORY_H
#define HISTORY_H

#include <stddef.h>

enum { HISTORY_LINES = 1000 };

/* The kept lines, oldest first, at most HISTORY_LINES; *why gets a sentence when none can be kept. The file
 * and its folders are made when they are missing. */
void history_read(void (*take)(void *user, const char *line), void *user, char *why, size_t capacity);
/* Keeps one more; what cannot be kept is forgotten. */
void history_keep(const char *line);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* word.h: files that hold a word, as those of tokens do. */
#ifndef IO_WORD_H
#define IO_WORD_H

#include <stdbool.h>
#include <stddef.h>

/* The first word of a file, without the space around it and cut where it does not fit. False: it cannot be
 * read, or has none. */
bool read_word(char *word, size_t capacity, const char *path);

#endif

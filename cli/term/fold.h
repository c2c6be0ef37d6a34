/* SPDX-License-Identifier: Apache-2.0 */
/* fold.h: where a line is cut that has more characters than there are columns: a whole one, or one that comes
 * in pieces. */
#ifndef TERM_FOLD_H
#define TERM_FOLD_H

#include <stddef.h>

/* The bytes of the line's first `columns` characters: whole words. Where the first one behind `label` does
 * not fit, all of it is the line, so that a path can be copied. */
size_t columns_fit(const char *line, size_t n, int columns, int label);

/* The state of a line on the screen; all zero at its beginning. */
struct wrap {
    int used;        /* columns of the line that are taken */
    int word;        /* of these, by the word under way */
    size_t n;        /* its bytes */
    char bytes[192]; /* of a longer one nothing is taken back */
};

/* Puts n bytes, whole characters, on a terminal of so many columns. They are seen at once: of a word that
 * reaches the end of a line, what is there already is wiped and put at the beginning of the next one. A word
 * that is longer than a line is left to the terminal, so that an address can be copied. */
void wrap_put(struct wrap *w, int columns, const char *text, size_t n,
              void (*put)(const void *data, size_t n));

#endif

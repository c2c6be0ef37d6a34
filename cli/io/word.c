/* SPDX-License-Identifier: Apache-2.0 */
/* word.c: see word.h. */
#include "io/word.h"

#include <ctype.h>
#include <stdio.h>

bool read_word(char *word, size_t capacity, const char *path)
{
    FILE *f = fopen(path, "re");
    size_t n = 0;
    int c = ' ';

    if (!f)
        return false;
    while (isspace(c))
        c = fgetc(f);
    for (; c != EOF && !isspace(c) && n + 1 < capacity; c = fgetc(f))
        word[n++] = (char)c;
    word[n] = 0;
    fclose(f);
    return n > 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* fold.c: see fold.h. */
#include "term/fold.h"

size_t columns_fit(const char *line, size_t n, int columns, int label)
{
    size_t at = 0, space = 0;

    for (int used = 0; at < n; at++) {
        used += ((unsigned char)line[at] & 0xc0) != 0x80;
        if (used > columns)
            break;
        if (line[at] == ' ' && used > label)
            space = at;
    }
    if (at == n || line[at] == ' ' || space > 0)
        return at == n || line[at] == ' ' ? at : space;
    while (at < n && line[at] != ' ')
        at++;
    return at;
}

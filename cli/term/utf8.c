/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.c: which bytes are well-formed UTF-8. What is done about others is said where they are found. */
#include "term/utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Length of the well-formed UTF-8 character at s, 0 when there is none. */
static size_t character(const unsigned char *s, size_t n)
{
    size_t length = s[0] < 0x80   ? 1
                    : s[0] < 0xc2 ? 0
                    : s[0] < 0xe0 ? 2
                    : s[0] < 0xf0 ? 3
                    : s[0] < 0xf5 ? 4
                                  : 0;

    if (length > n)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    }
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
        (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return length;
}

size_t utf8_valid(const char *text, size_t n)
{
    size_t i = 0, length;

    while (i < n && (length = character((const unsigned char *)text + i, n - i)) > 0)
        i += length;
    return i;
}

char *utf8_clean(const char *text, size_t n, size_t *n_clean)
{
    char *clean = n < SIZE_MAX / 3 - 1 ? malloc(n * 3 + 1) : NULL;
    size_t used = 0;

    if (!clean)
        return NULL;
    for (size_t i = 0; i < n;) {
        size_t good = utf8_valid(text + i, n - i);
        memcpy(clean + used, text + i, good);
        used += good;
        i += good;
        if (i++ < n) {
            memcpy(clean + used, "\xef\xbf\xbd", 3);
            used += 3;
        }
    }
    clean[used] = 0;
    *n_clean = used;
    return clean;
}

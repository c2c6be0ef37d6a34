/* SPDX-License-Identifier: Apache-2.0 */
/* names.c: see names.h. */
#include "names.h"

#include <string.h>

#include "base/utf8.h"

bool name_stays_inside(const char *s, size_t n)
{
    if (n == 0 || s[n - 1] == '/' || !ct_utf8_valid(s, n))
        return false;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f || s[i] == '\\')
            return false;
    for (size_t i = 0; i < n;) {
        const char *slash = memchr(s + i, '/', n - i);
        const size_t part = slash ? (size_t)(slash - s) - i : n - i;
        if (part == 0 || (part <= 2 && memcmp(s + i, "..", part) == 0))
            return false;
        i += part + 1;
    }
    return true;
}

static bool is_digits(const char *s, size_t n)
{
    size_t i = 0;

    while (i < n && ((s[i] >= '0' && s[i] <= '9') || (s[i] >= 'a' && s[i] <= 'f')))
        i++;
    return i == n;
}

bool is_hash(const char *s, size_t n)
{
    return (n == 40 || n == 64) && is_digits(s, n);
}

bool is_any_hash(const char *s, size_t n)
{
    return n == 0 || is_hash(s, n) || (n == 32 && is_digits(s, n));
}

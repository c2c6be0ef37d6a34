/* SPDX-License-Identifier: Apache-2.0 */
/* path.c: see path.h. */
#include "base/path.h"

#include "base/utf8.h"

bool ct_path_stays_inside(struct ct_str path)
{
    if (path.n == 0 || path.s[path.n - 1] == '/' || !ct_utf8_valid(path.s, path.n))
        return false;
    for (size_t i = 0; i < path.n; i++)
        if ((unsigned char)path.s[i] < 0x20 || path.s[i] == 0x7f || path.s[i] == '\\')
            return false;
    for (size_t i = 0; i < path.n;) {
        const char *part = path.s + i, *slash = memchr(part, '/', path.n - i);
        const size_t n = slash ? (size_t)(slash - part) : path.n - i;
        if (n == 0 || (n <= 2 && memcmp(part, "..", n) == 0))
            return false;
        i += n + 1;
    }
    return true;
}

size_t ct_path_unescape(char *s)
{
    const size_t n = strlen(s);
    size_t to = 0;

    for (size_t i = 0; i < n; i++) {
        const int high = s[i] == '%' && n - i > 2 ? ct_hex_digit(s[i + 1]) : -1,
                  low = high >= 0 ? ct_hex_digit(s[i + 2]) : -1;
        s[to++] = low >= 0 ? (char)(high * 16 + low) : s[i];
        i += low >= 0 ? 2 : 0;
    }
    s[to] = 0;
    return to;
}

char *ct_path_join(struct ct_arena *arena, const char *a, const char *b)
{
    const size_t n = strlen(a), m = strlen(b);
    char *path = ct_arena_push(arena, 1, n + m + 2);

    if (path)
        snprintf(path, n + m + 2, "%s%s%s", a, n && a[n - 1] == '/' ? "" : "/", b);
    return path;
}
